// What is said of a delivery before it is whole, and who has the last word of it. [2.6.12]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct SettleModes : testing::Test {
    /// A streamed receiver in mode second with credit.
    void receive()
    {
        peer.open_session();
        auto options = link_named("R");
        options.rcv_settle_mode = receiver_settle_mode::second;
        options.streamed = true;
        r = &peer.open_receiver(std::move(options),
                                {.rcv_settle_mode = receiver_settle_mode::second});
        r->set_credit(10);
        peer.forget_so_far();
    }
    /// A sender whose delivery 0 has its first frame out and waits for its source.
    void send(bool auto_settle)
    {
        peer.open_session();
        auto options = link_named("S");
        options.auto_settle = auto_settle;
        options.rcv_settle_mode = receiver_settle_mode::second;
        s = &peer.open_sender(std::move(options),
                              {.rcv_settle_mode = receiver_settle_mode::second});
        peer.grant(5, *s);
        peer.forget_so_far();
        d = *s->send(source);
        source.script.push_back({e::pull_status::bytes, 5});
        s->body_ready(*d);
        EXPECT_EQ(peer.wire(), "transfer(h0 id=0 more 'bbbbb')");
    }
    void peer_says(role r_, bool settled)
    {
        peer.send(disposition{.role = r_,
                              .first = delivery_number{0},
                              .settled = settled,
                              .state = {encoded_accepted}});
    }
    void finish_body()
    {
        source.script.push_back({e::pull_status::end, 0});
        s->body_ready(*d);
    }
    std::size_t here()
    {
        std::size_t n = 0;
        r->for_each_delivery([&](e::incoming_delivery&) { ++n; });
        return n;
    }

    engine_peer peer;
    scripted_source source;
    e::receiver* r = nullptr;
    e::sender* s = nullptr;
    e::outgoing_delivery* d = nullptr;
};

TEST_F(SettleModes, ADeliverySettledInItsMiddleIsLeftToItsSenderInModeSecond)
{
    receive();
    peer.send(engine_peer::first_frame(0, true), "one");
    EXPECT_FALSE(r->settle(*peer.deliveries.back()));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 accepted)");
    peer.send(transfer{}, "two");
    EXPECT_EQ(peer.events(), "delivery(R 0 'one')");
    EXPECT_EQ(r->unread_bytes(), 0u) << "the rest is dropped as it comes";
    EXPECT_EQ(here(), 1u);
    peer_says(role::sender, true);
    EXPECT_EQ(here(), 0u);
    EXPECT_EQ(peer.events(), "") << "its owner was done with it";
    EXPECT_EQ(r->held(), 0u);
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(SettleModes, TheSendersSettlementMayComeBeforeTheLastFrame)
{
    receive();
    peer.send(engine_peer::first_frame(0, true), "one");
    EXPECT_FALSE(r->settle(*peer.deliveries.back()));
    peer_says(role::sender, true);
    EXPECT_EQ(here(), 1u);
    peer.send(transfer{}, "two");
    EXPECT_EQ(here(), 0u);
    EXPECT_EQ(r->held(), 0u);
}

TEST_F(SettleModes, ReceivedLeavesEverythingToBeSaid)
{
    receive();
    peer.send(engine_peer::first_frame(0), "one");
    auto& whole = *peer.deliveries.back();
    auto const state = encoded(delivery_state{received{}});
    EXPECT_FALSE(r->update(whole, {state}));
    EXPECT_EQ(whole.state(), e::incoming_state::complete);
    EXPECT_FALSE(r->settle(whole));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 received) disposition(receiver 0 accepted)");
}

TEST_F(SettleModes, AnOutcomeBeforeTheLastFrameIsSettledRightAfterIt)
{
    send(true);
    peer_says(role::receiver, false);
    EXPECT_EQ(peer.wire(), "");
    peer.forget_so_far();
    finish_body();
    EXPECT_EQ(peer.wire(), "transfer(h0) disposition(sender 0 settled accepted)");
    EXPECT_NE(peer.events().find("outcome"), std::string::npos);
    EXPECT_EQ(s->unsettled(), 0u);
}

TEST_F(SettleModes, AnOutcomeBeforeTheLastFrameIsKeptForAnOwnerThatSettlesItself)
{
    send(false);
    peer_says(role::receiver, false);
    finish_body();
    EXPECT_EQ(peer.wire(), "transfer(h0)");
    EXPECT_EQ(s->unsettled(), 1u);
    EXPECT_EQ(d->state(), e::outgoing_state::answered);
    EXPECT_FALSE(s->settle(*d));
    EXPECT_EQ(peer.wire(), "disposition(sender 0 settled accepted)");
}

}  // namespace
}  // namespace sluice::test
