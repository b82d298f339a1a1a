// A connection to one peer.
#pragma once

#include <sluice/client/counters.hpp>
#include <sluice/client/notifications.hpp>
#include <sluice/client/session.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

/// A handle on a connection; copies refer to the same one. Thread-safe. Once the last handle on it,
/// its sessions and their links is gone, it is closed.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT connection {
public:
    connection() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Begins a session. On the deadline (session_options::timeout) or when cancelled the session
    /// is ended and the call completes with error::timed_out or error::operation_aborted at once; a
    /// late answer is dropped. Errors: error::invalid_argument (options that cannot be sent, by
    /// name), error::channel_max_exceeded, the connection's end.
    template <class Token>
    auto async_begin(session_options options, Token&& token) const
    {
        return detail::initiate<session>(
            get_executor(), std::forward<Token>(token),
            [self = *this, o = std::move(options)](detail::reply_ptr<session> r) mutable {
                self.start_begin(std::move(o), std::move(r));
            });
    }
    template <class Token>
    auto async_begin(Token&& token) const
    {
        return async_begin(session_options{}, std::forward<Token>(token));
    }
    session begin(session_options options = {}) const
    {
        return detail::wait_for<session>(
            [&](detail::reply_ptr<session> r) { start_begin(std::move(options), std::move(r)); });
    }

    /// A session of the connection's own, begun at the first call; it ends with the connection.
    /// Should it end before, the next call begins another one.
    session default_session() const;
    /// Links on the default session.
    sender open_sender(std::string address, sender_options options = {}) const
    {
        return default_session().open_sender(std::move(address), std::move(options));
    }
    receiver open_receiver(std::string address, receiver_options options = {}) const
    {
        return default_session().open_receiver(std::move(address), std::move(options));
    }
    template <class Token>
    auto async_open_sender(std::string address, sender_options options, Token&& token) const
    {
        return default_session().async_open_sender(std::move(address), std::move(options),
                                                   std::forward<Token>(token));
    }
    template <class Token>
    auto async_open_receiver(std::string address, receiver_options options, Token&& token) const
    {
        return default_session().async_open_receiver(std::move(address), std::move(options),
                                                     std::forward<Token>(token));
    }

    /// Ends the sessions (answers given are written first), then closes; calls still waiting end
    /// with error::closed_locally. Completes with the peer's close. On the deadline or when
    /// cancelled the transport is closed at once. Harmless after the end.
    template <class Token>
    auto async_close(Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<> r) { self.start_close({}, std::move(r)); });
    }
    void close() const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_close({}, std::move(r)); });
    }
    /// The same at once, telling the peer why; what is queued is dropped.
    void close(amqp_error why) const
    {
        detail::wait_for<>(
            [&](detail::reply_ptr<> r) { start_close(std::move(why), std::move(r)); });
    }

    /// What the peer's open said: its container-id; empty before.
    std::string remote_container_id() const;
    /// "host:port" of the peer.
    std::string peer() const;
    /// What it and everything on it has counted so far; after the end, the last values.
    connection_counters counters() const noexcept;
    /// What its auditor has found; zeros if it is off.
    audit_counters audited() const noexcept;
    /// How often it has come back (see reconnect_options).
    std::uint64_t reconnects() const noexcept;
    /// Credentials for the next time that it connects; those that it was opened with stay in force
    /// until then.
    void set_credentials(std::string user, std::string password) const;

    /// What becomes of it: open again, recovering, closed with the reason. 64 are kept.
    notifications<state_change> state_changes() const;
    /// Its end: one fact, the failure.
    notifications<failure_ptr> closed() const;
    /// The peer or the socket holds sends back, and no more. 64 are kept.
    notifications<blocked_change> blocked() const;

    /// The same for all handles on one connection, and for no other one that lives.
    void const* identity() const noexcept { return core_.get(); }
    /// Why it ended; null while it is open or recovering.
    failure_ptr error() const;
    executor get_executor() const;

private:
    friend class container;
    friend class connection_request;
    friend class detail::connection_core;
    explicit connection(std::shared_ptr<detail::connection_core> core) noexcept
        : core_{std::move(core)}
    {
    }
    void start_begin(session_options options, detail::reply_ptr<session> r) const;
    void start_close(amqp_error why, detail::reply_ptr<> r) const;

    std::shared_ptr<detail::connection_core> core_;
};

}  // namespace sluice::client
