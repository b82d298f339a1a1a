// channel<T>: what a Go channel is, between processes.
#pragma once

#include <sluice/channel/received.hpp>

#include <iterator>
#include <string>
#include <vector>

namespace sluice::channels {

/// What try_recv() found.
template <class T>
struct tried {
    std::optional<T> value{};
    bool closed = false;  ///< closed and drained; without value and this: empty at that moment
    explicit operator bool() const noexcept { return value.has_value(); }
    T& operator*() { return *value; }
    T const& operator*() const { return *value; }
};

/// A handle on a channel of a node; copies refer to the same one. Thread-safe. docs/channels.md
/// holds it against Go's channels and says what is guaranteed.
///
///     auto jobs = sluice::channel<job>::open(connection, "jobs", {.capacity = 16});
///     jobs.send(job{1});
///     while (auto j = jobs.recv()) work(*j);
///
/// Every call has a blocking form, which throws boost::system::system_error with a text that names
/// the channel, and an `async_` one for any completion token. Send, recv and select wait as long as
/// it takes, or for `timeout`. Cancelled or out of time they ask the node: error::operation_aborted
/// or error::timed_out if it was withdrawn, success if it was done after all, and
/// error::outcome_unknown if the node does not answer within 5 s.
///
/// Errors of all: errc::channel_destroyed, errc::channel_stopped, errc::limit, and the connection's
/// end; with client::connection_options::reconnect a lost connection is none.
///
/// @tparam Codec as channels::codec<T>
template <class T, class Codec = codec<T>>
class basic_channel {
public:
    using value_type = T;

    basic_channel() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Finds the channel of that name, or makes it. Errors: errc::mismatch with both options,
    /// errc::at_most_once_refused, errc::not_found, errc::not_allowed, errc::not_a_node,
    /// error::timed_out.
    static basic_channel open(client::connection const& on, std::string name, options o = {})
    {
        std::shared_ptr<detail::channel_core> made;
        detail::wait(
            [&](detail::raw_reply r) {
                made = detail::channel_core::open(on, std::move(name), std::move(o), Codec::name,
                                                  std::move(r));
            },
            [](client::error_code&, detail::raw_answer&) {});
        return basic_channel{std::move(made)};
    }
    template <class Token>
    static auto async_open(client::connection const& on, std::string name, options o, Token&& token)
    {
        return detail::call(
            on.get_executor(), std::forward<Token>(token),
            [on, name = std::move(name), o = std::move(o)](detail::raw_reply r) mutable {
                detail::channel_core::open(on, std::move(name), std::move(o), Codec::name,
                                           std::move(r));
            },
            [](client::error_code& code, detail::raw_answer& raw) {
                return code ? basic_channel{} : basic_channel{raw.held.owner()};
            });
    }

    // ---- send

    /// Waits while the channel is full; at capacity 0 until a receiver has picked the value up.
    /// Also: errc::channel_closed.
    void send(T const& value, milliseconds timeout = no_timeout) const
    {
        detail::wait(sending(value, false, timeout), nothing);
    }
    template <class Token>
    auto async_send(T const& value, milliseconds timeout, Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            sending(value, false, timeout), nothing);
    }
    template <class Token>
    auto async_send(T const& value, Token&& token) const
    {
        return async_send(value, no_timeout, std::forward<Token>(token));
    }
    /// Asks the node once. @returns false if the channel was full then (at capacity 0: nobody was
    /// waiting for a value)
    bool try_send(T const& value) const
    {
        return detail::wait(sending(value, true, core_->options().timeout), was_done);
    }
    template <class Token>
    auto async_try_send(T const& value, Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            sending(value, true, core_->options().timeout), was_done);
    }

    // ---- receive

    /// The next value, acknowledged as it is handed over. Nothing: closed and drained. A value that
    /// the codec does not take is rejected, and is errc::undecodable here: undecodable_value has
    /// its octets, and take_undecodable().
    std::optional<T> recv(milliseconds timeout = no_timeout) const
    {
        return detail::wait(receiving(1, false, false, timeout), detail::take_value<T, Codec>);
    }
    template <class Token>
    auto async_recv(milliseconds timeout, Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            receiving(1, false, false, timeout), &detail::take_value<T, Codec>);
    }
    template <class Token>
    auto async_recv(Token&& token) const
    {
        return async_recv(no_timeout, std::forward<Token>(token));
    }
    /// Asks the node once.
    tried<T> try_recv() const
    {
        return detail::wait(receiving(1, true, false, core_->options().timeout), take_tried);
    }
    template <class Token>
    auto async_try_recv(Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            receiving(1, true, false, core_->options().timeout), take_tried);
    }
    /// Waits for one value and takes up to `max` that are there. Empty: closed and drained. Values
    /// that the codec does not take are left out, and are an error of the next receive.
    std::vector<T> recv_batch(std::uint32_t max, milliseconds timeout = no_timeout) const
    {
        return detail::wait(receiving(max, false, false, timeout), take_batch);
    }
    template <class Token>
    auto async_recv_batch(std::uint32_t max, milliseconds timeout, Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            receiving(max, false, false, timeout), take_batch);
    }
    template <class Token>
    auto async_recv_batch(std::uint32_t max, Token&& token) const
    {
        return async_recv_batch(max, no_timeout, std::forward<Token>(token));
    }
    /// The next value, to be acknowledged by hand. Also: errc::at_most_once_refused.
    std::optional<received<T>> recv_ack(milliseconds timeout = no_timeout) const
    {
        return detail::wait(receiving(1, false, true, timeout), take_held);
    }
    template <class Token>
    auto async_recv_ack(milliseconds timeout, Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token),
                            receiving(1, false, true, timeout), take_held);
    }
    template <class Token>
    auto async_recv_ack(Token&& token) const
    {
        return async_recv_ack(no_timeout, std::forward<Token>(token));
    }
    /// The oldest value that the codec did not take, of 16 that are kept.
    std::optional<undecodable> take_undecodable() const { return core_->take_undecodable(); }

    /// For coroutines: `while (auto v = co_await jobs.next())`.
    auto next(milliseconds timeout = no_timeout) const { return next_value{*this, timeout}; }

    /// For plain threads: `for (auto& v : jobs)` until it is closed and drained.
    class iterator;
    iterator begin() const { return iterator{*this}; }
    std::default_sentinel_t end() const noexcept { return {}; }

    // ---- the channel

    /// For everyone: no value can be sent any more, what is in it can be received. Closing again is
    /// harmless.
    void close() const { detail::wait(ending(how::close), nothing); }
    template <class Token>
    auto async_close(Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token), ending(how::close),
                            nothing);
    }
    /// This handle and its copies only: what waits ends with errc::channel_stopped, what was
    /// delivered and not acknowledged goes back.
    void stop() const { detail::wait(ending(how::stop), nothing); }
    template <class Token>
    auto async_stop(Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token), ending(how::stop), nothing);
    }
    /// For everyone: everything that waits ends with errc::channel_destroyed, every value is gone.
    void destroy() const { detail::wait(ending(how::destroy), nothing); }
    template <class Token>
    auto async_destroy(Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token), ending(how::destroy),
                            nothing);
    }

    /// Asks the node.
    channel_state state() const { return detail::wait(asking(), take_state); }
    template <class Token>
    auto async_state(Token&& token) const
    {
        return detail::call(get_executor(), std::forward<Token>(token), asking(), take_state);
    }
    /// Values buffered, and delivered without acknowledgement. Asks the node.
    std::uint64_t size() const { return state().size; }
    std::uint32_t capacity() const { return core_->in_force().capacity; }
    std::string const& name() const noexcept { return core_->name(); }
    channels::options const& options_used() const noexcept { return core_->options(); }
    client::executor get_executor() const { return core_->get_executor(); }

    std::shared_ptr<detail::channel_core> const& core() const noexcept { return core_; }

private:
    using how = channel_protocol::ending;

    explicit basic_channel(std::shared_ptr<detail::channel_core> core) noexcept
        : core_{std::move(core)}
    {
    }

    struct next_value {
        basic_channel of;
        milliseconds timeout;
        template <
            boost::asio::completion_token_for<void(client::error_code, std::optional<T>)> Token>
        auto operator()(Token&& token) const
        {
            return of.async_recv(timeout, std::forward<Token>(token));
        }
    };

    static void nothing(client::error_code&, detail::raw_answer&) {}
    static bool was_done(client::error_code&, detail::raw_answer& raw)
    {
        return raw.what == detail::came::done;
    }
    static tried<T> take_tried(client::error_code& code, detail::raw_answer& raw)
    {
        auto const closed = raw.what == detail::came::drained;
        return {detail::take_value<T, Codec>(code, raw), closed};
    }
    static channel_state take_state(client::error_code&, detail::raw_answer& raw)
    {
        return raw.state;
    }
    static std::vector<T> take_batch(client::error_code& code, detail::raw_answer& raw)
    {
        std::vector<T> out;
        if (code || raw.what != detail::came::values)
            return out;
        auto held = std::move(raw.held);
        out.reserve(held.values().size());
        for (std::size_t i = 0; i < held.values().size(); ++i)
            if (auto v = detail::decode_one<T, Codec>(raw, held, i, false))
                out.push_back(std::move(*v));
        if (out.empty()) {
            std::ignore = held.owner()->tell_undecodable();
            code = make_error_code(errc::undecodable);
        }
        held.acknowledge();
        return out;
    }
    static std::optional<received<T>> take_held(client::error_code& code, detail::raw_answer& raw)
    {
        if (code || raw.what != detail::came::values)
            return std::nullopt;
        auto held = std::move(raw.held);
        if (auto v = detail::decode_one<T, Codec>(raw, held, 0, true))
            return received<T>{std::move(*v), std::move(held)};
        code = make_error_code(errc::undecodable);
        return std::nullopt;
    }

    auto sending(T const& value, bool now, milliseconds timeout) const
    {
        bytes octets;
        Codec::encode(value, octets);
        return
            [core = core_, octets = std::move(octets), now, timeout](detail::raw_reply r) mutable {
                core->send(std::move(octets), now, timeout, std::move(r));
            };
    }
    auto receiving(std::uint32_t max, bool now, bool by_hand, milliseconds timeout) const
    {
        return [core = core_, max, now, by_hand, timeout](detail::raw_reply r) {
            core->receive(max, now, by_hand, timeout, std::move(r));
        };
    }
    auto ending(how what) const
    {
        return [core = core_, what](detail::raw_reply r) { core->end(what, std::move(r)); };
    }
    auto asking() const
    {
        return [core = core_](detail::raw_reply r) { core->state(std::move(r)); };
    }

    std::shared_ptr<detail::channel_core> core_;
};

/// Reads with recv().
template <class T, class Codec>
class basic_channel<T, Codec>::iterator {
public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit iterator(basic_channel from) : from_{std::move(from)}, value_{from_.recv()} {}
    T& operator*() const noexcept { return *value_; }
    iterator& operator++()
    {
        value_ = from_.recv();
        return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(iterator const& i, std::default_sentinel_t) noexcept
    {
        return !i.value_;
    }

private:
    basic_channel from_;
    mutable std::optional<T> value_;
};

}  // namespace sluice::channels

namespace sluice {

/// See channels::basic_channel.
template <class T, class Codec = channels::codec<T>>
using channel = channels::basic_channel<T, Codec>;

}  // namespace sluice
