// Flows: exact ids, windows, delivery-counts, credit.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

flow on_link(flow f, std::uint32_t h, std::uint32_t count, std::uint32_t credit)
{
    f.handle = handle{h};
    f.delivery_count = sequence_number{count};
    f.link_credit = credit;
    return f;
}

// Broker-J >= 10.1.0 ends the session for it: "Next outgoing id '10' is less than ...".
TEST(FlowAudit, ReportsANextOutgoingIdThatIsStale)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(10));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 11, actual 10");
}

TEST(FlowAudit, ReportsANextOutgoingIdThatIsAhead)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(12));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 11, actual 12");
}

TEST(FlowAudit, KeepsItsOwnCountAfterAWrongNextOutgoingId)
{
    scene s;
    s.ready();
    s.send(client, scene::of_client, s.client_flow(20));
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(11));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 10, actual 20");
}

TEST(FlowAudit, CountsEveryTransferFrame)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.deliver(scene::more(scene::rest()), 0);
    auto abort = scene::rest();
    abort.aborted = true;
    s.deliver(abort);
    s.deliver(scene::settled(1));
    s.send(client, scene::of_client, s.client_flow(14));
    EXPECT_EQ(s.findings(), "");
    s.send(client, scene::of_client, s.client_flow(11));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 14, actual 11");
}

TEST(FlowAudit, CountsTransfersOverTheWrap)
{
    scene s;
    s.client_first = 0xffff'ffff;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(0));
    s.send(server, scene::of_server, s.server_flow(0));
    s.deliver(scene::first(1));
    EXPECT_EQ(s.findings(), "");
    s.send(client, scene::of_client, s.client_flow(0xffff'ffff));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 1, actual 4294967295");
}

TEST(FlowAudit, ReportsANextIncomingIdAheadOfWhatWasSent)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(server, scene::of_server, s.server_flow(11));
    EXPECT_EQ(s.findings(), "");
    s.send(server, scene::of_server, s.server_flow(12));
    EXPECT_EQ(s.findings(), "server next-incoming-id-ahead: expected at most 11, actual 12");
}

TEST(FlowAudit, ReportsANextIncomingIdThatGoesBack)
{
    scene s;
    s.ready();
    for (std::uint32_t i = 0; i != 3; ++i) s.deliver(scene::first(i));
    s.send(server, scene::of_server, s.server_flow(12));
    s.send(server, scene::of_server, s.server_flow(11));
    EXPECT_EQ(s.findings(), "server next-incoming-id-back: expected at least 12, actual 11");
}

TEST(FlowAudit, ReportsANextIncomingIdBeforeTheFirst)
{
    scene s;
    s.client_first = 0xffff'fffc;
    s.begin_session();
    s.send(server, scene::of_server, s.server_flow(0));
    EXPECT_EQ(s.findings(), "server next-incoming-id-ahead: expected at most 4294967292, actual 0");
    s.send(server, scene::of_server, s.server_flow(0xffff'fff0));
    EXPECT_EQ(s.findings(),
              "server next-incoming-id-back: expected at least 4294967292, actual 4294967280");
}

TEST(FlowAudit, AllowsANextIncomingIdThatLags)
{
    scene s;
    s.ready();
    for (std::uint32_t i = 0; i != 5; ++i) s.deliver(scene::first(i));
    s.send(server, scene::of_server, s.server_flow(10));
    s.send(server, scene::of_server, s.server_flow(13));
    EXPECT_EQ(s.findings(), "");
}

// [2.5.6]: the receiver copies what the sender's flow says, so that the fault is the sender's
// alone.
TEST(FlowAudit, BlamesNobodyForFollowingTheOtherSidesWrongFlow)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(13));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 11, actual 13");
    s.send(server, scene::of_server, s.server_flow(13));
    s.deliver(scene::first(1));
    s.send(server, scene::of_server, s.server_flow(14));
    s.send(client, scene::of_client, s.client_flow(12));
    s.send(server, scene::of_server, s.server_flow(12));
    EXPECT_EQ(s.findings(), "");
    s.send(server, scene::of_server, s.server_flow(15));
    EXPECT_EQ(s.findings(), "server next-incoming-id-ahead: expected at most 12, actual 15");
}

TEST(FlowAudit, ReportsANextIncomingIdBeforeTheOtherSidesBegin)
{
    scene s;
    s.open_both();
    s.send(client, scene::of_client, s.begin_of(client));
    auto f = s.client_flow(10);
    f.next_incoming_id.reset();
    s.send(client, scene::of_client, f);
    EXPECT_EQ(s.findings(), "");
    f.next_incoming_id = transfer_id{0};
    s.send(client, scene::of_client, f);
    EXPECT_EQ(s.findings(), "client next-incoming-id-early: expected absent, actual 0");
}

TEST(FlowAudit, ReportsANextIncomingIdThatIsMissingOnceItMustBeKnown)
{
    scene s;
    s.begin_session();
    auto f = s.server_flow(10);
    f.next_incoming_id.reset();
    s.send(server, scene::of_server, f);
    EXPECT_EQ(s.findings(), "server next-incoming-id-missing: expected 10, actual absent");
}

TEST(FlowAudit, AllowsAFlowWithoutNextIncomingIdThatCrossesWithTheBegin)
{
    scene s;
    s.begin_session();
    auto f = s.client_flow(10);
    f.next_incoming_id.reset();
    s.send(client, scene::of_client, f);
    s.send(client, scene::of_client, s.client_flow(10));
    EXPECT_EQ(s.findings(), "");
    s.send(client, scene::of_client, f);
    EXPECT_EQ(s.findings(), "client next-incoming-id-missing: expected 500, actual absent");
}

TEST(FlowAudit, ReportsLinkFieldsWithoutAHandle)
{
    scene s;
    s.ready();
    auto f = s.server_flow(10);
    f.delivery_count = sequence_number{0};
    f.link_credit = 10;
    s.send(server, scene::of_server, f);
    EXPECT_EQ(s.findings(), "server flow-link-field: expected no link field without a handle, "
                            "actual delivery-count link-credit");
}

TEST(FlowAudit, ReportsAWrongDeliveryCountOfASender)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, on_link(s.client_flow(11), scene::sender, 0, 49));
    EXPECT_EQ(s.findings(), "client delivery-count: expected 1, actual 0");
    s.send(client, scene::of_client, on_link(s.client_flow(11), scene::sender, 2, 48));
    EXPECT_EQ(s.findings(), "client delivery-count: expected 1, actual 2");
    s.send(client, scene::of_client, on_link(s.client_flow(11), scene::sender, 1, 49));
    EXPECT_EQ(s.findings(), "");
}

TEST(FlowAudit, AllowsADeliveryCountWithOrWithoutTheDeliveryOnItsWay)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.send(client, scene::of_client, on_link(s.client_flow(11), scene::sender, 0, 50));
    s.send(client, scene::of_client, on_link(s.client_flow(11), scene::sender, 1, 49));
    s.credit(50, 1);
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::rest());
    s.send(client, scene::of_client, on_link(s.client_flow(12), scene::sender, 0, 50));
    EXPECT_EQ(s.findings(), "client delivery-count: expected 1, actual 0");
}

TEST(FlowAudit, CountsAnAbortedDelivery)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    auto abort = scene::rest();
    abort.aborted = true;
    s.deliver(abort);
    s.send(client, scene::of_client, on_link(s.client_flow(12), scene::sender, 1, 49));
    EXPECT_EQ(s.findings(), "");
}

TEST(FlowAudit, ReportsASenderThatLeavesOutItsDeliveryCount)
{
    scene s;
    s.ready();
    auto f = s.client_flow(10);
    f.handle = handle{scene::sender};
    s.send(client, scene::of_client, f);
    EXPECT_EQ(s.findings(), "client delivery-count-missing: expected 0, actual absent");
}

TEST(FlowAudit, ReportsAReceiversDeliveryCountBeforeTheSendersAttach)
{
    scene s;
    s.begin_session();
    s.send(server, scene::of_server, s.of_receiver);
    auto f = s.credit_flow(10, 0);
    f.delivery_count.reset();
    s.send(server, scene::of_server, f);
    EXPECT_EQ(s.findings(), "");
    s.credit(10, 0);
    EXPECT_EQ(s.findings(), "server delivery-count-early: expected absent, actual 0");
}

TEST(FlowAudit, TakesEarlyCreditFromTheSendersInitialDeliveryCount)
{
    scene s;
    s.first_count = 0xffff'fffe;
    s.begin_session();
    s.send(server, scene::of_server, s.of_receiver);
    auto f = s.credit_flow(3, 0);
    f.delivery_count.reset();
    s.send(server, scene::of_server, f);
    s.of_sender.initial_delivery_count = sequence_number{s.first_count};
    s.send(client, scene::of_client, s.of_sender);
    for (std::uint32_t i = 0; i != 3; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "client link-credit: expected at most delivery-count 1, "
                            "actual delivery-count 2");
}

TEST(FlowAudit, ReportsAReceiversDeliveryCountAheadOfWhatWasSent)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.credit(10, 2);
    EXPECT_EQ(s.findings(), "server delivery-count-ahead: expected at most 1, actual 2");
}

TEST(FlowAudit, ReportsAReceiversDeliveryCountThatGoesBack)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.credit(10, 1);
    s.credit(10, 0);
    EXPECT_EQ(s.findings(), "server delivery-count-back: expected at least 1, actual 0");
}

TEST(FlowAudit, ReportsAReceiversDeliveryCountThatIsLeftOutLater)
{
    scene s;
    s.ready();
    auto f = s.credit_flow(10, 0);
    f.delivery_count.reset();
    s.send(server, scene::of_server, f);
    EXPECT_EQ(s.findings(), "server delivery-count-missing: expected 0, actual absent");
}

TEST(FlowAudit, BlamesNoReceiverForFollowingTheSendersWrongDeliveryCount)
{
    scene s;
    s.ready();
    s.send(client, scene::of_client, on_link(s.client_flow(10), scene::sender, 4, 46));
    EXPECT_EQ(s.findings(), "client delivery-count: expected 0, actual 4");
    s.credit(50, 4);
    s.send(client, scene::of_client, on_link(s.client_flow(10), scene::sender, 0, 50));
    s.credit(50, 0);
    EXPECT_EQ(s.findings(), "");
}

TEST(FlowAudit, TakesTheDeliveryCountOfADrainedSender)
{
    scene s;
    s.ready(10);
    s.deliver(scene::first(0));
    auto drain = s.credit_flow(10, 0);
    drain.drain = true;
    s.send(server, scene::of_server, drain);
    auto done = on_link(s.client_flow(11), scene::sender, 10, 0);
    done.drain = true;
    s.send(client, scene::of_client, done);
    s.credit(1, 10);
    s.deliver(scene::first(1));
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

// A sender that has sent more than a limit which it learns late has no credit, like one that has
// used up the last limit.
TEST(FlowAudit, TakesNoCreditLeftForNoNewsOfTheLatestLimit)
{
    scene s;
    s.ready(6);
    s.credit(1, 0);
    s.deliver(scene::first(0));
    s.deliver(scene::first(1));
    s.credit(2, 2);
    s.credit(0, 2);
    s.send(client, scene::of_client, on_link(s.client_flow(12), scene::sender, 2, 0));
    s.deliver(scene::first(2));
    EXPECT_EQ(s.findings(), "");
}

// What is said by the first limit reads like the last but one, which the third one does not precede
// then.
TEST(FlowAudit, TakesALimitThatIsStatedTwiceForTheOlderOne)
{
    scene s;
    s.ready(3);
    s.credit(6, 0);
    s.credit(0, 0);
    for (auto id = 0u; id < 3; ++id) s.deliver(scene::first(id));
    s.credit(3, 3);
    s.send(client, scene::of_client, on_link(s.client_flow(13), scene::sender, 3, 3));
    s.send(client, scene::of_client, on_link(s.client_flow(13), scene::sender, 3, 0));
    s.credit(0, 3);
    s.send(client, scene::of_client, on_link(s.client_flow(13), scene::sender, 3, 0));
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "");
}

// The first answer goes by the first limit, though the last one is the same number.
TEST(FlowAudit, TakesTheDeliveryCountsOfADrainWhoseLimitIsChangedAndChangedBack)
{
    scene s;
    s.ready(3);
    for (auto const credit : {3u, 5u, 3u}) {
        auto drain = s.credit_flow(credit, 0);
        drain.drain = true;
        s.send(server, scene::of_server, drain);
    }
    for (auto const count : {3u, 5u}) {
        auto done = on_link(s.client_flow(10), scene::sender, count, 0);
        done.drain = true;
        s.send(client, scene::of_client, done);
    }
    EXPECT_EQ(s.findings(), "");
}

TEST(FlowAudit, ReportsADeliveryCountThatPassesTheCreditInADrain)
{
    scene s;
    s.ready(10);
    auto drain = s.credit_flow(10, 0);
    drain.drain = true;
    s.send(server, scene::of_server, drain);
    s.send(client, scene::of_client, on_link(s.client_flow(10), scene::sender, 11, 0));
    EXPECT_EQ(s.findings(), "client delivery-count: expected 0, actual 11");
}

}  // namespace
}  // namespace sluice::audit::testing
