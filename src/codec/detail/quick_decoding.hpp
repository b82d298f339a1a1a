// Decoding of the encodings that nearly everybody writes; gives up at anything else.
//
// It keeps where it stands in a local variable, and hands only copies of it to functions that are
// not inlined, so that it lives in a register.
#pragma once

#include "field_list.hpp"
#include "strict_decoding.hpp"

namespace sluice::detail {

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
            if (p == end)
                return false;
            v = M{octet(p++)};
        } else if (c == code::uint) {
            if (end - p < 4)
                return false;
            v = M{load<std::uint32_t>(p)};
            p += 4;
        } else {
            if (c != code::uint0)
                return false;  // null leaves the default
            v = M{0};
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
        if (c != code::ubyte || p == end || octet(p) > 1)
            return false;
        v = static_cast<receiver_settle_mode>(octet(p++));
        return true;
    }
};

template <>
struct quick<bytes_view> {
    [[gnu::always_inline]] static bool read(std::byte const*& p, std::byte const* end,
                                            std::uint8_t c, bytes_view& v) noexcept
    {
        if (c != code::vbin8 || p == end)
            return false;
        std::size_t const size = octet(p++);
        if (static_cast<std::size_t>(end - p) < size)
            return false;
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
            if (p == end)
                return false;
            size = std::size_t{octet(p)} + 1;
        } else if (c == code::smallulong) {
            size = 1;
        } else if (c != code::described || end - p < 3 || octet(p) != code::smallulong
                   || octet(p + 2) != code::list0) {
            return false;
        }
        if (static_cast<std::size_t>(end - p) < size)
            return false;
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
        if (!quick<M>::read(p, end, c, m))
            return false;
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
        if (p == end)
            return I >= count_min<T> ? I : stop::no_field;
        auto const c = octet(p++);
        if (is_map || !quick<member>::read(p, end, c, out.*(description.member)))
            if (description.mandatory || c != code::null)
                return stop::no_field;
        if constexpr (is_tag<T, I>)
            if (out.*(description.member) && (out.*(description.member))->size() > tag_size_max)
                return stop::no_field;
        return quick_fields<T, I + 1>(p, end, out);
    }
}

/// @pre `out` is as T{} is
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
    if (size - 1 >= in.left() - 5)
        return false;  // 0, which wraps, or too large
    auto const* const end = p + 5 + size;
    // Where the list ends tells how many fields there were: its count is compared only once.
    if (quick_fields<T, 0>(p + composite_header_size, end, out) != octet(in.at + 5))
        return false;
    in.at = end;
    return true;
}

}  // namespace sluice::detail
