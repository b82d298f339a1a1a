// Facts that the library tells without being asked again: kept in a bounded channel, read when the
// user likes.
#pragma once

#include <sluice/client/detail/notice_channel.hpp>
#include <sluice/client/outcome.hpp>

namespace sluice::client {

/// The reading end of a channel of facts. Copies read from the same channel, each fact once. The
/// library never waits for a reader: when the channel is full, the oldest fact goes and is counted.
/// At the end of what it is about the channel is closed with the reason; what is in it can still be
/// read. Asked for after that end, it comes closed. Thread-safe.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
template <class T>
class notifications {
public:
    notifications() noexcept = default;
    explicit notifications(std::shared_ptr<detail::notice_channel<T>> channel) noexcept
        : channel_{std::move(channel)}
    {
    }
    bool valid() const noexcept { return channel_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// The oldest fact, if one is there.
    std::optional<T> try_next() const { return channel_->try_next(); }
    /// Waits for one. Nothing: the time is over, or the channel is closed and empty.
    std::optional<T> next(milliseconds timeout = no_timeout) const
    {
        return channel_->next(timeout);
    }
    /// Completes with the next fact, or, when the channel is closed and empty, with the reason's
    /// code (error::operation_aborted if it has none). Cancelling takes no fact out.
    template <class Token>
    auto async_next(Token&& token) const
    {
        return detail::initiate<T>(
            channel_->get_executor(), std::forward<Token>(token),
            [c = channel_](detail::reply_ptr<T> r) { c->start_next(std::move(r)); });
    }

    /// No more facts will come.
    bool closed() const { return channel_->closed(); }
    /// Why it is closed; null before.
    failure_ptr reason() const { return channel_->reason(); }
    /// Facts that found no room.
    std::uint64_t dropped() const { return channel_->dropped(); }
    std::size_t capacity() const noexcept { return channel_->capacity(); }

private:
    std::shared_ptr<detail::notice_channel<T>> channel_;
};

enum class connection_state : std::uint8_t { open, recovering, closed };

/// Of connection::state_changes().
struct state_change {
    connection_state state = connection_state::open;
    failure_ptr why{};             ///< of recovering and closed
    std::uint64_t reconnects = 0;  ///< how often it has come back so far
};

/// Of connection::blocked(): the peer's credit or window, or the socket, holds sends back, or does
/// so no more.
struct blocked_change {
    bool blocked = false;
};

/// Of detached(), of senders and receivers: the link is gone, or away.
struct detach_notice {
    failure_ptr why{};        ///< with the peer's condition, if it named one
    bool comes_back = false;  ///< it is attached again by itself: docs/recovery.md
};

/// Of sender::outcomes(): what came of each send on this link.
struct send_result {
    std::error_code code{};
    client::outcome outcome{};
};

}  // namespace sluice::client
