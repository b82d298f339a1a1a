// What is left of deliveries, links and sessions when something above them ends. [2.4, 2.5, 2.6]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using engine::outgoing_state;
using engine::pull_status;

/// A sender with an unsettled, a half sent and a waiting delivery, and a receiver that holds one
/// whole and one half.
struct Losses : testing::Test {
    Losses()
        : s{(peer.open_session(), peer.open_sender())}, r{peer.open_receiver(link_named("R", 10))}
    {
        peer.grant(10, s);
        std::ignore = s.send({body});
        std::ignore = s.send(source);
        std::ignore = s.send({body});
        std::ignore = peer.frames();
        auto t = engine_peer::first_frame(0);
        t.handle = r.local_handle();
        peer.send(t, "whole");
        t = engine_peer::first_frame(1, true);
        t.handle = r.local_handle();
        peer.send(t, "half");
        peer.forget_so_far();
    }
    std::vector<outgoing_state> outgoing()
    {
        std::vector<outgoing_state> out;
        s.for_each_delivery([&](e::outgoing_delivery& d) { out.push_back(d.state()); });
        return out;
    }
    std::vector<e::incoming_state> incoming()
    {
        std::vector<e::incoming_state> out;
        r.for_each_delivery([&](e::incoming_delivery& d) { out.push_back(d.state()); });
        return out;
    }
    void expect_all_lost()
    {
        EXPECT_EQ(outgoing(), (std::vector{outgoing_state::settled, outgoing_state::aborted,
                                           outgoing_state::withdrawn}))
            << "outcome unknown, aborted, never sent";
        EXPECT_EQ(incoming(),
                  (std::vector{e::incoming_state::settled, e::incoming_state::aborted}));
        auto& d = *peer.deliveries.at(0);
        EXPECT_TRUE(same_bytes(d.body(), octets_of("whole")));
        EXPECT_EQ(r.settle(d), error::already_settled);
        EXPECT_EQ(s.send({body}).error(), error::link_not_attached);
        EXPECT_EQ(peer.wire().find("disposition"), std::string::npos);
    }

    engine_peer peer{{.outgoing_frame_max = 512}};
    bytes const body = octets_of("x");
    scripted_source source{{{pull_status::bytes, 5}, {pull_status::not_ready}}};
    e::sender& s;
    e::receiver& r;
};

TEST_F(Losses, OfTheTransportLeaveEachDeliveryInAFinalState)
{
    peer.engine.transport_closed();
    EXPECT_EQ(peer.events(), "session_ended(connection_lost) connection_closed(connection_lost)");
    expect_all_lost();
}

TEST_F(Losses, OfTheConnectionLeaveEachDeliveryInAFinalState)
{
    peer.send(close{.error = error_view{.condition = "amqp:connection:forced"}});
    EXPECT_NE(peer.events().find("session_ended(closed_by_peer amqp:connection:forced)"),
              std::string::npos);
    EXPECT_EQ(s.error().condition, "amqp:connection:forced");
    expect_all_lost();
}

TEST_F(Losses, OfTheSessionLeaveEachDeliveryInAFinalState)
{
    peer.send(end{.error = error_view{.condition = "amqp:resource-deleted"}});
    EXPECT_EQ(peer.events(), "session_ended(ended_by_peer amqp:resource-deleted)");
    EXPECT_EQ(s.error().condition, "amqp:resource-deleted");
    EXPECT_EQ(r.error().condition, "amqp:resource-deleted");
    expect_all_lost();
}

TEST_F(Losses, OfTheLinksLeaveEachDeliveryInAFinalState)
{
    peer.send(detach{.closed = true});
    peer.send(detach{.handle = handle{1}, .closed = true});
    EXPECT_EQ(peer.events(), "link_detached(S detached_by_peer) link_detached(R detached_by_peer)");
    expect_all_lost();
}

TEST_F(Losses, OfASessionThatBrokeARuleLeaveEachDeliveryInAFinalState)
{
    peer.send(transfer{.handle = handle{99}});
    EXPECT_EQ(peer.events(), "session_ended(error43 amqp:session:unattached-handle)");
    expect_all_lost();
}

TEST_F(Losses, MayAllBeForgottenAtOnce)
{
    auto* const session = peer.session;
    peer.send(end{});
    peer.forget_so_far();
    session->forget(s);
    session->forget(r);
    peer.engine.forget(*session);
    auto& again = peer.open_session();
    peer.open_sender();
    EXPECT_EQ(again.local_channel(), 0u);
}

TEST_F(Losses, AreNotWaitedForByTheDestructor)
{
    std::ignore = s.detach();
    std::ignore = peer.session->end();
    peer.send(close{});  // everything is pending, and the connection goes: nothing may be leaked or
                         // touched
}

TEST_F(Losses, OfADispositionForALinkThatWeAreDetachingAreNone)
{
    std::ignore = s.detach(true, {}, true);
    EXPECT_EQ(peer.wire(), "transfer(h0 aborted) detach(h0 closed)");
    peer.forget_so_far();
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled)")
        << "the peer had not seen our detach: it counts";
    peer.send(detach{.closed = true});
    EXPECT_EQ(peer.events(), "link_detached(S)");
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "");
}

/// A delivery that could go at once, but for the window.
struct Waiting : testing::Test {
    Waiting() : s{(peer.open_session(), peer.open_sender())}
    {
        peer.grant(10, s);
        peer.window(0);
        std::ignore = s.send({body});
        peer.forget_so_far();
    }
    void expect_nothing_goes()
    {
        if (peer.session->state() == e::session_state::mapped)
            peer.window(100);
        EXPECT_EQ(peer.wire().find("transfer"), std::string::npos);
    }

    engine_peer peer;
    bytes const body = octets_of("x");
    e::sender& s;
};

TEST_F(Waiting, GoesWhenTheWindowOpens)
{
    peer.window(1);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
}

TEST_F(Waiting, StaysWhenItsCreditIsTakenBack)
{
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .handle = handle{0},
                   .delivery_count = sequence_number{0},
                   .link_credit = 0u});
    expect_nothing_goes();
    peer.grant(1, s);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
}

TEST_F(Waiting, StaysWhenThePeerDetaches)
{
    peer.send(detach{.closed = true});
    expect_nothing_goes();
}

TEST_F(Waiting, IsWithdrawnWhenItsOwnerDetaches)
{
    std::ignore = s.detach();
    EXPECT_EQ(peer.events(), "aborted(S closed_locally)");
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    expect_nothing_goes();
}

TEST_F(Waiting, IsWithdrawnWhenItsOwnerEndsTheSession)
{
    std::ignore = peer.session->end();
    EXPECT_EQ(peer.events(), "aborted(S closed_locally)");
    EXPECT_EQ(peer.wire(), "end()");
}

TEST_F(Waiting, StaysWhenItsOwnerCancelsIt)
{
    s.for_each_delivery([&](e::outgoing_delivery& d) { std::ignore = s.cancel(d); });
    expect_nothing_goes();
    EXPECT_EQ(s.queued(), 0u);
}

TEST(Crossings, OfOurEndAndThePeersBeginEndTheSession)
{
    engine_peer peer;
    peer.open();
    auto* const s = *peer.engine.begin();
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048)");
    EXPECT_FALSE(s->end());
    EXPECT_EQ(peer.wire(), "end()");
    auto theirs = engine_peer::usual_begin();
    theirs.remote_channel = std::uint16_t{0};
    peer.send(theirs);
    EXPECT_EQ(peer.wire() + peer.events(), "");
    peer.send(end{});
    EXPECT_EQ(peer.events(), "session_ended()");
    peer.open_session();
    EXPECT_EQ(peer.session->local_channel(), 0u) << "and its channel is free";
}

TEST(Crossings, OfBothEndsEndTheSession)
{
    engine_peer peer;
    auto& s = peer.open_session();
    std::ignore = s.end();
    peer.send(end{});  // ours is not written yet
    EXPECT_EQ(peer.wire(), "end()");
    EXPECT_EQ(s.state(), e::session_state::ended);
    EXPECT_EQ(peer.events(), "session_ended()") << "both wanted it";
}

TEST(Crossings, OfBothClosesEndTheConnection)
{
    engine_peer peer;
    peer.open();
    std::ignore = peer.engine.close();
    peer.send(close{});
    EXPECT_EQ(peer.wire(), "close()");
    EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
    EXPECT_TRUE(peer.engine.output_done());
}

TEST(Crossings, OfAttachesWithOneNameMakeOneLink)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto* const ours = *s.attach_sender(link_named("L"));
    auto const target = some_target();
    peer.send(attach{.name = "L",
                     .handle = handle{5},
                     .role = role::receiver,
                     .source = {target},
                     .target = {target}});
    EXPECT_EQ(peer.events(), "") << "ours is not written yet";
    EXPECT_EQ(peer.wire(), "attach(L h0 sender)");
    EXPECT_EQ(peer.events(), "link_attached(L)");
    EXPECT_TRUE(ours->attached());
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 5,
                   .handle = handle{5},
                   .link_credit = 1u});
    std::ignore = ours->send({target});
    EXPECT_EQ(peer.frames().size(), 1u);
}

}  // namespace
}  // namespace sluice::test
