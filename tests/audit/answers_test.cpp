// Echoes and drains that nobody answers.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto c = scene::of_client;
constexpr auto v = scene::of_server;

flow echo(flow f)
{
    f.echo = true;
    return f;
}

TEST(Answers, SuspectsAnEchoThatIsNotAnsweredInTime)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.server_flow(10)));
    s.wait(29s);
    EXPECT_EQ(s.findings(), "");
    s.wait(1s);
    s.wait(60s);
    EXPECT_EQ(s.findings(), "client echo-unanswered: expected a flow in answer, "
                            "actual none for 30000 ms");
    EXPECT_EQ(s.found()[0].detail, "asked for in frame 5 of the other side");
    EXPECT_EQ(s.found()[0].channel, c);
}

TEST(Answers, SuspectsAnEchoThatIsNotAnsweredAtTheEnd)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.server_flow(10)));
    s.finish();
    EXPECT_EQ(s.findings(),
              "client echo-unanswered: expected a flow in answer, actual none for 0 ms");
}

TEST(Answers, SaysNothingOfAnEchoWhenTheConnectionIsCut)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.server_flow(10)));
    s.finish(ending::cut);
    EXPECT_EQ(s.findings(), "");
}

TEST(Answers, TakesAnyFlowOfTheSessionForItsEcho)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.server_flow(10)));
    auto f = s.client_flow(10);
    f.handle = handle{scene::sender};
    f.delivery_count = sequence_number{0};
    s.send(client, c, f);
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(Answers, ExpectsTheLinksFlowForTheLinksEcho)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.credit_flow(50, 0)));
    s.send(client, c, s.client_flow(10));
    s.finish();
    EXPECT_EQ(s.findings(),
              "client echo-unanswered: expected a flow in answer, actual none for 0 ms");
    EXPECT_EQ(s.found()[0].handle, scene::sender);
}

TEST(Answers, ExpectsNoAnswerFromALinkOrSessionThatIsGone)
{
    scene s;
    s.ready();
    s.send(server, v, echo(s.credit_flow(50, 0)));
    s.send(client, c, detach{.handle = {scene::sender}});
    s.send(server, v, echo(s.server_flow(10)));
    s.send(client, c, end{});
    s.send(server, v, echo(s.server_flow(10)));
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(Answers, SuspectsADrainThatIsNotAnswered)
{
    scene s;
    s.ready();
    auto drain = s.credit_flow(10, 0);
    drain.drain = true;
    s.send(server, v, drain);
    s.deliver(scene::first(0));
    s.wait(31s);
    EXPECT_EQ(s.findings(),
              "client drain-unanswered: expected the credit used up, actual none for 31000 ms");
    EXPECT_EQ(s.found()[0].handle, scene::sender);
}

TEST(Answers, TakesMessagesThatUseUpTheCreditForTheAnswerToADrain)
{
    scene s;
    s.ready(2);
    s.deliver(scene::first(0));
    auto drain = s.credit_flow(2, 0);
    drain.drain = true;
    s.send(server, v, drain);
    s.deliver(scene::first(1));
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

// Credit has 32 bits, and a sender that gives more than half of the circle back goes on, not back.
TEST(Answers, TakeAnyCreditThatIsGivenBackInADrain)
{
    for (auto const credit : {1u, 0x7fff'ffffu, 0x8000'0000u, 0x8000'0001u, 0xffff'ffffu}) {
        scene s;
        s.ready(0);
        auto drain = s.credit_flow(credit, 0);
        drain.drain = true;
        s.send(server, v, drain);
        auto answer = s.client_flow(s.client_first);
        answer.handle = handle{scene::sender};
        answer.delivery_count = sequence_number{credit};
        answer.link_credit = 0;
        answer.drain = true;
        s.send(client, c, answer);
        s.finish();
        EXPECT_EQ(s.findings(), "") << credit;
    }
}

TEST(Answers, ForgetsADrainThatIsWithdrawn)
{
    scene s;
    s.ready(2);
    auto drain = s.credit_flow(2, 0);
    drain.drain = true;
    s.send(server, v, drain);
    s.credit(2);
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
