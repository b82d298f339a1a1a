// The dynamic value: encoding.
#include "detail/value_access.hpp"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

using namespace detail;

constexpr std::size_t long_header = 9;   // format code, size and count of 4 octets each
constexpr std::size_t short_header = 3;  // the same with 1 octet each

std::byte* write_value(std::byte* p, value const& v) noexcept;

/// Shortens or completes the header in front of what lies between `at + long_header` and `end`.
std::byte* finish_compound(std::byte* at, std::byte* end, std::uint8_t code8,
                           std::size_t count) noexcept
{
    auto* const content = at + long_header;
    auto const size = static_cast<std::size_t>(end - content);
    if (size + 1 <= 255 && count <= 255) {
        std::memmove(at + short_header, content, size);
        put(put(put(at, code8), static_cast<std::uint8_t>(size + 1)),
            static_cast<std::uint8_t>(count));
        return at + short_header + size;
    }
    auto* const p = put(at, static_cast<std::uint8_t>(code8 + 0x10));
    store(store(p, static_cast<std::uint32_t>(size + 4)), static_cast<std::uint32_t>(count));
    return end;
}

std::byte* write_list(std::byte* at, value_list const& items) noexcept
{
    if (items.empty())
        return put(at, code::list0);
    auto* p = at + long_header;
    for (auto const& item : items) p = write_value(p, item);
    return finish_compound(at, p, code::list8, items.size());
}

std::byte* write_map(std::byte* at, value_map const& entries) noexcept
{
    auto* p = at + long_header;
    for (auto const& [key, content] : entries) p = write_value(write_value(p, key), content);
    return finish_compound(at, p, code::map8, entries.size() * 2);
}

// ---- arrays ------------------------------------------------------------------------------------

/// The item if it is a T, else a T of nothing: an array has items of its own type only.
template <class T>
T const& item_as(value const& item) noexcept
{
    static T const nothing{};
    auto const* const v = item.get_if<T>();
    return v ? *v : nothing;
}

template <class T>
std::byte* write_fixed(std::byte* p, std::uint8_t format_code, value_array const& a) noexcept
{
    p = put(p, format_code);
    for (auto const& item : a.items) {
        // Every encoding of a scalar of full width is its format code and its octets.
        std::byte one[17];
        auto const size =
            static_cast<std::size_t>(scalar_codec<T>::write(one, item_as<T>(item)) - one);
        p = put(p, one + 1, size - 1);
    }
    return p;
}

/// Integers of one octet if all of them fit into it, else of full width. Never of none: peers have
/// good reasons to limit the number of elements without octets.
template <class T>
std::byte* write_integers(std::byte* p, std::uint8_t small, std::uint8_t full,
                          value_array const& a) noexcept
{
    using octet_type = std::conditional_t<std::is_signed_v<T>, std::int8_t, std::uint8_t>;
    bool all_small = true;
    for (auto const& item : a.items) all_small &= std::in_range<octet_type>(item_as<T>(item));
    p = put(p, all_small ? small : full);
    for (auto const& item : a.items) {
        auto const v = static_cast<std::make_unsigned_t<T>>(item_as<T>(item));
        p = all_small ? put(p, static_cast<std::uint8_t>(v)) : store(p, v);
    }
    return p;
}

bytes_view octets_of(bytes const& v) noexcept { return v; }
bytes_view octets_of(std::string const& v) noexcept { return std::as_bytes(std::span{v}); }
bytes_view octets_of(symbol_string const& v) noexcept { return std::as_bytes(std::span{v.text}); }

template <class T>
std::byte* write_variables(std::byte* p, std::uint8_t code8, value_array const& a) noexcept
{
    std::size_t longest = 0;
    for (auto const& item : a.items)
        longest = std::max(longest, octets_of(item_as<T>(item)).size());
    bool const wide = longest > 255;
    p = put(p, static_cast<std::uint8_t>(wide ? code8 + 0x10 : code8));
    for (auto const& item : a.items) {
        auto const octets = octets_of(item_as<T>(item));
        p = wide ? store(p, static_cast<std::uint32_t>(octets.size()))
                 : put(p, static_cast<std::uint8_t>(octets.size()));
        p = put(p, octets.data(), octets.size());
    }
    return p;
}

std::byte* write_array(std::byte* at, value_array const& a) noexcept;

/// Compounds in an array have no format codes of their own. They are written in their long form;
/// if all fit into the short one, they are written over in that.
template <class T, class Write>
std::byte* write_compounds(std::byte* const at, std::uint8_t code8, value_array const& a,
                           Write write) noexcept
{
    bool all_short = true;
    auto* p = at + 1;
    for (auto const& item : a.items) {
        auto* const end = write(p, item_as<T>(item));
        auto const format_code = octet(p);
        auto const header = format_code == code::list0 ? 1
                            : format_code == code8     ? short_header
                                                       : long_header;
        auto const count = header == 1              ? 0
                           : header == short_header ? octet(p + 2)
                                                    : load<std::uint32_t>(p + 5);
        auto const size = static_cast<std::size_t>(end - p) - header;
        all_short &= header != long_header;
        std::memmove(p + 8, p + header, size);
        store(store(p, static_cast<std::uint32_t>(size + 4)), static_cast<std::uint32_t>(count));
        p += 8 + size;
    }
    put(at, static_cast<std::uint8_t>(all_short ? code8 : code8 + 0x10));
    if (!all_short)
        return p;

    auto const* from = at + 1;
    auto* to = at + 1;
    for (std::size_t i = 0; i != a.items.size(); ++i) {
        std::size_t const size = load<std::uint32_t>(from) - 4;
        auto const count = load<std::uint32_t>(from + 4);
        to = put(put(to, static_cast<std::uint8_t>(size + 1)), static_cast<std::uint8_t>(count));
        std::memmove(to, from + 8, size);
        to += size;
        from += 8 + size;
    }
    return to;
}

std::byte* write_items(std::byte* p, value_array const& a) noexcept
{
    switch (a.element) {
    case value_type::null: return put(p, code::null);
    case value_type::boolean:
        p = put(p, code::boolean);
        for (auto const& item : a.items) p = put(p, static_cast<std::uint8_t>(item_as<bool>(item)));
        return p;
    case value_type::ubyte: return write_fixed<std::uint8_t>(p, code::ubyte, a);
    case value_type::ushort: return write_fixed<std::uint16_t>(p, code::ushort, a);
    case value_type::uint: return write_integers<std::uint32_t>(p, code::smalluint, code::uint, a);
    case value_type::ulong:
        return write_integers<std::uint64_t>(p, code::smallulong, code::ulong, a);
    case value_type::byte: return write_fixed<std::int8_t>(p, code::byte, a);
    case value_type::short_: return write_fixed<std::int16_t>(p, code::short_, a);
    case value_type::int_: return write_integers<std::int32_t>(p, code::smallint, code::int_, a);
    case value_type::long_: return write_integers<std::int64_t>(p, code::smalllong, code::long_, a);
    case value_type::float_: return write_fixed<float>(p, code::float_, a);
    case value_type::double_: return write_fixed<double>(p, code::double_, a);
    case value_type::decimal32: return write_fixed<decimal32>(p, code::decimal32, a);
    case value_type::decimal64: return write_fixed<decimal64>(p, code::decimal64, a);
    case value_type::decimal128: return write_fixed<decimal128>(p, code::decimal128, a);
    case value_type::char_: return write_fixed<char32_t>(p, code::char_, a);
    case value_type::timestamp: return write_fixed<timestamp>(p, code::timestamp, a);
    case value_type::uuid: return write_fixed<uuid>(p, code::uuid, a);
    case value_type::binary: return write_variables<bytes>(p, code::vbin8, a);
    case value_type::string: return write_variables<std::string>(p, code::str8, a);
    case value_type::symbol: return write_variables<symbol_string>(p, code::sym8, a);
    case value_type::list: return write_compounds<value_list>(p, code::list8, a, write_list);
    case value_type::map: return write_compounds<value_map>(p, code::map8, a, write_map);
    case value_type::array: return write_compounds<value_array>(p, code::array8, a, write_array);
    case value_type::described: break;
    }
    return put(p, code::null);  // a described element is told by `descriptors`
}

std::byte* write_array(std::byte* at, value_array const& a) noexcept
{
    auto* p = at + long_header;
    for (auto const& descriptor : a.descriptors)
        p = write_value(put(p, code::described), descriptor);
    p = write_items(p, a);
    return finish_compound(at, p, code::array8, a.items.size());
}

// ---- everything --------------------------------------------------------------------------------

template <class T>
std::byte* write_held(std::byte* p, T const& v) noexcept
{
    if constexpr (std::is_same_v<T, std::monostate>)
        return put(p, code::null);
    else if constexpr (std::is_same_v<T, symbol_string>)
        return encode(symbol{v}, p);
    else if constexpr (std::is_same_v<T, value_list>)
        return write_list(p, v);
    else if constexpr (std::is_same_v<T, value_map>)
        return write_map(p, v);
    else if constexpr (std::is_same_v<T, box<value_array>>)
        return write_array(p, *v);
    else if constexpr (std::is_same_v<T, box<described_value>>)
        return write_value(write_value(put(p, code::described), (*v).descriptor), (*v).content);
    else
        return encode(v, p);
}

std::byte* write_value(std::byte* p, value const& v) noexcept
{
    return std::visit([p](auto const& held) { return write_held(p, held); }, value_access::held(v));
}

std::size_t bound_of_all(std::vector<value> const& values) noexcept
{
    std::size_t bound = 0;
    for (auto const& v : values) bound += 1 + encoded_size_bound(v);
    return bound;
}

}  // namespace

std::size_t encoded_size_bound(value const& v) noexcept
{
    return std::visit(
        []<class T>(T const& held) -> std::size_t {
            if constexpr (std::is_same_v<T, std::monostate>) {
                return 1;
            } else if constexpr (std::is_same_v<T, symbol_string>) {
                return held.text.size() + 5;
            } else if constexpr (std::is_same_v<T, box<value_array>>) {
                // An item of a wrong type is written as a zero: 17 octets at most.
                return long_header + 1 + bound_of_all((*held).descriptors)
                       + bound_of_all((*held).items) + 17 * (*held).items.size();
            } else if constexpr (std::is_same_v<T, box<described_value>>) {
                return 1 + encoded_size_bound((*held).descriptor)
                       + encoded_size_bound((*held).content);
            } else {
                return sluice::encoded_size_bound(held);
            }
        },
        value_access::held(v));
}

std::byte* encode(value const& v, std::byte* out) noexcept { return write_value(out, v); }

std::size_t encoded_size_bound(value_list const& v) noexcept
{
    return long_header + bound_of_all(v);
}

std::byte* encode(value_list const& v, std::byte* out) noexcept { return write_list(out, v); }

std::size_t encoded_size_bound(value_map const& v) noexcept
{
    std::size_t bound = long_header;
    for (auto const& [key, content] : v)
        bound += encoded_size_bound(key) + encoded_size_bound(content);
    return bound;
}

std::byte* encode(value_map const& v, std::byte* out) noexcept { return write_map(out, v); }

std::byte* encode_annotations(value_map const& v, std::byte* out) noexcept
{
    auto* p = out + long_header;
    for (auto const& [key, content] : v) {
        auto const* const text = key.get_if<std::string>();
        // What no symbol can hold stays the string that it is.
        auto const fits =
            text && is_ascii(reinterpret_cast<std::byte const*>(text->data()), text->size());
        p = fits ? encode(symbol{std::string_view{*text}}, p) : write_value(p, key);
        p = write_value(p, content);
    }
    return finish_compound(out, p, code::map8, v.size() * 2);
}

}  // namespace sluice
