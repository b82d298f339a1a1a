// docs/channels.md line by line, between two connections to a node in this process.
#include "channel_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::channels {
namespace {

using namespace std::chrono_literals;

/// Says that it writes JSON.
struct lying {
    static constexpr std::string_view name = "json";
    static void encode(int const&, bytes& out) { codec<std::string>::encode("???", out); }
    static int decode(bytes_view) { return 0; }
};

struct Scorecard : testing::Test, channel_rig {
    client::connection left = connect();
    client::connection right = connect();

    template <class T = int>
    auto pair(options const& o, std::string const& name = "c")
    {
        return std::pair{sluice::channel<T>::open(left, name, o),
                         sluice::channel<T>::open(right, name, o)};
    }
};

TEST_F(Scorecard, ValuesComeInTheOrderOfTheirSends)
{
    auto [a, b] = pair({.capacity = 4});
    std::jthread const sender{[a = a] {
        for (int i = 0; i < 100; ++i) a.send(i);
        a.close();
    }};
    std::vector<int> got;
    for (auto const v : b) got.push_back(v);
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(got, expected);
}

TEST_F(Scorecard, ASendWaitsWhileTheChannelIsFull)
{
    auto [a, b] = pair({.capacity = 4});
    for (int i = 0; i < 4; ++i) a.send(i);
    auto fifth = a.async_send(4, boost::asio::use_future);
    EXPECT_EQ(wait_until(b, [](auto const& s) { return s.waiting_senders == 1; }).size, 4U);
    EXPECT_EQ(fifth.wait_for(0s), std::future_status::timeout);
    EXPECT_EQ(b.recv(), 0);
    fifth.get();
    EXPECT_EQ(b.size(), 4U);
}

TEST_F(Scorecard, AtCapacityZeroASendReturnsAtThePickup)
{
    auto [a, b] = pair({});
    EXPECT_FALSE(a.try_send(1)) << "nobody waits for it";
    auto sent = a.async_send(2, boost::asio::use_future);
    wait_until(b, [](auto const& s) { return s.waiting_senders == 1; });
    EXPECT_EQ(sent.wait_for(0s), std::future_status::timeout);
    auto v = b.recv_ack();
    ASSERT_TRUE(v);
    EXPECT_EQ(**v, 2);
    sent.get();
    EXPECT_EQ(a.state().unacknowledged, 1U) << "picked up, and still to be acknowledged";
    v->ack();
    EXPECT_EQ(a.size(), 0U);
}

TEST_F(Scorecard, ATrySendAtCapacityZeroMeetsAReceiverThatWaits)
{
    auto [a, b] = pair({});
    auto got = b.async_recv(boost::asio::use_future);
    wait_until(a, [](auto const& s) { return s.waiting_receivers == 1; });
    EXPECT_TRUE(a.try_send(5));
    EXPECT_EQ(got.get(), 5);
}

TEST_F(Scorecard, CloseIsForEveryoneAndWhatIsBufferedDrains)
{
    auto [a, b] = pair({.capacity = 2});
    a.send(1);
    a.send(2);
    auto parked = b.async_send(3, boost::asio::use_future);
    wait_until(a, [](auto const& s) { return s.waiting_senders == 1; });
    a.close();
    EXPECT_EQ(error_of([&] { parked.get(); }), errc::channel_closed);
    EXPECT_EQ(error_of([&] { b.send(4); }), errc::channel_closed);
    EXPECT_NE(what_of([&] { b.send(4); }).find("channel 'c'"), std::string::npos);
    EXPECT_EQ(b.recv(), 1);
    EXPECT_EQ(a.recv(), 2);
    EXPECT_EQ(b.recv(), std::nullopt);
    EXPECT_TRUE(a.try_recv().closed);
    b.close();
    EXPECT_TRUE(a.state().closed);
}

TEST_F(Scorecard, ReceiversThatWaitEndWithTheClose)
{
    auto [a, b] = pair({.capacity = 2});
    auto waiting = b.async_recv(boost::asio::use_future);
    wait_until(a, [](auto const& s) { return s.waiting_receivers == 1; });
    a.close();
    EXPECT_EQ(waiting.get(), std::nullopt);
}

TEST_F(Scorecard, TryTellsValueEmptyAndFullAtTheTimeOfAsking)
{
    auto [a, b] = pair({.capacity = 2});
    EXPECT_FALSE(b.try_recv());
    EXPECT_FALSE(b.try_recv().closed);
    EXPECT_TRUE(a.try_send(1));
    EXPECT_TRUE(a.try_send(2));
    EXPECT_FALSE(a.try_send(3));
    auto const v = b.try_recv();
    ASSERT_TRUE(v);
    EXPECT_EQ(*v, 1);
    wait_until(b, [](auto const& s) { return s.size == 1; });
    EXPECT_TRUE(a.try_send(3));
}

TEST_F(Scorecard, SizeCountsWhatIsNotAcknowledged)
{
    auto [a, b] = pair({.capacity = 4});
    for (int i = 0; i < 3; ++i) a.send(i);
    EXPECT_EQ(b.size(), 3U);
    EXPECT_EQ(b.capacity(), 4U);
    auto v = b.recv_ack();
    EXPECT_EQ(a.size(), 3U);
    v->ack();
    EXPECT_EQ(a.size(), 2U);
    EXPECT_EQ(error_of([&] { v->ack(); }), error::already_settled);
}

TEST_F(Scorecard, EachValueGoesToOneOfCompetingReceivers)
{
    auto [a, b] = pair({.capacity = 8});
    std::mutex mutex;
    std::multiset<int> got;
    {
        std::vector<std::jthread> receivers;
        for (int i = 0; i < 4; ++i)
            receivers.emplace_back([&, c = i % 2 ? a : b] {
                while (auto const v = c.recv()) {
                    std::lock_guard const lock{mutex};
                    got.insert(*v);
                }
            });
        for (int i = 0; i < 200; ++i) (i % 2 ? a : b).send(i);
        a.close();
    }
    EXPECT_EQ(got.size(), 200U);
    EXPECT_EQ(std::set<int>(got.begin(), got.end()).size(), 200U);
}

TEST_F(Scorecard, ABatchTakesWhatIsThere)
{
    auto [a, b] = pair({.capacity = 10});
    for (int i = 0; i < 5; ++i) a.send(i);
    EXPECT_EQ(b.recv_batch(3), (std::vector{0, 1, 2}));
    EXPECT_EQ(b.recv_batch(64), (std::vector{3, 4}));
    a.close();
    EXPECT_TRUE(b.recv_batch(64).empty());
}

TEST_F(Scorecard, StopIsForOneHandle)
{
    auto [a, b] = pair({.capacity = 2});
    a.send(1);
    auto v = b.recv_ack();
    auto waiting = b.async_recv(boost::asio::use_future);
    wait_until(a, [](auto const& s) { return s.waiting_receivers == 1; });
    b.stop();
    EXPECT_EQ(error_of([&] { waiting.get(); }), errc::channel_stopped);
    EXPECT_EQ(error_of([&] { b.send(2); }), errc::channel_stopped);
    EXPECT_EQ(a.recv(), 1) << "what the stopped handle held went back";
    a.send(2);
}

TEST_F(Scorecard, DestroyEndsEveryoneAndALateSendDoesNotBringItBack)
{
    auto [a, b] = pair({.capacity = 1});
    a.send(1);
    auto parked = a.async_send(2, boost::asio::use_future);
    wait_until(b, [](auto const& s) { return s.waiting_senders == 1; });
    b.destroy();
    EXPECT_EQ(error_of([&] { parked.get(); }), errc::channel_destroyed);
    EXPECT_EQ(error_of([&] { a.send(3); }), errc::channel_destroyed);
    EXPECT_EQ(error_of([&] { b.recv(); }), errc::channel_destroyed);
    auto const anew = sluice::channel<int>::open(left, "c", {.capacity = 7});
    EXPECT_EQ(error_of([&] { a.send(3); }), errc::channel_destroyed);
    b.stop();
    b.destroy();
    EXPECT_EQ(error_of([&] { b.send(3); }), errc::channel_destroyed) << "not stopped";
    EXPECT_EQ(anew.size(), 0U);
}

TEST_F(Scorecard, ACancelledSendIsRetracted)
{
    auto [a, b] = pair({.capacity = 1});
    a.send(1);
    EXPECT_EQ(error_of([&] { a.send(2, 5ms); }), error::timed_out);
    EXPECT_EQ(b.recv(), 1);
    EXPECT_EQ(error_of([&] { b.recv(5ms); }), error::timed_out) << "2 never arrives";
    boost::asio::cancellation_signal signal;
    std::promise<client::error_code> ended;
    a.send(3);
    a.async_send(4, boost::asio::bind_cancellation_slot(
                        signal.slot(), [&](client::error_code c) { ended.set_value(c); }));
    wait_until(b, [](auto const& s) { return s.waiting_senders == 1; });
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(ended.get_future().get(), error::operation_aborted);
    EXPECT_EQ(b.recv(), 3);
    EXPECT_FALSE(b.try_recv());
}

TEST_F(Scorecard, OptionsAreCheckedAgainstTheChannelThatExists)
{
    auto const a = sluice::channel<int>::open(left, "c", {.capacity = 4});
    auto const text = what_of([&] { sluice::channel<int>::open(right, "c", {.capacity = 5}); });
    EXPECT_NE(text.find("channel 'c'"), std::string::npos) << text;
    EXPECT_NE(text.find('4'), std::string::npos) << text;
    EXPECT_NE(text.find('5'), std::string::npos) << text;
    EXPECT_EQ(error_of([&] { sluice::channel<std::string>::open(right, "c", {.capacity = 4}); }),
              errc::mismatch);
    EXPECT_EQ(error_of([&] { sluice::channel<int>::open(right, "d", {.create = false}); }),
              errc::not_found);
    auto const none = what_of([&] { sluice::channel<int>::open(right, "d", {.create = false}); });
    EXPECT_NE(none.find("channel 'd': there is no channel of that name"), std::string::npos)
        << none;
    EXPECT_EQ(none.find("'d'"), none.rfind("'d'")) << none;
}

TEST_F(Scorecard, AtMostOnceRefusesWhatNeedsAcknowledgements)
{
    auto const open = [&](options o) {
        o.delivery = guarantee::at_most_once;
        return error_of([&] { sluice::channel<int>::open(left, "c", o); });
    };
    EXPECT_EQ(open({.capacity = 0}), errc::at_most_once_refused);
    EXPECT_EQ(open({.capacity = 1, .async_ack = true}), errc::at_most_once_refused);
    auto [a, b] = pair({.capacity = 2, .delivery = guarantee::at_most_once});
    EXPECT_EQ(error_of([&] { b.recv_ack(); }), errc::at_most_once_refused);
    a.send(1);
    a.send(2);
    EXPECT_EQ(b.recv(), 1);
    EXPECT_EQ(a.size(), 1U) << "its slot was free when it was sent";
}

TEST_F(Scorecard, WhatIsReleasedComesAgainFirst)
{
    auto [a, b] = pair({.capacity = 4});
    a.send(1);
    a.send(2);
    {
        auto const dropped = b.recv_ack();
        EXPECT_EQ(**dropped, 1);
    }
    auto v = b.recv_ack();
    EXPECT_EQ(**v, 1);
    EXPECT_EQ(v->tries(), 0U);
    v->fail();
    v = b.recv_ack();
    EXPECT_EQ(**v, 1);
    EXPECT_EQ(v->tries(), 1U);
    v->release();
    EXPECT_EQ(b.recv(), 1);
    EXPECT_EQ(b.recv(), 2);
}

TEST_F(Scorecard, AfterTheVisibilityTimeoutItGoesBackAndTheAcknowledgementIsExpired)
{
    auto [a, b] = pair({.capacity = 4, .visibility_timeout = 500ms});
    a.send(1);
    auto first = b.recv_ack();
    auto again = a.recv_ack();
    EXPECT_EQ(**again, 1);
    EXPECT_EQ(again->tries(), 1U);
    EXPECT_EQ(error_of([&] { first->ack(); }), errc::expired);
}

TEST_F(Scorecard, WhatFailsTooOftenOrIsRejectedIsADeadLetter)
{
    auto [a, b] = pair({.capacity = 4, .tries_max = 2, .dead_letter = "dead"});
    a.send(1);
    a.send(2);
    b.recv_ack()->reject("no good");
    b.recv_ack()->fail();
    b.recv_ack()->fail();
    EXPECT_FALSE(b.try_recv());
    auto dead = left.open_receiver("dead");
    auto const first = dead.receive();
    EXPECT_EQ(*first.message().application_properties.find("reason"), value{"no good"});
    EXPECT_EQ(*first.message().application_properties.find("channel"), value{"c"});
    auto const second = dead.receive();
    EXPECT_EQ(text_of(second.message().body_bytes().value()), "2");
}

TEST_F(Scorecard, AValueThatDoesNotDecodeIsAnErrorAndADeadLetter)
{
    options const o{.capacity = 4, .dead_letter = "dead"};
    auto const a = sluice::channel<int, lying>::open(left, "c", o);
    auto const b = sluice::channel<int>::open(right, "c", o);
    a.send(1);
    try {
        b.recv();
        FAIL() << "that is no JSON";
    } catch (undecodable_value const& e) {
        EXPECT_EQ(text_of(e.octets()), "???");
    }
    EXPECT_EQ(text_of(b.take_undecodable().value().octets), "???");
    EXPECT_EQ(text_of(left.open_receiver("dead").receive().message().body_bytes().value()), "???");
    a.send(2);
    auto second = b.async_recv(boost::asio::use_future);
    EXPECT_EQ(error_of([&] { second.get(); }), errc::undecodable);
    EXPECT_EQ(b.size(), 0U);
}

TEST_F(Scorecard, AggregatesGoAsJson)
{
    auto [a, b] = pair<job>({.capacity = 2});
    job const j{.id = 7, .name = "paint", .weight = 1.5, .parts = {1, 2}};
    a.send(j);
    EXPECT_EQ(b.recv(), j);
    auto const raw = sluice::channel<bytes>::open(left, "raw", {.capacity = 1});
    raw.send(bytes(3, std::byte{0xff}));
    EXPECT_EQ(raw.recv(), bytes(3, std::byte{0xff}));
}

TEST_F(Scorecard, BackgroundAcknowledgementsArriveInTheEnd)
{
    auto [a, b] = pair({.capacity = 100, .async_ack = true, .async_ack_delay = 1ms});
    for (int i = 0; i < 10; ++i) a.send(i);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(b.recv(), i);
    for (int i = 5; i < 10; ++i) b.recv_ack()->ack();
    EXPECT_EQ(wait_until(a, [](auto const& s) { return s.size == 0; }).unacknowledged, 0U);
}

TEST_F(Scorecard, AClosedAndDestroyedChannelLeavesNothingBehind)
{
    auto const before = error_of([&] { sluice::channel<int>::open(left, "c", {.create = false}); });
    EXPECT_EQ(before, errc::not_found);
    {
        auto [a, b] = pair({.capacity = 2});
        a.send(1);
        a.close();
        a.destroy();
    }
    EXPECT_EQ(error_of([&] { sluice::channel<int>::open(left, "c", {.create = false}); }),
              errc::not_found);
    pair({.capacity = 9});
}

TEST_F(Scorecard, AThousandChannelsShareOnePairOfLinks)
{
    std::vector<sluice::channel<int>> all;
    for (int i = 0; i < 1000; ++i)
        all.push_back(sluice::channel<int>::open(left, "c" + std::to_string(i), {.capacity = 1}));
    for (auto const& c : all) c.send(1);
    EXPECT_LE(node.stats().links, 4U);
    for (auto const& c : all) EXPECT_EQ(c.recv(), 1);
}

TEST_F(Scorecard, EverythingEndsWithTheConnectionsReason)
{
    auto [a, b] = pair({.capacity = 1});
    auto waiting = b.async_recv(boost::asio::use_future);
    wait_until(a, [](auto const& s) { return s.waiting_receivers == 1; });
    right.close();
    EXPECT_TRUE(error_of([&] { waiting.get(); }));
    EXPECT_TRUE(error_of([&] { b.send(1); }));
    a.send(1);
    EXPECT_EQ(a.recv(), 1);
}

}  // namespace
}  // namespace sluice::channels
