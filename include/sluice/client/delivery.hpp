// A message received, and the answer to it.
#pragma once

#include <sluice/client/detail/reply.hpp>
#include <sluice/client/options.hpp>
#include <sluice/client/outcome.hpp>
#include <sluice/codec/message.hpp>
#include <sluice/export.hpp>

#include <string_view>

namespace sluice::client {

/// What to tell the sender with `modify`. [3.4.5]
struct modification {
    bool delivery_failed = true;
    bool undeliverable_here = false;
    bytes message_annotations{};  ///< an encoded map, or empty
};

/// A handle on a delivery; copies refer to the same one. It keeps its connection's memory, not its
/// link open.
///
/// Fire-and-forget answers (accept, release, reject, modify) return at once and are merged into
/// ranges on the wire; those of a handler (receiver::on_message) leave when the handler is done
/// with the messages that have come, or a millisecond or two after they are given if that is
/// earlier. A delivery whose last handle goes without an answer is released, so that the peer may
/// give it to somebody else. A delivery that the sender settled needs no answer.
///
/// Distinct handles: safe to use concurrently. Answers to one delivery from several threads: the
/// first one counts.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT delivery {
public:
    delivery() noexcept = default;

    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// The encoded message. Empty for a streamed delivery: read it.
    bytes_view body() const noexcept;
    /// The message's sections and body, decoded where they lie; valid while a handle on this
    /// delivery exists.
    /// @throws boost::system::system_error with a codec error if the message is malformed.
    message_view view() const;
    /// The same as an object of its own.
    sluice::message message() const;
    bytes_view tag() const noexcept;
    delivery_number id() const noexcept;
    std::uint32_t message_format() const noexcept;
    /// Sent settled: no answer is needed.
    bool settled() const noexcept;
    /// Answered already, by whichever handle.
    bool answered() const noexcept;

    /// States an outcome and settles (in receiver settle mode second: states it; see
    /// async_settle()).
    /// @throws boost::system::system_error with error::already_settled after an earlier answer,
    /// error::stale_delivery once the link is gone, or error::invalid_argument, and the delivery
    /// stays without an answer: an error or a state that cannot be sent.
    void accept() const;
    void release() const;
    void reject(amqp_error why = {}) const;
    void modify(modification how = {}) const;
    /// Any encoded state, such as a transactional-state; empty: settled without one.
    void answer(bytes encoded_state) const;

    /// As accept() and the like, and completes once the delivery is settled: at once in mode first,
    /// with the sender's settlement in mode second. Cancelling and the deadline only stop the
    /// waiting: the answer stays given. Completes with error::already_settled,
    /// error::stale_delivery, error::invalid_argument, error::timed_out, error::operation_aborted.
    template <class Token>
    auto async_settle(bytes encoded_state, Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this, state = std::move(encoded_state)](detail::reply_ptr<> r) mutable {
                self.start_settle(std::move(state), std::move(r));
            });
    }
    void settle(bytes encoded_state = accepted_state()) const
    {
        detail::wait_for<>(
            [&](detail::reply_ptr<> r) { start_settle(std::move(encoded_state), std::move(r)); });
    }

    /// Streamed deliveries: reads the next octets of the encoded message into `into`, at least one.
    /// Completes with asio::error::eof after the last, error::delivery_aborted if the sender gave
    /// the delivery up, or the link's end. One read at a time. Cancelling takes nothing out. `into`
    /// stays valid until completion.
    template <class Token>
    auto async_read_some(std::span<std::byte> into, Token&& token) const
    {
        return detail::initiate<std::size_t>(
            get_executor(), std::forward<Token>(token),
            [self = *this, into](detail::reply_ptr<std::size_t> r) mutable {
                self.start_read(into, std::move(r));
            });
    }
    std::size_t read_some(std::span<std::byte> into) const
    {
        return detail::wait_for<std::size_t>(
            [&](detail::reply_ptr<std::size_t> r) { start_read(into, std::move(r)); });
    }

    executor const& get_executor() const noexcept;
    static bytes accepted_state();

private:
    friend class detail::delivery_core;
    friend class detail::receiver_core;
    struct adopt {};
    delivery(detail::delivery_core* core, adopt) noexcept;
    void start_settle(bytes state, detail::reply_ptr<> r) const;
    void start_read(std::span<std::byte> into, detail::reply_ptr<std::size_t> r) const;

    struct reference {  // counts inside the delivery itself: no allocation a message
        reference() noexcept = default;
        explicit reference(detail::delivery_core* c) noexcept : core{c} {}
        reference(reference const& other) noexcept;
        reference(reference&& other) noexcept : core{std::exchange(other.core, nullptr)} {}
        reference& operator=(reference other) noexcept
        {
            std::swap(core, other.core);
            return *this;
        }
        ~reference();
        detail::delivery_core* operator->() const noexcept { return core; }
        bool operator!=(std::nullptr_t) const noexcept { return core; }
        detail::delivery_core* core = nullptr;
    };
    reference core_;
};

}  // namespace sluice::client
