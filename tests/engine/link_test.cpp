// Attach and detach, both roles, refused and lost links. [2.6]
#include "support/engine_peer.hpp"

#include <sluice/engine/link.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

amqp_error not_found()
{
    return {.condition = condition::not_found, .description = "no such queue"};
}

TEST(Link, AttachesAndReportsThePeersAnswer)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto* const l = *s.attach_sender(link_named("L"));
    EXPECT_EQ(peer.wire(), "attach(L h0 sender)");
    EXPECT_EQ(l->state(), e::link_state::attach_sent);
    auto const source = some_source();
    auto const target = some_target();
    peer.send(attach{.name = "L",
                     .handle = handle{7},
                     .role = role::receiver,
                     .source = {source},
                     .target = {target},
                     .max_message_size = 1000u});
    EXPECT_EQ(peer.events(), "link_attached(L)");
    EXPECT_TRUE(l->attached());
    EXPECT_EQ(l->remote_attach().max_message_size, 1000u);
    peer.send(flow{.incoming_window = 10, .handle = handle{7}, .link_credit = 5u});
    EXPECT_EQ(peer.events(), "credit(L 5)") << "the peer's handle is its own";
}

TEST(Link, OfAPeerIsAcceptedByItsOwner)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    auto const target = some_target();
    peer.send(attach{.name = "L",
                     .handle = handle{3},
                     .target = {target},
                     .initial_delivery_count = sequence_number{9}});
    EXPECT_EQ(peer.events(), "link_requested(L)");
    EXPECT_EQ(peer.link->role(), role::receiver);
    EXPECT_FALSE(peer.link->attach(link_named("ignored", 10)));
    EXPECT_EQ(peer.link->attach({}), error::invalid_state);
    EXPECT_EQ(peer.wire(), "attach(L h0 receiver) flow(nii=0 iw=2048 noi=0 h0 dc=9 lc=10)");
    EXPECT_EQ(peer.events(), "link_attached(L)");
}

TEST(Link, ThatIsRefusedByANullTerminusIsNeverReportedAsAttached)
{
    for (auto const receiving : {false, true}) {
        engine_peer peer;
        auto& s = peer.open_session();
        auto const source = some_source();
        auto const target = some_target();
        if (receiving)
            std::ignore = s.attach_receiver(link_named("L"));
        else
            std::ignore = s.attach_sender(link_named("L"));
        peer.forget_so_far();
        attach refusal{.name = "L", .role = receiving ? role::sender : role::receiver};
        if (receiving) {
            refusal.target = {target};
            refusal.initial_delivery_count = sequence_number{0};
        } else {
            refusal.source = {source};
        }
        peer.send(refusal);
        EXPECT_EQ(peer.events() + peer.wire(), "");
        peer.now += e::time_point{100};
        peer.send(detach{.closed = true, .error = error_view{.condition = "amqp:not-found"}});
        EXPECT_EQ(peer.events(), "link_detached(L refused amqp:not-found)");
        EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    }
}

TEST(Link, ThatItsOwnerRefusesAttachesWithANullTerminusAndDetachesAtOnce)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    auto const source = some_source();
    auto const target = some_target();
    peer.send(
        attach{.name = "out", .role = role::receiver, .source = {source}, .target = {target}});
    EXPECT_FALSE(peer.link->refuse(not_found()));
    auto frames = peer.frames();
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].text() + " " + frames[1].text(),
              "attach(out h0 sender) detach(h0 closed amqp:not-found)");
    EXPECT_TRUE(frames[0].as<attach>().source.empty());
    EXPECT_TRUE(same_bytes(frames[0].as<attach>().target.encoded, target));

    peer.send(attach{.name = "in",
                     .handle = handle{1},
                     .source = {source},
                     .target = {target},
                     .initial_delivery_count = sequence_number{0}});
    EXPECT_FALSE(peer.link->refuse(not_found()));
    frames = peer.frames();
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].text() + " " + frames[1].text(),
              "attach(in h1 receiver) detach(h1 closed amqp:not-found)");
    EXPECT_TRUE(frames[0].as<attach>().target.empty());
    EXPECT_TRUE(same_bytes(frames[0].as<attach>().source.encoded, source));

    peer.send(engine_peer::first_frame(0), "crosses");
    peer.send(detach{.closed = true});
    peer.send(detach{.handle = handle{1}, .closed = true});
    EXPECT_EQ(peer.wire(), "");
    auto const events = peer.events();
    EXPECT_EQ(events.find("link_attached"), std::string::npos) << events;
}

TEST(Link, DetachesWhenItsOwnerAsksAndReportsTheAnswer)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    EXPECT_FALSE(l.detach(false));
    EXPECT_EQ(l.detach(false), error::invalid_state);
    EXPECT_EQ(peer.wire(), "detach(h0)");
    EXPECT_EQ(peer.events(), "");
    peer.send(detach{});
    EXPECT_EQ(peer.events(), "link_detached(L)");
    EXPECT_FALSE(l.closed_by_peer());
}

TEST(Link, DetachedWithoutClosedTellsWhatHappenedToItsDeliveriesAndLeavesOthersAlone)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    auto& other = peer.open_sender(link_named("M"));
    peer.grant(1, l);
    peer.grant(5, other);
    auto const body = octets_of("x");
    std::ignore = l.send({body});
    std::ignore = l.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    peer.forget_so_far();
    peer.send(detach{.error = error_view{.condition = "amqp:link:detach-forced"}});
    EXPECT_EQ(peer.events(), "link_detached(L detached_by_peer amqp:link:detach-forced)");
    EXPECT_EQ(peer.wire(), "detach(h0)");
    EXPECT_FALSE(l.closed_by_peer());
    std::vector<e::outgoing_state> states;
    l.for_each_delivery([&](e::outgoing_delivery& d) { states.push_back(d.state()); });
    EXPECT_EQ(states, (std::vector{e::outgoing_state::settled, e::outgoing_state::withdrawn}))
        << "outcome unknown, and never sent";
    EXPECT_EQ(l.send({body}).error(), error::link_not_attached);
    std::ignore = other.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h1 id=1 'x')");
    peer.send(disposition{.role = role::receiver, .settled = true, .state = {encoded_accepted}});
    EXPECT_EQ(peer.events(), "") << "a late disposition finds nobody";
}

TEST(Link, ThatIsClosedByItsPeerIsAnsweredInKind)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_receiver(link_named("L"));
    peer.send(detach{.closed = true, .error = error_view{.condition = "amqp:link:stolen"}});
    EXPECT_EQ(peer.events(), "link_detached(L detached_by_peer amqp:link:stolen)");
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    EXPECT_TRUE(l.closed_by_peer());
    EXPECT_EQ(l.error().to_string(), "amqp:link:stolen");
}

TEST(Link, MayShareItsNameWithOneOfTheOppositeRoleOnly)
{
    engine_peer peer;
    auto& s = peer.open_session();
    peer.open_sender(link_named("L"));
    EXPECT_EQ(s.attach_sender(link_named("L")).error(), error::link_name_in_use);
    EXPECT_TRUE(s.attach_receiver(link_named("L")));
    EXPECT_EQ(peer.wire(), "attach(L h1 receiver)");
}

TEST(Link, OfAPeerMayShareItsNameWithOneOfTheOppositeRole)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    auto const source = some_source();
    auto const target = some_target();
    peer.send(attach{.name = "L", .role = role::receiver, .source = {source}, .target = {target}});
    auto* const out = peer.link;
    EXPECT_EQ(peer.events(), "link_requested(L)");
    std::ignore = peer.link->attach(link_named(""));
    EXPECT_EQ(peer.wire(), "attach(L h0 sender)");
    peer.send(attach{.name = "L",
                     .handle = handle{1},
                     .source = {source},
                     .target = {target},
                     .initial_delivery_count = sequence_number{0}});
    EXPECT_EQ(peer.events(), "link_attached(L) link_requested(L)");
    ASSERT_NE(peer.link, out);
    std::ignore = peer.link->attach(link_named(""));
    EXPECT_EQ(peer.wire(), "attach(L h1 receiver)");
    EXPECT_EQ(peer.events(), "link_attached(L)");
    EXPECT_TRUE(out->attached() && peer.link->attached());
}

TEST(Link, GetsItsNameBackAfterItsDetach)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    std::ignore = l.detach();
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    peer.send(detach{.closed = true});
    peer.forget_so_far();
    s.forget(l);
    EXPECT_TRUE(s.attach_sender(link_named("L")));
    EXPECT_EQ(peer.wire(), "attach(L h0 sender)");
}

TEST(Link, NamesNoHandleAfterItsDetachWhateverStillComes)
{
    engine_peer peer;
    auto& s = peer.open_session({.incoming_window = 20});
    auto& l = peer.open_receiver(link_named("R", 100));
    for (std::uint32_t id = 0; id < 4; ++id) peer.send(engine_peer::first_frame(id), "x");
    peer.forget_so_far();
    std::ignore = l.detach();
    std::string after;
    for (std::uint32_t id = 4; id < 54; ++id) {
        peer.send(engine_peer::first_frame(id), "x");
        after += peer.wire() + " ";
    }
    EXPECT_EQ(after.find("detach(h0 closed)"), 0u) << after;
    EXPECT_EQ(after.find("h0", 9), std::string::npos) << after;
    s.request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=54 iw=20 noi=0)") << "dropped, yet counted";
    EXPECT_EQ(peer.events(), "");
    peer.send(detach{.closed = true});
    EXPECT_EQ(peer.events(), "link_detached(R)");
}

TEST(Link, ThatIsForgottenTakesItsDeliveriesAndEventsAlong)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& in = peer.open_receiver(link_named("R", 10));
    auto& out = peer.open_sender(link_named("S"));
    peer.grant(5, out);
    auto const body = octets_of("x");
    std::ignore = out.send({body});
    std::ignore = out.send({body}, {.settled = true, .notify_sent = true});
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    std::ignore = peer.engine.receive(frame_of(engine_peer::first_frame(1), "y"), peer.now);
    std::ignore = peer.engine.receive(
        frame_of(disposition{.role = role::receiver, .settled = true}), peer.now);
    std::ignore = peer.engine.receive(frame_of(detach{.closed = true}), peer.now);
    std::ignore =
        peer.engine.receive(frame_of(detach{.handle = handle{1}, .closed = true}), peer.now);
    s.forget(in);
    s.forget(out);
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.wire(), "detach(h0 closed) detach(h1 closed)");
    peer.open_sender(link_named("again"));
    EXPECT_EQ(peer.events(), "");
}

TEST(Link, ThatIsForgottenBeforeItsDetachIsAnsweredStillOwnsItsHandle)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto& l = peer.open_receiver(link_named("R"));
    peer.send(engine_peer::first_frame(0), "no credit for it");
    EXPECT_EQ(peer.events(), "link_detached(R limit amqp:link:transfer-limit-exceeded)");
    s.forget(l);
    EXPECT_EQ(peer.wire(), "detach(h0 closed amqp:link:transfer-limit-exceeded)");
    std::ignore = s.attach_receiver(link_named("next"));
    EXPECT_EQ(peer.wire(), "attach(next h1 receiver)");
    peer.send(detach{.closed = true});
    std::ignore = s.attach_receiver(link_named("last"));
    EXPECT_EQ(peer.wire(), "attach(last h0 receiver)");
}

TEST(Link, CrossesItsDetachWithThePeers)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    std::ignore = l.detach();
    peer.send(detach{.closed = true});  // ours is not written yet
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    EXPECT_EQ(l.state(), e::link_state::ended);
    EXPECT_EQ(peer.events(), "link_detached(L detached_by_peer)");
}

TEST(Link, DetachedByItsOwnerBeforeThePeerAttachesIsAttachedFirst)
{
    engine_peer peer;
    auto& s = peer.open_session();
    auto* const l = *s.attach_sender(link_named("L"));
    EXPECT_FALSE(l->detach());
    EXPECT_EQ(peer.wire(), "attach(L h0 sender) detach(h0 closed)");
    peer.answer(*l);
    EXPECT_EQ(peer.wire(), "");
    peer.send(detach{.closed = true});
    EXPECT_EQ(peer.events(), "link_detached(L)");
}

TEST(Link, OfAPeerThatLeavesBeforeItIsAcceptedIsAttachedAndDetached)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    peer.send(attach{.name = "L", .role = role::receiver});
    peer.send(detach{.closed = true});
    EXPECT_EQ(peer.events(), "link_requested(L) link_detached(L detached_by_peer)");
    EXPECT_EQ(peer.link->attach({}), error::invalid_state);
    EXPECT_EQ(peer.wire(), "attach(L h0 sender) detach(h0 closed)");
}

TEST(Link, CutsAnErrorTextThatDoesNotFitThePeersFrames)
{
    engine_peer peer;
    peer.open({.container_id = "peer", .max_frame_size = 512});
    peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    std::ignore = l.detach(true, {.condition = "a:b", .description = std::string(5000, 'x')});
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_LE(frames[0].octets.size(), 512u);
    EXPECT_EQ(frames[0].text(), "detach(h0 closed a:b)");
}

}  // namespace
}  // namespace sluice::test
