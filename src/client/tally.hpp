// What links count, in a form that every thread may read while the strand goes on.
#pragma once

#include "client/deadline_queue.hpp"

#include <sluice/client/counters.hpp>

#include <algorithm>
#include <array>
#include <atomic>

namespace sluice::client::detail {

/// The engine's counters of a session are nothing but such numbers.
inline constexpr std::size_t session_counter_count =
    sizeof(engine::session_counters) / sizeof(std::uint64_t);

/// One of a link adds to its session's and its connection's as well, so that these keep what links
/// counted that are gone.
class tally {
public:
    enum what : std::uint8_t {
        sent_octets,
        sent_accepted,
        sent_rejected,
        sent_released,
        sent_modified,
        sent_presettled,
        sent_otherwise,
        sent_failed,
        sent_aborted,
        got_messages,
        got_octets,
        got_presettled,
        got_accepted,
        got_rejected,
        got_released,
        got_modified,
        got_otherwise,
        got_aborted,
        count
    };

    explicit tally(tally* above = nullptr) noexcept : above_{above} {}

    /// On the strand: a plain addition, since nobody else writes.
    void add(what w, std::uint64_t n = 1) noexcept
    {
        for (auto* t = this; t; t = t->above_) {
            auto& value = t->values_[w];
            value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        }
    }
    /// From any thread. @pre no add() of the same
    void add_anywhere(what w) noexcept
    {
        for (auto* t = this; t; t = t->above_)
            t->values_[w].fetch_add(1, std::memory_order_relaxed);
    }

    sending_counters sent() const noexcept;
    receiving_counters received() const noexcept;

private:
    std::uint64_t at(what w) const noexcept { return values_[w].load(std::memory_order_relaxed); }

    tally* const above_;
    std::array<std::atomic<std::uint64_t>, count> values_{};
};

/// Adds times up on the strand's clock; read anywhere, and never seen to go back.
class stopwatch {
public:
    // Strand.
    void start(clock_time now) noexcept
    {
        auto const v = value_.load(std::memory_order_relaxed);
        if ((v & 1) == 0)
            value_.store((now.count() - (v >> 1)) * 2 + 1, std::memory_order_release);
    }
    void stop(clock_time now) noexcept
    {
        auto const v = value_.load(std::memory_order_relaxed);
        if ((v & 1) != 0)
            value_.store((now.count() - (v >> 1)) * 2, std::memory_order_release);
    }

    /// @param now may be ahead of the strand's, whose turn began a while ago
    clock_time read(clock_time now) const noexcept
    {
        auto const v = value_.load(std::memory_order_acquire);
        auto const total = (v & 1) != 0 ? now.count() - (v >> 1) : v >> 1;
        auto told = told_.load(std::memory_order_relaxed);
        while (told < total
               && !told_.compare_exchange_weak(told, total, std::memory_order_relaxed)) {}
        return clock_time{std::max<std::int64_t>(told, total)};
    }

private:
    /// Twice the total; or, while it runs, twice the moment at which it would have begun for that
    /// total, and one.
    std::atomic<std::int64_t> value_{0};
    mutable std::atomic<std::int64_t> told_{0};
};

}  // namespace sluice::client::detail
