// What waits in a session's inbox, what does not, and the window that its room is. [2.5.6]
#include "support/engine_peer.hpp"

#include <sluice/engine/delivery_inbox.hpp>

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace sluice::test {
namespace {

/// A session that buffers 10 octets before first frames wait, and links A and B with plenty of
/// credit.
struct Inbox : testing::Test {
    void open(std::uint32_t window, std::size_t buffered_max = 10)
    {
        peer.open_session({.incoming_window = window, .buffered_bytes_max = buffered_max});
        a = &peer.open_receiver(link_named("A"));
        b = &peer.open_receiver(link_named("B"));
        a->set_credit(1000);
        b->set_credit(1000);
        peer.forget_so_far();
    }
    void first(e::receiver& r, std::string_view payload, bool more = false)
    {
        auto t = engine_peer::first_frame(next_id++, more);
        t.handle = r.local_handle();
        peer.send(t, payload);
    }
    void next(e::receiver& r, std::string_view payload, bool more = false)
    {
        peer.send(transfer{.handle = r.local_handle(), .more = more}, payload);
    }
    std::uint32_t window()
    {
        peer.session->request_flow();
        auto const frames = peer.frames();
        auto const f = frames.back().as<flow>();
        EXPECT_EQ(f.next_incoming_id, peer.next_outgoing_id);
        return f.incoming_window;
    }
    void take(std::size_t which)
    {
        auto& d = *peer.deliveries.at(which);
        std::ignore = d.link().take_body(d);
    }

    engine_peer peer;
    e::receiver* a = nullptr;
    e::receiver* b = nullptr;
    std::uint32_t next_id = 0;
};

TEST_F(Inbox, LetsFramesThroughWhileLittleIsUnread)
{
    open(8);
    first(*a, "12345");
    first(*a, "67890");
    EXPECT_EQ(peer.events(), "delivery(A 0 '12345') delivery(A 1 '67890')");
    EXPECT_EQ(window(), 8u);
}

TEST_F(Inbox, HoldsFirstFramesBackBeyondTheLimitUntilThereIsRoom)
{
    open(8);
    first(*a, "1234567");
    first(*a, "abcdefg");
    EXPECT_EQ(peer.events(), "delivery(A 0 '1234567')");
    EXPECT_EQ(window(), 7u) << "one place is taken";
    take(0);
    EXPECT_EQ(peer.events(), "delivery(A 1 'abcdefg')");
    EXPECT_EQ(window(), 8u);
}

TEST_F(Inbox, GivesALinkWithNothingUnreadItsTurnWhateverOthersHold)
{
    open(8);
    first(*a, std::string(35, 'x'));
    first(*a, "waits");
    first(*b, "goes");
    EXPECT_EQ(peer.events(), "delivery(A 0 '" + std::string(35, 'x') + "') delivery(B 2 'goes')");
    first(*b, "waits too");
    EXPECT_EQ(peer.events(), "");
    take(1);
    EXPECT_EQ(peer.events(), "delivery(B 3 'waits too')");
    EXPECT_EQ(a->unread_bytes(), 35u);
}

TEST_F(Inbox, SettlesDeliveriesThatWereOvertaken)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "waits");
    first(*b, "overtakes");
    take(0);
    peer.forget_so_far();
    peer.send(disposition{.role = role::sender,
                          .first = delivery_number{0},
                          .last = delivery_number{5},
                          .settled = true});
    EXPECT_EQ(peer.events(), "delivery_settled(A 0) delivery_settled(A 1) delivery_settled(B 2)");
}

TEST_F(Inbox, SettlesWhatWaitsWhenItsSenderDoes)
{
    open(8);
    first(*a, "1234567");
    for (auto const* const waits : {"abcdefg", "hijklmn"}) first(*a, waits);
    peer.send(disposition{.role = role::sender,
                          .first = delivery_number{0},
                          .last = delivery_number{1},
                          .settled = true});
    EXPECT_EQ(peer.events(), "delivery(A 0 '1234567') delivery_settled(A 0)");
    std::ignore = a->settle(*peer.deliveries[0]);
    EXPECT_EQ(peer.events(), "delivery(A 1 settled 'abcdefg') delivery_settled(A 1)");
    std::ignore = a->settle(*peer.deliveries[1]);
    EXPECT_EQ(peer.events(), "delivery(A 2 'hijklmn')");
    EXPECT_FALSE(peer.deliveries[2]->settled());
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(Inbox, KeepsTheOrderOfALink)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "long: waits");
    first(*a, "s");
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
    take(0);
    EXPECT_EQ(peer.events(), "delivery(A 1 'long: waits')");
    take(1);
    EXPECT_EQ(peer.events(), "delivery(A 2 's')");
}

TEST_F(Inbox, LetsContinuationsOvertakeFirstFramesThatWait)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "waits");
    first(*b, "b1,", true);
    next(*b, "b2,", true);
    next(*b, "b3");
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789') delivery(B 2 'b1,b2,b3')");
}

TEST_F(Inbox, PutsADeliveryTogetherWhoseFirstFrameWaited)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "a1,", true);
    next(*a, "a2,", true);
    next(*a, "a3");
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
    EXPECT_EQ(window(), 5u);
    take(0);
    EXPECT_EQ(peer.events(), "delivery(A 1 'a1,a2,a3')");
    EXPECT_EQ(window(), 8u);
}

TEST_F(Inbox, SaysHowMuchItHoldsWithWhatWaits)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "waits");
    first(*a, "too");
    EXPECT_EQ(peer.session->buffered_bytes(), 18u);
    take(0);
    EXPECT_EQ(peer.session->buffered_bytes(), 8u);
}

TEST_F(Inbox, DropsADeliveryThatIsAbortedWhileItWaits)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "a1,", true);
    peer.send(transfer{.aborted = true});
    first(*a, "next");
    take(0);
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789') delivery_aborted(A delivery_aborted 1) "
                             "delivery(A 2 'next')");
    EXPECT_EQ(peer.wire().find("disposition"), std::string::npos);
}

TEST_F(Inbox, ChecksContinuationsOfADeliveryThatWaits)
{
    open(8);
    first(*a, "0123456789");
    first(*a, "a1,", true);
    peer.send(transfer{.delivery_id = delivery_number{9}});
    EXPECT_NE(peer.events().find("link_detached(A delivery_id amqp:invalid-field)"),
              std::string::npos);
}

TEST_F(Inbox, ChecksContinuationsAgainstTheFirstFrameOfTheirOwnLink)
{
    open(8);
    first(*a, "01234");
    first(*b, "56789");
    std::array const tags{std::byte{7}, std::byte{8}};
    for (auto const* const part : {"1,", "2"})
        for (std::uint32_t i = 0; i < 2; ++i) {
            auto t = engine_peer::first_frame(2 + i, part[1] == ',');
            t.handle = (i == 0 ? a : b)->local_handle();
            t.delivery_tag = bytes_view{tags}.subspan(i, 1);
            peer.send(t, part);
        }
    take(0);
    take(1);
    EXPECT_EQ(peer.events(), "delivery(A 0 '01234') delivery(B 1 '56789') delivery(A 2 '1,2') "
                             "delivery(B 3 '1,2')");
}

TEST_F(Inbox, ShutsTheWindowWhenItIsFullAndOpensItAgain)
{
    open(4);
    first(*a, "0123456789");
    EXPECT_EQ(window(), 4u);
    for (auto i = 0; i < 4; ++i) first(*a, "waits");
    EXPECT_EQ(window(), 0u);
    peer.forget_so_far();
    take(0);
    EXPECT_EQ(peer.events(), "delivery(A 1 'waits') delivery(A 2 'waits')");
    auto const news = peer.frames();
    ASSERT_EQ(news.size(), 1u) << "unasked, for the peer cannot go on without";
    EXPECT_EQ(news[0].text(), "flow(nii=5 iw=2 noi=0)");
}

TEST_F(Inbox, TakesTheOldestPastTheLimitSoThatABegunDeliveryCanFinish)
{
    open(4);
    first(*a, "0123456789");
    first(*b, "b1,", true);
    std::ignore = window();
    for (auto i = 0; i < 4; ++i) first(*a, "a" + std::to_string(i));
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789') delivery(A 2 'a0')");
    EXPECT_EQ(window(), 1u);
    next(*b, "b2");
    EXPECT_EQ(peer.events(), "delivery(B 1 'b1,b2')");
}

TEST_F(Inbox, TakesWhatContinuesTheOldestPastTheLimitToo)
{
    open(4);
    first(*a, "0123456789");
    first(*b, "b1,", true);
    std::ignore = window();
    first(*a, "a1,", true);
    for (auto i = 0; i < 20; ++i) {
        next(*a, "+", i < 19);
        ASSERT_GT(window(), 0u) << "the delivery on B could never end";
    }
    next(*b, "b2");
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789') delivery(A 2 'a1,++++++++++++++++++++') "
                             "delivery(B 1 'b1,b2')");
}

TEST_F(Inbox, KeepsFinishingADeliveryOfAnyLengthWhileOthersCrowdIt)
{
    open(4);
    first(*a, "0123456789");
    first(*b, "b", true);
    for (auto i = 0; i < 50; ++i) {
        if (window() > 1)
            first(*a, "a");
        ASSERT_GT(window(), 0u) << i;
        next(*b, "b", i < 49);
    }
    EXPECT_NE(peer.events().find("delivery(B 1 51 octets)"), std::string::npos);
}

TEST_F(Inbox, NeverTakesBackTheEdgeThatItPromised)
{
    std::mt19937 random{7};
    open(16, 20);
    auto edge = peer.next_outgoing_id.value() + window();
    for (auto i = 0; i < 3000; ++i) {
        auto const left = edge - peer.next_outgoing_id.value();
        auto const dice = random() % 8;
        if (dice < 4 && left > 0)
            first(dice % 2 ? *a : *b, std::string(random() % 12, 'x'));
        else if (dice < 7) {
            for (auto* const r : {a, b})
                if (random() % 2 == 0) {
                    e::incoming_delivery* oldest = nullptr;
                    r->for_each_delivery(
                        [&](e::incoming_delivery& d) { oldest = oldest ? oldest : &d; });
                    if (oldest)
                        std::ignore = r->settle(*oldest);
                }
        } else {
            peer.session->request_flow();
        }
        a->set_credit(1000);
        b->set_credit(1000);
        for (auto const& frame : peer.frames()) {
            if (frame.descriptor() != 0x13)
                continue;
            auto const f = frame.as<flow>();
            auto const now = f.next_incoming_id->value() + f.incoming_window;
            ASSERT_GE(now, edge) << "step " << i;
            edge = now;
        }
        ASSERT_EQ(peer.session->state(), e::session_state::mapped);
    }
    EXPECT_GT(peer.next_outgoing_id.value(), 500u);
}

TEST_F(Inbox, GivesTheRoomOfALinkBackThatIsGone)
{
    open(4);
    first(*a, "0123456789");
    for (auto i = 0; i < 3; ++i) first(*a, "waits");
    EXPECT_EQ(window(), 1u);
    peer.send(detach{.handle = a->local_handle(), .closed = true});
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789') link_detached(A detached_by_peer)");
    EXPECT_EQ(window(), 4u);
    peer.session->forget(*a);
    first(*b, "0123456789");
    EXPECT_EQ(peer.events(), "delivery(B 4 '0123456789')");
}

TEST_F(Inbox, SaysThatItHasRoomAgainWhenTheLinkThatFilledItIsGone)
{
    open(2);
    first(*a, "0123456789");
    for (auto i = 0; i < 2; ++i) {
        std::ignore = window();
        first(*a, "waits");
    }
    EXPECT_EQ(window(), 0u);
    std::ignore = a->detach();
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    peer.send(detach{.handle = a->local_handle(), .closed = true});
    EXPECT_EQ(peer.wire(), "flow(nii=3 iw=2 noi=0)");
}

// ---- streamed deliveries

struct InboundStream : Inbox {
    void open_stream(std::uint32_t window = 8, std::size_t buffer_max = 10)
    {
        peer.open_session({.incoming_window = window});
        auto options = link_named("A");
        options.streamed = true;
        options.stream_buffer_max = buffer_max;
        a = &peer.open_receiver(std::move(options));
        b = &peer.open_receiver(link_named("B"));
        a->set_credit(10);
        b->set_credit(10);
        peer.forget_so_far();
    }
    e::incoming_delivery& d() { return *peer.deliveries.back(); }
};

TEST_F(InboundStream, IsAnnouncedAtItsFirstFrameAndReadInParts)
{
    open_stream();
    first(*a, "one,", true);
    EXPECT_EQ(peer.events(), "delivery(A 0 'one,')");
    EXPECT_FALSE(d().complete());
    a->consume(d(), 4);
    next(*a, "two,", true);
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'two,')");
    a->consume(d(), 2);
    EXPECT_TRUE(same_bytes(d().body(), octets_of("o,")));
    next(*a, "three");
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'o,three')");
    EXPECT_TRUE(d().complete());
    EXPECT_FALSE(a->settle(d()));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(a->unread_bytes(), 0u);
}

TEST_F(InboundStream, IsAnnouncedOnceForWhatIsNotReadYet)
{
    open_stream(8, 1000);
    first(*a, "a", true);
    EXPECT_EQ(peer.events(), "delivery(A 0 'a')");
    a->consume(d(), 1);
    for (auto const* const part : {"b", "c", "d"})
        std::ignore = peer.engine.receive(frame_of(transfer{.more = true}, part), peer.now);
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'bcd')");
}

TEST_F(InboundStream, InOneFrameIsCompleteAtOnce)
{
    open_stream();
    first(*a, "whole");
    EXPECT_EQ(peer.events(), "delivery(A 0 'whole')");
    EXPECT_TRUE(d().complete());
}

TEST_F(InboundStream, HoldsFramesBackWhileItsReaderIsSlowAndNobodyElse)
{
    open_stream(8, 10);
    first(*a, "0123456789", true);
    next(*a, "waits 1,", true);
    next(*a, "waits 2,", true);
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
    EXPECT_EQ(window(), 6u);
    first(*b, "goes");
    EXPECT_EQ(peer.events(), "delivery(B 1 'goes')");
    auto& stream = *peer.deliveries.front();
    a->consume(stream, 10);
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'waits 1,waits 2,')");
    EXPECT_EQ(window(), 8u);
}

TEST_F(InboundStream, ItsLastFrameWaitsAndTheNextDeliveryBehindIt)
{
    open_stream(8, 10);
    first(*a, "0123456789", true);
    next(*a, "end of the first");
    first(*a, "the second");
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
    a->consume(*peer.deliveries.front(), 10);
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'end of the first') delivery(A 1 'the second')");
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(InboundStream, IsNotOvertakenByItsNextDeliveryWhenTheInboxIsFull)
{
    open_stream(4, 10);
    first(*a, "0123456789", true);
    std::ignore = window();
    next(*a, "end");
    for (auto const* const next_one : {"b", "c", "d"}) first(*a, next_one);
    EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
    a->consume(*peer.deliveries.front(), 10);
    EXPECT_EQ(peer.events(), "delivery_part(A 0 'end') delivery(A 1 'b') delivery(A 2 'c') "
                             "delivery(A 3 'd')");
}

TEST_F(InboundStream, WhoseContinuationsNameItAreItsOwnWhileTheyWait)
{
    open_stream(8, 10);
    first(*a, "before");
    first(*a, "0123456789", true);
    for (auto const more : {true, true, false})
        peer.send(transfer{.delivery_id = delivery_number{1}, .more = more}, "+");
    EXPECT_EQ(peer.events(), "delivery(A 0 'before') delivery(A 1 '0123456789')");
    for (auto* const d : std::vector{peer.deliveries}) a->consume(*d, 10);
    EXPECT_EQ(peer.events(), "delivery_part(A 1 '+++') delivery_part(A 1 '+++')");
    EXPECT_EQ(a->state(), e::link_state::attached);
}

TEST_F(InboundStream, ShutsTheWindowWhenItsReaderStopsAndOpensItWhenItGoesOn)
{
    open_stream(4, 10);
    first(*a, "0123456789", true);
    std::ignore = window();
    for (auto i = 0; i < 4; ++i) next(*a, "0123456789", true);
    EXPECT_EQ(window(), 0u);
    peer.forget_so_far();
    a->consume(d(), 10);
    auto const news = peer.frames();
    EXPECT_TRUE(news.empty() || news[0].as<flow>().incoming_window > 0);
    EXPECT_EQ(window(), 1u);
    a->consume(d(), 10);
    a->consume(d(), 10);
    EXPECT_FALSE(peer.frames().empty())
        << "half of the window is free: the peer hears of it unasked";
}

// Reading makes room for a frame that waited. What that has to tell is of no use to an owner that
// has settled the delivery meanwhile, whose memory the next one has.
struct SettledBeforePolled : InboundStream {
    void check(transfer const& waits)
    {
        open_stream(8, 10);
        first(*a, "0123456789", true);
        peer.send(waits);
        EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
        auto& stream = *peer.deliveries.back();
        a->consume(stream, 10);
        std::ignore = a->settle(stream);
        EXPECT_EQ(peer.events(), "");
        if (waits.more)
            next(*a, "rest");
        first(*a, "another");
        EXPECT_EQ(peer.events(), "delivery(A 1 'another')");
        EXPECT_EQ(a->held(), 1u);
    }
};

TEST_F(SettledBeforePolled, AStreamHasNoPartsLeftToTell) { check({.more = true}); }
TEST_F(SettledBeforePolled, AStreamThatHasEndedHasNothingLeftToTell) { check({}); }
TEST_F(SettledBeforePolled, AStreamThatWasAbortedHasNothingLeftToTell) { check({.aborted = true}); }

TEST_F(InboundStream, ThatIsAbortedIsReported)
{
    open_stream();
    first(*a, "one,", true);
    peer.send(transfer{.aborted = true});
    EXPECT_EQ(peer.events(), "delivery(A 0 'one,') delivery_aborted(A delivery_aborted 0)");
    EXPECT_EQ(a->settle(d()), error::already_settled);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(a->held(), 0u);
}

TEST_F(InboundStream, ThatIsSettledInItsMiddleIsDroppedAsItComes)
{
    open_stream();
    first(*a, "one,", true);
    peer.forget_so_far();
    auto const state = encoded(delivery_state{rejected{}});
    EXPECT_FALSE(a->settle(d(), {state}));
    EXPECT_EQ(peer.wire(), "disposition(receiver 0 settled rejected)");
    next(*a, "two,", true);
    next(*a, "three");
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(a->held(), 0u);
    EXPECT_EQ(a->unread_bytes(), 0u);
    first(*a, "next");
    EXPECT_EQ(peer.events(), "delivery(A 1 'next')");
}

TEST_F(InboundStream, ThatIsSettledInItsMiddleLeavesNothingOfWhatWaited)
{
    for (auto const ends : {false, true}) {
        SCOPED_TRACE(ends);
        open_stream(8, 10);
        first(*a, "0123456789", true);
        for (auto i = 0; i < 3; ++i) next(*a, "0123456789", i < 2 || !ends);
        EXPECT_EQ(peer.events(), "delivery(A 0 '0123456789')");
        EXPECT_FALSE(a->settle(*peer.deliveries.back()));
        EXPECT_EQ(a->unread_bytes(), 0u);
        EXPECT_EQ(peer.events(), "");
        if (!ends)
            next(*a, "0123456789");
        EXPECT_EQ(a->held(), 0u);
        EXPECT_EQ(window(), 8u);
        std::ignore = peer.session->end();
        peer.send(sluice::end{});
        peer.forget_so_far();
        next_id = 0;
    }
}

TEST_F(InboundStream, ThatIsConsumedInSmallPartsCostsItsLengthOnly)
{
    open_stream(2048, 1u << 30);
    auto const total = 2'000'000u;
    first(*a, "", true);
    for (auto i = 0u; i < total / 20000; ++i) {
        next(*a, std::string(20000, 'x'), true);
        std::ignore = peer.frames();
    }
    auto read = 0u;
    auto moves = 0;  // of what is left: half of it at least was consumed before each
    while (read < total) {
        auto const* const before = d().body().data();
        a->consume(d(), 10);
        moves += d().body().data() == before + 10 ? 0 : 1;
        ASSERT_LT(moves, 40) << "after " << read << " octets";
        read += 10;
    }
    EXPECT_EQ(d().body().size(), 0u);
}

}  // namespace
}  // namespace sluice::test
