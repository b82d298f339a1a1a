// Windows and credit: what a sender may use while grants and reductions are on their way.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

TEST(LimitsAudit, ReportsTransfersBeyondTheSessionsWindowOnce)
{
    scene s;
    s.window = 3;
    s.ready();
    for (std::uint32_t i = 0; i != 3; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(3));
    s.deliver(scene::first(4));
    EXPECT_EQ(s.findings(), "client session-window: expected at most transfer-id 12, "
                            "actual transfer-id 13");
}

TEST(LimitsAudit, CountsContinuationsAgainstTheWindow)
{
    scene s;
    s.window = 2;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.deliver(scene::more(scene::rest()));
    s.deliver(scene::rest());
    EXPECT_EQ(s.findings(), "client session-window: expected at most transfer-id 11, "
                            "actual transfer-id 12");
}

TEST(LimitsAudit, ReportsTransfersBeforeTheOtherSidesBegin)
{
    scene s;
    s.open_both();
    s.send(client, scene::of_client, s.begin_of(client));
    s.of_sender.initial_delivery_count = sequence_number{0};
    s.send(client, scene::of_client, s.of_sender);
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(), "client session-window: expected no transfer before the other side's "
                            "begin, actual transfer-id 10");
}

TEST(LimitsAudit, TakesTheWindowFromTheLatestFlowThatGrantsMore)
{
    scene s;
    s.client_first = 0xffff'fffe;
    s.window = 3;
    s.ready();
    for (std::uint32_t i = 0; i != 3; ++i) s.deliver(scene::first(i));
    s.send(server, scene::of_server, s.server_flow(1));
    for (std::uint32_t i = 3; i != 6; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(6));
    EXPECT_EQ(s.findings(),
              "client session-window: expected at most transfer-id 3, actual transfer-id 4");
}

TEST(LimitsAudit, TakesAWindowWithoutNextIncomingIdFromTheFirstId)
{
    scene s;
    s.window = 0;
    s.begin_session();  // the client answers nothing here; the server sends
    attach out{.name = "m", .handle = {1}, .role = role::sender};
    out.initial_delivery_count = sequence_number{0};
    s.send(server, scene::of_server, out);
    s.send(client, scene::of_client, attach{.name = "m", .handle = {9}, .role = role::receiver});
    auto grant = s.client_flow(10);
    grant.next_incoming_id.reset();
    grant.incoming_window = 2;
    grant.handle = handle{9};
    grant.link_credit = 10;
    s.send(client, scene::of_client, grant);
    auto t = scene::first(0);
    t.handle = handle{1};
    s.send(server, scene::of_server, t);
    t.delivery_id = delivery_number{1};
    s.send(server, scene::of_server, t);
    EXPECT_EQ(s.findings(), "");
    t.delivery_id = delivery_number{2};
    s.send(server, scene::of_server, t);
    EXPECT_EQ(s.findings(),
              "server session-window: expected at most transfer-id 501, actual transfer-id 502");
}

TEST(LimitsAudit, TakesAWindowOfHalfTheCircleAndMore)
{
    scene s;
    s.window = 0xffff'ffff;
    s.ready();
    s.deliver(scene::first(0));
    s.send(server, scene::of_server, s.server_flow(11));
    s.deliver(scene::first(1));
    EXPECT_EQ(s.findings(), "");
}

// The reduction may still be on its way to the sender.
TEST(LimitsAudit, HoldsNoReductionOfTheWindowAgainstTransfersThatMayCrossWithIt)
{
    scene s;
    s.window = 5;
    s.ready();
    s.window = 1;
    s.send(server, scene::of_server, s.server_flow(10));
    for (std::uint32_t i = 0; i != 5; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(5));
    EXPECT_EQ(s.findings(), "client session-window: expected at most transfer-id 14, "
                            "actual transfer-id 15");
}

// A transfer of the receiver's came behind the reduction, and the sender says that it has it.
TEST(LimitsAudit, HoldsAReductionOfTheWindowAgainstASenderThatHasProvablyGotIt)
{
    scene s;
    s.window = 5;
    s.ready();
    attach out{.name = "m", .handle = {1}, .role = role::sender};
    out.initial_delivery_count = sequence_number{0};
    s.send(server, scene::of_server, out);
    s.send(client, scene::of_client, attach{.name = "m", .handle = {9}, .role = role::receiver});
    auto grant = s.client_flow(10);
    grant.handle = handle{9};
    grant.delivery_count = sequence_number{0};
    grant.link_credit = 10;
    s.send(client, scene::of_client, grant);

    s.window = 1;
    s.send(server, scene::of_server, s.server_flow(10));
    auto t = scene::first(0);
    t.handle = handle{1};
    s.send(server, scene::of_server, t);
    auto knows = s.client_flow(10);
    knows.next_incoming_id = transfer_id{501};
    s.send(client, scene::of_client, knows);
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(1));
    EXPECT_EQ(s.findings(), "client session-window: expected at most transfer-id 10, "
                            "actual transfer-id 11");
}

TEST(LimitsAudit, ReportsDeliveriesBeyondTheCreditOnce)
{
    scene s;
    s.ready(2);
    s.deliver(scene::first(0));
    s.deliver(scene::more(scene::first(1)));
    s.deliver(scene::rest());
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(2));
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "client link-credit: expected at most delivery-count 2, "
                            "actual delivery-count 3");
}

TEST(LimitsAudit, ReportsADeliveryBeforeAnyCredit)
{
    scene s;
    s.begin_session();
    s.attach_both();
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(), "client link-credit: expected no delivery before credit, "
                            "actual delivery-count 1");
}

TEST(LimitsAudit, CountsCreditOverTheWrap)
{
    scene s;
    s.first_count = 0xffff'ffff;
    s.ready(2);
    s.deliver(scene::first(0));
    s.deliver(scene::first(1));
    s.credit(1, 1);
    s.deliver(scene::first(2));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "client link-credit: expected at most delivery-count 2, "
                            "actual delivery-count 3");
}

// [2.6.7]: the receiver takes what was in flight when it reduced the credit, or detaches.
TEST(LimitsAudit, HoldsNoReductionOfCreditAgainstDeliveriesThatMayCrossWithIt)
{
    scene s;
    s.ready(5);
    s.credit(3);
    s.credit(0);
    for (std::uint32_t i = 0; i != 5; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
}

TEST(LimitsAudit, HoldsAReductionOfCreditAgainstASenderThatSaysItKnowsIt)
{
    scene s;
    s.ready(5);
    s.credit(3);
    s.credit(1);
    auto knows = s.client_flow(10);
    knows.handle = handle{scene::sender};
    knows.delivery_count = sequence_number{0};
    knows.link_credit = 3;
    s.send(client, scene::of_client, knows);
    for (std::uint32_t i = 0; i != 3; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "client link-credit: expected at most delivery-count 3, "
                            "actual delivery-count 4");
}

TEST(LimitsAudit, RemembersTheHighestOfManyReductions)
{
    scene s;
    s.ready(20);
    for (std::uint32_t n = 19; n != 0; --n) s.credit(n);
    for (std::uint32_t i = 0; i != 20; ++i) s.deliver(scene::first(i));
    EXPECT_EQ(s.findings(), "");
}

TEST(LimitsAudit, ReportsAMessageLargerThanTheReceiverTakes)
{
    scene s;
    s.of_receiver.max_message_size = 10;
    s.ready();
    s.deliver(scene::first(0), 10);
    s.deliver(scene::more(scene::first(1)), 6);
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::more(scene::rest()), 6);
    s.deliver(scene::rest(), 6);
    EXPECT_EQ(s.findings(), "client message-size: expected at most 10, actual 12");
}

TEST(LimitsAudit, TakesAMaxMessageSizeOfZeroForNone)
{
    scene s;
    s.of_receiver.max_message_size = 0;
    s.ready();
    s.deliver(scene::first(0), 1000);
    EXPECT_EQ(s.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
