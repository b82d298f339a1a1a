// Links that come and go: what is repeated, and what cannot be.
#include <sluice/channel/detail/port_core.hpp>

#include <algorithm>

namespace sluice::channels::detail {
namespace {

std::vector<operation_id> in_order(std::unordered_map<operation_id, operation> const& all)
{
    std::vector<operation_id> out;
    out.reserve(all.size());
    for (auto const& [id, o] : all) out.push_back(id);
    std::ranges::sort(out);
    return out;
}

}  // namespace

void port_core::on_open()
{
    if (ended_)
        return;
    open_ = true;
    std::vector<handle_key> keys;
    for (auto const& [k, h] : handles_)
        if (!h.gone)
            keys.push_back(k);
    std::ranges::sort(keys);  // in the order in which they were made
    for (auto const k : keys) {
        auto& h = handles_.at(k);
        auto* o = h.opening ? find(h.opening) : nullptr;
        if (!o && h.incarnation == 0)
            continue;  // its open failed
        if (!o) {
            o = &add(next_id(), operation_kind::open, nullptr, never);
            o->parts.push_back({.handle = k});
            h.opening = o->id;
        }
        o->sent = true;
        send_open(h, *o);
    }
}

void port_core::on_lost()
{
    if (ended_)
        return;
    open_ = false;
    ++generation_;
    requests_.clear();
    acks_.clear();
    pickups_.clear();
    acks_waiting_ = 0;
    ack_now_ = false;
    ack_due_ = never;
    changed_.clear();
    for (auto const id : in_order(operations_))
        if (auto* const o = find(id))
            lose(*o);
    std::erase_if(handles_, [](auto const& one) { return one.second.forgotten; });
    for (auto& [k, h] : handles_) {
        h.channel = 0;
        h.at_node = 0;
        h.queue.clear();
        h.held.clear();
    }
    for (auto const id : in_order(operations_))
        if (auto* const o = find(id); o && o->kind != operation_kind::open)
            queue_up(*o);
}

/// What the node has of it is gone: it waits for the next port, or ends.
void port_core::lose(operation& o)
{
    auto const at_once = [&](std::size_t i) {
        auto const* const h = find_handle(o.parts[i].handle);
        return h && h->in_force.delivery == protocol::guarantee::at_most_once;
    };
    if (o.kind == operation_kind::settle)
        return fail(o, make_error_code(sluice::error::outcome_unknown), 0,
                    "the connection was lost before the node answered");
    auto const key = o.parts.front().handle;
    if (!o.to) {  // a handle's opening again, or a call that nobody waits for
        if (auto const it = handles_.find(key); it != handles_.end() && it->second.opening == o.id)
            it->second.opening = 0;
        return finish(o, {});
    }
    if (o.kind == operation_kind::end && o.how == protocol::ending::stop)
        return finish(o, {.what = came::done});
    auto const& h = handles_.at(key);
    if (!o.sent)
        return;
    if (h.gone)
        return fail(o, h.gone, 0, h.why_gone);
    if (o.kind == operation_kind::select) {
        for (std::uint32_t i = 0; i < o.parts.size(); ++i)
            if (o.parts[i].send && at_once(i))
                return fail(o, make_error_code(sluice::error::outcome_unknown), i,
                            "the connection was lost before the node answered, and a send at most "
                            "once is not repeated");
        if (!o.values.empty() && o.values.front().token == 0) {
            auto values = std::move(o.values);
            return finish(o, {.what = came::values, .values = std::move(values)});
        }
        if (o.given_up && !o.sends())
            return fail(o, o.given_up, 0);
    }
    for (auto const& p : o.parts)
        if (p.send)
            --handles_.at(p.handle).at_node;
    o.values.clear();
    o.was_sent = true;
    o.sent = false;
}

void port_core::on_ended(std::error_code code, std::string text)
{
    if (ended_)
        return;
    ended_ = true;
    open_ = false;
    ++generation_;
    end_code_ = code;
    end_text_ = std::move(text);
    requests_.clear();
    changed_.clear();
    ack_due_ = never;
    for (auto const id : in_order(operations_)) {
        auto* const o = find(id);
        auto const unknown = o->sends() && (o->sent || o->was_sent);
        fail(*o, code, 0, unknown ? end_text_ + "; the node may have taken the value" : end_text_);
    }
}

}  // namespace sluice::channels::detail
