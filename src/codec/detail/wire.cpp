// Walking over encoded values: sizes, counts and depth are checked, nothing is built. [1.2, 1.6]
#include <sluice/codec/codec.hpp>
#include <sluice/codec/detail/wire.hpp>

namespace sluice::detail {
namespace {

struct format {
    enum kind : std::uint8_t { unknown, fixed, variable, list, map, array, described };
    kind is = unknown;
    std::uint8_t width = 0;  // of the value if fixed, else of its size
    std::string_view name = {};
};

constexpr std::array<format, 256> make_formats()
{
    std::array<format, 256> f{};
    f[code::described] = {format::described, 0, "described"};
    f[code::null] = {format::fixed, 0, "null"};
    f[code::true_] = f[code::false_] = {format::fixed, 0, "boolean"};
    f[code::boolean] = {format::fixed, 1, "boolean"};
    f[code::ubyte] = {format::fixed, 1, "ubyte"};
    f[code::ushort] = {format::fixed, 2, "ushort"};
    f[code::uint0] = {format::fixed, 0, "uint"};
    f[code::smalluint] = {format::fixed, 1, "uint"};
    f[code::uint] = {format::fixed, 4, "uint"};
    f[code::ulong0] = {format::fixed, 0, "ulong"};
    f[code::smallulong] = {format::fixed, 1, "ulong"};
    f[code::ulong] = {format::fixed, 8, "ulong"};
    f[code::byte] = {format::fixed, 1, "byte"};
    f[code::short_] = {format::fixed, 2, "short"};
    f[code::smallint] = {format::fixed, 1, "int"};
    f[code::int_] = {format::fixed, 4, "int"};
    f[code::smalllong] = {format::fixed, 1, "long"};
    f[code::long_] = {format::fixed, 8, "long"};
    f[code::float_] = {format::fixed, 4, "float"};
    f[code::double_] = {format::fixed, 8, "double"};
    f[code::decimal32] = {format::fixed, 4, "decimal32"};
    f[code::decimal64] = {format::fixed, 8, "decimal64"};
    f[code::decimal128] = {format::fixed, 16, "decimal128"};
    f[code::char_] = {format::fixed, 4, "char"};
    f[code::timestamp] = {format::fixed, 8, "timestamp"};
    f[code::uuid] = {format::fixed, 16, "uuid"};
    f[code::vbin8] = {format::variable, 1, "binary"};
    f[code::vbin32] = {format::variable, 4, "binary"};
    f[code::str8] = {format::variable, 1, "string"};
    f[code::str32] = {format::variable, 4, "string"};
    f[code::sym8] = {format::variable, 1, "symbol"};
    f[code::sym32] = {format::variable, 4, "symbol"};
    f[code::list0] = {format::fixed, 0, "list"};
    f[code::list8] = {format::list, 1, "list"};
    f[code::list32] = {format::list, 4, "list"};
    f[code::map8] = {format::map, 1, "map"};
    f[code::map32] = {format::map, 4, "map"};
    f[code::array8] = {format::array, 1, "array"};
    f[code::array32] = {format::array, 4, "array"};
    return f;
}
constexpr auto formats = make_formats();

error read_size(cursor& in, std::uint8_t width, std::uint32_t& size) noexcept
{
    if (width == 4)
        return read_fixed(in, size);
    std::uint8_t small = 0;
    auto const e = read_fixed(in, small);
    size = small;
    return e;
}

/// A list or map in its short form, if it is sound; else false, and nothing has moved.
bool read_short_compound(cursor& in, format const& f, compound& out) noexcept
{
    if (f.width != 1 || in.left() < 2)
        return false;
    std::size_t const size = octet(in.at);
    std::uint32_t const count = octet(in.at + 1);
    if (in.left() - 1 < size || count + 1 > size || (f.is == format::map && count % 2 != 0))
        return false;
    out = {count, in.at + 1 + size};
    in.at += 2;
    return true;
}

error skip_octets(cursor& in, std::size_t size) noexcept
{
    if (in.left() < size)
        return error::truncated;
    in.at += size;
    return error::none;
}

/// What lies inside a compound may not run over the compound's end.
error inside(error e) noexcept { return e == error::truncated ? error::size_mismatch : e; }

error skip_elements(cursor& in, compound const& c, unsigned depth) noexcept
{
    auto const* p = in.at;
    for (std::uint32_t i = 0; i != c.count; ++i) {
        if (skip_scalar(p, c.end))
            continue;
        cursor element{p, c.end};
        if (auto const e = skip_any(element, depth); e != error::none)
            return inside(e);
        p = element.at;
    }
    if (p != c.end)
        return error::size_mismatch;
    in.at = c.end;
    return error::none;
}

error skip_array_elements(cursor& in, std::uint8_t element, std::uint32_t count,
                          unsigned depth) noexcept
{
    auto const& f = formats[element];
    if (f.is == format::unknown)
        return error::unknown_constructor;
    if (f.is == format::fixed) {
        if (f.width == 0 && count > zero_width_elements_max)
            return error::too_many_elements;
        auto const size = std::uint64_t{count} * f.width;
        if (size > in.left())
            return error::too_many_elements;
        in.at += size;
        return error::none;
    }
    if (count > in.left())
        return error::too_many_elements;  // each takes an octet at least
    for (std::uint32_t i = 0; i != count; ++i)
        if (auto const e = skip_rest(in, element, depth); e != error::none)
            return e;
    return error::none;
}

}  // namespace

error read_array_header(cursor& in, std::uint8_t format_code, array_header& out,
                        unsigned depth) noexcept
{
    if (format_code != code::array8 && format_code != code::array32)
        return refuse(format_code);
    compound c;
    if (auto const e = read_compound(in, format_code, c); e != error::none)
        return e;
    out.count = c.count;
    out.end = c.end;
    cursor at{in.at, c.end};
    for (;; --depth) {  // the constructor may be described, and that one too
        out.constructor = {at.at, static_cast<std::size_t>(c.end - at.at)};
        if (at.at == at.end)
            return error::size_mismatch;
        out.element = octet(at.at++);
        if (out.element != code::described)
            break;
        if (depth == 0)
            return error::nested_too_deep;
        if (auto const e = skip(at, depth - 1); e != error::none)
            return inside(e);
    }
    out.constructor = {in.at, static_cast<std::size_t>(at.at - in.at)};
    in.at = at.at;
    return formats[out.element].is == format::unknown ? error::unknown_constructor : error::none;
}

std::string_view type_name(std::uint8_t format_code) noexcept { return formats[format_code].name; }

error refuse(std::uint8_t format_code) noexcept
{
    return formats[format_code].is == format::unknown ? error::unknown_constructor
                                                      : error::wrong_type;
}

error read_compound(cursor& in, std::uint8_t format_code, compound& out) noexcept
{
    if (format_code == code::list0) {
        out = {0, in.at};
        return error::none;
    }
    auto const& f = formats[format_code];
    if (f.is < format::list || f.is > format::array)
        return refuse(format_code);
    std::uint32_t size = 0;
    if (auto const e = read_size(in, f.width, size); e != error::none)
        return e;
    if (in.left() < size)
        return error::truncated;
    if (size < f.width)
        return error::size_mismatch;
    auto const* const end = in.at + size;
    std::uint32_t count = 0;
    if (auto const e = read_size(in, f.width, count); e != error::none)
        return e;
    // An element of an array may take no octet, but its constructor does.
    if (f.is != format::array && count > static_cast<std::size_t>(end - in.at))
        return error::too_many_elements;
    if (f.is == format::map && count % 2 != 0)
        return error::invalid_value;
    out = {count, end};
    return error::none;
}

error skip_rest(cursor& in, std::uint8_t format_code, unsigned depth) noexcept
{
    auto const& f = formats[format_code];
    switch (f.is) {
    case format::fixed: return skip_octets(in, f.width);
    case format::variable: {
        std::uint32_t size = 0;
        auto const e = read_size(in, f.width, size);
        return e != error::none ? e : skip_octets(in, size);
    }
    case format::list:
    case format::map: {
        compound c;
        if (!read_short_compound(in, f, c))
            if (auto const e = read_compound(in, format_code, c); e != error::none)
                return e;
        if (depth == 0 && c.count != 0)  // an empty one is no level, whichever way it is encoded
            return error::nested_too_deep;
        return skip_elements(in, c, depth - 1);
    }
    case format::array: {
        if (depth == 0)
            return error::nested_too_deep;
        array_header a;
        if (auto const e = read_array_header(in, format_code, a, depth - 1); e != error::none)
            return e;
        cursor elements{in.at, a.end};
        if (auto const e = skip_array_elements(elements, a.element, a.count, depth - 1);
            e != error::none)
            return inside(e);
        if (elements.at != a.end)
            return error::size_mismatch;
        in.at = a.end;
        return error::none;
    }
    case format::described: {
        if (depth == 0)
            return error::nested_too_deep;
        auto const e = skip(in, depth - 1);
        return e != error::none ? e : skip(in, depth - 1);
    }
    case format::unknown: break;
    }
    return error::unknown_constructor;
}

error skip_any(cursor& in, unsigned depth) noexcept
{
    if (in.at == in.end)
        return error::truncated;
    auto const format_code = octet(in.at++);
    return skip_rest(in, format_code, depth);
}

namespace {

/// Octets at the front that are ASCII; may stop early, but not at all of them.
std::size_t ascii_run(std::byte const* p, std::size_t size) noexcept
{
    constexpr std::uint64_t high = 0x8080'8080'8080'8080;
    std::size_t i = 0;
    std::uint64_t word = 0;
    for (; size - i >= 8; i += 8) {
        std::memcpy(&word, p + i, 8);
        if ((word & high) != 0)
            return i;
    }
    if (i == size)
        return size;
    if (size >= 8) {  // the last eight, of which some have been looked at
        std::memcpy(&word, p + size - 8, 8);
        return (word & high) == 0 ? size : i;
    }
    if (size >= 4) {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::memcpy(&first, p, 4);
        std::memcpy(&last, p + size - 4, 4);
        return ((first | last) & 0x8080'8080u) == 0 ? size : 0;
    }
    unsigned const all = octet(p) | octet(p + size / 2) | octet(p + size - 1);
    return all < 0x80 ? size : 0;
}

/// Octets of the UTF-8 sequence at `p`, 0 if it is none. [RFC 3629]
std::size_t sequence_length(std::byte const* p, std::size_t left) noexcept
{
    auto const lead = octet(p);
    if (lead < 0x80)
        return 1;
    std::size_t const length = lead < 0xc2   ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || left < length)
        return 0;
    for (std::size_t i = 1; i != length; ++i)
        if ((octet(p + i) & 0xc0) != 0x80)
            return 0;
    auto const second = octet(p + 1);
    bool const overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    bool const surrogate = lead == 0xed && second > 0x9f;
    bool const too_high = lead == 0xf4 && second > 0x8f;
    return overlong || surrogate || too_high ? 0 : length;
}

}  // namespace

bool is_ascii_at_length(std::byte const* p, std::size_t size) noexcept
{
    return ascii_run(p, size) == size;
}

bool is_utf8_at_length(std::byte const* p, std::size_t size) noexcept
{
    for (auto i = ascii_run(p, size); i != size;) {
        auto const length = sequence_length(p + i, size - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

}  // namespace sluice::detail
