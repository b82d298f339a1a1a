// The thread that waits for signals.
#include "tools/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <system_error>

namespace sluice::tools {

interrupt::interrupt()
{
    if (::pipe2(pipe_, O_CLOEXEC) != 0)
        throw std::system_error{errno, std::generic_category(), "cannot make a pipe"};
    signals_.async_wait([this](boost::system::error_code ec, int) {
        if (ec)
            return;
        raise();
        signals_.clear();
    });
    thread_ = std::thread{[this] { io_.run(); }};
}

interrupt::~interrupt()
{
    io_.stop();
    thread_.join();
    ::close(pipe_[0]);
    ::close(pipe_[1]);
}

void interrupt::raise()
{
    requested_.store(true, std::memory_order_release);
    std::ignore = ::write(pipe_[1], "", 1);
    std::lock_guard const lock{mutex_};
    if (action_)
        action_();
}

void interrupt::on_request(std::function<void()> f)
{
    std::lock_guard const lock{mutex_};
    action_ = std::move(f);
    if (action_ && requested())
        action_();
}

}  // namespace sluice::tools
