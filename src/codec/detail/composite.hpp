// Encoding and decoding of any composite type, generated from its list of fields. [1.4]
#pragma once

#include "field_codec.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/fields.hpp>

namespace sluice::detail {

template <class T>
inline constexpr std::size_t field_count =
    std::tuple_size_v<std::remove_cvref_t<decltype(composite_traits<T>::fields)>>;

template <class T>
using field_indices = std::make_index_sequence<field_count<T>>;

template <class T>
inline constexpr T defaults{};

template <class T, std::size_t I>
using codec_of = field_codec<
    typename std::tuple_element_t<I, std::remove_cvref_t<decltype(composite_traits<T>::fields)>>::
        member_type>;

constexpr bool is_map_type(std::string_view type) noexcept
{
    return type == "map" || type == "fields" || type == "filter-set" || type == "node-properties";
}

/// The number of elements that the list must have: the last mandatory field and those before it.
template <class T, std::size_t... I>
constexpr std::uint32_t count_min_of(std::index_sequence<I...>) noexcept
{
    std::uint32_t count = 0;
    ((std::get<I>(composite_traits<T>::fields).mandatory ? void(count = I + 1) : void()), ...);
    return count;
}
template <class T>
inline constexpr std::uint32_t count_min = count_min_of<T>(field_indices<T>{});

// ---- encoding ----------------------------------------------------------------------------------

/// Octets in front of the fields: described, smallulong, descriptor, and list8 with size and count.
inline constexpr std::size_t composite_header_size = 6;
/// The same with list32.
inline constexpr std::size_t composite_header_size_max = 12;

template <class T, std::size_t... I>
std::size_t bound_of(T const& v, std::index_sequence<I...>) noexcept
{
    using traits = composite_traits<T>;
    // A field that is absent takes the octet of its null: the least that any bound counts.
    return (composite_header_size_max + ... +
            (1 + codec_of<T, I>::bound(v.*(std::get<I>(traits::fields).member))));
}

/// Where an encoder stands: trailing nulls are written, but do not count. [1.4]
struct field_writer {
    std::byte* at;
    std::byte* end;  ///< of the last field that was not null
    std::size_t count = 0;
};

template <class T, std::size_t I>
inline void write_field(T const& v, field_writer& out) noexcept
{
    constexpr auto& description = std::get<I>(composite_traits<T>::fields);
    using codec = codec_of<T, I>;
    auto const& member = v.*(description.member);
    if constexpr (!description.mandatory) {
        if (codec::absent(member, defaults<T>.*(description.member))) {
            out.at = put(out.at, code::null);
            return;
        }
    }
    out.at = codec::write(out.at, member);
    out.end = out.at;
    out.count = I + 1;
}

/// Closes a list whose header has not been written yet. @returns its end.
std::byte* finish_list32(std::byte* out, std::byte* end, std::size_t count) noexcept;

template <class T, std::size_t... I>
inline std::byte* encode_composite(T const& v, std::byte* out,
                                   std::index_sequence<I...>) noexcept
{
    constexpr auto descriptor = composite_traits<T>::descriptor;
    static_assert(descriptor < 256, "encoded as smallulong");
    put(put(put(out, code::described), code::smallulong), std::uint8_t{descriptor});

    field_writer fields{out + composite_header_size, out + composite_header_size};
    (write_field<T, I>(v, fields), ...);
    if (fields.count == 0) return put(out + 3, code::list0);
    auto const size = static_cast<std::size_t>(fields.end - out) - 5;  // the count octet included
    if (size > 255) [[unlikely]] return finish_list32(out, fields.end, fields.count);
    out[3] = std::byte{code::list8};
    out[4] = static_cast<std::byte>(size);
    out[5] = static_cast<std::byte>(fields.count);
    return fields.end;
}

// ---- decoding ----------------------------------------------------------------------------------

/// Reads the descriptor of a described value: a ulong in any encoding, or a symbol.
error read_descriptor(cursor& in, std::uint64_t& number, symbol& name) noexcept;

/// Reads descriptor and list header in any of their encodings.
error read_composite_header(cursor& in, std::uint64_t descriptor, std::string_view name,
                            compound& list) noexcept;

template <class T, std::size_t I>
inline error read_field(cursor& in, T& out) noexcept
{
    constexpr auto& description = std::get<I>(composite_traits<T>::fields);
    using codec = codec_of<T, I>;
    if (in.at == in.end) [[unlikely]] return error::truncated;
    auto const format_code = octet(in.at++);
    if (format_code == code::null) {
        // An explicit null stands for no values at all where several are allowed. [1.4]
        return description.mandatory && !description.multiple ? error::missing_mandatory_field
                                                              : error::none;
    }
    if constexpr (is_map_type(description.type))
        return codec::read_map(in, format_code, out.*(description.member));
    else
        return codec::read(in, format_code, out.*(description.member));
}

/// Reads what the list has. `failed` is the number of the field at which reading stopped.
template <class T, std::size_t... I>
inline error read_fields(cursor& in, std::uint32_t count, T& out, std::size_t& failed,
                         std::index_sequence<I...>) noexcept
{
    auto e = error::none;
    (void)((I < count && (failed = I, e = read_field<T, I>(in, out)) == error::none) && ...);
    return e;
}

template <class T, std::size_t... I>
std::string_view field_name(std::size_t index, std::index_sequence<I...>) noexcept
{
    std::string_view name;
    (void)((index == I && (name = std::get<I>(composite_traits<T>::fields).name, true)) || ...);
    return name;
}

/// The first mandatory field at or after `from`.
template <class T, std::size_t... I>
std::size_t next_mandatory(std::size_t from, std::index_sequence<I...>) noexcept
{
    std::size_t found = 0;
    (void)((I >= from && std::get<I>(composite_traits<T>::fields).mandatory &&
            (found = I, true)) || ...);
    return found;
}

inline constexpr std::size_t no_field = ~std::size_t{0};

template <class T>
inline error decode_composite(cursor& in, T& out, std::size_t& failed) noexcept
{
    using traits = composite_traits<T>;
    compound list;
    auto const* const p = in.at;
    // Nearly every composite on the wire starts like this; the rest takes the long way.
    constexpr std::array<std::byte, 4> usual{std::byte{code::described},
                                             std::byte{code::smallulong},
                                             std::byte{traits::descriptor}, std::byte{code::list8}};
    if (in.left() >= composite_header_size && std::memcmp(p, usual.data(), usual.size()) == 0 &&
        octet(p + 4) != 0 && in.left() - 5 >= octet(p + 4)) [[likely]] {
        list = {octet(p + 5), p + 5 + octet(p + 4)};
        in.at = p + composite_header_size;
    } else if (auto const e = read_composite_header(in, traits::descriptor, traits::name, list);
               e != error::none) {
        return e;
    }

    if (list.count > field_count<T>) [[unlikely]] return error::too_many_fields;
    if (list.count < count_min<T>) [[unlikely]] {
        failed = next_mandatory<T>(list.count, field_indices<T>{});
        return error::missing_mandatory_field;
    }
    out = T{};
    cursor fields{in.at, list.end};
    auto const e = read_fields<T>(fields, list.count, out, failed, field_indices<T>{});
    in.at = fields.at;
    if (e != error::none) [[unlikely]]
        return e == error::truncated ? error::size_mismatch : e;  // beyond its list, not the input
    failed = no_field;
    return fields.at == list.end ? error::none : error::size_mismatch;
}

/// For the public functions: moves `in`, fills `fault`.
template <class T>
inline std::error_code decode_public(bytes_view& in, T& out, decode_fault* fault) noexcept
{
    cursor at{in.data(), in.data() + in.size()};
    std::size_t failed = no_field;
    auto const e = decode_composite(at, out, failed);
    auto const offset = static_cast<std::size_t>(at.at - in.data());
    if (e == error::none) [[likely]] {
        in = in.subspan(offset);
        return {};
    }
    if (fault) {
        *fault = {make_error_code(e), composite_traits<T>::short_name,
                  field_name<T>(failed, field_indices<T>{}), offset};
    }
    return make_error_code(e);
}

#define SLUICE_DEFINE_COMPOSITE(T)                                                            \
    std::error_code decode(bytes_view& in, T& out, decode_fault* fault) noexcept              \
    {                                                                                         \
        return detail::decode_public(in, out, fault);                                         \
    }                                                                                         \
    std::size_t encoded_size_bound(T const& value) noexcept                                   \
    {                                                                                         \
        return detail::bound_of(value, detail::field_indices<T>{});                           \
    }                                                                                         \
    std::byte* encode(T const& value, std::byte* out) noexcept                                \
    {                                                                                         \
        return detail::encode_composite(value, out, detail::field_indices<T>{});              \
    }

}  // namespace sluice::detail
