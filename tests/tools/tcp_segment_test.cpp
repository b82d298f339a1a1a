// Packets of every link type that can be read.
#include "support/capture_file.hpp"
#include "tools/tcp_segment.hpp"

#include <gtest/gtest.h>
#include <pcap/dlt.h>

namespace sluice::tools {
namespace {

using test::framed;
using test::ipv4_of;
using test::ipv6_of;
using test::link;

test::tcp_packet const sample{.from = {1, 40000},
                              .to = {2, 5672},
                              .sequence = 0xffff'fff0,
                              .acknowledged = 77,
                              .flags = "AF",
                              .payload = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}}};

std::string described(tcp_segment const& s)
{
    std::string t = s.from.text() + " " + s.to.text() + " " + std::to_string(s.sequence) + " "
                    + std::to_string(s.acknowledged) + " " + (s.syn ? "S" : "") + (s.ack ? "A" : "")
                    + (s.fin ? "F" : "") + (s.rst ? "R" : "") + " " + std::to_string(s.length)
                    + " ";
    for (auto const b : s.payload) t += static_cast<char>(b);
    return t;
}

std::string read(int link_type, bytes const& packet, std::size_t kept = SIZE_MAX)
{
    tcp_segment s;
    auto const octets = bytes_view{packet}.first(std::min(kept, packet.size()));
    switch (read_packet(link_type, octets, static_cast<std::uint32_t>(packet.size()), s)) {
    case packet_kind::tcp: return described(s);
    case packet_kind::other: return "other";
    case packet_kind::fragment: return "fragment";
    case packet_kind::cut: return "cut";
    }
    return "";
}

constexpr auto v4 = "10.0.0.1:40000 10.0.0.2:5672 4294967280 77 AF 3 abc";
constexpr auto v6 = "[fd00::1]:40000 [fd00::2]:5672 4294967280 77 AF 3 abc";

TEST(TcpSegment, IsFoundBehindEachKindOfLinkHeader)
{
    struct {
        link as;
        int number;
    } const links[] = {{link::ethernet, DLT_EN10MB}, {link::sll, DLT_LINUX_SLL},
                       {link::sll2, DLT_LINUX_SLL2}, {link::null, DLT_NULL},
                       {link::loop, DLT_LOOP},       {link::raw, DLT_RAW}};
    for (auto const& l : links) {
        EXPECT_TRUE(is_readable_link(l.number));
        EXPECT_EQ(read(l.number, framed(l.as, ipv4_of(sample))), v4) << l.number;
        EXPECT_EQ(read(l.number, framed(l.as, ipv6_of(sample), true), SIZE_MAX), v6) << l.number;
    }
    EXPECT_EQ(read(DLT_IPV4, ipv4_of(sample)), v4);
    EXPECT_EQ(read(DLT_IPV6, ipv6_of(sample)), v6);
    EXPECT_FALSE(is_readable_link(DLT_IEEE802_11));
}

TEST(TcpSegment, IsFoundBehindVlanTagsAndWithoutThePaddingOfEthernet)
{
    auto packet = framed(link::ethernet, ipv4_of(sample));
    constexpr std::array tags{std::byte{0x88}, std::byte{0xa8}, std::byte{0}, std::byte{5},
                              std::byte{0x81}, std::byte{0},    std::byte{0}, std::byte{6}};
    packet.insert(packet.begin() + 12, tags.begin(), tags.end());
    EXPECT_EQ(read(DLT_EN10MB, packet), v4);
    packet.resize(packet.size() + 9);
    EXPECT_EQ(read(DLT_EN10MB, packet), v4);
}

TEST(TcpSegment, KnowsHowLongItWasWhenTheCaptureHasLess)
{
    auto const packet = framed(link::ethernet, ipv4_of(sample));
    EXPECT_EQ(read(DLT_EN10MB, packet, packet.size() - 2),
              "10.0.0.1:40000 10.0.0.2:5672 4294967280 77 AF 3 a");
    // Wherever it is cut off before the payload there is nothing to be read.
    for (std::size_t kept = 0; kept != 14 + 20 + 20; ++kept)
        EXPECT_EQ(read(DLT_EN10MB, packet, kept), "cut") << kept;
}

TEST(TcpSegment, IsNotMadeOfFragmentsNorOfOtherProtocols)
{
    EXPECT_EQ(read(DLT_RAW, ipv4_of(sample, 0x2000)), "fragment");
    EXPECT_EQ(read(DLT_RAW, ipv4_of(sample, 0x0010)), "fragment");
    EXPECT_EQ(read(DLT_RAW, ipv4_of(sample, 0x4000)), v4);  // only: do not fragment

    auto packet = ipv4_of(sample);
    packet[9] = std::byte{17};
    EXPECT_EQ(read(DLT_RAW, packet), "other");
    packet = ipv6_of(sample);
    packet[6] = std::byte{58};
    EXPECT_EQ(read(DLT_RAW, packet), "other");
    packet = ipv6_of(sample);
    packet[6] = std::byte{44};  // what stands there is then a fragment's header
    packet[43] = std::byte{8};
    EXPECT_EQ(read(DLT_RAW, packet), "fragment");

    auto arp = framed(link::ethernet, ipv4_of(sample));
    arp[13] = std::byte{6};
    EXPECT_EQ(read(DLT_EN10MB, arp), "other");
}

}  // namespace
}  // namespace sluice::tools
