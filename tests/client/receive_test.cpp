// Receiving: credit, answers, settle modes, handlers.
#include "support/client_rig.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::delivery;
using client::receiver_options;
using std::chrono::milliseconds;

receiver_options by_hand()
{
    receiver_options o;
    o.credit_window = 0;
    return o;
}
receiver_options window(std::uint32_t size)
{
    receiver_options o;
    o.credit_window = size;
    return o;
}

TEST(Receive, GrantsItsWindowAndGivesDeliveriesInOrder)
{
    client_rig rig;
    auto const receiver = rig.receiver(window(10));
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 10u);
    for (std::uint32_t i = 0; i < 3; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    for (std::uint32_t i = 0; i < 3; ++i) {
        auto d = get(in_background([&] { return receiver.receive(); })).value.value();
        EXPECT_EQ(d.id(), delivery_number{i});
        EXPECT_EQ(d.message().body_text(), std::to_string(i));
        EXPECT_EQ(text_of(d.view().data()), std::to_string(i));
        EXPECT_FALSE(d.answered());
        d.accept();
        EXPECT_TRUE(d.answered());
        auto const said = rig.peer.skip_to<disposition>();
        EXPECT_EQ(said->first, delivery_number{i});
        EXPECT_TRUE(said->settled);
        EXPECT_TRUE(same_bytes(said->state.encoded, encoded_accepted));
    }
}

bytes filters(std::initializer_list<char const*> names)
{
    value_map m;
    for (auto const* const name : names)
        m[symbol{name}] = value{described_value{value{symbol_string{name}}, value{"x"}}};
    bytes out;
    append(out, m);
    return out;
}

// [3.5.8] Only those filters are in force that the sending side's attach has.
TEST(Receive, DoesNotOpenWhereThePeerLeavesAFilterOutAndNamesIt)
{
    client_rig rig;
    receiver_options o;
    o.source.filter = filters({"a-filter", "another"});
    auto r = in_background([&] { return rig.session.open_receiver("q", o); });
    auto const theirs = rig.peer.skip_to<attach>();
    auto const applied = filters({"a-filter"});
    bytes their_source;
    append(their_source, source{.filter = {applied}});
    attach ours = theirs.value;
    ours.role = role::sender;
    ours.initial_delivery_count = sequence_number{0};
    ours.source = {their_source};
    rig.peer.send(ours, theirs.from.header.channel);
    auto const out = get(r);
    EXPECT_EQ(out.code, error::precondition_failed);
    EXPECT_NE(out.what.find("receiver from 'q'"), std::string::npos) << out.what;
    EXPECT_NE(out.what.find("does not apply the filter 'another'"), std::string::npos) << out.what;
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
}

TEST(Receive, OpensWhereThePeerAppliesEachFilter)
{
    client_rig rig;
    receiver_options o;
    o.source.filter = filters({"a-filter", "another"});
    auto const receiver = rig.receiver(o);  // the peer's attach repeats what it was asked for
    EXPECT_FALSE(receiver.error());
}

TEST(Receive, AMalformedMessageIsAnErrorOfItsDeliveryAlone)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    // A body that claims four billion elements in five octets.
    rig.peer.deliver(0, octets({"\x00\x53\x77\xf0\x00\x00\x00\x05\xff\xff\xff\xff\x40", 13}));
    rig.peer.deliver(1, data_message("x"));
    auto const bad = get(in_background([&] { return receiver.receive(); })).value.value();
    auto const good = get(in_background([&] { return receiver.receive(); })).value.value();
    auto const read = get(in_background([&] { return bad.message(); }));
    EXPECT_EQ(read.code, error::too_many_elements);
    EXPECT_NE(read.what.find("the message is malformed"), std::string::npos) << read.what;
    EXPECT_EQ(get(in_background([&] { return bad.view().body; })).code, error::too_many_elements);
    EXPECT_EQ(good.message().body_text(), "x");
    bad.reject();
    EXPECT_EQ(rig.peer.skip_to<disposition>()->first, delivery_number{0});
    EXPECT_EQ(receiver.error(), nullptr);
}

TEST(Receive, EachAnswerReachesThePeer)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, data_message("x"));
    auto const next = [&] {
        return get(in_background([&] { return receiver.receive(); })).value.value();
    };
    auto const said = [&] {
        delivery_state s;
        auto const d = rig.peer.skip_to<disposition>();
        EXPECT_FALSE(decode(d->state, s));
        return std::pair{s.index(), d};
    };
    next().release();
    EXPECT_EQ(said().first, delivery_state{released{}}.index());
    next().reject({.condition = "amqp:not-allowed", .description = "why", .info = {}});
    auto const rejection = rig.peer.skip_to<disposition>();
    delivery_state s;
    ASSERT_FALSE(decode(rejection->state, s));
    EXPECT_EQ(std::get<rejected>(s).error->condition.text, "amqp:not-allowed");
    next().modify({.delivery_failed = true, .undeliverable_here = true});
    auto const modification = rig.peer.skip_to<disposition>();
    ASSERT_FALSE(decode(modification->state, s));
    EXPECT_EQ(std::get<modified>(s).undeliverable_here, true);
    {
        auto const dropped = next();  // no answer
    }
    EXPECT_EQ(said().first, delivery_state{released{}}.index());
}

TEST(Receive, ASecondAnswerIsAnError)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    rig.peer.deliver(0, data_message("x"));
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    auto const copy = d;
    d.accept();
    auto const r = get(in_background([&] { copy.release(); }));
    EXPECT_EQ(r.code, error::already_settled);
}

TEST(Receive, AWindowIsRenewedAsDeliveriesAreAnswered)
{
    client_rig rig;
    auto const receiver = rig.receiver(window(2));
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 2u);
    rig.peer.deliver(0, data_message("a"));
    rig.peer.deliver(1, data_message("b"));
    auto const first = get(in_background([&] { return receiver.receive(); })).value.value();
    auto const second = get(in_background([&] { return receiver.receive(); })).value.value();
    first.accept();
    auto const f = rig.peer.skip_to<flow>();
    EXPECT_EQ(f->link_credit, 1u);  // the other one is held
    EXPECT_EQ(f->delivery_count, sequence_number{2});
}

TEST(Receive, CreditByHandIsGrantedExactly)
{
    client_rig rig;
    auto const receiver = rig.receiver(by_hand());
    receiver.add_credit(3);
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 3u);
    rig.peer.deliver(0, data_message("x"));
    get(in_background([&] { return receiver.receive(); })).value->accept();
    receiver.add_credit(2);
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 4u);
    receiver.set_credit(1);
    EXPECT_EQ(rig.peer.skip_to<flow>()->link_credit, 1u);
    receiver.request_flow(true);
    EXPECT_TRUE(rig.peer.skip_to<flow>()->echo);
}

TEST(Receive, CreditNeverOvertakesTheAnswersBeforeIt)
{
    client_rig rig;
    auto const receiver = rig.receiver(by_hand());
    std::uint32_t id = 0;
    for (auto round = 0; round < 400; ++round) {  // a race, if it were one
        receiver.set_credit(40);
        while (rig.peer.skip_to<flow>()->link_credit != 40u) {}
        std::vector<delivery> held;
        for (auto i = 0; i < 40; ++i) rig.peer.deliver(id++, data_message("x"));
        for (auto i = 0; i < 40; ++i) held.push_back(receiver.receive(milliseconds{10'000}));
        for (auto const& d : held) d.release();
        receiver.set_credit(1);
        auto answered = 0u;
        while (true) {
            auto const f = rig.peer.next();
            bytes_view in{f.octets};
            if (f.descriptor() == descriptor_of<disposition>) {
                disposition d;
                ASSERT_FALSE(decode(in, d));
                answered += d.last.value_or(d.first).value() - d.first.value() + 1;
            } else if (f.descriptor() == descriptor_of<flow>) {
                flow said;
                ASSERT_FALSE(decode(in, said));
                if (said.link_credit == 1u)
                    break;
            }
        }
        ASSERT_EQ(answered, 40u) << "in round " << round;
    }
}

TEST(Receive, WhoWaitedForADrainFindsAllThatCameBeforeIt)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    for (std::uint32_t round = 0; round < 200; ++round) {  // a race, if it were one
        auto call = in_background([&] { receiver.drain(); });
        auto asked = rig.peer.skip_to<flow>();
        while (!asked->drain) asked = rig.peer.skip_to<flow>();
        bytes both = scripted_peer::encoded(transfer{.handle = handle{0},
                                                     .delivery_id = delivery_number{round},
                                                     .delivery_tag = bytes_view{octets("t")},
                                                     .message_format = 0,
                                                     .settled = true},
                                            0, data_message("x"));
        auto const answer = scripted_peer::encoded(
            flow{.next_incoming_id = transfer_id{0},
                 .incoming_window = 2048,
                 .next_outgoing_id = transfer_id{round + 1},
                 .outgoing_window = 2048,
                 .handle = handle{0},
                 .delivery_count = *asked->delivery_count + *asked->link_credit,
                 .link_credit = 0u,
                 .drain = true});
        both.insert(both.end(), answer.begin(), answer.end());
        rig.peer.send_octets(both);
        get(call);
        ASSERT_TRUE(receiver.try_receive().valid()) << round;
        receiver.set_credit(10);
        rig.peer.skip_to<flow>();
    }
}

TEST(Receive, DrainCompletesWhenThePeerGivesTheCreditBack)
{
    client_rig rig;
    auto const receiver = rig.receiver(by_hand());
    receiver.add_credit(5);
    rig.peer.skip_to<flow>();
    auto call = in_background([&] { receiver.drain(); });
    EXPECT_TRUE(rig.peer.skip_to<flow>()->drain);
    rig.peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 2048,
                       .next_outgoing_id = transfer_id{0},
                       .outgoing_window = 2048,
                       .handle = handle{0},
                       .delivery_count = sequence_number{5},
                       .link_credit = 0,
                       .drain = true});
    EXPECT_TRUE(get(call).value);
    EXPECT_EQ(receiver.credit(), 0u);
}

TEST(Receive, ADeadlineEndsTheWaitAndLosesNothing)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    auto const r = get(in_background([&] { return receiver.receive(milliseconds{20}); }));
    EXPECT_EQ(r.code, error::timed_out);
    EXPECT_NE(r.what.find("'q': no delivery within 20 ms"), std::string::npos) << r.what;
    rig.peer.deliver(0, data_message("x"));
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(milliseconds{10'000}); })).value);
}

TEST(Receive, TryReceiveNeverWaits)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    EXPECT_FALSE(receiver.try_receive());
}

TEST(Receive, SettledDeliveriesNeedNoAnswerAndFreeTheirCredit)
{
    client_rig rig;
    auto const receiver = rig.receiver(window(2));
    rig.peer.skip_to<flow>();
    rig.peer.deliver(0, data_message("a"), true);
    rig.peer.deliver(1, data_message("b"), true);
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    EXPECT_TRUE(d.settled());
    d.accept();                                                    // harmless
    EXPECT_EQ(rig.peer.next().descriptor(), descriptor_of<flow>);  // and no disposition before it
}

TEST(Receive, InModeSecondSettlingWaitsForTheSender)
{
    client_rig rig;
    receiver_options o;
    o.rcv_settle_mode = receiver_settle_mode::second;
    auto const receiver = rig.receiver(o);
    rig.peer.deliver(0, data_message("x"));
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    auto call = in_background([&] { d.settle(); });
    EXPECT_FALSE(rig.peer.skip_to<disposition>()->settled);
    EXPECT_NE(call.wait_for(milliseconds{0}), std::future_status::ready);
    rig.peer.send(disposition{.role = role::sender,
                              .first = delivery_number{0},
                              .settled = true,
                              .state = {encoded_accepted}});
    EXPECT_TRUE(get(call).value);
}

TEST(Receive, AHandlerGetsDeliveriesOneAfterTheOther)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    std::promise<std::string> all;
    std::string text;
    receiver.on_message([&](delivery d) {
        text += *d.message().body_text();
        d.accept();
        if (text.size() == 3)
            all.set_value(text);
    });
    EXPECT_EQ(get(in_background([&] { return receiver.receive(); })).code, error::invalid_state);
    rig.peer.deliver(0, data_message("a"));
    rig.peer.deliver(1, data_message("b"));
    rig.peer.deliver(2, data_message("c"));
    EXPECT_EQ(get(all.get_future()), "abc");
    receiver.on_message({});
    rig.peer.deliver(3, data_message("d"));
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(); })).value);
}

TEST(Receive, WhatAHandlerThrowsGoesToTheContainer)
{
    scripted_peer peer;
    std::promise<std::string> thrown;
    client::container c{client::container_options{.on_exception = [&](std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (std::exception const& x) {
            thrown.set_value(x.what());
        }
    }}};
    auto connecting = in_background([&] { return c.connect(peer.url()); });
    peer.open_connection();
    auto const connection = get(connecting).value.value();
    auto opening = in_background([&] { return connection.open_receiver("q"); });
    peer.begin_session();
    peer.attach_link();
    auto const receiver = get(opening).value.value();
    std::promise<void> second;
    auto calls = 0;
    receiver.on_message([&](delivery d) {
        if (++calls == 1)
            throw std::runtime_error{"oops"};
        d.accept();
        second.set_value();
    });
    peer.deliver(0, data_message("a"));
    peer.deliver(1, data_message("b"));
    EXPECT_EQ(get(thrown.get_future()), "oops");
    get(second.get_future());
    delivery_state s;
    auto const said = peer.skip_to<disposition>();
    ASSERT_FALSE(decode(said->state, s));
    EXPECT_TRUE(std::holds_alternative<released>(s));  // the one that threw
    peer.shut();
}

// Answers of a handler are gathered, but not longer than a moment.
TEST(Receive, AnAnswerLeavesThoughItsHandlerGoesOn)
{
    client_rig rig;
    auto const receiver = rig.receiver(window(10));
    std::promise<void> seen;
    auto const until = seen.get_future().share();
    std::promise<void> over;
    receiver.on_message([&, count = 0](delivery d) mutable {
        d.accept();
        if (++count == 2)
            until.wait();
        if (count == 3)
            over.set_value();
    });
    for (std::uint32_t i = 0; i < 3; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    auto answered = rig.peer.skip_to<disposition>();
    while (answered->last.value_or(answered->first) != delivery_number{1})
        answered = rig.peer.skip_to<disposition>();
    seen.set_value();
    get(over.get_future());
}

TEST(Receive, WhatIsNotTakenShutsTheWindowOfItsSessionAlone)
{
    client_rig rig{
        {.next_outgoing_id = transfer_id{0}, .incoming_window = 4, .buffered_bytes_max = 1000}};
    receiver_options o;
    o.inbox_max = 1;
    auto const receiver = rig.receiver(o);
    auto second_session = in_background([&] { return rig.connection.begin(); });
    auto const theirs = rig.peer.skip_to<begin>();
    rig.peer.send(begin{.remote_channel = theirs.from.header.channel,
                        .incoming_window = 10,
                        .outgoing_window = 10},
                  theirs.from.header.channel);
    EXPECT_TRUE(get(second_session).value);
    // Nobody receives: one delivery moves to the inbox, one waits in the engine, four shut the
    // window.
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, data_message(std::string(900, 'x')));
    rig.session.request_flow(true);
    auto open_edge = std::uint32_t{0};
    flow last;
    do {
        last = rig.peer.skip_to<flow>().value;
        open_edge = last.next_incoming_id->value() + last.incoming_window;
    } while (!last.echo);
    EXPECT_LE(open_edge, 4u + 2u);
    for (std::uint32_t i = 0; i < 4; ++i)
        get(in_background([&] { return receiver.receive(); })).value->accept();
    // Taken: the window opens again.
    do last = rig.peer.skip_to<flow>().value;
    while (last.next_incoming_id->value() + last.incoming_window <= 6);
}

TEST(Receive, AnAbandonedReceiverGivesBackWhatWasNotTaken)
{
    client_rig rig;
    {
        auto const receiver = rig.receiver();
        rig.peer.deliver(0, data_message("a"));
        rig.peer.deliver(1, data_message("b"));
        get(in_background([&] { return receiver.receive(); })).value->accept();
    }
    auto settled = 0u;
    frame f = rig.peer.next();
    for (; f.descriptor() != descriptor_of<detach>; f = rig.peer.next())
        if (f.descriptor() == descriptor_of<disposition>) {
            disposition d;
            bytes_view in{f.octets};
            ASSERT_FALSE(decode(in, d));
            settled += d.last.value_or(d.first).value() - d.first.value() + 1;
        }
    EXPECT_EQ(settled, 2u);
}

TEST(Receive, ADeliveryHeldKeepsAnAbandonedReceiverAttached)
{
    client_rig rig;
    auto held = [&] {
        auto const receiver = rig.receiver();
        rig.peer.deliver(0, data_message("a"));
        return get(in_background([&] { return receiver.receive(); })).value.value();
    }();
    held.accept();
    rig.peer.skip_to<disposition>();
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
}

}  // namespace
}  // namespace sluice::test
