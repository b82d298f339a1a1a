// Encoding of any composite type, generated from its list of fields. [1.4]
#pragma once

#include "field_list.hpp"

namespace sluice::detail {

/// Octets in front of the fields: described, smallulong, descriptor, and list8 with size and count.
inline constexpr std::size_t composite_header_size = 6;
/// The same with list32.
inline constexpr std::size_t composite_header_size_max = 12;

template <class T, std::size_t... I>
std::size_t bound_of(T const& v, std::index_sequence<I...>) noexcept
{
    using traits = composite_traits<T>;
    // A field that is absent takes the octet of its null: the least that any bound counts.
    return (composite_header_size_max + ...
            + (1 + codec_of<T, I>::bound(v.*(std::get<I>(traits::fields).member))));
}

/// Where an encoder stands: trailing nulls are written, but do not count. [1.4]
struct field_writer {
    std::byte* at;
    std::byte* end;  ///< of the last field that was not null
    std::size_t count = 0;
};

template <class T, std::size_t I>
inline bool is_absent(T const& v) noexcept
{
    constexpr auto& description = std::get<I>(composite_traits<T>::fields);
    return !description.mandatory
           && codec_of<T, I>::absent(v.*(description.member), defaults<T>.*(description.member));
}

template <class T, std::size_t I>
inline void write_field(T const& v, field_writer& out) noexcept
{
    if (is_absent<T, I>(v)) {
        out.at = put(out.at, code::null);
        return;
    }
    out.at = codec_of<T, I>::write(out.at, v.*(std::get<I>(composite_traits<T>::fields).member));
    out.end = out.at;
    out.count = I + 1;
}

/// Closes a list whose header has not been written yet. @returns its end.
std::byte* finish_list32(std::byte* out, std::byte* end, std::size_t count) noexcept;

/// The number of fields that are usually set, for the types that are written all the time.
template <class T>
inline constexpr std::size_t usual_fields = field_count<T>;
template <>
inline constexpr std::size_t usual_fields<transfer> = 5;  // up to settled
template <>
inline constexpr std::size_t usual_fields<disposition> = 5;  // up to state
template <>
inline constexpr std::size_t usual_fields<flow> = 7;  // up to link-credit

/// Writes those of the fields I... that are at `From` or later, and before `To`.
template <std::size_t From, std::size_t To, class T, std::size_t... I>
inline void write_fields(T const& v, field_writer& out, std::index_sequence<I...>) noexcept
{
    (
        [&] {
            if constexpr (I >= From && I < To)
                write_field<T, I>(v, out);
        }(),
        ...);
}

template <std::size_t From, class T, std::size_t... I>
inline bool all_absent_from(T const& v, std::index_sequence<I...>) noexcept
{
    return ((I < From || is_absent<T, I>(v)) && ...);
}

template <class T, std::size_t... I>
[[gnu::always_inline]] inline std::byte* encode_composite(T const& v, std::byte* out,
                                                          std::index_sequence<I...> all) noexcept
{
    constexpr auto descriptor = composite_traits<T>::descriptor;
    static_assert(descriptor < 256, "encoded as smallulong");
    put(put(put(out, code::described), code::smallulong), std::uint8_t{descriptor});

    field_writer fields{out + composite_header_size, out + composite_header_size};
    write_fields<0, usual_fields<T>>(v, fields, all);
    if (!all_absent_from<usual_fields<T>>(v, all))
        write_fields<usual_fields<T>, field_count<T>>(v, fields, all);
    if (fields.count == 0)
        return put(out + 3, code::list0);
    auto const size = static_cast<std::size_t>(fields.end - out) - 5;  // the count octet included
    if (size > 255) [[unlikely]]
        return finish_list32(out, fields.end, fields.count);
    out[3] = std::byte{code::list8};
    out[4] = static_cast<std::byte>(size);
    out[5] = static_cast<std::byte>(fields.count);
    return fields.end;
}

}  // namespace sluice::detail
