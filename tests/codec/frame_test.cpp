// Frame headers, protocol headers and serial numbers. [2.2, 2.3.1, 2.8.10]
#include "support/codec_hex.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(FrameHeader, IsReadAsItIsWritten)
{
    bytes wire(8);
    write_frame_header(wire.data(), 0x01020304, frame_type::sasl, 0x0506);
    EXPECT_EQ(codec_to_hex(wire), "0102030402010506");
    auto const h = read_frame_header(wire.data());
    EXPECT_EQ(h.size, 0x01020304u);
    EXPECT_EQ(h.data_offset, 2);
    EXPECT_EQ(h.type, 1);
    EXPECT_EQ(h.channel, 0x0506);
    EXPECT_EQ(read_frame_header(codec_from_hex("ffffffffff00ffff").data()).size, 4294967295u);
}

TEST(ProtocolHeader, NamesProtocolAndVersion)
{
    EXPECT_EQ(codec_to_hex(protocol_header(protocol_id::amqp)), "414d515000010000");
    EXPECT_EQ(codec_to_hex(protocol_header(protocol_id::sasl)), "414d515003010000");
}

TEST(Serial, WrapsAndPrecedesAroundTheCircle)
{
    transfer_id id{4294967295};
    EXPECT_TRUE(precedes(id, transfer_id{0}));
    EXPECT_FALSE(precedes(transfer_id{0}, id));
    ++id;
    EXPECT_EQ(id, transfer_id{0});
    EXPECT_EQ(transfer_id{1} - 2, transfer_id{4294967295});
    EXPECT_EQ(transfer_id{4294967294} + 4, transfer_id{2});
    EXPECT_EQ(distance(transfer_id{4294967294}, transfer_id{2}), 4);
    EXPECT_EQ(distance(transfer_id{2}, transfer_id{4294967294}), -4);
    EXPECT_FALSE(precedes(id, id));
}

}  // namespace
}  // namespace sluice::test
