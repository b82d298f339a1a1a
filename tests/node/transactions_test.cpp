// Transactions at the node, asked for by the library's own client. [4]
#include "support/client_rig.hpp"

#include <sluice/node/node.hpp>

#include <gmock/gmock.h>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Transactions : testing::Test {
    explicit Transactions(node::node_options options = {}) : peer{std::move(options)} {}

    client::connection connect()
    {
        return container.connect("amqp://127.0.0.1:" + std::to_string(port));
    }
    std::string failure_of(auto call)
    {
        try {
            call();
        } catch (boost::system::system_error const& e) {
            return e.what();
        }
        return "no failure";
    }
    /// What is in the queue for anybody, without taking it.
    std::vector<std::string> bodies(std::string const& queue)
    {
        client::receiver_options o;
        o.source.distribution_mode = "copy";
        auto const in = connection.open_receiver(queue, o);
        in.drain();
        std::vector<std::string> out;
        while (auto const d = in.try_receive()) out.push_back(d.message().body_text().value());
        in.close();
        return out;
    }

    node::node peer;
    std::uint16_t port = peer.listen("127.0.0.1", 0).value();
    client::container container;
    client::connection connection = connect();
    client::session session = connection.begin();
};

struct ShortTransactions : Transactions {
    ShortTransactions() : Transactions{options()} {}
    static node::node_options options()
    {
        node::node_options o;
        o.transaction_timeout = 1ms;
        o.transactions_max = 2;
        return o;
    }
};

TEST_F(Transactions, PostNothingBeforeTheCommit)
{
    auto const out = session.open_sender("q");
    auto const tx = session.begin_transaction();
    EXPECT_TRUE(out.send("one", tx.posting()).accepted());
    EXPECT_TRUE(out.send("two", tx.posting()).accepted());
    EXPECT_THAT(bodies("q"), IsEmpty());
    tx.commit();
    EXPECT_THAT(bodies("q"), ElementsAre("one", "two"));
    EXPECT_FALSE(tx.active());
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("committed or rolled back before"));
}

TEST_F(Transactions, AreCommittedWithAllThatWasPostedInThemWhetherThereWasCreditOrNot)
{
    constexpr int count = 2'000;
    auto const out = session.open_sender("q");
    auto const tx = session.begin_transaction();
    std::atomic<int> accepted{0};
    std::atomic<int> told{0};
    for (int i = 0; i < count; ++i)
        out.async_send(sluice::message{std::to_string(i)}, tx.posting(),
                       [&](client::error_code ec, client::outcome const& o) {
                           accepted += !ec && o.accepted();
                           ++told;
                       });
    tx.commit();
    while (told < count) std::this_thread::yield();  // handlers run on a thread of their own
    EXPECT_EQ(accepted, count);
    EXPECT_EQ(peer.read("q")->length, std::size_t{count});
}

TEST_F(Transactions, AreRolledBackIfAPostIsRefusedWhileTheCommitWaits)
{
    node::queue_options small;
    small.length_max = 2;
    ASSERT_FALSE(peer.declare("small", small));
    auto const out = session.open_sender("small");
    auto const tx = session.begin_transaction();
    for (int i = 0; i < 3; ++i)
        out.async_send(sluice::message{"m"}, tx.posting(),
                       [](client::error_code, client::outcome const&) {});
    auto const why = failure_of([&] { tx.commit(); });
    if (why == "no failure") {  // the third was refused before the commit was asked for
        EXPECT_EQ(peer.read("small")->length, 2u);
    } else {
        EXPECT_THAT(why, HasSubstr("a send in it failed"));
        EXPECT_THAT(why, HasSubstr("is full"));
        EXPECT_EQ(tx.error()->code, error::transaction_rolled_back);
        while (peer.read("small")->length > 0) std::this_thread::yield();
    }
    EXPECT_TRUE(session.begin_transaction().valid());
}

TEST_F(Transactions, AreRolledBackIfTheirPostsTakeTooLong)
{
    node::queue_options full;
    full.length_max = 1;
    full.full = node::when_full::withhold;
    ASSERT_FALSE(peer.declare("full", full));
    client::session_options hasty;
    hasty.timeout = 1s;  // of the begin, the attach and the declare as well
    auto const on = connection.begin(hasty);
    auto const out = on.open_sender("full");
    auto const tx = on.begin_transaction();
    for (int i = 0; i < 10; ++i)
        out.async_send(sluice::message{"m"}, tx.posting(),
                       [](client::error_code, client::outcome const&) {});
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("waited for their outcome"));
    EXPECT_EQ(tx.error()->code, error::transaction_rolled_back);
    while (peer.read("full")->length > 0) std::this_thread::yield();
}

TEST_F(Transactions, PostNothingWhenTheyAreRolledBack)
{
    auto const out = session.open_sender("q");
    auto const tx = session.begin_transaction();
    std::ignore = out.send("one", tx.posting());
    tx.rollback();
    tx.rollback();  // harmless
    std::ignore = out.send("two");
    EXPECT_THAT(bodies("q"), ElementsAre("two"));
}

TEST_F(Transactions, AreRolledBackWhenTheirLastHandleGoes)
{
    auto const out = session.open_sender("q");
    {
        auto const tx = session.begin_transaction();
        std::ignore = out.send("one", tx.posting());
    }
    std::ignore = session.begin_transaction();  // the discharge before it is through
    EXPECT_THAT(bodies("q"), IsEmpty());
    EXPECT_EQ(peer.read("q")->length, 0u);
}

TEST_F(Transactions, RetireWithTheCommit)
{
    auto const out = session.open_sender("q");
    for (auto const* const text : {"a", "b", "c"}) std::ignore = out.send(text);
    auto const in = session.open_receiver("q");
    auto const tx = session.begin_transaction();
    tx.accept(in.receive(20s));
    tx.release(in.receive(20s));
    tx.reject(in.receive(20s));
    EXPECT_THAT(bodies("q"), IsEmpty()) << "all of them are in the transaction";
    in.set_credit(0);
    tx.commit();
    EXPECT_THAT(bodies("q"), ElementsAre("b"));
}

TEST_F(Transactions, DeliverAgainInOrderWhatARollbackGivesBack)
{
    auto const out = session.open_sender("q");
    for (auto const* const text : {"a", "b", "c"}) std::ignore = out.send(text);
    auto const in = session.open_receiver("q");
    auto const tx = session.begin_transaction();
    std::vector<client::delivery> held;
    for (auto i = 0; i < 3; ++i) held.push_back(in.receive(20s));
    tx.accept(held[2]);
    tx.accept(held[0]);
    tx.accept(held[1]);
    tx.rollback();
    std::vector<std::string> again;
    for (auto i = 0; i < 3; ++i) {
        auto const d = in.receive(20s);
        auto const m = d.message();
        again.push_back(m.body_text().value() + std::to_string(m.header.prior_deliveries()));
        d.accept();
    }
    EXPECT_THAT(again, ElementsAre("a1", "b1", "c1"));
}

TEST_F(Transactions, OfTwoAtOnceDoNotMix)
{
    auto const out = session.open_sender("q");
    auto const one = session.begin_transaction();
    auto const two = session.begin_transaction();
    EXPECT_NE(one.id(), two.id());
    std::ignore = out.send("one", one.posting());
    std::ignore = out.send("two", two.posting());
    std::ignore = out.send("one more", one.posting());
    two.rollback();
    one.commit();
    EXPECT_THAT(bodies("q"), ElementsAre("one", "one more"));
}

TEST_F(Transactions, OfAThousandPostsAndRetirementsCountTogether)
{
    auto const out = session.open_sender("from");
    for (auto i = 0; i < 1'000; ++i) std::ignore = out.send(std::to_string(i));
    auto const in = session.open_receiver("from");
    auto const on = session.open_sender("to");
    for (auto const commits : {false, true}) {
        auto const tx = session.begin_transaction();
        for (auto i = 0; i < 1'000; ++i) {
            auto const d = in.receive(20s);
            ASSERT_EQ(d.message().body_text(), std::to_string(i)) << "commits: " << commits;
            std::ignore = on.send(d.message(), tx.posting());
            tx.accept(d);
        }
        EXPECT_EQ(peer.read("to")->ready, 0u);
        commits ? tx.commit() : tx.rollback();
    }
    EXPECT_EQ(peer.read("to")->ready, 1'000u);
    EXPECT_EQ(peer.read("from")->length, 0u);
}

TEST_F(Transactions, AreRolledBackWithTheirSession)
{
    auto const other = connection.begin();
    auto const tx = session.begin_transaction();
    std::ignore = session.open_sender("q").send("one", tx.posting());
    session.end();
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("rolled back"));
    EXPECT_THAT(bodies("q"), IsEmpty());
}

TEST_F(Transactions, FailToCommitOnceTheConnectionIsLost)
{
    auto const tx = session.begin_transaction();
    std::ignore = session.open_sender("q").send("one", tx.posting());
    peer.stop();
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("rolled back"));
    ASSERT_TRUE(tx.error());
    EXPECT_EQ(tx.error()->code, error::transaction_rolled_back);
}

TEST_F(Transactions, ToAQueueThatIsDeletedAreRolledBackWhole)
{
    auto const a = session.open_sender("a");
    auto const b = session.open_sender("b");
    auto const tx = session.begin_transaction();
    std::ignore = a.send("one", tx.posting());
    std::ignore = b.send("two", tx.posting());
    EXPECT_FALSE(peer.remove("b"));
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("amqp:transaction:rollback"));
    EXPECT_THAT(bodies("a"), IsEmpty());
}

TEST_F(Transactions, ReserveTheRoomTheyNeed)
{
    node::queue_options small;
    small.length_max = 2;
    ASSERT_FALSE(peer.declare("small", small));
    auto const out = session.open_sender("small");
    auto const tx = session.begin_transaction();
    std::ignore = out.send("one", tx.posting());
    EXPECT_TRUE(out.send("two").accepted());
    EXPECT_TRUE(out.send("three").rejected());
    auto const refused = out.send("four", tx.posting());
    EXPECT_THAT(refused.to_string(), HasSubstr("is full"));
    tx.commit();
    EXPECT_EQ(peer.read("small")->length, 2u);
}

TEST_F(ShortTransactions, ThatAreOpenForTooLongAreRolledBack)
{
    auto const out = session.open_sender("q");
    auto const tx = session.begin_transaction();
    std::ignore = out.send("one", tx.posting());
    while (peer.read("q")->length > 0) std::this_thread::yield();
    EXPECT_THAT(failure_of([&] { tx.commit(); }), HasSubstr("amqp:transaction:timeout"));
}

TEST_F(ShortTransactions, AreBoundedInNumber)
{
    auto const one = session.begin_transaction();
    auto const two = session.begin_transaction();
    EXPECT_THAT(failure_of([&] { std::ignore = session.begin_transaction(); }),
                HasSubstr("amqp:resource-limit-exceeded"));
    one.rollback();
    EXPECT_TRUE(session.begin_transaction().valid());
}

// A connection has a tenth of what there may be, and no less than a hundred; what timed out counts
// until it is discharged, for it is remembered so that its end can be told.
TEST_F(ShortTransactions, OfOneConnectionLeaveRoomForOthers)
{
    std::vector<client::session> sessions;
    std::vector<client::transaction> open;
    for (auto i = 0; i < 50; ++i) {
        sessions.push_back(connection.begin());
        for (auto k = 0; k < 2; ++k) open.push_back(sessions.back().begin_transaction());
    }
    EXPECT_THAT(failure_of([&] { std::ignore = session.begin_transaction(); }),
                HasSubstr("on this connection"));
    EXPECT_TRUE(connect().begin().begin_transaction().valid());
    open.front().rollback();
    EXPECT_TRUE(session.begin_transaction().valid());
}

TEST_F(ShortTransactions, ThatAreOverTakeNoPosts)
{
    auto const out = session.open_sender("q");
    auto const tx = session.begin_transaction();
    std::ignore = out.send("one", tx.posting());
    while (peer.read("q")->length > 0) std::this_thread::yield();
    EXPECT_THAT(out.send("two", tx.posting()).to_string(), HasSubstr("amqp:transaction:timeout"));
}

}  // namespace
}  // namespace sluice::test
