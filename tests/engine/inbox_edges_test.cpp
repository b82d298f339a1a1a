// What mechanical mutants of the inbox found untested: its borders, its counters, and frames that
// wait and move in every order.
#include "support/engine_peer.hpp"

#include <sluice/engine/delivery_inbox.hpp>
#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace sluice::test {
namespace {

struct InboxAtItsBorders : testing::Test {
    void open(std::uint32_t window, std::size_t buffered_max = 1000)
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
    void next(e::receiver& r, std::string_view payload, bool more = false, bool aborted = false)
    {
        peer.send(transfer{.handle = r.local_handle(), .more = more, .aborted = aborted}, payload);
    }

    engine_peer peer;
    e::receiver* a = nullptr;
    e::receiver* b = nullptr;
    std::uint32_t next_id = 0;
};

TEST_F(InboxAtItsBorders, RenewsAWindowOfOneFrame)
{
    open(1);
    for (auto i = 0; i < 3; ++i) {
        first(*a, "x");
        EXPECT_EQ(peer.wire(), "flow(nii=" + std::to_string(i + 1) + " iw=1 noi=0)");
    }
}

TEST_F(InboxAtItsBorders, RenewsAWindowWhenHalfOfItIsLeft)
{
    open(4);
    first(*a, "x");
    EXPECT_EQ(peer.wire(), "");
    first(*a, "x");
    EXPECT_EQ(peer.wire(), "flow(nii=2 iw=4 noi=0)");
}

TEST_F(InboxAtItsBorders, RenewsAWindowWhoseEdgePassesTheWrap)
{
    auto theirs = engine_peer::usual_begin();
    theirs.next_outgoing_id = transfer_id{4294967280};
    peer.open_session({.incoming_window = 4}, theirs);
    a = &peer.open_receiver(link_named("A"));
    a->set_credit(1000);
    peer.forget_so_far();
    std::string news;
    for (auto i = 0; i < 20; ++i) {
        first(*a, "x");
        for (auto const& frame : peer.frames())
            news += " " + std::to_string(frame.as<flow>().next_incoming_id->value() + 4);
    }
    EXPECT_EQ(peer.session->state(), e::session_state::mapped) << peer.events();
    EXPECT_EQ(news, " 4294967286 4294967288 4294967290 4294967292 4294967294 0 2 4 6 8");
    EXPECT_EQ(peer.session->counters().transfers_received, 20u);
}

TEST_F(InboxAtItsBorders, SendsNoFlowThatWouldSayNothingNew)
{
    open(4, 10);
    first(*a, "0123456789");
    first(*a, "waits");
    EXPECT_EQ(peer.wire(), "flow(nii=2 iw=3 noi=0)");
    first(*a, "waits");
    EXPECT_EQ(peer.wire(), "") << "2 frames are left of the window, and there is room for 2";
}

TEST_F(InboxAtItsBorders, TakesATagOfThirtyTwoOctets)
{
    open(8);
    auto const tag = octets_of(std::string(32, 't'));
    peer.send(transfer{.delivery_id = delivery_number{0}, .delivery_tag = bytes_view{tag}}, "x");
    EXPECT_EQ(peer.events(), "delivery(A 0 'x')");
    peer.send(transfer{.delivery_id = delivery_number{7}, .delivery_tag = bytes_view{tag}}, "x");
    EXPECT_EQ(peer.events(), "session_ended(delivery_id amqp:invalid-field)");
}

TEST_F(InboxAtItsBorders, KeepsTheSequenceOverADeliveryThatCrossedWithADetach)
{
    open(8);
    first(*b, "x");
    EXPECT_FALSE(a->detach());
    peer.forget_so_far();
    first(*a, "crosses");
    first(*b, "y");
    EXPECT_EQ(peer.events(), "delivery(B 2 'y')");
}

TEST_F(InboxAtItsBorders, CountsDeliveriesOfOneFrameAndOfMany)
{
    open(100);
    first(*a, "one");
    first(*a, "1", true);
    next(*a, "2", true);
    next(*a, "3");
    first(*a, "1", true);
    next(*a, "", false, true);
    EXPECT_EQ(peer.session->counters().deliveries_received, 2u);
    EXPECT_EQ(peer.session->counters().transfers_received, 6u);
}

TEST_F(InboxAtItsBorders, KeepsWhatWaitsForOthersWhenALinkGoes)
{
    open(8, 10);
    first(*a, "0123456789");
    first(*b, "0123456789");
    first(*b, "b waits");
    first(*a, "a waits");
    peer.send(detach{.handle = a->local_handle(), .closed = true});
    peer.forget_so_far();
    auto& held = *peer.deliveries.at(1);
    std::ignore = b->take_body(held);
    EXPECT_EQ(peer.events(), "delivery(B 2 'b waits')");
}

TEST_F(InboxAtItsBorders, MovesWhatWaitsAfterALinkWithNothingWaitingWent)
{
    open(8, 10);
    first(*b, "0123456789");
    first(*b, "b waits");
    peer.send(detach{.handle = a->local_handle(), .closed = true});
    peer.forget_so_far();
    std::ignore = b->take_body(*peer.deliveries.at(0));
    EXPECT_EQ(peer.events(), "delivery(B 1 'b waits')");
}

TEST_F(InboxAtItsBorders, ForgetsWhatAStreamsReaderHasConsumed)
{
    peer.open_session({.buffered_bytes_max = 10});
    auto options = link_named("A");
    options.streamed = true;
    a = &peer.open_receiver(std::move(options));
    b = &peer.open_receiver(link_named("B"));
    a->set_credit(10);
    b->set_credit(10);
    peer.forget_so_far();
    first(*a, "0123456789", true);
    a->consume(*peer.deliveries.at(0), 4);
    a->consume(*peer.deliveries.at(0), 100);
    first(*b, "12345");
    first(*b, "67890");
    EXPECT_EQ(peer.events(),
              "delivery(A 0 '0123456789') delivery(B 1 '12345') delivery(B 2 '67890')");
}

/// A full inbox lets the oldest in past the limit only while a begun delivery needs the window.
struct InboxOnceABegunDeliveryIsOver : InboxAtItsBorders {
    void fill_after(bool aborted)
    {
        open(4, 10);
        first(*b, "b1,", true);
        next(*b, "b2", false, aborted);
        first(*a, "0123456789");
        peer.forget_so_far();
        for (auto i = 0; i < 4; ++i) first(*a, "waits");
        EXPECT_EQ(peer.events(), "");
        EXPECT_EQ(a->unread_bytes(), 10u);
    }
};

TEST_F(InboxOnceABegunDeliveryIsOver, LetsNothingPastTheLimitIfItIsWhole) { fill_after(false); }

TEST_F(InboxOnceABegunDeliveryIsOver, LetsNothingPastTheLimitIfItWasAborted) { fill_after(true); }

/// What the peer sends comes out whole and in order on each link, however frames wait, overtake and
/// move; the peer keeps to the window and never starves.
TEST_F(InboxAtItsBorders, GivesEachDeliveryWholeInTheOrderOfItsLink)
{
    std::mt19937 random{11};
    for (auto round = 0; round < 30; ++round) {
        engine_peer p;
        p.open_session({.incoming_window = 1 + static_cast<std::uint32_t>(random() % 9),
                        .buffered_bytes_max = random() % 40});
        struct half {
            std::string text;
            unsigned frames = 0;
        };
        std::vector<e::receiver*> links;
        std::map<e::link const*, half> begun;
        std::map<e::link const*, std::deque<std::string>> expected;
        for (auto const* const name : {"A", "B", "C"}) {
            links.push_back(&p.open_receiver(link_named(name)));
            links.back()->set_credit(100000);
        }
        p.forget_so_far();
        p.session->request_flow();
        auto edge = std::uint32_t{0};
        auto id = std::uint32_t{0};
        auto idle = 0;
        p.on_event = [&](e::event const& v) {
            if (v.kind != e::event_kind::delivery)
                return;
            auto& queue = expected[v.link];
            ASSERT_FALSE(queue.empty());
            EXPECT_EQ(text_of_payload(v.incoming->body()),
                      text_of_payload(octets_of(queue.front())));
            queue.pop_front();
        };
        for (auto step = 0; step < 1500 && idle < 200; ++step) {
            for (auto const& frame : p.frames())
                if (frame.descriptor() == 0x13) {
                    auto const f = frame.as<flow>();
                    edge = f.next_incoming_id->value() + f.incoming_window;
                }
            auto* const r = links[random() % links.size()];
            if (random() % 4 == 0) {
                e::incoming_delivery* oldest = nullptr;
                r->for_each_delivery([&](e::incoming_delivery& d) {
                    if (d.complete())
                        oldest = oldest ? oldest : &d;
                });
                if (oldest)
                    std::ignore = r->settle(*oldest);
                std::ignore = p.events();  // what moved up is seen before it can be settled
            }
            if (p.next_outgoing_id.value() == edge) {
                ++idle;
                continue;
            }
            idle = 0;
            auto& b = begun[r];
            auto const text = std::string(random() % 12, static_cast<char>('a' + random() % 26));
            auto const fresh = b.frames == 0;
            auto const aborted = !fresh && random() % 9 == 0;
            auto const more = !aborted && random() % 3 != 0;
            transfer t{.handle = r->local_handle()};
            if (fresh)
                t = engine_peer::first_frame(id++);
            t.handle = r->local_handle();
            t.more = more;
            t.aborted = aborted;
            b.text += text;
            ++b.frames;
            if (!more && !aborted)
                expected[r].push_back(b.text);
            if (!more)
                b = {};
            p.send(t, text);
            ASSERT_EQ(p.session->state(), e::session_state::mapped) << p.events();
        }
        EXPECT_LT(idle, 200) << "the window stays shut although its owner goes on taking";
        EXPECT_GT(p.next_outgoing_id.value(), 100u);
    }
}

}  // namespace
}  // namespace sluice::test
