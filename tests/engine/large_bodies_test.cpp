// Large messages in small frames and windows: nothing is copied twice, nothing else stands still.
// [2.6.14, 2.5.6]
#include "support/engine_pair.hpp"
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

constexpr std::size_t mebibyte = 1u << 20;

/// Sends `size` octets to a peer that takes ten frames of 16 KiB and renews three at a time.
/// @returns transfer frames of the large one
std::size_t send_large(std::size_t size)
{
    engine_peer peer{{.outgoing_frame_max = 16384, .idle_timeout_ms = 0}};
    peer.open({.container_id = "peer", .max_frame_size = 16384, .idle_time_out = 1000u});
    auto theirs = engine_peer::usual_begin();
    theirs.incoming_window = 10;
    peer.open_session({}, theirs);
    auto& large = peer.open_sender(link_named("large"));
    auto& small = peer.open_sender(link_named("small"));
    for (auto* const l : {&large, &small})
        peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 10,
                       .handle = l->local_handle(),
                       .link_credit = 1'000'000u});
    bytes const body(size, std::byte{'z'});
    auto const text = octets_of("x");
    std::ignore = large.send({body});
    std::size_t frames = 0;
    std::size_t octets = 0;
    std::uint32_t seen = 0;
    std::uint32_t edge = 10;
    while (octets < size) {
        std::ignore = small.send({text}, {.settled = true});
        auto small_ones = 0;
        for (auto const& frame : peer.frames()) {
            if (frame.descriptor() != 0x14)
                continue;
            ++seen;
            auto const t = frame.as<transfer>();
            if (t.handle == small.local_handle()) {
                ++small_ones;
            } else {
                octets += frame.octets.size() - frame_of(t).size();
                ++frames;
            }
        }
        EXPECT_EQ(small_ones, 1) << "after " << frames << " frames";
        EXPECT_LE(seen, edge);
        if (octets == 0 || (seen != edge && octets < size)) {
            ADD_FAILURE() << "stuck after " << frames << " frames";
            break;
        }
        edge += 3;
        peer.send(flow{.next_incoming_id = transfer_id{seen}, .incoming_window = edge - seen});
        peer.now += e::time_point{600};
        std::ignore = peer.engine.tick(peer.now);
        EXPECT_TRUE(peer.engine.wants_write()) << "the window moved, or a heartbeat is due";
    }
    EXPECT_EQ(large.queued(), 0u);
    return frames;
}

TEST(LargeBodies, GoOutAsTheWindowOpensBesideSmallOnesAndHeartbeats)
{
    auto const frames = send_large(10 * mebibyte);
    EXPECT_EQ(frames, 10 * mebibyte / (16384 - 40) + 1) << "each is as full as it may be";
}

TEST(LargeBodies, ArePulledFromTheOwnersMemoryAndNeverKept)
{
    engine_peer peer{{.outgoing_frame_max = 16384}};
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(1, s);
    bytes const body(mebibyte, std::byte{'z'});
    auto* const d = *s.send({body});
    std::vector<std::byte> out(16384);
    std::uint64_t before = 0;
    while (s.queued() > 0) {
        ASSERT_GT(peer.engine.write(out, peer.now), 0u);
        ASSERT_GT(d->sent_bytes(), before) << "a frame a call";
        ASSERT_LE(d->sent_bytes() - before, 16384u);
        before = d->sent_bytes();
    }
    EXPECT_EQ(d->sent_bytes(), mebibyte);
}

TEST(LargeBodies, ArriveWholeThroughASmallWindow)
{
    engine_pair pair{{.outgoing_frame_max = 16384}, {.max_frame_size = 16384}};
    auto* const session = pair.open_session({}, {.incoming_window = 10});
    pair.listener_link.credit_window = 5;
    auto* const s = *session->attach_sender(link_named("L"));
    pair.run();
    bytes body(20 * mebibyte);
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i * 7 + i / 251);
    auto received = 0;
    pair.on_listener = [&](e::event const& v) {
        if (v.kind != e::event_kind::delivery)
            return false;
        ++received;
        EXPECT_TRUE(same_bytes(v.incoming->body(), body));
        std::ignore = v.incoming->link().settle(*v.incoming);
        return true;
    };
    std::ignore = s->send({body});
    std::ignore = s->send({body});
    pair.run();
    EXPECT_EQ(received, 2);
    EXPECT_EQ(s->unsettled(), 0u);
    EXPECT_EQ(session->counters().flow_mismatches, 0u);
    EXPECT_EQ(pair.b_session->counters().flow_mismatches, 0u);
    EXPECT_GT(session->counters().transfers_written, 2u * 1280);
}

TEST(LargeBodies, OfManyLinksShareOneWindow)
{
    engine_pair pair{{.outgoing_frame_max = 1024}};
    auto* const session =
        pair.open_session({.next_outgoing_id = transfer_id{4294967293}},
                          {.incoming_window = 3, .policy = e::flow_policy::strict});
    pair.listener_link.credit_window = 2;
    std::vector<e::sender*> senders;
    for (auto i = 0; i < 5; ++i)
        senders.push_back(*session->attach_sender(link_named("L" + std::to_string(i))));
    pair.run();
    auto received = 0;
    pair.on_listener = [&](e::event const& v) {
        if (v.kind != e::event_kind::delivery)
            return false;
        ++received;
        EXPECT_EQ(v.incoming->body().size(), 10000u);
        std::ignore = v.incoming->link().settle(*v.incoming);
        return true;
    };
    bytes const body(10000, std::byte{'z'});
    for (auto* const s : senders)
        for (auto i = 0; i < 20; ++i) std::ignore = s->send({body});
    pair.run();
    EXPECT_EQ(received, 100);
    EXPECT_EQ(session->counters().wraps, 1u);
    EXPECT_EQ(pair.b_session->counters().flow_mismatches, 0u);
}

}  // namespace
}  // namespace sluice::test
