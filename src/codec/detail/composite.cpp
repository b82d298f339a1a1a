// The parts of composite encoding and decoding that do not depend on the type, off the hot path.
#include "composite.hpp"

namespace sluice::detail {

std::error_code success() noexcept
{
    static std::error_code const none;
    return none;
}

std::byte* finish_list32(std::byte* out, std::byte* end, std::size_t count) noexcept
{
    constexpr auto wider = composite_header_size_max - composite_header_size;
    auto* const fields = out + composite_header_size;
    auto const size = static_cast<std::size_t>(end - fields);
    std::memmove(fields + wider, fields, size);
    auto* p = put(out + 3, code::list32);
    p = store(p, static_cast<std::uint32_t>(size + 4));  // the count's octets included
    p = store(p, static_cast<std::uint32_t>(count));
    return p + size;
}

error read_descriptor(cursor& in, std::uint64_t& number, symbol& name) noexcept
{
    if (in.at == in.end)
        return error::truncated;
    auto const format_code = octet(in.at++);
    if (format_code == code::sym8 || format_code == code::sym32)
        return scalar_codec<symbol>::read(in, format_code, name);
    auto const e = scalar_codec<std::uint64_t>::read(in, format_code, number);
    return e == error::wrong_type ? error::invalid_descriptor : e;
}

error read_composite_header(cursor& in, std::uint64_t descriptor, std::string_view name,
                            compound& list) noexcept
{
    auto const start = in;
    if (in.at == in.end)
        return error::truncated;
    if (auto const c = octet(in.at++); c != code::described)
        return refuse(c);
    std::uint64_t number = 0;
    symbol symbolic;
    if (auto const e = read_descriptor(in, number, symbolic); e != error::none)
        return e;
    if (symbolic.text.empty() ? number != descriptor : symbolic.text != name) {
        in = start;
        return error::invalid_descriptor;
    }
    if (in.at == in.end)
        return error::truncated;
    auto const format_code = octet(in.at++);
    if (format_code != code::list0 && format_code != code::list8 && format_code != code::list32)
        return refuse(format_code);
    return read_compound(in, format_code, list);
}

error field_codec<raw_value>::read(cursor& in, std::uint8_t c, raw_value& v) noexcept
{
    auto const* const start = in.at - 1;
    auto const e = skip_rest(in, c, decode_depth_max);
    v.encoded = {start, static_cast<std::size_t>(in.at - start)};
    return e;
}

error field_codec<raw_value>::read_map(cursor& in, std::uint8_t c, raw_value& v) noexcept
{
    if (c != code::map8 && c != code::map32)
        return refuse(c);
    return read(in, c, v);
}

std::size_t field_codec<symbols>::bound(symbols const& v) noexcept
{
    if (v.encoded)
        return v.encoded.encoded.size();
    std::size_t size = 10;  // array32, size, count, constructor
    for (auto const& s : v.items) size += s.text.size() + 4;
    return size;
}

// Always an array: it is what a field of several values is by default, and what Proton-C, Broker-J
// and Artemis write themselves. [1.4]
std::byte* field_codec<symbols>::write(std::byte* p, symbols const& v) noexcept
{
    if (v.encoded)
        return field_codec<raw_value>::write(p, v.encoded);
    std::size_t content = 0;
    std::size_t longest = 0;
    for (auto const& s : v.items) {
        content += s.text.size();
        longest = std::max(longest, s.text.size());
    }
    bool const wide = longest > 255;
    content += v.items.size() * (wide ? 4 : 1);
    if (content + 2 <= 255 && v.items.size() <= 255) {
        p = put(p, code::array8);
        p = put(p, static_cast<std::uint8_t>(content + 2));
        p = put(p, static_cast<std::uint8_t>(v.items.size()));
    } else {
        p = put(p, code::array32);
        p = store(p, static_cast<std::uint32_t>(content + 5));
        p = store(p, static_cast<std::uint32_t>(v.items.size()));
    }
    p = put(p, wide ? code::sym32 : code::sym8);
    for (auto const& s : v.items) {
        p = wide ? store(p, static_cast<std::uint32_t>(s.text.size()))
                 : put(p, static_cast<std::uint8_t>(s.text.size()));
        p = put(p, s.text.data(), s.text.size());
    }
    return p;
}

// One bare symbol, or an array of them; null has been dealt with. [1.4]
error field_codec<symbols>::read(cursor& in, std::uint8_t c, symbols& v) noexcept
{
    auto const* const start = in.at - 1;
    symbol one;
    if (c == code::array8 || c == code::array32) {
        array_header array;
        if (auto const e = read_array_header(in, c, array, 0); e != error::none)
            return e == error::nested_too_deep ? error::wrong_type : e;
        if (array.element != code::sym8 && array.element != code::sym32)
            return error::wrong_type;
        cursor elements{in.at, array.end};
        if (array.count > elements.left())
            return error::too_many_elements;
        for (std::uint32_t i = 0; i != array.count; ++i)
            if (auto const e = scalar_codec<symbol>::read(elements, array.element, one);
                e != error::none)
                return e == error::truncated ? error::size_mismatch : e;
        if (elements.at != array.end)
            return error::size_mismatch;
        in.at = array.end;
    } else if (auto const e = scalar_codec<symbol>::read(in, c, one); e != error::none) {
        return e;
    }
    v = symbols{raw_value{{start, static_cast<std::size_t>(in.at - start)}}};
    return error::none;
}

std::size_t field_codec<error_view>::bound(error_view const& v) noexcept
{
    return bound_of(v, field_indices<error_view>{});
}

std::byte* field_codec<error_view>::write(std::byte* p, error_view const& v) noexcept
{
    return encode_composite(v, p, field_indices<error_view>{});
}

error field_codec<error_view>::read(cursor& in, std::uint8_t c, error_view& v) noexcept
{
    if (c != code::described)
        return refuse(c);
    --in.at;
    return decode_composite(in, v);
}

}  // namespace sluice::detail
