// The end of a connection, which a peer that says nothing must not hold up.
#pragma once

#include "tools/interrupt.hpp"

#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <optional>

namespace sluice::tools {

/// After Ctrl-C, for what a peer has still to say.
inline constexpr std::chrono::seconds closing_patience{2};

/// Closes `what`, a link or a connection, and waits for the peer's answer; from Ctrl-C on for
/// closing_patience at most. @returns whether the answer came
/// @throws boost::system::system_error as close() does
template <class Closable>
bool close_within_patience(Closable& what, interrupt const& stop)
{
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds glance{50};
    auto closed = what.async_close(boost::asio::use_future);
    std::optional<clock::time_point> ends;
    while (closed.wait_for(glance) != std::future_status::ready) {
        if (stop.requested() && !ends)
            ends = clock::now() + closing_patience;
        if (ends && clock::now() > *ends)
            return false;
    }
    closed.get();
    return true;
}

}  // namespace sluice::tools
