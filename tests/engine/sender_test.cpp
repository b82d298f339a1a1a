// What a sender puts on the wire, its credit, and what it hears of its deliveries.
// [2.6.7, 2.6.12, 2.7.5]
#include "support/engine_peer.hpp"

#include <sluice/engine/sender.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A session with one sender that has no credit yet.
struct Sender : testing::Test {
    explicit Sender(e::session_options options = {})
        : s{(peer.open_session(std::move(options)), peer.open_sender())}
    {
    }

    /// Sends deliveries that a disposition can be about, and forgets the frames.
    void send_unsettled(std::uint32_t count)
    {
        for (std::uint32_t i = 0; i < count; ++i) std::ignore = s.send({body});
        std::ignore = peer.frames();
    }
    void disposed(std::uint32_t first, std::optional<std::uint32_t> last, bool settled,
                  raw_value state = {encoded_accepted})
    {
        disposition d{.role = role::receiver,
                      .first = delivery_number{first},
                      .settled = settled,
                      .state = state};
        if (last)
            d.last = delivery_number{*last};
        peer.send(d);
    }

    engine_peer peer;
    e::sender& s;
    bytes const body = octets_of("x");
};

struct WrappingSender : Sender {
    WrappingSender()
        : Sender{{.next_outgoing_id = transfer_id{4294967294},
                  .next_delivery_id = delivery_number{4294967294}}}
    {
    }
};

TEST_F(Sender, SendsNothingWithoutCredit)
{
    std::ignore = s.send({body});
    EXPECT_EQ(peer.wire(), "");
    peer.grant(1, s);
    EXPECT_EQ(peer.events(), "credit(S 1)");
    std::ignore = s.send({body});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    EXPECT_EQ(s.credit(), 0u);
    EXPECT_EQ(s.delivery_count(), sequence_number{1});
    EXPECT_EQ(s.queued(), 1u);
    EXPECT_EQ(s.unsettled(), 1u);
}

TEST_F(Sender, JoinsBothPartsOfAPayload)
{
    peer.grant(3, s);
    auto const head = octets_of("head,");
    auto const tail = octets_of("tail");
    std::ignore = s.send({head, tail});
    std::ignore = s.send({{}, tail});
    std::ignore = s.send({});
    EXPECT_EQ(peer.wire(),
              "transfer(h0 id=0 'head,tail') transfer(h0 id=1 'tail') transfer(h0 id=2)");
}

TEST_F(Sender, EncodesEachTransferInTheShortestWay)
{
    peer.grant(1000, s);
    for (auto const settled : {false, true})
        for (std::size_t const tag : {0u, 1u, 32u})
            for (std::uint32_t const format : {0u, 7u, 300u})
                for (auto i = 0; i < 20; ++i)
                    std::ignore =
                        s.send({body}, {.settled = settled,
                                        .message_format = format,
                                        .tag = bytes_view{octets_of(std::string(tag, 't'))}});
    for (auto const& frame : peer.frames()) {
        auto const t = frame.as<transfer>();
        bytes again(8);
        append(again, t);
        again.insert(again.end(), body.begin(), body.end());
        write_frame_header(again.data(), static_cast<std::uint32_t>(again.size()), frame_type::amqp,
                           0);
        ASSERT_TRUE(same_bytes(frame.octets, again)) << frame.text();
        ASSERT_TRUE(t.delivery_tag && t.message_format);
    }
}

TEST_F(Sender, GivesEachDeliveryATagOfItsOwn)
{
    peer.grant(300, s);
    for (auto i = 0; i < 300; ++i) std::ignore = s.send({body});
    std::vector<bytes> tags;
    for (auto const& frame : peer.frames()) {
        auto const tag = *frame.as<transfer>().delivery_tag;
        tags.emplace_back(tag.begin(), tag.end());
    }
    std::sort(tags.begin(), tags.end());
    EXPECT_EQ(std::unique(tags.begin(), tags.end()), tags.end());
    EXPECT_EQ(tags.size(), 300u);
}

TEST_F(Sender, RefusesWhatNoTransferCanCarry)
{
    auto const tag = octets_of(std::string(33, 't'));
    EXPECT_EQ(s.send({body}, {.tag = bytes_view{tag}}).error(), error::invalid_argument);
    EXPECT_EQ(s.send({body}, {.resume = true}).error(), error::invalid_argument);
    auto const state = octets_of(std::string(257, 's'));
    EXPECT_EQ(s.send({body}, {.state = {state}}).error(), error::too_large);
    EXPECT_EQ(s.queued(), 0u);
}

TEST_F(Sender, SplitsADeliveryAndNamesItsIdTagAndFormatOnTheFirstFrameOnly)
{
    engine_peer small{{.outgoing_frame_max = 512}};
    small.open_session();
    auto& sender = small.open_sender();
    small.grant(10, sender);
    auto const large = octets_of(std::string(1200, 'y'));
    std::ignore = sender.send({large});
    std::ignore = sender.send({body});
    auto const frames = small.frames();
    ASSERT_EQ(frames.size(), 4u);
    std::size_t octets = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        auto const t = frames[i].as<transfer>();
        EXPECT_LE(frames[i].octets.size(), 512u);
        EXPECT_EQ(t.delivery_id.has_value(), i == 0 || i == 3) << i;
        EXPECT_EQ(t.delivery_tag.has_value(), i == 0 || i == 3) << i;
        EXPECT_EQ(t.message_format.has_value(), i == 0 || i == 3) << i;
        EXPECT_EQ(t.more, i < 2) << i;
        if (i < 3)
            octets += frames[i].octets.size() - frame_of(t).size();
    }
    EXPECT_EQ(octets, 1200u);
    EXPECT_EQ(frames[3].as<transfer>().delivery_id, delivery_number{1})
        << "one id a delivery, not one a frame";
    EXPECT_EQ(small.session->next_outgoing_id(), transfer_id{4});
    EXPECT_EQ(sender.delivery_count(), sequence_number{2});
}

TEST_F(Sender, ReportsTheOutcomeOfADelivery)
{
    peer.grant(10, s);
    send_unsettled(3);
    peer.forget_so_far();
    auto const state = encoded(delivery_state{rejected{}});
    disposed(1, std::nullopt, true, {state});
    EXPECT_EQ(peer.events(), "outcome(S 1 rejected settled)");
    disposed(0, 9, true);
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled) outcome(S 2 accepted settled)");
    EXPECT_EQ(s.unsettled(), 0u);
    disposed(0, 9, true);
    EXPECT_EQ(peer.events(), "");
}

TEST_F(Sender, ReportsADeliveryThatIsSettledWithoutAnOutcome)
{
    peer.grant(10, s);
    send_unsettled(1);
    peer.forget_so_far();
    disposed(0, std::nullopt, true, {});
    EXPECT_EQ(peer.events(), "outcome(S 0 settled)");
}

TEST_F(Sender, SettlesAnOutcomeThatItsPeerLeavesToIt)
{
    peer.grant(10, s);
    send_unsettled(3);
    peer.forget_so_far();
    disposed(0, 2, false);
    EXPECT_EQ(peer.wire(), "disposition(sender 0..2 settled accepted)");
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled) outcome(S 1 accepted settled) "
                             "outcome(S 2 accepted settled)");
}

TEST_F(Sender, LeavesTheLastWordToItsOwnerIfToldTo)
{
    auto options = link_named("T");
    options.auto_settle = false;
    auto& t = peer.open_sender(std::move(options));
    peer.grant(10, t);
    auto* const d = *t.send({body});
    peer.forget_so_far();
    disposed(0, std::nullopt, false);
    EXPECT_EQ(peer.events(), "outcome(T 0 accepted)");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(d->state(), e::outgoing_state::answered);
    EXPECT_FALSE(t.settle(*d));
    EXPECT_EQ(peer.wire(), "disposition(sender 0 settled accepted)");
    EXPECT_EQ(t.unsettled(), 0u);
}

TEST_F(Sender, CannotSettleADeliveryBeforeItsFirstFrame)
{
    auto* const d = *s.send({body});
    peer.forget_so_far();
    EXPECT_EQ(s.settle(*d), error::invalid_state);
    EXPECT_EQ(peer.wire(), "") << "a disposition would name an id that nothing has";
    peer.grant(1, s);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'x')");
    EXPECT_FALSE(s.settle(*d));
    EXPECT_EQ(peer.wire(), "disposition(sender 0 settled)");
}

TEST_F(Sender, ReportsWhatTheReceiverHasReceivedAsNoOutcome)
{
    peer.grant(10, s);
    send_unsettled(1);
    peer.forget_so_far();
    auto const state = encoded(delivery_state{received{.section_number = 1}});
    disposed(0, std::nullopt, false, {state});
    EXPECT_EQ(peer.events(), "outcome(S 0 received)");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(s.unsettled(), 1u);
}

TEST_F(Sender, ForgetsAPresettledDeliveryOnceItIsWritten)
{
    peer.grant(10, s);
    peer.forget_so_far();
    std::ignore = s.send({body}, {.settled = true});
    std::ignore = s.send({body}, {.settled = true, .notify_sent = true});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled 'x') transfer(h0 id=1 settled 'x')");
    EXPECT_EQ(peer.events(), "sent(S 1)");
    EXPECT_EQ(s.unsettled(), 0u);
}

TEST_F(Sender, KeepsToTheSettleModeOfItsLink)
{
    auto options = link_named("settled");
    options.snd_settle_mode = sender_settle_mode::settled;
    auto& always = peer.open_sender(options);
    options.name = "unsettled";
    options.snd_settle_mode = sender_settle_mode::unsettled;
    auto& never = peer.open_sender(options);
    peer.grant(1, always);
    peer.grant(1, never);
    std::ignore = always.send({body}, {.settled = false});
    std::ignore = never.send({body}, {.settled = true});
    EXPECT_EQ(peer.wire(), "transfer(h1 id=0 settled 'x') transfer(h2 id=1 'x')");
}

TEST_F(WrappingSender, CompletesARangeThatRunsOverTheWrap)
{
    peer.grant(10, s);
    send_unsettled(4);
    EXPECT_EQ(peer.session->counters().wraps, 1u);
    EXPECT_EQ(peer.session->next_outgoing_id(), transfer_id{2});
    peer.forget_so_far();
    peer.send_hex("0000001b 02000000 005315 c00e05 41 70fffffffe 5201 41 00532445");
    EXPECT_EQ(peer.events(),
              "outcome(S 4294967294 accepted settled) outcome(S 4294967295 accepted settled) "
              "outcome(S 0 accepted settled) outcome(S 1 accepted settled)");
    EXPECT_EQ(s.unsettled(), 0u);
}

TEST_F(WrappingSender, SettlesARangeOverTheWrapWithOneDisposition)
{
    peer.grant(10, s);
    send_unsettled(4);
    disposed(4294967294, 1, false);
    EXPECT_EQ(peer.wire(), "disposition(sender 4294967294..1 settled accepted)");
}

TEST_F(Sender, ChargesARangeWithWhatIsUnsettledInItAndNotWithItsLength)
{
    peer.grant(10, s);
    send_unsettled(2);
    peer.forget_so_far();
    for (auto i = 0; i < 1000; ++i) disposed(5, 5u + 0x7fff'ffffu, true);  // 2^31 ids a time
    EXPECT_EQ(peer.events(), "");
    disposed(0, 0x7fff'ffff, true);
    EXPECT_EQ(peer.events(), "outcome(S 0 accepted settled) outcome(S 1 accepted settled)");
    EXPECT_EQ(peer.wire(), "");
}

TEST_F(Sender, EndsTheSessionForARangeThatIsReversed)
{
    peer.grant(10, s);
    send_unsettled(2);
    peer.forget_so_far();
    disposed(0, 0xffff'ffff, true);
    EXPECT_EQ(peer.events(), "session_ended(delivery_id amqp:invalid-field)")
        << "and nobody is settled";
    EXPECT_EQ(peer.wire(), "end(amqp:invalid-field)");
    auto const text = peer.session->error().description;
    EXPECT_NE(text.find("4294967295"), std::string::npos) << text;
    EXPECT_NE(text.find("first, 0"), std::string::npos) << text;
    EXPECT_TRUE(peer.engine.opened());
}

TEST_F(Sender, ResumesADeliveryUnderItsTag)
{
    peer.grant(10, s);
    auto const tag = octets_of("old");
    auto const state = encoded(delivery_state{received{.section_number = 2}});
    std::ignore = s.send({body}, {.resume = true, .tag = bytes_view{tag}, .state = {state}});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 resume received 'x')");
}

TEST_F(Sender, TakesAnAbsentAndAZeroMaxMessageSizeAsNoLimit)
{
    auto const large = octets_of(std::string(1025, 'y'));
    auto const none = std::optional<std::uint64_t>{};
    auto number = 0;
    for (auto const limit :
         {none, std::optional<std::uint64_t>{0}, std::optional{18446744073709551615u}}) {
        auto& l = peer.open_sender(link_named("L" + std::to_string(++number)),
                                   {.max_message_size = limit});
        peer.grant(1, l);
        EXPECT_TRUE(l.send({large}));
        EXPECT_EQ(peer.frames().size(), 1u) << number;
    }
}

TEST_F(Sender, RefusesAMessageBeyondThePeersMaxMessageSizeAndGoesOn)
{
    auto& l = peer.open_sender(link_named("L"), {.max_message_size = 1024u});
    peer.grant(2, l);
    auto const large = octets_of(std::string(1025, 'y'));
    EXPECT_EQ(l.send({large}).error(), error::message_size_exceeded);
    EXPECT_EQ((l.send({bytes_view{large}.first(1), bytes_view{large}.subspan(1)}).error()),
              error::message_size_exceeded);
    EXPECT_TRUE(l.send({bytes_view{large}.first(1024)}));
    EXPECT_EQ(peer.wire(), "transfer(h1 id=0 1024 octets)");
    EXPECT_EQ(l.credit(), 1u);
}

}  // namespace
}  // namespace sluice::test
