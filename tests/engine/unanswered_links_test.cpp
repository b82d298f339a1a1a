// Links that fail, end or are too large before their attach is answered or has gone out. [2.6.3]
#include "support/engine_peer.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

e::connection_options listening()
{
    e::connection_options o;
    o.listener = true;
    return o;
}

attach their_sender(std::string_view name)
{
    return {.name = name, .role = role::sender, .initial_delivery_count = sequence_number{0}};
}

TEST(UnansweredLink, ThatHasFailedIsDetachedOnceItIsAnsweredAndNeverReportedAsAttached)
{
    engine_peer peer{listening()};
    peer.open_session();
    peer.send(their_sender("s"));
    peer.send(engine_peer::first_frame(0), "x");  // without credit
    peer.forget_so_far();
    ASSERT_FALSE(peer.link->attach(link_named("s")));
    EXPECT_EQ(peer.events(), "link_detached(s limit amqp:link:transfer-limit-exceeded)");
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("attach(s ")) << wire;
    EXPECT_NE(wire.find("detach(h0 closed amqp:link:transfer-limit-exceeded)"), wire.npos) << wire;
    EXPECT_EQ(peer.events(), "");
    peer.session->forget(*peer.link);
    peer.send(detach{.handle = handle{0}, .closed = true});
    EXPECT_EQ(peer.events(), "");
}

TEST(UnansweredLink, OnWhichItsReceiverSendsIsDetachedOnceItIsAnswered)
{
    engine_peer peer{listening()};
    peer.open_session();
    peer.send(attach{.name = "r", .role = role::receiver});
    peer.send(engine_peer::first_frame(0), "x");
    EXPECT_EQ(peer.wire(), "");
    std::ignore = peer.events();
    ASSERT_FALSE(peer.link->attach(link_named("r")));
    EXPECT_EQ(peer.events(), "link_detached(r error48 amqp:not-allowed)");
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("attach(r ")) << wire;
    EXPECT_NE(wire.find("detach(h0 closed amqp:not-allowed)"), wire.npos) << wire;
}

TEST(UnansweredLink, WhoseFlowBreaksARuleIsDetachedOnceItIsAnswered)
{
    engine_peer peer{listening()};
    peer.open_session({.policy = e::flow_policy::strict});
    peer.send(their_sender("s"));
    std::ignore = peer.events();
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 2048,
                   .next_outgoing_id = peer.next_outgoing_id,
                   .outgoing_window = 2048,
                   .handle = handle{0}});  // no delivery-count
    EXPECT_EQ(peer.wire(), "");
    ASSERT_FALSE(peer.link->attach(link_named("s", 10)));
    auto const wire = peer.wire();
    EXPECT_TRUE(wire.starts_with("attach(s ")) << wire;
    EXPECT_NE(wire.find("detach(h0 closed amqp:invalid-field)"), wire.npos) << wire;
}

TEST(UnansweredLink, ThatHasFailedCanBeRefusedForAnotherReason)
{
    engine_peer peer{listening()};
    peer.open_session();
    peer.send(their_sender("s"));
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    ASSERT_FALSE(peer.link->refuse({.condition = "amqp:not-found", .description = {}, .info = {}}));
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("detach(h0 closed amqp:not-found)"), wire.npos) << wire;
    EXPECT_EQ(wire.find("transfer-limit-exceeded"), wire.npos) << wire;
}

TEST(UnansweredLink, ThatItsPeerHasDetachedKeepsItsErrorWhenItIsRefused)
{
    engine_peer peer{listening()};
    peer.open_session();
    peer.send(their_sender("s"));
    error_view const why{.condition = symbol{"amqp:resource-deleted"}};
    peer.send(detach{.handle = handle{0}, .closed = true, .error = why});
    EXPECT_EQ(peer.link->refuse({.condition = "amqp:not-found", .description = {}, .info = {}}),
              error::invalid_state);
    EXPECT_EQ(peer.link->error().condition, "amqp:resource-deleted");
}

// It never went out: there is nothing to detach, and the session does not wait for it.
TEST(UnansweredLink, BeyondThePeersHandlesCannotBeDetachedAndHoldsUpNoEnd)
{
    engine_peer peer;
    peer.open();
    auto* const s = *peer.engine.begin();
    std::ignore = s->attach_sender(link_named("A"));
    auto* const gone = *s->attach_sender(link_named("B"));
    std::ignore = peer.frames();
    auto b = engine_peer::usual_begin();
    b.handle_max = handle{0};
    b.remote_channel = std::uint16_t{0};
    peer.send(b);
    EXPECT_EQ(peer.events(), "session_begun() link_detached(B handle_max)");
    EXPECT_EQ(gone->detach(), error::invalid_state);
    s->forget(*gone);
    EXPECT_FALSE(s->end());
    EXPECT_NE(peer.wire().find("end("), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
