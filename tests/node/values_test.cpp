// Values that are well encoded and may not be where they are, and frames that come too early or
// twice. [1.6, 2.6, 2.7, 3, 4]
#include "support/node_rig.hpp"

#include <sluice/codec/transactions.hpp>
#include <sluice/codec/writer.hpp>

#include <gmock/gmock.h>

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// What the node says to an attach; the session goes on.
std::string answer_to(role r, raw_client::change_attach const& change)
{
    node_rig n;
    auto c = n.client();
    c->attach_link(r, "l", "q", change);
    auto text = c->wire_without_flows();
    c->sender("alive", "other");
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("attach(alive "));
    n.expect_serves_others();
    return text;
}

source source_of(raw_client const& c)
{
    source s;
    auto in = c.last<attach>().source.encoded;
    EXPECT_FALSE(decode(in, s));
    return s;
}

constexpr auto refused_source = "attach(l h0 sender source=null target=) detach(h0 closed ";

/// A map with one key.
template <class Key>
bytes map_of(Key key, std::string_view content)
{
    bytes out;
    map_writer map{out};
    map.add(key, content);
    map.finish();
    return out;
}

// ---- performatives

// [2.3.2] Only a transfer has a payload.
TEST(NodePerformative, WithOctetsAfterItIsADecodeError)
{
    auto const more = octets_of("more");
    auto const said = [&](auto const& performative, bool opened = true) {
        node_rig n;
        raw_client c{n.port};
        if (opened)
            c.hello();
        else
            c.send_header();
        c.send(performative, more);
        auto const text = opened ? c.wire() : c.until("close");
        n.expect_serves_others();
        return text;
    };
    constexpr auto closed = "close(amqp:decode-error)";
    EXPECT_THAT(said(raw_client::usual_open(), false), HasSubstr(closed));
    EXPECT_EQ(said(flow{.next_incoming_id = transfer_id{0}}), closed);
    EXPECT_EQ(said(disposition{.role = role::receiver, .last = {}}), closed);
    EXPECT_EQ(said(detach{.error = std::nullopt}), closed);
    EXPECT_EQ(said(sluice::end{}), closed);
    EXPECT_EQ(said(sluice::close{}), closed);
}

// [2.8.13] "a map where the keys are restricted to be of type symbol"
TEST(NodePerformative, WhosePropertiesHaveAKeyThatIsNoSymbolIsADecodeError)
{
    auto const bad = map_of(std::string_view{"key"}, "x");
    auto const good = map_of(symbol{"key"}, "x");
    for (auto const* const properties : {&bad, &good}) {
        auto const closes = properties == &bad;
        node_rig n;
        raw_client opening{n.port};
        auto o = raw_client::usual_open();
        o.properties = {*properties};
        opening.send_header();
        opening.send(o);
        opening.send(raw_client::usual_begin());
        EXPECT_EQ(opening.until(closes ? "close" : "begin").find("close") != std::string::npos,
                  closes);
        auto c = n.client();
        c->receiver("r", "q", [&](attach& a, source&, target&) { a.properties = {*properties}; });
        EXPECT_EQ(c->wire().starts_with("close(amqp:decode-error)"), closes);
        auto begins = n.client("begins");
        auto b = raw_client::usual_begin();
        b.properties = {*properties};
        begins->send(b, {}, 3);
        EXPECT_EQ(begins->wire().starts_with("close(amqp:decode-error)"), closes);
    }
}

// ---- links

// [2.6] The same name again, before anything of the first link was answered.
TEST(NodeAttach, AfterADetachOfTheSameNameIsAnsweredToo)
{
    for (auto const r : {role::sender, role::receiver})
        for (auto const closed : {true, false})
            for (auto const handle_used : {true, false}) {
                node_rig n;
                auto c = n.client();
                c->attach_link(r, "l", "q");
                c->detach_link("l", closed);
                c->attach_link(r, "l", "q", [&](attach& a, source&, target&) {
                    a.handle = handle{handle_used ? 0u : 1u};
                });
                auto const text = c->wire_without_flows();
                EXPECT_THAT(text, HasSubstr(closed ? "detach(h0 closed)" : "detach(h0)"));
                auto const* const second =
                    r == role::sender ? "receiver source= target=q)" : "sender source=q target=)";
                EXPECT_THAT(text, HasSubstr(second));
            }
}

// [2.6.7] Nobody has credit on a link that is not answered yet.
TEST(NodeTransfer, BeforeItsLinkIsAnsweredIsBeyondTheCredit)
{
    for (auto const settled : {true, false}) {
        node_rig n;
        auto c = n.client();
        c->sender("s");
        c->deliver("s", "x", [&](transfer& t) { t.settled = settled; });
        auto const text = c->wire_without_flows();
        EXPECT_THAT(text, testing::StartsWith("attach(s h0 receiver source= target=q)"));
        EXPECT_THAT(text, HasSubstr("detach(h0 closed amqp:link:transfer-limit-exceeded)"));
        c->detach_link("s");
        c->sender("t");
        std::ignore = c->wire();
        c->deliver("t", "y");
        EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 1 settled accepted)");
        n.expect_serves_others();
    }
}

// [2.6.12] "unique amongst all deliveries that could be considered unsettled by either end"
TEST(NodeTransfer, WithTheTagOfAnUnsettledDeliveryDetachesItsLink)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", [](attach& a, source&, target&) {
        a.rcv_settle_mode = receiver_settle_mode::second;
    });
    std::ignore = c->wire();
    auto const tag = octets_of("tag");
    auto const with_tag = [&](transfer& t) { t.delivery_tag = bytes_view{tag}; };
    c->deliver("s", "x", with_tag);
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 accepted)");
    c->deliver("s", "y", with_tag);
    EXPECT_THAT(c->wire_without_flows(), HasSubstr("detach(h0 closed amqp:invalid-field)"));
    EXPECT_EQ(n.node.read("q")->length, 1u);
    n.expect_serves_others();
}

// ---- delivery states [3.4]

constexpr char const* no_states[] = {
    "a1 01 78",                    // a string
    "00 53 24 c0 02 01 41",        // accepted with a field
    "00 53 24 c1 01 00",           // accepted as a map
    "00 53 25 c0 04 01 a1 01 78",  // rejected with a string for an error
    "00 53 27 c0 04 01 a1 01 78",  // modified: delivery-failed is a string
    "00 53 23 45",                 // received without its fields
    "00 53 34 45"};                // transactional without its id

TEST(NodeTransfer, WithADeliveryStateThatIsNoneDetachesItsLink)
{
    for (auto const* const state : no_states) {
        node_rig n;
        auto c = n.client();
        c->sender("s");
        std::ignore = c->wire();
        auto const octets = octets_of_hex(state);
        c->deliver("s", "x", [&](transfer& t) { t.state = {octets}; });
        EXPECT_THAT(c->wire_without_flows(), HasSubstr("detach(h0 closed amqp:decode-error)"))
            << state;
        auto const q = n.node.read("q");
        EXPECT_TRUE(!q || q->length == 0);
    }
}

TEST(NodeDisposition, WithADeliveryStateThatIsNoneDetachesItsLink)
{
    for (auto const* const state : no_states)
        for (auto const settled : {true, false}) {
            node_rig n;
            auto c = n.client();
            c->sender("s");
            c->receiver("r");
            std::ignore = c->wire();
            c->credit("r", 1);
            c->deliver("s", "x", [](transfer& t) { t.settled = true; });
            EXPECT_EQ(c->wire_without_flows(), "transfer(h1 id=0 'x')");
            auto const octets = octets_of_hex(state);
            c->send(disposition{.role = role::receiver,
                                .first = delivery_number{0},
                                .last = std::nullopt,
                                .settled = settled,
                                .state = {octets}});
            EXPECT_THAT(c->wire_without_flows(), HasSubstr("detach(h1 closed amqp:decode-error)"))
                << state << settled;
            EXPECT_EQ(n.node.read("q")->length, 1u);
        }
}

// An extension's state is not known here, and nothing comes of it.
TEST(NodeTransfer, MayHaveADeliveryStateOfAnExtension)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    auto const octets = octets_of_hex("00 53 99 45");
    c->deliver("s", "x", [&](transfer& t) { t.state = {octets}; });
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

// ---- termini [3.5.3, 3.5.4]

TEST(NodeTerminus, WithAnExpiryPolicyThatIsNoneIsRefused)
{
    auto const invent = [](attach&, source& s, target& t) {
        s.expiry_policy = "whenever";
        t.expiry_policy = "whenever";
    };
    EXPECT_EQ(answer_to(role::receiver, invent),
              std::string{refused_source} + "amqp:decode-error)");
    EXPECT_EQ(answer_to(role::sender, invent),
              "attach(l h0 receiver source= target=null) detach(h0 closed amqp:decode-error)");
}

// "If the dynamic field is not set to true this field MUST be left unset."
TEST(NodeTerminus, WithPropertiesOfADynamicNodeThatIsNoneIsRefused)
{
    auto const properties = map_of(symbol{"lifetime-policy"}, "x");
    auto const ask = [&](attach&, source& s, target& t) {
        s.dynamic_node_properties = {properties};
        t.dynamic_node_properties = {properties};
    };
    EXPECT_EQ(answer_to(role::receiver, ask), std::string{refused_source} + "amqp:invalid-field)");
    EXPECT_EQ(answer_to(role::sender, ask),
              "attach(l h0 receiver source= target=null) detach(h0 closed amqp:invalid-field)");
}

// "The value MUST be a valid outcome"
TEST(NodeTerminus, WithADefaultOutcomeThatIsNoneIsRefused)
{
    for (auto const* const state : {"a1 01 78", "00 53 23 c0 03 02 43 44",
                                    "00 53 33 c0 04 01 a0 01 78", "00 53 27 c0 04 01 a1 01 78"}) {
        auto const octets = octets_of_hex(state);
        EXPECT_EQ(answer_to(role::receiver,
                            [&](attach&, source& s, target&) { s.default_outcome = {octets}; }),
                  std::string{refused_source} + "amqp:invalid-field)")
            << state;
    }
}

TEST(NodeTerminus, IsAnsweredWithoutADefaultOutcomeOfAnExtension)
{
    node_rig n;
    auto c = n.client();
    auto const octets = octets_of_hex("00 53 99 45");
    c->receiver("r", "q", [&](attach&, source& s, target&) { s.default_outcome = {octets}; });
    std::ignore = c->wire();
    EXPECT_TRUE(is_null(source_of(*c).default_outcome));
}

// [3.5.10] What is not known here is not what is in force.
TEST(NodeTerminus, IsAnsweredWithTheLifetimeThatItsDynamicNodeHas)
{
    node_rig n;
    auto c = n.client();
    bytes properties;
    map_writer map{properties};
    auto const unknown = octets_of_hex("00 53 99 45");
    map.add(symbol{"lifetime-policy"}, raw_value{unknown});
    map.finish();
    c->receiver("r", "q", [&](attach&, source& s, target&) {
        s.address = {};
        s.dynamic = true;
        s.dynamic_node_properties = {properties};
    });
    std::ignore = c->wire();
    auto const policy =
        as_described(map_reader{source_of(*c).dynamic_node_properties}.find("lifetime-policy"));
    ASSERT_TRUE(policy);
    EXPECT_TRUE(policy->is(0x2b, "amqp:delete-on-close:list"));
}

// ---- messages [3.2]

TEST(NodeMessage, WithAValueThatItsSectionMustNotHoldIsRejected)
{
    constexpr auto body = "00 53 77 43";
    std::string const bad[] = {
        "00 53 71 c1 06 02 a1 01 6b 52 01",        // delivery-annotations: a string as a key
        "00 53 72 c1 06 02 a1 01 6b 52 01",        // message-annotations
        "00 53 74 c1 06 02 a3 01 6b 52 01",        // application-properties: a symbol as a key
        "00 53 74 c1 05 02 a1 01 6b 45",           // a list as a value
        "00 53 73 c0 02 01 45",                    // message-id: a list
        "00 53 73 c0 08 06 40 40 40 40 40 52 01",  // correlation-id: a uint
    };
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    for (auto const& sections : bad) {
        c->deliver("s", octets_of_hex(sections + body));
        EXPECT_THAT(c->wire_without_flows(),
                    testing::EndsWith("settled rejected:amqp:decode-error)"))
            << sections;
    }
    c->deliver("s", octets_of_hex(body + std::string{"00 53 78 c1 06 02 a1 01 6b 52 01"}));
    EXPECT_THAT(c->wire_without_flows(), testing::EndsWith("rejected:amqp:decode-error)"));
    for (auto const* const sections :
         {"00 53 72 c1 05 02 53 05 52 01", "00 53 74 c1 06 02 a1 01 6b 52 01",
          "00 53 73 c0 08 06 53 07 40 40 40 40 40", "00 53 74 c1 04 02 a1 00 40"}) {
        c->deliver("s", octets_of_hex(std::string{sections} + body));
        EXPECT_THAT(c->wire_without_flows(), testing::EndsWith("settled accepted)")) << sections;
    }
}

// [3.4.5] What receivers add to a message takes room in its queue.
TEST(NodeMessage, IsNotMadeLargerThanItsQueueByWhoModifiesIt)
{
    node::node_options o;
    o.queue.bytes_max = 1'000;
    node_rig n{o};
    auto c = n.client();
    c->sender("s");
    c->receiver("r");
    std::ignore = c->wire();
    c->deliver("s", "x");
    c->credit("r", 1);
    std::ignore = c->wire();
    for (unsigned i = 0; i < 10; ++i) {
        auto const key = "x-" + std::to_string(i);
        auto const annotations = map_of(symbol{key}, std::string(200, 'a'));
        c->settle(i, i,
                  modified{.delivery_failed = {},
                           .undeliverable_here = {},
                           .message_annotations = {annotations}});
        c->credit("r", 1);
        EXPECT_THAT(c->wire_without_flows(), HasSubstr("'x'"));
        EXPECT_EQ(n.node.read("q")->bytes > 400, i > 0);
        EXPECT_LE(n.node.read("q")->bytes, 1'100u);
    }
    c->settle(10, 10, accepted{});
    std::ignore = c->wire();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().bytes == 0; }));
}

// An address that a link could not have makes no queue either.
TEST(NodeAnonymousTerminus, RejectsAnAddressOfMoreThanAThousandOctets)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "", [](attach&, source&, target& t) { t.address = {}; });
    std::ignore = c->wire();
    message m{"x"};
    m.properties.to = std::string(1'025, 'a');
    c->deliver("s", encoded(m));
    EXPECT_EQ(c->wire_without_flows(),
              "disposition(receiver 0 settled rejected:amqp:invalid-field)");
    EXPECT_EQ(n.node.stats().queues, 0u);
    EXPECT_TRUE(n.node.declare(std::string(1'025, 'a')));
}

// ---- the coordinator [4.2, 4.3]

/// What is said to a discharge of a transaction that is not there.
std::string said_by_coordinator(source const& from, std::uint32_t format = 0)
{
    node_rig n;
    auto c = n.client();
    auto const octets = encoded(from);
    auto const to = encoded(coordinator{});
    c->sender("t", "", [&](attach& a, source&, target&) {
        a.source = {octets};
        a.target = {to};
    });
    std::ignore = c->wire();
    auto const id = octets_of("none");
    auto const section = octets_of_hex("00 53 77");
    auto body = encoded(discharge{.txn_id = bytes_view{id}, .fail = {}});
    body.insert(body.begin(), section.begin(), section.end());
    c->deliver("t", body, [&](transfer& t) { t.message_format = format; });
    auto text = c->wire_without_flows();
    n.expect_serves_others();
    return text;
}

// "If the source does not support the rejected outcome, the transactional resource MUST detach the
// link to the coordinator, with the detach performative carrying the transaction-error."
TEST(NodeCoordinator, DetachesAControllerThatDoesNotKnowRejected)
{
    EXPECT_EQ(said_by_coordinator({}),
              "disposition(receiver 0 settled rejected:amqp:transaction:unknown-id)");
    std::array<symbol, 1> const outcomes{symbol{"amqp:accepted:list"}};
    EXPECT_THAT(said_by_coordinator({.outcomes = symbols{std::span<symbol const>{outcomes}}}),
                HasSubstr("detach(h0 closed amqp:transaction:unknown-id)"));
}

TEST(NodeCoordinator, KnowsOneMessageFormat)
{
    EXPECT_EQ(said_by_coordinator({}, 5),
              "disposition(receiver 0 settled rejected:amqp:not-implemented)");
}

TEST(NodeCoordinator, IsNotReachedFromASourceThatCannotBeDecoded)
{
    auto const garbage = octets_of_hex("00 53 99 45");
    auto const to = encoded(coordinator{});
    EXPECT_THAT(answer_to(role::sender,
                          [&](attach& a, source&, target&) {
                              a.source = {garbage};
                              a.target = {to};
                          }),
                HasSubstr("detach(h0 closed amqp:decode-error)"));
}

}  // namespace
}  // namespace sluice::test
