// What a connection's peer may not do, and what the node says to it. [2.2-2.4, 2.7.1, 2.7.9]
#include "support/node_rig.hpp"

namespace sluice::test {
namespace {

/// The node answers with its own header and ends the stream.
std::string answer_to_header(std::string_view hex, node::node_options options = {})
{
    node_rig n{std::move(options)};
    raw_client c{n.port};
    c.send_hex(hex);
    auto text = c.next();
    text += " " + c.next();
    n.expect_serves_others();
    return text;
}

// [2.2] "...MUST send a valid protocol header and then close the socket"
TEST(NodeHeader, OfAnotherVersionIsAnsweredWithOursAndTheEnd)
{
    EXPECT_EQ(answer_to_header("414d5150 00 02 00 00"), "SASL EOF");
}

// [2.2]
TEST(NodeHeader, OfAnotherProtocolIsAnsweredWithOursAndTheEnd)
{
    EXPECT_EQ(answer_to_header("48545450 2f 31 2e 31"), "SASL EOF");
}

// [2.2, 5.2.1] TLS is not offered in this place.
TEST(NodeHeader, ThatAsksForTlsIsAnsweredWithOursAndTheEnd)
{
    EXPECT_EQ(answer_to_header("414d5150 02 01 00 00"), "SASL EOF");
}

// [2.2] Not even eight octets: nothing to say yet, and nothing is said.
TEST(NodeHeader, MayComeOctetByOctet)
{
    node_rig n;
    raw_client c{n.port};
    bytes all;
    auto const add = [&](bytes_view more) { all.insert(all.end(), more.begin(), more.end()); };
    add(protocol_header(protocol_id::amqp));
    add(raw_frame(raw_client::usual_open()));
    add(raw_frame(raw_client::usual_begin()));
    for (auto const octet : all) {
        c.send_octets({&octet, 1});
        c.flush();
    }
    EXPECT_EQ(c.next(), "AMQP");
    EXPECT_EQ(c.next(), "open(sluice-node)");
    EXPECT_EQ(c.next(), "begin(rc=0 noi=0 iw=1024)");
}

/// What the node says to these octets after the open; then it waits for our close.
std::string answer_to_octets(bytes_view octets)
{
    node_rig n;
    auto c = n.client();
    c->send_octets(octets);
    auto const text = c->wire();
    c->send(sluice::close{});
    EXPECT_EQ(c->next(), "EOF");
    n.expect_serves_others();
    return text;
}
std::string answer_to_hex(std::string_view digits)
{
    return answer_to_octets(octets_of_hex(digits));
}

// [2.3.1]
TEST(NodeFrame, SmallerThanItsHeaderIsAFramingError)
{
    EXPECT_EQ(answer_to_hex("00000007 02 00 0000"), "close(amqp:connection:framing-error)");
}

// [2.7.1] max-frame-size
TEST(NodeFrame, LargerThanMaxFrameSizeIsAFramingErrorBeforeItHasCome)
{
    EXPECT_EQ(answer_to_hex("00010001 02 00 0000"), "close(amqp:connection:framing-error)");
}

// [2.3.1] A giant size costs nothing.
TEST(NodeFrame, OfFourGigabytesIsAFramingErrorBeforeItHasCome)
{
    EXPECT_EQ(answer_to_hex("ffffffff 02 00 0000"), "close(amqp:connection:framing-error)");
}

// [2.3.1] "a value less than 2 ... MUST be treated as malformed"
TEST(NodeFrame, WithADataOffsetBelowTwoIsAFramingError)
{
    EXPECT_EQ(answer_to_hex("00000008 01 00 0000"), "close(amqp:connection:framing-error)");
}

// [2.3.1]
TEST(NodeFrame, WithADataOffsetBeyondItsEndIsAFramingError)
{
    EXPECT_EQ(answer_to_hex("0000000c 04 00 0000 00000000"),
              "close(amqp:connection:framing-error)");
}

// [2.3.1] What lies between header and body is to be ignored.
TEST(NodeFrame, MayHaveAnExtendedHeader)
{
    node_rig n;
    auto c = n.client();
    auto f = raw_frame(sluice::end{});
    f.insert(f.begin() + 8, 4, std::byte{0xee});
    f[3] = static_cast<std::byte>(f.size());
    f[4] = std::byte{3};
    c->send_octets(f);
    EXPECT_EQ(c->wire(), "end()");
}

// [2.3.1] type
TEST(NodeFrame, OfAnUnknownTypeIsAFramingError)
{
    EXPECT_EQ(answer_to_hex("00000008 02 07 0000"), "close(amqp:connection:framing-error)");
}

// [5.3.1] SASL frames have no place after the AMQP header.
TEST(NodeFrame, OfSaslOnceAmqpIsSpokenIsAFramingError)
{
    EXPECT_EQ(answer_to_hex("00000008 02 01 0000"), "close(amqp:connection:framing-error)");
}

// [2.4.5] "empty frames" are heartbeats, on any channel.
TEST(NodeFrame, ThatIsEmptyIsAHeartbeat)
{
    node_rig n;
    auto c = n.client();
    c->send_hex("00000008 02 00 0000 00000008 02 00 0037");
    EXPECT_EQ(c->wire(), "");
    c->bye();
}

// [2.3.2] "...a described type"
TEST(NodeFrame, WithABodyThatIsNotDescribedIsADecodeError)
{
    EXPECT_EQ(answer_to_octets(raw_hex_frame("45")), "close(amqp:decode-error)");
}

// [2.7] There are nine performatives.
TEST(NodeFrame, WithAnUnknownPerformativeIsADecodeError)
{
    EXPECT_EQ(answer_to_octets(raw_hex_frame("00 53 19 45")), "close(amqp:decode-error)");
}

// [1.6.22, 2.3.2] A list that ends after the frame.
TEST(NodeFrame, WhoseListIsCutShortIsADecodeError)
{
    EXPECT_EQ(answer_to_octets(raw_hex_frame("00 53 17 c0 20 01")), "close(amqp:decode-error)");
}

// [1.6] Depth is bounded.
TEST(NodeFrame, WithADeeplyNestedValueIsADecodeError)
{
    std::string digits = "00 53 12 d0 00 00 20 00 00 00 00 07 a1 01 6c 43 42 40 40";  // …source:
    for (int i = 0; i < 2000; ++i) digits += "c0ff01";
    EXPECT_EQ(answer_to_octets(raw_hex_frame(digits)), "close(amqp:decode-error)");
}

// ---- open

/// What the node says to an open given in hexadecimal digits.
std::string answer_to_open(bytes_view open)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send_octets(open);
    EXPECT_EQ(c.next(), "AMQP");
    auto text = c.next();
    text += " " + c.next();
    c.send(sluice::close{});
    EXPECT_EQ(c.next(), "EOF");
    n.expect_serves_others();
    return text;
}

// [2.7.1] container-id is mandatory.
TEST(NodeOpen, WithoutAContainerIdIsADecodeError)
{
    EXPECT_EQ(answer_to_open(raw_hex_frame("00 53 10 c0 02 01 40")),
              "open(sluice-node) close(amqp:decode-error)");
}

// [2.7.1] …and a string.
TEST(NodeOpen, WithANumberAsContainerIdIsADecodeError)
{
    EXPECT_EQ(answer_to_open(raw_hex_frame("00 53 10 c0 03 01 52 05")),
              "open(sluice-node) close(amqp:decode-error)");
}

// [2.7.1] "Both peers MUST accept frames of up to 512 octets"
TEST(NodeOpen, WithAMaxFrameSizeBelow512IsAnInvalidField)
{
    EXPECT_EQ(answer_to_open(raw_frame(open{.container_id = "p", .max_frame_size = 511})),
              "open(sluice-node) close(amqp:invalid-field)");
}

// [2.7.1] Frames of ours keep to the peer's max-frame-size.
TEST(NodeOpen, WithTheSmallestMaxFrameSizeGetsNoLargerFrames)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->deliver("s", text_message(std::string(5'000, 'x')));
    std::ignore = c->wire();

    raw_client small{n.port};
    small.hello({.container_id = "small", .max_frame_size = 512});
    small.receiver("r");
    small.credit("r", 1);
    auto parts = 0;
    while (true) {
        auto const f = small.next_frame().value();
        EXPECT_LE(f.octets.size(), 512u);
        if (f.descriptor() != 0x14)
            continue;
        ++parts;
        if (!f.as<transfer>().more)
            break;
    }
    EXPECT_GE(parts, 10);
}

TEST(NodeOpen, WithTheSmallestMaxFrameSizeIsAnsweredWhereTheUsualAnswerDoesNotFit)
{
    node_rig n;
    raw_client small{n.port};
    small.hello({.container_id = "small", .max_frame_size = 512});
    small.receiver("r", std::string(420, 'a'));  // its answer has the outcomes besides
    auto const wire = small.wire();
    EXPECT_NE(wire.find("detach(h0 closed amqp:frame-size-too-small)"), wire.npos) << wire;

    small.sender("requests", "$management");
    std::ignore = small.wire();
    message m;
    m.application_properties["operation"] = "READ";
    m.application_properties["name"] = "q";
    m.properties.reply_to = std::string(1'000, 'x');
    small.deliver("requests", encoded(m));
    auto const answer = small.wire_without_flows();
    EXPECT_NE(answer.find("rejected"), answer.npos) << answer;
    n.expect_serves_others();
}

// [2.4.1] "open ... MUST be the first frame"
TEST(NodeOpen, HasToComeBeforeAnythingElse)
{
    EXPECT_EQ(answer_to_open(raw_frame(raw_client::usual_begin())),
              "open(sluice-node) close(amqp:illegal-state)");
}

// [2.4.1]
TEST(NodeOpen, MayNotComeTwice)
{
    EXPECT_EQ(answer_to_octets(raw_frame(raw_client::usual_open())), "close(amqp:illegal-state)");
}

// [2.7.1] What the node says of itself.
TEST(NodeOpen, SaysItsLimitsAndWhatItOffers)
{
    node_rig n{{.container_id = "here",
                .idle_timeout = node::milliseconds{30'000},
                .max_frame_size = 4096,
                .channel_max = 7}};
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    EXPECT_EQ(c.until("open"), "AMQP open(here)");
    auto const o = c.last<open>();
    EXPECT_EQ(o.max_frame_size, 4096u);
    EXPECT_EQ(o.channel_max, 7u);
    EXPECT_EQ(o.idle_time_out, 15'000u);
    EXPECT_TRUE(o.offered_capabilities.contains("ANONYMOUS-RELAY"));
    EXPECT_EQ(as<std::string_view>(map_reader{o.properties}.find("product")), "sluice");
}

// [2.4.2] What a client pipelines is kept, in its order, whichever way the octets are cut.
TEST(NodeOpen, MayBePipelinedWithAllThatFollows)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    c.send(raw_client::usual_begin());
    c.send(raw_client::usual_begin(), {}, raw_client::witness);
    c.sender("s");
    c.receiver("r");
    c.credit("r", 3);
    // Credit comes with the node's first flow; sent settled, for the node cannot have said
    // anything yet. [2.6.7]
    EXPECT_EQ(c.wire_without_flows(),
              "AMQP open(sluice-node) begin(rc=0 noi=0 iw=1024) "
              "attach(s h0 receiver source= target=q) attach(r h1 sender source=q target=)");
    for (auto const* const text : {"1", "2", "3"}) c.deliver("s", text);
    EXPECT_EQ(c.wire_without_flows(),
              "disposition(receiver 0..2 settled accepted) transfer(h1 id=0 '1') "
              "transfer(h1 id=1 '2') transfer(h1 id=2 '3')");
}

// ---- begin, channels

// [2.7.1] channel-max
TEST(NodeBegin, BeyondChannelMaxIsAFramingError)
{
    EXPECT_EQ(answer_to_octets(raw_frame(raw_client::usual_begin(), {}, 256)),
              "close(amqp:connection:framing-error)");
}

// [2.5.1] A channel has one session.
TEST(NodeBegin, OnAChannelInUseIsAnIllegalState)
{
    EXPECT_EQ(answer_to_octets(raw_frame(raw_client::usual_begin())), "close(amqp:illegal-state)");
}

// [2.7.2] remote-channel "MUST NOT be set" by the one who begins.
TEST(NodeBegin, ThatAnswersNoneOfOursIsAnInvalidField)
{
    auto b = raw_client::usual_begin();
    b.remote_channel = 3;
    EXPECT_EQ(answer_to_octets(raw_frame(b, {}, 20)), "close(amqp:invalid-field)");
}

// [2.7.2] next-outgoing-id, incoming-window and outgoing-window are mandatory.
TEST(NodeBegin, WithoutItsMandatoryFieldsIsADecodeError)
{
    EXPECT_EQ(answer_to_octets(raw_hex_frame("00 53 11 c0 04 03 40 43 43", 3)),
              "close(amqp:decode-error)");
    EXPECT_EQ(answer_to_octets(raw_hex_frame("00 53 11 c0 05 04 40 40 43 43", 3)),
              "close(amqp:decode-error)");
    EXPECT_EQ(answer_to_octets(raw_hex_frame("00 53 11 c0 05 04 40 43 40 43", 3)),
              "close(amqp:decode-error)");
}

// [2.5.1] Frames of a session that never began.
TEST(NodeBegin, HasToComeBeforeAnyOtherFrameOfTheChannel)
{
    EXPECT_EQ(answer_to_octets(raw_frame(flow{}, {}, 77)), "close(amqp:illegal-state)");
    EXPECT_EQ(answer_to_octets(raw_frame(sluice::end{}, {}, 77)), "close(amqp:illegal-state)");
}

// [2.7.1, 2.5.1] All the channels that channel-max allows.
TEST(NodeBegin, MayBeSentOnEachChannelUpToChannelMax)
{
    node_rig n{{.channel_max = 15}};
    auto c = n.client();
    for (std::uint16_t i = 1; i < 16; ++i)
        if (i != raw_client::witness)
            c->send(raw_client::usual_begin(), {}, i);
    auto const text = c->wire();
    for (int i = 1; i < 16; ++i) {
        auto const begun = text.find("begin(rc=" + std::to_string(i) + " ") != text.npos;
        EXPECT_EQ(begun, i != raw_client::witness) << i;
    }
    c->bye();
}

// [2.5.1, 2.5.3] A peer that takes one session only may end it and begin the next without waiting.
TEST(NodeBegin, FollowsAnEndOnTheOnlyChannelWithoutWaiting)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(open{.container_id = "one", .channel_max = 0});
    for (int i = 0; i < 3; ++i) {
        c.send(raw_client::usual_begin());
        c.send(sluice::end{});
    }
    auto text = c.next();
    for (int i = 0; i < 7; ++i) text += " " + c.next();
    // Ended before the node had a say: the engine answers with windows of its own.
    EXPECT_EQ(text, "AMQP open(sluice-node) begin(rc=0 noi=0 iw=2048) end() "
                    "begin(rc=0 noi=0 iw=2048) end() begin(rc=0 noi=0 iw=2048) end()");
    c.bye();
}

// [2.7.1] A peer whose channel-max leaves the node no channel for its answer.
TEST(NodeBegin, ThatThePeersOwnChannelMaxForbidsToAnswerClosesTheConnection)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(open{.container_id = "one", .channel_max = 0});
    c.send(raw_client::usual_begin(), {}, 0);
    c.send(raw_client::usual_begin(), {}, 1);
    EXPECT_EQ(c.until("close"), "AMQP open(sluice-node) close(amqp:not-allowed)");
    n.expect_serves_others();
}

// ---- end and close

// [2.5.4] After its end a peer's channel is free.
TEST(NodeEnd, FreesItsChannel)
{
    node_rig n;
    auto c = n.client();
    c->send(sluice::end{});
    EXPECT_EQ(c->wire(), "end()");
    c->send(raw_client::usual_begin());
    EXPECT_EQ(c->wire(), "begin(rc=0 noi=0 iw=1024)");
    c->bye();
}

// [2.5.4] Frames after the end are frames of no session.
TEST(NodeEnd, IsTheLastFrameOfItsChannel)
{
    node_rig n;
    auto c = n.client();
    c->send(sluice::end{});
    EXPECT_EQ(c->wire(), "end()");
    c->send(flow{});
    EXPECT_EQ(c->wire(), "close(amqp:illegal-state)");
    n.expect_serves_others();
}

// [2.5.4] The node ended for an error: what comes until the peer's end is dropped.
TEST(NodeEnd, WithAnErrorOfOursDropsWhatComesUntilTheirs)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    auto f = c->exact_flow();
    f.handle = handle{55};
    c->send(f);
    c->deliver("s", "nobody's");
    c->send(detach{.handle = handle{66}, .closed = true, .error = std::nullopt});
    EXPECT_EQ(c->wire(), "end(amqp:session:unattached-handle)");
    c->send(sluice::end{});
    c->send(raw_client::usual_begin());
    EXPECT_EQ(c->wire(), "begin(rc=0 noi=0 iw=1024)");
    EXPECT_FALSE(n.node.read("q").has_value());
}

// [2.4.3] Answered in kind, and then the stream ends.
TEST(NodeClose, IsAnsweredAndTheStreamEnds)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->bye();
    n.expect_serves_others();
}

// [2.4.3] Nothing is read after a close.
TEST(NodeClose, IsTheLastFrame)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->send(sluice::close{});
    c->deliver("s", "too late");
    EXPECT_EQ(c->until("close"), "close()");
    n.expect_serves_others();
    EXPECT_FALSE(n.node.read("q").has_value());
}

// [2.4.6] Before an open there is nothing to close.
TEST(NodeClose, BeforeTheOpenIsAnIllegalState)
{
    EXPECT_EQ(answer_to_open(raw_frame(sluice::close{})),
              "open(sluice-node) close(amqp:illegal-state)");
}

// [2.4.2] open and close pipelined.
TEST(NodeClose, MayFollowTheOpenAtOnce)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    c.send(sluice::close{});
    EXPECT_EQ(c.until("close"), "AMQP open(sluice-node) close()");
    EXPECT_EQ(c.next(), "EOF");
}

// ---- idle time-out

// [2.4.5] The node sends empty frames in time.
TEST(NodeIdle, KeepsThePeersTimeOut)
{
    node_rig n;
    raw_client c{n.port};
    c.hello({.container_id = "impatient", .idle_time_out = 100});
    for (int i = 0; i < 3; ++i) c.wait_for_heartbeat();
    EXPECT_GE(c.heartbeats, 3);
}

// [2.4.5] "...SHOULD close the connection with resource-limit-exceeded"
TEST(NodeIdle, ClosesForSilence)
{
    node_rig n{{.idle_timeout = node::milliseconds{1'000}}};
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    EXPECT_EQ(c.until("close"), "AMQP open(sluice-node) close(amqp:resource-limit-exceeded)");
    EXPECT_EQ(c.last<open>().idle_time_out, 500u);
}

// [2.4.5] Empty frames are enough.
TEST(NodeIdle, IsContentWithHeartbeats)
{
    node_rig n{{.idle_timeout = node::milliseconds{1'000}}};
    raw_client c{n.port};
    c.hello({.container_id = "p", .idle_time_out = 100});
    for (int i = 0; i < 30; ++i) {  // each of the node's comes after 50 ms
        c.wait_for_heartbeat();
        c.send_hex("00000008 02 00 0000");
    }
    EXPECT_EQ(c.wire(), "");
    c.bye();
}

}  // namespace
}  // namespace sluice::test
