// The receiving end of a link.
#pragma once

#include <sluice/client/counters.hpp>
#include <sluice/client/delivery.hpp>
#include <sluice/client/detail/reply.hpp>
#include <sluice/client/notifications.hpp>
#include <sluice/client/options.hpp>
#include <sluice/export.hpp>

#include <functional>

namespace sluice::client {

/// A handle on a receiver; copies refer to the same one. Thread-safe. Once the last handle is gone,
/// what was not taken is released, and the link is detached when the deliveries taken are answered.
///
/// Credit: with `credit_window` (the default), deliveries held by you and deliveries on their way
/// are kept at that number together. With `credit_window = 0` you grant by hand. A delivery counts
/// as held until it is answered.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT receiver {
public:
    receiver() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }
    /// Handles on the same link are equal.
    friend bool operator==(receiver const&, receiver const&) = default;

    /// Completes with the next delivery. Waits as long as it takes, or `timeout`, then
    /// error::timed_out. Also: the link's end (what came before it can still be received),
    /// error::operation_aborted (cancelled: no delivery is lost), error::invalid_state while a
    /// handler is set.
    template <class Token>
    auto async_receive(milliseconds timeout, Token&& token) const
    {
        return detail::initiate<delivery>(get_executor(), std::forward<Token>(token),
                                          [self = *this, timeout](detail::reply_ptr<delivery> r) {
                                              self.start_receive(timeout, std::move(r));
                                          });
    }
    template <class Token>
    auto async_receive(Token&& token) const
    {
        return async_receive(no_timeout, std::forward<Token>(token));
    }
    /// Blocking. @throws boost::system::system_error
    delivery receive(milliseconds timeout = no_timeout) const
    {
        return detail::wait_for<delivery>(
            [&](detail::reply_ptr<delivery> r) { start_receive(timeout, std::move(r)); });
    }
    /// The next delivery if one is here, else an invalid one.
    delivery try_receive() const;

    /// From now on `handler` gets each delivery, one after the other, on the session's executor. An
    /// empty one ends that; a handler may do so, close anything and drop the last handle from
    /// within. What it throws goes to container_options::on_exception; the delivery, unless
    /// answered, is released.
    void on_message(std::function<void(delivery)> handler) const;

    /// Credit by hand: the peer may send `more` on top. Turns the automatic window off. Fire and
    /// forget.
    void add_credit(std::uint32_t more) const;
    /// The peer may send exactly `credit` from here on. 0 while a drain waits takes that back: it
    /// ends with error::operation_aborted, and what is granted next is granted at once.
    void set_credit(std::uint32_t credit) const;
    /// Automatic again, or with another size.
    void set_credit_window(std::uint32_t window) const;
    /// Asks for a flow on this link; with `echo`, for one of the peer's in answer. [2.7.4]
    void request_flow(bool echo = false) const;

    /// Asks the peer to use its credit up or give it back; completes when no delivery can come any
    /// more. Turns the automatic window off. Credit that you grant meanwhile is granted when it is
    /// over, however it ends. Errors: the link's end, error::timed_out, error::operation_aborted;
    /// the link stays as it is.
    template <class Token>
    auto async_drain(Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<> r) { self.start_drain(std::move(r)); });
    }
    void drain() const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_drain(std::move(r)); });
    }

    /// Detaches for good; deliveries not answered become stale. As sender::async_close.
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
    void close(amqp_error why) const
    {
        detail::wait_for<>(
            [&](detail::reply_ptr<> r) { start_close(std::move(why), std::move(r)); });
    }

    std::string const& name() const noexcept;
    /// The source's address: for a dynamic one as the peer named it. Empty before the attach.
    std::string address() const;
    /// Credit that the peer has, as of a moment ago.
    std::uint32_t credit() const noexcept;
    /// What has come so far, and was answered; after the end, the last values.
    receiver_counters counters() const noexcept;
    /// That the peer, an error or this side has detached it, and whether it comes back. 64 are
    /// kept.
    notifications<detach_notice> detached() const;
    /// Why it ended; null while it is open.
    failure_ptr error() const;
    executor const& get_executor() const noexcept;

private:
    friend class session;
    friend class link_request;
    friend class detail::receiver_core;
    explicit receiver(std::shared_ptr<detail::receiver_core> core) noexcept : core_{std::move(core)}
    {
    }
    void start_receive(milliseconds timeout, detail::reply_ptr<delivery> r) const;
    void start_drain(detail::reply_ptr<> r) const;
    void start_close(amqp_error why, detail::reply_ptr<> r) const;

    std::shared_ptr<detail::receiver_core> core_;
};

}  // namespace sluice::client
