// What becomes of messages: order, turns, outcomes, time, limits. [3.2, 3.4, 3.5.7]
#include "node/node_core.hpp"
#include "support/node_rig.hpp"

#include <sluice/codec/writer.hpp>

#include <gmock/gmock.h>

#include <future>

namespace sluice::test {
namespace {

/// One sender "s" and a receiver "r" of "q", each on a connection of its own.
struct pair {
    node_rig n;
    std::unique_ptr<raw_client> from;
    std::unique_ptr<raw_client> to;

    explicit pair(node::node_options options = {}, raw_client::change_attach const& how = {})
        : n{std::move(options)}, from{n.client("from")}, to{n.client("to")}
    {
        from->sender("s");
        to->receiver("r", "q", how);
        std::ignore = from->wire();
        std::ignore = to->wire();
    }
    void put(std::initializer_list<char const*> texts)
    {
        for (auto const* const text : texts) from->deliver("s", text);
        std::ignore = from->wire();
    }
    /// What the receiver gets with this much more credit.
    std::string get(std::uint32_t credit)
    {
        to->credit("r", credit);
        return to->wire_without_flows();
    }
};

TEST(NodeQueue, KeepsTheOrder)
{
    pair p;
    p.put({"1", "2", "3"});
    EXPECT_EQ(p.get(2), "transfer(h0 id=0 '1') transfer(h0 id=1 '2')");
    p.put({"4"});
    EXPECT_EQ(p.get(5), "transfer(h0 id=2 '3') transfer(h0 id=3 '4')");
}

TEST(NodeQueue, GivesWhatIsReleasedBackItsPlaceAtTheHead)
{
    pair p;
    p.put({"1", "2", "3", "4"});
    std::ignore = p.get(3);
    p.to->settle(1, 1, accepted{});
    p.to->settle(2, 2, released{});  // the later one first
    p.to->settle(0, 0, released{});
    std::ignore = p.to->wire();
    EXPECT_EQ(p.get(5), "transfer(h0 id=3 '1' not-first count=0) "
                        "transfer(h0 id=4 '3' not-first count=0) transfer(h0 id=5 '4')");
}

// [3.4.3]
TEST(NodeQueue, DropsWhatIsRejected)
{
    pair p;
    p.put({"1", "2"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, rejected{});
    EXPECT_EQ(p.get(5), "transfer(h0 id=1 '2')");
    EXPECT_EQ(p.n.node.read("q")->length, 1u);
    EXPECT_EQ(p.n.node.stats().rejected, 1u);
}

TEST(NodeQueue, GivesWhatIsRejectedToItsDeadLetterQueue)
{
    node::node_options o;
    o.queue.dead_letter = "dead";
    pair p{o};
    p.put({"1"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, rejected{.error = error_view{.condition = "amqp:not-allowed"}});
    std::ignore = p.to->wire();
    EXPECT_EQ(p.n.node.read("dead")->length, 1u);
    auto undertaker = p.n.client("undertaker");
    undertaker->receiver("d", "dead");
    undertaker->credit("d", 1);
    EXPECT_EQ(undertaker->wire_without_flows(),
              "attach(d h0 sender source=dead target=) transfer(h0 id=0 '1')");
}

// [3.4.5] delivery-failed
TEST(NodeQueue, CountsWhatFailed)
{
    pair p;
    p.put({"1"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, modified{.delivery_failed = true, .undeliverable_here = {}});
    EXPECT_EQ(p.get(1), "transfer(h0 id=1 '1' not-first count=1)");
    p.to->settle(1, 1, modified{.delivery_failed = true, .undeliverable_here = {}});
    EXPECT_EQ(p.get(1), "transfer(h0 id=2 '1' not-first count=2)");
    p.to->settle(2, 2, modified{});
    EXPECT_EQ(p.get(1), "transfer(h0 id=3 '1' not-first count=2)");
}

// [3.2.1] What the sender's header said before goes on counting.
TEST(NodeQueue, CountsOnFromTheSendersHeader)
{
    pair p;
    p.from->deliver("s", text_message("1", {.durable = true,
                                            .priority = 7,
                                            .ttl = {},
                                            .first_acquirer = true,
                                            .delivery_count = 4}));
    std::ignore = p.from->wire();
    EXPECT_EQ(p.get(1), "transfer(h0 id=0 '1' durable priority=7 first count=4)");
    p.to->settle(0, 0, modified{.delivery_failed = true, .undeliverable_here = {}});
    EXPECT_EQ(p.get(1), "transfer(h0 id=1 '1' durable priority=7 not-first count=5)");
}

// [3.4.5] undeliverable-here: "...any messages sent ... MUST NOT be redelivered to the modifying
// link endpoint"
TEST(NodeQueue, DoesNotGiveAMessageAgainToALinkThatCannotHaveIt)
{
    pair p;
    p.put({"1", "2"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, modified{.delivery_failed = {}, .undeliverable_here = true});
    EXPECT_EQ(p.get(5), "transfer(h0 id=1 '2')");
    p.to->receiver("r2");
    p.to->credit("r2", 1);
    EXPECT_EQ(p.to->wire_without_flows(),
              "attach(r2 h1 sender source=q target=) transfer(h1 id=2 '1' not-first count=0)");
}

// [3.4.5] message-annotations
TEST(NodeQueue, AddsTheAnnotationsOfWhoModifies)
{
    pair p;
    message m{"1"};
    m.message_annotations[symbol{"x-a"}] = "sender";
    m.message_annotations[symbol{"x-b"}] = "sender";
    p.from->deliver("s", encoded(m));
    std::ignore = p.from->wire();
    std::ignore = p.get(1);
    bytes annotations;
    map_writer map{annotations};
    map.add(symbol{"x-b"}, std::string_view{"receiver"});
    map.add(symbol{"x-c"}, std::string_view{"receiver"});
    map.finish();
    p.to->settle(0, 0,
                 modified{.delivery_failed = {},
                          .undeliverable_here = {},
                          .message_annotations = {annotations}});
    EXPECT_EQ(p.get(1),
              "transfer(h0 id=1 '1' not-first count=0 x-a=sender x-b=receiver x-c=receiver)");
}

// [3.5.3] default-outcome
TEST(NodeQueue, TakesTheDefaultOutcomeWhereASettlementNamesNone)
{
    auto const outcome = encoded(delivery_state{accepted{}});
    pair p{{}, [&](attach&, source& s, target&) { s.default_outcome = {outcome}; }};
    p.put({"1"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, std::monostate{});
    std::ignore = p.to->wire();
    EXPECT_EQ(p.n.node.read("q")->length, 0u);
}

TEST(NodeQueue, TakesAMessageBackThatIsSettledWithoutAnyOutcome)
{
    pair p;
    p.put({"1"});
    std::ignore = p.get(1);
    p.to->settle(0, 0, std::monostate{});
    EXPECT_EQ(p.get(1), "transfer(h0 id=1 '1' not-first count=1)");
}

TEST(NodeQueue, GivesCompetingReceiversTheirTurn)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    for (auto const* const name : {"a", "b", "c"}) {
        c->receiver(name);
        c->credit(name, 10);
    }
    std::ignore = c->wire();
    for (auto const* const text : {"1", "2", "3", "4", "5", "6"}) c->deliver("s", text);
    auto const text = c->wire_without_flows();
    for (auto const* const h : {"h1 ", "h2 ", "h3 "}) {
        auto count = 0;
        for (auto at = text.find(h); at != text.npos; at = text.find(h, at + 1)) ++count;
        EXPECT_EQ(count, 2) << h << text;
    }
}

// A receiver without credit takes no turn and holds nobody up.
TEST(NodeQueue, PassesOverWhoHasNoCredit)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("a");
    c->receiver("b");
    c->credit("a", 1);
    c->credit("b", 10);
    std::ignore = c->wire();
    for (auto const* const text : {"1", "2", "3", "4"}) c->deliver("s", text);
    EXPECT_EQ(c->wire_without_flows(),
              "disposition(receiver 0..3 settled accepted) transfer(h1 id=0 '1') "
              "transfer(h2 id=1 '2') transfer(h2 id=2 '3') transfer(h2 id=3 '4')");
}

// [3.5.7] copy
TEST(NodeQueue, LeavesToOthersWhatABrowserSees)
{
    pair p{{}, [](attach&, source& s, target&) { s.distribution_mode = "copy"; }};
    p.put({"1", "2"});
    EXPECT_EQ(p.get(10), "transfer(h0 id=0 '1') transfer(h0 id=1 '2')");
    p.put({"3"});
    EXPECT_EQ(p.to->wire_without_flows(), "transfer(h0 id=2 '3')");
    p.to->settle(0, 2, accepted{});
    std::ignore = p.to->wire();
    EXPECT_EQ(p.n.node.read("q")->ready, 3u);
}

// ---- what comes back from the dead

TEST(NodeQueue, KeepsWhatALostConnectionHadInOrder)
{
    pair p;
    p.put({"1", "2", "3", "4"});
    std::ignore = p.get(3);
    p.to->settle(1, 1, accepted{});
    std::ignore = p.to->wire();
    p.to->reset();
    auto next = p.n.client("next");
    next->receiver("r");
    next->credit("r", 10);
    EXPECT_EQ(next->until("transfer(h0 id=2"),
              "attach(r h0 sender source=q target=) transfer(h0 id=0 '1' not-first count=1) "
              "transfer(h0 id=1 '3' not-first count=1) transfer(h0 id=2 '4')");
}

TEST(NodeQueue, DropsWhatALostConnectionHadSentHalf)
{
    pair p;
    p.from->deliver("s", octets_of("half"), [](transfer& t) { t.more = true; });
    std::ignore = p.from->wire();
    p.from->reset();
    p.to->credit("r", 10);
    EXPECT_EQ(p.to->wire_without_flows(), "");
    EXPECT_EQ(p.n.node.read("q")->length, 0u);
}

// ---- what is no message [3.2]

TEST(NodeMessage, ThatCannotBeDecodedIsRejected)
{
    pair p;
    for (auto const* const octets : {"00 53 77", "ff", "00 53 77 a1 05 61", "00 53 99 45",
                                     "00 53 77 43 00 53 70 45",        // the header last
                                     "00 53 77 43 00 53 77 43",        // two values
                                     "00 53 75 a0 00 00 53 77 43"}) {  // data and a value
        p.from->deliver("s", octets_of_hex(octets));
        EXPECT_TRUE(p.from->wire_without_flows().ends_with("settled rejected:amqp:decode-error)"))
            << octets;
    }
    EXPECT_EQ(p.n.node.read("q")->length, 0u);
    p.put({"good"});
    EXPECT_EQ(p.get(1), "transfer(h0 id=0 'good')");
}

// [3.2.16] message-format: others are carried as they are.
TEST(NodeMessage, OfAnotherFormatIsCarriedAsItIs)
{
    pair p;
    p.from->deliver("s", octets_of("anything"), [](transfer& t) { t.message_format = 0x1234'00; });
    EXPECT_EQ(p.from->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(p.get(1), "transfer(h0 id=0 'anything')");
    EXPECT_EQ(p.to->last<transfer>().message_format, 0x1234'00u);
}

TEST(NodeMessage, IsGivenOutOctetForOctet)
{
    pair p;
    message m{"body"};
    m.delivery_annotations[symbol{"x-d"}] = 1;
    m.message_annotations[symbol{"x-m"}] = "2";
    m.properties.subject = "subject";
    m.application_properties["k"] = 3.5;
    m.footer[symbol{"x-f"}] = 4;
    auto const octets = encoded(m);
    p.from->deliver("s", octets);
    p.to->credit("r", 1);
    std::ignore = p.from->wire();
    while (true) {
        auto const f = p.to->next_frame().value();
        if (f.descriptor() != 0x14)
            continue;
        transfer t;
        auto in = f.body();
        ASSERT_FALSE(decode(in, t));
        EXPECT_TRUE(same_bytes(in, octets));
        break;
    }
}

// ---- time [3.2.1, 3.2.4]

TEST(NodeMessage, IsNotGivenOutAfterItsTime)
{
    pair p;
    p.from->deliver(
        "s",
        text_message(
            "gone",
            {.durable = {}, .priority = {}, .ttl = 1, .first_acquirer = {}, .delivery_count = {}}));
    message m{"long gone"};
    m.properties.absolute_expiry_time = timestamp{1'000};
    p.from->deliver("s", encoded(m));
    m.body = value{"much later"};
    m.properties.absolute_expiry_time = timestamp{9'000'000'000'000};
    p.from->deliver("s", encoded(m));
    EXPECT_EQ(p.from->wire_without_flows(), "disposition(receiver 0..2 settled accepted)");
    while (p.n.node.read("q")->length > 1) {}  // for a millisecond, and the node's next look
    EXPECT_EQ(p.get(5), "transfer(h0 id=0 'much later')");
    EXPECT_EQ(p.n.node.stats().expired, 2u);
}

TEST(NodeMessage, SaysWhatIsLeftOfItsTime)
{
    pair p;
    p.from->deliver("s", text_message("x", {.durable = {},
                                            .priority = {},
                                            .ttl = 100'000,
                                            .first_acquirer = {},
                                            .delivery_count = {}}));
    std::ignore = p.from->wire();
    EXPECT_EQ(p.get(1), "transfer(h0 id=0 'x' ttl)");
}

// ---- limits

TEST(NodeLimits, RejectWhatIsTooMany)
{
    node::node_options o;
    o.queue.length_max = 2;
    pair p{o};
    for (auto const* const text : {"1", "2", "3"}) p.from->deliver("s", text);
    EXPECT_EQ(p.from->wire_without_flows(),
              "disposition(receiver 0..1 settled accepted) "
              "disposition(receiver 2 settled rejected:amqp:resource-limit-exceeded)");
    std::ignore = p.get(1);
    p.to->settle(0, 0, accepted{});
    std::ignore = p.to->wire();
    p.from->deliver("s", "4");
    EXPECT_EQ(p.from->wire_without_flows(), "disposition(receiver 3 settled accepted)");
}

TEST(NodeLimits, RejectWhatIsTooMuch)
{
    node::node_options o;
    o.queue.bytes_max = 100;
    pair p{o};
    p.from->deliver("s", text_message(std::string(70, 'x')));
    p.from->deliver("s", text_message(std::string(70, 'y')));
    p.from->deliver("s", "small");
    EXPECT_EQ(p.from->wire_without_flows(),
              "disposition(receiver 0 settled accepted) "
              "disposition(receiver 1 settled rejected:amqp:resource-limit-exceeded) "
              "disposition(receiver 2 settled accepted)");
}

TEST(NodeLimits, RejectWhatIsTooMuchInAll)
{
    node::node_options o;
    o.stored_max = 256 + 100;
    pair p{o};
    p.from->deliver("s", text_message(std::string(70, 'x')));
    p.from->sender("other", "other");
    std::ignore = p.from->wire();
    p.from->deliver("other", text_message(std::string(70, 'y')));
    auto const text = p.from->wire_without_flows();
    EXPECT_NE(text.find("rejected:amqp:resource-limit-exceeded"), text.npos) << text;
}

// An empty message takes memory, too.
TEST(NodeLimits, CountMessagesThatAreNearlyEmptyForMore)
{
    node::node_options o;
    o.stored_max = 1'000;
    pair p{o};
    for (int i = 0; i < 5; ++i) p.from->deliver("s", "");
    EXPECT_THAT(p.from->wire_without_flows(),
                testing::EndsWith("receiver 4 settled rejected:amqp:resource-limit-exceeded)"));
    EXPECT_EQ(p.n.node.read("q")->length, 4u);
}

// Nothing can be said of a settled delivery, nor to a sender that does not know `rejected`.
TEST(NodeLimits, DetachWhoCannotBeToldOtherwise)
{
    node::node_options o;
    o.queue.length_max = 1;
    for (auto const settled : {true, false}) {
        node_rig n{o};
        auto c = n.client();
        std::array<symbol, 1> const outcomes{symbol{"amqp:accepted:list"}};
        c->sender("s", "q", [&](attach&, source& s, target&) {
            s.outcomes = symbols{std::span<symbol const>{outcomes}};
        });
        std::ignore = c->wire();
        c->deliver("s", "1");
        EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
        c->deliver("s", "2", [&](transfer& t) { t.settled = settled; });
        auto const text = c->wire_without_flows();
        EXPECT_TRUE(text.ends_with("detach(h0 closed amqp:resource-limit-exceeded)")) << text;
        EXPECT_EQ(n.node.read("q")->length, 1u);
    }
}

TEST(NodeLimits, WithholdCreditWhereThatIsAskedFor)
{
    node::node_options o;
    o.queue.length_max = 3;
    o.queue.full = node::when_full::withhold;
    node_rig n{o};
    auto from = n.client("from");
    from->sender("s");
    EXPECT_EQ(from->wire(), "attach(s h0 receiver source= target=q) "
                            "flow(nii=0 iw=1024 noi=0 h0 dc=0 lc=3)");
    for (auto const* const text : {"1", "2", "3"}) from->deliver("s", text);
    EXPECT_EQ(from->wire(), "disposition(receiver 0..2 settled accepted)");
    auto to = n.client("to");
    to->receiver("r");
    to->credit("r", 2);
    std::ignore = to->wire();
    to->settle(0, 1, accepted{});
    std::ignore = to->wire();
    EXPECT_NE(from->wire().find("h0 dc=3 lc=2"), std::string::npos);
}

// All in one piece: the credit that came last is no credit for what was asked for before it.
TEST(NodeQueue, WhatComesBackGoesBeforeWhatTheCreditBehindItPaysFor)
{
    for (auto const drain : {false, true}) {
        pair p;
        p.put({"1", "2", "3", "4"});
        EXPECT_EQ(p.get(2), "transfer(h0 id=0 '1') transfer(h0 id=1 '2')");
        p.to->credit("r", drain ? 0 : 1, drain);
        p.to->settle(0, 0, modified{.delivery_failed = true});
        p.to->settle(1, 1, released{});
        EXPECT_EQ(p.get(10), "transfer(h0 id=2 '1' not-first count=1) "
                             "transfer(h0 id=3 '2' not-first count=0) "
                             "transfer(h0 id=4 '3') transfer(h0 id=5 '4')");
    }
}

TEST(NodeLimits, ShareTheRoomBetweenSendersWhereCreditIsWithheld)
{
    node::node_options o;
    o.queue.length_max = 10;
    o.queue.full = node::when_full::withhold;
    node_rig n{o};
    auto c = n.client();
    c->sender("a");
    EXPECT_NE(c->wire().find("lc=10"), std::string::npos);
    c->sender("b");
    EXPECT_EQ(c->wire(), "attach(b h1 receiver source= target=q)");  // all of it is promised
    c->detach_link("a");
    EXPECT_EQ(c->wire(), "detach(h0 closed) flow(nii=0 iw=1024 noi=0 h1 dc=0 lc=10)");
}

TEST(NodeLimits, BoundWhatOneReceiverHasUnanswered)
{
    node::node_options o;
    o.unsettled_max = 2;
    pair p{o};
    p.put({"1", "2", "3"});
    EXPECT_EQ(p.get(10), "transfer(h0 id=0 '1') transfer(h0 id=1 '2')");
    p.to->settle(0, 0, accepted{});
    EXPECT_EQ(p.to->wire_without_flows(), "transfer(h0 id=2 '3')");
}

TEST(NodeLimits, BoundWhatOneConnectionHasUnanswered)
{
    node::node_options o;
    o.connection_unsettled_max = 4;
    pair p{o};
    p.to->receiver("r2", "q2");
    p.to->credit("r2", 10);
    p.from->sender("s2", "q2");
    std::ignore = p.to->wire();
    std::ignore = p.from->wire();
    p.put({"1", "2", "3", "4"});
    EXPECT_EQ(p.get(10), "transfer(h0 id=0 '1') transfer(h0 id=1 '2') transfer(h0 id=2 '3') "
                         "transfer(h0 id=3 '4')");
    p.from->deliver("s2", "5");
    std::ignore = p.from->wire();
    EXPECT_EQ(p.to->wire_without_flows(), "");
    p.to->settle(0, 0, accepted{});
    EXPECT_EQ(p.to->next(), "transfer(h1 id=4 '5')");  // at once, though nothing else comes in
}

// ---- the program's own calls

TEST(NodeCalls, DeclareReadPurgeAndRemove)
{
    node_rig n;
    EXPECT_FALSE(n.node.declare("q", {.length_max = 5}));
    EXPECT_FALSE(n.node.declare("q", {.length_max = 5}));
    EXPECT_EQ(n.node.declare("q", {.length_max = 6}), error::precondition_failed);
    EXPECT_EQ(n.node.declare("", {}), error::invalid_argument);
    EXPECT_EQ(n.node.declare("$q", {}), error::invalid_argument);
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->deliver("s", "1");
    c->deliver("s", "2");
    std::ignore = c->wire();
    auto const info = n.node.read("q").value();
    EXPECT_EQ(info.length, 2u);
    EXPECT_EQ(info.ready, 2u);
    EXPECT_EQ(info.producers, 1u);
    EXPECT_EQ(info.consumers, 0u);
    EXPECT_EQ(info.bytes, 2 * text_message("1").size());
    EXPECT_EQ(n.node.purge("q").value(), 2u);
    EXPECT_EQ(n.node.list().size(), 1u);
    EXPECT_FALSE(n.node.remove("q"));
    EXPECT_EQ(n.node.remove("q"), error::not_found);
    EXPECT_EQ(n.node.purge("q").error(), error::not_found);
    EXPECT_FALSE(n.node.read("q"));
    EXPECT_EQ(c->wire_without_flows(), "detach(h0 closed amqp:resource-deleted)");
}

TEST(NodeCalls, AnswerAfterTheStop)
{
    node_rig n;
    n.node.stop();
    n.node.stop();
    EXPECT_EQ(n.node.declare("q"), error::operation_aborted);
    EXPECT_EQ(n.node.listen("127.0.0.1", 0).error(), error::operation_aborted);
    EXPECT_TRUE(n.node.list().empty());
}

TEST(NodeCalls, ListenOnMoreThanOnePort)
{
    node_rig n;
    auto const second = n.node.listen("127.0.0.1", 0).value();
    raw_client c{second};
    c.hello();
    c.bye();
    std::string fault;
    EXPECT_EQ(n.node.listen("127.0.0.1", second, &fault).error(), error::listen_failed);
    EXPECT_NE(fault.find(std::to_string(second)), fault.npos) << fault;
}

// A queue that came by itself goes by itself; one that was declared stays.
TEST(NodeQueue, ThatNobodyDeclaredGoesOnceItIsOfNoUse)
{
    node_rig n;
    ASSERT_FALSE(n.node.declare("declared"));
    auto c = n.client();
    for (auto const* const name : {"declared", "made"}) {
        c->sender(name, name);
        c->detach_link(name);
    }
    std::ignore = c->wire();
    EXPECT_TRUE(n.node.read("declared"));
    EXPECT_FALSE(n.node.read("made"));
}

// ---- stopping

TEST(NodeStop, ClosesEachConnectionAndSaysWhy)
{
    node_rig n;
    auto c = n.client();
    auto stopped = std::async(std::launch::async, [&] { n.node.stop(); });
    EXPECT_EQ(c->until("close"), "close(amqp:connection:forced)");
    c->send(sluice::close{});
    EXPECT_EQ(c->next(), "EOF");
    stopped.get();
}

TEST(NodeStop, WaitsForWhatIsInFlight)
{
    pair p;
    p.put({"1"});
    EXPECT_EQ(p.get(1), "transfer(h0 id=0 '1')");
    auto stopped = std::async(std::launch::async, [&] { p.n.node.stop(); });
    p.to->settle(0, 0, accepted{});
    EXPECT_EQ(p.to->until("close"), "close(amqp:connection:forced)");
    EXPECT_EQ(p.from->until("close"), "close(amqp:connection:forced)");
    p.to->send(sluice::close{});
    p.from->send(sluice::close{});
    stopped.get();
    EXPECT_EQ(p.n.node.stats().accepted, 1u);
}

TEST(NodeStop, DoesNotWaitForEverForWhoDoesNotAnswer)
{
    node::node_options o;
    o.stop_timeout = node::milliseconds{50};
    pair p{o};
    p.put({"1"});
    std::ignore = p.get(1);
    p.n.node.stop();
    EXPECT_EQ(p.to->until("close"), "close(amqp:connection:forced)");
}

// Both are in line when the thread goes on, the stop before the clock: what is due already cannot
// be cancelled any more.
TEST(NodeStop, EndsAlsoWhenTheClockIsDueInTheSameMoment)
{
    node::detail::node_core core{{}};
    std::promise<void> begun;
    auto busy = std::async(std::launch::async, [&] {
        return core.ask(
            [&](node::detail::node_core const& c) {
                auto const due = c.now() + std::chrono::milliseconds{400};  // the clock's 250
                begun.set_value();
                while (c.now() < due) std::this_thread::yield();
                return true;
            },
            false);
    });
    begun.get_future().wait();
    core.stop();
    EXPECT_TRUE(busy.get());
}

}  // namespace
}  // namespace sluice::test
