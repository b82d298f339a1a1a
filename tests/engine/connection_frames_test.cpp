// Frames cut anywhere, and frames that are wrong. [2.3]
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// What a peer says to a listener: header, open, an empty frame, begin, attach, and flows that
/// raise its credit.
bytes recorded_session()
{
    bytes all;
    auto const add = [&](auto const& more) { all.insert(all.end(), more.begin(), more.end()); };
    add(protocol_header(protocol_id::amqp));
    add(frame_of(open{.container_id = "peer"}));
    add(octets_of_hex("00000008 02000000"));
    add(frame_of(begin{.incoming_window = 9, .outgoing_window = 9}));
    add(frame_of(attach{.name = "L", .role = role::receiver}));
    for (std::uint32_t credit = 1; credit <= 47; ++credit)
        add(frame_of(flow{.incoming_window = 9, .handle = handle{0}, .link_credit = credit}));
    return all;
}

/// Events are polled after each frame, so that each says what was true when it happened.
std::string events_of(std::vector<bytes_view> const& pieces)
{
    engine_peer peer{{.listener = true, .events_max = 1}};
    for (auto const piece : pieces) peer.send_octets(piece);
    return peer.events();
}

TEST(Frames, GiveTheSameEventsHoweverTheyAreCut)
{
    auto const all = recorded_session();
    auto const whole = bytes_view{all};
    auto const expected = events_of({whole});
    std::string all_of_it = "connection_requested() session_requested() link_requested(L)";
    for (auto credit = 1; credit <= 47; ++credit)
        all_of_it += " credit(L " + std::to_string(credit) + ")";
    ASSERT_EQ(expected, all_of_it);

    std::vector<bytes_view> single;
    for (auto const& o : all) single.emplace_back(&o, 1);
    EXPECT_EQ(events_of(single), expected) << "one octet a read";
    for (std::size_t i = 1; i < 64; ++i) {
        ASSERT_EQ(events_of({whole.first(i), whole.subspan(i)}), expected) << "cut after " << i;
        for (std::size_t k = i + 1; k < 64; ++k)
            ASSERT_EQ(events_of({whole.first(i), whole.subspan(i, k - i), whole.subspan(k)}),
                      expected)
                << "cut after " << i << " and " << k;
    }
}

TEST(Frames, BelowEightOctetsCloseTheConnection)
{
    engine_peer peer;
    peer.open();
    peer.send_hex("00000007 02000000");
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
    EXPECT_NE(peer.engine.error().description.find("7 octets"), std::string::npos);
}

TEST(Frames, BeyondOurMaxFrameSizeCloseTheConnectionBeforeTheyHaveCome)
{
    engine_peer peer{{.max_frame_size = 512}};
    peer.open();
    peer.send_hex("00000201 02000000");
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
    EXPECT_NE(peer.engine.error().description.find("513"), std::string::npos);
    EXPECT_NE(peer.engine.error().description.find("512"), std::string::npos);
}

TEST(Frames, BeyondOurMaxFrameSizeAreNoticedInPiecesToo)
{
    engine_peer peer{{.max_frame_size = 512}};
    peer.open();
    peer.send_hex("000002");
    peer.send_hex("01 020000");
    EXPECT_EQ(peer.wire(), "");
    peer.send_hex("00");
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
}

TEST(Frames, OfExactlyOurMaxFrameSizeAreTaken)
{
    engine_peer peer{{.max_frame_size = 512}};
    peer.open_session();
    peer.open_receiver(link_named("R", 10));
    auto const overhead = frame_of(engine_peer::first_frame(0)).size();
    peer.send(engine_peer::first_frame(0), std::string(512 - overhead, 'x'));
    EXPECT_EQ(peer.events(), "delivery(R 0 " + std::to_string(512 - overhead) + " octets)");
}

TEST(Frames, WithADataOffsetOutsideOfThemCloseTheConnection)
{
    for (auto const* const frame : {"0000000c 01000000 00531745", "0000000c 04000000 00531745"}) {
        engine_peer peer;
        peer.open_session();
        peer.send_hex(frame);
        EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)") << frame;
    }
}

TEST(Frames, WithAnExtendedHeaderAreReadBehindIt)
{
    engine_peer peer;
    peer.open_session();
    peer.send_hex("00000010 03000000 deadbeef 00531745");
    EXPECT_EQ(peer.events(), "session_ended(ended_by_peer)");
}

TEST(Frames, OfAnUnknownTypeCloseTheConnection)
{
    engine_peer peer;
    peer.open();
    peer.send_hex("0000000c 02020000 00531745");
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
}

TEST(Frames, OfSaslAreNoneOfAmqp)
{
    engine_peer peer;
    peer.open();
    peer.send_sasl(sasl_init{.mechanism = "PLAIN"});
    EXPECT_EQ(peer.wire(), "close(amqp:connection:framing-error)");
}

TEST(Frames, WithoutAPerformativeCloseTheConnection)
{
    for (auto const* const frame : {"0000000c 02000000 00539945", "00000009 02000000 40",
                                    "0000000c 02000000 00532445", "0000000a 02000000 0053"}) {
        engine_peer peer;
        peer.open_session();
        peer.send_hex(frame);
        EXPECT_EQ(peer.wire(), "close(amqp:decode-error)") << frame;
    }
}

TEST(Frames, WithAnUndecodablePerformativeCloseTheConnectionAndSayWhere)
{
    struct row {
        char const* frame;
        char const* where;
    };
    for (auto const& [frame, where] : std::initializer_list<row>{
             {"0000000c 02000000 00531445", "transfer.handle"},  // mandatory, left out
             {"00000010 02000000 005314c0 0301a101",
              "transfer.handle"},                            // a string that lacks its octets
             {"0000000c 02000000 00531245", "attach.name"},  // mandatory, left out
             {"00000014 02000000 005313 d0 00000004 ffffffff", "flow"},  // four billion fields
             {"0000000c 02000000 00531645", "detach.handle"},
             {"0000000c 02000000 00531545", "disposition.role"},
             {"0000000c 02000000 00531145", "begin.next-outgoing-id"},
             {"00000010 02000000 005318c0 0301a101", "close.error"},
         }) {
        engine_peer peer;
        peer.open_session();
        peer.send_hex(frame);
        EXPECT_EQ(peer.wire(), "close(amqp:decode-error)") << frame;
        EXPECT_EQ(peer.engine.error().description.find(where), 0u)
            << peer.engine.error().description;
        EXPECT_EQ(peer.engine.error().condition, condition::decode_error);
    }
}

TEST(Frames, MayNameTheirPerformativeBySymbol)
{
    engine_peer peer;
    peer.open_session();
    auto const body = octets_of_hex("00 a30d 616d71703a656e643a6c697374 45");  // amqp:end:list
    bytes frame(8);
    frame.insert(frame.end(), body.begin(), body.end());
    write_frame_header(frame.data(), static_cast<std::uint32_t>(frame.size()), frame_type::amqp, 0);
    peer.send_octets(frame);
    EXPECT_EQ(peer.events(), "session_ended(ended_by_peer)");
}

TEST(Frames, ThatAreEmptySayNothing)
{
    engine_peer peer;
    peer.open();
    peer.send_hex("00000008 02000000 00000008 02000007 0000000c 03000000 deadbeef");
    EXPECT_EQ(peer.wire() + peer.events(), "");
}

TEST(Frames, AreNeitherTakenNorLostWhileTooManyEventsWait)
{
    engine_peer peer{{.events_max = 3}};
    peer.open_session();
    peer.open_receiver(link_named("R", 100));
    bytes all;
    std::size_t first_three = 0;
    for (std::uint32_t id = 0; id < 20; ++id) {
        auto const frame = frame_of(engine_peer::first_frame(id), "x");
        all.insert(all.end(), frame.begin(), frame.end());
        if (id < 3)
            first_three += frame.size();
    }
    auto const before = peer.engine.counters().bytes_received;
    auto const taken = peer.engine.receive(all, peer.now);
    EXPECT_EQ(taken, first_three);
    EXPECT_EQ(peer.engine.receive(bytes_view{all}.subspan(taken), peer.now), 0u)
        << "not before events were polled";
    EXPECT_EQ(peer.events(), "delivery(R 0 'x') delivery(R 1 'x') delivery(R 2 'x')");
    peer.send_octets(bytes_view{all}.subspan(taken));
    peer.forget_so_far();
    EXPECT_EQ(peer.deliveries.size(), 20u);
    EXPECT_EQ(peer.engine.counters().bytes_received - before, all.size());
}

TEST(Frames, FillTheBufferThatTheyAreWrittenToAndAreNeverSplit)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(100, s);
    auto const body = octets_of(std::string(200, 'x'));
    for (auto i = 0; i < 5; ++i) std::ignore = s.send({body}, {.settled = true});
    EXPECT_EQ(peer.wire_once(512),
              "transfer(h0 id=0 settled 200 octets) transfer(h0 id=1 settled 200 octets)");
    EXPECT_EQ(peer.wire_once(512),
              "transfer(h0 id=2 settled 200 octets) transfer(h0 id=3 settled 200 octets)");
    EXPECT_EQ(peer.wire_once(512), "transfer(h0 id=4 settled 200 octets)");
    EXPECT_FALSE(peer.engine.wants_write());
}

}  // namespace
}  // namespace sluice::test
