// Heartbeats and time-outs, in a time that the test moves. [2.4.5]
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using ms = e::time_point;

open opening(std::uint32_t idle_time_out)
{
    return {.container_id = "peer", .idle_time_out = idle_time_out};
}

TEST(IdleTimeout, IsAnnouncedAsHalfOfOurPatience)
{
    engine_peer peer{{.idle_timeout_ms = 10000}};
    std::ignore = peer.engine.open();
    auto const frames = peer.frames();
    EXPECT_EQ(frames.at(1).as<open>().idle_time_out, 5000u);
}

TEST(IdleTimeout, IsNotAnnouncedIfThereIsNone)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    std::ignore = peer.engine.open();
    EXPECT_EQ(peer.frames().at(1).as<open>().idle_time_out, std::nullopt);
}

TEST(IdleTimeout, GivesUpAfterTheWholeOfItAndNotBefore)
{
    engine_peer peer{{.idle_timeout_ms = 10000}};
    std::ignore = peer.engine.tick(peer.now);
    peer.open();
    peer.now = ms{9999};
    std::ignore = peer.engine.tick(peer.now);
    EXPECT_EQ(peer.wire() + peer.events(), "");
    peer.now = ms{10000};
    std::ignore = peer.engine.tick(peer.now);
    EXPECT_EQ(peer.events(), "connection_closed(idle_timeout amqp:resource-limit-exceeded)");
    EXPECT_EQ(peer.wire(), "close(amqp:resource-limit-exceeded)");
    EXPECT_NE(peer.engine.error().description.find("10000 ms"), std::string::npos);
}

TEST(IdleTimeout, StartsAnewWithEveryOctetThatComes)
{
    engine_peer peer{{.idle_timeout_ms = 10000}};
    peer.open();
    peer.now = ms{9000};
    peer.send_hex("00000008 02000000");
    peer.now = ms{18999};
    EXPECT_EQ(peer.engine.tick(peer.now), ms{19000});
    peer.send_hex("00");  // the start of a frame is a sign of life too
    peer.now = ms{28998};
    EXPECT_EQ(peer.engine.tick(peer.now), ms{28999});
    EXPECT_EQ(peer.events(), "");
}

TEST(IdleTimeout, OfZeroWaitsForEver)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    peer.open();
    EXPECT_EQ(peer.engine.tick(ms{1'000'000'000}), ms::max());
    EXPECT_EQ(peer.events(), "");
}

TEST(Heartbeat, KeepsTheGapsAtHalfOfWhatThePeerAllows)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    std::ignore = peer.engine.tick(peer.now);
    peer.open(opening(1000));
    auto last_written = peer.now;
    auto largest = ms{0};
    for (auto i = 0; i < 20; ++i) {
        auto const next = peer.engine.tick(peer.now);
        ASSERT_NE(next, ms::max());
        ASSERT_GT(next, peer.now);
        peer.now = next;
        std::ignore = peer.engine.tick(peer.now);
        ASSERT_TRUE(peer.engine.wants_write());
        ASSERT_EQ(peer.wire(), "heartbeat");
        largest = std::max(largest, peer.now - last_written);
        last_written = peer.now;
    }
    EXPECT_EQ(largest, ms{500});
}

TEST(Heartbeat, IsTheEmptyFrame)
{
    engine_peer peer;
    peer.open(opening(1000));
    std::ignore = peer.engine.tick(peer.now = ms{500});
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_TRUE(same_bytes(frames[0].octets, octets_of_hex("00000008 02000000")));
}

TEST(Heartbeat, IsDueAgainEvenIfItsOwnerOnlyTicksWhenToldTo)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    peer.open(opening(1000));
    auto const next = peer.engine.tick(peer.now = ms{600});  // one is due now
    EXPECT_EQ(peer.wire(), "heartbeat");
    EXPECT_LE(next, ms{1100}) << "nobody may ask again in between";
}

TEST(Heartbeat, IsNotWrittenWhereAnotherFrameGoesOut)
{
    engine_peer peer;
    peer.open_session();
    peer.engine.transport_closed();
    engine_peer busy{{.idle_timeout_ms = 0}};
    busy.open(opening(1000));
    busy.session = *busy.engine.begin();
    std::ignore = busy.engine.tick(busy.now = ms{500});
    EXPECT_EQ(busy.wire(), "begin(noi=0 iw=2048)");
    std::ignore = busy.engine.tick(busy.now = ms{900});
    EXPECT_EQ(busy.wire(), "");
}

TEST(Heartbeat, IsNotWrittenToAPeerThatWantsNone)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    peer.open();
    std::ignore = peer.engine.tick(ms{1'000'000});
    EXPECT_EQ(peer.wire(), "");
}

TEST(Heartbeat, StopsWithOurClose)
{
    engine_peer peer{{.idle_timeout_ms = 0}};
    peer.open(opening(1000));
    std::ignore = peer.engine.close();
    EXPECT_EQ(peer.wire(), "close()");
    std::ignore = peer.engine.tick(peer.now = ms{5000});
    EXPECT_EQ(peer.wire(), "");
}

TEST(HandshakeTimeout, EndsAConnectionWhosePeerDoesNotOpen)
{
    engine_peer peer{{.handshake_timeout_ms = 3000}};
    EXPECT_EQ(peer.engine.tick(peer.now = ms{100}), ms{3100});
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.now = ms{2000};
    peer.send_header();
    EXPECT_EQ(peer.engine.tick(peer.now = ms{3099}), ms{3100});
    EXPECT_EQ(peer.events(), "");
    EXPECT_EQ(peer.engine.tick(peer.now = ms{3100}), ms::max());
    EXPECT_EQ(peer.events(), "connection_closed(handshake_timeout amqp:resource-limit-exceeded)");
    EXPECT_TRUE(peer.engine.output_done());
}

TEST(HandshakeTimeout, IsOverWithThePeersOpen)
{
    engine_peer peer{{.idle_timeout_ms = 0, .handshake_timeout_ms = 3000}};
    std::ignore = peer.engine.tick(peer.now);
    peer.open();
    EXPECT_EQ(peer.engine.tick(ms{50000}), ms::max());
    EXPECT_EQ(peer.events(), "");
}

}  // namespace
}  // namespace sluice::test
