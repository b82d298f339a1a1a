// Sends: outcomes, credit, settle modes, limits.
#include "support/client_rig.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::outcome;
using client::send_options;

bytes encoded_state(delivery_state const& s)
{
    bytes out;
    append(out, s);
    return out;
}

TEST(Send, CompletesWithTheOutcome)
{
    client_rig rig;
    auto const sender = rig.sender(10);
    std::vector<std::future<outcome>> calls;
    for (int i = 0; i < 4; ++i)
        calls.push_back(sender.async_send("hello", boost::asio::use_future));
    for (std::uint32_t i = 0; i < 4; ++i) {
        auto const t = rig.peer.skip_to<transfer>();
        EXPECT_EQ(t->delivery_id, delivery_number{i});
        EXPECT_FALSE(t->settled.value_or(false));
        message m;
        ASSERT_FALSE(decode(t.payload, m));
        EXPECT_EQ(m.body_text(), "hello");
    }
    rig.peer.settle(0, 0);
    rig.peer.settle(
        1, 1,
        encoded_state(rejected{error_view{.condition = "amqp:not-allowed", .description = "no"}}));
    rig.peer.settle(2, 2, encoded_state(released{}));
    rig.peer.settle(3, 3,
                    encoded_state(modified{.delivery_failed = true, .undeliverable_here = true}));
    EXPECT_TRUE(get(calls[0]).accepted());
    auto const second = get(calls[1]);
    EXPECT_TRUE(second.rejected());
    EXPECT_EQ(second.error().to_string(), "amqp:not-allowed: no");
    EXPECT_EQ(second.to_string(), "rejected: amqp:not-allowed: no");
    EXPECT_THROW(second.or_throw(), boost::system::system_error);
    EXPECT_TRUE(get(calls[2]).released());
    auto const fourth = get(calls[3]);
    EXPECT_TRUE(fourth.modified());
    EXPECT_TRUE(fourth.delivery_failed());
    EXPECT_TRUE(fourth.undeliverable_here());
}

TEST(Send, WaitsForCreditAndThenGoesOutInOrder)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto first = sender.async_send("a", boost::asio::use_future);
    auto second = sender.async_send("b", boost::asio::use_future);
    rig.peer.grant(2, 0);
    message m;
    auto const a = rig.peer.skip_to<transfer>();
    ASSERT_FALSE(decode(a.payload, m));
    EXPECT_EQ(m.body_text(), "a");
    auto const b = rig.peer.skip_to<transfer>();
    ASSERT_FALSE(decode(b.payload, m));
    EXPECT_EQ(m.body_text(), "b");
    rig.peer.settle(0, 1);
    EXPECT_TRUE(get(first).accepted());
    EXPECT_TRUE(get(second).accepted());
}

TEST(Send, TrySendSaysNoCreditAtOnce)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const r = get(in_background([&] { return sender.try_send("x"); }));
    EXPECT_EQ(r.code, error::no_credit);
    rig.peer.grant(1, 0);
    auto call = in_background([&] {
        while (true) {  // the grant is on its way
            try {
                return sender.try_send("x");
            } catch (boost::system::system_error const& e) {
                if (e.code() != error::no_credit)
                    throw;
            }
        }
    });
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).value->accepted());
}

TEST(Send, PreSettledCompletesWithoutAWordOfThePeer)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto const r = get(in_background([&] { return sender.send("x", {.settled = true}); }));
    EXPECT_EQ(r.value->kind(), client::outcome_kind::none);
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->settled.value());
}

TEST(Send, EncodedMessagesGoOutAsTheyAre)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto const message = data_message("raw");
    auto call =
        sender.async_send(client::encoded_message{message},
                          {.message_format = 7, .tag = octets("tag")}, boost::asio::use_future);
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(same_bytes(t.payload, message));
    EXPECT_EQ(t->message_format, 7u);
    EXPECT_EQ(text_of(*t->delivery_tag), "tag");
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).accepted());
}

TEST(Send, ALargeMessageGoesOutInFrames)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    std::string const body(200'000, 'x');
    auto call =
        sender.async_send(client::encoded_message{data_message(body)}, boost::asio::use_future);
    bytes all;
    auto frames = 0;
    while (true) {
        auto const t = rig.peer.skip_to<transfer>();
        all.insert(all.end(), t.payload.begin(), t.payload.end());
        ++frames;
        if (!t->more)
            break;
    }
    EXPECT_EQ(frames, 4);
    EXPECT_EQ(all, data_message(body));
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).accepted());
}

TEST(Send, OneTooLargeForThePeerFailsHereAndTheLinkGoesOn)
{
    client_rig rig;
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    auto const theirs = rig.peer.expect<attach>();
    auto ours = theirs.value;
    ours.role = role::receiver;
    ours.max_message_size = 1024;
    rig.peer.send(ours);
    rig.peer.grant(5, 0);
    auto const sender = get(opening).value.value();
    auto const r =
        get(in_background([&] { return sender.send(client::encoded_message{bytes(1025)}); }));
    EXPECT_EQ(r.code, error::message_size_exceeded);
    auto call = sender.async_send(client::encoded_message{bytes(1024)}, boost::asio::use_future);
    EXPECT_EQ(rig.peer.skip_to<transfer>().payload.size(), 1024u);
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).accepted());
}

TEST(Send, OutstandingSendsHaveALimit)
{
    client_rig rig;
    client::sender_options options;
    options.outstanding_max = 2;
    auto const sender = rig.sender(0, options);
    auto first = sender.async_send("a", boost::asio::use_future);
    auto second = sender.async_send("b", boost::asio::use_future);
    auto const r = get(in_background([&] { return sender.send("c"); }));
    EXPECT_EQ(r.code, error::queue_full);
    EXPECT_NE(r.what.find("outstanding_max"), std::string::npos) << r.what;
    rig.peer.grant(2, 0);
    rig.peer.skip_to<transfer>();
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 1);
    EXPECT_TRUE(get(first).accepted());
    EXPECT_TRUE(get(second).accepted());
    EXPECT_EQ(sender.outstanding(), 0u);
}

TEST(Send, InModeSecondTheSenderSettlesAfterThePeer)
{
    client_rig rig;
    client::sender_options options;
    options.rcv_settle_mode = receiver_settle_mode::second;
    auto const sender = rig.sender(1, options);
    auto call = sender.async_send("x", boost::asio::use_future);
    rig.peer.skip_to<transfer>();
    rig.peer.send(disposition{.role = role::receiver,
                              .first = delivery_number{0},
                              .settled = false,
                              .state = {encoded_accepted}});
    EXPECT_TRUE(get(call).accepted());
    auto const d = rig.peer.skip_to<disposition>();
    EXPECT_EQ(d->role, role::sender);
    EXPECT_TRUE(d->settled);
}

TEST(Send, AnAbandonedSenderIsDetachedAfterItsOutcomes)
{
    client_rig rig;
    auto call = [&] {
        auto const sender = rig.sender(1);
        return sender.async_send("x", boost::asio::use_future);
    }();
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).accepted());
    EXPECT_TRUE(rig.peer.expect<detach>()->closed);
}

TEST(Send, EachTokenWorks)
{
    client_rig rig;
    auto const sender = rig.sender(3);
    std::promise<bool> on_session;
    sender.async_send("a", [&](error_code, outcome o) {
        on_session.set_value(o.accepted() && sender.get_executor().running_in_this_thread());
    });
    boost::asio::io_context io;
    auto on_own = false;
    auto const me = std::this_thread::get_id();
    sender.async_send("b", boost::asio::bind_executor(io, [&](error_code, outcome o) {
                          on_own = o.accepted() && std::this_thread::get_id() == me;
                      }));
    auto future = sender.async_send("c", boost::asio::use_future);
    for (int i = 0; i < 3; ++i) rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 2);
    EXPECT_TRUE(get(on_session.get_future()));
    EXPECT_TRUE(get(future).accepted());
    io.run();  // the call counts as work until it completes
    EXPECT_TRUE(on_own);
}

}  // namespace
}  // namespace sluice::test
