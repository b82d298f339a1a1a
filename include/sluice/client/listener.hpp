// Taking connections in: what peers ask for, and how a server answers. [2.4.1, 2.5.1, 2.6.3]
#pragma once

#include <sluice/client/connection.hpp>
#include <sluice/export.hpp>
#include <sluice/net/sasl_users.hpp>
#include <sluice/net/tcp_listener.hpp>

#include <functional>
#include <string_view>

namespace sluice::client {

namespace detail {
class listener_core;
struct peer_asked;
}  // namespace detail

/// Makes what takes connections in, as net::tcp_listener::open() does.
using acceptor = std::function<result<std::shared_ptr<net::tcp_listener>>(
    boost::asio::any_io_executor on, std::string const& host, std::uint16_t port,
    std::string* fault)>;

/// Settings of a listener; each limit with what happens beyond it. No time may be negative.
struct listener_options {
    /// Of each connection. Its limits: max_frame_size (amqp:connection:framing-error), channel_max
    /// (sessions; framing-error), idle_timeout (amqp:resource-limit-exceeded [2.4.5]).
    /// `timeout` is that of calls; user, password, sasl and hostname are not used.
    connection_options connection{};
    /// Of sessions that are accepted without a handler. handle_max: links
    /// (amqp:connection:framing-error); incoming_window (amqp:session:window-violation).
    session_options session{};
    std::size_t connections_max = 10'000;    ///< the next waits in the backlog
    milliseconds handshake_timeout{10'000};  ///< from the socket to the open; then it is closed
    std::optional<net::tls_server_options> tls{};  ///< set: TLS, and nothing without it
    bool websocket = false;                        ///< AMQP over WebSocket, and nothing else
    /// Whose web pages may connect besides the server's own: "https://example.org", or "*".
    std::vector<std::string> websocket_origins{};
    /// Told with a text of each TLS or WebSocket handshake that failed: which check, for whom. Runs
    /// where handlers run; 64 at most wait for it, more are dropped.
    std::function<void(std::string const&)> on_handshake_failed{};
    /// Octets of messages that are unfinished or not taken yet, of one connection and of all:
    /// amqp:resource-limit-exceeded closes the connection.
    std::size_t connection_buffered_max = 64u << 20;
    std::size_t buffered_max = 512u << 20;
    milliseconds stop_timeout{5'000};  ///< see listener::stop()
    /// Instead of a TCP socket, such as sluice::test's that stays in memory.
    client::acceptor acceptor{};

    /// Set: SASL is required; SCRAM-SHA-512 and -256, EXTERNAL for a verified certificate whose
    /// common name is a user's, and PLAIN are offered, the last where nobody can read along.
    std::shared_ptr<net::sasl_users const> users{};
    /// PLAIN for `users` also from other machines over connections that are not encrypted.
    bool allow_plain_unencrypted = false;
    /// Passwords that wait to be checked, at most: one more gets the outcome sys-temp.
    std::size_t password_checks_max = 64;

    /// The check of SASL PLAIN. Set: ANONYMOUS and connections without SASL are refused. Called on
    /// the connection's handler executor; what it throws refuses.
    std::function<bool(std::string_view user, std::string_view password)> check_password{};
};

/// What a request object has in common: answered once; the first answer counts. One that goes
/// without an answer is refused. An answer that cannot be sent (a condition, options) is none: it
/// throws boost::system::system_error with error::invalid_argument, naming the field. Thread-safe.
class SLUICE_EXPORT peer_request {
public:
    bool answered() const noexcept;

protected:
    explicit peer_request(std::shared_ptr<detail::peer_asked> s) noexcept : state_{std::move(s)} {}
    std::shared_ptr<detail::peer_asked> state_;
};

/// A peer has opened. [2.7.1]
class SLUICE_EXPORT connection_request : public peer_request {
public:
    std::string const& container_id() const noexcept;
    std::string const& hostname() const noexcept;
    /// Whom SASL has shown it to be; empty if nobody in particular.
    std::string const& user() const noexcept;
    /// "127.0.0.1:50123"
    std::string const& peer() const noexcept;
    std::vector<std::string> const& desired_capabilities() const noexcept;
    /// An encoded map, or empty.
    bytes const& properties() const noexcept;

    /// @returns the connection; when the last handle on it and on what is in it goes, it is closed
    connection accept() const;
    /// Open, then close with `why`.
    void refuse(amqp_error why) const;

private:
    friend class detail::connection_core;
    friend class detail::listener_core;
    using peer_request::peer_request;
};

/// A peer has begun a session. [2.7.2]
class SLUICE_EXPORT session_request : public peer_request {
public:
    /// @returns the session; when the last handle on it and on its links goes, it is ended
    session accept(session_options options = {}) const;
    /// Begin, then end with `why`.
    void refuse(amqp_error why) const;

private:
    friend class detail::connection_core;
    using peer_request::peer_request;
};

/// A peer has attached a link. [2.7.3]
class SLUICE_EXPORT link_request : public peer_request {
public:
    std::string const& name() const noexcept;
    /// The peer sends: accept_receiver() is the answer, else accept_sender().
    bool peer_sends() const noexcept;
    terminus const& source() const noexcept;
    terminus const& target() const noexcept;
    /// The target is a transaction coordinator, not an address. [4.5.1]
    bool to_coordinator() const noexcept;
    sender_settle_mode snd_settle_mode() const noexcept;
    receiver_settle_mode rcv_settle_mode() const noexcept;
    std::uint64_t max_message_size() const noexcept;  ///< the peer's; 0: no limit
    bytes const& properties() const noexcept;

    /// Options that grant what was asked for: its termini (without filters: those are in force that
    /// the answer names, so put in what you apply) and settle modes.
    sender_options sender_defaults() const;
    receiver_options receiver_defaults() const;

    /// @pre !peer_sends(). @returns the sender. A dynamic source needs an address in the options.
    sender accept_sender(sender_options options) const;
    sender accept_sender() const { return accept_sender(sender_defaults()); }
    /// @pre peer_sends()
    receiver accept_receiver(receiver_options options) const;
    receiver accept_receiver() const { return accept_receiver(receiver_defaults()); }
    /// Attach with a null terminus, then detach with `why`. [2.6.3]
    void refuse(amqp_error why) const;

    /// The session that the link is on. The handle does not keep it open.
    client::session session() const;

private:
    friend class detail::connection_core;
    using peer_request::peer_request;
};

/// What a server does with requests. Handlers of one connection run one after the other, on_link
/// those of one session, beside other sessions': one that blocks stalls its session only. Never on
/// an I/O thread; they may keep a request and answer later. What a peer asks for before an earlier
/// answer is given is kept, in order, and comes after the answer; what it takes back before its
/// handler runs is not asked for (session_options::events_max bounds such).
struct server_handlers {
    std::function<void(connection_request)> on_connection{};  ///< default: accepted
    std::function<void(session_request)> on_session{};        ///< default: accepted
    std::function<void(link_request)> on_link{};              ///< default: refused, amqp:not-found
    /// A connection that was accepted is over.
    std::function<void(connection, failure_ptr)> on_closed{};
};

/// A handle on a listener; copies refer to the same one. Thread-safe. It stops taking connections
/// in when the last handle goes; those that are open stay. Made by container::listen().
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT listener {
public:
    listener() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    std::uint16_t port() const noexcept;
    /// "127.0.0.1:5672"
    std::string address() const;
    std::size_t connections() const noexcept;

    /// Takes no more connections in; those that are open stay.
    void close() const;
    /// Reads the files of listener_options::tls again, for connections from here on; those that are
    /// open stay. Reads files: blocks for a moment.
    /// @returns error::tls_setup_failed (all stays as it was; `fault`, if given, says why),
    ///     error::invalid_state without TLS
    std::error_code reload_tls(std::string* fault = nullptr) const;
    /// The same with other files or texts.
    std::error_code reload_tls(net::tls_server_options const& options,
                               std::string* fault = nullptr) const;
    /// Takes no more connections in, lets sends that are under way finish for at most
    /// listener_options::stop_timeout, closes each connection with `why` and completes when all are
    /// gone. Harmless when called again.
    template <class Token>
    auto async_stop(amqp_error why, Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this, why = std::move(why)](detail::reply_ptr<> r) mutable {
                self.start_stop(std::move(why), std::move(r));
            });
    }
    void stop(amqp_error why = {.condition = condition::connection_forced,
                                .description = "the server is stopping",
                                .info = {}}) const
    {
        detail::wait_for<>(
            [&](detail::reply_ptr<> r) { start_stop(std::move(why), std::move(r)); });
    }
    executor get_executor() const;

private:
    friend class container;
    explicit listener(std::shared_ptr<detail::listener_core> core) noexcept : core_{std::move(core)}
    {
    }
    void start_stop(amqp_error why, detail::reply_ptr<> r) const;

    std::shared_ptr<detail::listener_core> core_;
};

}  // namespace sluice::client
