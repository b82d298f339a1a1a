// From a completion token to a call, and from octets to values. Not part of the interface.
#pragma once

#include <sluice/channel/codec.hpp>
#include <sluice/channel/detail/channel_core.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>

#include <optional>
#include <utility>

namespace sluice::channels::detail {

using client::error_code;

/// A handler behind the conversion of its arguments, which runs where the handler runs.
template <class Handler, class Convert>
struct converted {
    Handler handler;
    Convert convert;

    void operator()(error_code code, raw_answer raw)
    {
        if constexpr (std::is_void_v<decltype(convert(code, raw))>) {
            convert(code, raw);
            std::move(handler)(code);
        } else {
            auto out = convert(code, raw);
            std::move(handler)(code, std::move(out));
        }
    }
};

template <class Result>
struct completes {
    using with = void(error_code, Result);
};
template <>
struct completes<void> {
    using with = void(error_code);
};

/// The body of every `async_x`. `convert` makes the result, and may make an error of it.
template <class Token, class Start, class Convert>
auto call(client::executor const& ex, Token&& token, Start start, Convert convert)
{
    using result = decltype(convert(std::declval<error_code&>(), std::declval<raw_answer&>()));
    return boost::asio::async_initiate<Token, typename completes<result>::with>(
        []<class Handler>(Handler&& handler, client::executor const& fallback, Start run,
                          Convert last) {
            using stored = converted<std::decay_t<Handler>, Convert>;
            run(client::detail::handler_reply<stored, raw_answer>::make(
                stored{std::forward<Handler>(handler), std::move(last)}, fallback));
        },
        token, ex, std::move(start), std::move(convert));
}

inline bytes octets_of(std::string const& text)
{
    bytes out;
    codec<std::string>::encode(text, out);
    return out;
}

/// The body of every blocking form. @throws boost::system::system_error
template <class Start, class Convert>
auto wait(Start start, Convert convert)
{
    auto raw = client::detail::wait_for<raw_answer>(std::move(start));
    error_code code;
    if constexpr (std::is_void_v<decltype(convert(code, raw))>) {
        convert(code, raw);
    } else {
        auto out = convert(code, raw);
        if (code)
            throw undecodable_value{octets_of(raw.text), "a value that was received"};
        return out;
    }
}

/// Decodes the one at `i`. What the codec does not take is rejected and kept; `told` says that the
/// caller learns of it now. Its octets are then in `raw.text`, for those who throw it.
template <class T, class Codec>
std::optional<T> decode_one(raw_answer& raw, lease& from, std::size_t i, bool told)
{
    auto const& octets = from.values()[i].octets;
    std::string why;
    try {
        return std::optional<T>{Codec::decode(octets)};
    } catch (std::exception const& e) {
        why = e.what();
    }
    raw.text = codec<std::string>::decode(octets);
    from.owner()->keep_undecodable({octets, why}, told);
    from.reject(i, std::string{Codec::name} + ": " + why);
    return std::nullopt;
}

/// A value that is acknowledged as it is handed over.
template <class T, class Codec>
std::optional<T> take_value(error_code& code, raw_answer& raw)
{
    if (code || raw.what != came::values)
        return std::nullopt;
    auto held = std::move(raw.held);
    auto out = decode_one<T, Codec>(raw, held, 0, true);
    if (out)
        held.acknowledge();
    else
        code = make_error_code(errc::undecodable);
    return out;
}

}  // namespace sluice::channels::detail

/// Executor, allocator and cancellation slot are the handler's.
template <template <class, class> class Associator, class Handler, class Convert, class Default>
struct boost::asio::associator<Associator, sluice::channels::detail::converted<Handler, Convert>,
                               Default> : Associator<Handler, Default> {
    using of = sluice::channels::detail::converted<Handler, Convert>;
    static typename Associator<Handler, Default>::type get(of const& h) noexcept
    {
        return Associator<Handler, Default>::get(h.handler);
    }
    static auto get(of const& h, Default const& d) noexcept
        -> decltype(Associator<Handler, Default>::get(h.handler, d))
    {
        return Associator<Handler, Default>::get(h.handler, d);
    }
};
