// The longest time that is waited for: what users mean by "no time-out" cannot be added to a clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace sluice::net {

/// A hundred years: whatever is as long as that, or longer, never comes.
inline constexpr std::chrono::milliseconds never = std::chrono::hours{24 * 36'500};

/// `time` as far as it can be added to now.
constexpr std::chrono::milliseconds at_most_never(std::chrono::milliseconds time) noexcept
{
    return std::min(time, never);
}

}  // namespace sluice::net
