// Attaching, refusing, stealing, leaving and coming back. [2.6, 2.7.3, 2.7.7, 3.5]
#include "support/node_rig.hpp"

#include <sluice/codec/writer.hpp>

namespace sluice::test {
namespace {

constexpr std::array<std::byte, 1> null_value{std::byte{0x40}};

/// What the node says to an attach, and that the session goes on.
std::string answer_to(role r, std::string const& address, raw_client::change_attach const& change,
                      node::node_options options = {})
{
    node_rig n{std::move(options)};
    auto c = n.client();
    c->attach_link(r, "l", address, change);
    auto text = c->wire_without_flows();
    if (text.ends_with(")") && text.find("detach(") != text.npos)
        c->detach_link("l");
    c->sender("alive");
    EXPECT_NE(c->wire_without_flows().find("attach(alive "), std::string::npos);
    c->bye();
    n.expect_serves_others();
    return text;
}

// ---- attach [2.7.3]

TEST(NodeAttach, WithoutItsMandatoryFieldsIsADecodeError)
{
    for (auto const* const body : {"00 53 12 c0 04 03 40 43 42", "00 53 12 c0 06 03 a1 01 6c 40 42",
                                   "00 53 12 c0 06 03 a1 01 6c 43 40", "00 53 12 45"}) {
        node_rig n;
        auto c = n.client();
        c->send_octets(raw_hex_frame(body));
        EXPECT_EQ(c->wire(), "close(amqp:decode-error)") << body;
        n.expect_serves_others();
    }
}

TEST(NodeAttach, WithWrongTypesIsADecodeError)
{
    for (auto const* const body :
         {"00 53 12 c0 06 03 a3 01 6c 43 42",           // name: a symbol
          "00 53 12 c0 07 03 a1 01 6c 53 00 42",        // handle: a ulong
          "00 53 12 c0 07 03 a1 01 6c 43 52 01",        // role: a number
          "00 53 12 c0 09 04 a1 01 6c 43 42 50 03"}) {  // snd-settle-mode: 3
        node_rig n;
        auto c = n.client();
        c->send_octets(raw_hex_frame(body));
        EXPECT_EQ(c->wire(), "close(amqp:decode-error)") << body;
    }
}

// "This MUST NOT be null if role is sender"
TEST(NodeAttach, OfASenderNeedsAnInitialDeliveryCount)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", [](attach& a, source&, target&) { a.initial_delivery_count = {}; });
    EXPECT_EQ(c->wire(), "end(amqp:invalid-field)");
}

// [2.6.3] "attach with a null terminus, then detach with the error"
TEST(NodeAttach, WithoutATargetIsRefused)
{
    EXPECT_EQ(
        answer_to(role::sender, "q", [](attach& a, source&, target&) { a.target = {null_value}; }),
        "attach(l h0 receiver source= target=null) detach(h0 closed amqp:invalid-field)");
}

TEST(NodeAttach, WithoutASourceIsRefused)
{
    EXPECT_EQ(answer_to(role::receiver, "q",
                        [](attach& a, source&, target&) { a.source = {null_value}; }),
              "attach(l h0 sender source=null target=) detach(h0 closed amqp:invalid-field)");
}

TEST(NodeAttach, ToAQueueThatIsNotDeclaredIsRefusedWhereNoneIsMadeByItself)
{
    node::node_options o;
    o.auto_create = false;
    EXPECT_EQ(answer_to(role::sender, "nowhere", {}, o),
              "attach(l h0 receiver source= target=null) detach(h0 closed amqp:not-found)");
    EXPECT_EQ(answer_to(role::receiver, "nowhere", {}, o),
              "attach(l h0 sender source=null target=) detach(h0 closed amqp:not-found)");
}

TEST(NodeAttach, BeyondTheQueuesThatThereMayBeIsRefused)
{
    node::node_options o;
    o.queues_max = 0;
    node_rig n{o};
    auto c = n.client();
    c->sender("l");
    EXPECT_EQ(c->wire(), "attach(l h0 receiver source= target=null) "
                         "detach(h0 closed amqp:resource-limit-exceeded)");
}

// [3.5.3] An address is the node's to understand: this one knows strings.
TEST(NodeAttach, WithAnAddressThatIsNoStringIsRefused)
{
    auto const number = encoded(std::uint32_t{5});
    EXPECT_EQ(
        answer_to(role::sender, "q", [&](attach&, source&, target& t) { t.address = {number}; }),
        "attach(l h0 receiver source= target=null) detach(h0 closed amqp:not-implemented)");
}

TEST(NodeAttach, WithAnAddressOfMoreThanAThousandOctetsIsRefused)
{
    EXPECT_EQ(answer_to(role::sender, std::string(1'025, 'a'), {}),
              "attach(l h0 receiver source= target=null) detach(h0 closed amqp:invalid-field)");
}

TEST(NodeAttach, WithATerminusThatCannotBeDecodedIsRefused)
{
    auto const source = octets_of_hex("00 53 29 c0 03 02 40 41");  // durable: true
    EXPECT_EQ(answer_to(role::sender, "q",
                        [&](attach& a, sluice::source&, target&) { a.target = {source}; }),
              "attach(l h0 receiver source= target=null) detach(h0 closed amqp:decode-error)");
}

// [4.2] There are no transactions here, yet.
TEST(NodeAttach, OfAReceiverToTheAnonymousTerminusIsRefused)
{
    EXPECT_EQ(answer_to(role::receiver, "",
                        [](attach&, source& s, target&) { s.address = {null_value}; }),
              "attach(l h0 sender source=null target=) detach(h0 closed amqp:not-found)");
}

TEST(NodeAttach, IsAnsweredWithWhatIsInForce)
{
    node_rig n;
    auto c = n.client();
    bytes filters;
    map_writer map{filters};
    map.add(symbol{"selector"}, std::string_view{"colour = 'red'"});
    map.finish();
    std::array<symbol, 2> const wanted{symbol{"queue"}, symbol{"topic"}};
    std::array<symbol, 2> const outcomes{symbol{"amqp:accepted:list"}, symbol{"x:other:list"}};
    c->receiver("r", "q", [&](attach&, source& s, target&) {
        s.durable = terminus_durability::unsettled_state;
        s.filter = {filters};
        s.capabilities = symbols{std::span<symbol const>{wanted}};
        s.outcomes = symbols{std::span<symbol const>{outcomes}};
    });
    std::ignore = c->wire();
    source in_force;
    auto octets = c->last<attach>().source.encoded;
    ASSERT_FALSE(decode(octets, in_force));
    EXPECT_EQ(as<std::string_view>(in_force.address), "q");
    EXPECT_EQ(in_force.durable, terminus_durability::none);  // [3.5.5]
    EXPECT_TRUE(in_force.filter.empty());                    // [3.5.8]
    EXPECT_EQ(in_force.distribution_mode, symbol{"move"});   // [3.5.7]
    EXPECT_EQ(in_force.outcomes.size(), 1u);                 // [3.5.3]
    EXPECT_TRUE(in_force.outcomes.contains("amqp:accepted:list"));
    EXPECT_EQ(in_force.capabilities.size(), 1u);
    EXPECT_TRUE(in_force.capabilities.contains("queue"));
}

TEST(NodeAttach, OfASenderIsAnsweredWithTheLargestMessageAndWithCredit)
{
    node::node_options o;
    o.message_size_max = 12'345;
    o.credit = 17;
    node_rig n{o};
    auto c = n.client();
    c->sender("s");
    EXPECT_EQ(c->wire(), "attach(s h0 receiver source= target=q) "
                         "flow(nii=0 iw=1024 noi=0 h0 dc=0 lc=17)");
    EXPECT_EQ(c->last<attach>().max_message_size, 12'345u);
}

// [2.6.7] Counting begins at the sender's initial-delivery-count.
TEST(NodeAttach, OfASenderBeginsToCountWhereTheSenderDoes)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", [](attach& a, source&, target&) {
        a.initial_delivery_count = sequence_number{0xffff'fffe};
    });
    EXPECT_EQ(c->wire(), "attach(s h0 receiver source= target=q) "
                         "flow(nii=0 iw=1024 noi=0 h0 dc=4294967294 lc=500)");
}

// ---- detach [2.6.6, 2.7.7]

TEST(NodeDetach, IsAnsweredInKind)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("r");
    std::ignore = c->wire();
    c->detach_link("s", false);
    EXPECT_EQ(c->wire_without_flows(), "detach(h0)");
    c->detach_link("r", true);
    EXPECT_EQ(c->wire_without_flows(), "detach(h1 closed)");
}

TEST(NodeDetach, WithoutAHandleIsADecodeError)
{
    node_rig n;
    auto c = n.client();
    c->send_octets(raw_hex_frame("00 53 16 c0 02 01 40"));
    EXPECT_EQ(c->wire(), "close(amqp:decode-error)");
}

TEST(NodeDetach, WithAnErrorIsAnsweredWithoutOne)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->send(detach{.handle = handle{0},
                   .closed = true,
                   .error = error_view{.condition = "amqp:internal-error"}});
    EXPECT_EQ(c->wire(), "detach(h0 closed)");
}

// [2.6.6] Both detach at once: each takes the other's as the answer.
TEST(NodeDetach, ThatCrossesWithTheNodesIsItsAnswer)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    ASSERT_FALSE(n.node.remove("q"));
    c->detach_link("s");
    EXPECT_EQ(c->wire(), "detach(h0 closed amqp:resource-deleted)");
    c->sender("s2", "q", [](attach& a, source&, target&) { a.handle = handle{0}; });
    EXPECT_EQ(c->wire_without_flows(), "attach(s2 h0 receiver source= target=q)");
}

// What was on its way to a receiver that leaves stays in order, and nothing of it is lost.
TEST(NodeDetach, PutsWhatWasUnsettledBackInOrder)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("r");
    std::ignore = c->wire();
    c->credit("r", 2);
    for (auto const* const text : {"1", "2", "3", "4"}) c->deliver("s", text);
    EXPECT_NE(c->wire_without_flows().find("transfer(h1 id=1 '2')"), std::string::npos);
    c->detach_link("r");
    EXPECT_EQ(c->wire_without_flows(), "detach(h1 closed)");
    c->receiver("r");
    c->credit("r", 10);
    EXPECT_EQ(c->wire_without_flows(),
              "attach(r h1 sender source=q target=) "
              "transfer(h1 id=2 '1' not-first count=1) transfer(h1 id=3 '2' not-first count=1) "
              "transfer(h1 id=4 '3') transfer(h1 id=5 '4')");
}

// ---- stealing [2.6.1]

TEST(NodeLinkName, InUseIsTakenOverByTheLaterAttach)
{
    node_rig n;
    auto a = n.client("same");
    auto b = n.client("same");
    a->receiver("r");
    a->sender("untouched");
    std::ignore = a->wire();
    b->receiver("r");
    EXPECT_EQ(b->wire_without_flows(), "attach(r h0 sender source=q target=)");
    EXPECT_EQ(a->wire_without_flows(), "detach(h0 closed amqp:link:stolen)");
    a->deliver("untouched", "x");
    b->credit("r", 1);
    EXPECT_EQ(a->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(b->wire_without_flows(), "transfer(h0 id=0 'x')");
}

TEST(NodeLinkName, InUseInAnotherContainerIsAnotherLinks)
{
    node_rig n;
    auto a = n.client("one");
    auto b = n.client("another");
    a->receiver("r");
    std::ignore = a->wire();
    b->receiver("r");
    std::ignore = b->wire();
    EXPECT_EQ(a->wire_without_flows(), "");
}

// "...the link is identified by the names of its containers, its own and its direction"
TEST(NodeLinkName, InUseInTheOtherDirectionIsAnotherLinks)
{
    node_rig n;
    auto c = n.client();
    c->receiver("l");
    c->sender("l");
    EXPECT_EQ(c->wire_without_flows(),
              "attach(l h0 sender source=q target=) attach(l h1 receiver source= target=q)");
}

TEST(NodeLinkName, InUseOnTheSameSessionIsTakenOverToo)
{
    node_rig n;
    auto c = n.client();
    c->receiver("r");
    std::ignore = c->wire();
    c->receiver("r");
    auto const text = c->wire_without_flows();
    EXPECT_NE(text.find("detach(h0 closed amqp:link:stolen)"), text.npos) << text;
    EXPECT_NE(text.find("attach(r h1 sender source=q target=)"), text.npos) << text;
}

TEST(NodeLinkName, InUseIsTakenOverByALinkToTheCoordinatorToo)
{
    node_rig n;
    auto c = n.client();
    c->sender("l");
    std::ignore = c->wire();
    auto const to = encoded(coordinator{});
    c->sender("l", "", [&](attach& a, source&, target&) { a.target = {to}; });
    auto const text = c->wire_without_flows();
    EXPECT_NE(text.find("detach(h0 closed amqp:link:stolen)"), text.npos) << text;
    EXPECT_NE(text.find("attach(l h1 receiver"), text.npos) << text;
}

// A link that is stolen gives what it had not settled to the thief, as if it had been detached.
TEST(NodeLinkName, TakenOverBringsBackWhatWasUnsettled)
{
    node_rig n;
    auto a = n.client("same");
    auto b = n.client("same");
    a->sender("s");
    a->receiver("r");
    std::ignore = a->wire();
    a->credit("r", 5);
    a->deliver("s", "1");
    std::ignore = a->wire();
    b->receiver("r");
    b->credit("r", 5);
    EXPECT_EQ(b->wire_without_flows(),
              "attach(r h0 sender source=q target=) transfer(h0 id=0 '1' not-first count=1)");
}

// ---- resuming [2.6.13]

/// An unsettled map of these tags, each with this state.
bytes unsettled_map(std::vector<bytes> const& tags, bytes_view state)
{
    bytes out;
    map_writer map{out};
    for (auto const& tag : tags) map.add(bytes_view{tag}, raw_value{state});
    map.finish();
    return out;
}

/// A receiver "r" that has got "1" and "2", settled neither, and was detached without closing.
struct left_behind {
    node_rig n;
    std::unique_ptr<raw_client> c;
    std::vector<bytes> tags;

    left_behind() : c{n.client()}
    {
        c->sender("s");
        c->receiver("r", "q", never);
        std::ignore = c->wire();
        c->credit("r", 10);
        for (auto const* const text : {"1", "2"}) {
            c->deliver("s", text);
            std::ignore = c->wire();
            auto const tag = c->last<transfer>().delivery_tag.value();
            tags.emplace_back(tag.begin(), tag.end());
        }
        c->detach_link("r", false);
        EXPECT_EQ(c->wire_without_flows(), "detach(h1)");
    }
    static void never(attach&, source& s, target&) { s.expiry_policy = "never"; }
};

TEST(NodeResume, KeepsWhatWasUnsettledAtALinkThatIsAway)
{
    left_behind l;
    EXPECT_EQ(l.n.node.read("q")->length, 2u);
    EXPECT_EQ(l.n.node.read("q")->ready, 0u);
}

TEST(NodeResume, TellsTheNodesUnsettledMap)
{
    left_behind l;
    auto const map = unsettled_map(l.tags, null_value);
    l.c->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    std::ignore = l.c->wire();
    auto const answer = l.c->last<attach>();
    std::size_t count = 0;
    for (map_reader entries{answer.unsettled}; auto const e = entries.next(); ++count)
        EXPECT_TRUE(same_bytes(as<bytes_view>(e->key).value(), l.tags.at(count)));
    EXPECT_EQ(count, 2u);
    EXPECT_FALSE(answer.incomplete_unsettled);
}

TEST(NodeResume, SendsAgainWhatThePeerHasNotSettled)
{
    left_behind l;
    auto const map = unsettled_map(l.tags, null_value);
    l.c->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    l.c->credit("r", 10);
    auto const text = l.c->wire_without_flows();
    EXPECT_NE(text.find("transfer(h1 id=2 resume '1'"), text.npos) << text;
    EXPECT_NE(text.find("transfer(h1 id=3 resume '2'"), text.npos) << text;
}

TEST(NodeResume, SettlesWhatThePeerHasAnOutcomeFor)
{
    left_behind l;
    auto const map = unsettled_map(l.tags, encoded_accepted);
    l.c->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    l.c->credit("r", 10);
    EXPECT_EQ(
        l.c->wire_without_flows(),
        "attach(r h1 sender source=q target=) "
        "transfer(h1 id=2 settled resume accepted) transfer(h1 id=3 settled resume accepted)");
    EXPECT_EQ(l.n.node.read("q")->length, 0u);
}

TEST(NodeResume, SendsAnewWhatThePeerDoesNotKnow)
{
    left_behind l;
    auto const map = unsettled_map({l.tags[1]}, encoded_accepted);
    l.c->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    l.c->credit("r", 10);
    auto const text = l.c->wire_without_flows();
    EXPECT_NE(text.find("settled resume accepted)"), text.npos) << text;
    EXPECT_NE(text.find(" '1'"), text.npos) << text;
    EXPECT_EQ(text.find(" '2'"), text.npos) << text;
}

// [2.7.3] "unsettled: null ... is not resuming"
TEST(NodeResume, IsNoResumeWithoutAnUnsettledMap)
{
    left_behind l;
    l.c->receiver("r");
    l.c->credit("r", 10);
    EXPECT_EQ(l.c->wire_without_flows(),
              "attach(r h1 sender source=q target=) transfer(h1 id=2 '1' not-first count=1) "
              "transfer(h1 id=3 '2' not-first count=1)");
}

// The connection may be another one: what counts is the container.
TEST(NodeResume, MayComeOverAnotherConnection)
{
    left_behind l;
    l.c->reset();
    auto const map = unsettled_map(l.tags, encoded_accepted);
    auto again = l.n.client();
    again->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    again->credit("r", 10);
    EXPECT_EQ(again->wire_without_flows(),
              "attach(r h0 sender source=q target=) transfer(h0 id=0 settled resume accepted) "
              "transfer(h0 id=1 settled resume accepted)");
}

TEST(NodeResume, IsOverOnceALinkIsClosed)
{
    left_behind l;
    auto const map = unsettled_map(l.tags, null_value);
    l.c->receiver("r", "q", [&](attach& a, source& s, target& t) {
        left_behind::never(a, s, t);
        a.unsettled = {map};
    });
    std::ignore = l.c->wire();
    l.c->detach_link("r", true);
    std::ignore = l.c->wire();
    EXPECT_EQ(l.n.node.read("q")->ready, 2u);
}

// [2.6.13] A sender comes back with what it has heard nothing of: a message that is here already is
// not taken twice.
TEST(NodeResume, DoesNotTakeAMessageTwice)
{
    node_rig n;
    auto c = n.client();
    auto const second = [](attach& a, source&, target& t) {
        a.rcv_settle_mode = receiver_settle_mode::second;
        t.expiry_policy = "never";
    };
    c->sender("s", "q", second);
    std::ignore = c->wire();
    c->deliver("s", "once");
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 accepted)");
    c->detach_link("s", false);
    std::ignore = c->wire();
    auto const tag = octets_of("s0");
    auto const map = unsettled_map({tag}, null_value);
    c->sender("s", "q", [&](attach& a, source& s, target& t) {
        second(a, s, t);
        a.unsettled = {map};
    });
    std::ignore = c->wire();
    auto const answer = c->last<attach>();
    auto const theirs = map_reader{answer.unsettled}.next();
    ASSERT_TRUE(theirs);
    EXPECT_EQ(text_of_state(theirs->value), "accepted");
    c->deliver("s", "once", [&](transfer& t) {
        t.delivery_tag = bytes_view{tag};
        t.resume = true;
    });
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 1 accepted)");
    EXPECT_EQ(n.node.read("q")->length, 1u);
}

// ---- expiry [3.5.6]

/// Messages that are ready again after a receiver with this policy left in this way.
std::uint64_t ready_after(char const* policy, std::function<void(raw_client&)> const& leave)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", {}, 9);
    std::ignore = c->wire();
    c->receiver("r", "q", [&](attach&, source& s, target&) { s.expiry_policy = policy; });
    c->credit("r", 1);
    c->deliver("s", "x");
    std::ignore = c->wire();
    EXPECT_EQ(n.node.read("q")->ready, 0u);
    leave(*c);
    return n.node.read("q")->ready;
}

TEST(NodeExpiry, FollowsThePolicyOfTheTerminus)
{
    auto const detach = [](raw_client& c) {
        c.detach_link("r", false);
        EXPECT_EQ(c.wire_without_flows(), "detach(h0)");
    };
    auto const end = [](raw_client& c) {
        c.send(sluice::end{});
        EXPECT_EQ(c.wire_without_flows(), "end()");
    };
    auto const close = [](raw_client& c) { c.bye(); };
    EXPECT_EQ(ready_after("link-detach", detach), 1u);
    EXPECT_EQ(ready_after("session-end", detach), 0u);
    EXPECT_EQ(ready_after("session-end", end), 1u);
    EXPECT_EQ(ready_after("connection-close", end), 0u);
    EXPECT_EQ(ready_after("connection-close", close), 1u);
    EXPECT_EQ(ready_after("never", close), 0u);
}

TEST(NodeExpiry, WaitsForTheTimeOutOfTheTerminus)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("r", "q", [&](attach&, source& s, target&) {
        s.expiry_policy = "link-detach";
        s.timeout = 1;
    });
    std::ignore = c->wire();
    c->credit("r", 1);
    c->deliver("s", "x");
    std::ignore = c->wire();
    c->detach_link("r", false);
    EXPECT_EQ(c->wire_without_flows(), "detach(h1)");
    EXPECT_EQ(n.node.read("q")->ready, 0u);
    c->receiver("other");
    c->credit("other", 1);
    EXPECT_EQ(c->until("transfer"),  // a second later
              "attach(other h1 sender source=q target=) transfer(h1 id=1 'x' not-first count=1)");
}

// ---- dynamic nodes [3.5.3, 3.5.10-13]

/// Asks for a dynamic node as source. @returns its name
std::string make_dynamic(raw_client& c, bytes const& properties = {})
{
    c.receiver("d", "", [&](attach&, source& s, target&) {
        s.address = {};
        s.dynamic = true;
        s.dynamic_node_properties = {properties};
    });
    std::ignore = c.wire();
    source s;
    auto in = c.last<attach>().source.encoded;
    EXPECT_FALSE(decode(in, s));
    EXPECT_TRUE(s.dynamic);
    EXPECT_FALSE(map_reader{s.dynamic_node_properties}.find("lifetime-policy").empty());
    return std::string{as<std::string_view>(s.address).value_or("")};
}

bytes lifetime_of(std::uint8_t code)
{
    bytes const policy{std::byte{0x00}, std::byte{0x53}, std::byte{code}, std::byte{0x45}};
    bytes out;
    map_writer map{out};
    map.add(symbol{"lifetime-policy"}, raw_value{policy});
    map.finish();
    return out;
}

TEST(NodeDynamic, IsMadeNamedAndGoesWithItsLink)
{
    node_rig n;
    auto c = n.client();
    auto const name = make_dynamic(*c);
    ASSERT_FALSE(name.empty());
    EXPECT_TRUE(n.node.read(name));
    auto other = n.client("other");
    other->sender("s", name);
    c->credit("d", 1);
    std::ignore = c->wire();
    std::ignore = other->wire();
    other->deliver("s", "x");
    EXPECT_EQ(other->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(c->wire_without_flows(), "transfer(h0 id=0 'x')");
    c->detach_link("d");
    EXPECT_EQ(c->wire_without_flows(), "detach(h0 closed)");
    EXPECT_FALSE(n.node.read(name));
    EXPECT_EQ(other->wire_without_flows(), "detach(h0 closed amqp:resource-deleted)");
}

TEST(NodeDynamic, GoesWithItsConnection)
{
    node_rig n;
    auto c = n.client();
    auto const name = make_dynamic(*c);
    EXPECT_TRUE(n.node.read(name));
    c->bye();
    EXPECT_FALSE(n.node.read(name));
}

TEST(NodeDynamic, StaysWhileThereAreLinksWhereThatIsItsLifetime)
{
    node_rig n;
    auto c = n.client();
    auto const name = make_dynamic(*c, lifetime_of(0x2c));
    c->sender("s", name);
    c->detach_link("d");
    std::ignore = c->wire();
    EXPECT_TRUE(n.node.read(name));
    c->detach_link("s");
    std::ignore = c->wire();
    EXPECT_FALSE(n.node.read(name));
}

TEST(NodeDynamic, StaysWhileThereAreMessagesWhereThatIsItsLifetime)
{
    for (auto const policy : {std::uint8_t{0x2d}, std::uint8_t{0x2e}}) {
        node_rig n;
        auto c = n.client();
        auto const name = make_dynamic(*c, lifetime_of(policy));
        c->sender("s", name);
        std::ignore = c->wire();
        c->deliver("s", "x");
        c->detach_link("d");
        c->detach_link("s");
        std::ignore = c->wire();
        EXPECT_TRUE(n.node.read(name));
        c->receiver("r", name);
        c->credit("r", 1);
        std::ignore = c->wire();
        auto const id = c->last<transfer>().delivery_id->value();
        c->settle(id, id, accepted{});
        c->detach_link("r");
        std::ignore = c->wire();
        EXPECT_FALSE(n.node.read(name));
    }
}

TEST(NodeDynamic, WithAnAddressIsRefused)
{
    EXPECT_EQ(
        answer_to(role::receiver, "mine", [](attach&, source& s, target&) { s.dynamic = true; }),
        "attach(l h0 sender source=null target=) detach(h0 closed amqp:invalid-field)");
}

TEST(NodeDynamic, MayBeATarget)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "", [](attach&, source&, target& t) {
        t.address = {};
        t.dynamic = true;
    });
    std::ignore = c->wire();
    target t;
    auto in = c->last<attach>().target.encoded;
    ASSERT_FALSE(decode(in, t));
    auto const name = as<std::string_view>(t.address);
    ASSERT_TRUE(name);
    c->deliver("s", "x");
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    EXPECT_EQ(n.node.read(std::string{*name})->length, 1u);
}

// ---- the anonymous terminus

/// A sender "s" without an address, and what the node says of a message to `to`.
std::string relayed(std::optional<std::string> const& to, bool settled,
                    node::node_options options = {})
{
    node_rig n{std::move(options)};
    auto c = n.client();
    c->sender("s", "", [](attach&, source&, target& t) { t.address = {null_value}; });
    EXPECT_EQ(c->wire_without_flows(), "attach(s h0 receiver source= target=)");
    message m{"relayed"};
    m.properties.to = to;
    c->deliver("s", encoded(m), [&](transfer& t) { t.settled = settled; });
    auto text = c->wire_without_flows();
    if (to && n.node.read(*to))
        text += " +" + std::to_string(n.node.read(*to)->length);
    return text;
}

TEST(NodeAnonymousTerminus, RelaysByTo)
{
    EXPECT_EQ(relayed("there", false), "disposition(receiver 0 settled accepted) +1");
    EXPECT_EQ(relayed("there", true), " +1");
}

TEST(NodeAnonymousTerminus, RejectsWhatNamesNoQueue)
{
    node::node_options o;
    o.auto_create = false;
    EXPECT_EQ(relayed("there", false, o),
              "disposition(receiver 0 settled rejected:amqp:not-found)");
    EXPECT_EQ(relayed(std::nullopt, false),
              "disposition(receiver 0 settled rejected:amqp:precondition-failed)");
}

// Nothing can be said of a settled delivery: the link says it.
TEST(NodeAnonymousTerminus, DetachesForWhatIsSettledAndNamesNoQueue)
{
    node::node_options o;
    o.auto_create = false;
    EXPECT_EQ(relayed("there", true, o), "detach(h0 closed amqp:not-found)");
}

}  // namespace
}  // namespace sluice::test
