// What goes before what: ends, detaches, dispositions, and turns between links. [2.5, 2.6]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/write_queue.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using engine::pull_status;

/// A session whose peer has opened its window by as many frames as a test says.
struct Order : testing::Test {
    Order() { peer.open_session(); }

    void window(std::uint32_t frames) { peer.window(frames); }
    e::sender& sender_with_credit(char const* name, std::uint32_t credit = 100)
    {
        auto& s = peer.open_sender(link_named(name));
        peer.grant(credit, s);
        peer.forget_so_far();
        return s;
    }

    engine_peer peer{{.outgoing_frame_max = 512}};
    bytes const body = octets_of("x");
    bytes const large = octets_of(std::string(1200, 'y'));  // three frames
};

TEST_F(Order, ADetachWaitsForTheDeliveryThatHasBegunAndWithdrawsTheOthers)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = s.send({body});
    std::ignore = peer.frames();
    EXPECT_FALSE(s.detach());
    EXPECT_EQ(peer.events(), "aborted(S closed_locally)");
    EXPECT_EQ(peer.wire(), "");
    window(1);
    EXPECT_EQ(peer.frames().at(0).text(), "transfer(h0 more 472 octets)");
    window(5);
    EXPECT_EQ(peer.wire(), "transfer(h0 276 octets) detach(h0 closed)");
}

// Nothing can be finished any more, and the end behind it waits for nothing else. [2.6.6]
TEST_F(Order, ADetachThatWaitsForADeliveryGoesOutWhenThePeerDetaches)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    EXPECT_FALSE(s.detach());
    EXPECT_FALSE(peer.session->end());
    EXPECT_EQ(peer.wire(), "");
    peer.send(detach{.handle = handle{0}, .closed = true});
    EXPECT_EQ(peer.wire(), "detach(h0 closed) end()");
}

TEST_F(Order, ADetachThatOvertakesAbortsTheDeliveryThatHasBegun)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    window(5);
    EXPECT_FALSE(s.detach(true, {}, true));
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted) detach(h0 closed)");
    EXPECT_EQ(peer.events(), "aborted(S cancelled)");
}

TEST_F(Order, ADetachThatOvertakesDoesNotWaitForAWindowThatIsShut)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    EXPECT_FALSE(s.detach());
    EXPECT_EQ(peer.wire(), "");
    EXPECT_FALSE(s.detach(true, {}, true)) << "gives up waiting";
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
}

TEST_F(Order, ADetachWithAnErrorOvertakes)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    EXPECT_FALSE(s.detach(true, {.condition = condition::internal_error}));
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:internal-error)");
}

TEST_F(Order, ADetachFollowsItsLinksDispositionsAndItsFlowBecomesTheSessions)
{
    auto& r = peer.open_receiver(link_named("R", 10));
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    r.request_flow();
    std::ignore = r.settle(*peer.deliveries.at(0));
    EXPECT_FALSE(r.detach());
    EXPECT_EQ(
        peer.wire(),
        "disposition(receiver 0 settled accepted) detach(h0 closed) flow(nii=1 iw=2048 noi=0)");
}

TEST_F(Order, AnAttachIsBeforeItsDetach)
{
    auto* const s = *peer.session->attach_sender(link_named("S"));
    EXPECT_FALSE(s->detach(true, {.condition = condition::internal_error}));
    EXPECT_EQ(peer.wire(), "attach(S h0 sender) detach(h0 closed amqp:internal-error)");
}

TEST_F(Order, AnEndWaitsForWhatHasBegun)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = s.send({body});
    std::ignore = peer.frames();
    EXPECT_FALSE(peer.session->end());
    EXPECT_EQ(peer.events(), "aborted(S closed_locally)");
    EXPECT_EQ(peer.wire(), "");
    window(5);
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[2].text(), "end()");
}

TEST_F(Order, AnEndThatOvertakesWaitsForNothing)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    EXPECT_FALSE(peer.session->end());
    EXPECT_FALSE(peer.session->end({}, true));
    EXPECT_EQ(peer.wire(), "end()");
}

TEST_F(Order, AnEndFollowsDispositionsAndDetaches)
{
    auto& r = peer.open_receiver(link_named("R", 10));
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    std::ignore = r.settle(*peer.deliveries.at(0));
    std::ignore = r.detach();
    std::ignore = peer.session->end();
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled accepted) detach(h0 closed) end()");
}

TEST_F(Order, ACloseWaitsForTheEndsOfItsSessions)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    std::ignore = peer.engine.close();
    EXPECT_EQ(peer.wire(), "");
    window(5);
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 4u);
    EXPECT_EQ(frames[2].text() + " " + frames[3].text(), "end() close()");
}

TEST_F(Order, ACloseThatOvertakesWaitsForNothing)
{
    auto& s = sender_with_credit("S");
    window(1);
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    std::ignore = peer.engine.close();
    EXPECT_FALSE(peer.engine.close({}, true));
    EXPECT_EQ(peer.wire(), "close()");
}

TEST_F(Order, DispositionsOfNeighboursBecomeOneRange)
{
    auto& r = peer.open_receiver(link_named("R", 100));
    for (std::uint32_t id = 0; id < 10; ++id) peer.send(engine_peer::first_frame(id), "x");
    peer.forget_so_far();
    auto const state = encoded(delivery_state{released{}});
    auto const& d = peer.deliveries;
    for (auto const id : {0u, 1u, 2u}) std::ignore = r.settle(*d[id]);
    for (auto const id : {3u, 4u}) std::ignore = r.settle(*d[id], {state});
    for (auto const id : {6u, 7u, 5u, 8u}) std::ignore = r.settle(*d[id]);
    EXPECT_EQ(
        peer.wire(),
        "disposition(receiver 0..2 settled accepted) disposition(receiver 3..4 settled released) "
        "disposition(receiver 6..7 settled accepted) disposition(receiver 5 settled accepted) "
        "disposition(receiver 8 settled accepted)");
}

TEST_F(Order, ADispositionThatIsWrittenIsNotAddedTo)
{
    auto& r = peer.open_receiver(link_named("R", 100));
    for (std::uint32_t id = 0; id < 2; ++id) peer.send(engine_peer::first_frame(id), "x");
    peer.forget_so_far();
    std::ignore = r.settle(*peer.deliveries[0]);
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled accepted)");
    std::ignore = r.settle(*peer.deliveries[1]);
    EXPECT_EQ(peer.wire(), "disposition(receiver 1 settled accepted)");
}

TEST_F(Order, LinksTakeTurnsFrameByFrameAndOneLinksDeliveriesNeverMix)
{
    auto& a = sender_with_credit("A");
    auto& b = sender_with_credit("B");
    std::ignore = a.send({large}, {.settled = true});
    std::ignore = a.send({body}, {.settled = true});
    std::ignore = b.send({large}, {.settled = true});
    std::ignore = b.send({body}, {.settled = true});
    std::string order;
    for (auto const& frame : peer.frames()) {
        auto const t = frame.as<transfer>();
        order += (t.handle.value == 0 ? "a" : "b")
                 + (t.delivery_id ? std::to_string(t.delivery_id->value()) : "+") + " ";
    }
    EXPECT_EQ(order, "a0 b1 a+ b+ a+ b+ a2 b3 ");
}

TEST_F(Order, AHugeMessageDelaysASmallOneByAFrame)
{
    auto& a = sender_with_credit("A");
    auto& b = sender_with_credit("B");
    auto const huge = octets_of(std::string(100'000, 'z'));
    std::ignore = a.send({huge}, {.settled = true});
    std::ignore = peer.wire_once(512);
    std::ignore = b.send({body}, {.settled = true});
    auto const frames = peer.frames();
    EXPECT_EQ(frames.at(0).as<transfer>().handle.value + frames.at(1).as<transfer>().handle.value,
              1u);
}

TEST_F(Order, ALinkWithoutCreditHoldsNobodyBack)
{
    auto& poor = peer.open_sender(link_named("poor"));
    auto& rich = sender_with_credit("rich");
    auto& r = peer.open_receiver(link_named("R"));
    std::ignore = poor.send({body});
    std::ignore = rich.send({body});
    r.set_credit(1);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h2 dc=0 lc=1) transfer(h1 id=0 'x')");
}

TEST_F(Order, AShutWindowHoldsBackTransfersOnly)
{
    auto& s = sender_with_credit("S");
    auto& r = peer.open_receiver(link_named("R", 10));
    auto t = engine_peer::first_frame(0);
    t.handle = r.local_handle();
    peer.send(t, "x");
    window(0);
    peer.forget_so_far();
    std::ignore = s.send({body});
    std::ignore = r.settle(*peer.deliveries.at(0));
    r.request_flow();
    std::ignore = peer.session->attach_sender(link_named("T"));
    auto const text = peer.wire();
    EXPECT_NE(text.find("disposition(receiver 0"), std::string::npos) << text;
    EXPECT_NE(text.find("flow(nii=1"), std::string::npos) << text;
    EXPECT_NE(text.find("attach(T"), std::string::npos) << text;
    EXPECT_EQ(text.find("transfer"), std::string::npos) << text;
}

TEST_F(Order, AShutSessionHoldsNoOtherSessionBack)
{
    auto& s = sender_with_credit("S");
    window(0);
    std::ignore = s.send({body});
    std::ignore = peer.frames();
    auto* const other = *peer.engine.begin();
    auto* const t = *other->attach_sender(link_named("T"));
    EXPECT_EQ(peer.wire(), "#1 begin(noi=0 iw=2048) #1 attach(T h0 sender)");
    peer.send(begin{.remote_channel = std::uint16_t{1}, .incoming_window = 5}, {}, 1);
    auto const target = some_target();
    peer.send(attach{.name = "T", .role = role::receiver, .source = {target}, .target = {target}},
              {}, 1);
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 5,
                   .handle = handle{0},
                   .link_credit = 5u},
              {}, 1);
    std::ignore = t->send({body});
    EXPECT_EQ(peer.wire(), "#1 transfer(h0 id=0 'x')");
}

TEST_F(Order, FramesAreAsLargeAsThePeerAndWeAllow)
{
    struct row {
        std::uint32_t ours, theirs, expected;
    };
    for (auto const& [ours, theirs, expected] : std::initializer_list<row>{
             {4096, 1024, 1024}, {1024, 4096, 1024}, {65536, 4294967295, 65536}}) {
        engine_peer p{{.outgoing_frame_max = ours}};
        p.open({.container_id = "peer", .max_frame_size = theirs});
        p.open_session();
        auto& s = p.open_sender();
        p.grant(1, s);
        auto const huge = octets_of(std::string(200'000, 'z'));
        std::ignore = s.send({huge});
        auto const frames = p.frames();
        EXPECT_EQ(p.engine.outgoing_frame_max(), expected);
        for (auto const& frame : frames) EXPECT_LE(frame.octets.size(), expected);
        EXPECT_GT(frames.at(0).octets.size(), expected - 80);
    }
}

}  // namespace
}  // namespace sluice::test
