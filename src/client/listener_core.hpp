// A listener on its I/O thread: the socket, its connections, and their common limits.
#pragma once

#include "client/connection_core.hpp"

#include <sluice/client/listener.hpp>
#include <sluice/net/tcp_listener.hpp>
#include <sluice/net/transport.hpp>

#include <unordered_map>
#include <unordered_set>

namespace sluice::client::detail {

class listener_core : public std::enable_shared_from_this<listener_core> {
public:
    listener_core(std::shared_ptr<container_core> container, listener_options options,
                  server_handlers handlers);

    // ---- any thread

    /// @returns error::resolve_failed, error::listen_failed, error::tls_setup_failed
    std::error_code open(std::string const& host, std::uint16_t port, std::string& fault);
    std::uint16_t port() const noexcept { return socket_->port(); }
    std::string address() const { return socket_->address(); }
    std::size_t connections() const noexcept { return count_.load(std::memory_order_relaxed); }
    void close();
    /// @returns error::tls_setup_failed
    std::error_code set_tls(net::tls_server_options const& options, std::string* fault);
    void start_stop(amqp_error why, reply_ptr<> r);
    std::shared_ptr<completion_queue> const& completions() const noexcept { return completions_; }
    void abandon(std::shared_ptr<listener_core> self);
    /// From the container's end.
    void start_abort() noexcept;

    listener_options const& options() const noexcept { return options_; }
    server_handlers const& handlers() const noexcept { return handlers_; }

    // ---- the I/O thread

    bool stopping() const noexcept { return stopping_; }
    void on_ended(connection_core& c);
    /// One connection's share of octets held has changed. @returns the sum
    std::size_t on_buffered(std::size_t before, std::size_t after) noexcept;
    /// For one check of a password, to be kept until it is done, on whatever thread. Null: as many
    /// wait as may.
    std::shared_ptr<void> take_check();

private:
    void on_stream(std::unique_ptr<net::byte_stream> stream);
    void on_handshake(std::uint64_t which, net::connect_result r, clock_time since);
    void begin(std::unique_ptr<net::byte_stream> stream, clock_time spent);
    void tell_failed(std::string text);
    void make_room();
    void close_now() noexcept;
    void go_on_stopping();

    std::shared_ptr<container_core> container_;
    std::shared_ptr<io_thread> io_;
    std::shared_ptr<completion_queue> completions_;
    listener_options options_;
    server_handlers handlers_;
    std::shared_ptr<net::tcp_listener> socket_;
    std::atomic<std::size_t> count_{0};

    // the I/O thread
    boost::asio::steady_timer timer_;
    std::unordered_set<std::shared_ptr<connection_core>> connections_;
    std::unordered_map<std::uint64_t, std::shared_ptr<net::tcp_connect>> handshakes_;
    std::uint64_t handshakes_begun_ = 0;
    net::tls_context_ptr tls_;
    std::shared_ptr<std::atomic<int>> const untold_ = std::make_shared<std::atomic<int>>(0);
    std::shared_ptr<std::atomic<std::size_t>> const checks_ =
        std::make_shared<std::atomic<std::size_t>>(0);  // that wait or are under way
    std::vector<reply_ptr<>> stoppers_;
    amqp_error why_;
    clock_time stop_at_{0};
    std::size_t buffered_ = 0;
    bool stopping_ = false;
    bool closing_ = false;
};

}  // namespace sluice::client::detail
