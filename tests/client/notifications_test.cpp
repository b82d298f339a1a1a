// What the library tells without being asked again: bounded, counted, closed with the reason.
#include "support/client_rig.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds patience{10'000};

error_view oops() { return {.condition = "amqp:internal-error", .description = "oops"}; }

TEST(Notifications, KeepOneOfAOneTimeFactThirtyTwoOutcomesAndSixtyFourEvents)
{
    client_rig rig;
    auto const sender = rig.sender();
    EXPECT_EQ(rig.connection.closed().capacity(), 1u);
    EXPECT_EQ(sender.outcomes().capacity(), 32u);
    EXPECT_EQ(rig.connection.state_changes().capacity(), 64u);
    EXPECT_EQ(rig.connection.blocked().capacity(), 64u);
    EXPECT_EQ(sender.detached().capacity(), 64u);
}

TEST(Notifications, NobodyReadsThemAndNothingWaits)
{
    client_rig rig;
    auto const sender = rig.sender(1000);
    auto const outcomes = sender.outcomes();
    auto const ended = rig.connection.closed();
    std::atomic<int> left{1000};
    std::promise<void> all;
    for (int i = 0; i < 1000; ++i)
        sender.async_send(client::encoded_message{data_message("x")},
                          [&](error_code, client::outcome) {
                              if (--left == 0)
                                  all.set_value();
                          });
    for (int i = 0; i < 1000; ++i) rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 999);
    get(all.get_future());
    EXPECT_EQ(outcomes.dropped(), 1000u - outcomes.capacity());
    rig.peer.reset();
    EXPECT_TRUE(ended.next(patience));
}

TEST(Notifications, AskedForAfterTheEndAreClosedWithTheReason)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const receiver = rig.receiver();
    auto const early = rig.connection.closed();
    rig.peer.reset();
    auto const lost = make_error_code(error::connection_lost);
    EXPECT_EQ(early.next(patience).value()->code, lost);
    auto const expect_closed = [&](auto const& late, char const* which) {
        EXPECT_TRUE(late.closed()) << which;
        ASSERT_TRUE(late.reason()) << which;
        EXPECT_EQ(late.reason()->code, lost) << which;
        EXPECT_FALSE(late.next()) << which;
        EXPECT_FALSE(late.try_next()) << which;
        std::promise<error_code> told;
        late.async_next([&](error_code ec, auto const&) { told.set_value(ec); });
        EXPECT_EQ(get(told.get_future()), lost) << which;
    };
    expect_closed(rig.connection.state_changes(), "state_changes");
    expect_closed(rig.connection.closed(), "closed");
    expect_closed(rig.connection.blocked(), "blocked");
    expect_closed(sender.outcomes(), "outcomes");
    expect_closed(sender.detached(), "detached, sender");
    expect_closed(receiver.detached(), "detached, receiver");
}

TEST(Notifications, NotReadDoNotHoldUpAShutdown)
{
    client_rig rig;
    auto const sender = rig.sender(100);
    auto const outcomes = sender.outcomes();
    auto const detached = sender.detached();
    auto const states = rig.connection.state_changes();
    auto const blocked = rig.connection.blocked();
    auto const closed = rig.connection.closed();
    std::vector<std::future<ended<client::outcome>>> sends;
    for (int i = 0; i < 100; ++i) sends.push_back(in_background([&] { return sender.send("x"); }));
    for (int i = 0; i < 100; ++i) rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 99);
    for (auto& s : sends) EXPECT_TRUE(get(s).value);
    auto closing = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<end>();
    rig.peer.send(end{});
    rig.peer.skip_to<close>();
    rig.peer.send(close{});
    EXPECT_TRUE(get(closing).value);
    // What came before can still be read.
    EXPECT_EQ(outcomes.dropped(), 68u);
    for (int i = 0; i < 32; ++i) EXPECT_TRUE(outcomes.try_next()->outcome.accepted());
    EXPECT_FALSE(outcomes.next());
    EXPECT_EQ(detached.next()->why->code, make_error_code(error::closed_locally));
    EXPECT_EQ(states.next()->state, client::connection_state::closed);
    EXPECT_EQ(closed.next().value()->code, make_error_code(error::closed_locally));
    while (blocked.next()) {}  // a machine that is busy may have been slow to take the octets
    EXPECT_TRUE(blocked.closed());
}

TEST(Notifications, WhoeverWaitsForOneIsWokenByTheEnd)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const detached = sender.detached();
    auto const outcomes = sender.outcomes();
    auto blocking = in_background([&] { return detached.next().has_value(); });
    std::promise<error_code> told;
    outcomes.async_next([&](error_code ec, client::send_result const&) { told.set_value(ec); });
    rig.peer.send(detach{.handle = handle{0}, .closed = true, .error = oops()});
    EXPECT_TRUE(get(blocking).value.value());
    EXPECT_EQ(get(told.get_future()), error::link_detached_by_peer);
    EXPECT_EQ(outcomes.reason()->error.condition, "amqp:internal-error");
}

TEST(Notifications, APeersErrorReachesTheFailedCallAndTheNotification)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto const detached = sender.detached();
    auto const closed = rig.connection.closed();
    auto sending = in_background([&] { return sender.send("x"); });
    while (sender.outstanding() == 0) std::this_thread::yield();
    rig.peer.send(detach{.handle = handle{0}, .closed = true, .error = oops()});
    auto const fact = detached.next(patience).value();
    EXPECT_FALSE(fact.comes_back);
    EXPECT_EQ(fact.why->error.condition, "amqp:internal-error");
    EXPECT_EQ(fact.why->error.description, "oops");
    EXPECT_NE(get(sending).what.find("amqp:internal-error: oops"), std::string::npos);
    auto opening = in_background([&] { return rig.session.open_sender("z"); });
    rig.peer.skip_to<attach>();
    rig.peer.send(close{.error = oops()});
    EXPECT_NE(get(opening).what.find("amqp:internal-error: oops"), std::string::npos);
    EXPECT_EQ(closed.next(patience).value()->error.description, "oops");
}

TEST(Notifications, ACancelledWaitTakesNoFactOut)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto const outcomes = sender.outcomes();
    boost::asio::cancellation_signal signal;
    std::promise<error_code> told;
    outcomes.async_next(boost::asio::bind_cancellation_slot(
        signal.slot(), [&](error_code ec, client::send_result const&) { told.set_value(ec); }));
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(get(told.get_future()), error::operation_aborted);
    auto sending = in_background([&] { return sender.send("x"); });
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(sending).value);
    EXPECT_TRUE(outcomes.next(patience)->outcome.accepted());
}

}  // namespace
}  // namespace sluice::test
