// From a captured packet to the TCP segment in it.
#pragma once

#include <sluice/codec/types.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace sluice::tools {

/// One end of a TCP connection.
struct tcp_end {
    std::array<std::uint8_t, 16> octets{};  ///< an IPv4 address has the first four
    bool is_v6 = false;
    std::uint16_t port = 0;

    friend auto operator<=>(tcp_end const&, tcp_end const&) = default;
    std::string text() const;  ///< "127.0.0.1:5672" or "[::1]:5672"
};

struct tcp_segment {
    tcp_end from{};
    tcp_end to{};
    std::uint32_t sequence = 0;
    std::uint32_t acknowledged = 0;
    bool syn = false;
    bool ack = false;
    bool fin = false;
    bool rst = false;
    bytes_view payload{};      ///< what the capture has of it
    std::uint32_t length = 0;  ///< of the payload on the wire
};

enum class packet_kind : std::uint8_t {
    tcp,
    other,     ///< another protocol
    fragment,  ///< a part of an IP packet; they are not put together
    cut,       ///< too little of it was captured to know
};

/// Whether packets of this link type (a DLT_ value of libpcap) can be read.
bool is_readable_link(int link_type) noexcept;

/// Looks into one packet, of which `wire_length` octets were on the wire.
/// @pre is_readable_link(link_type). @returns `tcp` if `out` was filled; its payload refers to
/// `packet`.
packet_kind read_packet(int link_type, bytes_view packet, std::uint32_t wire_length,
                        tcp_segment& out);

}  // namespace sluice::tools
