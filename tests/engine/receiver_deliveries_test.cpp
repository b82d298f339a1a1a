// How frames become deliveries, and how deliveries are settled. [2.6.12, 2.6.14, 2.7.5]
#include "support/engine_peer.hpp"

#include <sluice/engine/receiver.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct Deliveries : testing::Test {
    Deliveries() : r{(peer.open_session(), peer.open_receiver(link_named("R", 10)))} {}

    transfer first_on(std::uint32_t h, std::uint32_t id, bool more)
    {
        auto t = engine_peer::first_frame(id, more);
        t.handle = handle{h};
        return t;
    }

    engine_peer peer;
    e::receiver& r;
};

TEST_F(Deliveries, ArePutTogetherFromFramesThatDoNotRepeatTheirId)
{
    peer.send(engine_peer::first_frame(7, true), "one,");
    peer.send(transfer{.more = true}, "two,");
    EXPECT_EQ(peer.events(), "");
    peer.send(transfer{}, "three");
    EXPECT_EQ(peer.events(), "delivery(R 7 'one,two,three')");
    std::ignore = r.settle(*peer.deliveries.at(0));
    EXPECT_EQ(peer.wire(), "disposition(receiver 7 settled accepted)");
}

TEST_F(Deliveries, MayRepeatTheirId)
{
    peer.send(engine_peer::first_frame(7, true), "one,");
    peer.send(transfer{.delivery_id = delivery_number{7}}, "two");
    EXPECT_EQ(peer.events(), "delivery(R 7 'one,two')");
}

TEST_F(Deliveries, WhoseContinuationNamesAnotherIdDetachTheirLink)
{
    peer.send(engine_peer::first_frame(7, true), "one,");
    peer.send(transfer{.delivery_id = delivery_number{8}}, "two");
    EXPECT_EQ(peer.events(), "link_detached(R delivery_id amqp:invalid-field)");
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:invalid-field)");
    auto const& text = r.error().description;
    EXPECT_NE(text.find("delivery-id 8"), std::string::npos) << text;
    EXPECT_NE(text.find("delivery 7"), std::string::npos) << text;
}

TEST_F(Deliveries, OfTwoLinksMayBeInterleaved)
{
    peer.open_receiver(link_named("Q", 10));
    peer.send(first_on(0, 0, true), "A1");
    peer.send(first_on(1, 1, true), "B1");
    peer.send(transfer{.handle = handle{0}}, "A2");
    peer.send(transfer{.handle = handle{1}}, "B2");
    EXPECT_EQ(peer.events(), "delivery(R 0 'A1A2') delivery(Q 1 'B1B2')");
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=2048 noi=0)");
}

TEST_F(Deliveries, ThatAreAbortedAreNeverSeenAndNotAnswered)
{
    peer.send(engine_peer::first_frame(0, true), "ab");
    peer.send(transfer{.delivery_id = delivery_number{0}, .aborted = true}, "zz");
    peer.send(engine_peer::first_frame(1), "cd");
    EXPECT_EQ(peer.events(), "delivery_aborted(R delivery_aborted 0) delivery(R 1 'cd')");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(r.delivery_count(), sequence_number{2});
    EXPECT_EQ(r.held(), 1u);
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=3 iw=2048 noi=0)");
}

TEST_F(Deliveries, ThatAreAbortedInTheirFirstFrameAreNeverSeen)
{
    auto t = engine_peer::first_frame(0);
    t.aborted = true;
    peer.send(t, "zz");
    peer.send(engine_peer::first_frame(1), "cd");
    EXPECT_EQ(peer.events(), "delivery_aborted(R delivery_aborted 0) delivery(R 1 'cd')");
    EXPECT_EQ(r.held(), 1u);
}

TEST_F(Deliveries, OutOfSequenceEndTheSession)
{
    peer.send(engine_peer::first_frame(5), "x");
    peer.send(engine_peer::first_frame(7), "y");
    EXPECT_EQ(peer.events(), "delivery(R 5 'x') session_ended(delivery_id amqp:invalid-field)");
    EXPECT_EQ(peer.wire(), "end(amqp:invalid-field)");
    EXPECT_EQ(peer.session->error().description,
              "delivery-id 7 is out of sequence; expected 6 [2.7.5]");
    EXPECT_TRUE(peer.engine.opened());
}

TEST_F(Deliveries, AreInSequenceOverTheWrapAndOverLinks)
{
    peer.open_receiver(link_named("Q", 10));
    peer.send(first_on(0, 4294967295, false), "x");
    peer.send(first_on(1, 0, false), "y");
    EXPECT_EQ(peer.events(), "delivery(R 4294967295 'x') delivery(Q 0 'y')");
}

TEST_F(Deliveries, StayInSequenceWhereTheirLinkIsGone)
{
    auto& q = peer.open_receiver(link_named("Q", 10));
    std::ignore = r.detach();
    std::ignore = peer.wire();
    peer.send(first_on(0, 0, false), "dropped");
    peer.send(first_on(q.local_handle().value, 1, false), "kept");
    EXPECT_EQ(peer.events(), "delivery(Q 1 'kept')");
}

TEST_F(Deliveries, WithoutIdOrTagDetachTheirLink)
{
    peer.send(transfer{.delivery_id = delivery_number{0}}, "x");
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:invalid-field)");
    EXPECT_NE(r.error().description.find("no delivery-tag"), std::string::npos);
    auto& q = peer.open_receiver(link_named("Q", 10));
    auto t = engine_peer::first_frame(0);
    t.handle = q.local_handle();
    t.delivery_id.reset();
    peer.send(t, "x");
    EXPECT_EQ(peer.wire(), "detach(h1 closed amqp:invalid-field)");
    EXPECT_NE(q.error().description.find("no delivery-id"), std::string::npos);
    EXPECT_EQ(peer.events(), "link_detached(Q error4 amqp:invalid-field)");
}

TEST_F(Deliveries, BeyondOurMaxMessageSizeDetachTheirLink)
{
    for (auto const in_parts : {false, true}) {
        auto options = link_named(in_parts ? "parts" : "whole", 10);
        options.max_message_size = 10;
        auto& q = peer.open_receiver(std::move(options));
        auto const h = q.local_handle().value;
        peer.send(first_on(h, in_parts ? 2 : 0, false), "0123456789");
        EXPECT_NE(peer.events().find("'0123456789'"), std::string::npos) << "exactly the limit";
        peer.send(first_on(h, in_parts ? 3 : 1, in_parts), in_parts ? "0123456789" : "0123456789a");
        if (in_parts)
            peer.send(transfer{.handle = handle{h}}, "a");
        EXPECT_NE(peer.wire().find("amqp:link:message-size-exceeded"), std::string::npos)
            << in_parts;
        auto const& text = q.error().description;
        EXPECT_NE(text.find("11 octets"), std::string::npos) << text;
        EXPECT_NE(text.find("is 10"), std::string::npos) << text;
    }
    EXPECT_EQ(peer.session->state(), e::session_state::mapped);
}

TEST_F(Deliveries, FromTheReceivingEndOfALinkDetachIt)
{
    peer.open_sender(link_named("S"));
    peer.send(transfer{.handle = handle{1}}, "x");
    EXPECT_EQ(peer.wire(), "detach(h1 closed amqp:not-allowed)");
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=1 iw=2048 noi=0)");
}

TEST_F(Deliveries, ThatTheSenderHasSettledNeedNoAnswer)
{
    auto t = engine_peer::first_frame(0);
    t.settled = true;
    peer.send(t, "x");
    EXPECT_EQ(peer.events(), "delivery(R 0 settled 'x')");
    EXPECT_FALSE(r.settle(*peer.deliveries.at(0)));
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(r.held(), 0u);
}

TEST_F(Deliveries, AreAnsweredWithTheOutcomeThatTheirOwnerNames)
{
    for (std::uint32_t id = 0; id < 5; ++id) peer.send(engine_peer::first_frame(id), "x");
    auto const& d = peer.deliveries;
    std::ignore = r.settle(*d[0]);
    auto const modified_state = encoded(delivery_state{modified{.delivery_failed = true}});
    auto const rejected_state =
        encoded(delivery_state{rejected{.error = error_view{.condition = "amqp:not-allowed"}}});
    auto const released_state = encoded(delivery_state{released{}});
    std::ignore = r.settle(*d[1], {modified_state});
    std::ignore = r.settle(*d[2], {rejected_state});
    std::ignore = r.settle(*d[3], {released_state});
    std::ignore = r.settle(*d[4], {});
    auto const frames = peer.frames();
    std::string text;
    for (auto const& frame : frames) text += frame.text() + " ";
    EXPECT_EQ(text,
              "disposition(receiver 0 settled accepted) disposition(receiver 1 settled modified) "
              "disposition(receiver 2 settled rejected) disposition(receiver 3 settled released) "
              "disposition(receiver 4 settled) flow(nii=5 iw=2048 noi=0 h0 dc=5 lc=10) ");
    EXPECT_TRUE(same_bytes(frames.at(2).as<disposition>().state.encoded, rejected_state));
}

TEST_F(Deliveries, MayBeToldAnOutcomeAheadOfTheirSettlement)
{
    peer.send(engine_peer::first_frame(0), "x");
    auto const state = encoded(delivery_state{received{.section_number = 1}});
    EXPECT_FALSE(r.update(*peer.deliveries.at(0), {state}));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 received)");
    EXPECT_EQ(r.held(), 1u);
    EXPECT_FALSE(r.settle(*peer.deliveries.at(0)));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled accepted)");
}

TEST_F(Deliveries, ThatTheirSenderSettlesFirstAreReportedAndStayUntilTheirOwnerIsDone)
{
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    peer.send(disposition{.role = role::sender, .settled = true});
    EXPECT_EQ(peer.events(), "delivery_settled(R 0)");
    EXPECT_EQ(r.held(), 1u);
    EXPECT_EQ(r.settle(*peer.deliveries.at(0)), error::already_settled);
    EXPECT_EQ(r.held(), 0u);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(Deliveries, OutliveTheirLinkUntilTheirOwnerIsDone)
{
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    peer.send(detach{.closed = true});
    peer.forget_so_far();
    auto& d = *peer.deliveries.at(0);
    EXPECT_TRUE(same_bytes(d.body(), octets_of("x")));
    EXPECT_EQ(r.settle(d), error::already_settled);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(Deliveries, GiveTheirMessageAwayWithoutCopying)
{
    peer.send(engine_peer::first_frame(0), std::string(5000, 'x'));
    auto& d = *peer.deliveries.at(0);
    auto const* const at = d.body().data();
    auto const taken = r.take_body(d);
    EXPECT_EQ(taken.data(), at);
    EXPECT_EQ(taken.size(), 5000u);
    EXPECT_EQ(r.unread_bytes(), 0u);
    EXPECT_FALSE(r.settle(d));
}

TEST_F(Deliveries, InModeSecondStayUntilTheirSenderSettlesThem)
{
    auto options = link_named("Q", 10);
    options.rcv_settle_mode = receiver_settle_mode::second;
    auto& q =
        peer.open_receiver(std::move(options), {.rcv_settle_mode = receiver_settle_mode::second});
    EXPECT_EQ(q.rcv_settle_mode(), receiver_settle_mode::second);
    for (std::uint32_t id = 0; id < 10000; ++id) {
        peer.send(first_on(1, id, false), "x");
        peer.forget_so_far();
        ASSERT_FALSE(q.settle(*peer.deliveries.back()));
        auto const id_text = std::to_string(id);
        ASSERT_EQ(peer.wire(), "disposition(receiver " + id_text + " accepted)");
        ASSERT_EQ(q.held(), 1u);
        peer.send(disposition{.role = role::sender, .first = delivery_number{id}, .settled = true});
        ASSERT_EQ(peer.events(), "delivery_settled(Q " + id_text + ")");
        ASSERT_EQ(q.held(), 0u);
        std::ignore = peer.wire();
    }
    auto left = 0;
    q.for_each_delivery([&](e::incoming_delivery&) { ++left; });
    EXPECT_EQ(left, 0);
}

TEST_F(Deliveries, AreSettledAtOnceIfThePeerDoesNotDoModeSecond)
{
    auto options = link_named("Q", 10);
    options.rcv_settle_mode = receiver_settle_mode::second;
    auto& q =
        peer.open_receiver(std::move(options), {.rcv_settle_mode = receiver_settle_mode::first});
    EXPECT_EQ(q.rcv_settle_mode(), receiver_settle_mode::first);
    peer.send(first_on(1, 0, false), "x");
    EXPECT_FALSE(q.settle(*peer.deliveries.back()));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled accepted)");
}

TEST_F(Deliveries, AreSettledByARangeOverTheWrapThatTheirSenderSends)
{
    for (std::uint32_t i = 0; i < 4; ++i) peer.send(engine_peer::first_frame(4294967294 + i), "x");
    peer.forget_so_far();
    peer.send(disposition{.role = role::sender,
                          .first = delivery_number{4294967294},
                          .last = delivery_number{1},
                          .settled = true});
    EXPECT_EQ(peer.events(), "delivery_settled(R 4294967294) delivery_settled(R 4294967295) "
                             "delivery_settled(R 0) delivery_settled(R 1)");
}

TEST_F(Deliveries, MayComeInThousandsOfFrames)
{
    peer.send(engine_peer::first_frame(0, true), std::string(16000, 'x'));
    for (auto i = 0; i < 998; ++i) {
        peer.send(transfer{.more = true}, std::string(16000, 'x'));
        std::ignore = peer.frames();
    }
    peer.send(transfer{}, "end");
    EXPECT_EQ(peer.events(), "delivery(R 0 " + std::to_string(999 * 16000 + 3) + " octets)");
}

}  // namespace
}  // namespace sluice::test
