// What connections, sessions and links have counted.
#include "support/client_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::encoded_message;

/// An outcome without fields. [3.4]
bytes outcome_of(std::uint8_t descriptor)
{
    return {std::byte{0x00}, std::byte{0x53}, std::byte{descriptor}, std::byte{0x45}};
}
constexpr std::uint8_t rejected_code = 0x25;
constexpr std::uint8_t released_code = 0x26;
constexpr std::uint8_t modified_code = 0x27;

client::receiver_options with_credit(std::uint32_t window)
{
    client::receiver_options o;
    o.credit_window = window;
    return o;
}

TEST(Counters, ASendIsCountedByItsOutcomeBeforeItsCallReturns)
{
    client_rig rig;
    auto const sender = rig.sender(10);
    auto const message = data_message("hello");
    bytes const states[] = {outcome_of(0x24), outcome_of(rejected_code), outcome_of(released_code),
                            outcome_of(modified_code)};
    for (std::uint32_t i = 0; i < 4; ++i) {
        auto sending = in_background([&] { return sender.send(encoded_message{message}); });
        rig.peer.skip_to<transfer>();
        EXPECT_EQ(sender.counters().unsettled, 1u);
        rig.peer.settle(i, i, states[i]);
        EXPECT_TRUE(get(sending).value);
        EXPECT_EQ(sender.counters().messages(), i + 1);
    }
    sender.send(encoded_message{message}, {.settled = true});

    auto const c = sender.counters();
    EXPECT_EQ(c.accepted, 1u);
    EXPECT_EQ(c.rejected, 1u);
    EXPECT_EQ(c.released, 1u);
    EXPECT_EQ(c.modified, 1u);
    EXPECT_EQ(c.presettled, 1u);
    EXPECT_EQ(c.otherwise + c.failed + c.aborted + c.unsettled, 0u);
    EXPECT_EQ(c.messages(), 5u);
    EXPECT_EQ(c.octets, 5 * message.size());
    EXPECT_EQ(rig.session.counters().sent.messages(), 5u);
    EXPECT_EQ(rig.connection.counters().sent.octets, c.octets);
}

TEST(Counters, ASendWithoutAnOutcomeHasFailedAndIsNoMessage)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const tried = in_background([&] { return sender.try_send("x"); }).get();
    EXPECT_EQ(tried.code, error::no_credit);
    EXPECT_EQ(sender.counters().failed, 1u);
    rig.peer.reset();
    while (!sender.error()) std::this_thread::yield();
    EXPECT_TRUE(in_background([&] { return sender.send("x"); }).get().code);
    EXPECT_EQ(sender.counters().failed, 2u);
    EXPECT_EQ(rig.connection.counters().sent.failed, 2u);
    EXPECT_EQ(sender.counters().messages(), 0u);
    EXPECT_EQ(sender.counters().octets, 0u);
}

TEST(Counters, TimeWithoutCreditIsAddedUpWhileItPassesAndStaysAfterwards)
{
    client_rig rig;
    auto const sender = rig.sender();
    EXPECT_EQ(sender.counters().blocked.count(), 0);
    auto sending = in_background([&] { return sender.send(encoded_message{data_message("x")}); });
    while (sender.counters().blocked.count() < 2) std::this_thread::yield();
    auto const before = sender.counters().blocked;
    rig.peer.grant(1, 0);
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(sending).value);
    auto const after = sender.counters().blocked;
    EXPECT_GE(after, before);
    auto const more = in_background([&] { return sender.try_send("x"); }).get();
    EXPECT_EQ(more.code, error::no_credit);
    EXPECT_EQ(sender.counters().blocked, after);
}

TEST(Counters, DeliveriesAreCountedAsTheyComeAndByTheirAnswers)
{
    client_rig rig;
    auto const receiver = rig.receiver(with_credit(10));
    rig.peer.skip_to<flow>();
    auto const message = data_message("hello");
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, message);
    rig.peer.deliver(4, message, true);
    std::vector<client::delivery> taken;
    for (int i = 0; i < 5; ++i)
        taken.push_back(get(in_background([&] { return receiver.receive(); })).value.value());

    EXPECT_EQ(receiver.counters().messages, 5u);
    EXPECT_EQ(receiver.counters().octets, 5 * message.size());
    EXPECT_EQ(receiver.counters().presettled, 1u);
    EXPECT_GE(receiver.counters().unsettled, 4u);
    taken[0].accept();
    taken[1].release();
    taken[2].reject();
    taken[3] = {};  // goes back
    while (receiver.counters().unsettled > 0) std::this_thread::yield();
    auto const c = receiver.counters();
    EXPECT_EQ(c.accepted, 1u);
    EXPECT_EQ(c.released, 2u);
    EXPECT_EQ(c.rejected, 1u);
    EXPECT_EQ(c.modified + c.otherwise + c.aborted, 0u);
    EXPECT_EQ(rig.session.counters().received.messages, 5u);
    EXPECT_EQ(rig.connection.counters().received.octets, c.octets);
}

TEST(Counters, AStreamedDeliveryThatItsSenderAbortsIsCountedAsSuch)
{
    client_rig rig;
    auto options = with_credit(10);
    options.streamed = true;
    auto const receiver = rig.receiver(options);
    rig.peer.skip_to<flow>();
    auto const message = data_message("hello");
    std::array<std::byte, 1> const tag{std::byte{7}};
    transfer half{.handle = handle{0},
                  .delivery_id = delivery_number{0},
                  .delivery_tag = bytes_view{tag},
                  .message_format = 0,
                  .more = true};
    rig.peer.send(half, 0, message);
    auto const first = get(in_background([&] { return receiver.receive(); }));
    EXPECT_TRUE(first.value);
    EXPECT_EQ(receiver.counters().aborted, 0u);
    half.aborted = true;
    half.more = false;
    rig.peer.send(half);
    rig.peer.deliver(1, message);
    EXPECT_TRUE(get(in_background([&] { return receiver.receive(); })).value);
    EXPECT_EQ(receiver.counters().aborted, 1u);
    EXPECT_EQ(receiver.counters().messages, 2u);
}

TEST(Counters, WhatALinkHasCountedOutlivesItInItsSessionAndConnection)
{
    client_rig rig;
    for (std::uint32_t i = 0; i < 2; ++i) {
        auto const sender = rig.sender();
        rig.peer.grant(1, i, 2048, 0, handle{0});
        auto sending =
            in_background([&] { return sender.send(encoded_message{data_message("x")}); });
        rig.peer.skip_to<transfer>();
        rig.peer.settle(i, i);
        EXPECT_TRUE(get(sending).value);
        auto closing = in_background([&] { sender.close(); });
        rig.peer.skip_to<detach>();
        rig.peer.send(detach{.handle = handle{0}, .closed = true});
        EXPECT_TRUE(get(closing).value);
        EXPECT_EQ(sender.counters().accepted, 1u);
        EXPECT_EQ(sender.counters().credit, 0u);
    }
    auto closing = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<end>();
    rig.peer.send(end{});
    rig.peer.skip_to<close>();
    rig.peer.send(close{});
    EXPECT_TRUE(get(closing).value);
    EXPECT_EQ(rig.session.counters().sent.accepted, 2u);
    EXPECT_EQ(rig.session.counters().transfers_written, 2u);
    auto const c = rig.connection.counters();
    EXPECT_EQ(c.sent.accepted, 2u);
    EXPECT_EQ(c.sessions.transfers_written, 2u);
    EXPECT_EQ(c.sessions.deliveries_sent, 2u);
    EXPECT_GT(c.bytes_written, 0u);
    EXPECT_EQ(c.reconnects + c.unobserved, 0u);
}

}  // namespace
}  // namespace sluice::test
