// What a sender may use of a window or a credit that its peer changes while frames are on their
// way.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sluice::audit::detail {

/// The limits that a receiver has stated and that its sender may still go by.
///
/// The observer stands somewhere between the two: a limit that it has seen may not have reached the
/// sender, so an older and higher one holds until a later one has *provably* arrived. Of a falling
/// series all are kept, at most `room`; then the ones in between go, which only makes it more
/// lenient. Limits and marks count from the start of the session or link, so that nothing wraps.
class grants {
public:
    bool any() const noexcept { return size_ != 0; }
    /// 0 before any was stated: nothing may be sent.
    std::int64_t highest() const noexcept { return entries_[0].limit; }

    /// The receiver states a limit when it has sent `mark` transfer frames of its own.
    void state(std::int64_t limit, std::uint64_t mark) noexcept
    {
        auto hidden = none;
        auto again = false;
        auto const forget_last = [&] {
            auto const& last = entries_[--size_];
            again = again || last.limit == limit;
            hidden = std::max({hidden, last.hidden, last.limit == limit ? none : last.limit});
        };
        while (size_ != 0 && entries_[size_ - 1].limit <= limit) forget_last();
        if (size_ == room)
            forget_last();
        entries_[size_++] = {limit, mark, hidden, again};
    }

    /// The sender has provably received `frames` transfer frames of the receiver, and with them
    /// what the receiver said before the last of them.
    void arrived(std::int64_t frames) noexcept
    {
        if (size_ <= 1) [[likely]]
            return;
        while (size_ > 1 && static_cast<std::int64_t>(entries_[1].mark) < frames) settle_on(1);
    }

    /// The sender itself says that it goes by `limit`. That tells nothing if it may be one that was
    /// stated before a higher one as well, or, `spent`, any lower one: no credit is left by that
    /// either.
    void acknowledged(std::int64_t limit, bool spent) noexcept
    {
        for (std::size_t i = 0; i < size_; ++i) {
            auto const& e = entries_[i];
            if (e.hidden >= limit || (spent && (i > 0 || e.again) && e.hidden != none))
                return;
            if (e.limit == limit)
                return e.again ? drop(i) : settle_on(i);
        }
    }

private:
    static constexpr std::size_t room = 4;
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    struct entry {
        std::int64_t limit = 0;
        std::uint64_t mark = 0;
        std::int64_t hidden = none;  // the highest of those between it and the one before it
        bool again = false;          // the same was stated before those, too
    };

    void drop(std::size_t n) noexcept
    {
        for (std::size_t i = n; i < size_; ++i) entries_[i - n] = entries_[i];
        size_ -= n;
    }
    /// What was stated before entry `n`, and so its older namesake, is of no account any more.
    void settle_on(std::size_t n) noexcept
    {
        drop(n);
        entries_[0].hidden = none;
        entries_[0].again = false;
    }

    std::array<entry, room> entries_;  ///< limits fall
    std::size_t size_ = 0;
};

}  // namespace sluice::audit::detail
