// SIGHUP, which asks a server to read its files again.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <functional>
#include <thread>

namespace sluice::tools {

/// Calls `f` on a thread of its own at each SIGHUP, from here to its end.
class hangup {
public:
    explicit hangup(std::function<void()> f);
    ~hangup();
    hangup(hangup const&) = delete;
    hangup& operator=(hangup const&) = delete;

private:
    void wait();

    std::function<void()> f_;
    boost::asio::io_context io_{1};
    boost::asio::signal_set signals_{io_, SIGHUP};
    std::thread thread_;
};

}  // namespace sluice::tools
