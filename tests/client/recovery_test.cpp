// What comes back by itself after a lost connection, and what does not: played by a peer.
#include "support/client_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::connection_state;
using std::chrono::milliseconds;

client::connection_options recovering()
{
    auto o = strict();
    o.reconnect =
        client::reconnect_options{.initial_delay = milliseconds{5}, .max_delay = milliseconds{50}};
    return o;
}

client::session_options from_zero()
{
    return {.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}};
}

client::receiver_options with_credit(std::uint32_t window)
{
    client::receiver_options o;
    o.credit_window = window;
    return o;
}

struct recovery_rig : client_rig {
    recovery_rig() : client_rig{from_zero(), recovering()} {}
    void come_back()
    {
        peer.open_connection();
        peer.begin_session();
    }
    /// Answers an attach as a peer that remembers nothing of the link.
    got<attach> attach_forgetful()
    {
        auto theirs = peer.skip_to<attach>();
        attach ours = theirs.value;
        ours.role = theirs->role == role::sender ? role::receiver : role::sender;
        if (ours.role == role::sender)
            ours.initial_delivery_count = sequence_number{0};
        ours.unsettled = {};
        peer.send(ours, theirs.from.header.channel);
        return theirs;
    }
};

TEST(Recovery, ASendThatWaitsGoesOutOnTheNextConnection)
{
    recovery_rig rig;
    auto const sender = rig.sender();
    auto const changes = rig.connection.state_changes();
    auto sending =
        in_background([&] { return sender.send(client::encoded_message{data_message("x")}); });
    while (sender.outstanding() == 0) std::this_thread::yield();
    rig.peer.reset();
    EXPECT_EQ(changes.next()->state, connection_state::recovering);
    rig.come_back();
    auto const theirs = rig.peer.attach_link();
    EXPECT_EQ(theirs->name, sender.name());
    EXPECT_FALSE(theirs->unsettled.empty());  // an empty map: the link is resumed, not begun anew
    rig.peer.grant(1, 0);
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(same_bytes(t.payload, data_message("x")));
    rig.peer.settle(0, 0);
    auto const out = get(sending);
    ASSERT_TRUE(out.value) << out.what;
    EXPECT_TRUE(out.value->accepted());
    EXPECT_FALSE(out.value->possible_duplicate());
    EXPECT_EQ(changes.next()->state, connection_state::open);
    EXPECT_EQ(rig.connection.reconnects(), 1u);
    EXPECT_EQ(rig.connection.error(), nullptr);
}

TEST(Recovery, ASendWithoutAnOutcomeIsSentAgainFirstAndSaysSo)
{
    recovery_rig rig;
    auto const sender = rig.sender(10);
    auto first =
        in_background([&] { return sender.send(client::encoded_message{data_message("1")}); });
    rig.peer.skip_to<transfer>();
    auto second =
        in_background([&] { return sender.send(client::encoded_message{data_message("2")}); });
    rig.peer.skip_to<transfer>();
    rig.peer.reset();
    auto const changes = rig.connection.state_changes();
    rig.come_back();
    rig.attach_forgetful();
    auto third =
        in_background([&] { return sender.send(client::encoded_message{data_message("3")}); });
    rig.peer.grant(10, 0);
    for (auto const* text : {"1", "2", "3"})
        EXPECT_TRUE(same_bytes(rig.peer.skip_to<transfer>().payload, data_message(text))) << text;
    rig.peer.settle(0, 2);
    EXPECT_TRUE(get(first).value->possible_duplicate());
    EXPECT_TRUE(get(second).value->possible_duplicate());
    EXPECT_FALSE(get(third).value->possible_duplicate());
}

TEST(Recovery, AnOutcomeInThePeersUnsettledMapIsTheSendsOutcome)
{
    recovery_rig rig;
    client::sender_options options;
    options.rcv_settle_mode = receiver_settle_mode::second;
    auto const sender = rig.sender(10, options);
    auto first =
        in_background([&] { return sender.send(client::encoded_message{data_message("1")}); });
    auto const sent = rig.peer.skip_to<transfer>();
    bytes const tag(sent->delivery_tag->begin(), sent->delivery_tag->end());
    auto second =
        in_background([&] { return sender.send(client::encoded_message{data_message("2")}); });
    rig.peer.skip_to<transfer>();
    rig.peer.reset();
    rig.come_back();
    auto theirs = rig.peer.skip_to<attach>();
    bytes map;
    {
        map_writer out{map};
        out.add(bytes_view{tag}, raw_value{encoded_accepted});
        out.finish();
    }
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.unsettled = {map};
    rig.peer.send(ours, theirs.from.header.channel);
    auto const out = get(first);
    EXPECT_TRUE(out.value->accepted());
    EXPECT_FALSE(out.value->possible_duplicate());
    rig.peer.grant(10, 0);
    auto const told = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(told->resume);
    EXPECT_TRUE(told->settled.value_or(false));
    EXPECT_TRUE(told.payload.empty());
    auto const again = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(same_bytes(again.payload, data_message("2")));
    rig.peer.send(disposition{
        .role = role::receiver, .first = delivery_number{1}, .state = {encoded_accepted}});
    EXPECT_FALSE(get(second).value->possible_duplicate());  // in mode second: it never had it
}

TEST(Recovery, AReceiverComesBackWithItsWindowAndWhoWaitsReceives)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(10));
    auto waiting = in_background([&] { return receiver.receive(); });
    rig.peer.skip_to<flow>();
    rig.peer.reset();
    rig.come_back();
    auto const theirs = rig.peer.attach_link();
    EXPECT_EQ(theirs->name, receiver.name());
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 10u);
    rig.peer.deliver(0, data_message("x"));
    EXPECT_EQ(get(waiting).value->message().body_text(), "x");
}

TEST(Recovery, CreditByHandComesBackAsItWasLeft)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.add_credit(10);
    rig.peer.skip_to<flow>();
    for (std::uint32_t i = 0; i < 7; ++i) rig.peer.deliver(i, data_message("x"));
    for (int i = 0; i < 7; ++i)
        get(in_background([&] { return receiver.receive(); })).value->accept();
    rig.peer.reset();
    rig.come_back();
    rig.peer.attach_link();
    auto const f = rig.peer.skip_to<flow>();
    EXPECT_EQ(f->link_credit, 3u);
    EXPECT_EQ(f->delivery_count, sequence_number{0});  // of the new attach
}

TEST(Recovery, ADeliveryThatThePeerDoesNotRememberBecomesStale)
{
    recovery_rig rig;
    auto const receiver = rig.receiver();
    rig.peer.deliver(0, data_message("x"));
    auto const held = get(in_background([&] { return receiver.receive(); })).value.value();
    rig.peer.reset();
    rig.come_back();
    rig.attach_forgetful();
    rig.peer.skip_to<flow>();
    EXPECT_EQ(get(in_background([&] { held.settle(); })).code, error::stale_delivery);
    EXPECT_EQ(get(in_background([&] { held.accept(); })).code, error::stale_delivery);
}

TEST(Recovery, ALinkThatIsForcedOffAttachesAgainWhileTheConnectionStays)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(10));
    rig.peer.skip_to<flow>();
    rig.peer.send(
        detach{.handle = handle{0},
               .error = error_view{.condition = "amqp:link:detach-forced", .description = "idle"}});
    rig.peer.skip_to<detach>();
    rig.peer.attach_link();
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 10u);
    rig.peer.deliver(0, data_message("x"));
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(); })).value);
    EXPECT_EQ(rig.connection.reconnects(), 0u);
}

TEST(Recovery, ALinkThatIsStolenEndsWithTheCause)
{
    recovery_rig rig;
    auto const sender = rig.sender();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.send(detach{
        .handle = handle{0}, .closed = true, .error = error_view{.condition = "amqp:link:stolen"}});
    auto const out = get(waiting);
    EXPECT_EQ(out.code, error::link_detached_by_peer);
    EXPECT_NE(out.what.find("amqp:link:stolen"), std::string::npos) << out.what;
}

TEST(Recovery, ALinkThatIsNotFoundWhenItComesBackEndsAloneWithTheCause)
{
    recovery_rig rig;
    auto const sender = rig.sender();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.reset();
    rig.come_back();
    auto theirs = rig.peer.skip_to<attach>();
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.target = {};
    rig.peer.send(ours);
    rig.peer.send(detach{
        .handle = handle{0}, .closed = true, .error = error_view{.condition = "amqp:not-found"}});
    auto const out = get(waiting);
    EXPECT_TRUE(out.code);
    EXPECT_NE(out.what.find("amqp:not-found"), std::string::npos) << out.what;
    EXPECT_EQ(rig.connection.error(), nullptr);
}

TEST(Recovery, APeerThatForbidsTheConnectionEndsIt)
{
    recovery_rig rig;
    auto const ended = rig.connection.closed();
    rig.peer.send(close{.error = error_view{.condition = "amqp:unauthorized-access"}});
    auto const why = ended.next().value();
    EXPECT_EQ(why->error.condition, "amqp:unauthorized-access");
    EXPECT_FALSE(ended.next());  // closed, and says so
    EXPECT_TRUE(ended.closed());
}

TEST(Recovery, CallsMadeWhileTheConnectionIsAwayAreMadeWhenItIsBack)
{
    recovery_rig rig;
    auto const changes = rig.connection.state_changes();
    rig.peer.reset();
    EXPECT_EQ(changes.next()->state, connection_state::recovering);
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    rig.come_back();
    rig.peer.attach_link();
    EXPECT_TRUE(get(opening).value);
}

TEST(Recovery, ClosingWhileTheConnectionIsAwayWakesEverybody)
{
    recovery_rig rig;
    auto const sender = rig.sender();
    auto const receiver = rig.receiver();
    auto sending = in_background([&] { sender.send("x"); });
    auto receiving = in_background([&] { receiver.receive(); });
    auto const changes = rig.connection.state_changes();
    rig.peer.reset();
    EXPECT_EQ(changes.next()->state, connection_state::recovering);
    EXPECT_TRUE(get(in_background([&] { rig.connection.close(); })).value);
    EXPECT_EQ(get(sending).code, error::closed_locally);
    EXPECT_EQ(get(receiving).code, error::closed_locally);
    EXPECT_EQ(changes.next()->state, connection_state::closed);
}

TEST(Recovery, IsGivenUpAfterAsManyAttemptsAsWereAskedFor)
{
    auto options = recovering();
    options.reconnect->max_attempts = 3;
    auto peer = std::make_unique<scripted_peer>();
    client::container container;
    auto call = in_background([&] { return container.connect(peer->url(), options); });
    peer->open_connection();
    auto const connection = get(call).value.value();
    auto const ended = connection.closed();
    peer.reset();  // nothing listens there any more
    auto const why = ended.next(milliseconds{10'000}).value();
    EXPECT_NE(why->text.find("given up after 3 attempts"), std::string::npos) << why->text;
}

TEST(Notifications, AskedForAfterTheEndAreClosedWithTheReason)
{
    client_rig rig;
    auto const early = rig.connection.closed();
    rig.peer.reset();
    EXPECT_EQ(early.next(milliseconds{10'000}).value()->code,
              make_error_code(error::connection_lost));
    auto const late = rig.connection.state_changes();
    EXPECT_TRUE(late.closed());
    EXPECT_EQ(late.reason()->code, make_error_code(error::connection_lost));
    EXPECT_FALSE(late.next());
}

TEST(Notifications, NobodyReadsThemAndNothingWaits)
{
    client_rig rig;
    auto const sender = rig.sender(1000);
    auto const outcomes = sender.outcomes();
    auto const ended = rig.connection.closed();
    std::atomic<int> left{1000};
    std::promise<void> all;
    for (int i = 0; i < 1000; ++i)
        sender.async_send(client::encoded_message{data_message("x")},
                          [&](error_code, client::outcome) {
                              if (--left == 0)
                                  all.set_value();
                          });
    for (int i = 0; i < 1000; ++i) rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 999);
    get(all.get_future());
    EXPECT_EQ(outcomes.dropped(), 1000u - outcomes.capacity());
    rig.peer.reset();
    EXPECT_TRUE(ended.next(milliseconds{10'000}));
}

}  // namespace
}  // namespace sluice::test
