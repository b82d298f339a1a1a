// Rules of the standard that a peer may break in ways that take an engine's care to notice, and
// numbers that are free only once something is written.
#include "support/engine_peer.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A listening engine with a strict session and a receiver of the peer's sender "s".
struct listening_rig {
    engine_peer peer;

    static e::connection_options listener()
    {
        e::connection_options o;
        o.listener = true;
        return o;
    }
    explicit listening_rig(sender_settle_mode mode = sender_settle_mode::mixed,
                           e::flow_policy policy = e::flow_policy::strict)
        : peer{listener()}
    {
        e::session_options s;
        s.policy = policy;
        peer.open_session(s);
        auto const source = some_source();
        auto const target = some_target();
        peer.send(attach{.name = "s",
                         .role = role::sender,
                         .snd_settle_mode = mode,
                         .source = {source},
                         .target = {target},
                         .initial_delivery_count = sequence_number{0}});
        std::ignore = peer.events();
        e::link_options o;
        o.snd_settle_mode = mode;
        o.source = source;
        o.target = target;
        o.credit_window = 10;
        EXPECT_FALSE(peer.link->attach(std::move(o)));
        peer.forget_so_far();
    }
    void send(std::uint32_t id, bool settled)
    {
        auto const tag = octets_of("t");
        peer.send(transfer{.delivery_id = delivery_number{id},
                           .delivery_tag = bytes_view{tag},
                           .message_format = 0,
                           .settled = settled},
                  "x");
    }
    void begin_delivery(char const* tag)
    {
        auto const octets = octets_of(tag);
        peer.send(transfer{.delivery_id = delivery_number{0},
                           .delivery_tag = bytes_view{octets},
                           .message_format = 5,
                           .more = true},
                  "a");
    }
};

// [2.7.5] "...it is an error if the delivery-tag on a continuation transfer differs"
TEST(PeerRules, AContinuationWithAnotherTagDetachesItsLink)
{
    listening_rig r;
    r.begin_delivery("one");
    auto const other = octets_of("two");
    r.peer.send(transfer{.delivery_tag = bytes_view{other}}, "b");
    EXPECT_EQ(r.peer.wire(), "detach(h0 closed amqp:invalid-field)");
}

TEST(PeerRules, AContinuationWithAnotherMessageFormatDetachesItsLink)
{
    listening_rig r;
    r.begin_delivery("one");
    r.peer.send(transfer{.message_format = 6}, "b");
    EXPECT_EQ(r.peer.wire(), "detach(h0 closed amqp:invalid-field)");
}

TEST(PeerRules, AContinuationMayRepeatTagAndMessageFormat)
{
    listening_rig r;
    r.begin_delivery("one");
    auto const same = octets_of("one");
    r.peer.send(transfer{.delivery_tag = bytes_view{same}, .message_format = 5}, "b");
    EXPECT_EQ(r.peer.events(), "delivery(s 0 'ab')");
}

// [2.7.5, 2.8.2] Only a strict session minds.
TEST(PeerRules, ASenderKeepsToItsSettleModeInAStrictSession)
{
    listening_rig unsettled{sender_settle_mode::unsettled};
    unsettled.send(0, true);
    EXPECT_EQ(unsettled.peer.wire(), "detach(h0 closed amqp:not-allowed)");

    listening_rig settled{sender_settle_mode::settled};
    settled.send(0, false);
    EXPECT_EQ(settled.peer.wire(), "detach(h0 closed amqp:not-allowed)");

    listening_rig tolerant{sender_settle_mode::settled, e::flow_policy::tolerant};
    tolerant.send(0, false);
    EXPECT_EQ(tolerant.peer.events(), "delivery(s 0 'x')");
}

// [2.5.1] With writes_between a peer's next session waits for the channel of the one before.
TEST(PeerRules, InputWaitsForAChannelThatIsFreeOnceTheEndIsWritten)
{
    auto options = listening_rig::listener();
    options.writes_between = true;
    engine_peer p{options};
    p.open(open{.container_id = "peer", .channel_max = 0});
    auto all = frame_of(begin{.incoming_window = 1, .outgoing_window = 1});
    auto const length = all.size();
    auto const end = frame_of(sluice::end{});
    all.insert(all.end(), end.begin(), end.end());
    auto const once = all.size();
    auto twice = all;
    twice.insert(twice.end(), all.begin(), all.end());
    EXPECT_GT(once, length);

    EXPECT_EQ(p.engine.receive(twice, p.now), once);
    EXPECT_EQ(p.engine.receive(bytes_view{twice}.subspan(once), p.now), 0u);
    EXPECT_EQ(p.wire(), "begin(rc=0 noi=0 iw=2048) end()");
    EXPECT_EQ(p.engine.receive(bytes_view{twice}.subspan(once), p.now), once);
    EXPECT_EQ(p.wire(), "begin(rc=0 noi=0 iw=2048) end()");
}

// [5.3.2] No frame of the SASL layer says an error: the stream ends.
TEST(PeerRules, AnAmqpFrameWithinTheSaslLayerEndsTheOutput)
{
    auto options = listening_rig::listener();
    options.sasl = e::sasl_mode::required;
    engine_peer p{options};
    p.send_header(protocol_id::sasl);
    EXPECT_EQ(p.wire(), "SASL mechanisms(ANONYMOUS)");
    p.send(open{.container_id = "peer"});
    EXPECT_EQ(p.wire(), "");
    EXPECT_TRUE(p.engine.output_done());
}

// [5.3.1] "...defined by MIN-MAX-FRAME-SIZE"
TEST(PeerRules, ASaslFrameOfMoreThan512OctetsEndsTheOutput)
{
    auto options = listening_rig::listener();
    options.sasl = e::sasl_mode::required;
    engine_peer p{options};
    p.send_header(protocol_id::sasl);
    std::ignore = p.wire();
    bytes const response(600);
    p.send_sasl(sluice::sasl_init{
        .mechanism = "PLAIN", .initial_response = bytes_view{response}, .hostname = std::nullopt});
    EXPECT_TRUE(p.engine.output_done());
}

// [2.2, 5.3.2] What comes after the outcome is answered with the header that should have come.
TEST(PeerRules, AnotherHeaderThanThatOfAmqpAfterTheOutcomeIsAnsweredWithIt)
{
    auto options = listening_rig::listener();
    options.sasl = e::sasl_mode::required;
    engine_peer p{options};
    p.send_header(protocol_id::sasl);
    p.send_sasl(sluice::sasl_init{
        .mechanism = "ANONYMOUS", .initial_response = std::nullopt, .hostname = std::nullopt});
    EXPECT_FALSE(p.engine.sasl_outcome(sasl_code::ok));
    std::ignore = p.wire();
    p.send_header(protocol_id::sasl);
    EXPECT_EQ(p.wire(), "AMQP");
    EXPECT_TRUE(p.engine.output_done());
}

}  // namespace
}  // namespace sluice::test
