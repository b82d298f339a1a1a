// Credit as its sender counts it, drains, echoes, and deliveries that are given up. [2.6.7]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/sender.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct SenderCredit : testing::Test {
    explicit SenderCredit(e::link_options options = link_named("S"))
        : s{(peer.open_session(), peer.open_sender(std::move(options)))}
    {
    }
    void queue(int count)
    {
        for (auto i = 0; i < count; ++i) sent.push_back(*s.send({body}));
    }

    engine_peer peer{{.outgoing_frame_max = 512}};
    e::sender& s;
    bytes const body = octets_of("x");
    std::vector<e::outgoing_delivery*> sent;
};

e::link_options counting_from(std::uint32_t count)
{
    auto options = link_named("S");
    options.initial_delivery_count = sequence_number{count};
    return options;
}

struct SenderCreditAtTheWrap : SenderCredit {
    SenderCreditAtTheWrap() : SenderCredit{counting_from(4294967290)} {}
};

struct SenderThatIsAskedToDrain : SenderCredit {
    SenderThatIsAskedToDrain() : SenderCredit{drained_by_hand()} {}
    static e::link_options drained_by_hand()
    {
        auto options = link_named("S");
        options.manual_drain = true;
        return options;
    }
};

TEST_F(SenderCredit, CountsFromWhatTheReceiverHadSeen)
{
    peer.grant(10, s);
    queue(4);
    std::ignore = peer.frames();
    EXPECT_EQ(s.credit(), 6u);
    peer.grant(10, s, 1);  // as of delivery-count 1: three more were on their way
    EXPECT_EQ(s.credit(), 7u);
}

TEST_F(SenderCredit, IsNeverNegative)
{
    peer.grant(10, s);
    queue(8);
    std::ignore = peer.frames();
    peer.grant(2, s, 3);  // up to 5, but 8 are gone
    EXPECT_EQ(s.credit(), 0u);
    queue(1);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(SenderCredit, MayBeTakenBack)
{
    peer.grant(10, s);
    peer.grant(0, s);
    queue(1);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(SenderCredit, MayBeLargerThanHalfOfTheCircle)
{
    peer.grant(4294967295, s);
    EXPECT_EQ(s.credit(), 4294967295u);
    queue(5);
    EXPECT_EQ(peer.frames().size(), 5u);
    EXPECT_EQ(s.credit(), 4294967290u);
    peer.grant(4294967295, s, 0);
    EXPECT_EQ(s.credit(), 4294967290u);
    peer.grant(2147483649, s, 5);
    EXPECT_EQ(s.credit(), 2147483649u);
}

TEST_F(SenderCreditAtTheWrap, CountsOverTheWrap)
{
    peer.grant(10, s, 4294967290);
    queue(11);
    EXPECT_EQ(peer.frames().size(), 10u);
    EXPECT_EQ(s.delivery_count(), sequence_number{4});
    peer.grant(3, s, 4294967295);  // up to 2, behind what was sent
    EXPECT_EQ(s.credit(), 0u);
    peer.grant(3, s, 2);
    EXPECT_EQ(s.credit(), 1u);
    EXPECT_EQ(peer.frames().size(), 1u);
}

TEST_F(SenderCreditAtTheWrap, CountsFromItsFirstDeliveryForAReceiverThatDoesNotKnowIt)
{
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 9,
                   .handle = handle{0},
                   .link_credit = 2u});
    EXPECT_EQ(s.credit(), 2u);
}

TEST_F(SenderCredit, LeavesOverWhatTheQueueDoesNotNeed)
{
    peer.grant(3, s);
    queue(2);
    EXPECT_EQ(s.free_credit(), 1u);
    queue(2);
    EXPECT_EQ(s.free_credit(), 0u);
}

TEST_F(SenderCredit, StaysWhereAFlowNamesNone)
{
    peer.grant(3, s);
    peer.forget_so_far();
    peer.send(flow{.next_incoming_id = transfer_id{0}, .incoming_window = 9, .handle = handle{0}});
    EXPECT_EQ(s.credit(), 3u);
    EXPECT_EQ(peer.events() + peer.wire(), "");
}

TEST_F(SenderCredit, IsUsedByADrainAndTheRestGivenBack)
{
    queue(3);
    peer.grant(10, s, 0, true);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x') transfer(h0 id=1 'x') transfer(h0 id=2 'x') "
                           "flow(nii=0 iw=2048 noi=3 h0 dc=10 lc=0 drain)");
    EXPECT_EQ(s.credit(), 0u);
    queue(1);
    EXPECT_EQ(peer.wire(), "");
    peer.grant(1, s, 10);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=3 'x')");
    EXPECT_EQ(s.delivery_count(), sequence_number{11});
}

TEST_F(SenderCredit, IsGivenBackAtOnceByADrainThatFindsNothing)
{
    peer.grant(10, s, 0, true);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=10 lc=0 drain)");
}

TEST_F(SenderCredit, IsUsedUpBeforeADrainIsAnswered)
{
    queue(3);
    peer.grant(2, s, 0, true);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x') transfer(h0 id=1 'x') "
                           "flow(nii=0 iw=2048 noi=2 h0 dc=2 lc=0 av=1 drain)");
}

TEST_F(SenderCredit, OfADrainIsGivenBackWhenTheLastDeliveryIsCancelled)
{
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 0,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 5u,
                   .drain = true});
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=5 lc=0 drain)");
    EXPECT_TRUE(s.draining());
    queue(1);
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 0,
                   .handle = handle{0},
                   .delivery_count = sequence_number{5},
                   .link_credit = 5u,
                   .drain = true});
    auto const before = peer.wire();
    EXPECT_EQ(before.find("lc=0"), std::string::npos)
        << "the window is shut, a delivery waits: " << before;
    std::ignore = s.cancel(*sent[0]);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=0 h0 dc=10 lc=0 drain)");
}

TEST_F(SenderThatIsAskedToDrain, SendsWhatItsOwnerStillHasBeforeTheCreditGoesBack)
{
    s.set_available(2);
    peer.grant(10, s, 0, true);
    EXPECT_EQ(peer.wire(), "") << "the owner has not said yet what there is";
    queue(2);
    s.set_available(0);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x') transfer(h0 id=1 'x')");
    s.drained();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=2 h0 dc=10 lc=0 drain)");
    s.drained();
    EXPECT_EQ(peer.wire(), "") << "a drain is answered once";
}

TEST_F(SenderThatIsAskedToDrain, TellsWhatItsOwnerStillHas)
{
    s.set_available(7);
    peer.grant(1, s);
    queue(2);
    s.session().connection().tick(e::time_point{0});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    s.session().request_flow();
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 9,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 1u,
                   .echo = true});
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=1 h0 dc=1 lc=0 av=8)");
}

TEST_F(SenderCredit, EchoIsAnsweredOnTheLinkWithoutAnEcho)
{
    peer.grant(7, s);
    queue(2);
    std::ignore = peer.wire();
    peer.send(flow{.next_incoming_id = transfer_id{2},
                   .incoming_window = 9,
                   .handle = handle{0},
                   .delivery_count = sequence_number{2},
                   .link_credit = 5u,
                   .echo = true});
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=2 h0 dc=2 lc=5)");
}

TEST_F(SenderCredit, OfADeliveryThatIsCancelledInTheQueueIsNotUsed)
{
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 0,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 5u});
    queue(2);
    peer.forget_so_far();
    EXPECT_FALSE(s.cancel(*sent[0]));
    EXPECT_EQ(peer.events(), "aborted(S cancelled)");
    EXPECT_FALSE(s.cancel(*sent[1]));
    peer.grant(5, s);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(s.credit(), 5u);
    EXPECT_EQ(s.delivery_count(), sequence_number{0});
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{0});
}

TEST_F(SenderCredit, OfADeliveryThatIsCancelledInItsMiddleIsUsedAndAnAbortFollows)
{
    auto const large = octets_of(std::string(1200, 'y'));
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 1,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 5u});
    auto* const half = *s.send({large});
    EXPECT_EQ(peer.frames().size(), 2u) << "one frame, and an echo that asks for more window";
    EXPECT_FALSE(s.cancel(*half));
    EXPECT_EQ(peer.wire(), "") << "the abort waits for the window";
    peer.forget_so_far();
    peer.grant(5, s);
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted)");
    EXPECT_EQ(peer.events(), "aborted(S cancelled)");
    EXPECT_EQ(s.credit(), 4u);
    EXPECT_EQ(s.delivery_count(), sequence_number{1});
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{2}) << "an aborted frame counts";
    std::ignore = s.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=1 'x')");
}

TEST_F(SenderCredit, OfADeliveryThatIsSentWholeCannotBeCancelledAnyMore)
{
    peer.grant(5, s);
    queue(1);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    peer.forget_so_far();
    EXPECT_EQ(s.cancel(*sent[0]), error::invalid_state);
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled)");
    EXPECT_EQ(s.unsettled(), 0u);
}

}  // namespace
}  // namespace sluice::test
