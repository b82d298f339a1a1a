// Opening and closing, both roles, and what a peer may get wrong about it. [2.2, 2.4]
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

e::connection_options listening() { return {.listener = true}; }

amqp_error not_found()
{
    return {.condition = condition::not_found, .description = "no such thing", .info = {}};
}

TEST(Connection, SendsItsHeaderAndPipelinesItsOpen)
{
    engine_peer peer;
    EXPECT_FALSE(peer.engine.open());
    EXPECT_EQ(peer.wire(), "AMQP open(sluice)");
    EXPECT_EQ(peer.engine.state(), e::connection_state::open_pipe);
    peer.send_header();
    EXPECT_EQ(peer.engine.state(), e::connection_state::open_sent);
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.events(), "connection_opened()");
    EXPECT_TRUE(peer.engine.opened());
    EXPECT_EQ(peer.engine.remote_open().container_id, "peer");
    EXPECT_EQ(peer.wire(), "");
}

TEST(Connection, AnswersAsListenerWithItsHeaderAndWaitsForItsOwnerToAccept)
{
    engine_peer peer{listening()};
    EXPECT_EQ(peer.engine.open(), error::invalid_state) << "there is nothing to accept yet";
    EXPECT_EQ(peer.wire(), "");
    peer.send_header();
    EXPECT_EQ(peer.wire(), "AMQP");
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.events(), "connection_requested()");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_FALSE(peer.engine.open());
    EXPECT_EQ(peer.wire(), "open(sluice)");
    EXPECT_EQ(peer.events(), "connection_opened()");
}

TEST(Connection, OpensOnceOnly)
{
    engine_peer peer;
    peer.open();
    EXPECT_EQ(peer.engine.open(), error::invalid_state);
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.wire(), "close(amqp:illegal-state)");
    EXPECT_EQ(peer.events(), "connection_closed(out_of_state amqp:illegal-state)");
}

TEST(Connection, ClosesWhenItsOwnerAsksAndEndsWithTheAnswer)
{
    engine_peer peer;
    peer.open();
    EXPECT_FALSE(peer.engine.close());
    EXPECT_EQ(peer.engine.close(), error::invalid_state) << "closing already";
    EXPECT_EQ(peer.wire(), "close()");
    EXPECT_EQ(peer.events(), "");
    EXPECT_TRUE(peer.engine.output_done());
    peer.send(close{});
    EXPECT_EQ(peer.events(), "connection_closed()");
    EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_FALSE(peer.engine.closed_by_peer());
}

TEST(Connection, EndsItsSessionsBeforeACloseWithoutError)
{
    engine_peer peer;
    peer.open_session();
    std::ignore = peer.engine.close();
    EXPECT_EQ(peer.wire(), "end() close()");
}

TEST(Connection, ClosesAtOnceWithAnError)
{
    engine_peer peer;
    peer.open_session();
    std::ignore = peer.engine.close(not_found());
    EXPECT_EQ(peer.wire(), "close(amqp:not-found)");
}

TEST(Connection, AnswersAPeersCloseAndReportsItsError)
{
    engine_peer peer;
    auto& s = peer.open_session();
    peer.send(close{
        .error = error_view{.condition = "amqp:connection:forced", .description = "going down"}});
    EXPECT_EQ(peer.events(), "session_ended(closed_by_peer amqp:connection:forced) "
                             "connection_closed(closed_by_peer amqp:connection:forced)");
    EXPECT_EQ(peer.wire(), "close()");
    EXPECT_TRUE(peer.engine.output_done());
    EXPECT_TRUE(peer.engine.closed_by_peer());
    EXPECT_EQ(peer.engine.error().description, "going down");
    EXPECT_EQ(s.error().description, "going down");
    EXPECT_EQ(peer.engine.begin().error(), error::connection_not_open);
}

TEST(Connection, FailsItsOpenWithTheReasonOfAPeerThatClosesInsteadOfOpening)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    peer.send(close{.error = error_view{.condition = "amqp:unauthorized-access"}});
    EXPECT_EQ(peer.events(),
              "connection_opened() connection_closed(closed_by_peer amqp:unauthorized-access)");
    EXPECT_EQ(peer.wire(), "close()");
}

TEST(Connection, AnswersWithOpenAndCloseIfItsOwnerRefusesAPeersOpen)
{
    engine_peer peer{listening()};
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    peer.send(begin{});
    peer.send(attach{.name = "L", .role = role::receiver});
    peer.send(flow{.handle = handle{0}, .link_credit = 10u});
    EXPECT_EQ(peer.events(),
              "connection_requested() session_requested() link_requested(L) credit(L 10)");
    EXPECT_FALSE(peer.engine.close(not_found()));
    EXPECT_EQ(peer.wire(), "AMQP open(sluice) close(amqp:not-found)");
    peer.send(close{});
    auto const events = peer.events();
    EXPECT_EQ(events.find("connection_opened"), std::string::npos) << events;
    EXPECT_NE(events.find("connection_closed("), std::string::npos) << events;
}

TEST(Connection, DropsWhatComesAfterItsOwnClose)
{
    engine_peer peer;
    peer.open_session();
    std::ignore = peer.engine.close(not_found());
    EXPECT_EQ(peer.wire(), "close(amqp:not-found)");
    peer.forget_so_far();
    peer.send(begin{}, {}, 7);
    peer.send(transfer{.handle = handle{99}}, "lost");
    peer.send_hex("0000000c 02000000 00539945");
    EXPECT_EQ(peer.wire() + peer.events(), "");
    peer.send(close{});
    EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
}

TEST(Connection, TakesNoticeOfNothingAfterThePeersClose)
{
    engine_peer peer;
    peer.open();
    peer.send(close{});
    EXPECT_EQ(peer.wire(), "close()");
    peer.forget_so_far();
    peer.send(begin{});
    peer.send(open{.container_id = "again"});
    EXPECT_EQ(peer.wire() + peer.events(), "");
}

TEST(Connection, RefusesAFrameBeforeThePeersOpen)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header();
    peer.send(begin{});
    EXPECT_EQ(peer.wire(), "close(amqp:illegal-state)");
    EXPECT_EQ(peer.events(), "connection_closed(out_of_state amqp:illegal-state)");
}

TEST(Connection, RefusesAPeersMaxFrameSizeBelow512)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header();
    peer.send(open{.container_id = "peer", .max_frame_size = 511});
    EXPECT_EQ(peer.wire(), "close(amqp:invalid-field)");
    EXPECT_NE(peer.engine.error().description.find("511"), std::string::npos);
}

TEST(Connection, SaysWhatItReceivedInsteadOfAProtocolHeader)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_octets(octets_of("HTTP/1.1 400 Bad Request"));
    EXPECT_EQ(peer.events(), "connection_closed(header amqp:connection:framing-error)");
    EXPECT_NE(peer.engine.error().description.find("485454502f312e31"), std::string::npos)
        << peer.engine.error().description;
    EXPECT_EQ(peer.wire(), "") << "a peer that speaks another protocol is told nothing";
    EXPECT_TRUE(peer.engine.output_done());
}

TEST(Connection, AnswersAWrongHeaderAsListenerWithTheOneThatItSpeaks)
{
    engine_peer peer{listening()};
    peer.send_hex("414d5150 00010001");
    EXPECT_EQ(peer.wire(), "AMQP");
    EXPECT_TRUE(peer.engine.output_done());
    EXPECT_EQ(peer.events(), "connection_closed(header amqp:connection:framing-error)");
}

TEST(Connection, ReportsALostTransportOnceAndSaysSoToSessionsAndLinks)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& l = peer.open_sender();
    peer.engine.transport_closed();
    EXPECT_EQ(peer.events(), "session_ended(connection_lost) connection_closed(connection_lost)");
    peer.engine.transport_closed();
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(s.state(), e::session_state::ended);
    EXPECT_EQ(l.state(), e::link_state::ended);
    EXPECT_EQ(l.send({octets_of("x")}).error(), error::link_not_attached);
    EXPECT_EQ(peer.engine.tick(peer.now), e::time_point::max());
}

TEST(Connection, EndsCleanlyIfTheTransportGoesAfterItsCloseWasAsked)
{
    engine_peer peer;
    peer.open();
    std::ignore = peer.engine.close();
    peer.forget_so_far();
    peer.engine.transport_closed();
    EXPECT_EQ(peer.events(), "connection_closed()");
}

TEST(Connection, EndsInEveryStateWhenTheTransportGoes)
{
    using script = std::function<void(engine_peer&)>;
    std::vector<std::pair<char const*, script>> const scripts{
        {"start", [](engine_peer&) {}},
        {"header sent", [](engine_peer& p) { p.forget_so_far(); }},
        {"open sent", [](engine_peer& p) { std::ignore = p.engine.open(), p.forget_so_far(); }},
        {"header received", [](engine_peer& p) { std::ignore = p.engine.open(), p.send_header(); }},
        {"open", [](engine_peer& p) { p.open(); }},
        {"begin sent",
         [](engine_peer& p) { p.open(), std::ignore = p.engine.begin(), p.forget_so_far(); }},
        {"session", [](engine_peer& p) { p.open_session(); }},
        {"end sent",
         [](engine_peer& p) { std::ignore = p.open_session().end(), p.forget_so_far(); }},
        {"close queued", [](engine_peer& p) { p.open_session(), std::ignore = p.engine.close(); }},
        {"close sent",
         [](engine_peer& p) { p.open(), std::ignore = p.engine.close(), p.forget_so_far(); }},
        {"close received", [](engine_peer& p) { p.open(), p.send(close{}); }},
    };
    for (auto const& [name, play] : scripts) {
        engine_peer peer;
        std::string heard;
        peer.on_event = [&](e::event const& v) { heard += text_of(v) + " "; };
        play(peer);
        peer.engine.transport_closed();
        peer.forget_so_far();
        EXPECT_EQ(peer.engine.state(), e::connection_state::ended) << name;
        auto const at = heard.find("connection_closed(");
        ASSERT_NE(at, std::string::npos) << name;
        EXPECT_EQ(heard.find("connection_closed(", at + 1), std::string::npos)
            << name << ": " << heard;
        EXPECT_FALSE(peer.engine.wants_write()) << name;
        EXPECT_EQ(peer.wire(), "") << name;
    }
}

}  // namespace
}  // namespace sluice::test
