// What comes back by itself after a lost connection, and what does not: played by a peer.
#include "support/recovery_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::connection_state;

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

/// The peer's answer to an attach: of one delivery it knows this state.
void attach_knowing(scripted_peer& peer, got<attach> const& theirs, bytes const& tag,
                    bytes_view state)
{
    bytes map;
    {
        map_writer out{map};
        out.add(bytes_view{tag}, raw_value{state});
        out.finish();
    }
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.unsettled = {map};
    peer.send(ours, theirs.from.header.channel);
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
    attach_knowing(rig.peer, theirs, tag, encoded_accepted);
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

TEST(Recovery, AnOutcomeTooLongToBeSentBackIsSettledWithoutIt)
{
    recovery_rig rig;
    auto const sender = rig.sender(10);
    auto sending =
        in_background([&] { return sender.send(client::encoded_message{data_message("1")}); });
    auto const sent = rig.peer.skip_to<transfer>();
    bytes const tag(sent->delivery_tag->begin(), sent->delivery_tag->end());
    rig.peer.reset();
    rig.come_back();
    auto theirs = rig.peer.skip_to<attach>();
    amqp_error const why{.condition = "amqp:not-allowed", .description = std::string(4'000, 'x')};
    auto const outcome = encoded(delivery_state{rejected{.error = why.view()}});
    attach_knowing(rig.peer, theirs, tag, outcome);
    EXPECT_TRUE(get(sending).value->rejected());
    rig.peer.grant(10, 0);
    auto const told = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(told->resume);
    EXPECT_TRUE(told->settled.value_or(false));
    EXPECT_TRUE(same_bytes(*told->delivery_tag, tag));
    EXPECT_TRUE(is_null(told->state));
    rig.peer.shut();
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

// The drain is over for whoever took it back: what was granted after it is nothing to drain.
TEST(Recovery, CreditAfterADrainThatWasTakenBackComesBackAndIsNotDrained)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(0));
    receiver.add_credit(5);
    rig.peer.skip_to<flow>();
    auto drained = in_background([&] { receiver.drain(); });
    EXPECT_TRUE(rig.peer.skip_to<flow>()->drain);
    receiver.set_credit(0);
    EXPECT_EQ(get(drained).code, error::operation_aborted);  // at once
    receiver.set_credit(7);
    while (rig.peer.skip_to<flow>()->link_credit != 7u) {}
    rig.peer.reset();
    rig.come_back();
    rig.peer.attach_link();
    auto const f = rig.peer.skip_to<flow>();
    EXPECT_EQ(f->link_credit, 7u);
    EXPECT_FALSE(f->drain);
    rig.peer.shut();
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

// A peer that is busy with the lost connection answers on the next one, or the one after that.
TEST(Recovery, ALinkThatIsNotAnsweredIsTriedOnAnotherConnection)
{
    recovery_rig rig;
    auto const sender = rig.sender(0, answered_soon());
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.reset();
    rig.leave_the_attach_unanswered();
    rig.leave_the_attach_unanswered();
    rig.come_back();
    rig.attach_forgetful();
    rig.peer.grant(1, 0);
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_EQ(get(waiting).code, error_code{});
    EXPECT_EQ(rig.connection.reconnects(), 3u);
}

TEST(Recovery, ALinkThatIsNeverAnsweredEndsAlone)
{
    recovery_rig rig;
    auto const sender = rig.sender(0, answered_soon());
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.reset();
    rig.leave_the_attach_unanswered();
    rig.leave_the_attach_unanswered();
    rig.come_back();
    rig.peer.skip_to<attach>();
    auto const out = get(waiting);
    EXPECT_EQ(out.code, error::timed_out);
    EXPECT_NE(out.what.find("attached again"), std::string::npos) << out.what;
    EXPECT_EQ(rig.connection.reconnects(), 3u);
    EXPECT_EQ(rig.connection.error(), nullptr);
}

TEST(Recovery, ASessionThatIsNotAnsweredIsTriedOnAnotherConnectionAndThenEndsAlone)
{
    auto options = from_zero();
    options.timeout = milliseconds{100};
    client_rig rig{options, recovering()};
    auto const sender = rig.sender();
    auto waiting = in_background([&] { return sender.send("x"); });
    rig.peer.reset();
    for (int unanswered = 0; unanswered < 3; ++unanswered) {
        rig.peer.open_connection();
        rig.peer.skip_to<begin>();
        if (unanswered == 2)
            break;
        rig.peer.read_to_end();
        rig.peer.shut();
    }
    EXPECT_EQ(get(waiting).code, error::timed_out);
    EXPECT_EQ(rig.connection.error(), nullptr);
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

// "closed=false": the link may come back, and so do its sends, while the connection stays.
TEST(Recovery, ALinkThatIsDetachedButNotClosedComesBackWithItsSends)
{
    recovery_rig rig;
    auto const sender = rig.sender(1);
    auto const other = rig.sender(5);
    auto const detached = sender.detached();
    auto unsettled =
        in_background([&] { return sender.send(client::encoded_message{data_message("1")}); });
    rig.peer.skip_to<transfer>();
    auto waiting =
        in_background([&] { return sender.send(client::encoded_message{data_message("2")}); });
    while (sender.outstanding() < 2) std::this_thread::yield();
    rig.peer.send(
        detach{.handle = handle{0}, .error = error_view{.condition = "amqp:internal-error"}});
    rig.peer.skip_to<detach>();
    auto const fact = detached.next(milliseconds{10'000}).value();
    EXPECT_TRUE(fact.comes_back);
    EXPECT_EQ(fact.why->error.condition, "amqp:internal-error");
    auto const back = rig.attach_forgetful();
    rig.peer.grant(10, 1, 2048, 0, back->handle);
    EXPECT_TRUE(same_bytes(rig.peer.skip_to<transfer>().payload, data_message("1")));
    EXPECT_TRUE(same_bytes(rig.peer.skip_to<transfer>().payload, data_message("2")));
    rig.peer.settle(1, 2);
    EXPECT_TRUE(get(unsettled).value->possible_duplicate());
    EXPECT_FALSE(get(waiting).value->possible_duplicate());
    auto beside = in_background([&] { return other.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.settle(3, 3);
    EXPECT_TRUE(get(beside).value->accepted());
    EXPECT_EQ(rig.connection.reconnects(), 0u);
    EXPECT_EQ(sender.error(), nullptr);
}

TEST(Recovery, AStreamedMessageThatLosesItsLinkAloneInTheMiddleSaysSo)
{
    recovery_rig rig;
    auto const sender = rig.sender(1);
    auto stream = sender.stream();
    get(in_background([&] { stream.write_data(octets("ab")); }));
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->more);
    rig.peer.send(
        detach{.handle = handle{0}, .error = error_view{.condition = "amqp:internal-error"}});
    rig.peer.skip_to<detach>();
    auto const ended = get(in_background([&] { return stream.finish(); }));
    EXPECT_EQ(ended.code, error::link_detached_by_peer);
    EXPECT_NE(ended.what.find("the link was lost in the middle of a streamed message"),
              std::string::npos)
        << ended.what;
    EXPECT_EQ(rig.connection.reconnects(), 0u);
    rig.peer.shut();
}

// What fitted the frames of the peer before may be too long for those of the next one.
TEST(Recovery, WhatFitsNoFrameOfTheNextPeerEndsAndSaysWhatToDo)
{
    recovery_rig rig;
    client::sender_options options;
    options.desired_capabilities = {std::string(1'000, 'c')};
    auto const sender = rig.sender(0, options);
    client::session_options large;
    large.desired_capabilities = {std::string(1'000, 'c')};
    auto beginning = in_background([&] { return rig.connection.begin(large); });
    rig.peer.begin_session();
    auto const session = get(beginning).value.value();
    auto sending = in_background([&] { sender.send("x"); });
    while (sender.outstanding() == 0) std::this_thread::yield();
    rig.peer.reset();
    rig.peer.open_connection({.container_id = "peer", .max_frame_size = 512});
    auto const sent = get(sending);
    EXPECT_EQ(sent.code, error::too_large);
    EXPECT_NE(sent.what.find("up to 512 octets"), std::string::npos) << sent.what;
    auto opening = get(in_background([&] { return session.open_sender("q"); }));
    EXPECT_EQ(opening.code, error::too_large);
    EXPECT_NE(opening.what.find("up to 512 octets"), std::string::npos) << opening.what;
    rig.peer.shut();
}

/// A send in a transaction.
client::send_options posting()
{
    static bytes const id(1);
    client::send_options o;
    o.state = encoded(transactional_state{.txn_id = id});
    return o;
}

// The transaction lives on, and with it what the peer may have of it already.
TEST(Recovery, ASendInATransactionThatLosesItsLinkAloneIsNotSaidToBeRolledBack)
{
    recovery_rig rig;
    auto const sender = rig.sender(1);
    auto sent = in_background(
        [&] { return sender.send(client::encoded_message{data_message("1")}, posting()); });
    rig.peer.skip_to<transfer>();
    auto waiting = in_background(
        [&] { return sender.send(client::encoded_message{data_message("2")}, posting()); });
    while (sender.outstanding() < 2) std::this_thread::yield();
    rig.peer.send(
        detach{.handle = handle{0}, .error = error_view{.condition = "amqp:internal-error"}});
    EXPECT_EQ(get(sent).code, error::outcome_unknown);
    rig.peer.skip_to<detach>();
    auto const back = rig.attach_forgetful();
    rig.peer.grant(10, 1, 2048, 0, back->handle);
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(same_bytes(t.payload, data_message("2")));
    EXPECT_FALSE(t->state.empty());
    rig.peer.settle(1, 1);
    EXPECT_TRUE(get(waiting).value);
    EXPECT_EQ(rig.connection.reconnects(), 0u);
}

// Its id means nothing on the next connection, or means somebody else's transaction.
TEST(Recovery, ASendInATransactionThatWaitsForItsLinkDoesNotOutliveTheConnection)
{
    recovery_rig rig;
    auto const sender = rig.sender(1);
    auto const detached = sender.detached();
    rig.peer.send(
        detach{.handle = handle{0}, .error = error_view{.condition = "amqp:internal-error"}});
    ASSERT_TRUE(detached.next(milliseconds{10'000}));
    auto waiting = in_background(
        [&] { return sender.send(client::encoded_message{data_message("1")}, posting()); });
    while (sender.outstanding() == 0) std::this_thread::yield();
    rig.peer.reset();
    EXPECT_EQ(get(waiting).code, error::transaction_rolled_back);
}

TEST(Recovery, WhatCannotBeCuredEndsALinkAtOnceWithTheCause)
{
    for (char const* condition : {"amqp:not-found", "amqp:not-allowed", "amqp:unauthorized-access",
                                  "amqp:link:stolen", "amqp:resource-deleted"}) {
        recovery_rig rig;
        auto const sender = rig.sender();
        auto const detached = sender.detached();
        rig.peer.send(detach{
            .handle = handle{0}, .closed = true, .error = error_view{.condition = condition}});
        auto const fact = detached.next(milliseconds{10'000}).value();
        EXPECT_FALSE(fact.comes_back) << condition;
        EXPECT_EQ(fact.why->error.condition, condition);
        EXPECT_FALSE(detached.next(milliseconds{10'000})) << condition;  // closed
        rig.peer.expect<detach>();
        rig.receiver();  // the very next attach is this one, not the sender's again
    }
}

TEST(Recovery, WhatCannotBeCuredEndsAConnectionAtOnceWithTheCause)
{
    for (char const* condition : {"amqp:not-found", "amqp:not-allowed", "amqp:unauthorized-access",
                                  "amqp:connection:framing-error"}) {
        recovery_rig rig;
        auto const changes = rig.connection.state_changes();
        rig.peer.send(close{.error = error_view{.condition = condition}});
        auto const change = changes.next(milliseconds{10'000}).value();
        EXPECT_EQ(change.state, connection_state::closed) << condition;
        EXPECT_EQ(change.why->error.condition, condition);
        EXPECT_EQ(rig.connection.error()->error.condition, condition);
    }
}

/// Plays the SASL exchange of a broker that asks for PLAIN. @returns what came
std::string take_plain(scripted_peer& peer, sasl_code answer)
{
    peer.accept();
    peer.expect_header(protocol_id::sasl);
    peer.send_header(protocol_id::sasl);
    symbol const offered[]{"PLAIN"};
    peer.send_octets(scripted_peer::encoded(
        sluice::sasl_mechanisms{.sasl_server_mechanisms = std::span<symbol const>{offered}}, 0, {},
        frame_type::sasl));
    auto const init = peer.expect<struct sasl_init>();
    auto const said = text_of(*init->initial_response);
    peer.send_octets(
        scripted_peer::encoded(sluice::sasl_outcome{.code = answer}, 0, {}, frame_type::sasl));
    if (answer != sasl_code::ok)
        return said;
    peer.expect_header(protocol_id::amqp);
    peer.send_header(protocol_id::amqp);
    peer.expect<open>();
    peer.send(open{.container_id = "peer"});
    return said;
}

TEST(Recovery, CredentialsThatWereReplacedAreUsedAtTheNextReconnect)
{
    scripted_peer peer;
    client::container container;
    auto call =
        in_background([&] { return container.connect(peer.url("old:one@", ""), recovering()); });
    EXPECT_EQ(take_plain(peer, sasl_code::ok), std::string("\0old\0one", 8));
    auto const connection = get(call).value.value();
    auto const changes = connection.state_changes();
    connection.set_credentials("new", "two");
    EXPECT_EQ(connection.error(), nullptr);  // those that it has stay in force
    peer.reset();
    EXPECT_EQ(take_plain(peer, sasl_code::ok), std::string("\0new\0two", 8));
    EXPECT_EQ(changes.next()->state, connection_state::recovering);
    EXPECT_EQ(changes.next()->state, connection_state::open);
    // And those that are refused then end it, for trying again would not help.
    connection.set_credentials("wrong", "three");
    peer.reset();
    EXPECT_EQ(take_plain(peer, sasl_code::auth), std::string("\0wrong\0three", 12));
    EXPECT_EQ(changes.next()->state, connection_state::recovering);
    auto const last = changes.next(milliseconds{10'000}).value();
    EXPECT_EQ(last.state, connection_state::closed);
    EXPECT_EQ(last.why->code, make_error_code(error::sasl_auth_failed));
    EXPECT_FALSE(changes.next(milliseconds{10'000}));  // closed
}

/// In mode second, with one send that has no outcome, at a peer whose target has this time-out.
struct unsettled_rig : recovery_rig {
    client::sender sender;
    std::future<ended<client::outcome>> sending;

    explicit unsettled_rig(std::uint32_t timeout)
    {
        client::sender_options o;
        o.rcv_settle_mode = receiver_settle_mode::second;
        auto opening = in_background([=, this] { return session.open_sender("q", o); });
        answer(timeout, {});
        peer.grant(5, 0);
        sender = get(opening).value.value();
        sending = in_background(
            [this] { return sender.send(client::encoded_message{data_message("x")}); });
        peer.skip_to<transfer>();
        peer.reset();
        come_back();
    }
    void answer(std::uint32_t timeout, bytes_view map)
    {
        auto theirs = peer.skip_to<attach>();
        auto ours = theirs.value;
        auto const to = encoded(target{.timeout = timeout});
        ours.role = role::receiver;
        ours.target = {to};
        ours.unsettled = {map};
        peer.send(ours);
    }
    client::outcome sent_again()
    {
        peer.grant(5, 0);
        auto const again = peer.skip_to<transfer>();
        EXPECT_FALSE(again->resume);
        EXPECT_TRUE(same_bytes(again.payload, data_message("x")));
        peer.send(disposition{
            .role = role::receiver, .first = delivery_number{0}, .state = {encoded_accepted}});
        return get(sending).value.value();
    }
    static bytes empty_map()
    {
        bytes out;
        map_writer{out}.finish();
        return out;
    }
};

// Broker-J 10.1 says so although it has accepted the delivery, and forgotten that.
TEST(Recovery, AnEmptyMapOfAPeerThatHasPromisedNothingProvesNothing)
{
    unsettled_rig rig{0};
    rig.answer(0, rig.empty_map());
    EXPECT_TRUE(rig.sent_again().possible_duplicate());
}

TEST(Recovery, AnEmptyMapOfAPeerThatKeepsLinksProvesThatItNeverHadIt)
{
    unsettled_rig rig{120};
    rig.answer(120, rig.empty_map());
    EXPECT_FALSE(rig.sent_again().possible_duplicate());
}

// Broker-J 10.1 does, while it still has the link.
TEST(Recovery, APeerThatRefusesAMapIsAskedOnceMoreWithoutOne)
{
    unsettled_rig rig{120};
    auto const theirs = rig.peer.skip_to<attach>();
    EXPECT_FALSE(is_null(theirs->unsettled));
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.source = {};
    ours.target = {};
    ours.unsettled = {};
    rig.peer.send(ours);
    rig.peer.send(detach{.handle = handle{0},
                         .closed = true,
                         .error = error_view{.condition = "amqp:not-implemented"}});
    rig.peer.skip_to<detach>();
    auto const again = rig.peer.skip_to<attach>();
    EXPECT_TRUE(is_null(again->unsettled));
    ours = again.value;
    ours.role = role::receiver;
    rig.peer.send(ours);
    EXPECT_TRUE(rig.sent_again().possible_duplicate());
    EXPECT_EQ(rig.sender.error(), nullptr);
}

// "The receiver MUST ignore resumed deliveries that are not in its local unsettled map." [2.7.5]
TEST(Recovery, AResumedDeliveryThatIsUnknownHereIsIgnored)
{
    recovery_rig rig;
    auto const receiver = rig.receiver(with_credit(10));
    rig.peer.skip_to<flow>();
    rig.peer.reset();
    rig.come_back();
    rig.peer.attach_link();
    rig.peer.skip_to<flow>();
    std::array<std::byte, 1> const tag{std::byte{7}};
    rig.peer.send(transfer{.handle = handle{0},
                           .delivery_id = delivery_number{0},
                           .delivery_tag = bytes_view{tag},
                           .message_format = 0,
                           .resume = true},
                  0, data_message("unknown"));
    rig.peer.deliver(1, data_message("new"));
    EXPECT_EQ(get(in_background([&] { return receiver.receive(); })).value->message().body_text(),
              "new");
    EXPECT_TRUE(rig.peer.skip_to<disposition>()->settled);
}

}  // namespace
}  // namespace sluice::test
