// select: one of several sends and receives, picked by the node.
#pragma once

#include <sluice/channel/channel.hpp>

#include <exception>
#include <functional>
#include <tuple>
#include <variant>

namespace sluice::channels {

namespace detail {

/// Stands for a handler where none is wanted.
struct no_handler {};

template <class T, class Codec, class Handler>
struct receive_case {
    using result = std::optional<T>;
    static constexpr bool has_channel = true;

    basic_channel<T, Codec> from;
    Handler handler;

    case_request request() { return {.channel = from.core()}; }
    void finish(error_code& code, raw_answer& raw, result& out)
    {
        auto value = take_value<T, Codec>(code, raw);
        if (code)
            return;
        if constexpr (std::is_same_v<Handler, no_handler>)
            out = std::move(value);
        else
            handler(std::move(value));
    }
};

template <class Handler>
struct send_case {
    using result = std::monostate;
    static constexpr bool has_channel = true;

    std::shared_ptr<channel_core> to;
    bytes octets;
    Handler handler;

    case_request request() { return {.channel = to, .send = true, .octets = std::move(octets)}; }
    void finish(error_code&, raw_answer&, result&)
    {
        if constexpr (!std::is_same_v<Handler, no_handler>)
            handler();
    }
};

template <class Handler>
struct otherwise_case {
    using result = std::monostate;
    static constexpr bool has_channel = false;

    Handler handler;

    case_request request() { return {}; }
    void finish(error_code&, raw_answer&, result&)
    {
        if constexpr (!std::is_same_v<Handler, no_handler>)
            handler();
    }
};

/// The cases as the node gets them, and where `otherwise` stands among them.
struct all_cases {
    std::vector<case_request> requests;
    std::optional<std::size_t> otherwise;

    template <class Case>
    void add(Case& c)
    {
        if (!Case::has_channel)
            otherwise = requests.size();
        else
            requests.push_back(c.request());
    }
    /// The place in the caller's order.
    static std::size_t place(std::optional<std::size_t> otherwise, raw_answer const& raw)
    {
        if (raw.what == came::otherwise)
            return otherwise.value_or(0);
        return raw.index + (otherwise && *otherwise <= raw.index ? 1U : 0U);
    }
};

/// Calls what the case wants called; an exception of it becomes an error.
template <class F>
void guarded(error_code& code, std::exception_ptr& thrown, F f)
{
    try {
        f();
    } catch (...) {
        thrown = std::current_exception();
        code = make_error_code(errc::handler_failed);
    }
}

}  // namespace detail

/// A case that receives. `handler` is called with std::optional<T>, empty for a channel that is
/// closed and drained.
template <class T, class Codec, class Handler = detail::no_handler>
auto on_recv(basic_channel<T, Codec> const& from, Handler handler = {})
{
    return detail::receive_case<T, Codec, Handler>{from, std::move(handler)};
}

/// A case that sends `value`. `handler` is called without arguments.
template <class T, class Codec, class Handler = detail::no_handler>
auto on_send(basic_channel<T, Codec> const& to, std::type_identity_t<T> const& value,
             Handler handler = {})
{
    detail::send_case<Handler> out{to.core(), {}, std::move(handler)};
    Codec::encode(value, out.octets);
    return out;
}

/// Picked if no other case is ready: the select does not wait.
template <class Handler = detail::no_handler>
auto otherwise(Handler handler = {})
{
    return detail::otherwise_case<Handler>{std::move(handler)};
}

/// What a select has picked.
template <class... Cases>
struct selected {
    std::size_t index = 0;  ///< the place of the case; of the one that failed, if there is an error
    std::tuple<typename Cases::result...> values{};  ///< of receives without a handler
    std::exception_ptr thrown{};                     ///< with errc::handler_failed

    /// What the case at `I` has received: std::optional<T>.
    template <std::size_t I>
    auto& get() noexcept
    {
        return std::get<I>(values);
    }
};

/// Any case, for selects whose number of cases the program finds out. Its handler has to be
/// copyable.
class any_case {
public:
    using result = std::monostate;

    template <class Case>
        requires requires(Case c) { c.request(); }
    any_case(Case c)  // NOLINT(google-explicit-constructor): as in std::function
        : has_channel_{Case::has_channel},
          request_{c.request()},
          finish_{[c = std::move(c)](detail::error_code& code, detail::raw_answer& raw) mutable {
              typename Case::result unused{};
              c.finish(code, raw, unused);
          }}
    {
    }
    bool has_channel() const noexcept { return has_channel_; }
    detail::case_request take_request() { return std::move(request_); }
    void finish(detail::error_code& code, detail::raw_answer& raw) { finish_(code, raw); }

private:
    bool has_channel_;
    detail::case_request request_;
    std::function<void(detail::error_code&, detail::raw_answer&)> finish_;
};

/// A select that has not begun. Begins once, in one of three ways: `co_await` it, give it a
/// completion token (`select(...)(token)`), or wait for it on this thread (`select(...).wait()`).
template <class... Cases>
class selection {
    static constexpr std::size_t otherwise_count =
        (std::size_t{0} + ... + (Cases::has_channel ? 0U : 1U));
    static_assert(otherwise_count <= 1, "a select has one `otherwise` at most");
    static_assert(otherwise_count < sizeof...(Cases), "a select needs a case with a channel");

public:
    explicit selection(Cases... cases) : cases_{std::move(cases)...} {}

    /// If no case is ready in that time, the select ends with error::timed_out: wait() and co_await
    /// throw it. The channels are as if it had not been asked.
    selection within(milliseconds timeout) &&
    {
        timeout_ = timeout;
        return std::move(*this);
    }

    /// Completes with error_code and selected<Cases...>. Errors: as of basic_channel, with the
    /// case's place; errc::channel_closed for a send case, errc::other_connection,
    /// errc::handler_failed.
    template <boost::asio::completion_token_for<void(client::error_code, selected<Cases...>)> Token>
    auto operator()(Token&& token)
    {
        auto const ex = executor();
        auto all = gather();
        auto const otherwise = all.otherwise;
        return detail::call(ex, std::forward<Token>(token), starter(std::move(all)),
                            [otherwise, cases = std::move(cases_)](
                                detail::error_code& code, detail::raw_answer& raw) mutable {
                                return finish(cases, otherwise, code, raw);
                            });
    }

    /// Blocking. @throws boost::system::system_error, and what a handler throws
    selected<Cases...> wait()
    {
        auto all = gather();
        auto const otherwise = all.otherwise;
        std::exception_ptr thrown;
        auto out = detail::wait(starter(std::move(all)),
                                [&](detail::error_code& code, detail::raw_answer& raw) {
                                    auto picked = finish(cases_, otherwise, code, raw);
                                    if ((thrown = picked.thrown))
                                        code = {};
                                    return picked;
                                });
        if (thrown)
            std::rethrow_exception(thrown);
        return out;
    }

private:
    using tuple = std::tuple<Cases...>;

    client::executor executor() const
    {
        std::optional<client::executor> found;
        auto const look = [&](auto const& c) {
            if constexpr (std::decay_t<decltype(c)>::has_channel)
                if (!found)
                    found = core_of(c)->get_executor();
        };
        std::apply([&](auto const&... c) { (look(c), ...); }, cases_);
        return *found;
    }
    template <class T, class Codec, class H>
    static auto const& core_of(detail::receive_case<T, Codec, H> const& c)
    {
        return c.from.core();
    }
    template <class H>
    static auto const& core_of(detail::send_case<H> const& c)
    {
        return c.to;
    }
    detail::all_cases gather()
    {
        detail::all_cases out;
        std::apply([&](auto&... c) { (out.add(c), ...); }, cases_);
        return out;
    }
    auto starter(detail::all_cases all) const
    {
        return [all = std::move(all), timeout = timeout_](detail::raw_reply r) mutable {
            detail::channel_core::select(std::move(all.requests), all.otherwise, timeout,
                                         std::move(r));
        };
    }
    template <std::size_t... I>
    static void finish_at(std::index_sequence<I...>, tuple& cases, detail::error_code& code,
                          detail::raw_answer& raw, selected<Cases...>& out)
    {
        ((I == out.index ? std::get<I>(cases).finish(code, raw, std::get<I>(out.values)) : void()),
         ...);
    }
    static selected<Cases...> finish(tuple& cases, std::optional<std::size_t> otherwise,
                                     detail::error_code& code, detail::raw_answer& raw)
    {
        selected<Cases...> out;
        out.index = detail::all_cases::place(otherwise, raw);
        if (!code)
            detail::guarded(code, out.thrown, [&] {
                finish_at(std::index_sequence_for<Cases...>{}, cases, code, raw, out);
            });
        return out;
    }

    tuple cases_;
    milliseconds timeout_ = no_timeout;
};

/// The same for a list of cases. Completes with the place of the case.
template <>
class selection<any_case> {
    auto starter()
    {
        return [all = std::move(all_), timeout = timeout_](detail::raw_reply r) mutable {
            detail::channel_core::select(std::move(all.requests), all.otherwise, timeout,
                                         std::move(r));
        };
    }
    static std::size_t finish(std::vector<any_case>& cases, std::optional<std::size_t> otherwise,
                              detail::error_code& code, detail::raw_answer& raw,
                              std::exception_ptr& thrown)
    {
        auto const at = detail::all_cases::place(otherwise, raw);
        if (!code)
            detail::guarded(code, thrown, [&] { cases.at(at).finish(code, raw); });
        return at;
    }

public:
    /// @throws boost::system::system_error with error::invalid_argument without a case that has a
    ///     channel, or with two `otherwise`
    explicit selection(std::vector<any_case> cases) : cases_{std::move(cases)}
    {
        for (auto& c : cases_) {
            if (!c.has_channel() && all_.otherwise)
                net::throw_error(make_error_code(error::invalid_argument),
                                 "a select has one `otherwise` at most");
            if (c.has_channel())
                all_.requests.push_back(c.take_request());
            else
                all_.otherwise = all_.requests.size();
        }
        if (all_.requests.empty())
            net::throw_error(make_error_code(error::invalid_argument),
                             "a select needs a case with a channel");
    }

    /// As of the other: error::timed_out if no case is ready in that time.
    selection within(milliseconds timeout) &&
    {
        timeout_ = timeout;
        return std::move(*this);
    }
    template <boost::asio::completion_token_for<void(client::error_code, std::size_t)> Token>
    auto operator()(Token&& token)
    {
        auto const ex = all_.requests.front().channel->get_executor();
        auto const otherwise = all_.otherwise;
        return detail::call(ex, std::forward<Token>(token), starter(),
                            [otherwise, cases = std::move(cases_)](
                                detail::error_code& code, detail::raw_answer& raw) mutable {
                                std::exception_ptr thrown;
                                return finish(cases, otherwise, code, raw, thrown);
                            });
    }
    std::size_t wait()
    {
        auto const otherwise = all_.otherwise;
        std::exception_ptr thrown;
        auto out = detail::wait(starter(), [&](detail::error_code& code, detail::raw_answer& raw) {
            auto const at = finish(cases_, otherwise, code, raw, thrown);
            if (thrown)
                code = {};
            return at;
        });
        if (thrown)
            std::rethrow_exception(thrown);
        return out;
    }

private:
    std::vector<any_case> cases_;
    detail::all_cases all_;
    milliseconds timeout_ = no_timeout;
};

/// One request with all cases goes to the node: it picks one that is ready, each with the same
/// chance, or waits, and withdraws the others in the same step. The channels have to be of one
/// connection.
///
///     auto const picked = co_await sluice::select(
///         sluice::on_recv(jobs, [&](std::optional<job> j) { ... }),
///         sluice::on_send(results, r, [&] { ... }),
///         sluice::otherwise([&] { ... }));
///
/// With g++ 12 lambdas in a `co_await` capture by reference only: it destroys others twice.
template <class... Cases>
auto select(Cases... cases)
{
    return selection<Cases...>{std::move(cases)...};
}
inline auto select(std::vector<any_case> cases) { return selection<any_case>{std::move(cases)}; }

}  // namespace sluice::channels

namespace sluice {

using channels::on_recv;
using channels::on_send;
using channels::otherwise;
using channels::select;

}  // namespace sluice
