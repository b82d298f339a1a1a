// Windows in both directions, and flows that are not exact. [2.5.6]
#include "support/engine_peer.hpp"

#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct OutgoingWindow : testing::Test {
    OutgoingWindow() : s{(peer.open_session(), peer.open_sender())}
    {
        peer.grant(100, s);
        peer.forget_so_far();
    }
    void queue(int count)
    {
        for (auto i = 0; i < count; ++i) std::ignore = s.send({body}, {.settled = true});
    }
    /// What the peer has taken, and how much more it takes.
    void news(std::uint32_t taken, std::uint32_t frames)
    {
        peer.send(flow{.next_incoming_id = transfer_id{taken}, .incoming_window = frames});
    }
    std::size_t transfers()
    {
        std::size_t count = 0;
        for (auto const& frame : peer.frames()) count += frame.descriptor() == 0x14 ? 1 : 0;
        return count;
    }

    engine_peer peer;
    e::sender& s;
    bytes const body = octets_of("x");
};

TEST_F(OutgoingWindow, ThatLiesBehindWhatWasSentIsShutAndNotHuge)
{
    queue(15);
    EXPECT_EQ(transfers(), 15u);
    queue(20);
    news(10, 2);  // 10 + 2 - 15 = -3; it was 2048 a moment ago
    EXPECT_EQ(peer.session->remote_incoming_window(), 0u);
}

TEST_F(OutgoingWindow, OpensByWhatTheNextFlowSays)
{
    news(0, 15);
    queue(40);
    EXPECT_EQ(transfers(), 15u);
    news(10, 2);
    EXPECT_EQ(transfers(), 0u);
    news(15, 2);
    EXPECT_EQ(transfers(), 2u);
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{17});
}

TEST_F(OutgoingWindow, MayBeLargerThanHalfOfTheCircle)
{
    news(0, 4294967295);
    EXPECT_EQ(peer.session->remote_incoming_window(), 4294967295u);
    queue(5);
    EXPECT_EQ(transfers(), 5u);
    news(2, 4294967295);
    EXPECT_EQ(peer.session->remote_incoming_window(), 4294967292u);
}

TEST_F(OutgoingWindow, CountsFromOurFirstIdForAPeerThatHadNotSeenOurBegin)
{
    queue(3);
    EXPECT_EQ(transfers(), 3u);
    peer.send(flow{.incoming_window = 5});
    EXPECT_EQ(peer.session->remote_incoming_window(), 2u);
}

TEST_F(OutgoingWindow, AsksForNewsOnceWhenItIsHalfUsedAndTransfersWait)
{
    news(0, 10);
    peer.forget_so_far();
    queue(40);
    auto const text = peer.wire();
    EXPECT_NE(text.find("flow(nii=0 iw=2048 noi=6 echo)"), std::string::npos) << text;
    EXPECT_EQ(text.find("echo"), text.rfind("echo")) << "once a window: " << text;
    news(10, 0);
    EXPECT_EQ(peer.wire(), "") << "asking again at once would never end";
    news(10, 10);
    EXPECT_NE(peer.wire().find("noi=16 echo"), std::string::npos);
}

TEST_F(OutgoingWindow, AsksForNewsEvenIfItIsOneFrame)
{
    news(0, 1);
    queue(2);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled 'x') flow(nii=0 iw=2048 noi=1 echo)");
}

TEST_F(OutgoingWindow, AsksForNothingWhileNoTransferWaits)
{
    news(0, 10);
    queue(10);
    std::ignore = peer.frames();
    peer.session->request_flow();
    EXPECT_EQ(peer.wire().find("echo"), std::string::npos);
}

TEST_F(OutgoingWindow, AsksForNewsWhenATransferComesToAShutWindow)
{
    news(0, 0);
    EXPECT_EQ(peer.wire(), "");
    queue(1);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 echo)");
}

TEST_F(OutgoingWindow, OfAPeerThatCountsWhatWasNotSentEndsTheSession)
{
    queue(3);
    std::ignore = peer.frames();
    news(4, 10);
    EXPECT_EQ(peer.wire(), "end(amqp:session:window-violation)");
    auto const& text = peer.session->error().description;
    EXPECT_NE(text.find("next-incoming-id 4"), std::string::npos) << text;
    EXPECT_NE(text.find("3"), std::string::npos) << text;
    EXPECT_TRUE(peer.engine.opened());
}

struct IncomingWindow : testing::Test {
    void open(e::session_options options, std::uint32_t credit)
    {
        peer.open_session(std::move(options));
        r = &peer.open_receiver(link_named("R", 0));
        r->set_credit(credit);
        peer.forget_so_far();
    }
    void deliver(std::uint32_t from, std::uint32_t count, std::string_view payload = "x")
    {
        for (std::uint32_t i = 0; i < count; ++i)
            peer.send(engine_peer::first_frame(from + i), payload);
    }

    engine_peer peer;
    e::receiver* r = nullptr;
};

TEST_F(IncomingWindow, IsRenewedUnaskedBeforeThePeerRunsDry)
{
    open({.incoming_window = 100}, 1000);
    auto edge = 100u;
    auto flows = 0;
    for (std::uint32_t id = 0; id < 1000; ++id) {
        ASSERT_LT(id, edge) << "the peer has run dry";
        deliver(id, 1);
        for (auto const& frame : peer.frames()) {
            auto const f = frame.as<flow>();
            ASSERT_EQ(f.next_incoming_id, transfer_id{id + 1});
            edge = f.next_incoming_id->value() + f.incoming_window;
            ++flows;
        }
    }
    EXPECT_EQ(peer.deliveries.size(), 1000u);
    EXPECT_LE(flows, 1000 / 50);
}

TEST_F(IncomingWindow, CountsOverTheWrap)
{
    peer.open_session({}, {.next_outgoing_id = transfer_id{4294967293}, .incoming_window = 9});
    r = &peer.open_receiver(link_named("R", 0));
    r->set_credit(10);
    EXPECT_EQ(peer.wire(), "flow(nii=4294967293 iw=2048 noi=0 h0 dc=0 lc=10)");
    deliver(4294967293, 5);
    EXPECT_EQ(peer.events(),
              "delivery(R 4294967293 'x') delivery(R 4294967294 'x') delivery(R 4294967295 'x') "
              "delivery(R 0 'x') delivery(R 1 'x')");
    for (auto* const d : peer.deliveries) std::ignore = r->settle(*d);
    r->request_flow();
    EXPECT_EQ(peer.wire(), "disposition(receiver 4294967293..1 settled accepted) flow(nii=2 "
                           "iw=2048 noi=0 h0 dc=5 lc=5)");
}

TEST_F(IncomingWindow, ThatIsOverrunEndsTheSession)
{
    open({.incoming_window = 4}, 1000);
    for (std::uint32_t id = 0; id < 5; ++id)
        std::ignore = peer.engine.receive(frame_of(engine_peer::first_frame(id), "x"), peer.now);
    EXPECT_EQ(peer.wire(), "end(amqp:session:window-violation)")
        << "no flow of ours was written in between";
    auto const& text = peer.session->error().description;
    EXPECT_NE(text.find("transfer 4"), std::string::npos) << text;
    EXPECT_NE(text.find("ends before 4"), std::string::npos) << text;
    EXPECT_TRUE(peer.engine.opened());
}

TEST_F(IncomingWindow, CountsFramesOfEveryKind)
{
    open({.incoming_window = 2048}, 10);
    peer.send(engine_peer::first_frame(0, true), "a");
    peer.send(transfer{.more = true});           // empty
    peer.send(transfer{.more = true}, "b");      // continuation
    peer.send(transfer{.aborted = true}, "zz");  // aborted
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=2048 noi=0)");
}

TEST_F(IncomingWindow, OfAStrictSessionEndsForAFlowOneTooLowOrTooHigh)
{
    for (auto const claimed : {2u, 4u}) {
        engine_peer p;
        p.open_session({.policy = e::flow_policy::strict});
        p.open_receiver(link_named("R", 10));
        for (std::uint32_t id = 0; id < 3; ++id) p.send(engine_peer::first_frame(id), "x");
        p.forget_so_far();
        p.send(flow{.next_incoming_id = transfer_id{0},
                    .incoming_window = 9,
                    .next_outgoing_id = transfer_id{claimed}});
        EXPECT_EQ(p.wire(), "end(amqp:session:window-violation)");
        auto const& text = p.session->error().description;
        EXPECT_NE(text.find("next-outgoing-id " + std::to_string(claimed)), std::string::npos)
            << text;
        EXPECT_NE(text.find("; 3 is"), std::string::npos) << text;
        EXPECT_EQ(p.session->counters().flow_mismatches, 1u);
        EXPECT_TRUE(p.engine.opened());
    }
}

TEST_F(IncomingWindow, OfAStrictSessionTakesAnExactFlowOverTheWrap)
{
    peer.open_session({.policy = e::flow_policy::strict},
                      {.next_outgoing_id = transfer_id{4294967295}});
    r = &peer.open_receiver(link_named("R", 10));
    deliver(0, 2);
    peer.forget_so_far();
    peer.send(
        flow{.next_incoming_id = transfer_id{0}, .next_outgoing_id = transfer_id{1}, .echo = true});
    EXPECT_EQ(peer.wire(), "flow(nii=1 iw=2048 noi=0)");
}

TEST_F(IncomingWindow, OfATolerantSessionTakesThePeersValueReportsItAndKeepsItsPromise)
{
    open({.incoming_window = 10}, 1000);
    deliver(0, 3);
    peer.forget_so_far();
    auto const claim = [&](std::uint32_t id) {
        peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 9,
                       .next_outgoing_id = transfer_id{id}});
    };
    claim(2);
    EXPECT_EQ(peer.events(), "flow_mismatch(expected=3 actual=2)");
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=2 iw=11 noi=0)")
        << "up to 13, for 3 frames are here and 10 more have room";
    deliver(3, 1);
    claim(4);
    EXPECT_EQ(peer.events(), "delivery(R 3 'x')")
        << "judged against the frames seen, not against the last claim";
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4 iw=10 noi=0)");
    EXPECT_EQ(peer.session->counters().flow_mismatches, 1u);
}

}  // namespace
}  // namespace sluice::test
