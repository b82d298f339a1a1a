// How a member of each C++ type is written as, and read from, one field of a composite.
#pragma once

#include <sluice/codec/messaging.hpp>
#include <sluice/codec/performatives.hpp>
#include <sluice/codec/scalars.hpp>

namespace sluice::detail {

/// The values that an enumeration of the standard has, for the check of what was read.
template <class Enum>
inline constexpr auto choices_of = static_cast<Enum>(0);
template <>
inline constexpr auto choices_of<sender_settle_mode> = sender_settle_mode::mixed;
template <>
inline constexpr auto choices_of<receiver_settle_mode> = receiver_settle_mode::second;
template <>
inline constexpr auto choices_of<sasl_code> = sasl_code::sys_temp;
template <>
inline constexpr auto choices_of<terminus_durability> = terminus_durability::unsettled_state;

/// Marks what is a uint on the wire and any number of them in C++.
struct counts_as_uint {};

/// For a member type M: `bound(v)` octets at most, `write(p, v)`, `read(in, format_code, v)`, and
/// `absent(v, default)`, which says whether an optional field may be left out.
template <class M>
struct field_codec;

template <scalar M>
struct field_codec<M>
    : scalar_codec<M>,
      std::conditional_t<std::is_same_v<M, std::uint32_t>, counts_as_uint, std::monostate> {
    static bool absent(M const& v, M const& by_default) noexcept
    {
        // An empty symbol or binary is not sent where the field is not optional in C++.
        if constexpr (std::is_same_v<M, bytes_view>)
            return v.empty();
        else if constexpr (std::is_same_v<M, symbol>)
            return v.text.empty() || v == by_default;
        else
            return v == by_default;
    }
};

/// A wrapper around an integer: handles, serial numbers.
template <class M>
    requires requires(M m) { M{std::uint32_t{}}; } && (sizeof(M) == 4) && std::is_class_v<M>
struct field_codec<M> : counts_as_uint {
    static std::uint32_t number(M v) noexcept
    {
        if constexpr (std::is_same_v<M, handle>)
            return v.value;
        else
            return v.value();
    }
    static constexpr std::size_t bound(M) noexcept { return 5; }
    static bool absent(M v, M by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, M v) noexcept
    {
        return scalar_codec<std::uint32_t>::write(p, number(v));
    }
    static error read(cursor& in, std::uint8_t c, M& v) noexcept
    {
        std::uint32_t n = 0;
        auto const e = scalar_codec<std::uint32_t>::read(in, c, n);
        v = M{n};
        return e;
    }
};

template <class M>
    requires std::is_enum_v<M>
struct field_codec<M> {
    using base = field_codec<std::underlying_type_t<M>>;
    using number = std::underlying_type_t<M>;
    static constexpr std::size_t bound(M v) noexcept { return base::bound(number(v)); }
    static bool absent(M v, M by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, M v) noexcept { return base::write(p, number(v)); }
    static error read(cursor& in, std::uint8_t c, M& v) noexcept
    {
        number n{};
        if (auto const e = base::read(in, c, n); e != error::none)
            return e;
        if constexpr (!std::is_same_v<number, bool>)
            if (n > static_cast<number>(choices_of<M>))
                return error::invalid_value;
        v = static_cast<M>(n);
        return error::none;
    }
};

template <>
struct field_codec<raw_value> {
    static constexpr std::size_t bound(raw_value v) noexcept { return v.encoded.size(); }
    static bool absent(raw_value v, raw_value) noexcept { return v.empty(); }
    static std::byte* write(std::byte* p, raw_value v) noexcept
    {
        return put(p, v.encoded.data(), v.encoded.size());
    }
    static error read(cursor& in, std::uint8_t c, raw_value& v) noexcept;
    /// The same for a field that must be a map.
    static error read_map(cursor& in, std::uint8_t c, raw_value& v) noexcept;
};

template <>
struct field_codec<symbols> {
    static std::size_t bound(symbols const& v) noexcept;
    static bool absent(symbols const& v, symbols const&) noexcept { return v.size() == 0; }
    static std::byte* write(std::byte* p, symbols const& v) noexcept;
    static error read(cursor& in, std::uint8_t c, symbols& v) noexcept;
};

template <>
struct field_codec<error_view> {
    static std::size_t bound(error_view const& v) noexcept;
    static std::byte* write(std::byte* p, error_view const& v) noexcept;
    static error read(cursor& in, std::uint8_t c, error_view& v) noexcept;
};

template <class M>
struct field_codec<std::optional<M>> {
    static std::size_t bound(std::optional<M> const& v) noexcept
    {
        return v ? field_codec<M>::bound(*v) : 1;
    }
    static bool absent(std::optional<M> const& v, std::optional<M> const&) noexcept { return !v; }
    static std::byte* write(std::byte* p, std::optional<M> const& v) noexcept
    {
        return field_codec<M>::write(p, *v);
    }
    static error read(cursor& in, std::uint8_t c, std::optional<M>& v) noexcept
    {
        M m{};
        auto const e = field_codec<M>::read(in, c, m);
        v = m;
        return e;
    }
};

}  // namespace sluice::detail
