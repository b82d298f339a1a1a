// Values: from a sender into a slot, to a receiver, away or back; and the time.
#include "node/channel_hub.hpp"

#include <algorithm>

namespace sluice::node::detail {

using protocol::status;

// ---- from senders to receivers

/// A slot of the buffer is this send's.
void channel_hub::accept(wait_case& c)
{
    auto& channel = *c.channel;
    auto& v = *std::exchange(c.value, nullptr);
    v.order = ++channel.last_order;
    channel.ready.push_back(v);
    ++channel.used;
    ++counts_.sent;
    c.handle->remember(c.sequence);
    finish_accepted(c);
    touch(channel);
}

/// @pre something is there for it
void channel_hub::deliver(wait_case& r)
{
    auto& w = *r.of;
    auto& channel = *r.channel;
    auto& p = *w.port;
    auto* const holder = r.handle;
    auto const max = r.max;
    protocol::delivered d{.id = w.number, .index = r.index, .octets = {}};
    taken_.clear();
    while (taken_.size() < max && !channel.ready.empty()) {
        taken_.push_back(&channel.ready.front());
        channel.ready.pop_front();
    }
    while (channel.rendezvous() && taken_.size() < max) {
        auto* const s = next_send(channel, &w);
        if (!s)
            break;
        taken_.push_back(s->value);
        suspend(*s);
    }
    withdraw(w);
    for (std::size_t i = 0; i != taken_.size(); ++i) {
        d.more = i + 1 != taken_.size();
        hand_over(p, d, holder, *taken_[i]);
    }
}

void channel_hub::hand_over(channel_port& p, protocol::delivered d, channel_handle* holder,
                            channel_value& v)
{
    auto& channel = *v.of;
    d.tries = v.tries;
    d.octets = v.view();
    d.wants_pickup = v.unpicked;
    ++counts_.delivered;
    if (channel.options.delivery == protocol::guarantee::at_most_once) {
        p.sink_.send(d);
        return drop(v);
    }
    v.port = &p;
    v.holder = holder;
    v.number = d.token = ++p.last_token_;
    p.by_token_.insert(v);
    p.held_.push_back(v);
    auto const timeout = channel.options.visibility_timeout_ms;
    v.until = timeout == 0 ? clock_time::max() : now_ + clock_time{timeout};
    channel.held.push_back(v);
    arm(channel);
    p.sink_.send(d);
}

/// Its value is at a receiver, and its own until the pickup is told.
void channel_hub::suspend(wait_case& c)
{
    auto& turn = c.channel->turn;
    turn.splice(turn.end(), turn, turn.iterator_to(*c.handle));
    c.of->each([this](wait_case& each) { leave_line(each); });
    c.of->pending = &c;
    auto& v = *c.value;
    v.sender = &c;
    v.unpicked = true;
    v.order = ++c.channel->last_order;
}

/// The receiver was lost before it had it: it waits again, before others.
void channel_hub::resume(wait_case& c)
{
    auto& w = *c.of;
    w.pending = nullptr;
    if (w.given_up)
        return finish(w, *w.given_up, w.given_up_index);
    if (!w.port)
        return withdraw(w);  // its client asks again
    if (w.otherwise)
        tries_.emplace_back(w.port, w.number);  // it waits for nobody who is not there now
    w.each([&](wait_case& each) {
        line_up(each, &each == &c);
        touch(*each.channel);
    });
}

void channel_hub::picked_up(channel_value& v)
{
    if (!std::exchange(v.unpicked, false))
        return;
    ++v.of->used;
    ++counts_.sent;
    auto* const s = std::exchange(v.sender, nullptr);
    if (!s)
        return;
    s->value = nullptr;
    s->of->pending = nullptr;
    if (s->handle)
        s->handle->remember(s->sequence);
    finish_accepted(*s);
}

// ---- from receivers

template <class F>
void channel_hub::for_tokens(channel_port& p,
                             std::vector<std::pair<protocol::token, protocol::token>> const& ranges,
                             F f)
{
    auto const cheap = p.by_token_.size() + 16;
    std::uint64_t named = 0;
    for (auto const& [first, last] : ranges)
        named += std::min<std::uint64_t>(last - first, cheap) + 1;
    if (named <= cheap) {
        for (auto const& [first, last] : ranges)
            for (std::uint64_t i = 0; i <= last - first; ++i)
                if (auto* const v = p.by_token_.find(first + i))
                    f(*v);
        return;
    }
    // Ranges may be as long as they like: what is held is walked over once.
    auto sorted = ranges;
    std::sort(sorted.begin(), sorted.end());
    auto range = sorted.begin();
    for (auto it = p.held_.begin(); it != p.held_.end();) {
        auto& v = *it++;
        while (range != sorted.end() && range->second < v.number) ++range;
        if (range == sorted.end())
            return;
        if (range->first <= v.number)
            f(v);
    }
}

void channel_hub::on(channel_port& p, protocol::ack const& r)
{
    for_tokens(p, r.ranges, [this](channel_value& v) { acknowledged(v); });
}

void channel_hub::on(channel_port& p, protocol::pickup const& r)
{
    for_tokens(p, r.ranges, [this](channel_value& v) { picked_up(v); });
}

void channel_hub::on(channel_port& p, protocol::settle const& r)
{
    using protocol::verdict;
    auto* const v = p.by_token_.find(r.token);
    if (!v) {
        if (r.id != 0)
            tell(p, r.id, status::expired);
        return;
    }
    if (r.verdict != verdict::released)
        picked_up(*v);  // the application has seen it
    switch (r.verdict) {
    case verdict::accepted: acknowledged(*v); break;
    case verdict::released: go_back(*v, {}, false); break;
    case verdict::failed: go_back(*v, "its receiver failed with it"); break;
    case verdict::rejected:
        take_from_holder(*v);
        v->of->held.erase(v->of->held.iterator_to(*v));
        ++v->tries;
        bury(*v, r.reason);
        break;
    }
    if (r.id != 0)
        tell(p, r.id, status::ok);
}

void channel_hub::acknowledged(channel_value& v)
{
    picked_up(v);
    take_from_holder(v);
    v.of->held.erase(v.of->held.iterator_to(v));
    drop(v);
}

void channel_hub::take_from_holder(channel_value& v) noexcept
{
    v.port->by_token_.erase(v);
    v.port->held_.erase(v.port->held_.iterator_to(v));
    v.port = nullptr;
    v.holder = nullptr;
}

/// Its holder has not done with it.
void channel_hub::go_back(channel_value& v, std::string_view reason, bool count_try)
{
    auto& channel = *v.of;
    take_from_holder(v);
    channel.held.erase(channel.held.iterator_to(v));
    touch(channel);
    ++counts_.returned;
    if (std::exchange(v.unpicked, false)) {
        if (auto* const s = std::exchange(v.sender, nullptr))
            return resume(*s);
        return discard(v);
    }
    auto const tries_max = channel.options.tries_max;
    if (count_try && ++v.tries >= tries_max && tries_max != 0)
        return bury(v, reason);
    put_back(v);
}

/// In the order of arrival; from the front, for what goes back is older than nearly all.
void channel_hub::put_back(channel_value& v)
{
    auto& ready = v.of->ready;
    auto at = ready.begin();
    while (at != ready.end() && at->order < v.order) ++at;
    ready.insert(at, v);
}

void channel_hub::bury(channel_value& v, std::string_view reason)
{
    auto const& o = v.of->options;
    if (!o.dead_letter.empty())
        outside_.dead_letter({.queue = o.dead_letter,
                              .channel = v.of->name,
                              .codec = o.codec,
                              .tries = v.tries,
                              .reason = reason,
                              .octets = v.view()});
    drop(v);
}

/// Its slot is free.
void channel_hub::drop(channel_value& v) noexcept
{
    --v.of->used;
    touch(*v.of);
    discard(v);
}

void channel_hub::discard(channel_value& v) noexcept
{
    outside_.release(v.size);
    --counts_.values;
    delete &v;
}

// ---- what follows

void channel_hub::touch(channel_state& c)
{
    if (!std::exchange(c.dirty, true))
        dirty_.push_back(&c);
}

void channel_hub::settle()
{
    do {
        while (!dirty_.empty()) {
            auto& c = *dirty_.back();
            dirty_.pop_back();
            c.dirty = false;
            pump(c);
        }
        for (auto const& [p, id] : std::exchange(tries_, {}))
            if (auto* const w = p->by_id_.find(id); w && !w->pending)
                finish(*w, status::otherwise, 0);
    } while (!dirty_.empty());
}

/// As far as senders, slots and receivers go.
void channel_hub::pump(channel_state& c)
{
    while (c.closed && !c.turn.empty()) {
        auto& s = c.turn.front().line.front();
        finish(*s.of, status::closed, s.index);
    }
    while (step(c)) {}
    while (c.closed && c.drained() && !c.receivers.empty()) {
        auto& r = c.receivers.front();
        finish(*r.of, status::closed, r.index);
    }
    if (!c.dirty)
        forget_if_idle(c);
}

bool channel_hub::step(channel_state& c)
{
    if (!c.rendezvous() && c.used < c.options.capacity && !c.turn.empty()) {
        auto& h = c.turn.front();
        c.turn.splice(c.turn.end(), c.turn, c.turn.iterator_to(h));
        accept(h.line.front());
        return true;
    }
    if (c.receivers.empty())
        return false;
    if (!c.ready.empty()) {
        deliver(c.receivers.front());
        return true;
    }
    if (!c.rendezvous() || c.turn.empty())
        return false;
    for (auto& r : c.receivers)
        if (next_send(c, r.of)) {
            deliver(r);
            return true;
        }
    return false;
}

// ---- time

void channel_hub::arm(channel_state& c)
{
    if (c.armed || c.options.visibility_timeout_ms == 0)
        return;
    c.armed = true;
    c.armed_for = c.held.front().until;
    deadlines_.emplace(c.armed_for, c.id);
}

clock_time channel_hub::next_deadline() const noexcept
{
    auto const handles = lost_.empty() ? clock_time::max() : lost_.front().until;
    return std::min(handles, deadlines_.empty() ? clock_time::max() : deadlines_.begin()->first);
}

void channel_hub::on_time(clock_time now)
{
    now_ = now;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        auto* const c = find(deadlines_.begin()->second);
        deadlines_.erase(deadlines_.begin());
        c->armed = false;
        std::vector<channel_value*> late;
        for (auto& v : c->held) {
            if (v.until > now)
                break;
            late.push_back(&v);
        }
        for (auto it = late.rbegin(); it != late.rend(); ++it)
            go_back(**it, "it was not acknowledged in time");
        if (!c->held.empty())
            arm(*c);
        settle();
    }
    while (!lost_.empty() && lost_.front().until <= now) erase(lost_.front());
    settle();
}

}  // namespace sluice::node::detail
