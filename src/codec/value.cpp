// The dynamic value: comparing, looking up, decoding.
#include <sluice/codec/value.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice {

value& value_map::operator[](std::string_view key)
{
    if (auto const* const found = find(key)) return const_cast<value&>(*found);
    return entries_.emplace_back(value{key}, value{}).second;
}

value& value_map::operator[](symbol key)
{
    if (auto const* const found = find(key.text)) return const_cast<value&>(*found);
    return entries_.emplace_back(value{key}, value{}).second;
}

value const* value_map::find(std::string_view key) const noexcept
{
    for (auto const& [name, content] : entries_)
        if (name.text() == key) return &content;
    return nullptr;
}

value const* value_map::find_key(value const& key) const noexcept
{
    for (auto const& [name, content] : entries_)
        if (name == key) return &content;
    return nullptr;
}

bool operator==(value_map const& a, value_map const& b) noexcept
{
    return a.entries_ == b.entries_;
}

std::optional<std::string_view> value::text() const noexcept
{
    if (auto const* const s = get_if<std::string>()) return *s;
    if (auto const* const s = get_if<symbol_string>()) return s->text;
    return std::nullopt;
}

std::optional<std::int64_t> value::integer() const noexcept
{
    return std::visit(
        []<class T>(T const& v) -> std::optional<std::int64_t> {
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                          !std::is_same_v<T, char32_t>) {
                if (std::in_range<std::int64_t>(v)) return static_cast<std::int64_t>(v);
            }
            return std::nullopt;
        },
        held_);
}

bool operator==(value const& a, value const& b) noexcept
{
    if (a.held_.index() != b.held_.index()) return false;
    return std::visit(
        [&b]<class T>(T const& left) {
            auto const& right = *std::get_if<T>(&b.held_);
            if constexpr (std::is_same_v<T, float>)
                return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right);
            else if constexpr (std::is_same_v<T, double>)
                return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
            else if constexpr (requires { *left == *right; })
                return *left == *right;
            else
                return left == right;
        },
        a.held_);
}

namespace {

using namespace detail;

/// Builds values from input that `skip` has found well-formed: what is left to check are contents.
class value_decoder {
public:
    explicit value_decoder(bytes_view in) noexcept
        : in_{in.data(), in.data() + in.size()},
          zero_width_left_{std::max<std::size_t>(in.size(), zero_width_elements_max)}
    {
    }

    error read(value& out)
    {
        auto const c = octet(in_.at++);
        return read_rest(c, out);
    }

private:
    template <class T>
    error read_scalar(std::uint8_t c, value& out)
    {
        T v{};
        auto const e = scalar_codec<T>::read(in_, c, v);
        if (e == error::none) out = v;
        return e;
    }

    error read_rest(std::uint8_t c, value& out);
    error read_described(value& out);
    error read_list(std::uint8_t c, value& out);
    error read_map(std::uint8_t c, value& out);
    error read_array(std::uint8_t c, value& out);

    cursor in_;
    std::size_t zero_width_left_;
};

error value_decoder::read_rest(std::uint8_t c, value& out)
{
    std::byte const format_code{c};
    switch (type_of(raw_value{{&format_code, 1}}).value_or(value_type::null)) {
    case value_type::null: out = nullptr; return error::none;
    case value_type::boolean: return read_scalar<bool>(c, out);
    case value_type::ubyte: return read_scalar<std::uint8_t>(c, out);
    case value_type::ushort: return read_scalar<std::uint16_t>(c, out);
    case value_type::uint: return read_scalar<std::uint32_t>(c, out);
    case value_type::ulong: return read_scalar<std::uint64_t>(c, out);
    case value_type::byte: return read_scalar<std::int8_t>(c, out);
    case value_type::short_: return read_scalar<std::int16_t>(c, out);
    case value_type::int_: return read_scalar<std::int32_t>(c, out);
    case value_type::long_: return read_scalar<std::int64_t>(c, out);
    case value_type::float_: return read_scalar<float>(c, out);
    case value_type::double_: return read_scalar<double>(c, out);
    case value_type::decimal32: return read_scalar<decimal32>(c, out);
    case value_type::decimal64: return read_scalar<decimal64>(c, out);
    case value_type::decimal128: return read_scalar<decimal128>(c, out);
    case value_type::char_: return read_scalar<char32_t>(c, out);
    case value_type::timestamp: return read_scalar<timestamp>(c, out);
    case value_type::uuid: return read_scalar<uuid>(c, out);
    case value_type::binary: return read_scalar<bytes_view>(c, out);
    case value_type::string: return read_scalar<std::string_view>(c, out);
    case value_type::symbol: return read_scalar<symbol>(c, out);
    case value_type::list: return read_list(c, out);
    case value_type::map: return read_map(c, out);
    case value_type::array: return read_array(c, out);
    case value_type::described: break;
    }
    return read_described(out);
}

error value_decoder::read_described(value& out)
{
    described_value v;
    if (auto const e = read(v.descriptor); e != error::none) return e;
    auto const e = read(v.content);
    out = std::move(v);
    return e;
}

error value_decoder::read_list(std::uint8_t c, value& out)
{
    compound header;
    if (auto const e = read_compound(in_, c, header); e != error::none) return e;
    value_list items(header.count);
    for (auto& item : items)
        if (auto const e = read(item); e != error::none) return e;
    out = std::move(items);
    return error::none;
}

error value_decoder::read_map(std::uint8_t c, value& out)
{
    compound header;
    if (auto const e = read_compound(in_, c, header); e != error::none) return e;
    value_map entries;
    entries.reserve(header.count / 2);
    for (std::uint32_t i = 0; i != header.count; i += 2) {
        value key;
        value content;
        if (auto const e = read(key); e != error::none) return e;
        if (auto const e = read(content); e != error::none) return e;
        entries.add(std::move(key), std::move(content));
    }
    out = std::move(entries);
    return error::none;
}

error value_decoder::read_array(std::uint8_t c, value& out)
{
    array_header header;
    if (auto const e = read_array_header(in_, c, header, decode_depth_max); e != error::none)
        return e;
    auto const elements = static_cast<std::size_t>(header.end - in_.at);
    if (elements < header.count) {  // some, and so all, take no octet
        if (header.count > zero_width_left_) return error::too_many_elements;
        zero_width_left_ -= header.count;
    }
    value_array array;
    auto const element = std::byte{header.element};
    array.element = type_of(raw_value{{&element, 1}}).value_or(value_type::null);

    auto const after = in_.at;
    in_.at = header.constructor.data();
    while (octet(in_.at) == code::described) {
        ++in_.at;
        if (auto const e = read(array.descriptors.emplace_back()); e != error::none) return e;
    }
    in_.at = after;

    array.items.resize(header.count);
    for (auto& item : array.items)
        if (auto const e = read_rest(header.element, item); e != error::none) return e;
    out = std::move(array);
    return error::none;
}

}  // namespace

std::error_code decode(bytes_view& in, value& out)
{
    out = nullptr;
    auto rest = in;
    if (auto const ec = skip_value(rest)) return ec;
    auto const encoded = in.first(in.size() - rest.size());
    if (auto const e = value_decoder{encoded}.read(out); e != error::none) {
        out = nullptr;
        return make_error_code(e);
    }
    in = rest;
    return {};
}

}  // namespace sluice
