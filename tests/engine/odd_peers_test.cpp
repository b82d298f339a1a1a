// What peers in the field do that is allowed, or at least done, and easily taken wrong.
#include "support/engine_peer.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

// The name is free again once the first link's detach is out: an attach before it would take that
// link over. [2.6.1]
TEST(OddPeers, ALinkOfTheSameNameIsAttachedAfterTheDetachOfTheOneBefore)
{
    engine_peer peer;
    peer.open_session();
    peer.open_sender(link_named("S"));
    peer.send(detach{.handle = handle{0}, .closed = true});
    std::ignore = peer.events();
    ASSERT_TRUE(peer.session->attach_sender(link_named("S")));
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("detach(h0 closed) attach(")) << wire;
}

TEST(OddPeers, ALinkOfTheSameNameIsAttachedAfterTheDetachThatGivesTheOneBeforeUp)
{
    engine_peer peer;
    peer.open_session();
    peer.open_receiver(link_named("R"));
    peer.send(engine_peer::first_frame(0), "x");  // without credit
    std::ignore = peer.events();
    ASSERT_TRUE(peer.session->attach_receiver(link_named("R", 10)));
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("detach(h0 closed amqp:link:transfer-limit-exceeded) attach("))
        << wire;
}

TEST(OddPeers, APeerThatAttachesAgainAtOnceGetsTheAnswerToItsDetachFirst)
{
    e::connection_options o;
    o.listener = true;
    engine_peer peer{o};
    peer.open_session();
    auto const source = some_source();
    attach const theirs{.name = "r", .role = role::receiver, .source = {source}};
    e::link_options ours;
    ours.source = source;
    ours.target = some_target();
    peer.send(theirs);
    std::ignore = peer.events();
    ASSERT_FALSE(peer.link->attach(ours));
    peer.forget_so_far();
    peer.send(detach{.handle = handle{0}});
    peer.send(theirs);
    std::ignore = peer.events();
    ASSERT_FALSE(peer.link->attach(ours));
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("detach(h0) attach(")) << wire;
}

// A disposition that neither settles nor has a state says nothing. [2.7.6]
TEST(OddPeers, ADispositionThatSaysNothingIsNoOutcome)
{
    engine_peer peer;
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(1, s);
    auto const body = octets_of("x");
    auto* const d = *s.send({body, {}});
    peer.forget_so_far();
    peer.send(disposition{.role = role::receiver, .first = delivery_number{0}});
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(d->state(), e::outgoing_state::unsettled);
    EXPECT_EQ(peer.wire(), "");
    peer.send(disposition{.role = role::receiver,
                          .first = delivery_number{0},
                          .settled = true,
                          .state = {encoded_accepted}});
    EXPECT_NE(peer.events().find("outcome"), std::string::npos);
}

TEST(OddPeers, CreditIsUsableAgainWhenADrainThatIsNotAnsweredIsGivenUp)
{
    engine_peer peer;
    peer.open_session();
    auto& r = peer.open_receiver();
    r.set_credit(10);
    peer.forget_so_far();
    r.drain();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=10 drain)");
    r.stop_drain();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=10)");
    r.add_credit(5);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=15)");
    r.stop_drain();
    EXPECT_EQ(peer.wire(), "");
    // The answer to the drain has crossed with it.
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 2048,
                   .outgoing_window = 2048,
                   .handle = handle{0},
                   .delivery_count = sequence_number{10},
                   .link_credit = 0u,
                   .drain = true});
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(r.credit(), 5u);
}

// "As much as you like": a limit 2^31 or more ahead lies behind, as serial numbers go.
TEST(OddPeers, AnyAmountOfCreditCanBeUsedAskedForAndDrained)
{
    for (auto const by_window : {false, true}) {
        engine_peer peer;
        peer.open_session();
        auto& r = peer.open_receiver();
        if (by_window)
            r.set_credit_window(0xffff'ffff);
        else
            r.set_credit(0xffff'ffff);
        std::ignore = peer.frames();
        auto const granted = r.credit();
        auto const view = [&](std::uint32_t count, std::uint32_t left, bool drain = false) {
            peer.send(flow{.next_incoming_id = transfer_id{0},
                           .incoming_window = 2048,
                           .next_outgoing_id = peer.next_outgoing_id,
                           .outgoing_window = 2048,
                           .handle = handle{0},
                           .delivery_count = sequence_number{count},
                           .link_credit = left,
                           .drain = drain});
        };
        for (std::uint32_t id = 0; id < 3; ++id) {
            peer.send(engine_peer::first_frame(id), "x");
            view(id + 1, granted - id - 1);
        }
        EXPECT_EQ(peer.events(), "delivery(R 0 'x') delivery(R 1 'x') delivery(R 2 'x')");
        r.drain();
        std::ignore = peer.frames();
        view(granted, 0, true);
        EXPECT_EQ(peer.events(), "drained(R)");
        EXPECT_EQ(r.delivery_count(), sequence_number{granted});
        EXPECT_EQ(r.credit(), 0u);
    }
}

// Some brokers refuse a connection with a bare close, and pipeline it behind their header.
TEST(OddPeers, ACloseRightBehindTheHeaderFailsTheOpenWithItsReason)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    std::ignore = peer.wire_once(8);  // our header, and no open yet
    peer.send_header();
    peer.send(close{.error = error_view{.condition = "amqp:not-allowed", .description = "no"}});
    EXPECT_EQ(peer.engine.error().condition, "amqp:not-allowed");
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("open("), std::string::npos) << wire;
    EXPECT_NE(wire.find("close()"), std::string::npos) << wire;
    EXPECT_TRUE(peer.engine.output_done());
}

// It has heard why, and nothing more is to come: nobody waits for it.
TEST(OddPeers, ACloseBeforeTheOpenIsRefusedOnceAndTheNextOneIsTheEnd)
{
    e::connection_options o;
    o.listener = true;
    engine_peer peer{o};
    std::ignore = peer.engine.open();
    peer.send_header();
    peer.send(close{});
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("close(amqp:illegal-state)"), std::string::npos) << wire;
    EXPECT_NE(peer.engine.state(), e::connection_state::ended);
    peer.send(close{});
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
}

// [2.7.5] "If the negotiated link value is first, then it is illegal to set this field to second."
TEST(OddPeers, ADeliveryInModeSecondOnALinkInModeFirstDetachesTheLink)
{
    engine_peer peer;
    peer.open_session();
    peer.open_receiver(link_named("R", 10));
    auto t = engine_peer::first_frame(0);
    t.rcv_settle_mode = receiver_settle_mode::second;
    peer.send(t, "x");
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:invalid-field)");
}

TEST(OddPeers, AConnectionThatIsLostBeforeItsFirstOctetHasNothingToSay)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    peer.engine.transport_closed();
    EXPECT_FALSE(peer.engine.wants_write());
    EXPECT_EQ(peer.wire(), "");
    EXPECT_TRUE(peer.engine.output_done());
}

TEST(OddPeers, ASessionThatWasNeverBegunHasNoEnd)
{
    e::connection_options o;
    o.channel_max = 5;
    engine_peer peer{o};
    std::ignore = peer.engine.open();
    std::ignore = peer.frames();
    ASSERT_TRUE(peer.engine.begin());
    auto* const beyond = *peer.engine.begin();
    EXPECT_FALSE(beyond->end());
    peer.send_header();
    peer.send(open{.container_id = "peer", .channel_max = 0});
    for (auto const& f : peer.frames()) EXPECT_EQ(f.channel(), 0) << f.text();
}

}  // namespace
}  // namespace sluice::test
