// Format codes, octets in network order, and walking over encoded values. Not public. [1.2, 1.6]
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/error.hpp>
#include <sluice/export.hpp>

#include <bit>
#include <cstring>
#include <string_view>

namespace sluice::detail {

/// The format codes of part 1. [1.6]
namespace code {
inline constexpr std::uint8_t described = 0x00, null = 0x40, true_ = 0x41, false_ = 0x42,
                              boolean = 0x56, ubyte = 0x50, ushort = 0x60, uint = 0x70,
                              smalluint = 0x52, uint0 = 0x43, ulong = 0x80, smallulong = 0x53,
                              ulong0 = 0x44, byte = 0x51, short_ = 0x61, int_ = 0x71,
                              smallint = 0x54, long_ = 0x81, smalllong = 0x55, float_ = 0x72,
                              double_ = 0x82, decimal32 = 0x74, decimal64 = 0x84, decimal128 = 0x94,
                              char_ = 0x73, timestamp = 0x83, uuid = 0x98, vbin8 = 0xa0,
                              vbin32 = 0xb0, str8 = 0xa1, str32 = 0xb1, sym8 = 0xa3, sym32 = 0xb3,
                              list0 = 0x45, list8 = 0xc0, list32 = 0xd0, map8 = 0xc1, map32 = 0xd1,
                              array8 = 0xe0, array32 = 0xf0;
}  // namespace code

inline std::uint8_t octet(std::byte const* p) noexcept { return std::to_integer<std::uint8_t>(*p); }

/// Big-endian in, native out.
template <class Unsigned>
inline Unsigned load(std::byte const* p) noexcept
{
    if constexpr (sizeof(Unsigned) == 1) {
        return octet(p);
    } else {
        Unsigned v;
        std::memcpy(&v, p, sizeof v);
        if constexpr (std::endian::native == std::endian::big)
            return v;
        else if constexpr (sizeof v == 2)
            return __builtin_bswap16(v);
        else if constexpr (sizeof v == 4)
            return __builtin_bswap32(v);
        else
            return __builtin_bswap64(v);
    }
}

/// Native in, big-endian out. @returns the end of what was written.
template <class Unsigned>
inline std::byte* store(std::byte* p, Unsigned v) noexcept
{
    if constexpr (std::endian::native == std::endian::little) {
        if constexpr (sizeof v == 2)
            v = __builtin_bswap16(v);
        else if constexpr (sizeof v == 4)
            v = __builtin_bswap32(v);
        else if constexpr (sizeof v == 8)
            v = __builtin_bswap64(v);
    }
    std::memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

inline std::byte* put(std::byte* p, std::uint8_t v) noexcept
{
    *p = std::byte{v};
    return p + 1;
}

/// Copies `size` octets, most often a few: two overlapping moves are cheaper than a call then.
inline std::byte* put(std::byte* p, void const* from, std::size_t size) noexcept
{
    auto const* const f = static_cast<std::byte const*>(from);
    auto const ends = [p, f, size]<class Word>(Word first) {
        Word last;
        std::memcpy(&first, f, sizeof first);
        std::memcpy(&last, f + size - sizeof last, sizeof last);
        std::memcpy(p, &first, sizeof first);
        std::memcpy(p + size - sizeof last, &last, sizeof last);
    };
    if (size - 4 <= 4)
        ends(std::uint32_t{});
    else if (size - 8 <= 8)
        ends(std::uint64_t{});
    else if (size > 16)
        std::memcpy(p, from, size);
    else
        for (std::size_t i = 0; i != size; ++i) p[i] = f[i];  // 0 to 3
    return p + size;
}

/// Where decoding stands and how far it may go.
struct cursor {
    std::byte const* at = nullptr;
    std::byte const* end = nullptr;

    std::size_t left() const noexcept { return static_cast<std::size_t>(end - at); }
};

/// Part 1's name for what a format code stands for; empty for a code that it does not define.
SLUICE_EXPORT std::string_view type_name(std::uint8_t format_code) noexcept;

/// Why a value with this format code is not what was expected.
SLUICE_EXPORT error refuse(std::uint8_t format_code) noexcept;

SLUICE_EXPORT bool is_utf8_at_length(std::byte const* p, std::size_t size) noexcept;
SLUICE_EXPORT bool is_ascii_at_length(std::byte const* p, std::size_t size) noexcept;

/// Whether these are 4 to 16 octets of ASCII, as most names and texts are: two overlapping loads.
[[gnu::always_inline]] inline bool is_short_ascii(std::byte const* p, std::size_t size) noexcept
{
    // NOLINTBEGIN(cppcoreguidelines-init-variables): the copies fill them
    if (size - 8 <= 8) {
        std::uint64_t first;
        std::uint64_t last;
        std::memcpy(&first, p, 8);
        std::memcpy(&last, p + size - 8, 8);
        return ((first | last) & 0x8080'8080'8080'8080u) == 0;
    }
    if (size - 4 <= 4) {
        std::uint32_t first;
        std::uint32_t last;
        std::memcpy(&first, p, 4);
        std::memcpy(&last, p + size - 4, 4);
        return ((first | last) & 0x8080'8080u) == 0;
    }
    // NOLINTEND(cppcoreguidelines-init-variables)
    return false;
}

inline bool is_utf8(std::byte const* p, std::size_t size) noexcept
{
    return is_short_ascii(p, size) || is_utf8_at_length(p, size);
}

inline bool is_utf8(std::string_view text) noexcept
{
    return is_utf8(reinterpret_cast<std::byte const*>(text.data()), text.size());
}

inline bool is_ascii(std::byte const* p, std::size_t size) noexcept
{
    return is_short_ascii(p, size) || is_ascii_at_length(p, size);
}

template <class Unsigned>
inline error read_fixed(cursor& in, Unsigned& out) noexcept
{
    if (in.left() < sizeof(Unsigned)) [[unlikely]]
        return error::truncated;
    out = load<Unsigned>(in.at);
    in.at += sizeof(Unsigned);
    return error::none;
}

/// What stands between the format code and the elements of a list, map or array.
struct compound {
    std::uint32_t count = 0;
    std::byte const* end = nullptr;  ///< within the input
};

/// Reads size and count of the compound with this format code (list0 included).
SLUICE_EXPORT error read_compound(cursor& in, std::uint8_t format_code, compound& out) noexcept;

/// An array up to its elements.
struct array_header {
    std::uint32_t count = 0;
    std::uint8_t element = 0;  ///< the format code of every element
    bytes_view constructor;    ///< with the descriptors in front of that code, if there are any
    std::byte const* end = nullptr;
};
SLUICE_EXPORT error read_array_header(cursor& in, std::uint8_t format_code, array_header& out,
                                      unsigned depth) noexcept;

/// Moves past one value; `depth` levels more are allowed.
SLUICE_EXPORT error skip_any(cursor& in, unsigned depth) noexcept;
/// The same when the format code has been read.
SLUICE_EXPORT error skip_rest(cursor& in, std::uint8_t format_code, unsigned depth) noexcept;

// How many octets follow each format code, for those where it tells.
inline constexpr std::uint8_t width_in_an_octet = 0xfe;  // as many as the next octet says
inline constexpr std::uint8_t width_unknown = 0xff;      // look closer

constexpr std::array<std::uint8_t, 256> make_widths() noexcept
{
    std::array<std::uint8_t, 256> w{};
    w.fill(width_unknown);
    for (auto const c :
         {code::null, code::true_, code::false_, code::uint0, code::ulong0, code::list0})
        w[c] = 0;
    for (auto const c : {code::boolean, code::ubyte, code::byte, code::smalluint, code::smallulong,
                         code::smallint, code::smalllong})
        w[c] = 1;
    for (auto const c : {code::ushort, code::short_}) w[c] = 2;
    for (auto const c : {code::uint, code::int_, code::float_, code::decimal32, code::char_})
        w[c] = 4;
    for (auto const c : {code::ulong, code::long_, code::double_, code::decimal64, code::timestamp})
        w[c] = 8;
    for (auto const c : {code::decimal128, code::uuid}) w[c] = 16;
    for (auto const c : {code::vbin8, code::str8, code::sym8}) w[c] = width_in_an_octet;
    return w;
}
inline constexpr auto widths = make_widths();

/// Moves past a value whose format code tells its size; false, without moving, at any other.
[[gnu::always_inline]] inline bool skip_scalar(std::byte const*& p, std::byte const* end) noexcept
{
    // Offsets and not pointers, which may not point far beyond the end.
    auto const left = static_cast<std::size_t>(end - p);
    if (left == 0)
        return false;
    std::size_t next = 1 + std::size_t{widths[octet(p)]};
    if (next > width_in_an_octet) {
        if (left < 2 || next > 1u + width_in_an_octet)
            return false;
        next = 2 + std::size_t{octet(p + 1)};
    }
    if (next > left)
        return false;
    p += next;
    return true;
}

inline error skip(cursor& in, unsigned depth) noexcept
{
    auto const* p = in.at;
    if (!skip_scalar(p, in.end))
        return skip_any(in, depth);
    in.at = p;
    return error::none;
}

}  // namespace sluice::detail
