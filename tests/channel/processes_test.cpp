// Channels between processes that are killed at each step: what the table of guarantees promises.
// Not under the thread sanitizer, which does not go on with threads in a process that was forked
// from one with threads.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLUICE_NO_FORKS 1
#endif
#endif
#ifndef SLUICE_NO_FORKS

#include "channel_rig.hpp"
#include "child_process.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <random>

namespace sluice::channels {
namespace {

std::string url_of(std::uint32_t port) { return "amqp://127.0.0.1:" + std::to_string(port); }

using role = std::function<void(sluice::channel<int> const&, child_pipes)>;

/// Hears the node's port, opens "c", plays its role, and stays until it is killed.
child_process player(options o, role play)
{
    return child_process{[o, play](child_pipes pipes) {
        std::uint32_t port = 0;
        if (!pipes.hear(port))
            return;
        client::container container{"player"};
        auto const connection = container.connect(url_of(port));
        play(sluice::channel<int>::open(connection, "c", o), pipes);
        while (pipes.hear(port)) {}
    }};
}

/// This process has the node and one end of the channel; the other process comes first.
struct Killed : testing::Test {
    std::optional<channel_rig> here;
    client::connection connection;
    sluice::channel<int> c;

    void meet(child_process& other, options const& o)
    {
        here.emplace();
        connection = here->connect();
        c = sluice::channel<int>::open(connection, "c", o);
        other.say(here->port);
    }
};

TEST_F(Killed, AReceiverWithAValueInHandLosesNothing)
{
    options const o{.capacity = 4};
    auto other = player(o, [](auto const& ch, auto pipes) {
        auto const v = ch.recv_ack();
        pipes.say(static_cast<std::uint32_t>(**v));
        ::pause();
    });
    meet(other, o);
    c.send(1);
    c.send(2);
    EXPECT_EQ(other.hear(), 1U);
    other.kill();
    auto v = c.recv_ack();
    EXPECT_EQ(**v, 1);
    EXPECT_EQ(v->tries(), 1U);
    v->ack();
    EXPECT_EQ(c.recv(), 2);
}

TEST_F(Killed, AReceiverThatHasAcknowledgedHasTakenIt)
{
    options const o{.capacity = 4};
    auto other = player(o, [](auto const& ch, auto pipes) {
        ch.recv_ack()->ack();
        pipes.say(1);
        ::pause();
    });
    meet(other, o);
    c.send(1);
    c.send(2);
    other.hear();
    other.kill();
    EXPECT_EQ(c.recv(), 2);
    c.close();
    EXPECT_EQ(c.recv(), std::nullopt);
}

TEST_F(Killed, ASenderThatWaitsTakesItsValueWithIt)
{
    options const o{.capacity = 1};
    auto other = player(o, [](auto const& ch, auto pipes) {
        ch.send(1);
        pipes.say(1);
        ch.send(2);
    });
    meet(other, o);
    other.hear();
    wait_until(c, [](auto const& s) { return s.waiting_senders == 1; });
    other.kill();
    wait_until(c, [](auto const& s) { return s.waiting_senders == 0; });
    EXPECT_EQ(c.recv(), 1) << "that one was accepted";
    c.close();
    EXPECT_EQ(c.recv(), std::nullopt);
}

TEST_F(Killed, AReceiverThatWaitsAtCapacityZeroTakesNothingWithIt)
{
    auto other = player({}, [](auto const& ch, auto) { ch.recv(); });
    meet(other, {});
    wait_until(c, [](auto const& s) { return s.waiting_receivers == 1; });
    other.kill();
    wait_until(c, [](auto const& s) { return s.waiting_receivers == 0; });
    EXPECT_FALSE(c.try_send(1));
    auto sent = c.async_send(2, boost::asio::use_future);
    EXPECT_EQ(c.recv(), 2);
    sent.get();
}

TEST_F(Killed, AReceiverThatHasPickedUpGivesItBackAndTheSendWasDoneOnce)
{
    auto other = player({}, [](auto const& ch, auto pipes) {
        auto const v = ch.recv_ack();
        pipes.say(static_cast<std::uint32_t>(**v));
        ::pause();
    });
    meet(other, {});
    c.send(5);
    EXPECT_EQ(other.hear(), 5U);
    other.kill();
    EXPECT_EQ(c.recv(), 5);
    c.close();
    EXPECT_EQ(c.recv(), std::nullopt);
}

TEST_F(Killed, TwoProcessesPlayTheScorecardsFirstLines)
{
    auto other = player({}, [](auto const& ch, auto pipes) {
        auto sum = 0U;
        for (auto const v : ch) sum += static_cast<unsigned>(v);
        pipes.say(sum);
    });
    meet(other, {});
    for (int i = 1; i <= 100; ++i) {
        if (i % 2)
            c.send(i);
        else
            EXPECT_EQ(sluice::select(on_send(c, i)).wait().index, 0U);
    }
    c.close();
    EXPECT_EQ(other.hear(), 5050U);
    EXPECT_EQ(error_of([&] { c.send(1); }), errc::channel_closed);
}

// ---- many values, many processes, random kills. This process has no threads and can fork.

int values_wanted() { return wanted("SLUICE_CHANNEL_VALUES", 1'000); }
int kills_wanted() { return std::max(12, values_wanted() / 1'000); }

struct soak {
    options o;
    bool resends;  // what was not reported as accepted is sent again
    std::uint32_t port = 0;
    std::vector<int> next{};  // of each sender
    std::vector<int> end{};
    std::multiset<int> received{};
    unsigned seed = std::random_device{}();
    std::minstd_rand random{seed};

    child_process sender(std::size_t i)
    {
        return child_process{[this, i](child_pipes pipes) {
            client::container container{"sender"};
            auto const connection = container.connect(url_of(port));
            auto const c = sluice::channel<int>::open(connection, "c", o);
            for (auto v = next[i]; v < end[i]; ++v) {
                c.send(v);
                pipes.say(static_cast<std::uint32_t>(v));
            }
        }};
    }
    child_process receiver()
    {
        return child_process{[this](child_pipes pipes) {
            client::container container{"receiver"};
            auto const connection = container.connect(url_of(port));
            auto const c = sluice::channel<int>::open(connection, "c", o);
            if (o.delivery == guarantee::at_most_once) {
                while (auto const v = c.recv()) pipes.say(static_cast<std::uint32_t>(*v));
                return;
            }
            while (auto v = c.recv_ack()) {
                pipes.say(static_cast<std::uint32_t>(**v));
                v->ack();
            }
        }};
    }
    void run(std::size_t senders, std::size_t receivers, int kills)
    {
        child_process const node{[](child_pipes pipes) {
            node::node n;
            pipes.say(n.listen("127.0.0.1", 0).value());
            std::uint32_t never = 0;
            while (pipes.hear(never)) {}
        }};
        port = node.hear();
        auto const each = values_wanted() / static_cast<int>(senders);
        std::vector<child_process> all;
        for (std::size_t i = 0; i < senders; ++i) {
            next.push_back(static_cast<int>(i) * each);
            end.push_back(next.back() + each);
        }
        for (std::size_t i = 0; i < senders; ++i) all.push_back(sender(i));
        for (std::size_t i = 0; i < receivers; ++i) all.push_back(receiver());
        auto const every = std::max(2 * each * static_cast<int>(senders) / (kills + 1), 1);
        auto heard = 0;
        auto sending = senders;
        std::vector<bool> over(all.size(), false);
        while (std::ranges::count(over, false) > 0) {
            std::vector<pollfd> wait;
            for (std::size_t i = 0; i < all.size(); ++i)
                wait.push_back(
                    {.fd = over[i] ? -1 : all[i].descriptor(), .events = POLLIN, .revents = 0});
            ASSERT_GT(::poll(wait.data(), wait.size(), 60'000), 0) << "stuck; seed " << seed;
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (wait[i].revents == 0)
                    continue;
                std::uint32_t v = 0;
                if (!all[i].hear(v)) {
                    over[i] = true;
                    EXPECT_EQ(all[i].wait(), 0) << "seed " << seed;
                    if (i < senders && --sending == 0)
                        close();
                    continue;
                }
                take(i, senders, static_cast<int>(v));
                if (++heard % every == 0 && sending > 0) {
                    kill_one(all, over, senders);
                    break;  // what was polled may be another process's now
                }
            }
        }
    }
    void take(std::size_t i, std::size_t senders, int v)
    {
        if (i < senders)
            next[i] = v + 1;
        else
            received.insert(v);
    }
    void kill_one(std::vector<child_process>& all, std::vector<bool> const& over,
                  std::size_t senders)
    {
        auto const i = random() % all.size();
        if (over[i])
            return;
        all[i].kill();
        std::uint32_t v = 0;
        while (all[i].hear(v)) take(i, senders, static_cast<int>(v));
        if (i < senders) {
            if (!resends)
                ++next[i];  // it may have been accepted
            all[i] = sender(i);
        } else {
            all[i] = receiver();
        }
    }
    void close()
    {
        child_process closer{[this](child_pipes) {
            client::container container{"closer"};
            auto const connection = container.connect(url_of(port));
            sluice::channel<int>::open(connection, "c", o).close();
        }};
        EXPECT_EQ(closer.wait(), 0);
    }
};

TEST(Kills, AtLeastOnceLosesNothing)
{
    soak s{.o = {.capacity = 16, .tries_max = 0}, .resends = true};
    s.run(3, 3, kills_wanted());
    for (std::size_t i = 0; i < s.end.size(); ++i) EXPECT_EQ(s.next[i], s.end[i]);
    for (int v = 0; v < s.end.back(); ++v)
        ASSERT_EQ(s.received.contains(v), true) << v << ", seed " << s.seed;
}

TEST(Kills, AtMostOnceDoublesNothing)
{
    soak s{.o = {.capacity = 16, .delivery = guarantee::at_most_once}, .resends = false};
    s.run(3, 3, kills_wanted());
    std::set<int> const different(s.received.begin(), s.received.end());
    EXPECT_EQ(different.size(), s.received.size()) << "seed " << s.seed;
    EXPECT_GT(different.size(), static_cast<std::size_t>(values_wanted()) / 2);
}

}  // namespace
}  // namespace sluice::channels

#endif
