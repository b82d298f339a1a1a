// Real threads at one dispatcher, over a real socket; built with a sanitizer it looks for races.
#include <sluice/client/client.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace sluice::test {
namespace {

using client::milliseconds;
using dispatch::acknowledge;

client::connection_options strict()
{
    client::connection_options o;
    o.audit = client::audit_mode::fatal;
    return o;
}

struct place {
    node::node node;
    client::container container;
    client::connection connection;
    client::session session;
    place()
    {
        auto const port = node.listen("127.0.0.1", 0).value();
        connection = container.connect("amqp://127.0.0.1:" + std::to_string(port), strict());
        session = connection.begin();
    }
    client::receiver receiver(std::string const& queue)
    {
        client::receiver_options o;
        o.credit_window = 0;
        return session.open_receiver(queue, o);
    }
};

void fill(place& p, std::string const& queue, int count)
{
    auto const s = p.connection.open_sender(queue);
    for (int n = 0; n < count; ++n) s.send(std::to_string(n)).or_throw();
    s.close();
}

/// What a call may fail with while others close and remove.
template <class F>
void may_fail(F f)
{
    try {
        f();
    } catch (boost::system::system_error const& e) {
        EXPECT_TRUE(e.code() == error::closed_locally || e.code() == error::timed_out
                    || e.code() == error::invalid_state || e.code() == error::not_found)
            << e.what();
    }
}

TEST(DispatcherThreads, EveryOperationAtOnceLosesNoMessage)
{
    constexpr int count = 300;
    place p;
    fill(p, "q", count);
    for (int round = 0; round < 3; ++round) {
        dispatch::dispatcher d{p.session, {.mode = acknowledge::by_user}};
        std::atomic<int> turns{0};
        std::atomic<int> seen{0};
        auto const listens =
            d.register_consumer(p.receiver("q"), {.prefetch = 20}, [&](client::delivery const&) {
                ++seen;
                auto const t = ++turns;
                if (t % 17 == 0)
                    may_fail([&] { d.rollback(); });
                else if (t % 23 == 0)
                    d.stop();
            });
        auto const takes = d.register_consumer(p.receiver("q"), {.prefetch = 10});
        d.start();
        std::vector<std::thread> threads;
        auto const often = [&](auto f) {
            threads.emplace_back([f] {
                for (int i = 0; i < 25; ++i) may_fail(f);
            });
        };
        often([&] { d.rollback(); });
        often([&] { d.recover(milliseconds{5'000}); });
        often([&] { d.start(); });
        often([&] { d.barrier(milliseconds{1}); });
        often([&] { takes.receive(milliseconds{2}); });
        often([&] {
            auto const again = d.unregister_consumer(takes);
            d.register_consumer(again);
        });
        often([&] { std::ignore = d.held() + listens.waiting() + takes.credit(); });
        for (auto& t : threads) t.join();
        auto closing = std::thread{[&] { may_fail([&] { d.close(); }); }};
        may_fail([&] { d.rollback(); });
        closing.join();
        EXPECT_TRUE(d.closed());
        EXPECT_EQ(d.held(), 0u);
        listens.receiver().close();
        takes.receiver().close();
        EXPECT_EQ(p.node.read("q").value().length, static_cast<unsigned>(count));
    }
    std::set<std::string> all;
    auto const r = p.connection.open_receiver("q");
    for (int i = 0; i < count; ++i) {
        auto const m = r.receive(milliseconds{20'000});
        all.insert(m.message().body_text().value());
        m.accept();
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
}

TEST(DispatcherThreads, CommitsAndRollbacksFromTwoThreadsCountEachMessageOnce)
{
    constexpr int count = 400;
    place p;
    fill(p, "in", count);
    dispatch::transacted_session work{p.session};
    std::atomic<int> seen{0};
    auto const out = p.session.open_sender("out");
    work.incoming().register_consumer(p.receiver("in"), {.prefetch = 30},
                                      [&](client::delivery const& m) {
                                          out.send(m.message(), work.posting());
                                          auto const n = ++seen;
                                          if (n % 10 == 0)
                                              work.commit();
                                          else if (n % 33 == 0)
                                              work.rollback();
                                      });
    work.incoming().start();
    auto rolls = std::thread{[&] {
        for (int i = 0; i < 10; ++i) work.rollback();
    }};
    auto commits = std::thread{[&] {
        while (p.node.read("in").value_or(node::queue_info{}).length > 0) {
            work.commit();
            std::this_thread::yield();
        }
    }};
    rolls.join();
    commits.join();
    work.commit();
    work.incoming().close();
    std::set<std::string> all;
    auto const r = p.connection.open_receiver("out");
    for (int i = 0; i < count; ++i) {
        auto const m = r.receive(milliseconds{20'000});
        all.insert(m.message().body_text().value());
        m.accept();
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
    EXPECT_FALSE(r.try_receive());
}

}  // namespace
}  // namespace sluice::test
