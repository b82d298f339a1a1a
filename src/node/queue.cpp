// Messages in their order, and who gets the next.
#include "node/queue.hpp"

#include "node/node_core.hpp"

#include <algorithm>

namespace sluice::node::detail {

queue::queue(node_core& core, std::string name, queue_options options, bool lasting)
    : core_{core}, name_{std::move(name)}, options_{std::move(options)}, lasting_{lasting}
{
}

queue_info queue::info() const
{
    return {.name = name_,
            .length = length_,
            .ready = ready(),
            .bytes = bytes_,
            .consumers = readers_.size(),
            .producers = writers_.size()};
}

// ---- messages

bool queue::is_full(std::size_t more) const noexcept
{
    return length_ >= options_.length_max || bytes_ + more > options_.bytes_max
           || core_.stored_bytes() + more > core_.options().stored_max;
}

bool queue::push(message_ptr const& m)
{
    if (!reserve(m->size()))
        return false;
    push_reserved(m);
    return true;
}

bool queue::reserve(std::size_t size)
{
    if (is_full(size))
        return false;
    ++length_;
    bytes_ += size;
    core_.on_stored(size);
    return true;
}

void queue::unreserve(std::size_t size)
{
    if (removed_)
        return;
    --length_;
    bytes_ -= size;
    core_.on_dropped(size);
    if (withholds())
        grant_credit();
    if (length_ == 0)
        core_.on_idle(*this);
}

void queue::push_reserved(message_ptr const& m)
{
    next_expiry_ = std::min(next_expiry_, m->expires_at());
    fresh_.push_back({.sequence = next_sequence_++, .message = m});
    if (!line_.empty())
        dispatch();
    for (auto* const r : readers_)
        if (r->browses())
            r->on_message();
}

void queue::give_back(entry e)
{
    if (removed_)
        return;
    next_expiry_ = std::min(next_expiry_, e.message->expires_at());
    e.message->set_returned();
    auto const sequence = e.sequence;
    returned_.emplace(sequence, std::move(e));
    for (auto* const r : readers_)
        if (!r->browses() && r->has_room())
            line_up(*r);
    core_.dispatch_later(*this);  // once the others that come back with it are here
}

void queue::done(entry const& e)
{
    if (removed_)
        return;
    drop(e);
    if (withholds())
        grant_credit();
    if (length_ == 0 && readers_.empty())
        core_.on_idle(*this);
}

/// What is added takes room like a message's own.
void queue::annotate(entry const& e, raw_value annotations)
{
    auto const added = annotations.encoded.size();
    if (removed_ || bytes_ + added > options_.bytes_max
        || core_.stored_bytes() + added > core_.options().stored_max)
        return;
    auto const before = e.message->size();
    e.message->annotate(annotations);
    bytes_ += e.message->size() - before;
    core_.on_resized(before, e.message->size());
}

void queue::bury(entry const& e)
{
    if (!options_.dead_letter.empty() && options_.dead_letter != name_)
        core_.push_to(options_.dead_letter, e.message);
    done(e);
}

void queue::drop(entry const& e) noexcept
{
    --length_;
    bytes_ -= e.message->size();
    core_.on_dropped(e.message->size());
}

template <class Entries>
std::uint64_t queue::drop_if(Entries& from, auto const& condition)
{
    return std::erase_if(from, [&](auto const& held) {
        entry const* e = nullptr;
        if constexpr (requires { held.second; })
            e = &held.second;
        else
            e = &held;
        if (!condition(*e))
            return false;
        drop(*e);
        return true;
    });
}

std::uint64_t queue::purge()
{
    auto const all = [](entry const&) { return true; };
    auto const count = drop_if(returned_, all) + drop_if(fresh_, all);
    if (withholds())
        grant_credit();
    return count;
}

void queue::expire(clock_time now)
{
    if (next_expiry_ > now)
        return;
    auto next = clock_time::max();
    auto const late = [&](entry const& e) {
        if (e.message->expired(now))
            return true;
        next = std::min(next, e.message->expires_at());
        return false;
    };
    core_.count_expired(drop_if(returned_, late) + drop_if(fresh_, late));
    next_expiry_ = next;
    if (withholds())
        grant_credit();
}

// ---- readers

void queue::add(queue_reader& r) { readers_.push_back(&r); }

void queue::remove(queue_reader& r)
{
    std::erase(readers_, &r);
    if (std::exchange(r.in_line_, false))
        std::erase(line_, &r);
    if (readers_.empty())
        core_.on_idle(*this);
}

void queue::line_up(queue_reader& r)
{
    if (!std::exchange(r.in_line_, true))
        line_.push_back(&r);
}

bool queue::has_message_for(queue_reader const& r) const
{
    if (!fresh_.empty())
        return true;
    return std::any_of(returned_.begin(), returned_.end(), [&](auto const& held) {
        auto const& refused = held.second.refused_by;
        return std::find(refused.begin(), refused.end(), r.id()) == refused.end();
    });
}

entry const* queue::after(std::uint64_t sequence) const
{
    if (auto const it = returned_.upper_bound(sequence); it != returned_.end())
        return &it->second;
    auto const it =
        std::upper_bound(fresh_.begin(), fresh_.end(), sequence,
                         [](std::uint64_t wanted, entry const& e) { return wanted < e.sequence; });
    return it == fresh_.end() ? nullptr : &*it;
}

/// A message each, in turn, until the messages or the readers with room are used up.
void queue::dispatch()
{
    if (std::exchange(dispatching_, true))
        return;
    expire(core_.now());
    while (!line_.empty() && ready() > 0) {
        auto* const r = line_.front();
        line_.pop_front();
        r->in_line_ = false;
        if (r->has_room() && hand_out(*r) && r->has_room())
            line_up(*r);
    }
    dispatching_ = false;
}

/// @returns false if there is none for it
bool queue::hand_out(queue_reader& r)
{
    for (auto it = returned_.begin(); it != returned_.end(); ++it) {
        auto const& refused = it->second.refused_by;
        if (std::find(refused.begin(), refused.end(), r.id()) != refused.end())
            continue;
        auto e = std::move(it->second);
        returned_.erase(it);
        if (r.take(e))
            return true;
        e.refused_by.push_back(r.id());
        it = returned_.emplace(e.sequence, std::move(e)).first;
    }
    while (!fresh_.empty()) {
        auto e = std::move(fresh_.front());
        fresh_.pop_front();
        if (r.take(e))
            return true;
        e.refused_by.push_back(r.id());
        auto const sequence = e.sequence;
        returned_.emplace(sequence, std::move(e));
    }
    return false;
}

// ---- writers

void queue::add(queue_writer& w)
{
    writers_.push_back(&w);
    if (withholds())
        grant_credit();
}

void queue::remove(queue_writer& w)
{
    std::erase(writers_, &w);
    if (withholds())
        grant_credit();  // what it was promised is free again
    if (writers_.empty())
        core_.on_idle(*this);
}

/// Credit outstanding is room promised. Each writer gets an even share of what is left.
void queue::grant_credit()
{
    if (removed_ || writers_.empty())
        return;
    std::uint64_t promised = 0;
    for (auto const* const w : writers_) promised += w->promised();
    auto const full = bytes_ >= options_.bytes_max
                      || core_.stored_bytes() >= core_.options().stored_max
                      || length_ + promised >= options_.length_max;
    if (full)
        return;
    auto room = options_.length_max - length_ - promised;
    auto const most = std::uint64_t{core_.options().credit};
    auto const share = std::max<std::uint64_t>(1, (room + promised) / writers_.size());
    for (std::size_t i = 0; i < writers_.size() && room > 0; ++i) {
        auto& w = *writers_[next_writer_++ % writers_.size()];
        auto const has = std::uint64_t{w.promised()};
        auto const wanted = std::min(most, share);
        if (has * 2 > wanted || has >= wanted)
            continue;  // rarely and many rather than one by one
        auto const more = std::min(wanted - has, room);
        room -= more;
        w.grant(static_cast<std::uint32_t>(more));
    }
}

void queue::set_removed()
{
    // What consumers have is theirs to answer, but no longer counted here.
    core_.on_dropped_all(length_, bytes_);
    removed_ = true;
    returned_.clear();
    fresh_.clear();
    length_ = 0;
    bytes_ = 0;
    for (auto* const r : std::vector{readers_}) r->on_removed();
    for (auto* const w : std::vector{writers_}) w->on_removed();
}

}  // namespace sluice::node::detail
