// A value that its receiver acknowledges himself.
#pragma once

#include <sluice/channel/detail/call.hpp>

#include <string>

namespace sluice::channels {

/// A value and the duty to answer for it. Dropped without an answer, it goes back to its place.
/// Movable. Distinct objects: safe to use concurrently. Shared object: unsafe.
///
/// Each answer comes in a blocking form and an `async_` one, and completes when the node has it:
/// errc::expired if the value went back before (visibility time-out, lost connection),
/// error::already_settled for a second answer, error::outcome_unknown if the connection was lost
/// meanwhile. With options::async_ack, ack() completes at once.
template <class T>
class received {
public:
    received(T value, detail::lease held) : value_{std::move(value)}, held_{std::move(held)} {}

    T& value() noexcept { return value_; }
    T const& value() const noexcept { return value_; }
    T& operator*() noexcept { return value_; }
    T const& operator*() const noexcept { return value_; }
    T* operator->() noexcept { return &value_; }
    T const* operator->() const noexcept { return &value_; }
    /// Earlier deliveries that failed.
    std::uint32_t tries() const noexcept { return held_.empty() ? 0 : held_.values()[0].tries; }
    bool answered() const noexcept { return held_.empty(); }

    /// It is done with: its slot is free.
    void ack() { answer(verdict::accepted, {}); }
    template <class Token>
    auto async_ack(Token&& token)
    {
        return async_answer(verdict::accepted, {}, std::forward<Token>(token));
    }
    /// Back to its place, as if it had never been delivered.
    void release() { answer(verdict::released, {}); }
    template <class Token>
    auto async_release(Token&& token)
    {
        return async_answer(verdict::released, {}, std::forward<Token>(token));
    }
    /// Back, with one try more; after options::tries_max of them it is a dead letter.
    void fail() { answer(verdict::failed, {}); }
    template <class Token>
    auto async_fail(Token&& token)
    {
        return async_answer(verdict::failed, {}, std::forward<Token>(token));
    }
    /// To the dead letters, with the reason.
    void reject(std::string why) { answer(verdict::rejected, std::move(why)); }
    template <class Token>
    auto async_reject(std::string why, Token&& token)
    {
        return async_answer(verdict::rejected, std::move(why), std::forward<Token>(token));
    }

private:
    using verdict = channel_protocol::verdict;

    auto starter(verdict what, std::string why)
    {
        return [owner = held_.owner(), held = held_.rest(), what,
                why = std::move(why)](detail::raw_reply r) mutable {
            owner->settle(std::move(held), what, std::move(why), std::move(r));
        };
    }
    void answer(verdict what, std::string why)
    {
        detail::wait(starter(what, std::move(why)),
                     [](client::error_code&, detail::raw_answer&) {});
    }
    template <class Token>
    auto async_answer(verdict what, std::string why, Token&& token)
    {
        return detail::call(held_.owner()->get_executor(), std::forward<Token>(token),
                            starter(what, std::move(why)),
                            [](client::error_code&, detail::raw_answer&) {});
    }

    T value_;
    detail::lease held_;
};

}  // namespace sluice::channels
