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
inline bool is_absent(T const& v) noexcept
{
    constexpr auto& description = std::get<I>(composite_traits<T>::fields);
    return !description.mandatory && codec_of<T, I>::absent(v.*(description.member),
                                                            defaults<T>.*(description.member));
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
    ([&] { if constexpr (I >= From && I < To) write_field<T, I>(v, out); }(), ...);
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
    if (fields.count == 0) return put(out + 3, code::list0);
    auto const size = static_cast<std::size_t>(fields.end - out) - 5;  // the count octet included
    if (size > 255) [[unlikely]] return finish_list32(out, fields.end, fields.count);
    out[3] = std::byte{code::list8};
    out[4] = static_cast<std::byte>(size);
    out[5] = static_cast<std::byte>(fields.count);
    return fields.end;
}

// ---- decoding: strictly ------------------------------------------------------------------------
//
// Decides about everything, and says what was wrong where. Runs only when the quick way gives up.

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
    (void)((I >= from && std::get<I>(composite_traits<T>::fields).mandatory &&
            (found = I, true)) || ...);
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
    if (list.count > field_count<T>) return {error::too_many_fields, stop::no_field, in.at};
    if (list.count < count_min<T>)
        return {error::missing_mandatory_field,
                next_mandatory<T>(list.count, field_indices<T>{}), list.end};
    out = T{};
    cursor fields{in.at, list.end};
    stop why;
    read_fields<T>(fields, list.count, out, why, field_indices<T>{});
    if (why.code == error::truncated) why.code = error::size_mismatch;  // of its list only
    if (why.code != error::none) return why;
    if (fields.at != list.end) return {error::size_mismatch, stop::no_field, fields.at};
    in.at = list.end;
    return {};
}

// ---- decoding: quickly -------------------------------------------------------------------------
//
// Takes the encodings that nearly everybody writes, and gives up at anything else. It keeps where
// it stands in a local variable, and hands only copies of it to functions that are not inlined, so
// that it lives in a register.

/// Reads what follows a format code that is not null; false gives up.
template <class M>
struct quick {
    static bool read(std::byte const*& p, std::byte const* end, std::uint8_t c, M& v) noexcept
    {
        cursor in{p, end};
        auto const e = field_codec<M>::read(in, c, v);
        p = in.at;
        return e == error::none;
    }
};

template <class M>
    requires(std::is_base_of_v<counts_as_uint, field_codec<M>>)
struct quick<M> {
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, M& v) noexcept
    {
        if (c == code::smalluint) {
            if (p == end) return false;
            v = M{octet(p++)};
        } else if (c == code::uint) {
            if (end - p < 4) return false;
            v = M{load<std::uint32_t>(p)};
            p += 4;
        } else {
            v = M{0};
            return c == code::uint0;
        }
        return true;
    }
};

template <class M>
    requires std::is_same_v<M, bool> || std::is_same_v<M, role>
struct quick<M> {
    [[gnu::always_inline]] static bool read(std::byte const*&, std::byte const*, std::uint8_t c,
                                            M& v) noexcept
    {
        v = M{c == code::true_};
        return c == code::true_ || c == code::false_;
    }
};

template <>
struct quick<receiver_settle_mode> {
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, receiver_settle_mode& v) noexcept
    {
        if (c != code::ubyte || p == end || octet(p) > 1) return false;
        v = static_cast<receiver_settle_mode>(octet(p++));
        return true;
    }
};

template <>
struct quick<bytes_view> {
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, bytes_view& v) noexcept
    {
        if (c != code::vbin8 || p == end) return false;
        std::size_t const size = octet(p++);
        if (static_cast<std::size_t>(end - p) < size) return false;
        v = {p, size};
        p += size;
        return true;
    }
};

template <>
struct quick<raw_value> {
    /// Addresses, message-ids, and states without fields, such as accepted.
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, raw_value& v) noexcept
    {
        std::size_t size = 3;  // after the format code
        if (c == code::str8 || c == code::vbin8) {
            if (p == end) return false;
            size = std::size_t{octet(p)} + 1;
        } else if (c == code::smallulong) {
            size = 1;
        } else if (c != code::described || end - p < 3 || octet(p) != code::smallulong ||
                   octet(p + 2) != code::list0) {
            return false;
        }
        if (static_cast<std::size_t>(end - p) < size) return false;
        v.encoded = {p - 1, size + 1};
        p += size;
        return true;
    }
};

template <class M>
struct quick<std::optional<M>> {
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, std::optional<M>& v) noexcept
    {
        M m{};
        if (!quick<M>::read(p, end, c, m)) return false;
        v = m;
        return true;
    }
};

/// Reads field I and those after it up to the list's end. @returns how many there were, or
/// `stop::no_field` to give up.
template <class T, std::size_t I>
[[gnu::always_inline]] inline std::size_t quick_fields(std::byte const* p, std::byte const* end,
                                                       T& out) noexcept
{
    if constexpr (I == field_count<T>) {
        return p == end ? I : stop::no_field;
    } else {
        constexpr auto& description = std::get<I>(composite_traits<T>::fields);
        constexpr bool is_map = is_map_type(description.type);
        using member = typename std::remove_cvref_t<decltype(description)>::member_type;
        if (p == end) return I >= count_min<T> ? I : stop::no_field;
        auto const c = octet(p++);
        if (is_map || !quick<member>::read(p, end, c, out.*(description.member)))
            if (description.mandatory || c != code::null) return stop::no_field;
        return quick_fields<T, I + 1>(p, end, out);
    }
}

template <class T>
[[gnu::always_inline]] inline bool decode_quickly(cursor& in, T& out) noexcept
{
    constexpr std::array<std::byte, 4> usual{
        std::byte{code::described}, std::byte{code::smallulong},
        std::byte{composite_traits<T>::descriptor}, std::byte{code::list8}};
    auto const* const p = in.at;
    if (in.left() < composite_header_size || std::memcmp(p, usual.data(), usual.size()) != 0)
        return false;
    std::size_t const size = octet(p + 4);
    if (size - 1 >= in.left() - 5) return false;  // 0, which wraps, or too large
    out = T{};
    auto const* const end = p + 5 + size;
    // Where the list ends tells how many fields there were: its count is compared only once.
    if (quick_fields<T, 0>(p + composite_header_size, end, out) != octet(in.at + 5)) return false;
    in.at = end;
    return true;
}

template <class T>
inline error decode_composite(cursor& in, T& out) noexcept
{
    return decode_quickly(in, out) ? error::none : decode_strictly(in, out).code;
}

template <class T>
[[gnu::noinline, gnu::cold]] std::error_code decode_with_fault(bytes_view& in, T& out,
                                                               decode_fault* fault) noexcept
{
    cursor at{in.data(), in.data() + in.size()};
    auto const why = decode_strictly(at, out);
    if (why.code == error::none) {
        in = {at.at, at.left()};
        return {};
    }
    if (fault) {
        *fault = {make_error_code(why.code), composite_traits<T>::short_name,
                  field_name<T>(why.field, field_indices<T>{}),
                  static_cast<std::size_t>(why.at - in.data())};
    }
    return make_error_code(why.code);
}

/// A code without error. Making one calls into libstdc++ for its category, copying one does not; and
/// as the last call of its caller it costs that no stack frame.
std::error_code success() noexcept;

/// For the public functions: moves `in`, fills `fault`.
template <class T>
[[gnu::always_inline]] inline std::error_code decode_public(bytes_view& in, T& out, decode_fault* fault) noexcept
{
    cursor at{in.data(), in.data() + in.size()};
    if (!decode_quickly(at, out)) [[unlikely]] return decode_with_fault(in, out, fault);
    in = in.subspan(static_cast<std::size_t>(at.at - in.data()));
    return success();
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
