// Transfers and dispositions: what the node takes, and what it answers to what it does not. [2.6.7,
// 2.6.12-14, 2.7.5, 2.7.6]
#include "support/node_rig.hpp"

namespace sluice::test {
namespace {

/// Senders "s" and "t" and a receiver "r" on channel 0. "t" breaks no rule.
struct three_links {
    node_rig n;
    std::unique_ptr<raw_client> c;

    explicit three_links(node::node_options options = {}) : n{std::move(options)}, c{n.client()}
    {
        c->sender("s");
        c->sender("t", "other");
        c->receiver("r");
        std::ignore = c->wire();
    }
    /// Link "s" is detached with this condition; the others of the session go on.
    void expect_detached(std::string const& condition)
    {
        EXPECT_EQ(c->wire_without_flows(), "detach(h0 closed " + condition + ")");
        c->detach_link("s");
        auto const id = c->state_of(0).next_delivery;
        c->deliver("t", "alive");
        EXPECT_EQ(c->wire_without_flows(),
                  "disposition(receiver " + std::to_string(id) + " settled accepted)");
        c->sender("s");
        EXPECT_EQ(c->wire_without_flows(), "attach(s h0 receiver source= target=q)");
        c->bye();
        n.expect_serves_others();
    }
    void expect_ended(std::string const& condition)
    {
        EXPECT_EQ(c->wire_without_flows(), "end(" + condition + ")");
        c->send(sluice::end{});
        c->bye();
        n.expect_serves_others();
    }
};

// ---- transfer [2.7.5]

TEST(NodeTransfer, WithoutAHandleIsADecodeError)
{
    three_links l;
    l.c->send_octets(raw_hex_frame("00 53 14 c0 02 01 40"));
    EXPECT_EQ(l.c->wire(), "close(amqp:decode-error)");
    l.n.expect_serves_others();
}

// "The delivery-id MUST be supplied on the first transfer of a multi-transfer delivery"
TEST(NodeTransfer, ThatIsTheFirstNeedsADeliveryId)
{
    three_links l;
    l.c->deliver("s", "x", [](transfer& t) { t.delivery_id = std::nullopt; });
    l.expect_detached("amqp:invalid-field");
}

// "This field MUST be specified for the first transfer"
TEST(NodeTransfer, ThatIsTheFirstNeedsADeliveryTag)
{
    three_links l;
    l.c->deliver("s", "x", [](transfer& t) { t.delivery_tag = std::nullopt; });
    l.c->state_of(0).next_delivery = 0;  // it was not used
    l.expect_detached("amqp:invalid-field");
}

// [2.8.7] "A delivery-tag can be up to 32 octets": more is a value that the type does not have.
TEST(NodeTransfer, WithATagOfMoreThan32OctetsIsADecodeError)
{
    three_links l;
    auto const tag = bytes(33, std::byte{7});
    l.c->deliver("s", "x", [&](transfer& t) { t.delivery_tag = bytes_view{tag}; });
    EXPECT_EQ(l.c->wire(), "close(amqp:decode-error)");
    l.n.expect_serves_others();
}

TEST(NodeTransfer, MayHaveATagOf32Octets)
{
    three_links l;
    auto const tag = bytes(32, std::byte{7});
    l.c->deliver("s", "x", [&](transfer& t) { t.delivery_tag = bytes_view{tag}; });
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

// [2.6.12] Of an unsettled delivery; a settled one is never spoken of again.
TEST(NodeTransfer, MayHaveAnEmptyTagWhenItIsSettled)
{
    three_links l;
    l.c->deliver("s", "x", [](transfer& t) {
        t.delivery_tag = bytes_view{};
        t.settled = true;
    });
    l.c->credit("r", 1);
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h2 id=0 'x')");
}

// [2.7.5, 2.8.4] delivery-ids are a sequence of the session.
TEST(NodeTransfer, WithADeliveryIdThatLeavesAGapEndsTheSession)
{
    three_links l;
    l.c->deliver("s", "x");
    std::ignore = l.c->wire();
    l.c->deliver("s", "y", [](transfer& t) { t.delivery_id = delivery_number{2}; });
    l.expect_ended("amqp:invalid-field");
}

TEST(NodeTransfer, WithADeliveryIdThatWasUsedEndsTheSession)
{
    three_links l;
    l.c->deliver("s", "x");
    std::ignore = l.c->wire();
    l.c->deliver("t", "y", [](transfer& t) { t.delivery_id = delivery_number{0}; });
    l.expect_ended("amqp:invalid-field");
}

TEST(NodeTransfer, MayBeginItsDeliveryIdsAnywhereAndWrap)
{
    three_links l;
    l.c->state_of(0).next_delivery = 0xffff'ffff;
    l.c->deliver("s", "x");
    l.c->deliver("t", "y");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 4294967295..0 settled accepted)");
}

/// The first frame of a delivery of several.
void begin_delivery(raw_client& c, std::string_view payload)
{
    c.deliver("s", octets_of(payload), [](transfer& t) { t.more = true; });
}
void go_on(raw_client& c, std::string_view payload, raw_client::change_transfer const& change)
{
    c.deliver("s", octets_of(payload), [&](transfer& t) {
        t.delivery_id = std::nullopt;
        t.delivery_tag = std::nullopt;
        t.message_format = std::nullopt;
        change(t);
    });
}

// "...it is an error if the delivery-id on a continuation transfer differs from the delivery-id on
// the first transfer"
TEST(NodeTransfer, ThatContinuesWithAnotherDeliveryIdDetachesItsLink)
{
    three_links l;
    begin_delivery(*l.c, "abc");
    go_on(*l.c, "def", [](transfer& t) {
        t.delivery_id = delivery_number{1};
        t.more = true;
    });
    l.c->state_of(0).next_delivery = 1;
    l.expect_detached("amqp:invalid-field");
}

// "...it is an error if the delivery-tag on a continuation transfer differs"
TEST(NodeTransfer, ThatContinuesWithAnotherTagDetachesItsLink)
{
    three_links l;
    begin_delivery(*l.c, "abc");
    auto const tag = octets_of("other");
    go_on(*l.c, "def", [&](transfer& t) {
        t.delivery_tag = bytes_view{tag};
        t.more = true;
    });
    l.expect_detached("amqp:invalid-field");
}

// "...it is an error if the message-format on a continuation transfer differs"
TEST(NodeTransfer, ThatContinuesWithAnotherMessageFormatDetachesItsLink)
{
    three_links l;
    begin_delivery(*l.c, "abc");
    go_on(*l.c, "def", [&](transfer& t) {
        t.message_format = 77;
        t.more = true;
    });
    l.expect_detached("amqp:invalid-field");
}

TEST(NodeTransfer, MayRepeatWhatItsFirstFrameSaid)
{
    three_links l;
    auto const whole = text_message("in two parts");
    auto const tag = octets_of("s0");
    auto const repeat = [&](transfer& t) {
        t.delivery_id = delivery_number{0};
        t.delivery_tag = bytes_view{tag};
        t.message_format = 0;
    };
    l.c->deliver("s", bytes_view{whole}.first(7), [](transfer& t) { t.more = true; });
    l.c->deliver("s", bytes_view{whole}.subspan(7), repeat);
    l.c->credit("r", 1);
    EXPECT_EQ(l.c->wire_without_flows(),
              "disposition(receiver 0 settled accepted) transfer(h2 id=0 'in two parts')");
}

// [2.6.14] Deliveries of different links interleave; those of one do not.
TEST(NodeTransfer, OfOneLinkMayComeBetweenThoseOfAnother)
{
    three_links l;
    auto const whole = text_message("long");
    l.c->deliver("s", bytes_view{whole}.first(4), [](transfer& t) { t.more = true; });
    l.c->deliver("t", "short");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 1 settled accepted)");
    l.c->deliver("s", bytes_view{whole}.subspan(4), [](transfer& t) {
        t.delivery_id = std::nullopt;
        t.delivery_tag = std::nullopt;
    });
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

// "aborted messages SHOULD be discarded by the recipient"
TEST(NodeTransfer, ThatIsAbortedIsNoMessageAndGivesItsCreditBack)
{
    node::node_options o;
    o.credit = 1;
    three_links l{o};
    for (std::uint32_t i = 0; i < 3; ++i) {
        begin_delivery(*l.c, "abc");
        go_on(*l.c, "", [](transfer& t) { t.aborted = true; });
        EXPECT_EQ(l.c->wire(), "flow(nii=" + std::to_string(2 * i + 2)
                                   + " iw=1024 noi=0 h0 dc=" + std::to_string(i + 1) + " lc=1)");
    }
    EXPECT_EQ(l.n.node.read("q")->length, 0u);
}

// "...a transfer with aborted=true ... more ... ignored": aborted at its first frame.
TEST(NodeTransfer, MayBeAbortedAtItsFirstFrame)
{
    three_links l;
    l.c->deliver("s", "x", [](transfer& t) { t.aborted = true; });
    l.c->deliver("s", "y");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 1 settled accepted)");
    EXPECT_EQ(l.n.node.read("q")->length, 1u);
}

// Settled on the last frame though not on the first. [2.7.5]
TEST(NodeTransfer, MayBeSettledOnALaterFrame)
{
    three_links l;
    auto const whole = text_message("x");
    l.c->deliver("s", bytes_view{whole}.first(4), [](transfer& t) { t.more = true; });
    l.c->deliver("s", bytes_view{whole}.subspan(4), [](transfer& t) {
        t.delivery_id = std::nullopt;
        t.delivery_tag = std::nullopt;
        t.settled = true;
    });
    EXPECT_EQ(l.c->wire_without_flows(), "");
    EXPECT_EQ(l.n.node.read("q")->length, 1u);
}

// [2.8.18] transfer-limit-exceeded
TEST(NodeTransfer, BeyondTheCreditDetachesItsLink)
{
    node::node_options o;
    o.credit = 2;
    three_links l{o};
    for (int i = 0; i < 600; ++i) l.c->deliver("s", "x");
    auto const text = l.c->wire_without_flows();
    EXPECT_TRUE(text.ends_with("detach(h0 closed amqp:link:transfer-limit-exceeded)")) << text;
    l.n.expect_serves_others();
}

// [2.7.3] max-message-size, [2.8.18] message-size-exceeded
TEST(NodeTransfer, OfAMessageOverMaxMessageSizeDetachesItsLink)
{
    node::node_options o;
    o.message_size_max = 100;
    three_links l{o};
    l.c->deliver("s", text_message(std::string(200, 'x')));
    l.expect_detached("amqp:link:message-size-exceeded");
}

TEST(NodeTransfer, OfAMessageOverMaxMessageSizeInPartsDetachesItsLink)
{
    node::node_options o;
    o.message_size_max = 100;
    three_links l{o};
    begin_delivery(*l.c, std::string(60, 'x'));
    go_on(*l.c, std::string(60, 'x'), [](transfer& t) { t.more = true; });
    l.expect_detached("amqp:link:message-size-exceeded");
}

TEST(NodeTransfer, OfAMessageAsLargeAsMaxMessageSizeIsTaken)
{
    node::node_options o;
    auto const whole = text_message("as large as may be");
    o.message_size_max = whole.size();
    three_links l{o};
    l.c->deliver("s", whole);
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

// Only senders transfer.
TEST(NodeTransfer, FromTheReceiverOfALinkDetachesIt)
{
    three_links l;
    l.c->deliver("r", "x");
    EXPECT_EQ(l.c->wire_without_flows(), "detach(h2 closed amqp:not-allowed)");
    l.c->deliver("t", "alive");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 1 settled accepted)");
}

// [2.6.6] What crosses with our detach is dropped, and counts.
TEST(NodeTransfer, ThatCrossesWithTheNodesDetachIsDropped)
{
    three_links l;
    ASSERT_FALSE(l.n.node.remove("q"));
    l.c->deliver("s", "too late");
    l.c->deliver("t", "in time");
    l.c->send(l.c->exact_flow());
    EXPECT_EQ(l.c->wire_without_flows(),
              "detach(h2 closed amqp:resource-deleted) detach(h0 closed amqp:resource-deleted) "
              "disposition(receiver 1 settled accepted)");
}

// ---- settlement [2.6.12, 2.7.3]

/// A sender "s" in these modes, and what the node says of a message on it.
std::string answer_in_modes(sender_settle_mode snd, receiver_settle_mode rcv,
                            std::optional<bool> settled)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", [&](attach& a, source&, target&) {
        a.snd_settle_mode = snd;
        a.rcv_settle_mode = rcv;
    });
    std::ignore = c->wire();
    EXPECT_EQ(c->last<attach>().snd_settle_mode, snd);
    EXPECT_EQ(c->last<attach>().rcv_settle_mode, rcv);
    c->deliver("s", "x", [&](transfer& t) { t.settled = settled; });
    return c->wire_without_flows();
}

TEST(NodeSettlement, IsSaidOfUnsettledDeliveriesOnly)
{
    using snd = sender_settle_mode;
    using rcv = receiver_settle_mode;
    auto const accepted = std::string{"disposition(receiver 0 settled accepted)"};
    EXPECT_EQ(answer_in_modes(snd::mixed, rcv::first, false), accepted);
    EXPECT_EQ(answer_in_modes(snd::mixed, rcv::first, true), "");
    EXPECT_EQ(answer_in_modes(snd::unsettled, rcv::first, std::nullopt), accepted);
    EXPECT_EQ(answer_in_modes(snd::settled, rcv::first, true), "");
}

// [2.8.2] "settled: the sender will send all deliveries settled"
TEST(NodeSettlement, OfASenderThatSendsUnsettledAgainstItsModeDetachesTheLink)
{
    EXPECT_EQ(answer_in_modes(sender_settle_mode::settled, receiver_settle_mode::first, false),
              "detach(h0 closed amqp:not-allowed)");
}

// [2.8.2] "unsettled: the sender will send all deliveries initially unsettled"
TEST(NodeSettlement, OfASenderThatSendsSettledAgainstItsModeDetachesTheLink)
{
    EXPECT_EQ(answer_in_modes(sender_settle_mode::unsettled, receiver_settle_mode::first, true),
              "detach(h0 closed amqp:not-allowed)");
}

// [2.8.3] second: the receiver settles after the sender has.
TEST(NodeSettlement, InModeSecondComesAfterTheSenders)
{
    node_rig n;
    auto c = n.client();
    c->sender("s", "q", [](attach& a, source&, target&) {
        a.rcv_settle_mode = receiver_settle_mode::second;
    });
    std::ignore = c->wire();
    c->deliver("s", "x");
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 accepted)");
    c->send(disposition{.role = role::sender,
                        .first = delivery_number{0},
                        .last = std::nullopt,
                        .settled = true,
                        .state = {encoded_accepted}});
    EXPECT_EQ(c->wire_without_flows(), "");
    EXPECT_EQ(n.node.read("q")->length, 1u);
}

// [2.7.5] rcv-settle-mode of one delivery
TEST(NodeSettlement, InModeSecondMayBeAskedForOnATransfer)
{
    three_links l;
    l.c->deliver("s", "x", [](transfer& t) { t.rcv_settle_mode = receiver_settle_mode::second; });
    EXPECT_TRUE(l.c->wire_without_flows().starts_with("d"));
}

/// A receiver in these modes, and how a message comes to it.
std::string delivery_in_mode(sender_settle_mode snd)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("r", "q", [&](attach& a, source&, target&) { a.snd_settle_mode = snd; });
    std::ignore = c->wire();
    c->credit("r", 5);
    c->deliver("s", "x");
    auto const text = c->wire_without_flows();
    c->detach_link("r");
    std::ignore = c->wire();
    auto const left = n.node.read("q");
    return text.substr(text.find("transfer")) + " then "
           + (left && left->length > 0 ? "back" : "gone");
}

// [2.8.2] What the receiver asks for is what it gets.
TEST(NodeSettlement, OfWhatTheNodeSendsIsAsTheReceiverAsked)
{
    EXPECT_EQ(delivery_in_mode(sender_settle_mode::settled),
              "transfer(h1 id=0 settled 'x') then gone");
    EXPECT_EQ(delivery_in_mode(sender_settle_mode::unsettled), "transfer(h1 id=0 'x') then back");
    EXPECT_EQ(delivery_in_mode(sender_settle_mode::mixed), "transfer(h1 id=0 'x') then back");
}

// [2.6.12] A receiver in mode second states first; the node then settles.
TEST(NodeSettlement, OfWhatTheNodeSendsIsTheNodesFirstInModeSecond)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    c->receiver("r", "q", [](attach& a, source&, target&) {
        a.rcv_settle_mode = receiver_settle_mode::second;
    });
    std::ignore = c->wire();
    c->credit("r", 1);
    c->deliver("s", "x");
    std::ignore = c->wire();
    c->send(disposition{.role = role::receiver,
                        .first = delivery_number{0},
                        .last = std::nullopt,
                        .settled = false,
                        .state = {encoded_accepted}});
    EXPECT_EQ(c->wire_without_flows(), "disposition(sender 0 settled accepted)");
    EXPECT_EQ(n.node.read("q")->length, 0u);
}

// ---- disposition [2.7.6]

TEST(NodeDisposition, WithoutItsMandatoryFieldsIsADecodeError)
{
    for (auto const* const body :
         {"00 53 15 c0 03 02 40 43", "00 53 15 c0 03 02 41 40", "00 53 15 45"}) {
        three_links l;
        l.c->send_octets(raw_hex_frame(body));
        EXPECT_EQ(l.c->wire(), "close(amqp:decode-error)") << body;
    }
}

TEST(NodeDisposition, WhoseLastPrecedesItsFirstEndsTheSession)
{
    three_links l;
    l.c->settle(5, 3, accepted{});
    l.expect_ended("amqp:invalid-field");
}

// RFC 1982: 2^32 - 1 precedes 0.
TEST(NodeDisposition, OfAllNumbersThereAreIsReversedAndEndsTheSession)
{
    three_links l;
    l.c->settle(0, 0xffff'ffff, accepted{});
    l.expect_ended("amqp:invalid-field");
}

TEST(NodeDisposition, OfHalfOfAllNumbersIsTakenAtOnce)
{
    three_links l;
    l.c->credit("r", 3);
    for (int i = 0; i < 3; ++i) l.c->deliver("s", "x");
    std::ignore = l.c->wire();
    l.c->settle(0, 0x7fff'ffff, accepted{});
    EXPECT_EQ(l.c->wire_without_flows(), "");
    EXPECT_EQ(l.n.node.read("q")->length, 0u);
}

TEST(NodeDisposition, OfUnknownIdsIsIgnored)
{
    three_links l;
    l.c->settle(17, 99, accepted{});
    l.c->send(disposition{.role = role::sender,
                          .first = delivery_number{4},
                          .last = delivery_number{8},
                          .settled = true});
    EXPECT_EQ(l.c->wire_without_flows(), "");
    l.c->deliver("s", "alive");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

TEST(NodeDisposition, SettlesARangeOverSeveralLinks)
{
    three_links l;
    l.c->receiver("r2", "other");
    l.c->credit("r", 5);
    l.c->credit("r2", 5);
    l.c->deliver("s", "1");
    l.c->deliver("t", "2");
    l.c->deliver("s", "3");
    std::ignore = l.c->wire();
    l.c->settle(0, 2, accepted{});
    EXPECT_EQ(l.c->wire_without_flows(), "");
    EXPECT_EQ(l.n.node.read("q")->length + l.n.node.read("other")->length, 0u);
    EXPECT_EQ(l.n.node.stats().accepted, 3u);
}

// [3.4.1] received is not the last word.
TEST(NodeDisposition, ThatSaysReceivedLeavesTheMessageWithItsReceiver)
{
    three_links l;
    l.c->credit("r", 3);
    l.c->deliver("s", "x");
    std::ignore = l.c->wire();
    auto const state = encoded(delivery_state{received{.section_number = 0, .section_offset = 1}});
    l.c->send(disposition{.role = role::receiver,
                          .first = delivery_number{0},
                          .last = std::nullopt,
                          .settled = false,
                          .state = {state}});
    EXPECT_EQ(l.c->wire_without_flows(), "");
    EXPECT_EQ(l.n.node.read("q")->ready, 0u);
    EXPECT_EQ(l.n.node.read("q")->length, 1u);
}

// ---- drain and credit [2.6.7]

TEST(NodeDrain, IsAnsweredWhenThereIsNothing)
{
    three_links l;
    l.c->credit("r", 7, true);
    EXPECT_EQ(l.c->wire(), "flow(nii=0 iw=1024 noi=0 h2 dc=7 lc=0 drain)");
}

TEST(NodeDrain, IsAnsweredAfterWhatThereIs)
{
    three_links l;
    l.c->deliver("s", "1");
    l.c->deliver("s", "2");
    std::ignore = l.c->wire();
    l.c->credit("r", 7, true);
    EXPECT_EQ(l.c->wire(), "transfer(h2 id=0 '1') transfer(h2 id=1 '2') "
                           "flow(nii=2 iw=1024 noi=2 h2 dc=7 lc=0 drain)");
    l.c->deliver("s", "3");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 2 settled accepted)");
}

TEST(NodeCredit, IsNeverExceeded)
{
    three_links l;
    for (int i = 0; i < 5; ++i) l.c->deliver("s", "x");
    std::ignore = l.c->wire();
    l.c->credit("r", 2);
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h2 id=0 'x') transfer(h2 id=1 'x')");
    l.c->credit("r", 1);
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h2 id=2 'x')");
}

// [2.6.7] link-credit counts from the delivery-count that the receiver knew.
TEST(NodeCredit, CountsFromTheReceiversDeliveryCount)
{
    three_links l;
    for (int i = 0; i < 5; ++i) l.c->deliver("s", "x");
    l.c->credit("r", 2);
    std::ignore = l.c->wire();
    auto f = l.c->exact_flow();
    f.handle = l.c->handle_of("r");
    f.delivery_count = sequence_number{1};
    f.link_credit = 2;  // one of them is used
    l.c->send(f);
    EXPECT_EQ(l.c->wire_without_flows(), "transfer(h2 id=2 'x')");
}

TEST(NodeCredit, MayBeAsMuchAsThereCanBe)
{
    three_links l;
    l.c->credit("r", 0xffff'ffff);
    l.c->deliver("s", "x");
    EXPECT_EQ(l.c->wire_without_flows(),
              "disposition(receiver 0 settled accepted) transfer(h2 id=0 'x')");
}

TEST(NodeCredit, MayBeTakenBack)
{
    three_links l;
    l.c->credit("r", 5);
    l.c->credit("r", 0);
    l.c->deliver("s", "x");
    EXPECT_EQ(l.c->wire_without_flows(), "disposition(receiver 0 settled accepted)");
}

}  // namespace
}  // namespace sluice::test
