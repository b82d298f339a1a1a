// Windows, flows, handles: what ends a session, and that session only. [2.5, 2.6.2, 2.7.4]
#include "support/node_rig.hpp"

namespace sluice::test {
namespace {

/// A client with a sender "s" and a receiver "r" of queue "q" on channel 0, no credit for "r" yet.
struct linked {
    node_rig n;
    std::unique_ptr<raw_client> c;

    explicit linked(node::node_options options = {}) : n{std::move(options)}, c{n.client()}
    {
        c->sender("s");
        c->receiver("r");
        std::ignore = c->wire();
    }
    /// The session has ended with this condition; the connection goes on, and the channel is free
    /// once the end is answered.
    void expect_ended(std::string const& condition)
    {
        EXPECT_EQ(c->wire_without_flows(), "end(" + condition + ")");
        c->send(sluice::end{});
        c->send(raw_client::usual_begin());
        EXPECT_TRUE(c->wire().starts_with("begin(rc=0 noi=0 iw="));
        c->bye();
        n.expect_serves_others();
    }
};

// ---- flow: what it says of the sender of the flow [2.5.6]

TEST(NodeFlow, IsTakenWhenItsNextOutgoingIdIsExact)
{
    linked l;
    l.c->deliver("s", "1");
    l.c->deliver("s", "2");
    l.c->send(l.c->exact_flow());
    EXPECT_EQ(l.c->wire(), "disposition(receiver 0..1 settled accepted)");
}

TEST(NodeFlow, EndsTheSessionWhenItsNextOutgoingIdIsStale)
{
    linked l;
    l.c->deliver("s", "1");
    std::ignore = l.c->wire();
    auto f = l.c->exact_flow();
    f.next_outgoing_id = transfer_id{0};
    l.c->send(f);
    l.expect_ended("amqp:session:window-violation");
}

TEST(NodeFlow, EndsTheSessionWhenItsNextOutgoingIdIsAhead)
{
    linked l;
    l.c->deliver("s", "1");
    std::ignore = l.c->wire();
    auto f = l.c->exact_flow();
    f.next_outgoing_id = transfer_id{2};
    l.c->send(f);
    l.expect_ended("amqp:session:window-violation");
}

TEST(NodeFlow, IsNamedWithBothNumbersWhenItIsWrong)
{
    linked l;
    auto f = l.c->exact_flow();
    f.next_outgoing_id = transfer_id{4'000'000'000};
    l.c->send(f);
    EXPECT_EQ(l.c->wire(), "end(amqp:session:window-violation)");
    auto const text = l.c->description<sluice::end>();
    EXPECT_NE(text.find("4000000000"), text.npos) << text;
    EXPECT_NE(text.find("; 0 is"), text.npos) << text;
}

// RFC 1982: the id after 2^32 - 1 is 0.
TEST(NodeFlow, IsExactOverTheWrap)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    auto b = raw_client::usual_begin();
    b.next_outgoing_id = transfer_id{0xffff'fffe};
    c.send(b);
    c.send(raw_client::usual_begin(), {}, raw_client::witness);
    c.sender("s");
    std::ignore = c.wire();
    for (int i = 0; i < 4; ++i) {
        c.deliver("s", "x");
        c.send(c.exact_flow());
    }
    EXPECT_EQ(c.state_of(0).sent, 2u);
    EXPECT_EQ(c.wire(), "disposition(receiver 0..3 settled accepted)");
}

// A tolerant node takes the peer's value, as [2.5.6] has it.
TEST(NodeFlow, IsTakenWhateverItSaysWhereThePolicyIsTolerant)
{
    node::node_options o;
    o.policy = engine::flow_policy::tolerant;
    linked l{o};
    auto f = l.c->exact_flow();
    f.next_outgoing_id = transfer_id{7};
    l.c->send(f);
    l.c->deliver("s", "1");
    EXPECT_EQ(l.c->wire(), "disposition(receiver 0 settled accepted)");
}

// ---- flow: what it says of the node

// [2.5.6] Nothing was sent that could have come.
TEST(NodeFlow, EndsTheSessionWhenItsNextIncomingIdIsAheadOfWhatWasSent)
{
    linked l;
    auto f = l.c->exact_flow();
    f.next_incoming_id = transfer_id{1};
    l.c->send(f);
    l.expect_ended("amqp:session:window-violation");
}

// [2.5.6] Of a time before some transfers: its window counts from there.
TEST(NodeFlow, MayHaveAnOlderNextIncomingId)
{
    linked l;
    l.c->credit("r", 10);
    for (int i = 0; i < 3; ++i) l.c->deliver("s", "x");
    EXPECT_EQ(l.c->wire_without_flows(),
              "disposition(receiver 0..2 settled accepted) transfer(h1 id=0 'x') "
              "transfer(h1 id=1 'x') transfer(h1 id=2 'x')");
    auto f = l.c->exact_flow();
    f.next_incoming_id = transfer_id{1};
    f.incoming_window = 3;  // two of them are used
    l.c->send(f);
    for (int i = 0; i < 3; ++i) l.c->deliver("s", "y");
    EXPECT_EQ(l.c->wire_without_flows(),
              "disposition(receiver 3..5 settled accepted) transfer(h1 id=3 'y')");
    l.c->send(l.c->exact_flow());
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h1 id=4 'y') transfer(h1 id=5 'y')");
}

// [2.5.6] A shut window holds transfers back, and nothing else.
TEST(NodeFlow, HoldsTransfersBackWithAWindowOfNone)
{
    linked l;
    auto f = l.c->exact_flow();
    f.incoming_window = 0;
    l.c->send(f);
    l.c->credit("r", 10);  // its flow says 2048 again
    f = l.c->exact_flow();
    f.incoming_window = 0;
    l.c->send(f);
    l.c->deliver("s", "x");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
    l.c->send(l.c->exact_flow());
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h1 id=0 'x')");
}

// [2.7.4] next-incoming-id "MUST be set if the peer has received the begin frame": where it is not,
// the node counts from its first id.
TEST(NodeFlow, MayLackTheNextIncomingIdBeforeTheNodesBeginIsKnown)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    c.send(raw_client::usual_begin());
    c.send(raw_client::usual_begin(), {}, raw_client::witness);
    auto f = c.exact_flow();
    f.next_incoming_id = std::nullopt;
    f.echo = true;
    c.send(f);
    EXPECT_EQ(c.until("flow"),
              "AMQP open(sluice-node) begin(rc=0 noi=0 iw=1024) flow(nii=0 iw=1024 noi=0)");
}

// [2.7.4] The mandatory ones: incoming-window, next-outgoing-id, outgoing-window.
TEST(NodeFlow, WithoutItsMandatoryFieldsIsADecodeError)
{
    for (auto const* const body : {"00 53 13 c0 05 04 43 40 43 43", "00 53 13 c0 05 04 43 43 40 43",
                                   "00 53 13 c0 05 04 43 43 43 40", "00 53 13 45"}) {
        linked l;
        l.c->send_octets(raw_hex_frame(body));
        EXPECT_EQ(l.c->wire(), "close(amqp:decode-error)") << body;
    }
}

// [2.7.4] "When the handle field is not set, this field MUST NOT be set."
TEST(NodeFlow, WithALinksFieldsAndNoHandleEndsTheSession)
{
    std::function<void(flow&)> const breaches[] = {
        [](flow& f) { f.delivery_count = sequence_number{0}; },
        [](flow& f) { f.link_credit = 10; },
        [](flow& f) { f.available = 0; },
        [](flow& f) { f.drain = true; },
    };
    for (auto const& breach : breaches) {
        linked l;
        auto f = l.c->exact_flow();
        breach(f);
        l.c->send(f);
        l.expect_ended("amqp:invalid-field");
    }
}

TEST(NodeFlow, WithALinksFieldsAndNoHandleConcernsNoLinkWhereThePolicyIsTolerant)
{
    node::node_options o;
    o.policy = engine::flow_policy::tolerant;
    linked l{o};
    auto f = l.c->exact_flow();
    f.link_credit = 10;
    l.c->send(f);
    l.c->deliver("s", "x");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

// [2.7.4] delivery-count: "from the sender link endpoint ... this field MUST be set"
TEST(NodeFlow, OfASenderWithoutItsDeliveryCountDetachesItsLink)
{
    linked l;
    auto f = l.c->exact_flow();
    f.handle = l.c->handle_of("s");
    f.link_credit = 500;
    l.c->send(f);
    EXPECT_EQ(l.c->wire_without_flows(), "detach(h0 closed amqp:invalid-field)");
    l.c->detach_link("s");
    l.c->sender("t");
    EXPECT_EQ(l.c->wire_without_flows(), "attach(t h0 receiver source= target=q)");
}

// [2.7.4] echo
TEST(NodeFlow, IsAnsweredForTheSessionWhenItAsksForAnEcho)
{
    linked l;
    auto f = l.c->exact_flow();
    f.echo = true;
    l.c->send(f);
    EXPECT_EQ(l.c->wire(), "flow(nii=0 iw=1024 noi=0)");
}

// [2.7.4] echo, of a link; the answer never asks for one.
TEST(NodeFlow, IsAnsweredForTheLinkWhenItAsksForAnEcho)
{
    linked l;
    l.c->credit("r", 5, false, true);
    EXPECT_EQ(l.c->wire(), "flow(nii=0 iw=1024 noi=0 h1 dc=0 lc=5)");
}

// [2.7.4, 2.8.17]
TEST(NodeFlow, ForAHandleThatIsNotAttachedEndsTheSession)
{
    linked l;
    auto f = l.c->exact_flow();
    f.handle = handle{17};
    l.c->send(f);
    l.expect_ended("amqp:session:unattached-handle");
}

// ---- the window of the node [2.5.6]

TEST(NodeWindow, OverrunEndsTheSession)
{
    node::node_options o;
    o.incoming_window = 4;
    linked l{o};
    // One delivery of many frames needs one credit: it is the window that is overrun. The node
    // grants anew as it takes frames, so more than all that it could ever have granted goes at
    // once, before any flow of its can have been read: what is counted is what was promised.
    for (int i = 0; i < 2'000; ++i)
        l.c->deliver("s", bytes(8, std::byte{1}), [&](transfer& t) {
            t.more = true;
            if (i > 0) {
                t.delivery_id = std::nullopt;
                t.delivery_tag = std::nullopt;
            }
        });
    l.expect_ended("amqp:session:window-violation");
}

TEST(NodeWindow, IsGrantedAnewWhileTransfersCome)
{
    node::node_options o;
    o.incoming_window = 4;
    linked l{o};
    for (int i = 0; i < 20; ++i) {
        l.c->deliver("s", "x");
        EXPECT_EQ(l.c->wire_without_flows(),
                  "disposition(receiver " + std::to_string(i) + " settled accepted)");
    }
}

// ---- handles [2.6.2, 2.7.2]

TEST(NodeHandle, InUseEndsTheSession)
{
    linked l;
    l.c->sender("other", "q", [](attach& a, source&, target&) { a.handle = handle{0}; });
    l.expect_ended("amqp:session:handle-in-use");
}

TEST(NodeHandle, ThatIsNotAttachedEndsTheSessionWhenSomethingIsSentOnIt)
{
    linked l;
    l.c->deliver("s", "x", [](transfer& t) { t.handle = handle{9}; });
    l.expect_ended("amqp:session:unattached-handle");
}

TEST(NodeHandle, ThatIsNotAttachedEndsTheSessionWhenItIsDetached)
{
    linked l;
    l.c->send(detach{.handle = handle{9}, .closed = true, .error = std::nullopt});
    l.expect_ended("amqp:session:unattached-handle");
}

// [2.7.2] "a peer MUST NOT ... outside of the handle-max range ... MUST close the connection with
// the framing-error error-code"
TEST(NodeHandle, BeyondHandleMaxIsAFramingError)
{
    for (auto const h : {1024u, 0x7fff'ffffu, 0xffff'ffffu}) {
        linked l;
        l.c->sender("far", "q", [&](attach& a, source&, target&) { a.handle = handle{h}; });
        EXPECT_EQ(l.c->wire(), "close(amqp:connection:framing-error)");
        l.n.expect_serves_others();
    }
}

TEST(NodeHandle, MayBeAsHighAsHandleMax)
{
    linked l;
    l.c->sender("last", "q", [](attach& a, source&, target&) { a.handle = handle{1023}; });
    EXPECT_EQ(l.c->wire_without_flows(), "attach(last h2 receiver source= target=q)");
}

// [2.6.2] Free again after both detaches.
TEST(NodeHandle, IsFreeAfterItsDetach)
{
    linked l;
    l.c->detach_link("s");
    EXPECT_EQ(l.c->wire_without_flows(), "detach(h0 closed)");
    l.c->sender("next", "q", [](attach& a, source&, target&) { a.handle = handle{0}; });
    EXPECT_EQ(l.c->wire_without_flows(), "attach(next h0 receiver source= target=q)");
}

// [2.7.2] A peer that takes one link only may detach it and attach the next without waiting.
TEST(NodeHandle, TheOnlyOneMayBeUsedAgainWithoutWaiting)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    auto b = raw_client::usual_begin();
    b.handle_max = handle{0};
    c.send(b);
    c.send(raw_client::usual_begin(), {}, raw_client::witness);
    std::ignore = c.wire();
    for (auto const* const name : {"a", "b", "c"}) {
        c.receiver(name, "q", [](attach& a, source&, target&) { a.handle = handle{0}; });
        c.detach_link(name);
    }
    EXPECT_EQ(c.wire_without_flows(),
              // Detached before the node had a say.
              "attach(a h0 sender source=null target=null) detach(h0 closed) "
              "attach(b h0 sender source=null target=null) detach(h0 closed) "
              "attach(c h0 sender source=null target=null) detach(h0 closed)");
}

// [2.7.2] A peer whose handle-max leaves the node no handle for its answer.
TEST(NodeHandle, ThatThePeersOwnHandleMaxForbidsToAnswerEndsTheSession)
{
    node_rig n;
    auto c = n.client();
    auto b = raw_client::usual_begin();
    b.handle_max = handle{0};
    c->send(b, {}, 3);
    c->receiver("a", "q", {}, 3);
    c->receiver("b", "q", {}, 3);
    EXPECT_EQ(c->wire_without_flows(), "begin(rc=3 noi=0 iw=1024) end(amqp:not-allowed)");
    c->bye();
    n.expect_serves_others();
}

// ---- the end of a session [2.5.3]

TEST(NodeSession, IsAnsweredWhenItEnds)
{
    linked l;
    l.c->send(sluice::end{});
    EXPECT_EQ(l.c->wire(), "end()");
}

TEST(NodeSession, ThatEndsWithAnErrorIsAnsweredWithoutOne)
{
    linked l;
    l.c->send(sluice::end{.error = error_view{.condition = "amqp:internal-error"}});
    EXPECT_EQ(l.c->wire(), "end()");
}

TEST(NodeSession, GivesBackWhatItHadNotSettledInOrder)
{
    linked l;
    auto other = l.n.client("other");
    l.c->credit("r", 10);
    for (auto const* const text : {"1", "2", "3"}) l.c->deliver("s", text);
    std::ignore = l.c->wire();
    l.c->send(sluice::end{});
    std::ignore = l.c->wire();
    other->receiver("r2");
    other->credit("r2", 10);
    EXPECT_EQ(other->wire_without_flows(),
              "attach(r2 h0 sender source=q target=) transfer(h0 id=0 '1' not-first count=1) "
              "transfer(h0 id=1 '2' not-first count=1) transfer(h0 id=2 '3' not-first count=1)");
}

}  // namespace
}  // namespace sluice::test
