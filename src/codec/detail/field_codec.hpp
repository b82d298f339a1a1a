// How a member of each C++ type is written as, and read from, one field of a composite.
#pragma once

#include <sluice/codec/detail/wire.hpp>
#include <sluice/codec/performatives.hpp>
#include <sluice/codec/messaging.hpp>

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

template <>
struct field_codec<bool> {
    static constexpr std::size_t bound(bool) noexcept { return 1; }
    static bool absent(bool v, bool by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, bool v) noexcept { return write_bool(p, v); }
    static error read(cursor& in, std::uint8_t c, bool& v) noexcept { return read_bool(in, c, v); }
};

template <>
struct field_codec<std::uint8_t> {
    static constexpr std::size_t bound(std::uint8_t) noexcept { return 2; }
    static bool absent(std::uint8_t v, std::uint8_t by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, std::uint8_t v) noexcept
    {
        return put(put(p, code::ubyte), v);
    }
    static error read(cursor& in, std::uint8_t c, std::uint8_t& v) noexcept
    {
        return read_ubyte(in, c, v);
    }
};

template <>
struct field_codec<std::uint16_t> {
    static constexpr std::size_t bound(std::uint16_t) noexcept { return 3; }
    static bool absent(std::uint16_t v, std::uint16_t d) noexcept { return v == d; }
    static std::byte* write(std::byte* p, std::uint16_t v) noexcept
    {
        return store(put(p, code::ushort), v);
    }
    static error read(cursor& in, std::uint8_t c, std::uint16_t& v) noexcept
    {
        return read_ushort(in, c, v);
    }
};

template <>
struct field_codec<std::uint32_t> : counts_as_uint {
    static constexpr std::size_t bound(std::uint32_t) noexcept { return 5; }
    static bool absent(std::uint32_t v, std::uint32_t d) noexcept { return v == d; }
    static std::byte* write(std::byte* p, std::uint32_t v) noexcept { return write_uint(p, v); }
    static error read(cursor& in, std::uint8_t c, std::uint32_t& v) noexcept
    {
        return read_uint(in, c, v);
    }
};

template <>
struct field_codec<std::uint64_t> {
    static constexpr std::size_t bound(std::uint64_t) noexcept { return 9; }
    static bool absent(std::uint64_t v, std::uint64_t d) noexcept { return v == d; }
    static std::byte* write(std::byte* p, std::uint64_t v) noexcept { return write_ulong(p, v); }
    static error read(cursor& in, std::uint8_t c, std::uint64_t& v) noexcept
    {
        return read_ulong(in, c, v);
    }
};

/// A wrapper around an integer: handles, serial numbers.
template <class M>
    requires requires(M m) { M{std::uint32_t{}}; } && (sizeof(M) == 4) && std::is_class_v<M>
struct field_codec<M> : counts_as_uint {
    static std::uint32_t number(M v) noexcept
    {
        if constexpr (std::is_same_v<M, handle>) return v.value;
        else return v.value();
    }
    static constexpr std::size_t bound(M) noexcept { return 5; }
    static bool absent(M v, M by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, M v) noexcept { return write_uint(p, number(v)); }
    static error read(cursor& in, std::uint8_t c, M& v) noexcept
    {
        std::uint32_t n = 0;
        auto const e = read_uint(in, c, n);
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
        if (auto const e = base::read(in, c, n); e != error::none) return e;
        if constexpr (!std::is_same_v<number, bool>)
            if (n > static_cast<number>(choices_of<M>)) return error::invalid_value;
        v = static_cast<M>(n);
        return error::none;
    }
};

template <>
struct field_codec<timestamp> {
    static constexpr std::size_t bound(timestamp) noexcept { return 9; }
    static bool absent(timestamp v, timestamp by_default) noexcept { return v == by_default; }
    static std::byte* write(std::byte* p, timestamp v) noexcept
    {
        return store(put(p, code::timestamp), static_cast<std::uint64_t>(v.milliseconds));
    }
    static error read(cursor& in, std::uint8_t c, timestamp& v) noexcept
    {
        return read_timestamp(in, c, v);
    }
};

template <>
struct field_codec<std::string_view> {
    static constexpr std::size_t bound(std::string_view v) noexcept
    {
        return variable_bound(v.size());
    }
    static bool absent(std::string_view v, std::string_view d) noexcept { return v == d; }
    static std::byte* write(std::byte* p, std::string_view v) noexcept
    {
        return write_variable(p, code::str8, v.data(), v.size());
    }
    static error read(cursor& in, std::uint8_t c, std::string_view& v) noexcept
    {
        return read_string(in, c, v);
    }
};

template <>
struct field_codec<symbol> {
    static constexpr std::size_t bound(symbol v) noexcept { return variable_bound(v.text.size()); }
    static bool absent(symbol v, symbol by_default) noexcept
    {
        return v.text.empty() || v == by_default;
    }
    static std::byte* write(std::byte* p, symbol v) noexcept
    {
        return write_variable(p, code::sym8, v.text.data(), v.text.size());
    }
    static error read(cursor& in, std::uint8_t c, symbol& v) noexcept
    {
        return read_symbol(in, c, v);
    }
};

template <>
struct field_codec<bytes_view> {
    static constexpr std::size_t bound(bytes_view v) noexcept { return variable_bound(v.size()); }
    static bool absent(bytes_view v, bytes_view) noexcept { return v.empty(); }
    static std::byte* write(std::byte* p, bytes_view v) noexcept
    {
        return write_variable(p, code::vbin8, v.data(), v.size());
    }
    static error read(cursor& in, std::uint8_t c, bytes_view& v) noexcept
    {
        return read_variable(in, c, code::vbin8, v);
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
