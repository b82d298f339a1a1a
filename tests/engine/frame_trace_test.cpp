// Frames as text: the words of each kind of frame, and input cut anywhere.
#include "support/engine_peer.hpp"

#include <sluice/engine/frame_trace.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

std::string traced_octets(bytes_view octets)
{
    e::frame_trace trace{"-> "};
    std::string text;
    trace.feed(octets, text);
    return text;
}

template <class P>
std::string traced(P const& performative, std::string_view payload = {}, std::uint16_t channel = 0)
{
    return traced_octets(frame_of(performative, payload, channel));
}

template <class P>
std::string traced_sasl(P const& frame)
{
    return traced_octets(frame_of(frame, {}, 0, frame_type::sasl));
}

TEST(FrameTrace, ShowsATransferByTheNamesOfItsFieldsAndTheSizeOfItsPayload)
{
    auto const tag = octets_of_hex("00000007");
    transfer const t{
        .delivery_id = delivery_number{7}, .delivery_tag = bytes_view{tag}, .settled = true};
    EXPECT_EQ(traced(t, std::string(64, 'x')),
              "-> [0] transfer handle=0 delivery-id=7 tag=00000007 settled=true (64 octets)\n");
}

TEST(FrameTrace, ShowsOpenWithItsLimitsAndLeavesDefaultsOut)
{
    open const o{
        .container_id = "me", .hostname = "host", .max_frame_size = 65536, .idle_time_out = 30000u};
    EXPECT_EQ(traced(o), "-> [0] open container-id=\"me\" hostname=\"host\" max-frame-size=65536 "
                         "idle-time-out=30000\n");
    EXPECT_EQ(traced(open{.container_id = "me"}), "-> [0] open container-id=\"me\"\n");
}

TEST(FrameTrace, ShowsTheChannelAndTheNumbersOfBeginAndFlow)
{
    EXPECT_EQ(traced(begin{.remote_channel = std::uint16_t{3},
                           .next_outgoing_id = transfer_id{4294967293},
                           .incoming_window = 5,
                           .outgoing_window = 6},
                     {}, 9),
              "-> [9] begin remote-channel=3 next-outgoing-id=4294967293 incoming-window=5 "
              "outgoing-window=6\n");
    EXPECT_EQ(traced(flow{.next_incoming_id = transfer_id{1},
                          .handle = handle{2},
                          .delivery_count = sequence_number{3},
                          .link_credit = 4u,
                          .drain = true}),
              "-> [0] flow next-incoming-id=1 incoming-window=0 next-outgoing-id=0 "
              "outgoing-window=0 handle=2 "
              "delivery-count=3 link-credit=4 drain=true\n");
}

TEST(FrameTrace, ShowsTheTerminiOfAnAttachByName)
{
    auto const from = some_source();
    attach const a{.name = "L",
                   .handle = handle{1},
                   .role = role::receiver,
                   .rcv_settle_mode = receiver_settle_mode::second,
                   .source = {from}};
    EXPECT_EQ(traced(a), "-> [0] attach name=\"L\" handle=1 role=receiver rcv-settle-mode=second "
                         "source=source{address=\"q\"}\n");
}

TEST(FrameTrace, ShowsAnOutcomeAndARange)
{
    disposition const d{.role = role::receiver,
                        .first = delivery_number{5},
                        .last = delivery_number{9},
                        .settled = true,
                        .state = {encoded_accepted}};
    EXPECT_EQ(traced(d),
              "-> [0] disposition role=receiver first=5 last=9 settled=true state=accepted\n");
    auto const state = encoded(delivery_state{modified{.delivery_failed = true}});
    EXPECT_EQ(traced(disposition{.state = {state}}),
              "-> [0] disposition role=sender first=0 state=modified{delivery-failed=true}\n");
}

TEST(FrameTrace, ShowsTheConditionAndTextOfAnErrorOnOneLine)
{
    detach const d{.closed = true,
                   .error = error_view{.condition = "amqp:not-found", .description = "no\nqueue"}};
    EXPECT_EQ(traced(d),
              "-> [0] detach handle=0 closed=true error=amqp:not-found \"no\\nqueue\"\n");
    EXPECT_EQ(traced(end{}), "-> [0] end\n");
    EXPECT_EQ(traced(close{}), "-> [0] close\n");
}

TEST(FrameTrace, HidesEverythingThatAMechanismSays)
{
    auto const secret = octets_of("user-and-password");
    EXPECT_EQ(traced_sasl(sasl_init{
                  .mechanism = "PLAIN", .initial_response = bytes_view{secret}, .hostname = "h"}),
              "-> [sasl] sasl-init mechanism=PLAIN initial-response=<hidden> "
              "hostname=\"h\"\n");
    EXPECT_EQ(traced_sasl(sasl_challenge{.challenge = secret}),
              "-> [sasl] sasl-challenge challenge=<hidden>\n");
    EXPECT_EQ(traced_sasl(sasl_response{.response = secret}),
              "-> [sasl] sasl-response response=<hidden>\n");
    EXPECT_EQ(traced_sasl(sluice::sasl_outcome{.code = sasl_code::auth,
                                               .additional_data = bytes_view{secret}}),
              "-> [sasl] sasl-outcome code=auth additional-data=<hidden>\n");
}

TEST(FrameTrace, HidesASaslFrameThatItCannotDecode)
{
    auto frame =
        frame_of(sasl_response{.response = octets_of("password")}, {}, 0, frame_type::sasl);
    frame[13] = std::byte{0x55};  // the field's constructor
    auto const text = traced_octets(frame);
    EXPECT_NE(text.find("undecodable sasl-response"), std::string::npos) << text;
    EXPECT_EQ(text.find("70617373"), std::string::npos) << text;
}

TEST(FrameTrace, ListsTheMechanismsOffered)
{
    std::vector<symbol> const names{"PLAIN", "ANONYMOUS"};
    EXPECT_EQ(
        traced_sasl(sasl_mechanisms{.sasl_server_mechanisms = {std::span<symbol const>{names}}}),
        "-> [sasl] sasl-mechanisms sasl-server-mechanisms=[PLAIN, ANONYMOUS]\n");
}

TEST(FrameTrace, NamesHeartbeatsAndProtocolHeaders)
{
    EXPECT_EQ(traced_octets(octets_of_hex("414d5150 03010000 414d5150 00010000 00000008 02000000")),
              "-> header SASL 1.0.0\n-> header AMQP 1.0.0\n-> [0] heartbeat\n");
}

TEST(FrameTrace, GivesTheSameLinesHoweverTheOctetsAreCut)
{
    bytes all;
    auto const add = [&](bytes const& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(octets_of_hex("414d5150 00010000"));
    add(frame_of(open{.container_id = "me"}));
    add(octets_of_hex("00000008 02000000"));
    add(frame_of(engine_peer::first_frame(0), "payload"));
    auto const whole = traced_octets(all);
    for (std::size_t cut = 1; cut < all.size(); ++cut) {
        e::frame_trace trace{"-> "};
        std::string text;
        trace.feed(bytes_view{all}.first(cut), text);
        trace.feed(bytes_view{all}.subspan(cut), text);
        ASSERT_EQ(text, whole) << "cut after " << cut;
    }
    e::frame_trace trace{"-> "};
    std::string text;
    for (auto const& o : all) trace.feed({&o, 1}, text);
    EXPECT_EQ(text, whole);
}

TEST(FrameTrace, SaysWhereAPerformativeCannotBeDecodedAndGoesOn)
{
    auto octets = octets_of_hex("00000011 02000000 005314 c004 01 a10140");
    auto const next = frame_of(end{});
    octets.insert(octets.end(), next.begin(), next.end());
    auto const text = traced_octets(octets);
    EXPECT_EQ(text.find("-> [0] undecodable transfer (transfer.handle"), 0u) << text;
    EXPECT_NE(text.find("\n-> [0] end\n"), std::string::npos) << text;
}

TEST(FrameTrace, NamesAnUnknownBodyAndAnImpossibleDataOffset)
{
    EXPECT_EQ(traced_octets(octets_of_hex("0000000c 02000000 00539945")),
              "-> [0] unknown frame body, descriptor 153: 00539945\n");
    EXPECT_EQ(traced_octets(octets_of_hex("0000000c 04000000 00531745")),
              "-> [0] data offset 4 in a frame of 12 octets\n");
}

TEST(FrameTrace, StopsWhereAFrameSizeMakesNoSense)
{
    EXPECT_EQ(traced_octets(octets_of_hex("00000007 02000000 00000008 02000000")),
              "-> unreadable from here on: frame of 7 octets: 0000000702000000\n");
}

TEST(FrameTrace, CountsThePayloadOfAFrameThatIsLargerThanWhatItKeeps)
{
    auto const size = 300'000u;
    EXPECT_EQ(traced_octets(frame_of(transfer{.more = true}, std::string(size, 'x'))),
              "-> [0] transfer handle=0 more=true (300000 octets)\n");
}

}  // namespace
}  // namespace sluice::test
