// A WebSocket's octets, in and out.
#include "net/websocket_core.hpp"

#include <boost/beast/core/error.hpp>
#include <boost/beast/websocket/error.hpp>

#include <cstring>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;

constexpr std::size_t idle_read = 4096;  // held while nothing comes
constexpr std::size_t busy_read = std::size_t{64} * 1024;
constexpr std::size_t message_max = std::size_t{64} * 1024;  // of what we send

enum class fault { truncated = 1, text = 2 };

class category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "websocket"; }
    std::string message(int value) const override
    {
        return value == static_cast<int>(fault::text)
                   ? "the peer sent a text message; AMQP goes in binary ones"
                   : "the transport ended without a close frame of WebSocket: it was cut off, and "
                     "something may be missing";
    }
};

error_code make(fault f) noexcept
{
    static category const instance;
    return {static_cast<int>(f), instance};
}

std::size_t index(readiness r) noexcept { return static_cast<std::size_t>(r); }

}  // namespace

websocket_core::websocket_core(std::unique_ptr<byte_stream> inner)
    : ws_{std::move(inner)}, next_read_{idle_read}
{
    ws_.binary(true);
    ws_.auto_fragment(false);
    ws_.write_buffer_bytes(std::size_t{16} * 1024);
    ws_.read_message_max(0);  // none is held whole
}

std::size_t websocket_core::read_some(asio::mutable_buffer into, error_code& ec)
{
    ec = {};
    auto const n = std::min(into.size(), filled_ - taken_);
    if (n > 0) {
        std::memcpy(into.data(), input_.data() + taken_, n);
        taken_ += n;
        return n;
    }
    if (closed_)
        ec = asio::error::operation_aborted;
    else if (read_end_)
        ec = read_end_;
    else
        ec = asio::error::would_block;
    return 0;
}

std::size_t websocket_core::write_some(asio::const_buffer from, error_code& ec)
{
    ec = closed_ ? error_code{asio::error::operation_aborted} : write_end_;
    if (!ec && writing_)
        ec = asio::error::would_block;
    auto const n = std::min(from.size(), message_max);
    if (ec || n == 0)
        return 0;
    auto const* const data = static_cast<char const*>(from.data());
    output_.assign(data, data + n);
    writing_ = true;
    ws_.async_write(
        asio::buffer(output_),
        [self = shared_from_this()](error_code code, std::size_t) { self->on_written(code); });
    return n;
}

void websocket_core::on_written(error_code ec)
{
    writing_ = false;
    output_ = {};
    if (ec && !write_end_)
        write_end_ = ec;
    if (ending_ && !closed_ && !ec)
        start_close();
    wake(readiness::write);
}

void websocket_core::start_read()
{
    if (std::exchange(reading_, true))
        return;
    taken_ = filled_ = 0;
    if (input_.size() != next_read_)
        input_ = std::vector<char>(next_read_);  // resize() would hold on to the large one
    ws_.async_read_some(
        asio::buffer(input_),
        [self = shared_from_this()](error_code ec, std::size_t n) { self->on_read(ec, n); });
}

void websocket_core::on_read(error_code ec, std::size_t n)
{
    reading_ = false;
    filled_ = n;
    next_read_ = n == input_.size() ? busy_read : idle_read;
    auto const text = n > 0 && ws_.got_text();
    if (text) {
        filled_ = 0;
        ec = make(fault::text);
    }
    if (ec) {
        auto const ended =
            ec == websocket::error::closed || (ending_ && ec == asio::error::operation_aborted);
        auto const cut = ec == asio::error::eof || ec == boost::beast::error::timeout;
        read_end_ = ended ? error_code{asio::error::eof} : cut ? make(fault::truncated) : ec;
    }
    if (text) {
        write_end_ = ec;
        if (!std::exchange(ending_, true) && !writing_)
            start_close();
    }
    wake(readiness::read);
}

void websocket_core::async_wait(readiness which, std::shared_ptr<stream_waiter> waiter)
{
    waiters_[index(which)] = std::move(waiter);
    if (which == readiness::write) {
        if (!writing_ || closed_)
            post_ready(which);
    } else if (closed_ || read_end_ || taken_ < filled_) {
        post_ready(which);
    } else {
        start_read();
    }
}

void websocket_core::post_ready(readiness which)
{
    asio::post(inner().get_executor(), [self = shared_from_this(), which] { self->wake(which); });
}

void websocket_core::wake(readiness which)
{
    if (auto const w = std::exchange(waiters_[index(which)], nullptr))
        w->on_ready(which, closed_ ? error_code{asio::error::operation_aborted} : error_code{});
}

void websocket_core::shutdown_write() noexcept
{
    if (closed_ || ending_)
        return;
    ending_ = true;
    auto const broken = bool{write_end_};
    if (!broken)
        write_end_ = asio::error::shut_down;
    if (broken)
        inner().shutdown_write();
    else if (!writing_)
        start_close();
}

/// Our close frame, then the peer's. What it sends before that is dropped: AMQP has ended already.
void websocket_core::start_close()
{
    auto const code = read_end_ == make(fault::text) ? websocket::close_code::unknown_data
                                                     : websocket::close_code::normal;
    ws_.async_close(code, [self = shared_from_this()](error_code) {
        if (!self->read_end_)
            self->read_end_ = asio::error::eof;
        if (!self->reading_)
            self->wake(readiness::read);
    });
}

void websocket_core::close() noexcept
{
    closed_ = true;
    inner().close();
}

void websocket_core::reset() noexcept
{
    closed_ = true;
    inner().reset();
}

}  // namespace sluice::net
