// When a call goes to the node: in its order, with its handle open, within the window.
#include <sluice/channel/detail/port_core.hpp>
#include <sluice/net/never.hpp>

#include <algorithm>

namespace sluice::channels::detail {

// ---- the way to the node

/// Sends that may wait take their place behind the handle's earlier ones.
void port_core::queue_up(operation& o)
{
    auto const ordered = o.kind == operation_kind::select && !o.otherwise;
    auto is_queued = false;
    for (auto p = o.parts.begin(); p != o.parts.end(); ++p) {
        auto const again = [&](part const& q) { return q.handle == p->handle && q.send; };
        if (!ordered || !p->send || std::any_of(o.parts.begin(), p, again))
            continue;
        handles_.at(p->handle).queue.push_back(o.id);
        is_queued = true;
    }
    if (may_go(o)) {
        go(o);
        return pump();
    }
    if (is_queued)
        return;
    for (auto const& p : o.parts) handles_.at(p.handle).held.push_back(o.id);
}

/// The call of that number, if it is still to go.
operation* port_core::waiting(operation_id id)
{
    auto* const o = find(id);
    return o && !o->sent ? o : nullptr;
}

operation* port_core::first_of(handle_record& h)
{
    while (!h.queue.empty()) {
        if (auto* const o = waiting(h.queue.front()))
            return o;
        h.queue.pop_front();
    }
    return nullptr;
}

bool port_core::has_room(operation const& o)
{
    auto const limit = o.otherwise ? window : window - kept_for_tries;
    for (auto const& p : o.parts) {
        if (!p.send)
            continue;
        auto const& h = handles_.at(p.handle);
        auto wanted = 1U;
        if (o.parts.size() > 1)
            wanted = static_cast<unsigned>(std::ranges::count_if(
                o.parts, [&](part const& q) { return q.send && q.handle == p.handle; }));
        // One that asks for more than there ever is goes alone, for the node to judge.
        if (h.at_node > 0 && h.at_node + wanted > limit)
            return false;
    }
    return true;
}

bool port_core::may_go(operation const& o)
{
    if (!open_ || ended_)
        return false;
    for (auto const& p : o.parts) {
        auto& h = handles_.at(p.handle);
        if (h.channel == 0)
            return false;
        if (p.send && !o.otherwise && first_of(h) != &o)
            return false;
    }
    return has_room(o);
}

void port_core::pump()
{
    while (!changed_.empty()) {
        auto const it = handles_.find(changed_.back());
        changed_.pop_back();
        if (it == handles_.end())
            continue;
        auto& h = it->second;
        for (auto* o = first_of(h); o && may_go(*o); o = first_of(h)) go(*o);
        if (h.held.empty())
            continue;
        for (auto const id : std::exchange(h.held, {})) {
            auto* const o = waiting(id);
            if (o && may_go(*o))
                go(*o);
            else if (o)
                h.held.push_back(id);
        }
    }
}

void port_core::go(operation& o)
{
    o.sent = true;
    if (o.kind == operation_kind::select)
        return go_select(o);
    auto const& h = handle_of(o);
    if (o.kind == operation_kind::end)
        send(protocol::end{.id = o.id, .how = o.how, .channel = h.channel, .handle = h.id});
    else
        send(protocol::stat{.id = o.id, .channel = h.channel});
}

void port_core::go_select(operation& o)
{
    if (!std::holds_alternative<protocol::select>(scratch_))
        scratch_ = protocol::select{};
    auto& r = std::get<protocol::select>(scratch_);
    r.id = o.id;
    r.otherwise = o.otherwise;
    r.cases.clear();
    for (auto& p : o.parts) {
        auto& h = handles_.at(p.handle);
        if (!p.send) {
            r.cases.emplace_back(
                protocol::recv_case{.channel = h.channel, .max = p.max, .handle = h.id});
            continue;
        }
        if (p.sequence == 0)
            p.sequence = ++h.last_sequence;
        ++h.at_node;
        if (o.parts.size() > 1)
            changed_.push_back(p.handle);  // its queue has another first one
        r.cases.emplace_back(protocol::send_case{
            .channel = h.channel, .handle = h.id, .sequence = p.sequence, .octets = p.octets});
    }
    send(scratch_);
    if (o.given_up)
        send(protocol::cancel{.id = o.id});
}

void port_core::send_open(handle_record& h, operation const& o)
{
    auto const again = h.incarnation != 0;
    send(protocol::open{.id = o.id,
                        .name = h.name,
                        .handle = h.id,
                        .create = h.create && !again,
                        .expected = h.incarnation,
                        .options = h.wanted});
}

void port_core::send(protocol::request const& r)
{
    bytes out;
    encode(out, r);
    requests_.push_back(std::move(out));
}

std::vector<bytes> port_core::take_requests()
{
    if (ack_now_)
        flush_acks();
    flush(pickups_, true);
    return std::exchange(requests_, {});
}

// ---- acknowledgements

void port_core::ack(handle_key k, std::uint64_t generation, std::span<arrival const> values,
                    time_point now)
{
    if (generation != generation_ || !open_)
        return;  // they went back with their port
    for (auto const& v : values) {
        if (v.token == 0)
            continue;
        ++acks_waiting_;
        if (!acks_.empty() && acks_.back().second + 1 == v.token)
            acks_.back().second = v.token;
        else
            acks_.emplace_back(v.token, v.token);
    }
    if (acks_waiting_ == 0)
        return;
    auto const* const h = find_handle(k);
    // A sender waits for the slots of a small channel.
    auto const together =
        h && h->async_ack ? std::clamp<std::size_t>(h->in_force.capacity / 2, 1, acks_together) : 1;
    if (acks_waiting_ >= together)
        ack_now_ = true;
    else if (ack_due_ == never)
        ack_due_ = now + net::at_most_never(h->ack_delay);
}

void port_core::flush_acks()
{
    ack_now_ = false;
    ack_due_ = never;
    acks_waiting_ = 0;
    flush(acks_, false);
}

void port_core::flush(ranges& all, bool pickup)
{
    if (all.empty())
        return;
    std::ranges::sort(all);
    ranges joined;
    for (auto const& r : all) {
        if (!joined.empty() && joined.back().second + 1 == r.first)
            joined.back().second = r.second;
        else
            joined.push_back(r);
    }
    all.clear();
    for (std::size_t i = 0; i < joined.size(); i += protocol::ranges_max) {
        auto const first = joined.begin() + static_cast<std::ptrdiff_t>(i);
        auto const count = std::min(joined.size() - i, protocol::ranges_max);
        ranges some{first, first + static_cast<std::ptrdiff_t>(count)};
        if (pickup)
            send(protocol::pickup{.ranges = std::move(some)});
        else
            send(protocol::ack{.ranges = std::move(some)});
    }
}

void port_core::give_back(std::uint64_t generation, std::span<arrival const> values)
{
    if (generation != generation_ || !open_)
        return;
    for (auto const& v : values)
        if (v.token != 0)
            send(protocol::settle{
                .token = v.token, .verdict = protocol::verdict::released, .reason = {}});
}

}  // namespace sluice::channels::detail
