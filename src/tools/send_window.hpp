// Messages in flight, at most so many, and what became of all of them.
#pragma once

#include <sluice/client/sender.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

namespace sluice::tools {

struct send_totals {
    std::uint64_t sent = 0;  ///< given to the library; the sum of all below once all is over
    std::uint64_t accepted = 0;
    std::uint64_t settled = 0;  ///< sent settled, or settled by the peer without an outcome
    std::uint64_t rejected = 0;
    std::uint64_t released = 0;
    std::uint64_t modified = 0;
    std::uint64_t unknown = 0;   ///< the peer may have them
    std::uint64_t not_sent = 0;  ///< the peer does not have them
    std::string problem;         ///< the first that was not as wanted, as a sentence; or empty

    std::uint64_t done() const noexcept
    {
        return accepted + settled + rejected + released + modified + unknown + not_sent;
    }
    bool all_good() const noexcept { return accepted + settled == sent; }

    void count(client::outcome const& o);
    /// A send that ended without an outcome.
    void count(client::error_code const& why, std::string const& text);
};

/// Thread-safe. Has to outlive the container of its sender, whose threads call it.
class send_window {
public:
    explicit send_window(std::size_t in_flight_max) : in_flight_max_{in_flight_max} {}

    /// @pre !full()
    void send(client::sender const& to, bytes message, bool settled);
    /// A message whose outcome is known already.
    void add(client::outcome const& o);
    void add(client::error_code const& why, std::string const& text);

    /// Waits at most `patience` for room. @returns whether there is some
    bool wait_for_room(std::chrono::milliseconds patience);
    /// Waits at most `patience` for the last outcome. @returns whether none is missing
    bool wait_for_all(std::chrono::milliseconds patience);
    /// Waits until then, or until wake().
    void wait_until(std::chrono::steady_clock::time_point then);
    void wake();

    /// A send failed for a reason that the next one will share.
    bool broken() const;
    send_totals totals() const;

private:
    std::size_t in_flight() const noexcept
    {
        return static_cast<std::size_t>(totals_.sent - totals_.done());
    }

    std::size_t const in_flight_max_;
    mutable std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    send_totals totals_;
    std::size_t wanted_ = 0;  // somebody waits until so many or fewer are in flight
    bool waiting_ = false;
    bool broken_ = false;
    bool woken_ = false;
};

}  // namespace sluice::tools
