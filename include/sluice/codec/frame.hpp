// Frame and protocol headers: the eight octets in front of everything. [2.2, 2.3.1]
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/error.hpp>
#include <sluice/export.hpp>

namespace sluice {

inline constexpr std::size_t frame_header_size = 8;
inline constexpr std::uint32_t frame_size_min_max = 512;  ///< which every peer takes [2.7.1]

enum class frame_type : std::uint8_t { amqp = 0, sasl = 1 };
enum class protocol_id : std::uint8_t { amqp = 0, tls = 2, sasl = 3 };

struct frame_header {
    std::uint32_t size = 0;        ///< octets, this header included
    std::uint8_t data_offset = 2;  ///< 4-octet words up to the body
    std::uint8_t type = 0;
    std::uint16_t channel = 0;
};

/// @pre `in` has 8 octets.
inline frame_header read_frame_header(std::byte const* in) noexcept
{
    auto const at = [in](std::size_t i) { return std::to_integer<std::uint32_t>(in[i]); };
    return {.size = at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3),
            .data_offset = static_cast<std::uint8_t>(at(4)),
            .type = static_cast<std::uint8_t>(at(5)),
            .channel = static_cast<std::uint16_t>(at(6) << 8 | at(7))};
}

/// Writes 8 octets with a data offset of 2.
inline void write_frame_header(std::byte* out, std::uint32_t size, frame_type type,
                               std::uint16_t channel) noexcept
{
    out[0] = static_cast<std::byte>(size >> 24);
    out[1] = static_cast<std::byte>(size >> 16);
    out[2] = static_cast<std::byte>(size >> 8);
    out[3] = static_cast<std::byte>(size);
    out[4] = std::byte{2};
    out[5] = static_cast<std::byte>(type);
    out[6] = static_cast<std::byte>(channel >> 8);
    out[7] = static_cast<std::byte>(channel);
}

/// "AMQP", the protocol id, 1, 0, 0. [2.2]
SLUICE_EXPORT std::array<std::byte, 8> protocol_header(protocol_id id) noexcept;

}  // namespace sluice
