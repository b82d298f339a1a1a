// Values between our codec and Proton-C's, so that each can judge what the other encodes.
#pragma once

#ifdef SLUICE_HAVE_PROTON

#include <sluice/codec/value.hpp>

#include <proton/codec.h>

#include <cstring>
#include <memory>

namespace sluice::test {

struct codec_pn_free {
    void operator()(pn_data_t* data) const noexcept { pn_data_free(data); }
};
using codec_pn_data = std::unique_ptr<pn_data_t, codec_pn_free>;

inline codec_pn_data codec_make_pn_data() { return codec_pn_data{pn_data(16)}; }

inline pn_bytes_t codec_pn_bytes(bytes_view b)
{
    return pn_bytes(b.size(), reinterpret_cast<char const*>(b.data()));
}

inline bytes_view codec_from_pn(pn_bytes_t b) { return std::as_bytes(std::span{b.start, b.size}); }

inline pn_type_t codec_pn_type(value_type type)
{
    constexpr pn_type_t types[] = {
        PN_NULL,       PN_BOOL, PN_UBYTE,     PN_USHORT,   PN_UINT,   PN_ULONG,     PN_BYTE,
        PN_SHORT,      PN_INT,  PN_LONG,      PN_FLOAT,    PN_DOUBLE, PN_DECIMAL32, PN_DECIMAL64,
        PN_DECIMAL128, PN_CHAR, PN_TIMESTAMP, PN_UUID,     PN_BINARY, PN_STRING,    PN_SYMBOL,
        PN_LIST,       PN_MAP,  PN_ARRAY,     PN_DESCRIBED};
    return types[static_cast<std::size_t>(type)];
}

inline value_type codec_from_pn_type(pn_type_t type)
{
    for (std::size_t i = 0; i != 25; ++i)
        if (codec_pn_type(static_cast<value_type>(i)) == type)
            return static_cast<value_type>(i);
    return value_type::null;
}

/// Appends a value at the current node. Arrays have one descriptor at most, as Proton's do.
inline void codec_put(pn_data_t* d, value const& v)
{
    switch (v.type()) {
    case value_type::null: pn_data_put_null(d); break;
    case value_type::boolean: pn_data_put_bool(d, *v.get_if<bool>()); break;
    case value_type::ubyte: pn_data_put_ubyte(d, *v.get_if<std::uint8_t>()); break;
    case value_type::ushort: pn_data_put_ushort(d, *v.get_if<std::uint16_t>()); break;
    case value_type::uint: pn_data_put_uint(d, *v.get_if<std::uint32_t>()); break;
    case value_type::ulong: pn_data_put_ulong(d, *v.get_if<std::uint64_t>()); break;
    case value_type::byte: pn_data_put_byte(d, *v.get_if<std::int8_t>()); break;
    case value_type::short_: pn_data_put_short(d, *v.get_if<std::int16_t>()); break;
    case value_type::int_: pn_data_put_int(d, *v.get_if<std::int32_t>()); break;
    case value_type::long_: pn_data_put_long(d, *v.get_if<std::int64_t>()); break;
    case value_type::float_: pn_data_put_float(d, *v.get_if<float>()); break;
    case value_type::double_: pn_data_put_double(d, *v.get_if<double>()); break;
    case value_type::decimal32:
        pn_data_put_decimal32(d, detail::load<std::uint32_t>(v.get_if<decimal32>()->octets.data()));
        break;
    case value_type::decimal64:
        pn_data_put_decimal64(d, detail::load<std::uint64_t>(v.get_if<decimal64>()->octets.data()));
        break;
    case value_type::decimal128: {
        pn_decimal128_t x;
        std::memcpy(x.bytes, v.get_if<decimal128>()->octets.data(), 16);
        pn_data_put_decimal128(d, x);
        break;
    }
    case value_type::char_: pn_data_put_char(d, *v.get_if<char32_t>()); break;
    case value_type::timestamp:
        pn_data_put_timestamp(d, v.get_if<timestamp>()->milliseconds);
        break;
    case value_type::uuid: {
        pn_uuid_t x;
        std::memcpy(x.bytes, v.get_if<uuid>()->octets.data(), 16);
        pn_data_put_uuid(d, x);
        break;
    }
    case value_type::binary: pn_data_put_binary(d, codec_pn_bytes(*v.get_if<bytes>())); break;
    case value_type::string:
        pn_data_put_string(d, pn_bytes(v.text()->size(), v.text()->data()));
        break;
    case value_type::symbol:
        pn_data_put_symbol(d, pn_bytes(v.text()->size(), v.text()->data()));
        break;
    case value_type::list:
        pn_data_put_list(d);
        pn_data_enter(d);
        for (auto const& item : *v.get_if<value_list>()) codec_put(d, item);
        pn_data_exit(d);
        break;
    case value_type::map:
        pn_data_put_map(d);
        pn_data_enter(d);
        for (auto const& [key, content] : *v.get_if<value_map>()) {
            codec_put(d, key);
            codec_put(d, content);
        }
        pn_data_exit(d);
        break;
    case value_type::array: {
        auto const& a = *v.get_if<value_array>();
        pn_data_put_array(d, !a.descriptors.empty(), codec_pn_type(a.element));
        pn_data_enter(d);
        if (!a.descriptors.empty())
            codec_put(d, a.descriptors.front());
        for (auto const& item : a.items) codec_put(d, item);
        pn_data_exit(d);
        break;
    }
    case value_type::described:
        pn_data_put_described(d);
        pn_data_enter(d);
        codec_put(d, v.get_if<described_value>()->descriptor);
        codec_put(d, v.get_if<described_value>()->content);
        pn_data_exit(d);
        break;
    }
}

/// The value at the current node.
inline value codec_get(pn_data_t* d)
{
    auto const octets = []<class T>(T, void const* from) {
        T v;
        std::memcpy(v.octets.data(), from, v.octets.size());
        return v;
    };
    auto const children = [d] {
        std::vector<value> items;
        pn_data_enter(d);
        while (pn_data_next(d)) items.push_back(codec_get(d));
        pn_data_exit(d);
        return items;
    };
    switch (pn_data_type(d)) {
    case PN_BOOL: return pn_data_get_bool(d);
    case PN_UBYTE: return pn_data_get_ubyte(d);
    case PN_USHORT: return pn_data_get_ushort(d);
    case PN_UINT: return pn_data_get_uint(d);
    case PN_ULONG: return pn_data_get_ulong(d);
    case PN_BYTE: return pn_data_get_byte(d);
    case PN_SHORT: return pn_data_get_short(d);
    case PN_INT: return pn_data_get_int(d);
    case PN_LONG: return pn_data_get_long(d);
    case PN_FLOAT: return pn_data_get_float(d);
    case PN_DOUBLE: return pn_data_get_double(d);
    case PN_DECIMAL32: {
        decimal32 v;
        detail::store(v.octets.data(), pn_data_get_decimal32(d));
        return v;
    }
    case PN_DECIMAL64: {
        decimal64 v;
        detail::store(v.octets.data(), pn_data_get_decimal64(d));
        return v;
    }
    case PN_DECIMAL128: return octets(decimal128{}, pn_data_get_decimal128(d).bytes);
    case PN_CHAR: return char32_t{pn_data_get_char(d)};
    case PN_TIMESTAMP: return timestamp{pn_data_get_timestamp(d)};
    case PN_UUID: return octets(uuid{}, pn_data_get_uuid(d).bytes);
    case PN_BINARY: return codec_from_pn(pn_data_get_binary(d));
    case PN_STRING: return detail::as_chars(codec_from_pn(pn_data_get_string(d)));
    case PN_SYMBOL: return symbol{detail::as_chars(codec_from_pn(pn_data_get_symbol(d)))};
    case PN_LIST: return children();
    case PN_MAP: {
        auto items = children();
        value_map map;
        for (std::size_t i = 0; i + 1 < items.size(); i += 2)
            map.add(std::move(items[i]), std::move(items[i + 1]));
        return map;
    }
    case PN_ARRAY: {
        value_array a;
        a.element = codec_from_pn_type(pn_data_get_array_type(d));
        auto const described = pn_data_is_array_described(d);
        a.items = children();
        if (described && !a.items.empty()) {
            a.descriptors.push_back(std::move(a.items.front()));
            a.items.erase(a.items.begin());
        }
        return a;
    }
    case PN_DESCRIBED: {
        auto items = children();
        items.resize(2);
        return described_value{std::move(items[0]), std::move(items[1])};
    }
    default: return nullptr;
    }
}

/// Proton's encoding of a value; empty if it refuses.
inline bytes codec_proton_encode(value const& v)
{
    auto const data = codec_make_pn_data();
    codec_put(data.get(), v);
    bytes out(encoded_size_bound(v) * 2 + 64);
    auto const size = pn_data_encode(data.get(), reinterpret_cast<char*>(out.data()), out.size());
    out.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return out;
}

/// What Proton decodes; nullopt if it refuses or leaves something over.
inline std::optional<value> codec_proton_decode(bytes_view wire)
{
    auto const data = codec_make_pn_data();
    auto const size =
        pn_data_decode(data.get(), reinterpret_cast<char const*>(wire.data()), wire.size());
    if (size < 0 || static_cast<std::size_t>(size) != wire.size())
        return std::nullopt;
    pn_data_rewind(data.get());
    if (!pn_data_next(data.get()))
        return std::nullopt;
    return codec_get(data.get());
}

}  // namespace sluice::test

#endif
