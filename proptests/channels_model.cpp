// What each call does to channels of one process, and whether it can have been answered so.
#include "channels_model.hpp"

namespace sluice::test {

using kind = channel_call::kind;
using verdict = channel_protocol::verdict;

namespace {

constexpr auto at_most_once = channel_protocol::guarantee::at_most_once;

bool may_hide_a_send(channel_call const& c) { return c.came == channel_call::outcome::unknown; }

}  // namespace

// ---- what is so

/// What decides the future, without what only counts up.
std::string channel_model::key() const
{
    std::string out = std::to_string(stopped_) + "/" + std::to_string(gone_);
    for (auto const& c : channels_) {
        out += c.destroyed ? "|x" : c.closed ? "|c" : "|o";
        std::vector<std::pair<std::uint64_t, std::string>> all;
        auto const name = [](item const& v) {
            return " " + std::to_string(v.by) + "." + std::to_string(v.of_case) + "*"
                   + std::to_string(v.tries);
        };
        for (auto const& v : c.ready) all.emplace_back(v.order, name(v));
        for (auto const& h : c.held)
            all.emplace_back(h.v.order, name(h.v) + "@" + std::to_string(h.of) + "."
                                            + std::to_string(h.position)
                                            + (h.unpicked ? "?" : "!"));
        std::ranges::sort(all);
        for (auto const& [order, text] : all) out += text;
    }
    for (auto const& c : channels_)  // in the order in which time takes them back
        for (auto const& h : c.held) out += "," + std::to_string(h.until);
    return out;
}

bool channel_model::is_out(std::size_t i) const
{
    for (auto const& c : channels_)
        for (auto const& h : c.held)
            if (h.unpicked && h.v.by == i)
                return true;
    return false;
}

/// Whether nothing has ended one of its cases for good.
bool channel_model::is_alive(call const& c) const
{
    return std::ranges::none_of(c.cases, [this](call::one_case const& one) {
        return of(one.handle).destroyed || ((stopped_ >> one.handle) & 1) != 0;
    });
}

/// Sends of one handle are done in the order in which they were made. One that was withdrawn, and
/// whose client never heard of it, is made once more.
bool channel_model::is_first(std::size_t i, unsigned handle, call_set done, std::size_t but) const
{
    for (std::size_t j = 0; j != i; ++j) {
        auto const& c = at(j);
        if (has(done, j) || j == but || c.what != kind::select || c.otherwise || may_hide_a_send(c)
            || is_out(j) || (c.cancelled && c.repeated))
            continue;
        for (auto const& one : c.cases)
            if (one.sends && one.handle == handle)
                return false;
    }
    return true;
}

std::size_t channel_model::used(channel const& c) const
{
    auto const held = std::ranges::count(c.held, false, &in_hand::unpicked);
    return c.ready.size() + static_cast<std::size_t>(held);
}

/// Whether somebody waits on the other side of a channel without a buffer.
bool channel_model::faces(std::size_t i, call::one_case const& c, call_set done) const
{
    for (std::size_t j = 0; j != history_->calls.size(); ++j) {
        auto const& other = at(j);
        if (j == i || has(done, j) || other.what != kind::select || other.came != outcome::none
            || is_out(j))
            continue;
        for (auto const& one : other.cases)
            if (number_of(one.handle) == number_of(c.handle) && one.sends != c.sends)
                return true;
    }
    return false;
}

bool channel_model::is_ready(std::size_t i, call::one_case const& c, call_set done) const
{
    auto const& ch = of(c.handle);
    auto const capacity = options(c.handle).capacity;
    if (c.sends)
        return ch.closed || (capacity == 0 ? faces(i, c, done) : used(ch) < capacity);
    return !ch.ready.empty() || (ch.closed && ch.held.empty())
           || (capacity == 0 && faces(i, c, done));
}

/// The same ones wait who would wait here.
bool channel_model::rests(call_set done) const
{
    for (std::size_t i = 0; i != history_->calls.size(); ++i) {
        auto const& c = at(i);
        if (has(done, i) || c.came != outcome::none || is_out(i))
            continue;
        if (c.what != kind::select || c.otherwise || !is_alive(c))
            return false;
        for (auto const& one : c.cases)
            if (is_ready(i, one, done))
                return false;
    }
    return true;
}

// ---- what is done

bool channel_model::step(std::size_t i, call_set done, call_set open, call_set& now, bool arrives)
{
    auto const& c = at(i);
    switch (c.what) {
    case kind::select: return select(i, done, open);
    case kind::pickup:
    case kind::settle: return settle(c, now);
    case kind::close:
    case kind::destroy:
    case kind::stop: return end(c, arrives);
    case kind::size: {
        auto const& ch = of(c.handle);
        return c.came == outcome::destroyed ? ch.destroyed : !ch.destroyed && used(ch) == c.number;
    }
    case kind::pass:
        now_ = std::max(now_, c.number);
        all_back([&](in_hand const& h) {
            return h.until <= now_ && number_of(h.handle) == number_of(c.handle);
        });
        return true;
    case kind::lose:
        all_back([&](in_hand const& h) { return h.handle % channel_history::clients == c.client; });
        return true;
    }
    return false;
}

bool channel_model::select(std::size_t i, call_set done, call_set open)
{
    auto const& c = at(i);
    if (c.came == outcome::none || is_out(i))
        return false;
    if (c.came == outcome::withdrawn)
        return c.cancelled;
    if (c.came == outcome::otherwise)
        return c.otherwise && is_alive(c) && otherwise(i);
    auto const& one = c.cases.at(c.index);
    auto const& ch = of(one.handle);
    switch (c.came) {
    case outcome::destroyed: return ch.destroyed;
    case outcome::stopped: return ((stopped_ >> one.handle) & 1) != 0;
    case outcome::closed:
        return is_alive(c) && ch.closed && (one.sends || (ch.ready.empty() && ch.held.empty()));
    case outcome::done: return is_alive(c) && one.sends && send(i, c.index, done);
    case outcome::values: return is_alive(c) && !one.sends && receive(i, done, open);
    default: return false;
    }
}

/// One that was done, though its client never heard of it.
bool channel_model::unheard(std::size_t i, std::size_t of_case, call_set done)
{
    return at(i).cases[of_case].sends && !is_out(i) && send(i, of_case, done);
}

/// A slot is this send's. Without slots it is done by whoever says that he has it.
bool channel_model::send(std::size_t i, std::size_t of_case, call_set done)
{
    auto const handle = at(i).cases[of_case].handle;
    auto& ch = of(handle);
    if (ch.closed || ch.destroyed || used(ch) >= options(handle).capacity
        || !is_first(i, handle, done, i))
        return false;
    ch.ready.push_back({.by = i, .of_case = of_case, .order = ++last_order_});
    return true;
}

bool channel_model::receive(std::size_t i, call_set done, call_set open)
{
    auto const& c = at(i);
    auto const& one = c.cases[c.index];
    auto const& o = options(one.handle);
    auto& ch = of(one.handle);
    if (c.values.empty() || c.values.size() > one.max)
        return false;
    for (std::size_t k = 0; k != c.values.size(); ++k) {
        auto const& v = c.values[k];
        in_hand h{.v = {}, .of = i, .position = k, .handle = one.handle};
        h.until = o.visibility_timeout_ms == 0 ? never : now_ + o.visibility_timeout_ms;
        if (!ch.ready.empty()) {
            h.v = ch.ready.front();
            ch.ready.erase(ch.ready.begin());
            if (v != call::value{h.v.by, h.v.of_case, h.v.tries, false})
                return false;
        } else if (o.capacity != 0 || !take_from_sender(v, i, one.handle, done, open, h)) {
            return false;
        }
        if (o.delivery != at_most_once)
            ch.held.push_back(h);
    }
    return c.values.size() == one.max || ch.ready.empty();
}

/// A sender without a slot waits on until its value is picked up.
bool channel_model::take_from_sender(call::value const& v, std::size_t i, unsigned handle,
                                     call_set done, call_set open, in_hand& h)
{
    auto const& s = at(v.sent_by);
    if (v.sent_by == i || !has(open, v.sent_by) || s.what != kind::select || is_out(v.sent_by)
        || !is_alive(s) || v.tries != 0 || !v.wants_pickup || v.sent_case >= s.cases.size())
        return false;
    auto const& sent = s.cases[v.sent_case];
    if (!sent.sends || number_of(sent.handle) != number_of(handle) || of(handle).closed
        || !is_first(v.sent_by, sent.handle, done, i))
        return false;
    h.v = {.by = v.sent_by, .of_case = v.sent_case, .order = ++last_order_};
    h.unpicked = true;
    return true;
}

/// Whether somebody waits on the other side of a channel without a buffer is not known here.
bool channel_model::otherwise(std::size_t i) const
{
    return std::ranges::none_of(at(i).cases, [this](call::one_case const& c) {
        auto const& ch = of(c.handle);
        auto const capacity = options(c.handle).capacity;
        return c.sends ? ch.closed || (capacity != 0 && used(ch) < capacity)
                       : !ch.ready.empty() || (ch.closed && ch.held.empty());
    });
}

/// A stop that does not arrive, for its connection is lost, ends the handle too; but the channel
/// keeps that in mind for a while.
bool channel_model::end(call const& c, bool arrives)
{
    auto& ch = of(c.handle);
    auto const is_stopped = ((stopped_ >> c.handle) & 1) != 0;
    if (c.came == outcome::stopped)
        return is_stopped;
    if (c.what == kind::close) {  // may have been repeated, and met by the end of the channel
        ch.closed = true;
        return c.came == outcome::destroyed ? ch.destroyed || c.repeated
                                            : !ch.destroyed && !is_stopped;
    }
    if (c.what == kind::destroy) {
        auto const right = c.came != outcome::done || (!ch.destroyed && !is_stopped);
        ch = {.closed = ch.closed, .destroyed = true};
        return right;
    }
    stopped_ |= 1u << c.handle;
    all_back([&](in_hand const& h) { return h.handle == c.handle; });
    gone_ |= arrives ? 1u << c.handle : 0u;
    auto const all = 7u << (number_of(c.handle) * channel_history::clients);
    if ((gone_ & all) == all && ch.ready.empty() && ch.held.empty())
        ch.destroyed = true;  // nobody is left to keep it
    return true;
}

/// Its sender is done with it.
bool channel_model::pick(in_hand& h, call_set& now) const
{
    if (!std::exchange(h.unpicked, false))
        return true;
    auto const& s = at(h.v.by);
    now |= only(h.v.by);
    return (s.came == outcome::done && s.index == h.v.of_case) || may_hide_a_send(s);
}

bool channel_model::settle(call const& c, call_set& now)
{
    for (auto& ch : channels_) {
        auto const it = std::ranges::find_if(
            ch.held, [&](in_hand const& h) { return h.of == c.of && h.position == c.position; });
        if (it == ch.held.end())
            continue;
        if (c.came == outcome::expired)
            return false;
        if ((c.what == kind::pickup || c.verdict != verdict::released) && !pick(*it, now))
            return false;
        if (c.what == kind::pickup)
            return true;
        auto const h = *it;
        ch.held.erase(it);
        if (c.verdict == verdict::released || c.verdict == verdict::failed)
            go_back(ch, options(h.handle), h, c.verdict == verdict::failed);
        return true;
    }
    return c.came != outcome::done;
}

/// In the order of arrival; one that nobody picked up is its sender's, who still waits.
void channel_model::go_back(channel& c, channel_protocol::channel_options const& o,
                            in_hand const& h, bool count)
{
    if (h.unpicked)
        return;
    auto v = h.v;
    if (count && ++v.tries >= o.tries_max && o.tries_max != 0)
        return;
    c.ready.insert(std::ranges::upper_bound(c.ready, v.order, {}, &item::order), v);
}

template <class F>
void channel_model::all_back(F which)
{
    for (auto& c : channels_)
        for (auto const& h : std::exchange(c.held, {}))
            if (which(h))
                go_back(c, options(h.handle), h, true);
            else
                c.held.push_back(h);
}

}  // namespace sluice::test
