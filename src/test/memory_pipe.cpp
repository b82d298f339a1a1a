// Reading, writing, waiting.
#include "test/memory_pipe.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace sluice::test::detail {

namespace asio = boost::asio;

bool memory_pipe::ready(readiness which) const noexcept
{
    auto const size = octets_.size() - taken_;
    return which == readiness::read ? size > 0 || written_ || unread_
                                    : size < capacity_ || written_ || unread_;
}

void memory_pipe::wake(std::unique_lock<std::mutex> lock, readiness which, error_code ec)
{
    auto const waiting = std::exchange(which == readiness::read ? reader_ : writer_, nullptr);
    changed_.notify_all();
    lock.unlock();
    if (waiting)
        waiting(ec);
}

std::size_t memory_pipe::read_some(std::byte* into, std::size_t size, error_code& ec)
{
    std::unique_lock lock{mutex_};
    auto const n = std::min(size, octets_.size() - taken_);
    ec = n > 0 || size == 0 ? error_code{}
         : written_         ? error_code{asio::error::eof}
                            : error_code{asio::error::would_block};
    if (n == 0)
        return 0;
    std::copy_n(octets_.data() + taken_, n, into);
    taken_ += n;
    if (taken_ == octets_.size()) {
        octets_.clear();
        taken_ = 0;
    }
    wake(std::move(lock), readiness::write);
    return n;
}

std::size_t memory_pipe::write_some(std::byte const* from, std::size_t size, error_code& ec)
{
    std::unique_lock lock{mutex_};
    if (written_ || unread_) {
        ec = asio::error::broken_pipe;
        return 0;
    }
    auto const n = std::min(size, capacity_ - std::min(capacity_, octets_.size() - taken_));
    ec = n > 0 || size == 0 ? error_code{} : error_code{asio::error::would_block};
    if (n == 0)
        return 0;
    octets_.erase(octets_.begin(), octets_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    octets_.insert(octets_.end(), from, from + n);
    wake(std::move(lock), readiness::read);
    return n;
}

std::optional<std::size_t> memory_pipe::read_within(std::byte* into, std::size_t size,
                                                    std::chrono::milliseconds patience)
{
    {
        std::unique_lock lock{mutex_};
        if (!changed_.wait_for(lock, patience, [this] { return ready(readiness::read); }))
            return std::nullopt;
    }
    error_code ignored;
    return read_some(into, size, ignored);
}

void memory_pipe::wait(readiness which, waiter w)
{
    {
        std::lock_guard const lock{mutex_};
        if (!ready(which)) {
            (which == readiness::read ? reader_ : writer_) = std::move(w);
            return;
        }
    }
    w({});
}

void memory_pipe::cancel(readiness which)
{
    wake(std::unique_lock{mutex_}, which, asio::error::operation_aborted);
}

void memory_pipe::end_writing()
{
    std::unique_lock lock{mutex_};
    written_ = true;
    wake(std::move(lock), readiness::read);
}

void memory_pipe::end_reading()
{
    std::unique_lock lock{mutex_};
    unread_ = true;
    octets_.clear();
    taken_ = 0;
    wake(std::move(lock), readiness::write);
}

// ---- a stream over two of them

namespace {

class memory_stream final : public net::byte_stream {
public:
    memory_stream(asio::any_io_executor on, pipe_pair pipes, std::string peer)
        : on_{std::move(on)}, pipes_{std::move(pipes)}, peer_{std::move(peer)}
    {
    }
    ~memory_stream() override { close(); }

    asio::any_io_executor get_executor() override { return on_; }
    std::size_t read_some(asio::mutable_buffer into, error_code& ec) override
    {
        return pipes_.in->read_some(static_cast<std::byte*>(into.data()), into.size(), ec);
    }
    std::size_t write_some(asio::const_buffer from, error_code& ec) override
    {
        return pipes_.out->write_some(static_cast<std::byte const*>(from.data()), from.size(), ec);
    }
    void async_wait(readiness which, std::shared_ptr<net::stream_waiter> waiter) override
    {
        auto const& pipe = which == readiness::read ? pipes_.in : pipes_.out;
        pipe->wait(which, [on = on_, which, waiter = std::move(waiter)](error_code ec) {
            asio::post(on, [waiter, which, ec] { waiter->on_ready(which, ec); });
        });
    }
    void shutdown_write() noexcept override { pipes_.out->end_writing(); }
    void close() noexcept override
    {
        if (std::exchange(closed_, true))
            return;
        pipes_.out->end_writing();
        pipes_.in->end_reading();
        pipes_.out->cancel(readiness::write);
        pipes_.in->cancel(readiness::read);
    }
    std::string peer() const override { return peer_; }

private:
    asio::any_io_executor on_;
    pipe_pair pipes_;
    std::string peer_;
    bool closed_ = false;
};

}  // namespace

std::unique_ptr<net::byte_stream> make_memory_stream(asio::any_io_executor on, pipe_pair pipes,
                                                     std::string peer)
{
    return std::make_unique<memory_stream>(std::move(on), std::move(pipes), std::move(peer));
}

// ---- ports

std::uint16_t memory_hub::listen(std::uint16_t port, taker take)
{
    std::lock_guard const lock{mutex_};
    constexpr std::size_t ports = 65'535;
    if (port == 0 && listeners_.size() < ports)
        do port = ++last_;
        while (port == 0 || listeners_.contains(port));
    if (port == 0)
        return 0;
    return listeners_.emplace(port, std::move(take)).second ? port : std::uint16_t{0};
}

void memory_hub::forget(std::uint16_t port)
{
    std::lock_guard const lock{mutex_};
    listeners_.erase(port);
}

std::optional<pipe_pair> memory_hub::connect(std::uint16_t port)
{
    taker take;
    {
        std::lock_guard const lock{mutex_};
        auto const found = listeners_.find(port);
        if (found == listeners_.end())
            return std::nullopt;
        take = found->second;
    }
    pipe_pair const ours{.in = std::make_shared<memory_pipe>(buffer_max_),
                         .out = std::make_shared<memory_pipe>(buffer_max_)};
    take(ours.turned());
    return ours;
}

}  // namespace sluice::test::detail
