// How values become octets: JSON by default, bytes and text as they are, or a codec of yours.
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>

#include <boost/describe.hpp>
#include <boost/json.hpp>

#include <string>
#include <string_view>

namespace sluice::channels {

namespace detail {

/// Not inlined into the caller: g++ 12 takes an insertion at the end of an empty vector for an
/// overflow there.
SLUICE_EXPORT void append_octets(bytes& to, void const* from, std::size_t size);

}  // namespace detail

/// Turns a `T` into octets and back. Both sides of a channel need codecs of the same name.
///
/// The default is JSON by Boost.JSON: numbers, booleans, strings, vectors, maps, optionals, and
/// aggregates that `BOOST_DESCRIBE_STRUCT(type, (), (members...))` describes, one in the other.
///
/// Specialise it for a type, or give a class like it as a channel's second argument: `name`,
/// `encode` that appends, and `decode` that throws what is derived from std::exception. They are
/// called on the caller's thread or where the call completes, never by the I/O.
template <class T>
struct codec {
    static constexpr std::string_view name = "json";

    static void encode(T const& value, bytes& out)
    {
        auto const text = boost::json::serialize(boost::json::value_from(value));
        detail::append_octets(out, text.data(), text.size());
    }
    /// @throws boost::system::system_error
    static T decode(bytes_view octets)
    {
        boost::json::string_view const text{reinterpret_cast<char const*>(octets.data()),
                                            octets.size()};
        return boost::json::value_to<T>(boost::json::parse(text));
    }
};

/// Octets as they are.
template <>
struct codec<bytes> {
    static constexpr std::string_view name = "bytes";
    static void encode(bytes const& value, bytes& out)
    {
        detail::append_octets(out, value.data(), value.size());
    }
    static bytes decode(bytes_view octets) { return {octets.begin(), octets.end()}; }
};

/// Characters as they are.
template <>
struct codec<std::string> {
    static constexpr std::string_view name = "text";
    static void encode(std::string const& value, bytes& out)
    {
        detail::append_octets(out, value.data(), value.size());
    }
    static std::string decode(bytes_view octets)
    {
        return {reinterpret_cast<char const*>(octets.data()), octets.size()};
    }
};

}  // namespace sluice::channels
