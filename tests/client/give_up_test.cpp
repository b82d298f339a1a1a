// Deadlines and cancellation: what each leaves behind, on the wire and for the next call.
#include "support/client_rig.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::outcome;
using std::chrono::milliseconds;

/// A send that can be cancelled.
struct cancellable_send {
    boost::asio::cancellation_signal signal;
    std::promise<std::pair<error_code, outcome>> done;

    void start(client::sender const& s, client::encoded_message m)
    {
        s.async_send(std::move(m), boost::asio::bind_cancellation_slot(
                                       signal.slot(), [this](error_code ec, outcome o) {
                                           done.set_value({ec, std::move(o)});
                                       }));
    }
    error_code cancel()
    {
        signal.emit(boost::asio::cancellation_type::terminal);
        return get(done.get_future()).first;
    }
};

TEST(GiveUp, ASendThatWaitsForCreditIsWithdrawn)
{
    client_rig rig;
    auto const sender = rig.sender();
    cancellable_send send;
    send.start(sender, {data_message("never")});
    EXPECT_EQ(send.cancel(), error::operation_aborted);
    rig.peer.grant(5, 0);
    auto next =
        in_background([&] { return sender.send(client::encoded_message{data_message("next")}); });
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_EQ(t->delivery_id, delivery_number{0});  // no id was used
    EXPECT_TRUE(same_bytes(t.payload, data_message("next")));
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(next).value->accepted());
    EXPECT_EQ(rig.session.counters().transfers_written, 1u);
}

TEST(GiveUp, ASendHalfOnTheWireIsAborted)
{
    client_rig rig;
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    rig.peer.attach_link();
    auto const sender = get(opening).value.value();
    rig.peer.grant(5, 0, 1);  // a window of one frame
    cancellable_send send;
    send.start(sender, {bytes(200'000)});
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->more);
    EXPECT_EQ(send.cancel(), error::operation_aborted);
    rig.peer.grant(5, 1, 10);
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(t->aborted);
    EXPECT_TRUE(t.payload.empty());
    auto next = in_background([&] { return sender.send("next"); });
    EXPECT_EQ(rig.peer.skip_to<transfer>()->delivery_id, delivery_number{1});
    rig.peer.settle(1, 1);
    EXPECT_TRUE(get(next).value->accepted());
}

TEST(GiveUp, ASendWholeOnTheWireHasAnUnknownOutcome)
{
    client_rig rig;
    auto const sender = rig.sender(5);
    cancellable_send send;
    send.start(sender, {data_message("x")});
    rig.peer.skip_to<transfer>();
    EXPECT_EQ(send.cancel(), error::outcome_unknown);
    rig.peer.settle(0, 0);  // late: dropped
    auto next = in_background([&] { return sender.send("next"); });
    EXPECT_EQ(rig.peer.skip_to<transfer>()->delivery_id, delivery_number{1});
    rig.peer.settle(1, 1);
    EXPECT_TRUE(get(next).value->accepted());
}

TEST(GiveUp, ASendsTimeRunsFromItsCredit)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto call = in_background([&] { return sender.send("x", {.timeout = milliseconds{200}}); });
    // Its time does not run without credit: another deadline of the same length passes meanwhile.
    auto const receiver = rig.receiver();
    EXPECT_EQ(get(in_background([&] { receiver.receive(milliseconds{400}); })).code,
              error::timed_out);
    EXPECT_NE(call.wait_for(milliseconds{0}), std::future_status::ready);
    rig.peer.grant(1, 0);
    rig.peer.skip_to<transfer>();
    EXPECT_EQ(get(call).code, error::outcome_unknown);
}

TEST(GiveUp, AnOpenThatIsNotAnsweredDetachesTheLink)
{
    client_rig rig;
    client::sender_options options;
    options.timeout = milliseconds{200};
    auto call = in_background([&] { return rig.session.open_sender("q", options); });
    auto late = rig.peer.skip_to<attach>();
    auto const r = get(call);
    EXPECT_EQ(r.code, error::timed_out);
    EXPECT_NE(r.what.find("no answer to the attach of the sender to 'q'"), std::string::npos)
        << r.what;
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
    // The late answer is dropped, and the next link is not taken for this one.
    late.value.role = role::receiver;
    rig.peer.send(late.value);
    rig.peer.send(detach{.handle = handle{0}, .closed = true});
    auto const next = rig.sender(1);
    EXPECT_EQ(next.error(), nullptr);
}

TEST(GiveUp, ABeginThatIsNotAnsweredEndsTheSession)
{
    client_rig rig;
    auto call = in_background([&] { return rig.connection.begin({.timeout = milliseconds{200}}); });
    auto const theirs = rig.peer.skip_to<begin>();
    EXPECT_EQ(get(call).code, error::timed_out);
    EXPECT_EQ(rig.peer.skip_to<end>().from.header.channel, theirs.from.header.channel);
    auto next = in_background([&] { return rig.connection.begin(); });
    auto const second = rig.peer.skip_to<begin>();
    EXPECT_NE(second.from.header.channel,
              theirs.from.header.channel);  // not used again before the peer's end
    rig.peer.send(begin{.remote_channel = second.from.header.channel,
                        .incoming_window = 1,
                        .outgoing_window = 1},
                  5);
    EXPECT_TRUE(get(next).value);
}

TEST(GiveUp, ACloseOfALinkThatIsNotAnsweredIsFinalHere)
{
    client_rig rig;
    client::sender_options options;
    options.timeout = milliseconds{500};  // for the attach as well, which is answered
    auto opening = in_background([&] { return rig.session.open_sender("q", options); });
    rig.peer.attach_link();
    auto const sender = get(opening).value.value();
    auto const r = get(in_background([&] { sender.close(); }));
    EXPECT_EQ(r.code, error::timed_out);
    EXPECT_EQ(sender.error()->code, make_error_code(error::closed_locally));
    EXPECT_EQ(get(in_background([&] { sender.send("x"); })).code, error::closed_locally);
}

TEST(GiveUp, AnEndThatIsNotAnsweredIsFinalHere)
{
    client_rig rig{{.timeout = milliseconds{500}}};  // for the begin as well
    EXPECT_EQ(get(in_background([&] { rig.session.end(); })).code, error::timed_out);
    EXPECT_EQ(get(in_background([&] { rig.session.open_sender("q"); })).code,
              error::closed_locally);
    EXPECT_EQ(rig.connection.error(), nullptr);
}

TEST(GiveUp, ACloseThatIsNotAnsweredClosesTheTransport)
{
    client_rig rig{{}, {.timeout = milliseconds{1'000}}};
    auto call = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<end>();
    auto const r = get(call);
    EXPECT_EQ(r.code, error::timed_out);
    rig.peer.read_to_end();
}

TEST(GiveUp, ADrainThatIsNotAnsweredClosesNothing)
{
    client_rig rig;
    client::receiver_options options;
    options.timeout = milliseconds{500};  // for the attach as well
    auto const receiver = rig.receiver(options);
    EXPECT_EQ(get(in_background([&] { receiver.drain(); })).code, error::timed_out);
    EXPECT_EQ(receiver.error(), nullptr);
}

TEST(GiveUp, ACancelledOpenCompletesAtOnce)
{
    client_rig rig;
    boost::asio::cancellation_signal signal;
    std::promise<error_code> done;
    rig.session.async_open_receiver(
        "q", boost::asio::bind_cancellation_slot(
                 signal.slot(), [&](error_code ec, client::receiver) { done.set_value(ec); }));
    rig.peer.skip_to<attach>();
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(get(done.get_future()), error::operation_aborted);
    rig.peer.skip_to<detach>();
}

TEST(GiveUp, ACancelledReceiveLosesNoDelivery)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    boost::asio::cancellation_signal signal;
    std::promise<error_code> done;
    receiver.async_receive(boost::asio::bind_cancellation_slot(
        signal.slot(), [&](error_code ec, client::delivery) { done.set_value(ec); }));
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(get(done.get_future()), error::operation_aborted);
    rig.peer.deliver(0, data_message("x"));
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(); })).value);
}

TEST(GiveUp, AMillisecondDeadlineOftenLeavesNothingBehind)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const receiver = rig.receiver();
    std::atomic<int> left{1000};
    std::promise<void> all;
    for (int i = 0; i < 500; ++i) {
        receiver.async_receive(milliseconds{1}, [&](error_code ec, client::delivery) {
            EXPECT_EQ(ec, error::timed_out);
            if (--left == 0)
                all.set_value();
        });
        auto const send = std::make_shared<boost::asio::cancellation_signal>();
        sender.async_send("never", boost::asio::bind_cancellation_slot(
                                       send->slot(), [&, send](error_code ec, outcome) {
                                           EXPECT_EQ(ec, error::operation_aborted);
                                           if (--left == 0)
                                               all.set_value();
                                       }));
        send->emit(boost::asio::cancellation_type::terminal);
    }
    get(all.get_future());
    EXPECT_EQ(sender.outstanding(), 0u);
    rig.peer.grant(10, 0);
    auto next =
        in_background([&] { return sender.send(client::encoded_message{data_message("next")}); });
    EXPECT_TRUE(same_bytes(rig.peer.skip_to<transfer>().payload, data_message("next")));
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(next).value);
}

}  // namespace
}  // namespace sluice::test
