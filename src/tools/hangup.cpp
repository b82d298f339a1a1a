// The thread that waits for SIGHUP.
#include "tools/hangup.hpp"

#include <csignal>

namespace sluice::tools {

hangup::hangup(std::function<void()> f) : f_{std::move(f)}
{
    wait();
    thread_ = std::thread{[this] { io_.run(); }};
}

hangup::~hangup()
{
    io_.stop();
    thread_.join();
}

void hangup::wait()
{
    signals_.async_wait([this](boost::system::error_code ec, int) {
        if (ec)
            return;
        f_();
        wait();
    });
}

}  // namespace sluice::tools
