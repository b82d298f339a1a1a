// Dispatchers on a connection that comes back by itself: consumers are cleared and registered
// again, and a rollback may fall into the middle of it.
#include "support/chaos_proxy.hpp"
#include "support/numbered.hpp"

#include <sluice/client/client.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>

#include <gtest/gtest.h>

#include <future>

namespace sluice::test {
namespace {

using client::connection_state;
using client::milliseconds;
using dispatch::acknowledge;
struct rig {
    std::unique_ptr<node::node> node = std::make_unique<node::node>();
    std::uint16_t const port = node->listen("127.0.0.1", 0).value();
    chaos_proxy proxy{port};
    client::container container;
    client::connection connection;
    client::session session;
    client::notifications<client::state_change> changes;

    rig()
    {
        client::connection_options o;
        o.audit = client::audit_mode::off;
        o.reconnect = client::reconnect_options{.initial_delay = milliseconds{2},
                                                .max_delay = milliseconds{20}};
        connection = container.connect("amqp://127.0.0.1:" + std::to_string(proxy.port()), o);
        session = connection.begin();
        changes = connection.state_changes();
    }
    client::receiver receiver() const
    {
        client::receiver_options o;
        o.credit_window = 0;
        return session.open_receiver("q", o);
    }
    /// Past the proxy, on a connection of its own.
    void send(int first, int last)
    {
        auto const direct = container.connect("amqp://127.0.0.1:" + std::to_string(port));
        auto const s = direct.open_sender("q");
        for (int n = first; n <= last; ++n) s.send(std::to_string(n)).or_throw();
        direct.close();
    }
    numbers content()
    {
        auto const direct = container.connect("amqp://127.0.0.1:" + std::to_string(port));
        auto const r = direct.open_receiver("q");
        numbers out;
        try {
            while (true) {
                auto const d = r.receive(milliseconds{out.empty() ? 5'000 : 200});
                out.push_back(number_of(d));
                d.settle();
            }
        } catch (boost::system::system_error const&) {
        }
        direct.close();
        return out;
    }
    void expect(connection_state state)
    {
        while (true) {
            auto const change = changes.next(patience);
            ASSERT_TRUE(change) << "the state has not changed";
            if (change->state == state)
                return;
        }
    }
    void lose()
    {
        proxy.reset_all();
        expect(connection_state::recovering);
    }
};

TEST(DispatcherReconnect, ConsumersThatWereClearedGoOnWhereTheyWere)
{
    rig r;
    r.send(1, 20);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver(), {.prefetch = 10});
    d.start();
    EXPECT_EQ(take(c, 4), from_to(1, 4));
    r.lose();
    auto const cleared = d.clear_consumers();
    ASSERT_EQ(cleared.size(), 1u);
    r.expect(connection_state::open);
    d.register_consumer(cleared[0]);
    d.rollback(patience);
    EXPECT_EQ(take(c, 20), from_to(1, 20));
    d.acknowledge();
    d.close();
    EXPECT_EQ(r.content(), numbers{});
}

TEST(DispatcherReconnect, ConsumersThatNobodyClearsGoOnByThemselves)
{
    rig r;
    r.send(1, 20);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver(), {.prefetch = 20});
    d.start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    r.lose();
    r.expect(connection_state::open);
    r.send(21, 25);
    EXPECT_EQ(take(c, 23), from_to(3, 25));
    d.acknowledge();
    d.close();
    EXPECT_EQ(r.content(), numbers{});
}

TEST(DispatcherReconnect, ARollbackDuringTheRecoveryGivesEverythingBackInOrder)
{
    rig r;
    r.send(1, 20);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver(), {.prefetch = 10});
    d.start();
    EXPECT_EQ(take(c, 4), from_to(1, 4));
    r.proxy.set_shut(true);
    r.lose();
    auto rolling = std::async(std::launch::async, [&] { d.rollback(patience); });
    r.proxy.set_shut(false);
    rolling.get();
    EXPECT_EQ(take(c, 20), from_to(1, 20));
    d.close();
    EXPECT_EQ(r.content(), from_to(1, 20));
}

TEST(DispatcherReconnect, WhatAForgetfulPeerGaveBeforeIsStaleAndItsConsumersGoOn)
{
    rig r;
    r.send(1, 3);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver(), {.prefetch = 10});
    d.start();
    auto const held = c.receive(patience);
    r.node.reset();  // and everything in it
    r.expect(connection_state::recovering);
    r.node = std::make_unique<node::node>();
    while (!r.node->listen("127.0.0.1", r.port)) {}
    r.expect(connection_state::open);
    auto const cleared = d.clear_consumers();  // what waits is of the node that is gone
    d.register_consumer(cleared.at(0));
    d.rollback(patience);
    r.send(11, 13);
    EXPECT_EQ(take(c, 3), from_to(11, 13));
    auto const late = code_of([&] { held.accept(); });  // or the rollback has answered it
    EXPECT_TRUE(late == error::stale_delivery || late == error::already_settled) << late.message();
    d.acknowledge();
    d.close();
    EXPECT_EQ(r.content(), numbers{});
}

TEST(DispatcherReconnect, ATransactionThatWasLostIsRolledBackAndTheNextOneCommits)
{
    rig r;
    r.send(1, 6);
    dispatch::transacted_session work{r.session};
    auto const c = work.incoming().register_consumer(r.receiver(), {.prefetch = 10});
    work.incoming().start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    r.lose();
    r.expect(connection_state::open);
    EXPECT_TRUE(code_of([&] { work.commit(); }));
    work.rollback();
    EXPECT_EQ(take(c, 6), from_to(1, 6));
    work.commit();
    work.incoming().close();
    EXPECT_EQ(r.content(), numbers{});
}

TEST(DispatcherReconnect, NothingIsPostedInATransactionThatWasLost)
{
    rig r;
    auto const out = r.session.open_sender("q");
    auto const tx = r.session.begin_transaction();
    EXPECT_TRUE(out.send("1", tx.posting()).accepted());
    r.lose();
    EXPECT_EQ(code_of([&] { std::ignore = tx.posting(); }), error::transaction_rolled_back);
    r.expect(connection_state::open);
    EXPECT_EQ(code_of([&] { std::ignore = tx.posting(); }), error::transaction_rolled_back);
    EXPECT_EQ(code_of([&] { tx.commit(); }), error::transaction_rolled_back);
    auto const next = r.session.begin_transaction();
    EXPECT_TRUE(out.send("2", next.posting()).accepted());
    next.commit();
    EXPECT_EQ(r.content(), numbers{2});
}

}  // namespace
}  // namespace sluice::test
