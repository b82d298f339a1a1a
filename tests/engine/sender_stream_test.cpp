// Bodies that are pulled while their frames are written. [2.6.14]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/sender.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using engine::pull_status;

struct StreamedBody : testing::Test {
    StreamedBody() : s{(peer.open_session(), peer.open_sender())}
    {
        peer.grant(10, s);
        peer.forget_so_far();
    }

    engine_peer peer{{.outgoing_frame_max = 512}};
    e::sender& s;
    bytes const body = octets_of("x");
};

TEST_F(StreamedBody, IsPulledUntilItsFrameIsFullOrTheBodyEnds)
{
    scripted_source source{
        {{pull_status::bytes, 10}, {pull_status::bytes, 20}, {pull_status::end, 3}}};
    std::ignore = s.send(source, {.settled = true});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled '" + std::string(33, 'b') + "')");
    EXPECT_EQ(source.pulls, 3);
}

TEST_F(StreamedBody, MayEndWithAnEmptyFrame)
{
    scripted_source source{{{pull_status::bytes, 452}, {pull_status::end, 0}}};
    std::ignore = s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 452 octets) transfer(h0)");
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{2});
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled)");
}

TEST_F(StreamedBody, MayBeEmpty)
{
    scripted_source source{{{pull_status::end, 0}}};
    std::ignore = s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0)");
}

TEST_F(StreamedBody, UsesCreditLikeAnyOther)
{
    scripted_source source{{{pull_status::bytes, 452}, {pull_status::end, 1}}};
    std::ignore = s.send(source, {.settled = true});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled more 452 octets) transfer(h0 'b')");
    EXPECT_EQ(s.credit(), 9u) << "one for the delivery, not one for each frame";
    EXPECT_EQ(s.delivery_count(), sequence_number{1});
}

TEST_F(StreamedBody, ThatIsNotReadyUsesNothingAndHoldsNoOtherLinkBack)
{
    auto& other = peer.open_sender(link_named("other"));
    peer.grant(10, other);
    peer.forget_so_far();
    scripted_source source;
    auto* const d = *s.send(source);
    std::ignore = other.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h1 id=0 'x')");
    EXPECT_FALSE(peer.engine.wants_write());
    EXPECT_EQ(s.credit(), 10u);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(source.pulls, 1) << "it is not asked again before it is ready";
    source.script.push_back({pull_status::end, 2});
    s.body_ready(*d);
    EXPECT_TRUE(peer.engine.wants_write());
    EXPECT_EQ(peer.wire(), "transfer(h0 id=1 'bb')");
}

TEST_F(StreamedBody, ThatIsNotReadyInItsMiddleSendsWhatItHas)
{
    scripted_source source{{{pull_status::bytes, 5}, {pull_status::not_ready}}};
    auto* const d = *s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbb')");
    EXPECT_FALSE(peer.engine.wants_write());
    source.script = {{pull_status::end, 1}};
    s.body_ready(*d);
    EXPECT_EQ(peer.wire(), "transfer(h0 'b')");
}

TEST_F(StreamedBody, ThatFailsBeforeItsFirstFrameWasNeverThere)
{
    scripted_source source{{{pull_status::bytes, 100}, {pull_status::failed}}};
    std::ignore = s.send(source);
    std::ignore = s.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    EXPECT_EQ(peer.events(), "aborted(S source_failed)");
    EXPECT_EQ(s.credit(), 9u);
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{1});
}

TEST_F(StreamedBody, ThatFailsInItsMiddleIsAborted)
{
    auto& r = peer.open_receiver();
    peer.forget_so_far();
    scripted_source source{{{pull_status::bytes, 452},
                            {pull_status::bytes, 7, [&] { r.request_flow(); }},
                            {pull_status::failed}}};
    std::ignore = s.send(source);
    std::ignore = s.send({body});
    EXPECT_EQ(peer.wire(),
              "transfer(h0 id=0 more 452 octets) flow(nii=0 iw=2048 noi=1 h1 dc=0 lc=0) "
              "transfer(h0 aborted) transfer(h0 id=1 'x')")
        << "the frame that failed has no id: a flow asked for in it states the last one's";
    EXPECT_EQ(peer.events(), "aborted(S source_failed)");
    EXPECT_EQ(s.delivery_count(), sequence_number{2});
    EXPECT_EQ(s.unsettled(), 1u);
}

TEST_F(StreamedBody, ThatFailsWhileTheWindowIsShutIsAbortedWhenItOpens)
{
    peer.window(1);
    scripted_source source{{{pull_status::bytes, 1000}, {pull_status::failed}}};
    std::ignore = s.send(source);
    EXPECT_EQ(peer.frames().size(), 2u) << "a frame, and an echo";
    EXPECT_EQ(peer.wire(), "");
    peer.window(5);
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted)");
}

TEST_F(StreamedBody, MayBeCancelledWhileItIsNotReady)
{
    scripted_source source{{{pull_status::bytes, 5}, {pull_status::not_ready}}};
    auto* const d = *s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbb')");
    EXPECT_FALSE(s.cancel(*d));
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted)");
    EXPECT_EQ(peer.events(), "aborted(S cancelled)");
    EXPECT_EQ(source.pulls, 2);
}

TEST_F(StreamedBody, CannotBeCancelledByItsOwnSource)
{
    e::outgoing_delivery* d = nullptr;
    std::error_code answer;
    scripted_source source{
        {{pull_status::bytes, 5, [&] { answer = s.cancel(*d); }}, {pull_status::not_ready}}};
    d = *s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbb')");
    EXPECT_EQ(answer, error::invalid_state);
    source.script = {{pull_status::failed}};
    s.body_ready(*d);
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted)");
}

TEST_F(StreamedBody, ThatThePeerSettlesEarlyIsReportedWhenItIsWhole)
{
    scripted_source source{{{pull_status::bytes, 5}, {pull_status::not_ready}}};
    auto* const d = *s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbb')");
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "") << "it is still being sent";
    source.script = {{pull_status::end, 1}};
    s.body_ready(*d);
    EXPECT_EQ(peer.wire(), "transfer(h0 'b')");
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled)");
    EXPECT_EQ(s.unsettled(), 0u);
}

TEST_F(StreamedBody, ThatOutgrowsThePeersMaxMessageSizeIsAborted)
{
    auto& l = peer.open_sender(link_named("L"), {.max_message_size = 600u});
    peer.grant(5, l);
    peer.forget_so_far();
    scripted_source source{
        {{pull_status::bytes, 452}, {pull_status::bytes, 452}, {pull_status::end, 0}}};
    std::ignore = l.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h1 id=0 more 452 octets) transfer(h1 aborted)");
    EXPECT_EQ(peer.events(), "aborted(L size)");
}

TEST_F(StreamedBody, MayAskForCreditAndFlowsOfAnyLink)
{
    auto& r = peer.open_receiver();
    peer.forget_so_far();
    scripted_source source{{{pull_status::end, 1, [&] { r.set_credit(4); }}}};
    std::ignore = s.send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'b') flow(nii=0 iw=2048 noi=1 h1 dc=0 lc=4)");
}

TEST_F(StreamedBody, OfOneLinkIsInterleavedWithThoseOfOthers)
{
    auto& other = peer.open_sender(link_named("other"));
    peer.grant(10, other);
    peer.forget_so_far();
    scripted_source a{{{pull_status::bytes, 452}, {pull_status::end, 1}}};
    scripted_source b{{{pull_status::bytes, 452}, {pull_status::end, 1}}};
    std::ignore = s.send(a, {.settled = true});
    std::ignore = other.send(b, {.settled = true});
    std::string order;
    for (auto const& frame : peer.frames())
        order += frame.as<transfer>().handle.value == 0 ? 'a' : 'b';
    EXPECT_EQ(order, "abab");
}

}  // namespace
}  // namespace sluice::test
