// Where handlers run: a thread more for each that is blocked, up to the limit, or an executor of
// the user's.
#include "support/client_rig.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// A container with some options, connected to a peer, and as many sessions as wanted.
struct sessions_rig {
    scripted_peer peer;
    client::container container;
    client::connection connection;
    std::vector<client::session> sessions;

    sessions_rig(int count, client::container_options options) : container{std::move(options)}
    {
        auto c = in_background([&] { return container.connect(peer.url()); });
        peer.open_connection();
        connection = get(c).value.value();
        for (int i = 0; i < count; ++i) {
            auto s = in_background([&] { return connection.begin(); });
            peer.begin_session();
            sessions.push_back(get(s).value.value());
        }
    }
    ~sessions_rig() { peer.shut(); }
};

/// Handlers that block until they are let go, and can be waited for.
class blockers {
public:
    void block(client::session const& s)
    {
        auto const began = std::make_shared<std::promise<void>>();
        auto const ended = std::make_shared<std::promise<void>>();
        began_.push_back(began->get_future());
        ended_.push_back(ended->get_future());
        boost::asio::post(s.get_executor(), [began, ended, go = go_] {
            began->set_value();
            go.wait();
            ended->set_value();
        });
    }
    void wait_until_blocked()
    {
        for (auto& b : began_) get(b);
    }
    std::future<void>& began(std::size_t i) { return began_[i]; }
    void let_go()
    {
        release_.set_value();
        for (auto& e : ended_) get(e);
    }

private:
    std::promise<void> release_;
    std::shared_future<void> go_ = release_.get_future().share();
    std::vector<std::future<void>> began_;
    std::vector<std::future<void>> ended_;
};

TEST(Executors, BlockedHandlersOfManySessionsLeaveAThreadForTheNext)
{
    sessions_rig rig{17, {}};
    blockers blocked;
    for (int i = 0; i < 16; ++i) blocked.block(rig.sessions[static_cast<std::size_t>(i)]);
    blocked.wait_until_blocked();
    std::promise<void> ran;
    boost::asio::post(rig.sessions[16].get_executor(), [&] { ran.set_value(); });
    get(ran.get_future());
    blocked.let_go();
}

TEST(Executors, BeyondTheLimitHandlersWait)
{
    sessions_rig rig{3, client::container_options{.handler_threads_max = 2}};
    blockers blocked;
    for (auto const& s : rig.sessions) blocked.block(s);
    get(blocked.began(0));
    get(blocked.began(1));
    // The connection itself goes on: its answers to callers of blocking forms need no handler
    // thread.
    auto begun = in_background([&] { return rig.connection.begin(); });
    rig.peer.begin_session();
    EXPECT_TRUE(get(begun).value);
    EXPECT_NE(blocked.began(2).wait_for(std::chrono::milliseconds{20}), std::future_status::ready);
    blocked.let_go();
}

TEST(Executors, AHandlersThreadMayBeTheUsersOwn)
{
    boost::asio::thread_pool pool{1};
    auto const pool_thread = [&] {
        std::promise<std::thread::id> id;
        boost::asio::post(pool, [&] { id.set_value(std::this_thread::get_id()); });
        return get(id.get_future());
    }();
    {
        sessions_rig rig{1, client::container_options{.handler_executor = pool.get_executor()}};
        std::promise<std::thread::id> ran;
        rig.connection.async_begin(
            [&](error_code, client::session) { ran.set_value(std::this_thread::get_id()); });
        rig.peer.begin_session();
        EXPECT_EQ(get(ran.get_future()), pool_thread);
    }
    pool.join();
}

TEST(Executors, WhatIsThrownOnAStrandOfTheUsersGoesToTheContainerAndEndsNoThread)
{
    std::promise<std::string> thrown;
    client::container_options options;
    options.on_exception = [&](std::exception_ptr e) {
        try {
            std::rethrow_exception(e);
        } catch (std::exception const& x) {
            thrown.set_value(x.what());
        }
    };
    sessions_rig rig{1, options};
    auto const strand = boost::asio::make_strand(rig.sessions[0].get_executor());
    boost::asio::post(strand, [] { throw std::runtime_error{"oops"}; });
    auto text = thrown.get_future();
    EXPECT_EQ(get(text), "oops");
    std::promise<void> next;
    boost::asio::post(strand, [&] { next.set_value(); });
    auto went_on = next.get_future();
    get(went_on);
}

TEST(Executors, AnswersOfOneSessionComeInOrder)
{
    sessions_rig rig{1, {}};
    auto opening = in_background([&] { return rig.sessions[0].open_sender("q"); });
    rig.peer.attach_link();
    auto const sender = get(opening).value.value();
    std::vector<int> order;
    std::promise<void> all;
    for (int i = 0; i < 100; ++i)
        sender.async_send("x", [&, i](error_code, client::outcome) {
            order.push_back(i);
            if (order.size() == 100)
                all.set_value();
        });
    rig.peer.reset();
    get(all.get_future());
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace sluice::test
