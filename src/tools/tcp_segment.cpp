// Ethernet (VLANs too), loopback, Linux "cooked" and raw IP; IPv4 and IPv6; TCP.
#include "tools/tcp_segment.hpp"

#include <arpa/inet.h>
#include <pcap/dlt.h>

#include <algorithm>

namespace sluice::tools {
namespace {

constexpr std::uint16_t ipv4_type = 0x0800;
constexpr std::uint16_t ipv6_type = 0x86dd;

std::uint8_t octet(bytes_view b, std::size_t at) { return std::to_integer<std::uint8_t>(b[at]); }
std::uint16_t big16(bytes_view b, std::size_t at)
{
    return static_cast<std::uint16_t>(octet(b, at) << 8 | octet(b, at + 1));
}
std::uint32_t big32(bytes_view b, std::size_t at)
{
    return std::uint32_t{big16(b, at)} << 16 | big16(b, at + 2);
}

/// What is left of a packet, here and on the wire.
struct rest {
    bytes_view octets;
    std::size_t wire = 0;

    void skip(std::size_t n)
    {
        octets = octets.subspan(std::min(n, octets.size()));
        wire -= std::min(n, wire);
    }
    /// Padding behind a packet, as Ethernet needs it, is no part of it.
    void shorten_to(std::size_t n)
    {
        wire = std::min(wire, n);
        octets = octets.first(std::min(octets.size(), n));
    }
};

packet_kind read_tcp(rest r, tcp_segment& out)
{
    if (r.octets.size() < 20)
        return packet_kind::cut;
    auto const header = std::size_t{octet(r.octets, 12)} / 16 * 4;
    if (header < 20 || header > r.wire)
        return packet_kind::other;
    out.from.port = big16(r.octets, 0);
    out.to.port = big16(r.octets, 2);
    out.sequence = big32(r.octets, 4);
    out.acknowledged = big32(r.octets, 8);
    auto const flags = octet(r.octets, 13);
    out.fin = flags & 1;
    out.syn = flags & 2;
    out.rst = flags & 4;
    out.ack = flags & 16;
    r.skip(header);
    out.payload = r.octets;
    out.length = static_cast<std::uint32_t>(r.wire);
    return packet_kind::tcp;
}

packet_kind read_ipv4(rest r, tcp_segment& out)
{
    if (r.octets.size() < 20)
        return packet_kind::cut;
    auto const header = std::size_t{octet(r.octets, 0)} % 16 * 4;
    auto const total = big16(r.octets, 2);
    if (octet(r.octets, 0) >> 4 != 4 || header < 20)
        return packet_kind::other;
    if (octet(r.octets, 9) != 6)
        return packet_kind::other;
    if ((big16(r.octets, 6) & 0x3fff) != 0)  // more fragments, or not the first
        return packet_kind::fragment;
    if (total != 0)  // 0: the network card is to cut it up
        r.shorten_to(total);
    for (std::size_t i = 0; i != 4; ++i) {
        out.from.octets[i] = octet(r.octets, 12 + i);
        out.to.octets[i] = octet(r.octets, 16 + i);
    }
    r.skip(header);
    return read_tcp(r, out);
}

packet_kind read_ipv6(rest r, tcp_segment& out)
{
    if (r.octets.size() < 40)
        return packet_kind::cut;
    if (octet(r.octets, 0) >> 4 != 6)
        return packet_kind::other;
    if (auto const length = big16(r.octets, 4); length != 0)
        r.shorten_to(std::size_t{40} + length);
    out.from.is_v6 = out.to.is_v6 = true;
    for (std::size_t i = 0; i != 16; ++i) {
        out.from.octets[i] = octet(r.octets, 8 + i);
        out.to.octets[i] = octet(r.octets, 24 + i);
    }
    auto next = octet(r.octets, 6);
    r.skip(40);
    for (;;) {
        if (next == 6)
            return read_tcp(r, out);
        if (r.octets.size() < 8)
            return packet_kind::cut;
        auto const here = next;
        next = octet(r.octets, 0);
        auto const units = std::size_t{octet(r.octets, 1)};
        switch (here) {
        case 0:   // hop-by-hop options
        case 43:  // routing
        case 60:  // destination options
            r.skip((units + 1) * 8);
            break;
        case 51:  // authentication
            r.skip((units + 2) * 4);
            break;
        case 44:
            if ((big16(r.octets, 2) & 0xfff9) != 0)
                return packet_kind::fragment;
            r.skip(8);
            break;
        default: return packet_kind::other;
        }
    }
}

packet_kind read_ip(rest r, tcp_segment& out)
{
    if (r.octets.empty())
        return packet_kind::cut;
    return octet(r.octets, 0) >> 4 == 6 ? read_ipv6(r, out) : read_ipv4(r, out);
}

packet_kind read_typed(rest r, std::uint16_t type, tcp_segment& out)
{
    for (int tags = 0; tags != 3 && (type == 0x8100 || type == 0x88a8 || type == 0x9100); ++tags) {
        if (r.octets.size() < 4)
            return packet_kind::cut;
        type = big16(r.octets, 2);
        r.skip(4);
    }
    if (type == ipv4_type)
        return read_ipv4(r, out);
    if (type == ipv6_type)
        return read_ipv6(r, out);
    return packet_kind::other;
}

/// The link's header, and where in it the type of what follows stands.
struct link_header {
    std::size_t size = 0;
    std::size_t type_at = 0;
    bool typed = false;  ///< else IP follows, which says itself which version it is
};

link_header header_of(int link_type) noexcept
{
    switch (link_type) {
    case DLT_EN10MB: return {14, 12, true};
    case DLT_LINUX_SLL: return {16, 14, true};
    case DLT_LINUX_SLL2: return {20, 0, true};
    case DLT_NULL:
    case DLT_LOOP: return {4, 0, false};  // an address family, whose numbers differ by system
    default: return {};
    }
}

}  // namespace

std::string tcp_end::text() const
{
    char buffer[INET6_ADDRSTRLEN] = "?";
    ::inet_ntop(is_v6 ? AF_INET6 : AF_INET, octets.data(), buffer, sizeof buffer);
    auto const host = is_v6 ? "[" + std::string{buffer} + "]" : std::string{buffer};
    return host + ":" + std::to_string(port);
}

bool is_readable_link(int link_type) noexcept
{
    switch (link_type) {
    case DLT_EN10MB:
    case DLT_LINUX_SLL:
    case DLT_LINUX_SLL2:
    case DLT_NULL:
    case DLT_LOOP:
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6: return true;
    default: return false;
    }
}

packet_kind read_packet(int link_type, bytes_view packet, std::uint32_t wire_length,
                        tcp_segment& out)
{
    out = {};
    rest r{packet, std::max<std::size_t>(wire_length, packet.size())};
    auto const header = header_of(link_type);
    if (packet.size() < header.size)
        return packet_kind::cut;
    r.skip(header.size);
    return header.typed ? read_typed(r, big16(packet, header.type_at), out) : read_ip(r, out);
}

}  // namespace sluice::tools
