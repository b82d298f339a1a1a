// Credit as its receiver grants it: by hand, automatically, and taken back. [2.6.7]
#include "support/engine_peer.hpp"

#include <sluice/engine/receiver.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct ReceiverCredit : testing::Test {
    ReceiverCredit() { peer.open_session(); }

    e::receiver& attached(std::uint32_t window = 0, std::uint32_t initial_count = 0)
    {
        r = &peer.open_receiver(link_named("R", window),
                                {.initial_delivery_count = sequence_number{initial_count}});
        return *r;
    }
    void deliver(std::uint32_t from, std::uint32_t count)
    {
        for (std::uint32_t i = 0; i < count; ++i)
            peer.send(engine_peer::first_frame(from + i), "x");
    }
    /// The peer's view of the link.
    void view(std::uint32_t delivery_count, std::uint32_t credit, bool drain = false)
    {
        peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 9,
                       .next_outgoing_id = peer.next_outgoing_id,
                       .handle = r->local_handle(),
                       .delivery_count = sequence_number{delivery_count},
                       .link_credit = credit,
                       .drain = drain});
    }

    engine_peer peer;
    e::receiver* r = nullptr;
};

// The peer's answer to the first flow reads like one to the last; what it sends next goes by the
// second.
TEST_F(ReceiverCredit, OfALimitThatIsWrittenTwiceHoldsAsLongAsTheHigherOneBetweenMayBeOnItsWay)
{
    attached().set_credit(3);
    r->drain();
    std::ignore = peer.wire();
    r->add_credit(3);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=6 drain)");
    r->set_credit(3);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=3 drain)");
    view(3, 0, true);
    EXPECT_EQ(peer.events(), "drained(R)");
    deliver(0, 3);
    EXPECT_EQ(r->state(), e::link_state::attached);
    deliver(3, 1);
    EXPECT_EQ(r->state(), e::link_state::attached) << "the detach waits to be written";
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:link:transfer-limit-exceeded)");
}

TEST_F(ReceiverCredit, OfALimitThatWasLoweredAndRaisedOverHoldsToo)
{
    attached().set_credit(3);
    std::ignore = peer.wire();
    r->set_credit(0);
    std::ignore = peer.wire();
    r->set_credit(4);
    std::ignore = peer.wire();
    r->set_credit(3);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=3)");
    view(0, 3);  // said when only the first was known
    deliver(0, 4);
    EXPECT_EQ(r->state(), e::link_state::attached);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(ReceiverCredit, IsWrittenAsItIsSet)
{
    attached().set_credit(5);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=5)");
    r->add_credit(2);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=7)");
    deliver(0, 3);
    EXPECT_EQ(r->credit(), 4u);
    r->add_credit(4294967295);
    EXPECT_EQ(peer.wire(), "flow(nii=3 iw=2048 noi=0 h0 dc=3 lc=4294967295)");
}

TEST_F(ReceiverCredit, OfAWindowIsGrantedWithTheAttachAndRenewedInHalves)
{
    peer.session->attach_receiver(link_named("R", 10)).value();
    auto const first = peer.wire();
    EXPECT_EQ(first.find("attach(R h0 receiver)"), 0u);
    EXPECT_NE(first.find("lc=10"), std::string::npos) << first;
}

TEST_F(ReceiverCredit, CountsDeliveriesThatItsOwnerHolds)
{
    attached(10);
    deliver(0, 10);
    EXPECT_EQ(peer.deliveries.size(), 10u);
    EXPECT_EQ(peer.wire(), "") << "all ten are held";
    EXPECT_EQ(r->held(), 10u);
    for (auto i = 0u; i < 5; ++i) std::ignore = r->settle(*peer.deliveries[i]);
    EXPECT_EQ(
        peer.wire(),
        "disposition(receiver 0..4 settled accepted) flow(nii=10 iw=2048 noi=0 h0 dc=10 lc=5)");
    EXPECT_EQ(r->held() + r->credit(), 10u);
}

TEST_F(ReceiverCredit, OfAWindowNeverExceedsItTogetherWithWhatIsHeld)
{
    attached(10);
    std::uint32_t id = 0;
    std::uint32_t limit = 10;  // delivery-count + credit as the peer last heard
    for (auto round = 0; round < 300; ++round) {
        while (id < limit && id % 7 != 6) deliver(id++, 1);
        if (id < limit)
            deliver(id++, 1);
        ASSERT_LE(r->held() + (limit - id), 10u) << round;
        e::incoming_delivery* oldest = nullptr;
        r->for_each_delivery([&](e::incoming_delivery& d) { oldest = oldest ? oldest : &d; });
        if (oldest)
            std::ignore = r->settle(*oldest);
        for (auto const& frame : peer.frames())
            if (frame.descriptor() == 0x13 && frame.as<flow>().handle)
                limit = frame.as<flow>().delivery_count->value() + *frame.as<flow>().link_credit;
    }
    EXPECT_GT(id, 290u);
}

TEST_F(ReceiverCredit, OfAWindowOfOneIsRenewedAfterEachDelivery)
{
    attached(1);
    for (std::uint32_t id = 0; id < 3; ++id) {
        deliver(id, 1);
        EXPECT_EQ(peer.wire(), "");
        std::ignore = r->settle(*peer.deliveries.back());
        EXPECT_NE(peer.wire().find("lc=1)"), std::string::npos) << id;
    }
}

TEST_F(ReceiverCredit, OfAWindowMayBeChanged)
{
    attached(10);
    deliver(0, 4);
    r->set_credit_window(6);
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=2048 noi=0 h0 dc=4 lc=2)");
    r->set_credit_window(2);
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=2048 noi=0 h0 dc=4 lc=0)");
    r->set_credit(3);
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=2048 noi=0 h0 dc=4 lc=3)");
    for (auto* const d : peer.deliveries) std::ignore = r->settle(*d);
    EXPECT_EQ(peer.wire(), "disposition(receiver 0..3 settled accepted)")
        << "by hand now: nothing is renewed";
}

TEST_F(ReceiverCredit, ThatIsOverrunDetachesThatLinkOnly)
{
    attached().set_credit(2);
    std::ignore = peer.wire();
    auto& other = peer.open_receiver(link_named("other", 5));
    peer.forget_so_far();
    deliver(0, 3);
    EXPECT_EQ(peer.events(), "delivery(R 0 'x') delivery(R 1 'x') link_detached(R limit "
                             "amqp:link:transfer-limit-exceeded)");
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:link:transfer-limit-exceeded)");
    EXPECT_EQ(r->error().description,
              "delivery 2 at delivery-count 2 is beyond the limit 2 [2.6.7]");
    auto t = engine_peer::first_frame(3);
    t.handle = other.local_handle();
    peer.send(t, "y");
    EXPECT_EQ(peer.events(), "delivery(other 3 'y')");
}

TEST_F(ReceiverCredit, ThatWasTakenBackMayStillBeUsedByAPeerThatDoesNotKnow)
{
    attached().set_credit(10);
    std::ignore = peer.wire();
    r->set_credit(2);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=2)");
    deliver(0, 4);
    EXPECT_EQ(peer.deliveries.size(), 4u) << "on their way when the credit was taken back";
    EXPECT_EQ(r->credit(), 0u);
}

TEST_F(ReceiverCredit, ThatThePeerKnowsToBeTakenBackMayNotBeUsed)
{
    attached().set_credit(10);
    std::ignore = peer.wire();
    r->set_credit(2);
    std::ignore = peer.wire();
    view(0, 2);  // the peer has seen it
    deliver(0, 3);
    EXPECT_EQ(peer.deliveries.size(), 2u);
    EXPECT_NE(peer.wire().find("detach(h0 closed amqp:link:transfer-limit-exceeded)"),
              std::string::npos);
}

TEST_F(ReceiverCredit, ThatThePeerKnowsToBeTakenBackMayNotBeUsedEvenIfItWasToldTwice)
{
    attached().set_credit(10);
    std::ignore = peer.wire();
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=10)");
    r->set_credit(2);
    std::ignore = peer.wire();
    view(0, 2);
    deliver(0, 3);
    EXPECT_EQ(peer.deliveries.size(), 2u);
    EXPECT_NE(peer.wire().find("detach(h0 closed amqp:link:transfer-limit-exceeded)"),
              std::string::npos);
}

TEST_F(ReceiverCredit, StartsWhereTheSenderCounts)
{
    attached(10, 4294967290);
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=4294967290 lc=10)");
    deliver(0, 10);
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=10 iw=2048 noi=0 h0 dc=4 lc=0)");
}

TEST_F(ReceiverCredit, IsGoneWhenADrainIsAnswered)
{
    attached().set_credit(10);
    std::ignore = peer.wire();
    r->drain();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=10 drain)");
    deliver(0, 3);
    peer.forget_so_far();
    view(10, 0, true);
    EXPECT_EQ(peer.events(), "drained(R)");
    EXPECT_EQ(r->credit(), 0u);
    EXPECT_EQ(r->delivery_count(), sequence_number{10});
    r->set_credit(1);
    EXPECT_EQ(peer.wire(), "flow(nii=3 iw=2048 noi=0 h0 dc=10 lc=1)") << "and drain is off again";
}

TEST_F(ReceiverCredit, ThatIsUsedUpEndsADrainToo)
{
    attached().set_credit(2);
    std::ignore = peer.wire();
    r->drain();
    std::ignore = peer.wire();
    deliver(0, 2);
    EXPECT_EQ(peer.events(), "delivery(R 0 'x') delivery(R 1 'x') drained(R)");
}

TEST_F(ReceiverCredit, OfADrainIsAwaitedUntilTheLastDeliveryIsWhole)
{
    attached().set_credit(1);
    std::ignore = peer.wire();
    r->drain();
    std::ignore = peer.wire();
    peer.send(engine_peer::first_frame(0, true), "a");
    EXPECT_EQ(peer.events(), "");
    peer.send(transfer{}, "b");
    EXPECT_EQ(peer.events(), "delivery(R 0 'ab') drained(R)");
}

TEST_F(ReceiverCredit, ThatIsNotThereIsDrainedAtOnce)
{
    attached().drain();
    EXPECT_EQ(peer.events(), "drained(R)");
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(ReceiverCredit, OfAWindowIsNotRenewedWhileADrainIsOn)
{
    attached(4);
    deliver(0, 2);
    r->drain();
    std::ignore = peer.wire();
    for (auto* const d : peer.deliveries) std::ignore = r->settle(*d);
    EXPECT_EQ(peer.wire(), "disposition(receiver 0..1 settled accepted)");
    view(4, 0, true);
    peer.forget_so_far();
    r->set_credit_window(4);
    EXPECT_EQ(peer.wire(), "flow(nii=2 iw=2048 noi=0 h0 dc=4 lc=4)");
}

TEST_F(ReceiverCredit, TellsWhatTheSenderHasReady)
{
    attached(10);
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 9,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 10u,
                   .available = 77u});
    EXPECT_EQ(r->available(), 77u);
}

TEST_F(ReceiverCredit, ComesBackFromDeliveriesThatAreAborted)
{
    attached(2);
    peer.send(engine_peer::first_frame(0, true), "ab");
    peer.send(transfer{.delivery_id = delivery_number{0}, .aborted = true}, "zz");
    peer.send(engine_peer::first_frame(1), "cd");
    EXPECT_EQ(peer.events(), "delivery_aborted(R delivery_aborted 0) delivery(R 1 'cd')");
    auto const flows = peer.wire();
    EXPECT_EQ(flows.find("disposition"), std::string::npos) << flows;
    std::ignore = r->settle(*peer.deliveries.at(0));
    EXPECT_EQ(peer.wire(),
              "disposition(receiver 1 settled accepted) flow(nii=3 iw=2048 noi=0 h0 dc=2 lc=2)");
}

}  // namespace
}  // namespace sluice::test
