// Requests that wait: which case is picked, and what becomes of the others.
#include "node/channel_hub.hpp"

#include <cstring>

namespace sluice::node::detail {

using protocol::status;

// ---- what is asked for

/// @returns false, with the reason, if the case ends the request at once
bool channel_hub::read_case(wait_case& c, protocol::select_case const& from, channel_port& p,
                            status& why, std::string& text)
{
    auto const* const sent = std::get_if<protocol::send_case>(&from);
    auto const* const wanted = std::get_if<protocol::recv_case>(&from);
    auto const& id = sent ? sent->handle : wanted->handle;
    c.sends = sent != nullptr;
    c.channel = find(sent ? sent->channel : wanted->channel);
    if (!c.channel) {
        why = status::destroyed;
        return false;
    }
    auto const anybody = wanted && id == protocol::handle_id{};
    c.handle = anybody ? nullptr : find(id);
    if (!anybody && (!c.handle || c.handle->port != &p || c.handle->channel != c.channel)) {
        why = status::stopped;
        return false;
    }
    auto const access = c.handle ? c.handle->access : p.sink_.may(c.channel->name);
    if ((access & (sent ? port_sink::may_send : port_sink::may_receive)) == 0) {
        why = status::not_allowed;
        text = std::string{"the user may not "} + (sent ? "write to '" : "read from '")
               + c.channel->name + "'";
        return false;
    }
    if (sent) {
        c.sequence = sent->sequence;
        c.octets = sent->octets;
    } else {
        c.max = wanted->max;
    }
    return true;
}

bool channel_hub::read_cases(channel_port& p, protocol::select const& r, channel_wait& w)
{
    w.number = r.id;
    w.port = &p;
    w.otherwise = r.otherwise;
    if (r.cases.size() > 1)
        w.rest = std::vector<wait_case>(r.cases.size() - 1);
    for (std::size_t i = 0; i != r.cases.size(); ++i) {
        auto& c = w.at(i);
        c.of = &w;
        c.index = static_cast<std::uint32_t>(i);
        auto why = status::ok;
        std::string text;
        if (!read_case(c, r.cases[i], p, why, text)) {
            tell(p, r.id, why, std::move(text), c.index);
            return false;
        }
        w.octets += c.octets.size();
    }
    return true;
}

void channel_hub::on(channel_port& p, protocol::select const& r)
{
    auto w = std::make_unique<channel_wait>();
    if (!read_cases(p, r, *w) || answer_repeated(w))
        return;
    ready_.clear();
    w->each([&](wait_case& c) {
        if (ready(c) != readiness::no)
            ready_.push_back(&c);
    });
    if (!ready_.empty())
        return carry_out(w, *ready_[ready_.size() == 1 ? 0 : random(ready_.size())]);
    if (r.otherwise)
        return tell(p, r.id, status::otherwise);
    if (auto* const waiting = enlist(w))
        waiting->each([this](wait_case& c) { line_up(c); });
}

/// A send that was accepted before, and whose answer was lost. @returns whether there was one
bool channel_hub::answer_repeated(std::unique_ptr<channel_wait>& w)
{
    auto answered = false;
    w->each([&](wait_case& c) {
        if (answered || !c.sends || c.sequence > c.handle->highest)
            return;
        if (c.handle->remembers(c.sequence)) {
            finish_accepted(c);
            answered = true;
        } else {
            answered = adopt(w, c);
        }
    });
    return answered;
}

/// The value of this send is at a receiver that has not told its pickup: it is waited for.
bool channel_hub::adopt(std::unique_ptr<channel_wait>& w, wait_case& mine)
{
    for (auto& other : mine.channel->cases) {
        auto& old = *other.of;
        if (old.port || old.pending != &other || other.handle != mine.handle
            || other.sequence != mine.sequence)
            continue;
        mine.value = other.value;
        auto* const waiting = enlist(w, &mine);
        if (!waiting)
            return true;  // too much waits: that was told
        old.pending = nullptr;
        other.value = nullptr;
        withdraw(old);
        mine.value->sender = &mine;
        waiting->pending = &mine;
        return true;
    }
    return false;
}

// ---- what is ready

wait_case* channel_hub::next_send(channel_state& c, channel_wait const* but) const noexcept
{
    for (auto& h : c.turn)
        for (auto& s : h.line)
            if (s.of != but)
                return &s;
    return nullptr;
}

wait_case* channel_hub::next_receive(channel_state& c, channel_wait const* but) const noexcept
{
    for (auto& r : c.receivers)
        if (r.of != but)
            return &r;
    return nullptr;
}

channel_hub::readiness channel_hub::ready(wait_case const& c) const noexcept
{
    auto& channel = *c.channel;
    auto const yes = [](bool is) { return is ? readiness::yes : readiness::no; };
    if (c.sends) {
        if (channel.closed)
            return readiness::closed;
        if (channel.rendezvous())
            return yes(next_receive(channel, c.of) != nullptr);
        return yes(channel.used < channel.options.capacity);
    }
    if (!channel.ready.empty() || (channel.rendezvous() && next_send(channel, c.of)))
        return readiness::yes;
    return channel.closed && channel.drained() ? readiness::closed : readiness::no;
}

/// @pre ready(c) is not `no`
void channel_hub::carry_out(std::unique_ptr<channel_wait>& w, wait_case& c)
{
    auto& channel = *c.channel;
    if (ready(c) == readiness::closed)
        return finish(*w, status::closed, c.index);
    if (!c.sends)
        return deliver(c);
    c.handle->highest = std::max(c.handle->highest, c.sequence);
    if (!channel.rendezvous()) {
        if (make_value(c))
            return accept(c);
        return finish(*w, status::limit, c.index, "the node stores as much as it may");
    }
    auto* const receiver = next_receive(channel, w.get());
    if (!enlist(w))
        return;
    line_up(c);
    deliver(*receiver);
}

// ---- waiting

/// Why it may not wait; else its sends are counted.
std::string channel_hub::refuse_wait(channel_wait& w)
{
    auto const& p = *w.port;
    if (p.waits_.size() >= limits_.waiting)
        return std::to_string(p.waits_.size()) + " requests wait already, as many as may";
    if (p.octets_ + w.octets > limits_.waiting_octets)
        return "values of " + std::to_string(p.octets_) + " octets wait already, and "
               + std::to_string(limits_.waiting_octets) + " may";
    if (cases_ + w.size() > limits_.cases)
        return "requests with " + std::to_string(cases_) + " cases wait at the node, and "
               + std::to_string(limits_.cases) + " may";
    if (p.by_id_.find(w.number))
        return "request " + std::to_string(w.number) + " waits already";
    auto too_many = false;
    w.each([&](wait_case& c) {
        if (c.sends)
            too_many |= ++c.handle->at_node > limits_.sends_of_handle;
    });
    if (!too_many)
        return {};
    w.each([&](wait_case& c) {
        if (c.sends)
            --c.handle->at_node;
    });
    return "a handle may have " + std::to_string(limits_.sends_of_handle) + " sends at the node";
}

/// From now on it waits, in no line yet. Null: it may not, and that was told.
channel_wait* channel_hub::enlist(std::unique_ptr<channel_wait>& w, wait_case const* has_value)
{
    auto& p = *w->port;
    if (auto text = refuse_wait(*w); !text.empty()) {
        tell(p, w->number, status::limit, std::move(text));
        return nullptr;
    }
    auto full = false;
    w->each([&](wait_case& c) { full = full || (c.sends && &c != has_value && !make_value(c)); });
    if (full) {
        w->each([&](wait_case& c) {
            if (c.sends)
                --c.handle->at_node;
            if (c.value && &c != has_value)
                discard(*c.value);
        });
        tell(p, w->number, status::limit, "the node stores as much as it may");
        return nullptr;
    }
    auto* const made = w.release();
    made->enlisted = true;
    made->arrival = ++last_arrival_;
    made->each([](wait_case& c) {
        c.channel->cases.push_back(c);
        if (c.sends)
            c.handle->highest = std::max(c.handle->highest, c.sequence);
    });
    p.by_id_.insert(*made);
    p.waits_.push_back(*made);
    p.octets_ += made->octets;
    cases_ += made->size();
    ++counts_.waiting;
    return made;
}

bool channel_hub::make_value(wait_case& c)
{
    if (counts_.values >= limits_.values || !outside_.reserve(c.octets.size()))
        return false;
    auto* const v = new channel_value;
    c.value = v;
    v->of = c.channel;
    v->size = c.octets.size();
    v->octets = std::make_unique_for_overwrite<std::byte[]>(v->size);
    if (v->size != 0)
        std::memcpy(v->octets.get(), c.octets.data(), v->size);
    c.octets = {};
    ++counts_.values;
    return true;
}

/// In its place by arrival; `first`: what its handle sends is next in turn.
void channel_hub::line_up(wait_case& c, bool first)
{
    auto const into = [&c](auto& line) {
        auto at = line.end();
        while (at != line.begin() && std::prev(at)->of->arrival > c.of->arrival) --at;
        line.insert(at, c);
    };
    if (!c.sends)
        return into(c.channel->receivers);
    auto& h = *c.handle;
    auto& turn = c.channel->turn;
    into(h.line);
    if (first && h.in_turn.is_linked())
        turn.erase(turn.iterator_to(h));
    if (first)
        turn.push_front(h);
    else if (!h.in_turn.is_linked())
        turn.push_back(h);
}

void channel_hub::leave_line(wait_case& c) noexcept
{
    if (!c.in_line.is_linked())
        return;
    if (!c.sends)
        return static_cast<void>(c.channel->receivers.erase(c.channel->receivers.iterator_to(c)));
    auto& h = *c.handle;
    h.line.erase(h.line.iterator_to(c));
    if (h.line.empty())
        c.channel->turn.erase(c.channel->turn.iterator_to(h));
}

/// The rest of its request is answered without it.
void channel_hub::detach(wait_case& c) noexcept
{
    leave_line(c);
    if (c.of_channel.is_linked())
        c.channel->cases.erase(c.channel->cases.iterator_to(c));
    touch(*c.channel);
    if (c.sends && c.handle)
        --c.handle->at_node;
    c.handle = nullptr;
}

/// Nothing of it is left here; `w` is gone if it was in a list.
void channel_hub::withdraw(channel_wait& w) noexcept
{
    if (!w.enlisted)
        return;
    w.each([&](wait_case& c) {
        if (&c == w.pending)
            c.value->sender = nullptr;
        else if (c.value)
            discard(*c.value);
        if (c.of_channel.is_linked())
            detach(c);
    });
    if (w.port) {
        w.port->octets_ -= w.octets;
        w.port->by_id_.erase(w);
        w.port->waits_.erase(w.port->waits_.iterator_to(w));
    }
    cases_ -= w.size();
    --counts_.waiting;
    delete &w;
}

void channel_hub::finish(channel_wait& w, status s, std::uint32_t index, std::string text)
{
    if (w.port)
        tell(*w.port, w.number, s, std::move(text), index);
    withdraw(w);
}

void channel_hub::finish_accepted(wait_case& c)
{
    auto& w = *c.of;
    if (!w.port)
        return withdraw(w);
    if (w.size() != 1)
        return finish(w, status::ok, c.index);
    auto& p = *w.port;
    auto& all = p.accepted_;
    if (!all.empty() && all.back().second + 1 == w.number)
        all.back().second = w.number;
    else if (all.size() == protocol::ranges_max)
        flush(p), all.emplace_back(w.number, w.number);
    else
        all.emplace_back(w.number, w.number);
    if (!std::exchange(p.unflushed_, true))
        unflushed_.push_back(&p);
    withdraw(w);
}

void channel_hub::on(channel_port& p, protocol::cancel const& r)
{
    auto* const w = p.by_id_.find(r.id);
    if (!w)
        return;
    if (w->pending) {
        if (!w->given_up)
            w->given_up = status::withdrawn;  // unless the pickup comes
        return;
    }
    finish(*w, status::withdrawn, 0);
}

}  // namespace sluice::node::detail
