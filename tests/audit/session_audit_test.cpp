// Channels, sessions, links: states, names, handles, and what may cross.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

constexpr auto c = scene::of_client;
constexpr auto v = scene::of_server;

TEST(SessionAudit, ReportsFramesBeforeBegin)
{
    scene s;
    s.open_both();
    s.send(client, c, s.of_sender);
    s.send(client, c, s.client_flow(0));
    EXPECT_EQ(s.findings(), "client channel-unmapped: expected begin on channel 1, actual attach");
}

TEST(SessionAudit, ReportsFramesAfterEnd)
{
    scene s;
    s.ready();
    s.send(client, c, end{});
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(),
              "client channel-unmapped: expected begin on channel 1, actual transfer");
    EXPECT_EQ(s.found()[0].detail, "its session ended in frame 4");
}

TEST(SessionAudit, ReportsASecondEnd)
{
    scene s;
    s.begin_session();
    s.send(client, c, end{});
    s.send(client, c, end{});
    EXPECT_EQ(s.findings(), "client channel-unmapped: expected begin on channel 1, actual end");
}

TEST(SessionAudit, ReportsABeginOnAChannelInUse)
{
    scene s;
    s.begin_session();
    s.send(client, c, s.begin_of(client));
    EXPECT_EQ(s.findings(), "client channel-in-use: expected end on channel 1, actual begin");
}

TEST(SessionAudit, ReportsAnAnswerToABeginThatIsNotThere)
{
    scene s;
    s.open_both();
    s.send(server, v, s.begin_of(server));
    EXPECT_EQ(s.findings(), "server begin-remote-channel: expected a channel whose begin waits for "
                            "an answer, actual 1");
}

TEST(SessionAudit, ReportsASecondAnswerToABegin)
{
    scene s;
    s.begin_session();
    s.send(server, v + 1, s.begin_of(server));
    EXPECT_EQ(s.findings(), "server begin-remote-channel: expected a channel whose begin waits for "
                            "an answer, actual 1");
}

TEST(SessionAudit, ReportsAChannelBeyondTheMaximum)
{
    scene s;
    s.open_both({.container_id = "c"}, {.container_id = "s", .channel_max = 3});
    s.send(client, 3, s.begin_of(client));
    EXPECT_EQ(s.findings(), "");
    s.send(client, 4, s.begin_of(client));
    EXPECT_EQ(s.findings(), "client channel-max: expected at most 3, actual 4");
}

TEST(SessionAudit, ReportsAChannelUsedInAdvanceThatIsBeyondTheMaximum)
{
    scene s;
    s.send(client, header_bytes(protocol_id::amqp));
    s.send(client, 0, open{.container_id = "c"});
    s.send(client, 4, s.begin_of(client));
    s.send(server, header_bytes(protocol_id::amqp));
    EXPECT_EQ(s.findings(), "");
    s.send(server, 0, open{.container_id = "s", .channel_max = 3});
    EXPECT_EQ(s.findings(), "client channel-max: expected at most 3, actual 4");
}

// [2.5.4]: what was on its way when the other side ended is discarded.
TEST(SessionAudit, AllowsFramesThatCrossWithTheOtherSidesEnd)
{
    scene s;
    s.ready();
    s.send(server, v, end{});
    s.deliver(scene::first(0));
    s.send(client, c, s.client_flow(11));
    s.send(client, c, detach{.handle = {scene::sender}});
    s.send(client, c, end{});
    EXPECT_EQ(s.findings(), "");
}

TEST(SessionAudit, AllowsASessionThatEndsWhileTheOtherSideStillSends)
{
    scene s;
    s.ready();
    s.send(client, c, end{});
    s.credit(50, 0);
    s.send(server, v, s.server_flow(10));
    s.send(server, v, end{});
    EXPECT_EQ(s.findings(), "");
}

// After end the channel is free at once: the other side's end may still be on its way. [2.5.5]
TEST(SessionAudit, TellsSessionsApartThatFollowEachOtherOnOneChannel)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, c, end{});
    s.client_first = 900;
    s.send(client, c, s.begin_of(client));
    s.send(server, v, s.server_flow(11));  // of the old session
    s.send(server, v, end{});
    s.send(server, v, s.begin_of(server));
    s.send(client, c, s.client_flow(900));
    s.send(server, v, s.server_flow(900));
    s.send(client, c, end{});
    s.send(server, v, end{});
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

// Not every peer answers the begin of a session that has ended meanwhile.
TEST(SessionAudit, DoesNotGuessWhichOfSeveralBeginsOnAChannelIsAnswered)
{
    for (bool const both : {true, false}) {
        scene s;
        s.open_both();
        s.client_first = 10;
        s.send(client, c, s.begin_of(client));
        s.send(client, c, end{});
        s.client_first = 20;
        s.send(client, c, s.begin_of(client));
        if (both) {
            s.send(server, v, s.begin_of(server));
            s.send(server, v, s.server_flow(10));
            s.send(server, v, end{});
        }
        s.send(server, v, s.begin_of(server));
        s.send(server, v, s.server_flow(20));
        EXPECT_EQ(s.findings(), "");
        s.send(client, c, s.client_flow(19));
        EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 20, actual 19");
        if (both)
            s.send(server, v + 1, s.begin_of(server));
        EXPECT_EQ(s.findings(), both
                                    ? "server begin-remote-channel: expected a channel whose begin "
                                      "waits for an answer, actual 1"
                                    : "");
    }
}

TEST(SessionAudit, AllowsBothSidesToBeginAtOnce)
{
    scene s;
    s.open_both();
    s.send(client, 0, s.begin_of(client));
    auto of_server = s.begin_of(server);
    of_server.remote_channel.reset();
    s.send(server, 0, of_server);
    auto answer = s.begin_of(server);
    answer.remote_channel = 0;
    s.send(server, 1, answer);
    auto back = s.begin_of(client);
    back.remote_channel = 0;
    s.send(client, 1, back);
    s.send(client, 0, s.client_flow(10));
    s.send(client, 1, s.client_flow(10));
    EXPECT_EQ(s.findings(), "");
}

TEST(LinkAudit, ReportsAHandleInUse)
{
    scene s;
    s.ready();
    auto again = s.of_sender;
    again.name = "other";
    s.send(client, c, again);
    EXPECT_EQ(s.findings(), "client handle-in-use: expected detach of handle 2, actual attach");
    EXPECT_EQ(s.found()[0].detail, "link 'l' has it");
}

TEST(LinkAudit, ReportsFramesForAHandleThatIsNotAttached)
{
    scene s;
    s.ready();
    auto t = scene::first(0);
    t.handle = handle{3};
    s.deliver(t);
    s.send(client, c, detach{.handle = {4}});
    auto f = s.client_flow(11);
    f.handle = handle{5};
    s.send(client, c, f);
    EXPECT_EQ(s.findings(),
              "client handle-unattached: expected an attach for handle 3, actual transfer\n"
              "client handle-unattached: expected an attach for handle 4, actual detach\n"
              "client handle-unattached: expected an attach for handle 5, actual flow");
}

TEST(LinkAudit, ReportsATransferAfterTheSendersOwnDetach)
{
    scene s;
    s.ready();
    s.send(client, c, detach{.handle = {scene::sender}});
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(),
              "client handle-unattached: expected an attach for handle 2, actual transfer");
}

TEST(LinkAudit, AllowsFramesThatCrossWithTheOtherSidesDetach)
{
    scene s;
    s.ready();
    s.send(server, v, detach{.handle = {scene::receiver}, .closed = true});
    s.deliver(scene::first(0));
    s.deliver(scene::more(scene::first(1)));
    s.deliver(scene::rest());
    auto f = s.client_flow(13);
    f.handle = handle{scene::sender};
    f.delivery_count = sequence_number{2};
    s.send(client, c, f);
    s.send(client, c, detach{.handle = {scene::sender}, .closed = true});
    s.send(server, v, s.server_flow(13));
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(LinkAudit, AllowsALinkToBeAttachedAgainBeforeTheAnswerToItsDetach)
{
    scene s;
    s.ready(1);
    s.deliver(scene::settled(0));
    s.send(client, c, detach{.handle = {scene::sender}});
    s.send(client, c, s.of_sender);
    s.credit(0, 1);
    s.send(server, v, detach{.handle = {scene::receiver}});
    s.send(server, v, s.of_receiver);
    s.credit(1, 0);
    s.deliver(scene::settled(1));
    s.finish();
    EXPECT_EQ(s.findings(), "");
    s.send(client, c, s.of_sender);
}

TEST(LinkAudit, KeepsOppositeDirectionsOfOneNameApart)
{
    scene s;
    s.ready();
    s.send(client, c, attach{.name = "l", .handle = {8}, .role = role::receiver});
    attach back{.name = "l", .handle = {8}, .role = role::sender};
    back.initial_delivery_count = sequence_number{0};
    s.send(server, v, back);
    EXPECT_EQ(s.findings(), "");
}

TEST(LinkAudit, ReportsANameThatIsAttachedTwiceInASession)
{
    scene s;
    s.ready();
    auto again = s.of_sender;
    again.handle = {3};
    s.send(client, c, again);
    EXPECT_EQ(s.findings(),
              "client link-name-in-use: expected a name that is not attached, actual 'l'");
    EXPECT_EQ(s.found()[0].detail, "attached on channel 1 as handle 2");
}

TEST(LinkAudit, SuspectsANameThatIsAttachedInAnotherSession)
{
    scene s;
    s.ready();
    s.send(client, 2, s.begin_of(client));
    s.send(client, 2, s.of_sender);
    EXPECT_EQ(s.findings(),
              "client link-name-reused: expected a name that is not attached, actual 'l'");
    EXPECT_EQ(s.found()[0].severity, severity::suspicious);
}

TEST(LinkAudit, ReportsAHandleBeyondTheMaximum)
{
    scene s;
    s.open_both();
    s.send(client, c, s.begin_of(client));
    auto answer = s.begin_of(server);
    answer.handle_max = {7};
    s.send(server, v, answer);
    s.of_sender.initial_delivery_count = sequence_number{0};
    s.of_sender.handle = {7};
    s.send(client, c, s.of_sender);
    EXPECT_EQ(s.findings(), "");
    s.of_sender.name = "m";
    s.of_sender.handle = {8};
    s.send(client, c, s.of_sender);
    EXPECT_EQ(s.findings(), "client handle-max: expected at most 7, actual 8");
}

TEST(LinkAudit, ReportsAHandleUsedInAdvanceThatIsBeyondTheMaximum)
{
    scene s;
    s.open_both();
    s.send(client, c, s.begin_of(client));
    s.of_sender.initial_delivery_count = sequence_number{0};
    s.of_sender.handle = {8};
    s.send(client, c, s.of_sender);
    auto answer = s.begin_of(server);
    answer.handle_max = {7};
    s.send(server, v, answer);
    EXPECT_EQ(s.findings(), "client handle-max: expected at most 7, actual 8");
}

TEST(LinkAudit, FollowsHandlesOfAnySize)
{
    scene s;
    s.begin_session();
    s.of_sender.initial_delivery_count = sequence_number{0};
    for (std::uint32_t h : {0u, 63u, 64u, 65536u, 4294967295u}) {
        auto const name = std::to_string(h);
        s.of_sender.name = name;
        s.of_sender.handle = {h};
        s.send(client, c, s.of_sender);
        s.send(client, c, detach{.handle = {h}});
        s.send(client, c, s.of_sender);
    }
    EXPECT_EQ(s.findings(), "");
    s.send(client, c, detach{.handle = {64}});
    s.send(client, c, detach{.handle = {64}});
    EXPECT_EQ(s.findings(),
              "client handle-unattached: expected an attach for handle 64, actual detach");
}

TEST(LinkAudit, ReportsASenderWithoutInitialDeliveryCount)
{
    scene s;
    s.begin_session();
    s.send(client, c, s.of_sender);
    EXPECT_EQ(s.findings(), "client initial-delivery-count: expected a number, actual absent");
}

TEST(LinkAudit, ReportsATransferFromTheReceiver)
{
    scene s;
    s.ready();
    auto t = scene::first(0);
    t.handle = handle{scene::receiver};
    s.send(server, v, t);
    EXPECT_EQ(
        s.findings(),
        "server transfer-role: expected a transfer from the sender, actual from the receiver");
}

TEST(LinkAudit, SuspectsADetachInTheMiddleOfADelivery)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.send(client, c, detach{.handle = {scene::sender}});
    EXPECT_EQ(s.findings(), "client delivery-unfinished: expected the rest of the delivery, or its "
                            "abort, actual detach");
}

TEST(LinkAudit, AllowsADetachInTheMiddleOfADeliveryWithAnErrorOrInAnswer)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.send(server, v, detach{.handle = {scene::receiver}});
    s.send(client, c, detach{.handle = {scene::sender}});
    s.send(client, c, s.of_sender);
    s.send(server, v, s.of_receiver);
    s.credit(10, 0);
    s.deliver(scene::more(scene::first(1)));
    s.send(
        client, c,
        detach{.handle = {scene::sender}, .error = error_view{.condition = "amqp:internal-error"}});
    EXPECT_EQ(s.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
