// Dispatchers and transacted sessions against the node of this project.
#include "support/numbered.hpp"

#include <sluice/client/client.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
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

sluice::message numbered(int n) { return sluice::message{std::to_string(n)}; }
std::uint32_t failures_of(client::delivery const& d)
{
    return d.message().header.delivery_count.value_or(0);
}

struct rig {
    node::node node;
    client::container container;
    client::connection connection;
    client::session session;

    explicit rig(node::node_options o = {}) : node{std::move(o)}
    {
        auto const port = node.listen("127.0.0.1", 0).value();
        connection = container.connect("amqp://127.0.0.1:" + std::to_string(port), strict());
        session = connection.begin();
    }
    void send(std::string const& queue, int first, int last)
    {
        auto const s = connection.open_sender(queue);
        for (int n = first; n <= last; ++n) s.send(numbered(n)).or_throw();
        s.close();
    }
    client::receiver receiver(std::string const& queue, client::receiver_options o = {})
    {
        o.credit_window = 0;
        return session.open_receiver(queue, o);
    }
    /// What a stranger finds in the queue, in its order, once nobody has a message of it.
    numbers content(std::string const& queue)
    {
        numbers out;
        auto const other = connection.begin();
        auto info = node.read(queue).value_or(node::queue_info{});
        for (auto const until = std::chrono::steady_clock::now() + patience;
             info.ready < info.length && std::chrono::steady_clock::now() < until;
             info = node.read(queue).value_or(node::queue_info{}))
            std::this_thread::yield();
        EXPECT_EQ(info.ready, info.length);
        auto const r = other.open_receiver(queue);
        for (auto left = info.ready; left > 0; --left) {
            auto const d = r.receive(patience);
            out.push_back(number_of(d));
            d.accept();
        }
        other.end();
        return out;
    }
};

/// What listeners saw, in one order.
class log {
public:
    void add(int n)
    {
        std::lock_guard const lock{mutex_};
        seen_.push_back(n);
        changed_.notify_all();
    }
    numbers until(std::size_t count)
    {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, patience, [&] { return seen_.size() >= count; });
        return seen_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    numbers seen_;
};

// ---- delivering

TEST(Dispatcher, DeliversToAListenerInOrderAndAccepts)
{
    rig r;
    r.send("q", 1, 500);
    log seen;
    {
        dispatch::dispatcher d{r.session};
        d.register_consumer(r.receiver("q"), {.prefetch = 20},
                            [&](client::delivery const& m) { seen.add(number_of(m)); });
        d.start();
        EXPECT_EQ(seen.until(500), from_to(1, 500));
    }
    EXPECT_EQ(r.content("q"), numbers{});
}

TEST(Dispatcher, ConsumersTakeTurns)
{
    rig r;
    r.send("a", 1, 50);
    r.send("b", 101, 150);
    dispatch::dispatcher d{r.session};
    log seen;
    auto const note = [&](client::delivery const& m) { seen.add(number_of(m)); };
    auto const a = d.register_consumer(r.receiver("a"), {}, note);
    auto const b = d.register_consumer(r.receiver("b"), {}, note);
    d.start(true);
    while (a.waiting() + b.waiting() < 100) std::this_thread::yield();
    d.start();
    auto const order = seen.until(100);
    ASSERT_EQ(order.size(), 100u);
    for (std::size_t i = 2; i < 100; ++i) EXPECT_EQ(order[i], order[i - 2] + 1) << i;
}

TEST(Dispatcher, AReceiveQueueHoldsNoMoreThanItsPrefetch)
{
    rig r;
    r.send("q", 1, 100);
    dispatch::dispatcher d{r.session};
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 8});
    d.start();
    EXPECT_EQ(take(c, 50), from_to(1, 50));
    EXPECT_LE(c.waiting() + c.credit(), 8u);
    EXPECT_GT(c.waiting() + c.credit(), 4u);
    EXPECT_EQ(take(c, 50), from_to(51, 100));
    EXPECT_FALSE(c.receive_now());
    EXPECT_EQ(code_of([&] { c.receive(milliseconds{1}); }), error::timed_out);
}

TEST(Dispatcher, WhileStoppedNothingIsReceived)
{
    rig r;
    r.send("q", 1, 3);
    dispatch::dispatcher d{r.session};
    auto const c = d.register_consumer(r.receiver("q"));
    d.start(true);
    while (c.waiting() < 3) std::this_thread::yield();
    EXPECT_FALSE(c.receive_now());
    auto waits = std::async(std::launch::async, [&] { return number_of(c.receive(patience)); });
    d.start(false);  // changes nothing: it has begun
    EXPECT_FALSE(d.running());
    d.start();
    EXPECT_EQ(waits.get(), 1);
    d.stop();
    EXPECT_FALSE(c.receive_now());
}

TEST(Dispatcher, WhatAListenerThrowsGoesToItsPlaceAndTheMessageBack)
{
    rig r;
    r.send("q", 1, 2);
    std::atomic<int> thrown{0};
    dispatch::dispatcher d{r.session, {.on_exception = [&](std::exception_ptr) { ++thrown; }}};
    log seen;
    d.register_consumer(r.receiver("q"), {.prefetch = 1}, [&](client::delivery const& m) {
        seen.add(number_of(m) * 10 + static_cast<int>(failures_of(m)));
        if (failures_of(m) == 0)
            throw std::runtime_error{"no"};
    });
    d.start();
    auto const order = seen.until(4);
    EXPECT_EQ(std::multiset<int>(order.begin(), order.end()), (std::multiset<int>{10, 11, 20, 21}));
    EXPECT_EQ(thrown, 2);
}

TEST(Dispatcher, ABarrierWaitsForWhatWasThereBefore)
{
    rig r;
    r.send("q", 1, 200);
    dispatch::dispatcher d{r.session};
    log seen;
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 200},
                                       [&](client::delivery const& m) { seen.add(number_of(m)); });
    d.start(true);
    while (c.waiting() < 200) std::this_thread::yield();
    EXPECT_EQ(code_of([&] { d.barrier(milliseconds{5}); }), error::timed_out);
    d.start();
    d.barrier();
    EXPECT_EQ(seen.until(0).size(), 200u);
}

TEST(Dispatcher, ARemovedConsumersMessagesGoBackAndItCanComeAgain)
{
    rig r;
    r.send("q", 1, 10);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 10});
    d.start();
    EXPECT_EQ(take(c, 3), from_to(1, 3));
    while (c.waiting() < 7) std::this_thread::yield();
    EXPECT_TRUE(d.unregister_consumer(c));
    EXPECT_EQ(code_of([&] { d.unregister_consumer(c); }), error::not_found);
    EXPECT_EQ(code_of([&] { c.receive_now(); }), error::invalid_state);
    EXPECT_EQ(d.held(), 3u);
    d.recover();  // what was delivered to it is given back too
    EXPECT_EQ(d.held(), 0u);
    d.register_consumer(c);
    EXPECT_EQ(code_of([&] { d.register_consumer(c); }), error::invalid_state);
    EXPECT_EQ(take(c, 10), from_to(1, 10));
    d.acknowledge();
    d.close();
    EXPECT_EQ(r.content("q"), numbers{});
}

TEST(Dispatcher, AConsumerMayMoveToAnotherDispatcherOfTheSession)
{
    rig r;
    r.send("q", 1, 4);
    auto first = std::make_unique<dispatch::dispatcher>(r.session);
    dispatch::dispatcher second{r.session};
    second.start();
    auto const c = first->register_consumer(r.receiver("q"), {.prefetch = 2});
    first->start();
    while (c.waiting() < 2) std::this_thread::yield();
    first->unregister_consumer(c);
    second.register_consumer(c);
    EXPECT_EQ(take(c, 4), from_to(1, 4));
    second.unregister_consumer(c);
    second.close();
    first.reset();
}

TEST(Dispatcher, AReceiverIsItsUsersAgainWhenItsDispatcherIsGone)
{
    rig r;
    r.send("q", 1, 2);
    auto const receiver = r.receiver("q");
    {
        dispatch::dispatcher d{r.session};
        auto const c = d.register_consumer(receiver, {.prefetch = 1});
        d.start();
        while (c.waiting() < 1) std::this_thread::yield();
        d.unregister_consumer(c);
    }
    auto const look = [&] { receiver.receive(milliseconds{1}); };
    while (code_of(look) == error::invalid_state) std::this_thread::yield();
    receiver.set_credit(1);
    EXPECT_EQ(number_of(receiver.receive(patience)), 1);
}

TEST(Dispatcher, EmptyHandlesAreRefused)
{
    rig r;
    dispatch::dispatcher d{r.session};
    using dispatch::consumer;
    EXPECT_EQ(code_of([&] { d.register_consumer(consumer{}); }), error::invalid_argument);
    EXPECT_EQ(code_of([&] { d.register_consumer(client::receiver{}); }), error::invalid_argument);
    EXPECT_EQ(code_of([&] { d.unregister_consumer(consumer{}); }), error::not_found);
    EXPECT_EQ(code_of([&] { d.dispatch(consumer{}, client::delivery{}); }),
              error::invalid_argument);
}

TEST(Dispatcher, WhatIsDispatchedToAnUnknownConsumerIsReleased)
{
    rig r;
    r.send("q", 1, 1);
    dispatch::dispatcher d{r.session};
    auto const c = d.register_consumer(r.receiver("q"));
    d.unregister_consumer(c);
    auto const other = r.session.open_receiver("q");
    auto const m = other.receive(patience);
    other.set_credit(0);
    d.dispatch(c, m);
    EXPECT_TRUE(m.answered());
    other.close();
    EXPECT_EQ(r.content("q"), from_to(1, 1));
}

TEST(Dispatcher, AReconnectedConsumerGetsANewReceiver)
{
    rig r;
    r.send("q", 1, 6);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 6});
    d.start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    auto const cleared = d.clear_consumers();
    ASSERT_EQ(cleared.size(), 1u);
    c.receiver().close();  // with it goes what it held
    d.register_consumer(cleared[0], r.receiver("q"));
    EXPECT_EQ(take(c, 6), from_to(1, 6));
}

// ---- rollback

TEST(DispatcherRollback, GivesBackOverAllConsumersInOrderOfArrival)
{
    rig r;
    r.send("q", 1, 40);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    log seen;
    std::vector<dispatch::consumer> all;
    all.push_back(d.register_consumer(r.receiver("q"), {.prefetch = 7}));
    all.push_back(d.register_consumer(r.receiver("q"), {.prefetch = 5}));
    auto const removed = d.register_consumer(r.receiver("q"), {.prefetch = 4});
    all.push_back(d.register_consumer(r.receiver("q"), {.prefetch = 6},
                                      [&](auto const& m) { seen.add(number_of(m)); }));
    d.start();
    take(all[0], 3);
    take(all[1], 2);
    take(removed, 1);
    seen.until(3);
    d.unregister_consumer(removed);
    d.stop();
    d.rollback();
    for (auto const& c : all) d.unregister_consumer(c);
    for (auto const& c : all) c.receiver().close();
    d.close();
    removed.receiver().close();
    EXPECT_EQ(r.content("q"), from_to(1, 40));
}

TEST(DispatcherRollback, FromAListenerIsDoneWhenItReturns)
{
    rig r;
    r.send("q", 1, 10);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    log seen;
    auto rolled_back = false;
    d.register_consumer(r.receiver("q"), {.prefetch = 10}, [&](client::delivery const& m) {
        seen.add(number_of(m));
        if (number_of(m) == 4 && !std::exchange(rolled_back, true)) {
            d.rollback();
            EXPECT_TRUE(m.answered());
            EXPECT_EQ(d.held(), 0u);
        }
    });
    d.start();
    EXPECT_EQ(seen.until(14), (numbers{1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(DispatcherRollback, WhatWasSeenCountsAsAFailureAndTheRestDoesNot)
{
    rig r;
    r.send("q", 1, 6);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 6});
    d.start();
    take(c, 2);
    d.rollback();
    for (int n = 1; n <= 6; ++n) {
        auto const m = c.receive(patience);
        EXPECT_EQ(number_of(m), n);
        EXPECT_EQ(failures_of(m), n <= 2 ? 1u : 0u) << n;
    }
}

TEST(DispatcherRollback, IsWithdrawnWhenAListenerDoesNotReturnInTime)
{
    rig r;
    r.send("q", 1, 5);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    std::promise<void> entered;
    std::promise<void> go;
    log seen;
    d.register_consumer(r.receiver("q"), {.prefetch = 5}, [&](client::delivery const& m) {
        if (number_of(m) == 1) {
            entered.set_value();
            go.get_future().wait();
        }
        seen.add(number_of(m));
    });
    d.start();
    entered.get_future().wait();
    EXPECT_EQ(code_of([&] { d.rollback(milliseconds{10}); }), error::timed_out);
    EXPECT_TRUE(d.running());
    go.set_value();
    EXPECT_EQ(seen.until(5), from_to(1, 5));  // as if it had not been asked for
    EXPECT_FALSE(d.closed());
}

TEST(DispatcherRollback, TwiceAtOnceIsDoneTwice)
{
    rig r;
    r.send("q", 1, 30);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 30});
    d.start();
    take(c, 10);
    auto one = std::async(std::launch::async, [&] { d.rollback(); });
    auto two = std::async(std::launch::async, [&] { d.rollback(); });
    one.get();
    two.get();
    EXPECT_EQ(take(c, 30), from_to(1, 30));
    EXPECT_LE(c.waiting() + c.credit(), 30u);
}

TEST(DispatcherRollback, DuringCloseIsToldThatItIsClosed)
{
    rig r;
    r.send("q", 1, 10);
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    std::promise<void> entered;
    std::promise<void> go;
    d.register_consumer(r.receiver("q"), {.prefetch = 10}, [&](client::delivery const& m) {
        if (number_of(m) == 1) {
            entered.set_value();
            go.get_future().wait();
        }
    });
    d.start();
    entered.get_future().wait();
    auto closing = std::async(std::launch::async, [&] { return code_of([&] { d.close(); }); });
    auto asking = std::async(std::launch::async, [&] { return code_of([&] { d.rollback(); }); });
    go.set_value();
    EXPECT_EQ(closing.get(), std::error_code{});
    auto const other = asking.get();  // whichever was first
    EXPECT_TRUE(!other || other == error::closed_locally) << other.message();
    EXPECT_EQ(code_of([&] { d.rollback(); }), error::closed_locally);
    EXPECT_EQ(r.content("q"), from_to(1, 10));
}

TEST(DispatcherRollback, DuringARecoverysClearReleasesWhatWasThere)
{
    rig r;
    r.send("q", 1, 20);
    for (int i = 0; i < 20; ++i) {
        dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
        auto const c = d.register_consumer(r.receiver("q"), {.prefetch = 20});
        d.start();
        take(c, 3);
        auto rolling = std::async(std::launch::async, [&] { d.rollback(); });
        auto const cleared = d.clear_consumers();
        rolling.get();
        EXPECT_EQ(d.held(), 0u);
        for (auto const& again : cleared) d.register_consumer(again);
        EXPECT_EQ(take(c, 20), from_to(1, 20));
        d.close();
        c.receiver().close();
    }
}

TEST(DispatcherRollback, ABrowsersMessagesAreDroppedAndStayInTheQueue)
{
    rig r;
    r.send("q", 1, 8);
    client::receiver_options browse;
    browse.source.distribution_mode = "copy";
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const looks = d.register_consumer(r.receiver("q", browse), {.browser = true});
    d.start();
    EXPECT_EQ(take(looks, 3), from_to(1, 3));
    while (looks.waiting() < 5) std::this_thread::yield();
    d.rollback();
    EXPECT_EQ(d.held(), 0u);
    EXPECT_FALSE(looks.receive_now());
    d.close();
    looks.receiver().close();
    EXPECT_EQ(r.content("q"), from_to(1, 8));
}

TEST(DispatcherRollback, PresettledMessagesThatWaitStay)
{
    rig r;
    r.send("q", 1, 6);
    client::receiver_options o;
    o.snd_settle_mode = sender_settle_mode::settled;
    dispatch::dispatcher d{r.session, {.mode = acknowledge::by_user}};
    auto const c = d.register_consumer(r.receiver("q", o), {.prefetch = 6});
    d.start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    while (c.waiting() < 4) std::this_thread::yield();
    d.rollback();
    EXPECT_EQ(take(c, 4), from_to(3, 6));
}

TEST(Dispatcher, MayBeClosedAndDestroyedByItsListener)
{
    rig r;
    r.send("q", 1, 5);
    auto d = std::make_unique<dispatch::dispatcher>(
        r.session, dispatch::dispatcher_options{.mode = acknowledge::by_user});
    std::promise<void> gone;
    std::promise<void> made;
    d->register_consumer(r.receiver("q"), {.prefetch = 5},
                         [&, ready = made.get_future().share()](client::delivery const& m) {
                             if (number_of(m) != 2)
                                 return;
                             ready.wait();
                             d.reset();
                             gone.set_value();
                         });
    d->start();
    made.set_value();
    gone.get_future().wait();
    EXPECT_EQ(r.content("q"), from_to(1, 5));
}

TEST(Dispatcher, TellsItsCallersThatTheSessionHasEnded)
{
    rig r;
    dispatch::dispatcher d{r.session};
    auto const c = d.register_consumer(r.receiver("q"));
    d.start();
    auto waiting = std::async(std::launch::async, [&] { return code_of([&] { c.receive(); }); });
    r.session.end();
    EXPECT_TRUE(waiting.get());
    EXPECT_TRUE(code_of([&] { d.rollback(); }));
    EXPECT_TRUE(d.closed());
}

// ---- transactions

TEST(TransactedSession, CommitsAndRollsBackAThousandOfEach)
{
    rig r;
    r.send("in", 1, 2000);
    dispatch::transacted_session work{r.session};
    auto const in = work.incoming().register_consumer(r.receiver("in"), {.prefetch = 100});
    auto const out = r.session.open_sender("out");
    work.incoming().start();
    for (int round = 0; round < 2; ++round) {
        for (int n = 1; n <= 1000; ++n) {
            EXPECT_EQ(number_of(in.receive(patience)), n);
            out.send(numbered(n), work.posting());
        }
        if (round == 0)
            work.rollback();
        else
            work.commit();
    }
    EXPECT_EQ(r.content("out"), from_to(1, 1000));
    work.incoming().close();
    EXPECT_EQ(r.content("in"), from_to(1001, 2000));
}

TEST(TransactedSession, WhatIsPrefetchedStaysWithCommit)
{
    rig r;
    r.send("q", 1, 10);
    dispatch::transacted_session work{r.session};
    auto const c = work.incoming().register_consumer(r.receiver("q"), {.prefetch = 10});
    work.incoming().start();
    EXPECT_EQ(take(c, 4), from_to(1, 4));
    while (c.waiting() < 6) std::this_thread::yield();
    auto const first = work.transaction().id();
    work.commit();
    EXPECT_EQ(c.waiting(), 6u);
    EXPECT_EQ(work.incoming().held(), 6u);
    EXPECT_NE(work.transaction().id(), first);
    EXPECT_EQ(r.node.read("q").value().length, 6u);
    EXPECT_EQ(take(c, 6), from_to(5, 10));
    work.rollback();
    EXPECT_EQ(take(c, 6), from_to(5, 10));
}

TEST(TransactedSession, CommitsWhatWasDeliveredToARemovedConsumer)
{
    rig r;
    r.send("q", 1, 6);
    dispatch::transacted_session work{r.session};
    auto const c = work.incoming().register_consumer(r.receiver("q"), {.prefetch = 6});
    work.incoming().start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    work.incoming().unregister_consumer(c);
    work.commit();
    work.incoming().close();
    c.receiver().close();
    EXPECT_EQ(r.content("q"), from_to(3, 6));
}

TEST(TransactedSession, AListenerCommitsAndRollsBack)
{
    rig r;
    r.send("q", 1, 6);
    dispatch::transacted_session work{r.session};
    log seen;
    auto rolled_back = false;
    work.incoming().register_consumer(r.receiver("q"), {.prefetch = 6},
                                      [&](client::delivery const& m) {
                                          auto const n = number_of(m);
                                          seen.add(n);
                                          if (n == 2)
                                              work.commit();
                                          else if (n == 5 && !std::exchange(rolled_back, true))
                                              work.rollback();
                                          else if (n == 6)
                                              work.commit();
                                      });
    work.incoming().start();
    EXPECT_EQ(seen.until(9), (numbers{1, 2, 3, 4, 5, 3, 4, 5, 6}));
    work.incoming().close();
    EXPECT_EQ(r.content("q"), numbers{});
}

TEST(TransactedSession, ATransactionThatThePeerGaveUpFailsItsCommitAndItsMessagesComeAgain)
{
    node::node_options o;
    o.transaction_timeout = milliseconds{500};  // for what is done before it is over
    rig r{std::move(o)};
    r.send("q", 1, 5);
    dispatch::transacted_session work{r.session};
    auto const c = work.incoming().register_consumer(r.receiver("q"), {.prefetch = 5});
    work.incoming().start();
    EXPECT_EQ(take(c, 2), from_to(1, 2));
    auto const out = r.session.open_sender("out");
    std::ignore = out.send(numbered(1), work.posting());
    while (r.node.read("out")->length > 0) std::this_thread::yield();
    EXPECT_EQ(code_of([&] { work.commit(); }), error::transaction_rolled_back);
    // An answer in a transaction that is not there costs its link. [4.4.2]
    EXPECT_EQ(code_of([&] { c.receive(patience); }), error::link_detached_by_peer);
    work.incoming().unregister_consumer(c);
    work.incoming().register_consumer(c, r.receiver("q"));
    EXPECT_EQ(take(c, 5), from_to(1, 5));
}

TEST(TransactedSession, ALostConnectionFailsTheCommit)
{
    node::node_options o;
    o.stop_timeout = milliseconds{0};
    rig r{std::move(o)};
    r.send("q", 1, 3);
    dispatch::transacted_session work{r.session};
    auto const c = work.incoming().register_consumer(r.receiver("q"), {.prefetch = 3});
    work.incoming().start();
    take(c, 2);
    r.node.stop();
    EXPECT_TRUE(code_of([&] { work.commit(); }));
    EXPECT_TRUE(code_of([&] { work.commit(); }));
}

TEST(TransactedSession, RecoverIsForOthers)
{
    rig r;
    dispatch::transacted_session work{r.session};
    EXPECT_EQ(code_of([&] { work.incoming().recover(); }), error::invalid_state);
    EXPECT_EQ(code_of([&] {
                  dispatch::dispatcher{r.session, {.mode = acknowledge::transacted}};
              }),
              error::invalid_argument);
}

}  // namespace
}  // namespace sluice::test
