// The primitive AMQP types as C++ sees them, and views of encoded values. [1.6]
#pragma once

#include <sluice/export.hpp>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice {

using bytes_view = std::span<std::byte const>;
using bytes = std::vector<std::byte>;

/// Equality of content; spans have none of their own.
SLUICE_EXPORT bool same_bytes(bytes_view a, bytes_view b) noexcept;

/// An ASCII name from a constrained domain; refers to memory of somebody else. [1.6.21]
struct symbol {
    std::string_view text;
    constexpr symbol() noexcept = default;
    constexpr symbol(std::string_view t) noexcept : text{t} {}  // NOLINT: implicit, reads better
    constexpr symbol(char const* t) noexcept : text{t} {}       // NOLINT: implicit
    friend constexpr auto operator<=>(symbol, symbol) noexcept = default;
};

/// Milliseconds since 1970-01-01 UTC. [1.6.17]
struct timestamp {
    std::int64_t milliseconds = 0;
    friend constexpr auto operator<=>(timestamp, timestamp) noexcept = default;
};

/// RFC 4122 in network byte order. [1.6.18]
struct uuid {
    std::array<std::byte, 16> octets{};
    friend constexpr auto operator<=>(uuid const&, uuid const&) noexcept = default;
};

/// IEEE 754 decimals, carried as the bytes on the wire and never computed with. [1.6.13-15]
template <std::size_t Octets>
struct decimal {
    std::array<std::byte, Octets> octets{};
    friend constexpr auto operator<=>(decimal const&, decimal const&) noexcept = default;
};
using decimal32 = decimal<4>;
using decimal64 = decimal<8>;
using decimal128 = decimal<16>;

/// One encoded value, constructor included, that lies in memory of somebody else. Empty = absent.
///
/// Decoding yields these for fields of any type (`*`), maps and delivery states, checked for
/// well-formedness but not interpreted, so that nothing is allocated. To send one, encode into a
/// buffer of yours and refer to it.
struct raw_value {
    bytes_view encoded;
    constexpr bool empty() const noexcept { return encoded.empty(); }
    constexpr explicit operator bool() const noexcept { return !empty(); }
};

/// A `multiple="true"` field of symbols: what came from the wire, or an array of yours. [1.4]
///
/// On the wire null, one bare symbol and an array are all legal; the functions treat them alike.
struct SLUICE_EXPORT symbols {
    std::span<symbol const> items;  ///< To send; ignored when `encoded` is not empty.
    raw_value encoded;              ///< As received.

    constexpr symbols() noexcept = default;
    constexpr symbols(std::span<symbol const> s) noexcept : items{s} {}  // NOLINT: implicit
    constexpr explicit symbols(raw_value r) noexcept : encoded{r} {}

    std::size_t size() const noexcept;
    bool contains(symbol s) const noexcept;
    /// The i-th, or an empty symbol past the end.
    symbol at(std::size_t i) const noexcept;
};

}  // namespace sluice
