// What mechanical mutants of the write queue found untested: counters, links that go with something
// still queued, and copies of a payload at odd borders.
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using engine::pull_status;

TEST(Counters, CountEachKindOfFrameAndDelivery)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    auto& session = peer.open_session();
    auto& s = peer.open_sender(link_named("S"));
    auto& r = peer.open_receiver(link_named("R", 4));
    peer.grant(10, s);
    peer.forget_so_far();
    auto const before = session.counters();
    auto const frames_before = peer.engine.counters().frames_written;

    auto const large = octets_of(std::string(1200, 'y'));  // three frames
    std::ignore = s.send({large}, {.settled = true});
    auto* const half = *s.send({large});
    scripted_source source{{{pull_status::bytes, 10, [&] { r.request_flow(); }}}};
    std::ignore = s.send(source);
    auto first = engine_peer::first_frame(0);
    first.handle = handle{1};
    peer.send(first, "x");
    std::ignore = r.settle(*peer.deliveries.at(0));
    auto const frames = peer.frames();
    peer.send(disposition{.role = role::receiver, .settled = true});
    std::ignore = half;

    auto const now = session.counters();
    EXPECT_EQ(now.transfers_written - before.transfers_written, 7u);
    EXPECT_EQ(now.transfers_received - before.transfers_received, 1u);
    EXPECT_EQ(now.deliveries_sent - before.deliveries_sent, 2u);
    EXPECT_EQ(now.deliveries_received - before.deliveries_received, 1u);
    EXPECT_EQ(now.flows_written - before.flows_written, 1u);
    EXPECT_EQ(now.flows_deferred - before.flows_deferred, 1u);
    EXPECT_EQ(now.dispositions_written - before.dispositions_written, 1u);
    EXPECT_EQ(now.dispositions_received - before.dispositions_received, 1u);
    EXPECT_EQ(frames.size(), 9u);
    EXPECT_EQ(peer.engine.counters().frames_written - frames_before, frames.size());
}

TEST(Counters, CountAnAbortAsOneFrame)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    auto& session = peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(10, s);
    peer.forget_so_far();
    auto const frames_before = peer.engine.counters().frames_written;
    scripted_source source{{{pull_status::bytes, 10}, {pull_status::not_ready, 0}}};
    auto* const d = *s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbbbbbbb')");
    std::ignore = s.cancel(*d);
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted)");
    EXPECT_EQ(session.counters().transfers_written, 2u);
    EXPECT_EQ(session.counters().deliveries_sent, 0u);
    EXPECT_EQ(peer.engine.counters().frames_written - frames_before, 2u);
}

TEST(LeavingLink, TakesNoOtherLinksFlowAlong)
{
    engine_peer peer;
    auto& session = peer.open_session();
    auto& gone = peer.open_receiver(link_named("gone"));
    auto& stays = peer.open_receiver(link_named("stays"));
    gone.request_flow();
    stays.set_credit(3);
    peer.send(detach{.handle = handle{0}, .closed = true});
    session.forget(gone);
    EXPECT_EQ(peer.wire(), "detach(h0 closed) flow(nii=0 iw=2048 noi=0 h1 dc=0 lc=3)")
        << "the flow of the one that is gone became the session's, which this one answers";
}

TEST(LeavingLink, ThatNeverAttachedHoldsNoEndBack)
{
    engine_peer peer;
    peer.open();
    auto* const session = *peer.engine.begin();
    std::ignore = session->attach_sender(link_named("A"));
    auto* const b = *session->attach_sender(link_named("B"));  // waits for the peer's handle-max
    EXPECT_FALSE(b->detach());
    peer.forget_so_far();
    peer.send(begin{.remote_channel = std::uint16_t{0}, .handle_max = handle{0}});
    EXPECT_EQ(peer.events(), "session_begun() link_detached(B handle_max)");
    EXPECT_FALSE(session->end());
    EXPECT_EQ(peer.wire(), "end()");
}

TEST(LeavingLink, WhoseDetachOvertookSendsNothingWhenTheWindowOpens)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(10, s);
    peer.window(1);
    auto const large = octets_of(std::string(1200, 'y'));
    std::ignore = s.send({large});
    std::ignore = peer.frames();
    EXPECT_FALSE(s.detach(true, {}, true));
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    peer.window(100);
    EXPECT_EQ(peer.wire(), "");
}

TEST(LeavingLink, HearsNoDispositionThatComesTooLate)
{
    engine_peer peer;
    auto& session = peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(10, s);
    auto const body = octets_of("x");
    std::ignore = s.send({body});
    peer.forget_so_far();
    peer.send(detach{.handle = handle{0}, .closed = true});
    EXPECT_EQ(peer.events(), "link_detached(S detached_by_peer)");
    disposition const late{.role = role::receiver, .settled = true, .state = {encoded_accepted}};
    peer.send(late);
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    session.forget(s);
    peer.send(late);
    EXPECT_EQ(peer.events(), "");
}

TEST(AcceptedLink, SendsWhatWasQueuedBeforeItsAttachWasWritten)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    auto const target = some_target();
    peer.send(attach{.name = "L", .role = role::receiver, .target = {target}});
    auto* const s = static_cast<e::sender*>(peer.link);
    ASSERT_NE(s, nullptr);
    peer.grant(1, *s);  // pipelined: on the peer's handle, 0
    auto const body = octets_of("x");
    EXPECT_FALSE(s->attach(link_named("L")));
    ASSERT_TRUE(s->send({body}, {.settled = true}));
    EXPECT_EQ(peer.wire(), "attach(L h0 sender) transfer(h0 id=0 settled 'x')");
}

TEST(AttachFrame, SaysMaxMessageSizeIfThereIsOne)
{
    engine_peer peer;
    auto& session = peer.open_session();
    auto options = link_named("R");
    std::ignore = session.attach_receiver(options);
    options.name = "limited";
    options.max_message_size = 70000;
    std::ignore = session.attach_receiver(options);
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].as<attach>().max_message_size, std::nullopt);
    EXPECT_EQ(frames[1].as<attach>().max_message_size, 70000u);
}

TEST(RoundsOfFlows, EndWhereALinksFlowAnsweredTheSessionsToo)
{
    engine_peer peer;
    auto& session = peer.open_session();
    auto& r = peer.open_receiver();
    for (auto i = 0; i < 3; ++i) {
        session.request_flow();
        r.request_flow();
        EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=0 lc=0)") << i;
    }
    session.request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0)");
}

TEST(Payload, IsCopiedFromBothPartsInFramesOfAnySize)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(1000, s);
    peer.forget_so_far();
    bytes octets(3000);
    for (std::size_t i = 0; i < octets.size(); ++i)
        octets[i] = static_cast<std::byte>(i * 7 + i / 251);
    // 452 octets fit into a first frame, 472 into any other.
    for (std::size_t const head : {0u, 1u, 451u, 452u, 453u, 472u, 924u, 1396u, 2000u}) {
        // Apart from each other in memory, so that reading past the first part shows.
        bytes const first(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(head));
        bytes const second(octets.begin() + static_cast<std::ptrdiff_t>(head), octets.end());
        std::ignore = s.send({first, second}, {.settled = true});
        bytes sent;
        for (auto const& frame : peer.frames()) {
            auto in = frame.body();
            transfer t;
            ASSERT_FALSE(decode(in, t));
            sent.insert(sent.end(), in.begin(), in.end());
        }
        EXPECT_TRUE(same_bytes(sent, octets)) << head;
    }
}

struct StreamedBodyAtABorder : testing::Test {
    StreamedBodyAtABorder() { peer.open_session(); }
    e::sender& sender(std::optional<std::uint64_t> limit = {})
    {
        auto& s = peer.open_sender(link_named("S"), {.max_message_size = limit});
        peer.grant(10, s);
        peer.forget_so_far();
        return s;
    }
    engine_peer peer{{.outgoing_frame_max = 512}};
};

TEST_F(StreamedBodyAtABorder, MayBeAsLargeAsThePeersMaxMessageSize)
{
    auto& s = sender(20);
    scripted_source fits{{{pull_status::bytes, 10}, {pull_status::end, 10}}};
    std::ignore = s.send(fits, {.settled = true});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled '" + std::string(20, 'b') + "')");
    scripted_source does_not{{{pull_status::bytes, 10}, {pull_status::end, 11}}};
    std::ignore = s.send(does_not, {.settled = true});
    EXPECT_EQ(peer.wire_once(1024), "");
    EXPECT_EQ(peer.events(), "aborted(S size)");
}

TEST_F(StreamedBodyAtABorder, ThatFailsWaitsNoLonger)
{
    auto& s = sender();
    scripted_source source{{{pull_status::failed, 0}}};
    std::ignore = s.send(source);
    EXPECT_EQ(s.unbegun(), 1u);
    EXPECT_EQ(peer.wire_once(1024), "");
    EXPECT_EQ(s.unbegun(), 0u) << "or it would be told to the peer as available";
}

TEST_F(StreamedBodyAtABorder, ThatIsNotReadyTakesNoId)
{
    auto& s = sender();
    scripted_source source;
    std::ignore = s.send(source);
    EXPECT_EQ(peer.wire_once(1024), "");
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0)");
}

TEST_F(StreamedBodyAtABorder, GoesIntoABufferOfExactlyOneFrame)
{
    auto& s = sender();
    scripted_source source{{{pull_status::end, 5}}};
    std::ignore = s.send(source, {.settled = true});
    EXPECT_EQ(peer.wire_once(511), "");
    EXPECT_EQ(peer.wire_once(512), "transfer(h0 id=0 settled 'bbbbb')");
}

TEST(DeliveryTag, OfAnyLengthGoesOutWhole)
{
    engine_peer peer;
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(100, s);
    peer.forget_so_far();
    auto const body = octets_of("x");
    for (std::size_t size = 1; size <= 32; ++size) {
        bytes tag(size);
        for (std::size_t i = 0; i < size; ++i) tag[i] = static_cast<std::byte>(i + 1);
        std::ignore = s.send({body}, {.settled = true, .tag = bytes_view{tag}});
        auto const frames = peer.frames();
        ASSERT_EQ(frames.size(), 1u);
        EXPECT_TRUE(same_bytes(*frames[0].as<transfer>().delivery_tag, tag)) << size;
    }
}

}  // namespace
}  // namespace sluice::test
