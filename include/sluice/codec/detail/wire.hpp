// Format codes, octets in network order, and walking over encoded values. Not public. [1.2, 1.6]
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/error.hpp>

#include <bit>
#include <cstring>

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

inline std::uint8_t octet(std::byte const* p) noexcept
{
    return std::to_integer<std::uint8_t>(*p);
}

/// Big-endian in, native out.
template <class Unsigned>
inline Unsigned load(std::byte const* p) noexcept
{
    if constexpr (sizeof(Unsigned) == 1) {
        return octet(p);
    } else {
        Unsigned v;
        std::memcpy(&v, p, sizeof v);
        if constexpr (std::endian::native == std::endian::big) return v;
        else if constexpr (sizeof v == 2) return __builtin_bswap16(v);
        else if constexpr (sizeof v == 4) return __builtin_bswap32(v);
        else return __builtin_bswap64(v);
    }
}

/// Native in, big-endian out. @returns the end of what was written.
template <class Unsigned>
inline std::byte* store(std::byte* p, Unsigned v) noexcept
{
    if constexpr (std::endian::native == std::endian::little) {
        if constexpr (sizeof v == 2) v = __builtin_bswap16(v);
        else if constexpr (sizeof v == 4) v = __builtin_bswap32(v);
        else if constexpr (sizeof v == 8) v = __builtin_bswap64(v);
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
    if (size - 4 <= 4) ends(std::uint32_t{});
    else if (size - 8 <= 8) ends(std::uint64_t{});
    else if (size > 16) std::memcpy(p, from, size);
    else for (std::size_t i = 0; i != size; ++i) p[i] = f[i];  // 0 to 3
    return p + size;
}

/// Where decoding stands and how far it may go.
struct cursor {
    std::byte const* at = nullptr;
    std::byte const* end = nullptr;

    std::size_t left() const noexcept { return static_cast<std::size_t>(end - at); }
};

/// Part 1's name for what a format code stands for; empty for a code that it does not define.
std::string_view type_name(std::uint8_t format_code) noexcept;

/// Why a value with this format code is not what was expected.
error refuse(std::uint8_t format_code) noexcept;

bool is_utf8(std::byte const* p, std::size_t size) noexcept;
bool is_ascii(std::byte const* p, std::size_t size) noexcept;

template <class Unsigned>
inline error read_fixed(cursor& in, Unsigned& out) noexcept
{
    if (in.left() < sizeof(Unsigned)) [[unlikely]] return error::truncated;
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
error read_compound(cursor& in, std::uint8_t format_code, compound& out) noexcept;

/// An array up to its elements.
struct array_header {
    std::uint32_t count = 0;
    std::uint8_t element = 0;  ///< the format code of every element
    bytes_view constructor;    ///< with the descriptors in front of that code, if there are any
    std::byte const* end = nullptr;
};
error read_array_header(cursor& in, std::uint8_t format_code, array_header& out,
                        unsigned depth) noexcept;

/// Moves past one value; `depth` levels more are allowed.
error skip(cursor& in, unsigned depth) noexcept;
/// The same when the format code has been read.
error skip_rest(cursor& in, std::uint8_t format_code, unsigned depth) noexcept;

}  // namespace sluice::detail
