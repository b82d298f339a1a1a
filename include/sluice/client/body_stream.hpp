// A message that is sent while it is being made: written in parts, from any thread, into a bounded
// buffer.
#pragma once

#include <sluice/client/detail/reply.hpp>
#include <sluice/client/options.hpp>
#include <sluice/client/outcome.hpp>
#include <sluice/export.hpp>

#include <span>
#include <string_view>

namespace sluice::client {

/// Made by sender::stream(). Copies refer to the same message. If the last handle goes before
/// finish(), the delivery is aborted. Thread-safe; the order of writes from several threads is
/// theirs to see to.
///
/// @pre of all members: made by sender::stream(), not default-constructed.
class SLUICE_EXPORT body_stream {
public:
    body_stream() noexcept = default;

    /// Appends octets of the encoded message as they are. Completes once all are in the buffer, so
    /// a full buffer (the peer's window, its credit) holds the writer back. `data` stays valid
    /// until completion. Completes with the number of octets taken, or the link's end,
    /// error::operation_aborted (cancelled: the number says how much is in), error::invalid_state
    /// after finish() or abort(). No deadline.
    template <class Token>
    auto async_write(bytes_view data, Token&& token) const
    {
        return detail::initiate<std::size_t>(
            get_executor(), std::forward<Token>(token),
            [self = *this, data](detail::reply_ptr<std::size_t> r) {
                self.start_write(data, false, std::move(r));
            });
    }
    std::size_t write(bytes_view data) const
    {
        return detail::wait_for<std::size_t>(
            [&](detail::reply_ptr<std::size_t> r) { start_write(data, false, std::move(r)); });
    }

    /// The same for the content of one more data section [3.2.6]: a body of such sections needs no
    /// length beforehand. Content of 4 GiB or more is error::invalid_argument.
    template <class Token>
    auto async_write_data(bytes_view content, Token&& token) const
    {
        return detail::initiate<std::size_t>(
            get_executor(), std::forward<Token>(token),
            [self = *this, content](detail::reply_ptr<std::size_t> r) {
                self.start_write(content, true, std::move(r));
            });
    }
    std::size_t write_data(bytes_view content) const
    {
        return detail::wait_for<std::size_t>(
            [&](detail::reply_ptr<std::size_t> r) { start_write(content, true, std::move(r)); });
    }

    /// Says that nothing more comes; completes with the outcome, as sender::async_send does.
    template <class Token>
    auto async_finish(Token&& token) const
    {
        return detail::initiate<outcome>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<outcome> r) { self.start_finish(std::move(r)); });
    }
    outcome finish() const
    {
        return detail::wait_for<outcome>(
            [&](detail::reply_ptr<outcome> r) { start_finish(std::move(r)); });
    }

    /// Gives the message up: nothing of it will be delivered. Harmless after finish() completed.
    void abort() const noexcept;

    executor get_executor() const;

private:
    friend class detail::sender_core;
    explicit body_stream(std::shared_ptr<detail::stream_core> core) noexcept
        : core_{std::move(core)}
    {
    }
    void start_write(bytes_view data, bool as_section, detail::reply_ptr<std::size_t> r) const;
    void start_finish(detail::reply_ptr<outcome> r) const;

    std::shared_ptr<detail::stream_core> core_;
};

}  // namespace sluice::client
