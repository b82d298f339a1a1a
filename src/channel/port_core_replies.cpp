// What the node says.
#include <sluice/channel/detail/port_core.hpp>

#include <algorithm>

namespace sluice::channels::detail {
namespace {

using protocol::status;

std::error_code code_of(status s)
{
    switch (s) {
    case status::ok:
    case status::otherwise: return {};
    case status::withdrawn: return make_error_code(sluice::error::operation_aborted);
    case status::closed: return make_error_code(errc::channel_closed);
    case status::destroyed: return make_error_code(errc::channel_destroyed);
    case status::stopped: return make_error_code(errc::channel_stopped);
    case status::expired: return make_error_code(errc::expired);
    case status::mismatch: return make_error_code(errc::mismatch);
    case status::not_found: return make_error_code(errc::not_found);
    case status::not_allowed: return make_error_code(errc::not_allowed);
    case status::limit: return make_error_code(errc::limit);
    case status::malformed: break;
    }
    return make_error_code(errc::malformed);
}

}  // namespace

void port_core::on_message(bytes_view message)
{
    if (ended_ || !open_)
        return;
    protocol::reply r;
    std::string fault;
    if (decode(message, r, fault))
        return on_ended(make_error_code(errc::protocol_broken), fault);
    std::visit([this](auto const& one) { on(one); }, r);
}

void port_core::on(protocol::opened const& r)
{
    auto* const o = find(r.id);
    if (!o || o->kind != operation_kind::open)
        return;
    auto const k = o->parts.front().handle;
    auto& h = handles_.at(k);
    h.channel = h.incarnation = r.channel;
    h.in_force = r.options;
    h.opening = 0;
    if (!h.wanted.codec.empty() && r.options.codec != h.wanted.codec) {  // `create` was off
        stop_at_node(h);
        h.channel = h.incarnation = 0;
        fail(*o, make_error_code(errc::mismatch), 0,
             "its values are '" + r.options.codec + "', not '" + h.wanted.codec + "'");
        if (h.forgotten)
            handles_.erase(k);
        return;
    }
    if (h.forgotten) {
        stop_at_node(h);
        handles_.erase(k);
    } else {
        changed_.push_back(k);
    }
    finish(*o, {.what = came::done});
}

void port_core::open_failed(operation& o, protocol::done const& r)
{
    auto const k = o.parts.front().handle;
    auto& h = handles_.at(k);
    if (h.forgotten) {
        finish(o, {});
        handles_.erase(k);
        return;
    }
    if (h.incarnation && r.status == status::not_found && h.create) {
        h.incarnation = 0;  // nobody was left to keep it, or the node is another one: made anew
        return send_open(h, o);
    }
    auto const code = code_of(r.status);
    h.opening = 0;
    auto const again = h.incarnation != 0;
    // The node's text for a channel that was never there says no more than the code's own.
    auto const same = r.status == status::not_found && !again;
    fail(o, code, 0, same ? std::string{} : r.text);
    if (again)
        fail_handle(h, code, r.text);
}

void port_core::end_answered(operation& o, protocol::done const& r)
{
    using protocol::ending;
    auto const is_done = r.status == status::ok || o.how == ending::stop
                         || (o.how == ending::close && r.status == status::closed)
                         || (o.how == ending::destroy
                             && (r.status == status::destroyed || r.status == status::not_found));
    if (!is_done)
        return fail(o, code_of(r.status), 0, r.text);
    auto const key = o.parts.front().handle;
    auto const destroyed = o.how == ending::destroy;
    finish(o, {.what = came::done});
    // So that it stays destroyed, whatever is done with the handle afterwards.
    if (auto const it = handles_.find(key); destroyed && it != handles_.end() && !it->second.gone)
        fail_handle(it->second, make_error_code(errc::channel_destroyed), {});
}

void port_core::on(protocol::done const& r)
{
    auto* const o = find(r.id);
    if (!o)
        return;
    switch (o->kind) {
    case operation_kind::open: return open_failed(*o, r);
    case operation_kind::end: return end_answered(*o, r);
    case operation_kind::stat: return fail(*o, code_of(r.status), 0, r.text);
    case operation_kind::settle:
        return r.status == status::ok ? finish(*o, {.what = came::done})
                                      : fail(*o, code_of(r.status), 0, r.text);
    case operation_kind::select: break;
    }
    auto const code =
        r.status == status::withdrawn && o->given_up ? o->given_up : code_of(r.status);
    if (r.index >= o->parts.size())
        return fail(*o, make_error_code(errc::protocol_broken), 0, "an answer for no case");
    if (r.status == status::ok)
        return finish(*o, {.what = came::done, .index = r.index});
    if (r.status == status::otherwise)
        return finish(*o, {.what = came::otherwise, .index = r.index});
    if (r.status == status::closed && !o->parts[r.index].send)
        return finish(*o, {.what = came::drained, .index = r.index});
    fail(*o, code, r.index, r.text);
}

void port_core::accepted_one(operation_id id)
{
    auto* const o = find(id);
    if (o && o->kind == operation_kind::select)
        finish(*o, {.what = came::done});
}

void port_core::on(protocol::accepted const& r)
{
    for (auto const& [first, last] : r.ranges) {
        if (last < first || last > last_id_)
            continue;
        if (last - first < operations_.size()) {
            for (auto id = first; id <= last; ++id) accepted_one(id);
            continue;
        }
        // Ranges may be as long as they like: what is there is walked over.
        std::vector<operation_id> named;
        for (auto const& [id, o] : operations_)
            if (first <= id && id <= last)
                named.push_back(id);
        std::ranges::sort(named);
        for (auto const id : named) accepted_one(id);
    }
}

/// A value whose caller is gone goes back.
void port_core::on(protocol::delivered const& r)
{
    arrival v{r.token, r.tries, bytes(r.octets.begin(), r.octets.end())};
    auto* const o = find(r.id);
    if (!o || o->kind != operation_kind::select || r.index >= o->parts.size()
        || o->parts[r.index].send) {
        give_back(generation_, {&v, 1});
        return;
    }
    if (o->values.size() >= o->parts[r.index].max)
        return on_ended(make_error_code(errc::protocol_broken),
                        "delivered: more values than the " + std::to_string(o->parts[r.index].max)
                            + " that call " + std::to_string(r.id) + " asked for");
    o->values.push_back(std::move(v));
    if (o->to && r.wants_pickup && o->by_hand)
        pickups_.emplace_back(r.token, r.token);
    if (r.more)
        return;
    auto values = std::move(o->values);
    finish(*o, {.what = came::values,
                .index = r.index,
                .generation = generation_,
                .values = std::move(values)});
}

void port_core::on(protocol::state const& r)
{
    auto* const o = find(r.id);
    if (!o || o->kind != operation_kind::stat)
        return;
    finish(*o, {.what = came::done,
                .state = {.size = r.size,
                          .buffered = r.buffered,
                          .unacknowledged = r.unacknowledged,
                          .waiting_senders = r.waiting_senders,
                          .waiting_receivers = r.waiting_receivers,
                          .handles = r.handles,
                          .closed = r.closed}});
}

}  // namespace sluice::channels::detail
