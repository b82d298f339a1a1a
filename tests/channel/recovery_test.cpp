// Channels over connections that are cut, and over a node that is restarted.
#include "channel_rig.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>

namespace sluice::channels {
namespace {

using namespace std::chrono_literals;
using tcp = boost::asio::ip::tcp;

/// Passes octets on, until it cuts every connection that goes through it.
class cutter {
public:
    explicit cutter(std::uint16_t to) : to_{tcp::endpoint{loopback(), to}} { accept(); }
    ~cutter()
    {
        io_.stop();
        thread_.join();
    }
    cutter(cutter const&) = delete;
    cutter& operator=(cutter const&) = delete;

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    void cut()
    {
        std::promise<void> done;
        boost::asio::post(io_, [&] {
            for (auto const& w : sockets_)
                if (auto const s = w.lock()) {
                    boost::system::error_code ignored;
                    s->close(ignored);
                }
            sockets_.clear();
            done.set_value();
        });
        done.get_future().wait();
    }

private:
    using socket = std::shared_ptr<tcp::socket>;

    static boost::asio::ip::address loopback()
    {
        return boost::asio::ip::make_address("127.0.0.1");
    }
    void accept()
    {
        auto const from = std::make_shared<tcp::socket>(io_);
        acceptor_.async_accept(*from, [this, from](boost::system::error_code code) {
            if (code)
                return;
            auto const to = std::make_shared<tcp::socket>(io_);
            boost::system::error_code failed;
            to->connect(to_, failed);
            if (!failed) {
                sockets_.push_back(from);
                sockets_.push_back(to);
                pass(from, to);
                pass(to, from);
            }
            accept();
        });
    }
    void pass(socket const& from, socket const& to)
    {
        auto const buffer = std::make_shared<std::array<char, 4096>>();
        from->async_read_some(
            boost::asio::buffer(*buffer),
            [this, from, to, buffer](boost::system::error_code code, std::size_t n) {
                boost::system::error_code failed = code;
                if (!code)
                    boost::asio::write(*to, boost::asio::buffer(buffer->data(), n), failed);
                if (!failed)
                    return pass(from, to);
                from->close(failed);
                to->close(failed);
            });
    }

    tcp::endpoint const to_;
    boost::asio::io_context io_{1};
    tcp::acceptor acceptor_{io_, tcp::endpoint{loopback(), 0}};
    std::vector<std::weak_ptr<tcp::socket>> sockets_;
    std::thread thread_{[this] {
        auto const work = boost::asio::make_work_guard(io_);
        io_.run();
    }};
};

client::connection_options comes_back()
{
    client::connection_options o;
    o.reconnect = client::reconnect_options{.initial_delay = 1ms, .max_delay = 20ms};
    return o;
}

struct ChannelRecovery : testing::Test, channel_rig {
    cutter proxy{port};
    client::connection through(client::connection_options o = comes_back())
    {
        return container.connect("amqp://127.0.0.1:" + std::to_string(proxy.port()), std::move(o));
    }
};

TEST_F(ChannelRecovery, WhatWaitsSurvivesACut)
{
    auto const direct = sluice::channel<int>::open(connect(), "c", {.capacity = 1});
    auto const far = sluice::channel<int>::open(through(), "c", {.capacity = 1});
    direct.send(1);
    auto parked = far.async_send(2, boost::asio::use_future);
    wait_until(direct, [](auto const& s) { return s.waiting_senders == 1; });
    proxy.cut();
    EXPECT_EQ(direct.recv(), 1);
    EXPECT_EQ(direct.recv(), 2);
    parked.get();
    auto waiting = far.async_recv(boost::asio::use_future);
    wait_until(direct, [](auto const& s) { return s.waiting_receivers == 1; });
    proxy.cut();
    direct.send(3);
    EXPECT_EQ(waiting.get(), 3);
}

TEST_F(ChannelRecovery, WhatWasInHandComesAgain)
{
    auto const far = sluice::channel<int>::open(through(), "c", {.capacity = 4});
    far.send(1);
    auto const held = far.recv_ack();
    proxy.cut();
    auto again = far.recv_ack();
    EXPECT_EQ(**again, 1);
    EXPECT_EQ(again->tries(), 1U);
    again->ack();
    EXPECT_EQ(far.size(), 0U);
}

TEST_F(ChannelRecovery, ValuesThroughManyCutsComeOnceAndInTheirOrder)
{
    constexpr int count = 500;
    auto const direct = sluice::channel<int>::open(connect(), "c", {.capacity = 8});
    auto const far = sluice::channel<int>::open(through(), "c", {.capacity = 8});
    std::atomic<bool> over{false};
    std::jthread const sender{[&] {
        std::vector<std::future<void>> sent;
        for (int i = 0; i < count; ++i) sent.push_back(far.async_send(i, boost::asio::use_future));
        for (auto& s : sent) s.get();
        far.close();
        over = true;
    }};
    std::vector<int> got;
    while (auto const v = direct.recv()) {
        got.push_back(*v);
        if (got.size() % 100 == 50)
            proxy.cut();
    }
    std::vector<int> expected(count);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(got, expected) << "a send whose answer was lost is recognised by its number";
}

TEST_F(ChannelRecovery, WithoutReconnectACutEndsEverything)
{
    auto const far = sluice::channel<int>::open(through({}), "c", {.capacity = 1});
    auto waiting = far.async_recv(boost::asio::use_future);
    proxy.cut();
    EXPECT_EQ(error_of([&] { waiting.get(); }), error::connection_lost);
    EXPECT_EQ(error_of([&] { far.send(1); }), error::connection_lost);
}

TEST(ChannelRestart, ARestartedNodeHasTheChannelsAnew)
{
    std::optional<node::node> first{std::in_place};
    auto const port = first->listen("127.0.0.1", 0).value();
    client::container container{"channels"};
    auto const connection =
        container.connect("amqp://127.0.0.1:" + std::to_string(port), comes_back());
    auto const c = sluice::channel<int>::open(connection, "c", {.capacity = 2});
    auto waiting = c.async_recv(boost::asio::use_future);
    c.state();
    first.reset();
    node::node second;
    ASSERT_TRUE(second.listen("127.0.0.1", port).has_value());
    c.send(7);
    EXPECT_EQ(waiting.get(), 7);
    EXPECT_EQ(c.state().handles, 1U);
}

}  // namespace
}  // namespace sluice::channels
