// Decoding of any composite type, in every encoding, with exact errors. [1.4]
//
// Decides about everything, and says what was wrong where. Runs only when the quick way gives up.
#pragma once

#include "field_list.hpp"

namespace sluice::detail {

/// Reads the descriptor of a described value: a ulong in any encoding, or a symbol.
error read_descriptor(cursor& in, std::uint64_t& number, symbol& name) noexcept;

/// Reads descriptor and list header in any of their encodings.
error read_composite_header(cursor& in, std::uint64_t descriptor, std::string_view name,
                            compound& list) noexcept;

/// Where decoding stopped.
struct stop {
    static constexpr std::size_t no_field = ~std::size_t{0};

    error code = error::none;
    std::size_t field = no_field;
    std::byte const* at = nullptr;
};

template <class T, std::size_t I>
bool read_field(cursor& in, T& out, stop& why) noexcept
{
    constexpr auto& description = std::get<I>(composite_traits<T>::fields);
    using codec = codec_of<T, I>;
    why.field = I;
    why.at = in.at;
    if (in.at == in.end) {
        why.code = error::truncated;
        return false;
    }
    auto const format_code = octet(in.at++);
    if (format_code == code::null) {
        // An explicit null stands for no values at all where several are allowed. [1.4]
        if (description.mandatory && !description.multiple)
            why.code = error::missing_mandatory_field;
    } else if constexpr (is_map_type(description.type)) {
        why.code = codec::read_map(in, format_code, out.*(description.member));
    } else {
        why.code = codec::read(in, format_code, out.*(description.member));
        if constexpr (is_tag<T, I>)
            if (why.code == error::none && (out.*(description.member))->size() > tag_size_max)
                why.code = error::invalid_value;
    }
    return why.code == error::none;
}

template <class T, std::size_t... I>
void read_fields(cursor& in, std::uint32_t count, T& out, stop& why,
                 std::index_sequence<I...>) noexcept
{
    (void)((I < count && read_field<T, I>(in, out, why)) && ...);
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
    (void)((I >= from && std::get<I>(composite_traits<T>::fields).mandatory && (found = I, true))
           || ...);
    return found;
}

template <class T>
[[gnu::noinline, gnu::cold]] stop decode_strictly(cursor& in, T& out) noexcept
{
    using traits = composite_traits<T>;
    compound list;
    auto const* const start = in.at;
    if (auto const e = read_composite_header(in, traits::descriptor, traits::name, list);
        e != error::none)
        return {e, stop::no_field, start};
    if (list.count > field_count<T>)
        return {error::too_many_fields, stop::no_field, in.at};
    if (list.count < count_min<T>)
        return {error::missing_mandatory_field, next_mandatory<T>(list.count, field_indices<T>{}),
                list.end};
    out = T{};
    cursor fields{in.at, list.end};
    stop why;
    read_fields<T>(fields, list.count, out, why, field_indices<T>{});
    if (why.code == error::truncated)
        why.code = error::size_mismatch;  // of its list only
    if (why.code != error::none)
        return why;
    if (fields.at != list.end)
        return {error::size_mismatch, stop::no_field, fields.at};
    in.at = list.end;
    return {};
}

}  // namespace sluice::detail
