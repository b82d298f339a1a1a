// Calls: where they wait, when they go to the node, what cancelling does.
#include <sluice/channel/detail/port_core.hpp>

#include <algorithm>

namespace sluice::channels::detail {

// ---- handles

handle_key port_core::add_handle(handle_record h)
{
    h.key = ++last_key_;
    auto const key = h.key;
    handles_.emplace(key, std::move(h));
    return key;
}

handle_record const* port_core::find_handle(handle_key k) const
{
    auto const it = handles_.find(k);
    return it == handles_.end() ? nullptr : &it->second;
}

void port_core::forget_handle(handle_key k)
{
    auto const it = handles_.find(k);
    if (it == handles_.end())
        return;
    auto& h = it->second;
    if (auto* const o = find(h.opening); o && o->sent && !ended_) {
        h.forgotten = true;
        return;
    }
    if (h.opening)
        if (auto* const o = find(h.opening))
            finish(*o, {.code = make_error_code(sluice::error::operation_aborted)});
    if (h.channel && !h.gone)
        stop_at_node(h);
    handles_.erase(k);
}

void port_core::stop_at_node(handle_record const& h)
{
    if (open_)
        send(protocol::end{
            .id = next_id(), .how = protocol::ending::stop, .channel = h.channel, .handle = h.id});
}

void port_core::fail_handle(handle_record& h, std::error_code code, std::string const& text)
{
    h.gone = code;
    h.why_gone = text;
    std::vector<operation_id> on_it;
    for (auto const& [id, o] : operations_)
        if (!o.sent && o.kind != operation_kind::settle)
            for (auto const& p : o.parts)
                if (p.handle == h.key) {
                    on_it.push_back(id);
                    break;
                }
    std::ranges::sort(on_it);
    for (auto const id : on_it)
        if (auto* const o = find(id)) {
            auto const at = std::ranges::find(o->parts, h.key, &part::handle);
            fail(*o, code, static_cast<std::uint32_t>(at - o->parts.begin()), text);
        }
}

// ---- calls

operation& port_core::add(operation_id id, operation_kind kind, std::unique_ptr<sink> to,
                          time_point due)
{
    auto& o = operations_[id];
    o.id = id;
    o.kind = kind;
    o.to = std::move(to);
    arm(o, due);
    return o;
}

operation* port_core::find(operation_id id)
{
    auto const it = operations_.find(id);
    return it == operations_.end() ? nullptr : &it->second;
}

void port_core::arm(operation& o, time_point due)
{
    if (o.due != never)
        due_.erase({o.due, o.id});
    o.due = due;
    if (due != never)
        due_.insert({due, o.id});
}

/// `o` is gone afterwards.
void port_core::finish(operation& o, answer a)
{
    for (auto const& p : o.parts) {
        if (!p.send)
            continue;
        if (auto const it = handles_.find(p.handle); it != handles_.end()) {
            if (o.sent)
                --it->second.at_node;
            changed_.push_back(p.handle);
        }
    }
    arm(o, never);
    if (o.to)
        finished_.push_back({std::move(o.to), std::move(a)});
    else
        give_back(a.generation, a.values);
    operations_.erase(o.id);
    pump();
}

void port_core::fail(operation& o, std::error_code code, std::uint32_t index,
                     std::string const& text)
{
    // With a destroyed channel goes the memory of what it took.
    auto const doubtful = o.was_sent && o.sends() && code == errc::channel_destroyed;
    auto const* const doubt =
        doubtful ? "before it was destroyed, the node may have taken the value" : "";
    finish(o, {.code = code,
               .text = text_of(o, index, code, text.empty() ? doubt : text),
               .index = index});
}

std::string port_core::text_of(operation const& o, std::uint32_t index, std::error_code code,
                               std::string const& text) const
{
    auto const name_of = [&](std::size_t i) {
        auto const* const h = i < o.parts.size() ? find_handle(o.parts[i].handle) : nullptr;
        return h ? "'" + h->name + "'" : std::string{};
    };
    auto const name = name_of(index);
    auto out = name.empty() ? name : "channel " + name;
    // Time and cancelling end a select as a whole, and no case of it more than another.
    if (o.parts.size() > 1 && code && (code == sluice::error::timed_out || code == o.given_up)) {
        out = "select";
        for (std::size_t i = 0; i < o.parts.size(); ++i)
            out += (i == 0 ? " of channels " : ", ") + name_of(i);
    } else if (o.parts.size() > 1) {
        out += " (case " + std::to_string(index) + ")";
    }
    if (!out.empty() && (!text.empty() || !code))
        out += ": ";
    return out + text;
}

void port_core::open(operation_id id, handle_key k, std::unique_ptr<sink> to, time_point due)
{
    auto& o = add(id, operation_kind::open, std::move(to), due);
    o.parts.push_back({.handle = k});
    if (ended_)
        return fail(o, end_code_, 0, end_text_);
    auto& h = handles_.at(k);
    h.opening = id;
    if (open_)
        send_open(h, o);
    o.sent = open_;
}

void port_core::select(operation_id id, std::vector<part> parts, bool otherwise, bool by_hand,
                       std::unique_ptr<sink> to, time_point due)
{
    auto& o = add(id, operation_kind::select, std::move(to), due);
    o.parts = std::move(parts);
    o.otherwise = otherwise;
    o.by_hand = by_hand;
    if (ended_)
        return fail(o, end_code_, 0, end_text_);
    for (std::uint32_t i = 0; i < o.parts.size(); ++i)
        if (auto const& h = handles_.at(o.parts[i].handle); h.gone)
            return fail(o, h.gone, i, h.why_gone);
    queue_up(o);
}

void port_core::end(operation_id id, handle_key k, protocol::ending how, std::unique_ptr<sink> to,
                    time_point due)
{
    auto& o = add(id, operation_kind::end, std::move(to), due);
    o.parts.push_back({.handle = k});
    o.how = how;
    if (ended_)
        return fail(o, end_code_, 0, end_text_);
    auto& h = handles_.at(k);
    if (h.gone) {
        auto const done_before =
            how == protocol::ending::stop
            || (how == protocol::ending::destroy && h.gone == errc::channel_destroyed);
        return done_before ? finish(o, {.what = came::done}) : fail(o, h.gone, 0, h.why_gone);
    }
    if (how == protocol::ending::stop) {
        o.sent = true;  // it does not end with the others
        fail_handle(h, make_error_code(errc::channel_stopped), {});
        o.sent = false;
        if (!h.channel)
            return finish(o, {.what = came::done});
    }
    queue_up(o);
}

void port_core::stat(operation_id id, handle_key k, std::unique_ptr<sink> to, time_point due)
{
    auto& o = add(id, operation_kind::stat, std::move(to), due);
    o.parts.push_back({.handle = k});
    if (ended_)
        return fail(o, end_code_, 0, end_text_);
    if (auto const& h = handles_.at(k); h.gone)
        return fail(o, h.gone, 0, h.why_gone);
    queue_up(o);
}

void port_core::settle(operation_id id, handle_key k, std::uint64_t generation,
                       protocol::settle what, std::unique_ptr<sink> to, time_point due)
{
    what.id = to ? id : 0;
    if (generation != generation_ || !open_ || ended_) {
        if (!to)
            return;
        auto& o = add(id, operation_kind::settle, std::move(to), never);
        o.parts.push_back({.handle = k});
        return fail(o, make_error_code(errc::expired), 0);
    }
    send(what);
    if (!to)
        return;
    auto& o = add(id, operation_kind::settle, std::move(to), due);
    o.parts.push_back({.handle = k});
    o.sent = true;
}

// ---- giving up

void port_core::cancel(operation_id id, std::error_code why, time_point now)
{
    if (auto* const o = find(id))
        cancel(*o, why, now);
}

void port_core::cancel(operation& o, std::error_code why, time_point now)
{
    if (o.given_up)
        return;
    if (o.kind != operation_kind::select) {
        auto const keeps = o.kind == operation_kind::open && o.sent;
        o.given_up = why;
        if (keeps && o.to) {
            arm(o, never);
            finished_.push_back({std::move(o.to), {.code = why, .text = text_of(o, 0, why, {})}});
            return;
        }
        return fail(o, why, 0);
    }
    if (!o.sent && !(o.was_sent && o.sends()))
        return fail(o, why, 0);
    o.given_up = why;
    arm(o, now + answer_grace);
    if (o.sent)
        send(protocol::cancel{.id = o.id});
}

void port_core::refuse(operation_id id, std::error_code why)
{
    if (auto* const o = find(id))
        fail(*o, why, 0);
}

/// The node does not say in time whether it was done.
void port_core::abandon(operation& o)
{
    auto const code = o.sends() ? make_error_code(sluice::error::outcome_unknown) : o.given_up;
    if (!o.sent)
        return fail(o, code, 0);
    arm(o, never);
    if (o.to)
        finished_.push_back({std::move(o.to), {.code = code, .text = text_of(o, 0, code, {})}});
}

void port_core::on_time(time_point now)
{
    while (!due_.empty() && due_.begin()->first <= now) {
        auto* const o = find(due_.begin()->second);
        arm(*o, never);
        if (o->given_up)
            abandon(*o);
        else
            cancel(*o, make_error_code(sluice::error::timed_out), now);
    }
    if (ack_due_ <= now)
        ack_now_ = true;
}

time_point port_core::next_time() const noexcept
{
    return std::min(due_.empty() ? never : due_.begin()->first, ack_due_);
}

}  // namespace sluice::channels::detail
