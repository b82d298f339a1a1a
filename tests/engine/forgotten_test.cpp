// Sessions and links that their owner has forgotten while events wait: nothing of them is told any
// more, nothing of them is used once it is gone, and the rest stays as it is.
#include "support/engine_peer.hpp"

#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

int sessions_of(e::connection& c)
{
    auto count = 0;
    c.for_each_session([&](e::session&) { ++count; });
    return count;
}

/// So many sessions that were asked for and not answered yet.
std::vector<e::session*> begun(engine_peer& peer, int count)
{
    std::vector<e::session*> out;
    peer.open();
    for (auto i = 0; i < count; ++i) out.push_back(*peer.engine.begin());
    std::ignore = peer.frames();
    return out;
}

TEST(Forgotten, SessionsOfALostConnectionGoOneAfterTheOther)
{
    engine_peer peer;
    begun(peer, 200);
    peer.engine.transport_closed();
    auto ended = 0;
    e::event v;
    while (peer.engine.poll_event(v)) {
        if (v.kind != e::event_kind::session_ended)
            continue;
        peer.engine.forget(*v.session);
        EXPECT_EQ(sessions_of(peer.engine), 200 - ++ended);
    }
    EXPECT_EQ(ended, 200);
    EXPECT_EQ(v.kind, e::event_kind::connection_closed);
}

// The one that is told of last is forgotten first, and what was to be told of it is not.
TEST(Forgotten, SessionsMayGoBeforeTheirEventIsTold)
{
    engine_peer peer;
    auto const all = begun(peer, 10);
    peer.engine.transport_closed();
    e::event v;
    ASSERT_TRUE(peer.engine.poll_event(v));
    for (auto* const s : all) peer.engine.forget(*s);
    EXPECT_EQ(sessions_of(peer.engine), 0);
    EXPECT_EQ(peer.events(), "connection_closed(connection_lost)");
}

TEST(Forgotten, SessionsAreStillInTheTableWhenTheConnectionIsLostAfterTheirLastEvent)
{
    engine_peer peer;
    auto const all = begun(peer, 6);
    for (std::uint16_t i = 0; i < 6; ++i) {
        auto b = engine_peer::usual_begin();
        b.remote_channel = i;
        peer.send(b, {}, i);
    }
    std::ignore = peer.events();
    std::ignore = all[0]->end({}, true);  // forgotten, and its peer answers no more
    std::ignore = peer.frames();
    for (std::uint16_t i = 1; i < 5; ++i)
        std::ignore = peer.engine.receive(frame_of(end{}, {}, i), peer.now);
    std::ignore = peer.frames();
    e::event v;
    for (auto i = 1; i < 5; ++i) {
        ASSERT_TRUE(peer.engine.poll_event(v));
        peer.engine.forget(*v.session);
    }
    peer.engine.transport_closed();  // nobody has asked for an event since the last one was told
    EXPECT_EQ(sessions_of(peer.engine), 2);
    EXPECT_EQ(peer.events(), "session_ended(connection_lost) session_ended(connection_lost) "
                             "connection_closed(connection_lost)");
}

TEST(Forgotten, LinksTakeTheirEventsAlongAndLeaveThoseOfOthers)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& a = peer.open_receiver(link_named("A", 10));
    auto& b = peer.open_receiver(link_named("B", 10));
    auto const of = [&](e::link& l, std::uint32_t id) {
        auto t = engine_peer::first_frame(id);
        t.handle = l.local_handle();
        return frame_of(t, std::to_string(id));
    };
    auto const in = [&](bytes const& f) { std::ignore = peer.engine.receive(f, peer.now); };
    in(of(a, 0));
    in(frame_of(detach{.handle = a.local_handle(), .closed = true}));
    in(of(b, 1));
    e::event v;
    ASSERT_TRUE(peer.engine.poll_event(v));
    ASSERT_EQ(v.kind, e::event_kind::delivery);
    s.forget(a);  // reported as detached, but the event that says so waits
    EXPECT_EQ(peer.events(), "delivery(B 1 '1')");
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    auto links = 0;
    s.for_each_link([&](e::link&) { ++links; });
    EXPECT_EQ(links, 1);
    auto const& next = peer.open_receiver(link_named("C", 10));
    EXPECT_EQ(next.local_handle(), handle{0});
}

TEST(Forgotten, AFinalEventThatIsNotToldGivesItsDeliveryBack)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& l = peer.open_sender(link_named("S"));
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 10,
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 10});
    std::ignore = peer.events();
    auto const body = octets_of("x");
    for (auto i = 0; i < 3; ++i)
        std::ignore = l.send({body}, {.settled = true, .notify_sent = true});
    std::ignore = peer.frames();
    std::ignore =
        peer.engine.receive(frame_of(detach{.handle = handle{0}, .closed = true}), peer.now);
    s.forget(l);
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
}

}  // namespace
}  // namespace sluice::test
