// A session: links that share one flow window and one executor.
#pragma once

#include <sluice/client/counters.hpp>
#include <sluice/client/receiver.hpp>
#include <sluice/client/sender.hpp>
#include <sluice/client/transaction.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

namespace detail {
class requester_core;
}

/// A handle on a session; copies refer to the same one. Thread-safe. Once the last handle on it and
/// on its links is gone, it is ended.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
///
/// Opening a link: on the deadline (link_options::timeout) or when cancelled, the link is detached
/// and the call completes with error::timed_out or error::operation_aborted at once; a late answer
/// is dropped. On failure the handle that comes with the error tells the cause: error().
class SLUICE_EXPORT session {
public:
    session() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Attaches a link that sends to `address`. Errors: error::link_refused and the like with the
    /// peer's condition, error::link_name_in_use, error::handle_max_exceeded,
    /// error::invalid_argument (options that cannot be sent, by name), the session's end.
    template <class Token>
    auto async_open_sender(std::string address, sender_options options, Token&& token) const
    {
        options.target.address = std::move(address);
        return detail::initiate<sender>(
            get_executor(), std::forward<Token>(token),
            [self = *this, o = std::move(options)](detail::reply_ptr<sender> r) mutable {
                self.start_sender(std::move(o), std::move(r));
            });
    }
    template <class Token>
    auto async_open_sender(std::string address, Token&& token) const
    {
        return async_open_sender(std::move(address), sender_options{}, std::forward<Token>(token));
    }
    sender open_sender(std::string address, sender_options options = {}) const
    {
        options.target.address = std::move(address);
        return detail::wait_for<sender>(
            [&](detail::reply_ptr<sender> r) { start_sender(std::move(options), std::move(r)); });
    }

    /// Attaches a link that receives from `address`.
    template <class Token>
    auto async_open_receiver(std::string address, receiver_options options, Token&& token) const
    {
        options.source.address = std::move(address);
        return detail::initiate<receiver>(
            get_executor(), std::forward<Token>(token),
            [self = *this, o = std::move(options)](detail::reply_ptr<receiver> r) mutable {
                self.start_receiver(std::move(o), std::move(r));
            });
    }
    template <class Token>
    auto async_open_receiver(std::string address, Token&& token) const
    {
        return async_open_receiver(std::move(address), receiver_options{},
                                   std::forward<Token>(token));
    }
    receiver open_receiver(std::string address, receiver_options options = {}) const
    {
        options.source.address = std::move(address);
        return detail::wait_for<receiver>([&](detail::reply_ptr<receiver> r) {
            start_receiver(std::move(options), std::move(r));
        });
    }

    /// Declares a transaction, over a link to the peer's coordinator that is opened with the first.
    /// Errors: error::link_refused with the peer's condition where it has no transactions,
    /// error::rejected (no more of them, say), error::timed_out and error::operation_aborted (the
    /// controller link is closed), the session's end. [4.2, 4.3]
    template <class Token>
    auto async_begin_transaction(Token&& token) const
    {
        return detail::initiate<transaction>(get_executor(), std::forward<Token>(token),
                                             [self = *this](detail::reply_ptr<transaction> r) {
                                                 self.start_transaction(std::move(r));
                                             });
    }
    transaction begin_transaction() const
    {
        return detail::wait_for<transaction>(
            [&](detail::reply_ptr<transaction> r) { start_transaction(std::move(r)); });
    }

    /// Asks for a session flow; with `echo`, for one of the peer's in answer. Fire and forget.
    void request_flow(bool echo = false) const;

    /// Ends the session: deliveries that have begun are finished, other calls end with
    /// error::closed_locally. Completes with the peer's end; on the deadline or when cancelled
    /// without waiting for it. Harmless after the end.
    template <class Token>
    auto async_end(Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<> r) { self.start_end({}, std::move(r)); });
    }
    void end() const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_end({}, std::move(r)); });
    }
    void end(amqp_error why) const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_end(std::move(why), std::move(r)); });
    }

    /// What it and its links have counted so far; after the end, the last values.
    session_counters counters() const noexcept;
    /// Why it ended; null while it is open.
    failure_ptr error() const;
    executor const& get_executor() const noexcept;

private:
    friend class connection;
    friend class session_request;
    friend class link_request;
    friend class detail::session_core;
    friend class detail::requester_core;
    friend class answers_together;
    explicit session(std::shared_ptr<detail::session_core> core) noexcept : core_{std::move(core)}
    {
    }
    void start_sender(sender_options options, detail::reply_ptr<sender> r) const;
    void start_receiver(receiver_options options, detail::reply_ptr<receiver> r) const;
    void start_end(amqp_error why, detail::reply_ptr<> r) const;
    void start_transaction(detail::reply_ptr<transaction> r) const;

    std::shared_ptr<detail::session_core> core_;
};

/// While it lives, what its thread says of the deliveries of that session's connection (accept,
/// release, …) goes out together: when it ends, or within a millisecond. For a thread of your own
/// that handles many messages one after the other; handlers have the like of it already. Lives and
/// ends on one thread; one within another one does no harm.
class SLUICE_EXPORT answers_together {
public:
    /// @pre of.valid()
    explicit answers_together(session const& of);
    answers_together(answers_together const&) = delete;
    answers_together& operator=(answers_together const&) = delete;
    ~answers_together();

private:
    struct scope;
    std::unique_ptr<scope> scope_;
};

}  // namespace sluice::client
