// Begin and end, channels, and what a peer may get wrong about them. [2.5]
#include "support/engine_peer.hpp"

#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

begin answering(std::uint16_t channel)
{
    auto b = engine_peer::usual_begin();
    b.remote_channel = channel;
    return b;
}

TEST(Session, BeginsWithItsFirstTransferIdAndItsWindow)
{
    engine_peer peer;
    peer.open();
    auto* const s =
        *peer.engine.begin({.next_outgoing_id = transfer_id{4294967293}, .incoming_window = 7});
    EXPECT_EQ(peer.wire(), "begin(noi=4294967293 iw=7)");
    EXPECT_EQ(s->state(), e::session_state::begin_sent);
    peer.send(answering(0));
    EXPECT_EQ(peer.events(), "session_begun()");
    EXPECT_EQ(s->state(), e::session_state::mapped);
    EXPECT_EQ(s->remote_incoming_window(), 2048u);
}

TEST(Session, WaitsForTheConnectionToOpen)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    std::ignore = peer.engine.begin();
    EXPECT_EQ(peer.wire(), "AMQP open(sluice)");
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048)");
}

TEST(Session, IsAskedForByAPeerAndAcceptedByItsOwner)
{
    engine_peer peer;
    peer.open();
    peer.send(engine_peer::usual_begin(), {}, 5);
    EXPECT_EQ(peer.events(), "session_requested()");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_FALSE(peer.session->begin({.next_outgoing_id = transfer_id{9}, .incoming_window = 3}));
    EXPECT_EQ(peer.session->begin({}), error::invalid_state);
    EXPECT_EQ(peer.wire(), "begin(rc=5 noi=9 iw=3)");
    EXPECT_EQ(peer.events(), "session_begun()");
}

TEST(Session, ThatItsOwnerRefusesBeginsAndEnds)
{
    engine_peer peer;
    peer.open();
    peer.send(engine_peer::usual_begin(), {}, 5);
    peer.forget_so_far();
    EXPECT_FALSE(peer.session->end({.condition = condition::not_allowed}));
    EXPECT_EQ(peer.wire(), "begin(rc=5 noi=0 iw=2048) end(amqp:not-allowed)");
    peer.send(end{}, {}, 5);
    auto const events = peer.events();
    EXPECT_EQ(events.find("session_begun"), std::string::npos) << events;
    EXPECT_NE(events.find("session_ended("), std::string::npos) << events;
}

TEST(Session, EndsWhenItsOwnerAsksAndReportsTheAnswer)
{
    engine_peer peer;
    auto& s = peer.open_session();
    EXPECT_FALSE(s.end());
    EXPECT_EQ(s.end(), error::invalid_state);
    EXPECT_EQ(peer.wire(), "end()");
    EXPECT_EQ(peer.events(), "");
    peer.send(end{});
    EXPECT_EQ(peer.events(), "session_ended()");
    EXPECT_FALSE(s.ended_by_peer());
    EXPECT_EQ(s.attach_sender(link_named("L")).error(), error::session_not_open);
}

TEST(Session, EndedByItsPeerAnswersAndReportsTheReason)
{
    engine_peer peer;
    auto& s = peer.open_session();
    peer.send(end{.error = error_view{.condition = "amqp:session:window-violation",
                                      .description = "281 < 282"}});
    EXPECT_EQ(peer.events(), "session_ended(ended_by_peer amqp:session:window-violation)");
    EXPECT_EQ(peer.wire(), "end()");
    EXPECT_TRUE(s.ended_by_peer());
    EXPECT_EQ(s.error().description, "281 < 282");
    EXPECT_TRUE(peer.engine.opened());
}

TEST(Session, GivesItsReasonToItsLinks)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_sender();
    peer.send(end{.error = error_view{.condition = "amqp:resource-deleted"}});
    peer.forget_so_far();
    EXPECT_EQ(l.error().condition, "amqp:resource-deleted");
    EXPECT_EQ(l.send({}).error(), error::link_not_attached);
}

TEST(Session, GivesItsReasonToALinkThatItsPeerDetachedJustBefore)
{
    // Broker-J sends a detach without error before the end that carries the reason.
    engine_peer peer;
    auto& s = peer.open_session();
    auto& l = peer.open_sender();
    auto both = frame_of(detach{.closed = true});
    auto const ending =
        frame_of(end{.error = error_view{.condition = "amqp:session:window-violation"}});
    both.insert(both.end(), ending.begin(), ending.end());
    peer.send_octets(both);
    peer.forget_so_far();
    EXPECT_EQ(s.error().condition, "amqp:session:window-violation");
    EXPECT_EQ(l.error().condition, "amqp:session:window-violation");
}

TEST(Session, EndAndANewBeginOfTheSameChannelMayComeInOneRead)
{
    engine_peer peer{{.channel_max = 0}};
    auto& old = peer.open_session();
    std::ignore = old.end();
    EXPECT_EQ(peer.wire(), "end()");
    bytes all;
    auto const add = [&](bytes const& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(frame_of(end{}));
    add(frame_of(engine_peer::usual_begin()));
    add(frame_of(attach{.name = "L", .role = role::receiver}));
    add(frame_of(flow{.incoming_window = 5, .handle = handle{0}, .link_credit = 10u}));
    peer.send_octets(all);
    EXPECT_EQ(peer.events(), "session_ended() session_requested() link_requested(L) credit(L 10)");
    ASSERT_NE(peer.session, &old);
    EXPECT_FALSE(peer.session->begin({}));
    EXPECT_FALSE(peer.link->attach(link_named("L")));
    EXPECT_EQ(peer.wire(), "begin(rc=0 noi=0 iw=2048) attach(L h0 sender)");
    EXPECT_EQ(peer.events(), "session_begun() link_attached(L)");
    EXPECT_EQ(old.state(), e::session_state::ended);
}

TEST(Session, PipelinedByAClientIsServedInOrderOnceAccepted)
{
    engine_peer peer{{.listener = true}};
    bytes all;
    auto const add = [&](auto const& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(protocol_header(protocol_id::amqp));
    add(frame_of(open{.container_id = "peer"}));
    add(frame_of(engine_peer::usual_begin()));
    add(frame_of(attach{.name = "L", .role = role::receiver}));
    add(frame_of(flow{.incoming_window = 50, .handle = handle{0}, .link_credit = 10u}));
    peer.send_octets(all);
    EXPECT_EQ(peer.wire(), "AMQP");
    EXPECT_EQ(peer.events(),
              "connection_requested() session_requested() link_requested(L) credit(L 10)");
    peer.now += e::time_point{100};
    std::ignore = peer.engine.open();
    std::ignore = peer.session->begin({});
    std::ignore = peer.link->attach(link_named("L"));
    EXPECT_EQ(peer.wire(), "open(sluice) begin(rc=0 noi=0 iw=2048) attach(L h0 sender)");
    auto& s = static_cast<e::sender&>(*peer.link);
    EXPECT_EQ(s.credit(), 10u);
    for (auto i = 0; i < 11; ++i) std::ignore = s.send({}, {.settled = true});
    EXPECT_EQ(peer.frames().size(), 10u);
}

TEST(Session, UsesTheLowestFreeChannelAgain)
{
    engine_peer peer;
    auto& first = peer.open_session();
    std::ignore = peer.engine.begin();
    EXPECT_EQ(peer.wire(), "#1 begin(noi=0 iw=2048)");
    std::ignore = first.end();
    EXPECT_EQ(peer.wire(), "end()");
    std::ignore = peer.engine.begin();
    EXPECT_EQ(peer.wire(), "#2 begin(noi=0 iw=2048)") << "the first waits for the peer's end";
    peer.send(end{});
    std::ignore = peer.engine.begin();
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048)");
}

TEST(Session, BeyondChannelMaxIsRefusedLocally)
{
    engine_peer peer;
    peer.open({.container_id = "peer", .channel_max = 1});
    EXPECT_TRUE(peer.engine.begin());
    EXPECT_TRUE(peer.engine.begin());
    EXPECT_EQ(peer.engine.begin().error(), error::channel_max_exceeded);
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048) #1 begin(noi=0 iw=2048)");
}

TEST(Session, BegunBeforeALowerChannelMaxWasKnownFailsUnsent)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    for (auto i = 0; i < 3; ++i) std::ignore = peer.engine.begin();
    peer.forget_so_far();
    peer.send_header();
    peer.send(open{.container_id = "peer", .channel_max = 0});
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048)");
    EXPECT_EQ(peer.events(),
              "connection_opened() session_ended(channel_max) session_ended(channel_max)");
}

TEST(Session, OnAChannelBeyondOurChannelMaxClosesTheConnection)
{
    engine_peer peer{{.channel_max = 3}};
    peer.open();
    peer.send(engine_peer::usual_begin(), {}, 4);
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
    EXPECT_EQ(peer.engine.error().description, "begin on channel 4; channel-max is 3 [2.7.1]");
}

TEST(Session, OnAChannelInUseClosesTheConnection)
{
    engine_peer peer;
    peer.open_session();
    peer.send(engine_peer::usual_begin());
    EXPECT_EQ(peer.wire(), "close(amqp:illegal-state)");
}

TEST(Session, AnsweredOnAChannelThatNobodyBeganClosesTheConnection)
{
    for (std::uint16_t const channel : {std::uint16_t{0}, std::uint16_t{9}}) {
        engine_peer peer;
        peer.open_session();
        peer.send(answering(channel), {}, 3);
        EXPECT_EQ(peer.wire(), "close(amqp:invalid-field)") << channel;
    }
}

TEST(Session, FrameWithoutASessionClosesTheConnection)
{
    engine_peer peer;
    peer.open();
    peer.send(flow{}, {}, 2);
    EXPECT_EQ(peer.wire(), "close(amqp:illegal-state)");
    EXPECT_NE(peer.engine.error().description.find("channel 2"), std::string::npos);
}

TEST(Session, DropsWhatComesAfterItsEndWithAnError)
{
    engine_peer peer;
    auto& s = peer.open_session();
    peer.open_receiver(link_named("R", 10));
    std::ignore = s.end({.condition = condition::internal_error});
    EXPECT_EQ(peer.wire(), "end(amqp:internal-error)");
    peer.forget_so_far();
    peer.send(engine_peer::first_frame(0), "late");
    peer.send(flow{.handle = handle{77}, .echo = true});
    peer.send(disposition{.first = delivery_number{1}, .last = delivery_number{0}});
    EXPECT_EQ(peer.wire() + peer.events(), "");
    peer.send(end{});
    EXPECT_EQ(s.state(), e::session_state::ended);
    EXPECT_EQ(peer.events(), "session_ended(amqp:internal-error)");
}

TEST(Session, AnswersNoEchoBetweenItsEndAndThePeers)
{
    engine_peer peer;
    auto& s = peer.open_session();
    std::ignore = s.end();
    EXPECT_EQ(peer.wire(), "end()");
    peer.send(flow{.next_incoming_id = transfer_id{0}, .incoming_window = 10, .echo = true});
    EXPECT_EQ(peer.wire(), "");
    peer.send(end{});
    EXPECT_EQ(peer.events(), "session_ended()");
}

TEST(Session, MayBeForgottenBeforeThePeerAnswersItsEnd)
{
    engine_peer peer;
    auto* s = &peer.open_session();
    peer.open_receiver(link_named("R", 10));
    peer.send(engine_peer::first_frame(0), "x");
    peer.send(
        disposition{.first = delivery_number{1}, .last = delivery_number{0}});  // reversed: ends it
    EXPECT_EQ(peer.events(), "delivery(R 0 'x') session_ended(delivery_id amqp:invalid-field)");
    peer.engine.forget(*s);
    EXPECT_EQ(peer.wire(), "end(amqp:invalid-field)");
    peer.send(end{});
    auto count = 0;
    peer.engine.for_each_session([&](e::session&) { ++count; });
    EXPECT_EQ(count, 0);
    std::ignore = peer.engine.begin();
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048)");
}

TEST(Session, TakesItsEventsAlongWhenItIsForgotten)
{
    engine_peer peer;
    auto& s = peer.open_session();
    peer.open_receiver(link_named("R", 10));
    auto const in = frame_of(engine_peer::first_frame(0), "x");
    std::ignore = peer.engine.receive(frame_of(end{}), peer.now);
    e::event v;
    ASSERT_TRUE(peer.engine.poll_event(v));
    ASSERT_EQ(v.kind, e::event_kind::session_ended);
    peer.engine.forget(s);
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.wire(), "end()");
    engine_peer waiting;
    auto& t = waiting.open_session();
    waiting.open_receiver(link_named("R", 10));
    std::ignore = t.end({}, true);
    std::ignore = waiting.engine.receive(in, waiting.now);
    waiting.engine.transport_closed();
    while (waiting.engine.poll_event(v) && v.kind != e::event_kind::session_ended) {}
    waiting.engine.forget(t);
    EXPECT_EQ(waiting.events(), "connection_closed(connection_lost)");
}

}  // namespace
}  // namespace sluice::test
