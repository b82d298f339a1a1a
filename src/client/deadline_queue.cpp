// Deadlines: lists by duration, and a sorted rest.
#include "client/deadline_queue.hpp"

#include <sluice/net/never.hpp>

#include <algorithm>
#include <utility>

namespace sluice::client::detail {

timed::list* deadline_queue::list_for(std::chrono::milliseconds duration)
{
    timed::list* unused = nullptr;
    for (auto const& l : lists_) {
        if (l->duration == duration)
            return l.get();
        if (!l->first)
            unused = l.get();
    }
    if (!unused && lists_.size() < lists_max)
        unused = lists_.emplace_back(std::make_unique<timed::list>()).get();
    if (unused)
        unused->duration = duration;
    return unused;
}

void deadline_queue::arm(timed& t, std::chrono::milliseconds after, clock_time now)
{
    disarm(t);
    if (after >= net::never)
        return;
    t.at_ = now + after;
    auto* const l = list_for(after);
    if (!l) {
        sorted_.emplace(t.at_, &t);
        t.list_ = &in_sorted_;
        return;
    }
    t.list_ = l;
    t.earlier_ = l->last;
    t.later_ = nullptr;
    (l->last ? l->last->later_ : l->first) = &t;
    l->last = &t;
}

void deadline_queue::disarm(timed& t) noexcept
{
    auto* const l = std::exchange(t.list_, nullptr);
    if (!l)
        return;
    if (l == &in_sorted_) {
        auto [at, end] = sorted_.equal_range(t.at_);
        sorted_.erase(std::find_if(at, end, [&](auto const& entry) { return entry.second == &t; }));
        return;
    }
    (t.earlier_ ? t.earlier_->later_ : l->first) = t.later_;
    (t.later_ ? t.later_->earlier_ : l->last) = t.earlier_;
    t.earlier_ = t.later_ = nullptr;
}

void deadline_queue::run(clock_time now)
{
    for (std::size_t i = 0; i < lists_.size(); ++i) {
        while (auto* const t = lists_[i]->first) {
            if (t->at_ > now)
                break;
            disarm(*t);
            t->on_time();
        }
    }
    while (!sorted_.empty() && sorted_.begin()->first <= now) {
        auto* const t = sorted_.begin()->second;
        disarm(*t);
        t->on_time();
    }
}

clock_time deadline_queue::next() const noexcept
{
    auto at = sorted_.empty() ? clock_time::max() : sorted_.begin()->first;
    for (auto const& l : lists_)
        if (l->first)
            at = std::min(at, l->first->at_);
    return at;
}

}  // namespace sluice::client::detail
