// When a port's links are attached again.
#pragma once

#include <sluice/channel/detail/operation.hpp>

#include <algorithm>
#include <utility>

namespace sluice::channels::detail {

/// Links that were there for a while come back at once. Those that go as soon as they are there
/// wait longer each time, as those that do not come: a node that opens them and ends them again is
/// not asked in a loop.
class link_retries {
public:
    static constexpr std::chrono::milliseconds first{20};
    static constexpr std::chrono::milliseconds most{2'000};
    static constexpr std::chrono::milliseconds lasting{100};

    void on_open(time_point now) noexcept { opened_ = now; }
    /// They are gone, or did not come. @returns how long to wait
    std::chrono::milliseconds on_failed(time_point now) noexcept
    {
        auto const were_there = std::exchange(opened_, never);
        if (were_there != never && now - were_there >= lasting)
            failures_ = 0;
        auto const n = failures_++;
        if (n == 0 && were_there != never)
            return std::chrono::milliseconds{0};
        return std::min(most, first * (1 << std::min(n, 7U)));
    }

private:
    time_point opened_ = never;
    unsigned failures_ = 0;  // since they lasted
};

}  // namespace sluice::channels::detail
