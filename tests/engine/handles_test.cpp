// Handles: limits of both sides, the lowest free one, and peers that use them wrongly.
// [2.6.2, 2.7.2]
#include "support/engine_peer.hpp"

#include <sluice/engine/session.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

begin with_handle_max(std::uint32_t max)
{
    auto b = engine_peer::usual_begin();
    b.handle_max = handle{max};
    return b;
}

TEST(Handles, AreManyIfThePeerNamesNoLimit)
{
    engine_peer peer;
    auto& s = peer.open_session();
    for (auto i = 0; i < 300; ++i) ASSERT_TRUE(s.attach_sender(link_named(std::to_string(i)))) << i;
    EXPECT_EQ(peer.frames().size(), 300u);
}

TEST(Handles, BeyondThePeersLimitFailLocallyAndUnsent)
{
    engine_peer peer;
    auto& s = peer.open_session({}, with_handle_max(255));
    for (auto i = 0; i < 256; ++i) ASSERT_TRUE(s.attach_sender(link_named(std::to_string(i)))) << i;
    EXPECT_EQ(s.attach_sender(link_named("257th")).error(), error::handle_max_exceeded);
    EXPECT_EQ(peer.frames().size(), 256u);
}

TEST(Handles, AreReusedLowestFirstForTenThousandLinks)
{
    engine_peer peer;
    auto& s = peer.open_session({}, with_handle_max(255));
    peer.open_sender(link_named("stays"));
    for (auto i = 0; i < 10000; ++i) {
        auto& l = peer.open_sender(link_named("L" + std::to_string(i)));
        ASSERT_EQ(l.local_handle(), handle{1}) << i;
        std::ignore = l.detach();
        std::ignore = peer.frames();
        peer.send(detach{.handle = handle{1}, .closed = true});
        ASSERT_EQ(peer.events(), "link_detached(L" + std::to_string(i) + ")");
        s.forget(l);
    }
    auto links = 0;
    s.for_each_link([&](e::link&) { ++links; });
    EXPECT_EQ(links, 1);
}

TEST(Handles, OtherThanTheFirstWaitForThePeersLimit)
{
    engine_peer peer;
    peer.open();
    auto* const s = *peer.engine.begin();
    for (auto const* const name : {"A", "B", "C"}) std::ignore = s->attach_sender(link_named(name));
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048) attach(A h0 sender)");
    auto b = with_handle_max(1);
    b.remote_channel = std::uint16_t{0};
    peer.send(b);
    EXPECT_EQ(peer.wire(), "attach(B h1 sender)");
    EXPECT_EQ(peer.events(), "session_begun() link_detached(C handle_max)");
}

TEST(Handles, BeyondOurLimitCloseTheConnection)
{
    engine_peer peer;
    peer.open_session({.handle_max = 7});
    peer.send(attach{.name = "L", .handle = handle{8}, .role = role::receiver});
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
    EXPECT_EQ(peer.engine.error().description, "attach with handle 8; handle-max is 7 [2.7.2]");
}

TEST(Handles, OfAnyNumberUpToOurLimitAreTaken)
{
    engine_peer peer;
    peer.open_session();
    peer.send(attach{.name = "L", .handle = handle{1023}, .role = role::receiver});
    EXPECT_EQ(peer.events(), "link_requested(L)");
}

TEST(Handles, InUseEndTheSession)
{
    engine_peer peer;
    peer.open_session();
    peer.open_sender(link_named("L"));
    peer.send(attach{.name = "M", .handle = handle{0}, .role = role::receiver});
    EXPECT_EQ(peer.wire(), "end(amqp:session:handle-in-use)");
    EXPECT_EQ(peer.session->error().description,
              "attach of 'M' with handle 0, which link 'L' uses [2.6.2]");
    EXPECT_TRUE(peer.engine.opened());
}

TEST(Handles, ThatAreNotAttachedEndTheSession)
{
    using script = std::function<void(engine_peer&)>;
    for (auto const& play : std::initializer_list<script>{
             [](engine_peer& p) { p.send(flow{.incoming_window = 5, .handle = handle{4}}); },
             [](engine_peer& p) { p.send(transfer{.handle = handle{4}}); },
             [](engine_peer& p) { p.send(detach{.handle = handle{4}}); }}) {
        engine_peer peer;
        peer.open_session();
        play(peer);
        EXPECT_EQ(peer.wire(), "end(amqp:session:unattached-handle)");
        EXPECT_NE(peer.session->error().description.find("handle 4"), std::string::npos);
        EXPECT_TRUE(peer.engine.opened());
    }
}

TEST(Handles, AreFreeForThePeerAfterItsDetach)
{
    engine_peer peer;
    peer.open_session();
    auto& l = peer.open_sender(link_named("L"));
    peer.send(detach{.closed = true});
    EXPECT_EQ(peer.wire(), "detach(h0 closed)");
    peer.session->forget(l);
    peer.forget_so_far();
    peer.send(attach{.name = "M", .handle = handle{0}, .role = role::receiver});
    EXPECT_EQ(peer.events(), "link_requested(M)");
}

TEST(Handles, OfASenderWithoutInitialDeliveryCountEndTheSession)
{
    engine_peer peer;
    peer.open_session();
    peer.send(attach{.name = "L", .role = role::sender});
    EXPECT_EQ(peer.wire(), "end(amqp:invalid-field)");
    EXPECT_NE(peer.session->error().description.find("initial-delivery-count"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
