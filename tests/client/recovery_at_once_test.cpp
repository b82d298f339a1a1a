// Peers that come back and say their last word in the same octets; what is left of credit and of
// unsettled deliveries when a link comes back.
#include "support/recovery_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

void append_to(bytes& all, bytes_view more) { all.insert(all.end(), more.begin(), more.end()); }

sluice::close forced()
{
    return {.error = error_view{.condition = "amqp:connection:forced", .description = "starting"}};
}

/// A send that waits while its connection comes back, and the frames that are the peer's answer to
/// the attach.
struct at_once : recovery_rig {
    client::sender const to = sender();
    std::future<ended<client::outcome>> waiting = in_background([this] { return to.send("x"); });

    ~at_once() { peer.shut(); }
    at_once()
    {
        while (to.outstanding() == 0) std::this_thread::yield();
        peer.reset();
    }
    /// Header, open and what follows in one piece.
    void opens_and(bytes_view last_word)
    {
        peer.accept();
        peer.expect_header(protocol_id::amqp);
        auto all = protocol_header(protocol_id::amqp);
        bytes out{all.begin(), all.end()};
        append_to(out, scripted_peer::encoded(sluice::open{.container_id = "peer"}));
        append_to(out, last_word);
        peer.send_octets(out);
    }
    void attaches_and(bytes_view last_word)
    {
        come_back();
        auto const theirs = peer.skip_to<attach>();
        attach ours = theirs.value;
        ours.role = role::receiver;
        ours.unsettled = {};
        auto out = scripted_peer::encoded(ours);
        append_to(out, last_word);
        peer.send_octets(out);
    }
    void expect_the_send_goes_out()
    {
        attach_forgetful();
        peer.grant(1, 0);
        peer.skip_to<transfer>();
        peer.settle(0, 0);
        auto const out = get(waiting);
        EXPECT_FALSE(out.code) << out.what;
    }
};

// A broker that is still starting refuses in this way.
TEST(RecoveryAtOnce, AnOpenWithACloseBehindItIsOneMoreAttempt)
{
    at_once rig;
    rig.opens_and(scripted_peer::encoded(forced()));
    rig.peer.read_to_end();
    rig.peer.shut();
    rig.come_back();
    rig.expect_the_send_goes_out();
}

TEST(RecoveryAtOnce, AnAttachWithADetachBehindItLosesNoSend)
{
    at_once rig;
    rig.attaches_and(scripted_peer::encoded(detach{.handle = handle{0}}));
    rig.peer.skip_to<detach>();
    rig.expect_the_send_goes_out();
}

TEST(RecoveryAtOnce, AnAttachWithAForcedDetachBehindItLosesNoSend)
{
    at_once rig;
    rig.attaches_and(scripted_peer::encoded(
        detach{.handle = handle{0},
               .closed = true,
               .error = error_view{.condition = "amqp:link:detach-forced"}}));
    rig.peer.skip_to<detach>();
    rig.expect_the_send_goes_out();
}

TEST(RecoveryAtOnce, AnAttachWithACloseBehindItLosesNoSend)
{
    at_once rig;
    rig.attaches_and(scripted_peer::encoded(forced()));
    rig.peer.read_to_end();
    rig.peer.shut();
    rig.come_back();
    rig.expect_the_send_goes_out();
}

// The session is the peer's to end: what waits on it learns why.
TEST(RecoveryAtOnce, AnAttachWithAnEndBehindItTellsTheEndsReason)
{
    at_once rig;
    rig.attaches_and(scripted_peer::encoded(
        sluice::end{.error = error_view{.condition = "amqp:resource-limit-exceeded"}}));
    auto const out = get(rig.waiting);
    EXPECT_EQ(out.code, error::session_ended_by_peer);
    EXPECT_NE(out.what.find("amqp:resource-limit-exceeded"), std::string::npos) << out.what;
}

TEST(RecoveryAtOnce, CreditByHandOutlivesAnAttachWithADetachBehindIt)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.add_credit(3);
    rig.peer.skip_to<flow>();
    rig.peer.reset();
    rig.come_back();
    auto const theirs = rig.peer.skip_to<attach>();
    attach ours = theirs.value;
    ours.role = role::sender;
    ours.initial_delivery_count = sequence_number{0};
    ours.unsettled = {};
    auto out = scripted_peer::encoded(ours);
    append_to(out, scripted_peer::encoded(detach{.handle = handle{0}}));
    rig.peer.send_octets(out);
    rig.peer.skip_to<detach>();
    rig.attach_forgetful();
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 3u);
}

TEST(RecoveryAtOnce, CreditByHandOutlivesAConnectionThatIsLostBeforeTheAttachIsAnswered)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.add_credit(3);
    rig.peer.skip_to<flow>();
    for (auto lost = 0; lost < 2; ++lost) {
        rig.peer.reset();
        rig.come_back();
        if (lost == 0)
            rig.peer.skip_to<attach>();
    }
    rig.attach_forgetful();
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 3u);
}

// ---- aborted deliveries [2.7.5]

void send_half_and_abort(scripted_peer& peer, std::uint32_t id)
{
    peer.deliver(id, data_message("half"), false, {}, true);
    peer.send(transfer{.handle = handle{0}, .aborted = true});
}

TEST(AbortedDelivery, CostsNoneOfTheCreditThatWasGivenByHand)
{
    client_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.set_credit(2);
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 2u);
    send_half_and_abort(rig.peer, 0);
    auto f = rig.peer.skip_to<flow>();
    EXPECT_EQ(f->delivery_count, sequence_number{1});
    EXPECT_EQ(f->link_credit, 2u);
    EXPECT_EQ(receiver.counters().aborted, 1u);
}

TEST(AbortedDelivery, OfALinkThatDrainsGivesNoCredit)
{
    client_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.set_credit(2);
    rig.peer.skip_to<flow>();
    auto drained = in_background([&] { receiver.drain(); });
    while (!rig.peer.skip_to<flow>()->drain) {}
    send_half_and_abort(rig.peer, 0);
    rig.peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 2048,
                       .next_outgoing_id = transfer_id{2},
                       .outgoing_window = 2048,
                       .handle = handle{0},
                       .delivery_count = sequence_number{2},
                       .link_credit = 0,
                       .drain = true});
    EXPECT_FALSE(get(drained).code);
    receiver.request_flow();
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 0u);
}

// Its sender has it no more: nothing will come of waiting for it. [2.6.13]
TEST(AbortedDelivery, ThatIsResumedMakesStaleWhatIsHeld)
{
    recovery_rig rig;
    auto const receiver = rig.receiver();
    rig.peer.deliver(0, data_message("x"));
    auto const held = get(in_background([&] { return receiver.receive(); })).value.value();
    rig.peer.reset();
    rig.come_back();
    rig.peer.attach_link();  // with the map that it was sent: it knows the delivery
    rig.peer.skip_to<flow>();
    std::array<std::byte, 1> const tag{std::byte{0}};
    rig.peer.send(transfer{.handle = handle{0},
                           .delivery_id = delivery_number{0},
                           .delivery_tag = bytes_view{tag},
                           .message_format = 0,
                           .resume = true,
                           .aborted = true});
    EXPECT_EQ(get(in_background([&] { held.settle(); })).code, error::stale_delivery);
}

// ---- unsettled maps [2.7.3]

TEST(UnsettledMap, OfAReceiverSaysAllThatItStillHolds)
{
    auto small = recovering();
    client_rig rig{from_zero(), small, {.container_id = "peer", .max_frame_size = 512}};
    auto const receiver = rig.receiver(with_credit(100));
    std::vector<client::delivery> held;
    for (std::uint32_t i = 0; i < 100; ++i) rig.peer.deliver(i, data_message("x"));
    for (auto i = 0; i < 100; ++i)
        held.push_back(get(in_background([&] { return receiver.receive(); })).value.value());
    rig.peer.reset();
    rig.peer.open_connection({.container_id = "peer", .max_frame_size = 512});
    rig.peer.begin_session();
    auto const theirs = rig.peer.attach_link();  // all that it lists is remembered
    EXPECT_FALSE(theirs->incomplete_unsettled);
    std::size_t listed = 0;
    for (map_reader map{theirs->unsettled}; map.next();) ++listed;
    EXPECT_GT(listed, 10u);
    EXPECT_LT(listed, 100u);
    std::size_t stale = 0;
    for (auto const& d : held) try {
            d.accept();
        } catch (boost::system::system_error const& e) {
            EXPECT_EQ(e.code(), error::stale_delivery);
            ++stale;
        }
    EXPECT_EQ(stale, 100 - listed);
}

}  // namespace
}  // namespace sluice::test
