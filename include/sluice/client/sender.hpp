// The sending end of a link.
#pragma once

#include <sluice/client/body_stream.hpp>
#include <sluice/client/counters.hpp>
#include <sluice/client/detail/reply.hpp>
#include <sluice/client/notifications.hpp>
#include <sluice/client/options.hpp>
#include <sluice/client/outcome.hpp>
#include <sluice/codec/message.hpp>
#include <sluice/export.hpp>
#include <sluice/result.hpp>

#include <string_view>

namespace sluice::client {

namespace detail {
class transaction_controller;
class transaction_core;
}  // namespace detail

/// Octets that are an encoded message already, moved in and sent as they are.
struct encoded_message {
    bytes octets;
};

/// A handle on a sender; copies refer to the same one. Thread-safe: sends of one thread go out in
/// their order, and many threads' sends share a wake-up. Once the last handle is gone and its sends
/// have their outcomes, the link is detached.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
///
/// **async_send / send** wait while there is no credit (without a deadline), then for the outcome
/// (with send_options::timeout). They complete with the outcome; rejected, released and modified
/// are outcomes and no errors. Errors: error::link_detached_by_peer and the like with the cause in
/// error(), error::message_size_exceeded, error::queue_full (sender_options::outstanding_max),
/// error::invalid_argument (send_options that cannot be sent; nothing is),
/// error::timed_out, error::operation_aborted (cancelled before its last frame was written: it is
/// withdrawn, or aborted on the wire, and the peer never has it), error::outcome_unknown
/// (cancelled, out of time, or the link ended after that: the peer may have it).
class SLUICE_EXPORT sender {
public:
    sender() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    template <class Token>
    auto async_send(encoded_message m, send_options options, Token&& token) const
    {
        return detail::initiate<outcome>(
            get_executor(), std::forward<Token>(token),
            [self = *this, m = std::move(m),
             options = std::move(options)](detail::reply_ptr<outcome> r) mutable {
                self.start_send(std::move(m), options, false, std::move(r));
            });
    }
    template <class Token>
    auto async_send(encoded_message m, Token&& token) const
    {
        return async_send(std::move(m), send_options{}, std::forward<Token>(token));
    }
    template <class Token>
    auto async_send(message const& m, send_options options, Token&& token) const
    {
        return async_send(encode(m), std::move(options), std::forward<Token>(token));
    }
    template <class Token>
    auto async_send(message const& m, Token&& token) const
    {
        return async_send(encode(m), send_options{}, std::forward<Token>(token));
    }
    template <class Token>
    auto async_send(std::string_view text, send_options options, Token&& token) const
    {
        return async_send(encode(text), std::move(options), std::forward<Token>(token));
    }
    template <class Token>
    auto async_send(std::string_view text, Token&& token) const
    {
        return async_send(encode(text), send_options{}, std::forward<Token>(token));
    }

    /// Blocking. @throws boost::system::system_error
    outcome send(encoded_message m, send_options options = {}) const;
    outcome send(message const& m, send_options options = {}) const;
    /// Sends a message whose body is a string.
    outcome send(std::string_view text, send_options options = {}) const;

    /// As async_send, but completes with error::no_credit instead of waiting for credit; whether
    /// there is some is decided where the link lives, so this is asynchronous too.
    template <class Token>
    auto async_try_send(encoded_message m, send_options options, Token&& token) const
    {
        return detail::initiate<outcome>(
            get_executor(), std::forward<Token>(token),
            [self = *this, m = std::move(m),
             options = std::move(options)](detail::reply_ptr<outcome> r) mutable {
                self.start_send(std::move(m), options, true, std::move(r));
            });
    }
    /// Blocking. @throws boost::system::system_error with error::no_credit, or as send().
    outcome try_send(encoded_message m, send_options options = {}) const;
    outcome try_send(message const& m, send_options options = {}) const;
    outcome try_send(std::string_view text, send_options options = {}) const;

    /// Begins a message that is written in parts. Its frames go out as the parts come, while there
    /// is credit.
    /// @param buffer_max octets held between writer and connection
    /// @throws boost::system::system_error if the link is gone
    body_stream stream(send_options options = {},
                       std::size_t buffer_max = std::size_t{256} * 1024) const;

    /// Detaches for good: deliveries that have begun are finished, others end with
    /// error::closed_locally. Completes with the peer's detach. On the deadline or when cancelled
    /// it is detached at once, without waiting. Harmless after the end.
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
    /// The same, telling the peer why.
    void close(amqp_error why) const
    {
        detail::wait_for<>(
            [&](detail::reply_ptr<> r) { start_close(std::move(why), std::move(r)); });
    }

    std::string const& name() const noexcept;
    /// The target's address: for a dynamic one as the peer named it. Empty before the attach.
    std::string address() const;
    /// Credit not used by sends under way, as of a moment ago.
    std::uint32_t credit() const noexcept;
    /// Sends without an outcome, as of a moment ago.
    std::size_t outstanding() const noexcept;
    /// What has come of its sends so far; after the end, the last values.
    sender_counters counters() const noexcept;
    /// What comes of each send from now on, whoever called. 32 are kept.
    notifications<send_result> outcomes() const;
    /// That the peer, an error or this side has detached it, and whether it comes back. 64 are
    /// kept.
    notifications<detach_notice> detached() const;
    /// Why it ended; null while it is open.
    failure_ptr error() const;
    executor const& get_executor() const noexcept;

private:
    friend class session;
    friend class link_request;
    friend class detail::sender_core;
    friend class detail::transaction_controller;
    friend class detail::transaction_core;
    explicit sender(std::shared_ptr<detail::sender_core> core) noexcept : core_{std::move(core)} {}
    static encoded_message encode(message const& m);
    static encoded_message encode(std::string_view text);
    void start_send(encoded_message m, send_options const& options, bool only_with_credit,
                    detail::reply_ptr<outcome> r) const;
    void start_close(amqp_error why, detail::reply_ptr<> r) const;

    std::shared_ptr<detail::sender_core> core_;
};

}  // namespace sluice::client
