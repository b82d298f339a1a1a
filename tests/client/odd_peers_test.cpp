// What peers in the field do that is allowed, or at least done, and what calls come to then.
#include "support/client_rig.hpp"
#include "support/held_thread.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

bytes large_properties()
{
    bytes out;
    map_writer map{out};
    map.add(symbol{"p"}, std::string_view{std::string(70'000, 'p')});
    map.finish();
    return out;
}

client::receiver_options by_hand(milliseconds timeout = milliseconds{0})
{
    client::receiver_options o;
    o.credit_window = 0;
    o.timeout = timeout;
    return o;
}

/// Of peers that break a rule, which the auditor would end the connection for.
client_rig lenient_rig()
{
    client::connection_options o;
    o.audit = client::audit_mode::off;
    return client_rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                      o};
}

flow gave_back(std::uint32_t count)
{
    return {.next_incoming_id = transfer_id{0},
            .incoming_window = 2048,
            .outgoing_window = 2048,
            .handle = handle{0},
            .delivery_count = sequence_number{count},
            .link_credit = 0u,
            .drain = true};
}

// RabbitMQ ends the session of a link that it refuses.
TEST(OddPeers, ADefaultSessionThatThePeerEndsIsFollowedByAnother)
{
    client_rig rig;
    auto first = in_background([&] { return rig.connection.open_sender("nowhere"); });
    auto const begun = rig.peer.begin_session();
    auto const channel = begun.from.header.channel;
    rig.peer.skip_to<attach>();
    rig.peer.send(end{.error = error_view{.condition = "amqp:not-found"}}, channel);
    EXPECT_EQ(get(first).code, error::session_ended_by_peer);
    rig.peer.skip_to<end>();

    auto second = in_background([&] { return rig.connection.open_sender("q"); });
    rig.peer.begin_session();
    rig.peer.attach_link();
    auto const out = get(second);
    EXPECT_TRUE(out.value) << out.what;
}

TEST(OddPeers, ADefaultSessionThatItsUserEndsIsFollowedByAnother)
{
    client_rig rig;
    auto ending = in_background([&] { rig.connection.default_session().end(); });
    auto const begun = rig.peer.begin_session();
    rig.peer.skip_to<end>();
    rig.peer.send(end{}, begun.from.header.channel);
    EXPECT_TRUE(get(ending).value);
    auto opening = in_background([&] { return rig.connection.open_receiver("q"); });
    rig.peer.begin_session();
    rig.peer.attach_link();
    EXPECT_TRUE(get(opening).value);
}

TEST(OddPeers, ABeginRightBehindACloseWhileTheConnectionIsAwayIsToldSo)
{
    auto options = strict();
    options.reconnect = client::reconnect_options{
        .initial_delay = milliseconds{60'000}, .jitter = 0, .max_delay = milliseconds{60'000}};
    client_rig rig{{}, options};
    auto const changes = rig.connection.state_changes();
    rig.peer.reset();
    EXPECT_EQ(changes.next()->state, client::connection_state::recovering);
    std::promise<error_code> begun;
    std::promise<error_code> opened;
    all_at_once(rig.container, [&] {
        rig.connection.async_close([](error_code) {});
        rig.connection.async_begin(
            {}, [&](error_code ec, client::session const&) { begun.set_value(ec); });
        rig.connection.async_open_sender(
            "q", {}, [&](error_code ec, client::sender const&) { opened.set_value(ec); });
    });
    EXPECT_EQ(get(begun.get_future()), error::closed_locally);
    EXPECT_EQ(get(opened.get_future()), error::closed_locally);
}

TEST(OddPeers, AnOpenThatNoPeerHasToTakeIsRefusedHere)
{
    scripted_peer peer;
    client::container c{std::string(600, 'i')};
    auto call = in_background([&] { return c.connect(peer.url()); });
    peer.accept();
    auto const out = get(call);
    EXPECT_EQ(out.code, error::too_large);
    EXPECT_TRUE(has(out.what, "512 octets")) << out.what;
    EXPECT_LE(peer.read_to_end().size(), 8u);
}

TEST(OddPeers, WhatDoesNotFitAFrameIsRefusedHereAndTheRestGoesOn)
{
    client_rig rig;
    client::session_options session;
    session.properties = large_properties();
    auto const begun = get(in_background([&] { return rig.connection.begin(session); }));
    EXPECT_EQ(begun.code, error::too_large);
    EXPECT_TRUE(has(begun.what, "octets")) << begun.what;
    client::sender_options options;
    options.desired_capabilities = {std::string(70'000, 'c')};
    auto const opened = get(in_background([&] { return rig.session.open_sender("q", options); }));
    EXPECT_EQ(opened.code, error::too_large);
    EXPECT_TRUE(has(opened.what, "octets")) << opened.what;
    EXPECT_TRUE(rig.sender().valid());
}

// [2.7.6] Neither a state nor settled: it says nothing. A state that nobody knows may be no
// outcome either.
TEST(OddPeers, ASendWaitsForAnOutcomeWhateverIsSaidBefore)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto sending = in_background([&] { return sender.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.send(disposition{.role = role::receiver, .first = delivery_number{0}});
    auto const strange = bytes{std::byte{0x00}, std::byte{0xa3}, std::byte{3},   std::byte{'a'},
                               std::byte{':'},  std::byte{'b'},  std::byte{0x45}};
    rig.peer.send(
        disposition{.role = role::receiver, .first = delivery_number{0}, .state = {strange}});
    EXPECT_EQ(sending.wait_for(milliseconds{20}), std::future_status::timeout);
    rig.peer.settle(0, 0);
    auto const out = get(sending);
    ASSERT_TRUE(out.value) << out.what;
    EXPECT_TRUE(out.value->accepted());
}

TEST(OddPeers, CreditThatIsAddedDuringADrainIsGrantedAfterIt)
{
    client_rig rig;
    auto const receiver = rig.receiver(by_hand());
    receiver.add_credit(5);
    rig.peer.skip_to<flow>();
    auto draining = in_background([&] { receiver.drain(); });
    EXPECT_TRUE(rig.peer.skip_to<flow>()->drain);
    receiver.add_credit(2);
    receiver.add_credit(1);
    rig.peer.send(gave_back(5));
    EXPECT_TRUE(get(draining).value);
    auto const granted = rig.peer.skip_to<flow>();
    EXPECT_FALSE(granted->drain);
    EXPECT_EQ(granted->delivery_count, sequence_number{5});
    EXPECT_EQ(granted->link_credit, 3u);
    rig.peer.deliver(0, data_message("x"), true);
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(); })).value);
}

TEST(OddPeers, AWindowThatIsSetDuringADrainIsGrantedAfterIt)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    while (rig.peer.skip_to<flow>()->link_credit == 0u) {}
    auto draining = in_background([&] { receiver.drain(); });
    auto asked = rig.peer.skip_to<flow>();
    while (!asked->drain) asked = rig.peer.skip_to<flow>();
    receiver.set_credit_window(7);
    rig.peer.send(gave_back(*asked->link_credit));
    EXPECT_TRUE(get(draining).value);
    auto const granted = rig.peer.skip_to<flow>();
    EXPECT_FALSE(granted->drain);
    EXPECT_EQ(granted->link_credit, 7u);
}

TEST(OddPeers, CreditAfterADrainThatNobodyAnsweredIsNoDrain)
{
    client_rig rig;
    auto const receiver = rig.receiver(by_hand(milliseconds{1'000}));
    receiver.add_credit(5);
    rig.peer.skip_to<flow>();
    EXPECT_EQ(get(in_background([&] { receiver.drain(); })).code, error::timed_out);
    EXPECT_TRUE(rig.peer.skip_to<flow>()->drain);
    auto const given_up = rig.peer.skip_to<flow>();
    EXPECT_FALSE(given_up->drain);
    EXPECT_EQ(given_up->link_credit, 5u);
    receiver.add_credit(2);
    auto const granted = rig.peer.skip_to<flow>();
    EXPECT_FALSE(granted->drain);
    EXPECT_EQ(granted->link_credit, 7u);
}

// Elsewhere a send waits for credit as long as it takes; a coordinator that grants none hangs up a
// whole transaction.
TEST(OddPeers, ATransactionGivesUpACoordinatorThatGrantsNoCredit)
{
    client_rig rig{{.next_outgoing_id = transfer_id{0},
                    .next_delivery_id = delivery_number{0},
                    .timeout = milliseconds{1'000}}};
    auto declaring = in_background([&] { return rig.session.begin_transaction(); });
    rig.peer.attach_link();
    EXPECT_EQ(get(declaring).code, error::timed_out);
    EXPECT_EQ(rig.session.error(), nullptr);
}

TEST(OddPeers, ATimeOutOfMoreThanAnyClockHasIsNone)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    while (rig.peer.skip_to<flow>()->link_credit == 0u) {}
    auto receiving =
        in_background([&] { return receiver.receive(milliseconds::max() - milliseconds{1}); });
    auto another = in_background([&] { return receiver.receive(milliseconds::max() / 1'000); });
    EXPECT_EQ(receiving.wait_for(milliseconds{20}), std::future_status::timeout);
    EXPECT_EQ(another.wait_for(milliseconds{20}), std::future_status::timeout);
    rig.peer.deliver(0, data_message("x"), true);
    rig.peer.deliver(1, data_message("y"), true);
    EXPECT_TRUE(get(receiving).value);
    EXPECT_TRUE(get(another).value);
}

// RabbitMQ answers a closing detach without closed=true. [2.6.6]
TEST(OddPeers, ACloseIsAnsweredByAnyDetach)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto closing = in_background([&] { sender.close(); });
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
    rig.peer.send(detach{.handle = handle{0}});
    EXPECT_TRUE(get(closing).value);
}

TEST(OddPeers, ASessionMayBeEndedAsSoonAsItIsThere)
{
    client_rig rig;
    for (int i = 0; i < 3; ++i) {
        auto begun = in_background([&] { return rig.connection.begin(); });
        auto const theirs = rig.peer.begin_session();
        auto const session = get(begun).value.value();
        auto ending = in_background([&] { session.end(); });
        rig.peer.expect<end>();
        rig.peer.send(end{}, theirs.from.header.channel);
        EXPECT_TRUE(get(ending).value);
    }
}

TEST(OddPeers, ASessionThatComesBackMayBeEndedBeforeItsBeginIsAnswered)
{
    auto options = strict();
    options.reconnect =
        client::reconnect_options{.initial_delay = milliseconds{1}, .max_delay = milliseconds{10}};
    client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                   options};
    rig.peer.reset();
    rig.peer.open_connection();
    auto const theirs = rig.peer.expect<begin>();
    auto ending = in_background([&] { rig.session.end(); });
    rig.peer.expect<end>();
    auto const channel = theirs.from.header.channel;
    rig.peer.send(
        begin{.remote_channel = channel, .incoming_window = 2048, .outgoing_window = 2048},
        channel);
    rig.peer.send(end{}, channel);
    EXPECT_TRUE(get(ending).value);
}

// An endpoint that closes while its peer detaches only: the closing one wins. [2.6.6]
TEST(OddPeers, ADetachWithoutCloseThatCrossesOurCloseCompletesIt)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    std::promise<error_code> closed;
    all_at_once(rig.container, [&] {
        receiver.async_close([&](error_code ec) { closed.set_value(ec); });
        rig.peer.send(detach{.handle = handle{0}});
    });
    EXPECT_EQ(get(closed.get_future()), error_code{});
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
}

// An empty delivery has no body section; it is malformed, and nobody's but its own trouble.
TEST(OddPeers, ADeliveryWithoutAnOctetIsOneDeliveryAndNotMore)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    while (rig.peer.skip_to<flow>()->link_credit == 0u) {}
    rig.peer.deliver(0, {});
    rig.peer.deliver(1, data_message("x"));
    auto const empty = get(in_background([&] { return receiver.receive(); })).value.value();
    EXPECT_TRUE(empty.body().empty());
    auto const next = get(in_background([&] { return receiver.receive(); })).value.value();
    EXPECT_TRUE(same_bytes(next.body(), data_message("x")));
    next.accept();
    empty.accept();
}

TEST(OddPeers, ADeliveryInEmptyFramesIsWhole)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    while (rig.peer.skip_to<flow>()->link_credit == 0u) {}
    rig.peer.deliver(0, {}, false, {}, true);
    auto const body = data_message("x");
    rig.peer.send(transfer{.more = true});
    rig.peer.send(transfer{.more = true}, 0, body);
    rig.peer.send(transfer{});
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    EXPECT_TRUE(same_bytes(d.body(), body));
    d.accept();
}

TEST(OddPeers, AFlowWithoutCreditLeavesTheCreditAsItIs)
{
    auto rig = lenient_rig();
    auto const sender = rig.sender(1);
    rig.peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 2048,
                       .outgoing_window = 2048,
                       .handle = handle{0},
                       .echo = true});
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 1u);
    auto sending = in_background([&] { return sender.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(sending).value);
}

// The mode that a peer answers with is in force, whatever was asked for. [2.6.12]
TEST(OddPeers, ASenderOfAPeerThatTakesSettledOnlySendsSettled)
{
    client_rig rig;
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    auto const theirs = rig.peer.skip_to<attach>();
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.snd_settle_mode = sender_settle_mode::settled;
    rig.peer.send(ours);
    auto const sender = get(opening).value.value();
    rig.peer.grant(1, 0);
    auto sending = in_background([&] { return sender.send("x"); });
    EXPECT_EQ(rig.peer.skip_to<transfer>()->settled, true);
    EXPECT_TRUE(get(sending).value);
}

TEST(OddPeers, SettlingWithoutAnOutcomeEndsASend)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto sending = in_background([&] { return sender.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.send(
        disposition{.role = role::receiver, .first = delivery_number{0}, .settled = true});
    auto const out = get(sending);
    ASSERT_TRUE(out.value) << out.what;
    EXPECT_FALSE(out.value->accepted());
}

// The outcome comes first and is settled later, by whom does not matter. [2.6.12]
TEST(OddPeers, ADispositionForTheOtherRoleTouchesNoSend)
{
    auto rig = lenient_rig();
    auto const sender = rig.sender(1);
    auto sending = in_background([&] { return sender.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.send(disposition{.role = role::sender,
                              .first = delivery_number{0},
                              .last = delivery_number{100},
                              .settled = true,
                              .state = {encoded_accepted}});
    EXPECT_EQ(sending.wait_for(milliseconds{20}), std::future_status::timeout);
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(sending).value);
}

TEST(OddPeers, AHeartbeatMayComeOnAnyChannelAndAnOpenMayHaveNone)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url(), strict()); });
    peer.open_connection({.container_id = "peer", .idle_time_out = 0u});
    auto const connection = get(call).value.value();
    bytes frame(frame_header_size);
    write_frame_header(frame.data(), frame_header_size, frame_type::amqp, 77);
    peer.send_octets(frame);
    auto beginning = in_background([&] { return connection.begin(); });
    peer.begin_session();
    EXPECT_TRUE(get(beginning).value);
    peer.shut();
}

TEST(OddPeers, CreditAskedForAsTheConnectionEndsIsNoMatterOfAReceiverThatIsDropped)
{
    for (auto i = 0; i < 2; ++i) {
        client_rig rig;
        auto receiver = rig.receiver(by_hand());
        auto const closed = rig.connection.closed();
        all_at_once_behind(
            rig.container,
            [&] {
                error_view const why{.condition = symbol{"amqp:connection:forced"}};
                i == 0 ? rig.peer.send(close{.error = why}) : rig.peer.reset();
            },
            [&] {
                receiver.add_credit(1);
                receiver = {};
            });
        EXPECT_TRUE(closed.next());
    }
}

}  // namespace
}  // namespace sluice::test
