// One WebSocket over a byte stream: Beast's operations on one side, readiness on the other.
#pragma once

#include "net/stream_socket.hpp"

#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <array>
#include <vector>

namespace sluice::net {

/// Reads when somebody waits, into a buffer of its own; writes one message at a time. Kept alive by
/// operations under way.
class websocket_core final : public std::enable_shared_from_this<websocket_core> {
public:
    using socket = boost::beast::websocket::stream<stream_socket, false>;

    explicit websocket_core(std::unique_ptr<byte_stream> inner);

    socket& ws() noexcept { return ws_; }
    byte_stream& inner() noexcept { return ws_.next_layer().stream(); }

    std::size_t read_some(boost::asio::mutable_buffer into, error_code& ec);
    std::size_t write_some(boost::asio::const_buffer from, error_code& ec);
    void async_wait(readiness which, std::shared_ptr<stream_waiter> waiter);
    void shutdown_write() noexcept;
    void close() noexcept;
    void reset() noexcept;
    stream_security security() { return inner().security(); }

private:
    void start_read();
    void on_read(error_code ec, std::size_t n);
    void on_written(error_code ec);
    void start_close();
    void post_ready(readiness which);
    void wake(readiness which);

    socket ws_;
    std::array<std::shared_ptr<stream_waiter>, 2> waiters_;  // by readiness
    std::vector<char> input_;
    std::size_t taken_ = 0;   // of input_, by whom it is for
    std::size_t filled_ = 0;  // of input_
    std::size_t next_read_;
    std::vector<char> output_;
    error_code read_end_;
    error_code write_end_;
    bool reading_ = false;
    bool writing_ = false;
    bool ending_ = false;
    bool closed_ = false;
};

}  // namespace sluice::net
