// Deliveries: ids, continuations, aborts, settlement, dispositions.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

constexpr auto c = scene::of_client;

transfer aborted(transfer t)
{
    t.aborted = true;
    return t;
}

TEST(DeliveryAudit, ReportsAGapInTheDeliveryIds)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0xffff'ffff));
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(2));
    s.deliver(scene::first(3));
    EXPECT_EQ(s.findings(), "client delivery-id-gap: expected 1, actual 2");
}

TEST(DeliveryAudit, ReportsADeliveryIdThatRepeatsOrGoesBack)
{
    scene s;
    s.ready();
    s.deliver(scene::first(5));
    s.deliver(scene::first(5));
    s.deliver(scene::first(4));
    EXPECT_EQ(s.findings(), "client delivery-id-order: expected 6, actual 5\n"
                            "client delivery-id-order: expected 6, actual 4");
}

TEST(DeliveryAudit, ReportsAFirstFrameWithoutIdTagOrFormat)
{
    scene s;
    s.ready();
    auto t = scene::first(0);
    t.delivery_id.reset();
    s.deliver(t);
    EXPECT_EQ(s.findings(), "client delivery-id-missing: expected 0, actual absent");
    t = scene::first(1);
    t.delivery_tag.reset();
    s.deliver(t);
    EXPECT_EQ(s.findings(), "client delivery-tag-missing: expected delivery-tag, actual absent");
    t = scene::more(scene::first(2));
    t.message_format.reset();
    s.deliver(t);
    EXPECT_EQ(s.findings(),
              "client message-format-missing: expected message-format, actual absent");
}

TEST(DeliveryAudit, ReportsADeliveryTagThatIsTooLong)
{
    scene s;
    s.ready();
    bytes const tag(33);
    auto t = scene::first(0);
    t.delivery_tag = bytes_view{tag}.first(32);
    s.deliver(t);
    EXPECT_EQ(s.findings(), "");
    t = scene::first(1);
    t.delivery_tag = tag;
    s.deliver(t);
    EXPECT_NE(s.findings().find("client decode-error: expected a well-formed transfer, actual "
                                "transfer.delivery-tag"),
              std::string::npos);
}

TEST(DeliveryAudit, ReportsContinuationsThatDifferFromTheirFirstFrame)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    auto t = scene::more(scene::first(0));
    s.deliver(t);
    EXPECT_EQ(s.findings(), "");
    t.delivery_id = delivery_number{8};
    s.deliver(t);
    EXPECT_EQ(s.findings(), "client continuation-delivery-id: expected 0, actual 8");
    bytes const tag(2, std::byte{0x1f});
    t = scene::more(scene::rest());
    t.delivery_tag = tag;
    s.deliver(t);
    EXPECT_EQ(s.findings(), "client continuation-delivery-tag: expected 07, actual 1f1f");
    t = scene::rest();
    t.message_format = 9;
    s.deliver(t);
    EXPECT_EQ(s.findings(), "client continuation-message-format: expected 0, actual 9");
}

TEST(DeliveryAudit, ReportsDeliveriesThatInterleaveOnALink)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.deliver(scene::first(1));
    s.deliver(scene::first(2));
    EXPECT_EQ(s.findings(),
              "client delivery-interleaved: expected the rest of delivery 0, actual delivery 1");
}

TEST(DeliveryAudit, AllowsDeliveriesThatInterleaveOnDifferentLinks)
{
    scene s;
    s.ready();
    auto other = s.of_sender;
    other.name = "m";
    other.handle = {0};
    s.send(client, c, other);
    auto there = s.of_receiver;
    there.name = "m";
    there.handle = {0};
    s.send(server, scene::of_server, there);
    auto grant = s.credit_flow(10, 0);
    grant.handle = handle{0};
    s.send(server, scene::of_server, grant);

    auto b = scene::first(1);
    b.handle = {0};
    auto b2 = scene::rest();
    b2.handle = {0};
    s.deliver(scene::more(scene::first(0)));
    s.deliver(scene::more(b));
    s.deliver(scene::rest());
    s.deliver(b2);
    EXPECT_EQ(s.findings(), "");
}

TEST(DeliveryAudit, SettlesWhatIsAborted)
{
    scene s;
    s.ready();
    s.deliver(scene::more(scene::first(0)));
    s.deliver(scene::more(aborted(scene::rest())));
    s.deliver(scene::first(1));
    s.dispose(scene::accept(1, 1));
    EXPECT_EQ(s.findings(), "");
}

TEST(DeliveryAudit, SuspectsAnAbortOfNothing)
{
    scene s;
    s.ready();
    s.deliver(aborted(scene::first(0)));
    EXPECT_EQ(s.findings(), "client abort-nothing: expected an abort of a delivery that has begun, "
                            "actual aborted=true");
}

TEST(DeliveryAudit, ReportsAResumedDeliveryThatTheAttachDidNotName)
{
    scene s;
    s.ready();
    auto t = scene::first(0);
    t.resume = true;
    s.deliver(t);
    EXPECT_EQ(s.findings(),
              "client resume-unknown: expected a delivery from the sender's unsettled "
              "map, actual resume=true");
}

TEST(DeliveryAudit, AllowsAResumedDeliveryToBeAborted)
{
    constexpr std::array unsettled{std::byte{0xc1}, std::byte{0x05}, std::byte{0x02},
                                   std::byte{0xa0}, std::byte{0x01}, std::byte{0x07},
                                   std::byte{0x40}};
    scene s;
    s.of_sender.unsettled = {bytes_view{unsettled}};
    s.ready();
    auto t = aborted(scene::first(0));
    t.resume = true;
    s.deliver(t);
    EXPECT_EQ(s.findings(), "");
}

TEST(DeliveryAudit, HoldsDeliveriesAgainstTheSendersSettleMode)
{
    scene s;
    s.of_sender.snd_settle_mode = sender_settle_mode::settled;
    s.ready();
    s.deliver(scene::settled(0));
    s.deliver(scene::more(scene::first(1)));
    auto last = scene::rest();
    last.settled = true;  // on one of the frames is enough [2.7.5]
    s.deliver(last);
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(2));
    EXPECT_EQ(s.findings(),
              "client sender-settle-mode: expected settled=true, actual settled=false");

    scene u;
    u.of_sender.snd_settle_mode = sender_settle_mode::unsettled;
    u.ready();
    u.deliver(scene::first(0));
    u.deliver(scene::more(scene::first(1)));
    auto abort = aborted(scene::rest());
    abort.settled = true;
    u.deliver(abort);
    EXPECT_EQ(u.findings(), "");
    u.deliver(scene::settled(2));
    EXPECT_EQ(u.findings(),
              "client sender-settle-mode: expected settled=false, actual settled=true");
}

TEST(DeliveryAudit, ReportsATransferThatAsksForModeSecondOnALinkOfModeFirst)
{
    scene s;
    s.ready();
    auto t = scene::settled(0);
    t.rcv_settle_mode = receiver_settle_mode::second;  // ignored, for it is settled
    s.deliver(t);
    EXPECT_EQ(s.findings(), "");
    t = scene::first(1);
    t.rcv_settle_mode = receiver_settle_mode::second;
    s.deliver(t);
    EXPECT_EQ(s.findings(),
              "client receiver-settle-mode: expected rcv-settle-mode first, actual second");
}

TEST(DeliveryAudit, FollowsModeSecondToItsEnd)
{
    scene s;
    s.of_receiver.rcv_settle_mode = receiver_settle_mode::second;
    s.ready();
    s.deliver(scene::first(0));
    s.deliver(scene::first(1));
    auto state = scene::accept(0, 1);
    state.settled = false;
    s.dispose(state);
    state.role = role::sender;
    state.settled = true;
    s.send(client, c, state);
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(DeliveryAudit, ReportsAReceiverThatSettlesFirstInModeSecond)
{
    scene s;
    s.of_receiver.rcv_settle_mode = receiver_settle_mode::second;
    s.ready();
    auto t = scene::first(0);
    t.rcv_settle_mode = receiver_settle_mode::first;  // this one it may [2.7.5]
    s.deliver(t);
    s.deliver(scene::first(1));
    s.dispose(scene::accept(0, 0));
    EXPECT_EQ(s.findings(), "");
    s.dispose(scene::accept(1, 1));
    EXPECT_EQ(s.findings(),
              "server receiver-settled-first: expected settled=false, actual settled=true");
}

// Artemis 2.40 answers `second` with `first`, and sends nothing after the receiver's disposition.
TEST(DeliveryAudit, TakesEitherModeWhereTheSenderAnswersFirstToAReceiverInSecond)
{
    scene s;
    s.of_receiver.rcv_settle_mode = receiver_settle_mode::second;
    s.of_sender.initial_delivery_count = sequence_number{s.first_count};
    s.of_sender.rcv_settle_mode = receiver_settle_mode::first;
    s.begin_session();
    s.send(server, scene::of_server, s.of_receiver);  // it is the sender that answers
    s.send(client, c, s.of_sender);
    s.credit(50);
    s.deliver(scene::first(0));
    s.dispose(scene::accept(0, 0));
    EXPECT_EQ(s.findings(), "");
}

TEST(DispositionAudit, SettlesARangeOverTheWrap)
{
    scene s;
    s.ready();
    for (std::uint32_t id = 0xffff'fffe; id != 2; ++id) s.deliver(scene::first(id));
    s.dispose(scene::accept(0xffff'fffe, 1));
    EXPECT_EQ(s.findings(), "");
    s.dispose(scene::accept(0xffff'ffff, 0));
    EXPECT_EQ(s.findings(), "server disposition-nothing: expected a delivery that is not settled, "
                            "actual delivery-ids 4294967295 to 0");
}

TEST(DispositionAudit, ReportsAReversedRange)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.deliver(scene::first(1));
    s.dispose(scene::accept(1, 0));
    EXPECT_EQ(s.findings(), "server disposition-range: expected last not before first 1, actual 0");
    s.dispose(scene::accept(0, 0xffff'ffff));
    EXPECT_EQ(s.findings(),
              "server disposition-range: expected last not before first 0, actual 4294967295");
}

TEST(DispositionAudit, ReportsDeliveriesThatWereNotSent)
{
    scene s;
    s.ready();
    s.dispose(scene::accept(0, 0));
    EXPECT_EQ(s.findings(), "server disposition-unsent: expected no disposition before the first "
                            "delivery, actual delivery-id 0");
    s.deliver(scene::first(0));
    s.dispose(scene::accept(1, 1));
    EXPECT_EQ(s.findings(), "server disposition-unsent: expected at most delivery-id 0, actual 1");
}

TEST(DispositionAudit, ReportsAStateThatIsMalformed)
{
    constexpr std::array received{std::byte{0x00}, std::byte{0x53}, std::byte{0x23},
                                  std::byte{0x45}};
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    auto f = scene::accept(0, 0);
    f.state = {bytes_view{received}};  // without its mandatory fields
    s.dispose(f);
    EXPECT_EQ(s.findings().rfind("server decode-error: expected a well-formed delivery state", 0),
              0u);
}

TEST(DispositionAudit, SuspectsARangeThatEndsBeyondWhatWasSent)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.dispose(scene::accept(0, 0x7fff'ffff));
    EXPECT_EQ(s.findings(),
              "server disposition-beyond: expected last at most 0, actual 2147483647");
}

TEST(DispositionAudit, SuspectsADispositionForWhatWasSentSettled)
{
    scene s;
    s.ready();
    s.deliver(scene::settled(0));
    s.dispose(scene::accept(0, 0));
    EXPECT_EQ(s.findings(), "server disposition-nothing: expected a delivery that is not settled, "
                            "actual delivery-ids 0 to 0");
}

TEST(DispositionAudit, AllowsBothEndsToSettleAtOnce)
{
    scene s;
    s.ready();
    for (std::uint32_t id = 0; id != 40; id += 2) {
        s.deliver(scene::first(id));
        s.deliver(scene::settled(id + 1));
    }
    for (std::uint32_t id = 0; id != 40; id += 2) {
        auto given_up = scene::accept(id, id);
        given_up.role = role::sender;
        s.send(client, c, given_up);
    }
    for (std::uint32_t id = 0; id != 40; id += 2) s.dispose(scene::accept(id, id));
    EXPECT_EQ(s.findings(), "");
}

TEST(DispositionAudit, LeavesOutWhatIsSettledInARange)
{
    scene s;
    s.ready();
    for (std::uint32_t id = 0; id != 9; ++id)
        s.deliver(id % 3 == 0 ? scene::first(id) : scene::settled(id));
    s.dispose(scene::accept(3, 3));
    s.dispose(scene::accept(0, 8));
    EXPECT_EQ(s.findings(), "");
    s.dispose(scene::accept(6, 6));
    EXPECT_NE(s.findings(), "");
}

}  // namespace
}  // namespace sluice::audit::testing
