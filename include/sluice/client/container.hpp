// Where a program begins: owns the threads, makes the connections.
#pragma once

#include <sluice/client/connection.hpp>
#include <sluice/client/listener.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

/// Owns the I/O threads and the threads for handlers. Thread-safe.
///
/// Its end closes every connection at once, completes what waits with error::operation_aborted,
/// lets handlers that run finish, and joins its threads (not the one that it is destroyed on).
///
/// `SLUICE_TRACE=frames` in the environment prints every frame to standard error, one line each.
class SLUICE_EXPORT container {
public:
    /// @throws boost::system::system_error with error::invalid_argument: an id that is not UTF-8
    explicit container(container_options options = {});
    explicit container(std::string id);
    ~container();
    container(container const&) = delete;
    container& operator=(container const&) = delete;

    /// Connects to `amqp://user:password@host:port`, opens, and completes with the connection.
    /// `amqps://` is over TLS, `ws://` and `wss://` are over WebSocket without and with it; see
    /// connection_options::tls and docs/tls.md.
    ///
    /// Options of the URL: `sasl` = none, anonymous or plain; `hostname`, `max_frame_size`,
    /// `idle_timeout_ms`, `channel_max`. An unknown one is an error.
    ///
    /// Errors, each with a text that says what and what to do (the connection's error()):
    /// error::invalid_url, error::invalid_argument (an option, by name), error::resolve_failed,
    /// error::connect_failed,
    /// error::sasl_no_common_mechanism, error::sasl_auth_failed, error::sasl_required,
    /// error::invalid_protocol_header, error::tls_setup_failed, error::tls_verify_failed,
    /// error::tls_refused, error::tls_handshake_failed, error::websocket_failed, error::timed_out,
    /// error::handshake_timeout (connected, but the peer did not open),
    /// error::connection_closed_by_peer with its condition, error::operation_aborted (cancelled).
    template <class Token>
    auto async_connect(std::string url, connection_options options, Token&& token)
    {
        return detail::initiate<connection>(
            get_executor(), std::forward<Token>(token),
            [core = core_, u = std::move(url),
             o = std::move(options)](detail::reply_ptr<connection> r) mutable {
                start_connect(core, std::move(u), std::move(o), std::move(r));
            });
    }
    template <class Token>
    auto async_connect(std::string url, Token&& token)
    {
        return async_connect(std::move(url), connection_options{}, std::forward<Token>(token));
    }
    /// Blocking. @throws boost::system::system_error
    connection connect(std::string url, connection_options options = {})
    {
        return detail::wait_for<connection>([&](detail::reply_ptr<connection> r) {
            start_connect(core_, std::move(url), std::move(options), std::move(r));
        });
    }

    /// Takes connections in at `host`:`port` (0: any port that is free) until the listener's last
    /// handle goes or it is closed. See listener.hpp.
    /// @throws boost::system::system_error with error::resolve_failed, error::listen_failed,
    ///     error::tls_setup_failed, error::invalid_argument (an option, by name)
    listener listen(std::string const& host, std::uint16_t port, listener_options options = {},
                    server_handlers handlers = {});

    std::string const& id() const noexcept;
    /// Where handlers of async_connect run that have no executor of their own.
    executor get_executor() const;

private:
    static void start_connect(std::shared_ptr<detail::container_core> const& core, std::string url,
                              connection_options options, detail::reply_ptr<connection> r);

    std::shared_ptr<detail::container_core> core_;
};

}  // namespace sluice::client
