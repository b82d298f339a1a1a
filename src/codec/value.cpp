// The dynamic value: comparing, looking up, decoding.
#include "detail/value_access.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice {

value& value_map::operator[](std::string_view key)
{
    if (auto const* const found = find(key))
        return const_cast<value&>(*found);
    auto& made = add_null();
    made.first = key;
    return made.second;
}

value& value_map::operator[](symbol key)
{
    if (auto const* const found = find(key.text))
        return const_cast<value&>(*found);
    auto& made = add_null();
    made.first = key;
    return made.second;
}

value const* value_map::find(std::string_view key) const noexcept
{
    for (auto const& [name, content] : entries_)
        if (name.text() == key)
            return &content;
    return nullptr;
}

value const* value_map::find_key(value const& key) const noexcept
{
    for (auto const& [name, content] : entries_)
        if (name == key)
            return &content;
    return nullptr;
}

bool operator==(value_map const& a, value_map const& b) noexcept
{
    return a.entries_ == b.entries_;
}

std::optional<std::string_view> value::text() const noexcept
{
    if (auto const* const s = get_if<std::string>())
        return *s;
    if (auto const* const s = get_if<symbol_string>())
        return s->text;
    return std::nullopt;
}

std::optional<std::int64_t> value::integer() const noexcept
{
    return std::visit(
        []<class T>(T const& v) -> std::optional<std::int64_t> {
            if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>
                          && !std::is_same_v<T, char32_t>) {
                if (std::in_range<std::int64_t>(v))
                    return static_cast<std::int64_t>(v);
            }
            return std::nullopt;
        },
        held_);
}

bool operator==(value const& a, value const& b) noexcept
{
    if (a.held_.index() != b.held_.index())
        return false;
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

    error read(value_list& out)
    {
        auto const c = octet(in_.at++);
        return read_elements(c, out);
    }

    error read(value_map& out)
    {
        auto const c = octet(in_.at++);
        return read_entries(c, out);
    }

private:
    /// `As` is what the value holds, T what it is read as.
    template <class T, class As = T>
    error read_scalar(std::uint8_t c, value& out)
    {
        T v{};
        auto const e = scalar_codec<T>::read(in_, c, v);
        if (e != error::none)
            return e;
        auto& held = value_access::held(out);
        if constexpr (std::same_as<T, symbol>)
            held.template emplace<As>().text = v.text;
        else if constexpr (std::same_as<T, bytes_view>)
            held.template emplace<As>(v.begin(), v.end());
        else
            held.template emplace<As>(v);
        return error::none;
    }

    error read_rest(std::uint8_t c, value& out);
    error read_described(value& out);
    error read_elements(std::uint8_t c, value_list& out);
    error read_entries(std::uint8_t c, value_map& out);
    error read_array(std::uint8_t c, value& out);

    cursor in_;
    std::size_t zero_width_left_;
};

error value_decoder::read_rest(std::uint8_t c, value& out)
{
    switch (c) {
    case code::null: value_access::held(out).emplace<std::monostate>(); return error::none;
    case code::true_:
    case code::false_:
    case code::boolean: return read_scalar<bool>(c, out);
    case code::ubyte: return read_scalar<std::uint8_t>(c, out);
    case code::ushort: return read_scalar<std::uint16_t>(c, out);
    case code::uint0:
    case code::smalluint:
    case code::uint: return read_scalar<std::uint32_t>(c, out);
    case code::ulong0:
    case code::smallulong:
    case code::ulong: return read_scalar<std::uint64_t>(c, out);
    case code::byte: return read_scalar<std::int8_t>(c, out);
    case code::short_: return read_scalar<std::int16_t>(c, out);
    case code::smallint:
    case code::int_: return read_scalar<std::int32_t>(c, out);
    case code::smalllong:
    case code::long_: return read_scalar<std::int64_t>(c, out);
    case code::float_: return read_scalar<float>(c, out);
    case code::double_: return read_scalar<double>(c, out);
    case code::decimal32: return read_scalar<decimal32>(c, out);
    case code::decimal64: return read_scalar<decimal64>(c, out);
    case code::decimal128: return read_scalar<decimal128>(c, out);
    case code::char_: return read_scalar<char32_t>(c, out);
    case code::timestamp: return read_scalar<timestamp>(c, out);
    case code::uuid: return read_scalar<uuid>(c, out);
    case code::vbin8:
    case code::vbin32: return read_scalar<bytes_view, bytes>(c, out);
    case code::str8:
    case code::str32: return read_scalar<std::string_view, std::string>(c, out);
    case code::sym8:
    case code::sym32: return read_scalar<symbol, symbol_string>(c, out);
    case code::list0:
    case code::list8:
    case code::list32: return read_elements(c, value_access::held(out).emplace<value_list>());
    case code::map8:
    case code::map32: return read_entries(c, value_access::held(out).emplace<value_map>());
    case code::array8:
    case code::array32: return read_array(c, out);
    case code::described: return read_described(out);
    default: return error::unknown_constructor;
    }
}

error value_decoder::read_described(value& out)
{
    described_value v;
    if (auto const e = read(v.descriptor); e != error::none)
        return e;
    auto const e = read(v.content);
    out = std::move(v);
    return e;
}

error value_decoder::read_elements(std::uint8_t c, value_list& out)
{
    compound header;
    if (auto const e = read_compound(in_, c, header); e != error::none)
        return e;
    out.resize(header.count);
    for (auto& item : out)
        if (auto const e = read(item); e != error::none)
            return e;
    return error::none;
}

error value_decoder::read_entries(std::uint8_t c, value_map& out)
{
    compound header;
    if (auto const e = read_compound(in_, c, header); e != error::none)
        return e;
    out.clear();
    out.reserve(header.count / 2);
    for (std::uint32_t i = 0; i != header.count; i += 2) {
        auto& [key, content] = out.add_null();
        if (auto const e = read(key); e != error::none)
            return e;
        if (auto const e = read(content); e != error::none)
            return e;
    }
    return error::none;
}

error value_decoder::read_array(std::uint8_t c, value& out)
{
    array_header header;
    if (auto const e = read_array_header(in_, c, header, decode_depth_max); e != error::none)
        return e;
    auto const elements = static_cast<std::size_t>(header.end - in_.at);
    if (elements < header.count) {  // some, and so all, take no octet
        if (header.count > zero_width_left_)
            return error::too_many_elements;
        zero_width_left_ -= header.count;
    }
    value_array array;
    auto const element = std::byte{header.element};
    array.element = type_of(raw_value{{&element, 1}}).value_or(value_type::null);

    auto const after = in_.at;
    in_.at = header.constructor.data();
    while (octet(in_.at) == code::described) {
        ++in_.at;
        if (auto const e = read(array.descriptors.emplace_back()); e != error::none)
            return e;
    }
    in_.at = after;

    array.items.resize(header.count);
    for (auto& item : array.items)
        if (auto const e = read_rest(header.element, item); e != error::none)
            return e;
    out = std::move(array);
    return error::none;
}

}  // namespace

error detail::decode_checked(raw_value raw, value& out)
{
    return value_decoder{raw.encoded}.read(out);
}

error detail::decode_checked(raw_value raw, value_map& out)
{
    if (!raw.empty())
        return value_decoder{raw.encoded}.read(out);
    out.clear();
    return error::none;
}

error detail::decode_checked(raw_value raw, value_list& out)
{
    return value_decoder{raw.encoded}.read(out);
}

std::error_code decode(bytes_view& in, value& out)
{
    out = nullptr;
    auto rest = in;
    if (auto const ec = skip_value(rest))
        return ec;
    auto const encoded = in.first(in.size() - rest.size());
    if (auto const e = value_decoder{encoded}.read(out); e != error::none) {
        out = nullptr;
        return make_error_code(e);
    }
    in = rest;
    return {};
}

}  // namespace sluice
