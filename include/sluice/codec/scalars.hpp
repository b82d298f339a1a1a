// The primitive types that are not compound, between C++ and bytes. [1.6]
//
// Everything is inline: these few lines are the hot path of whatever encodes or decodes.
#pragma once

#include <sluice/codec/detail/wire.hpp>

#include <concepts>
#include <string>

namespace sluice::detail {

/// For a scalar type T: `bound(v)` octets at most, `write(p, v)` in the shortest encoding, and
/// `read(in, format_code, v)` of any encoding, once the format code has been read.
template <class T>
struct scalar_codec;

/// Types with one encoding of fixed width.
template <class T, std::uint8_t Code, class Word>
struct fixed_codec {
    static constexpr std::size_t bound(T) noexcept { return 1 + sizeof(Word); }
    static std::byte* write(std::byte* p, T v) noexcept
    {
        return store(put(p, Code), std::bit_cast<Word>(v));
    }
    static error read(cursor& in, std::uint8_t c, T& v) noexcept
    {
        if (c != Code)
            return refuse(c);
        Word w{};
        auto const e = read_fixed(in, w);
        v = std::bit_cast<T>(w);
        return e;
    }
};

template <>
struct scalar_codec<std::uint8_t> : fixed_codec<std::uint8_t, code::ubyte, std::uint8_t> {};
template <>
struct scalar_codec<std::uint16_t> : fixed_codec<std::uint16_t, code::ushort, std::uint16_t> {};
template <>
struct scalar_codec<std::int8_t> : fixed_codec<std::int8_t, code::byte, std::uint8_t> {};
template <>
struct scalar_codec<std::int16_t> : fixed_codec<std::int16_t, code::short_, std::uint16_t> {};
template <>
struct scalar_codec<float> : fixed_codec<float, code::float_, std::uint32_t> {};
template <>
struct scalar_codec<double> : fixed_codec<double, code::double_, std::uint64_t> {};
template <>
struct scalar_codec<timestamp> : fixed_codec<timestamp, code::timestamp, std::uint64_t> {};

template <>
struct scalar_codec<char32_t> : fixed_codec<char32_t, code::char_, std::uint32_t> {
    static error read(cursor& in, std::uint8_t c, char32_t& v) noexcept
    {
        if (auto const e = fixed_codec::read(in, c, v); e != error::none)
            return e;
        bool const surrogate = v >= 0xd800 && v <= 0xdfff;
        return v > 0x10ffff || surrogate ? error::invalid_value : error::none;
    }
};

/// Types that are carried as octets.
template <class T, std::uint8_t Code>
struct octets_codec {
    static constexpr std::size_t size = sizeof(T::octets);
    static constexpr std::size_t bound(T const&) noexcept { return 1 + size; }
    static std::byte* write(std::byte* p, T const& v) noexcept
    {
        return put(put(p, Code), v.octets.data(), size);
    }
    static error read(cursor& in, std::uint8_t c, T& v) noexcept
    {
        if (c != Code)
            return refuse(c);
        if (in.left() < size)
            return error::truncated;
        std::memcpy(v.octets.data(), in.at, size);
        in.at += size;
        return error::none;
    }
};

template <>
struct scalar_codec<uuid> : octets_codec<uuid, code::uuid> {};
template <>
struct scalar_codec<decimal32> : octets_codec<decimal32, code::decimal32> {};
template <>
struct scalar_codec<decimal64> : octets_codec<decimal64, code::decimal64> {};
template <>
struct scalar_codec<decimal128> : octets_codec<decimal128, code::decimal128> {};

template <>
struct scalar_codec<bool> {
    static constexpr std::size_t bound(bool) noexcept { return 1; }
    static std::byte* write(std::byte* p, bool v) noexcept
    {
        return put(p, static_cast<std::uint8_t>(code::false_ - static_cast<std::uint8_t>(v)));
    }
    static error read(cursor& in, std::uint8_t c, bool& v) noexcept
    {
        if (c == code::true_ || c == code::false_) {
            v = c == code::true_;
            return error::none;
        }
        if (c != code::boolean)
            return refuse(c);
        std::uint8_t octet = 0;
        if (auto const e = read_fixed(in, octet); e != error::none)
            return e;
        v = octet != 0;
        return octet > 1 ? error::invalid_value : error::none;
    }
};

/// uint and ulong: nothing for 0, one octet below 256, else all of them.
template <class T, std::uint8_t Zero, std::uint8_t Small, std::uint8_t Full>
struct unsigned_codec {
    static constexpr std::size_t bound(T) noexcept { return 1 + sizeof(T); }
    static std::byte* write(std::byte* p, T v) noexcept
    {
        if (v == 0)
            return put(p, Zero);
        if (v < 256)
            return put(put(p, Small), static_cast<std::uint8_t>(v));
        return store(put(p, Full), v);
    }
    static error read(cursor& in, std::uint8_t c, T& v) noexcept
    {
        if (c == Small) {
            if (in.at == in.end) [[unlikely]]
                return error::truncated;
            v = octet(in.at++);
            return error::none;
        }
        if (c == Full)
            return read_fixed(in, v);
        v = 0;
        return c == Zero ? error::none : refuse(c);
    }
};

template <>
struct scalar_codec<std::uint32_t>
    : unsigned_codec<std::uint32_t, code::uint0, code::smalluint, code::uint> {};
template <>
struct scalar_codec<std::uint64_t>
    : unsigned_codec<std::uint64_t, code::ulong0, code::smallulong, code::ulong> {};

/// int and long: one octet between -128 and 127, else all of them.
template <class T, std::uint8_t Small, std::uint8_t Full>
struct signed_codec {
    using word = std::make_unsigned_t<T>;
    static constexpr std::size_t bound(T) noexcept { return 1 + sizeof(T); }
    static std::byte* write(std::byte* p, T v) noexcept
    {
        if (v >= -128 && v <= 127)
            return put(put(p, Small), static_cast<std::uint8_t>(v));
        return store(put(p, Full), static_cast<word>(v));
    }
    static error read(cursor& in, std::uint8_t c, T& v) noexcept
    {
        if (c == Small) {
            if (in.at == in.end)
                return error::truncated;
            // NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign is to spread
            v = static_cast<std::int8_t>(octet(in.at++));
            return error::none;
        }
        if (c != Full)
            return refuse(c);
        word w = 0;
        auto const e = read_fixed(in, w);
        v = static_cast<T>(w);
        return e;
    }
};

template <>
struct scalar_codec<std::int32_t> : signed_codec<std::int32_t, code::smallint, code::int_> {};
template <>
struct scalar_codec<std::int64_t> : signed_codec<std::int64_t, code::smalllong, code::long_> {};

/// Binary, string or symbol: `code8` with one octet of size, or the same type's 32-bit form.
inline std::byte* write_variable(std::byte* p, std::uint8_t code8, void const* from,
                                 std::size_t size) noexcept
{
    if (size < 256) {
        p = put(put(p, code8), static_cast<std::uint8_t>(size));
    } else {
        p = store(put(p, static_cast<std::uint8_t>(code8 + 0x10)),
                  static_cast<std::uint32_t>(size));
    }
    return put(p, from, size);
}

/// The octets of a binary, string or symbol whose short form is `code8`; content unchecked.
inline error read_variable(cursor& in, std::uint8_t c, std::uint8_t code8, bytes_view& out) noexcept
{
    std::uint32_t size = 0;
    if (c == code8) [[likely]] {
        if (in.at == in.end) [[unlikely]]
            return error::truncated;
        size = octet(in.at++);
    } else if (c == code8 + 0x10) {
        if (auto const e = read_fixed(in, size); e != error::none)
            return e;
    } else {
        return refuse(c);
    }
    if (in.left() < size) [[unlikely]]
        return error::truncated;
    out = {in.at, size};
    in.at += size;
    return error::none;
}

inline std::string_view as_chars(bytes_view b) noexcept
{
    return {reinterpret_cast<char const*>(b.data()), b.size()};
}

template <>
struct scalar_codec<bytes_view> {
    static constexpr std::size_t bound(bytes_view v) noexcept { return v.size() + 5; }
    static std::byte* write(std::byte* p, bytes_view v) noexcept
    {
        return write_variable(p, code::vbin8, v.data(), v.size());
    }
    static error read(cursor& in, std::uint8_t c, bytes_view& v) noexcept
    {
        return read_variable(in, c, code::vbin8, v);
    }
};

template <>
struct scalar_codec<std::string_view> {
    static constexpr std::size_t bound(std::string_view v) noexcept { return v.size() + 5; }
    static std::byte* write(std::byte* p, std::string_view v) noexcept
    {
        return write_variable(p, code::str8, v.data(), v.size());
    }
    static error read(cursor& in, std::uint8_t c, std::string_view& v) noexcept
    {
        bytes_view octets;
        if (auto const e = read_variable(in, c, code::str8, octets); e != error::none)
            return e;
        if (!is_utf8(octets.data(), octets.size())) [[unlikely]]
            return error::invalid_utf8;
        v = as_chars(octets);
        return error::none;
    }
};

template <>
struct scalar_codec<symbol> {
    static constexpr std::size_t bound(symbol v) noexcept { return v.text.size() + 5; }
    static std::byte* write(std::byte* p, symbol v) noexcept
    {
        return write_variable(p, code::sym8, v.text.data(), v.text.size());
    }
    static error read(cursor& in, std::uint8_t c, symbol& v) noexcept
    {
        bytes_view octets;
        if (auto const e = read_variable(in, c, code::sym8, octets); e != error::none)
            return e;
        if (!is_ascii(octets.data(), octets.size())) [[unlikely]]
            return error::invalid_value;
        v.text = as_chars(octets);
        return error::none;
    }
};

}  // namespace sluice::detail

namespace sluice {

/// A C++ type that stands for one of the types of part 1 that are not compound: bool (boolean),
/// the integers of 8 to 64 bits, float, double, decimals, char32_t (char), timestamp, uuid,
/// bytes_view (binary), std::string_view (string) and symbol.
template <class T>
concept scalar = requires(detail::cursor& in, T& v) {
    {
        detail::scalar_codec<T>::read(in, 0, v)
    } -> std::same_as<error>;
};

/// An upper bound of what encode(v, out) writes.
template <scalar T>
std::size_t encoded_size_bound(T const& v) noexcept
{
    return detail::scalar_codec<T>::bound(v);
}

/// Writes the shortest encoding. @pre `out` has encoded_size_bound(v) bytes of room.
/// @returns the end of what was written.
template <scalar T>
std::byte* encode(T const& v, std::byte* out) noexcept
{
    return detail::scalar_codec<T>::write(out, v);
}

// What has been encoded already, and texts of other types than string_view.

inline std::size_t encoded_size_bound(raw_value v) noexcept { return v.encoded.size() + 1; }
/// Absent is written as null.
inline std::byte* encode(raw_value v, std::byte* out) noexcept
{
    if (v.empty())
        return detail::put(out, detail::code::null);
    return detail::put(out, v.encoded.data(), v.encoded.size());
}
inline std::size_t encoded_size_bound(std::string const& v) noexcept { return v.size() + 5; }
inline std::byte* encode(std::string const& v, std::byte* out) noexcept
{
    return encode(std::string_view{v}, out);
}
inline std::size_t encoded_size_bound(bytes const& v) noexcept { return v.size() + 5; }
inline std::byte* encode(bytes const& v, std::byte* out) noexcept
{
    return encode(bytes_view{v}, out);
}
inline std::size_t encoded_size_bound(char const* v) noexcept
{
    return std::string_view{v}.size() + 5;
}
inline std::byte* encode(char const* v, std::byte* out) noexcept
{
    return encode(std::string_view{v}, out);
}

/// Encodes v at `out`, and refers to it there: for fields of any type, such as an address.
/// @pre `out` has encoded_size_bound(v) bytes of room.
template <class T>
raw_value encode_at(std::byte* out, T const& v) noexcept
{
    return {{out, static_cast<std::size_t>(encode(v, out) - out)}};
}

namespace detail {

template <scalar T>
std::optional<T> as_any(raw_value raw) noexcept
{
    if (raw.empty())
        return std::nullopt;
    auto const* const p = raw.encoded.data();
    cursor in{p + 1, p + raw.encoded.size()};
    T v{};
    auto const e = scalar_codec<T>::read(in, octet(p), v);
    if (e != error::none || in.at != in.end)
        return std::nullopt;
    return v;
}

/// Whether these are a format code, the size of what follows, and 4 to 16 octets of ASCII: what
/// most strings and symbols are.
[[gnu::always_inline]] inline bool is_short_text(bytes_view encoded) noexcept
{
    auto const size = encoded.size() - 2;
    return size - 4 <= 12 && octet(encoded.data() + 1) == size
           && is_short_ascii(encoded.data() + 2, size);
}

}  // namespace detail

/// The value, if it is of exactly the AMQP type that T stands for, in any of its encodings, and
/// valid (UTF-8, a Unicode scalar value, …). Views refer to what `raw` refers to.
template <scalar T>
[[gnu::always_inline]] inline std::optional<T> as(raw_value raw) noexcept
{
    if constexpr (std::same_as<T, std::string_view>)
        if (detail::is_short_text(raw.encoded)
            && detail::octet(raw.encoded.data()) == detail::code::str8)
            return detail::as_chars(raw.encoded.subspan(2));
    return detail::as_any<T>(raw);
}

}  // namespace sluice
