// Ctrl-C and SIGTERM, turned into something that a program can finish by.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace sluice::tools {

/// Watches SIGINT and SIGTERM on a thread of its own. The first one is taken note of; from then on
/// they do what they do without this, so that a second Ctrl-C ends the program at once.
/// Thread-safe.
class interrupt {
public:
    interrupt();
    ~interrupt();
    interrupt(interrupt const&) = delete;
    interrupt& operator=(interrupt const&) = delete;

    bool requested() const noexcept { return requested_.load(std::memory_order_acquire); }
    /// Becomes readable with the signal: for poll(2).
    int descriptor() const noexcept { return pipe_[0]; }
    /// Calls `f` on this object's thread at the signal; at once if it has come already. An empty
    /// one ends that, and waits for a call under way.
    void on_request(std::function<void()> f);

private:
    void raise();

    std::atomic<bool> requested_{false};
    int pipe_[2];
    std::mutex mutex_;
    std::function<void()> action_;  // guarded by it
    boost::asio::io_context io_{1};
    boost::asio::signal_set signals_{io_, SIGINT, SIGTERM};
    std::thread thread_;
};

}  // namespace sluice::tools
