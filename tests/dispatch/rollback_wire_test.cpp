// A rollback as the peer sees it, frame by frame.
#include "support/client_rig.hpp"

#include <sluice/dispatch/dispatcher.hpp>

#include <gtest/gtest.h>

#include <condition_variable>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

/// A listener that notes what it gets and, at one message, waits to be let go.
class noting_listener {
public:
    explicit noting_listener(std::string blocks_at = {}) : blocks_at_{std::move(blocks_at)} {}

    void operator()(client::delivery const& d)
    {
        std::unique_lock lock{mutex_};
        seen_.push_back(d.message().body_text().value());
        changed_.notify_all();
        if (seen_.back() == blocks_at_)
            changed_.wait(lock, [this] { return let_go_; });
    }
    bool comes_to(std::size_t count)
    {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::seconds{10},
                                 [&] { return seen_.size() >= count; });
    }
    void let_go()
    {
        std::lock_guard const lock{mutex_};
        let_go_ = true;
        changed_.notify_all();
    }
    std::vector<std::string> seen()
    {
        std::lock_guard const lock{mutex_};
        return seen_;
    }

private:
    std::string const blocks_at_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> seen_;
    bool let_go_ = false;
};

std::string_view name_of(disposition const& d)
{
    delivery_state state;
    EXPECT_FALSE(decode(d.state, state));
    return std::holds_alternative<modified>(state)   ? "modified"
           : std::holds_alternative<released>(state) ? "released"
           : std::holds_alternative<accepted>(state) ? "accepted"
                                                     : "other";
}

/// The dispositions up to the next flow that grants credit, as "first-last state", and that credit.
/// Neighbours of one state are one here, however many frames it took.
std::string answers(scripted_peer& peer)
{
    struct range {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::string_view state{};
    };
    std::vector<range> said;
    while (true) {
        auto const f = peer.next();
        bytes_view in{f.octets};
        if (f.descriptor() == descriptor_of<disposition>) {
            disposition d;
            EXPECT_FALSE(decode(in, d));
            range const r{d.first.value(), d.last.value_or(d.first).value(), name_of(d)};
            if (!said.empty() && said.back().state == r.state && said.back().last + 1 == r.first)
                said.back().last = r.last;
            else
                said.push_back(r);
        } else if (f.descriptor() == descriptor_of<flow>) {
            flow granted;
            EXPECT_FALSE(decode(in, granted));
            if (granted.link_credit.value_or(0) == 0)
                continue;
            std::string out;
            for (auto const& r : said)
                out += std::to_string(r.first) + '-' + std::to_string(r.last) + ' '
                       + std::string{r.state} + "; ";
            return out + "credit " + std::to_string(granted.link_credit.value());
        }
    }
}

got<flow> next_drain(scripted_peer& peer)
{
    while (true) {
        auto f = peer.skip_to<flow>();
        if (f->drain)
            return f;
    }
}

/// All credit that `asked` left is given back.
void answer_drain(scripted_peer& peer, got<flow> const& asked, std::uint32_t sent)
{
    peer.send(flow{.next_incoming_id = transfer_id{0},
                   .incoming_window = 2048,
                   .next_outgoing_id = transfer_id{sent},
                   .outgoing_window = 2048,
                   .handle = handle{0},
                   .delivery_count = *asked->delivery_count + *asked->link_credit,
                   .link_credit = 0,
                   .drain = true});
}

client::receiver_options no_credit()
{
    client::receiver_options o;
    o.credit_window = 0;
    return o;
}

TEST(RollbackOnTheWire, AMessageInHandAndFiveInFlightGoBackInTheirOrder)
{
    client_rig rig;
    noting_listener seen{"2"};
    dispatch::dispatcher d{rig.session, {.mode = dispatch::acknowledge::by_user}};
    d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10}, std::ref(seen));
    d.start();
    for (std::uint32_t i = 0; i < 5; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    ASSERT_TRUE(seen.comes_to(3));
    d.stop();
    auto rolled_back = in_background([&] { d.rollback(); });
    seen.let_go();

    auto const asked = next_drain(rig.peer);
    for (std::uint32_t i = 5; i < 10; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    answer_drain(rig.peer, asked, 10);
    EXPECT_EQ(answers(rig.peer), "0-2 modified; 3-9 released; credit 10");
    EXPECT_TRUE(get(rolled_back).value);
    EXPECT_EQ(d.held(), 0u);
    EXPECT_EQ(seen.seen(), (std::vector<std::string>{"0", "1", "2"}));

    // It was stopped and still is; what comes again is seen in its order.
    for (std::uint32_t i = 0; i < 10; ++i)
        rig.peer.deliver(10 + i, data_message(std::to_string(i)));
    EXPECT_FALSE(d.running());
    d.start();
    ASSERT_TRUE(seen.comes_to(13));
    EXPECT_EQ(seen.seen(), (std::vector<std::string>{"0", "1", "2", "0", "1", "2", "3", "4", "5",
                                                     "6", "7", "8", "9"}));
    rig.peer.shut();
}

TEST(RollbackOnTheWire, WithoutTheOutcomeModifiedAllIsReleasedInOneRange)
{
    client_rig rig;
    noting_listener seen;
    dispatch::dispatcher d{rig.session, {.mode = dispatch::acknowledge::by_user}};
    d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10, .modified_offered = false},
                        std::ref(seen));
    d.start();
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    ASSERT_TRUE(seen.comes_to(4));
    auto rolled_back = in_background([&] { d.recover(); });
    auto const asked = next_drain(rig.peer);
    answer_drain(rig.peer, asked, 4);
    EXPECT_EQ(answers(rig.peer), "0-3 released; credit 10");
    EXPECT_TRUE(get(rolled_back).value);
    rig.peer.shut();
}

TEST(RollbackOnTheWire, APeerThatCannotDrainIsAskedForAnEchoWithoutCredit)
{
    client_rig rig;
    dispatch::dispatcher d{
        rig.session,
        {.mode = dispatch::acknowledge::by_user,
         .drain_timeout = milliseconds{500}}};  // enough for its flow to go out alone
    auto const consumer = d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10});
    d.start(true);
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    auto rolled_back = in_background([&] { d.rollback(); });
    next_drain(rig.peer);
    auto echo = rig.peer.skip_to<flow>();
    while (!echo->echo) echo = rig.peer.skip_to<flow>();
    EXPECT_EQ(echo->link_credit, 0u);
    rig.peer.deliver(4, data_message("4"));
    rig.peer.grant(0, 0, 2048, 5);  // a flow that says that it knows
    EXPECT_EQ(answers(rig.peer), "0-4 released; credit 10");
    EXPECT_TRUE(get(rolled_back).value);
    rig.peer.shut();
}

TEST(RollbackOnTheWire, ATimeOutOfMoreThanAnyClockHasWaitsForTheDrain)
{
    client_rig rig;
    dispatch::dispatcher d{
        rig.session, {.mode = dispatch::acknowledge::by_user, .drain_timeout = client::no_timeout}};
    auto const consumer = d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10});
    d.start(true);
    for (std::uint32_t i = 0; i < 4; ++i) rig.peer.deliver(i, data_message(std::to_string(i)));
    auto rolled_back = in_background([&] { d.rollback(); });
    auto const asked = next_drain(rig.peer);
    EXPECT_EQ(rolled_back.wait_for(milliseconds{100}), std::future_status::timeout);
    answer_drain(rig.peer, asked, 4);
    EXPECT_EQ(answers(rig.peer), "0-3 released; credit 10");  // and no echo was asked for before
    EXPECT_TRUE(get(rolled_back).value);
    rig.peer.shut();
}

TEST(RollbackOnTheWire, PastItsDeadlineTheSessionEnds)
{
    client_rig rig;
    dispatch::dispatcher d{rig.session, {.mode = dispatch::acknowledge::by_user}};
    auto const consumer = d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10});
    d.start(true);
    auto rolled_back = in_background([&] { d.rollback(milliseconds{300}); });
    rig.peer.skip_to<end>();
    auto const result = get(rolled_back);
    EXPECT_EQ(result.code, error::timed_out);
    EXPECT_NE(result.what.find("deadline"), std::string::npos) << result.what;
    EXPECT_TRUE(d.closed());
    rig.peer.shut();
}

TEST(RollbackOnTheWire, CloseGivesEverythingBackAndTakesTheCreditAway)
{
    client_rig rig;
    noting_listener seen;
    dispatch::dispatcher d{rig.session, {.mode = dispatch::acknowledge::by_user}};
    d.register_consumer(rig.receiver(no_credit()), {.prefetch = 10}, std::ref(seen));
    d.start();
    rig.peer.deliver(0, data_message("0"));
    ASSERT_TRUE(seen.comes_to(1));
    auto closed = in_background([&] { d.close(); });
    auto const asked = next_drain(rig.peer);
    rig.peer.deliver(1, data_message("1"));
    answer_drain(rig.peer, asked, 2);
    auto const first = rig.peer.skip_to<disposition>();
    EXPECT_EQ(first->first, delivery_number{0});
    auto const second = rig.peer.skip_to<disposition>();
    EXPECT_EQ(second->first, delivery_number{1});
    EXPECT_TRUE(get(closed).value);
    EXPECT_EQ(get(in_background([&] { d.rollback(); })).code, error::closed_locally);
    EXPECT_EQ(get(in_background([&] { d.start(); })).code, error::closed_locally);
    EXPECT_TRUE(get(in_background([&] { d.close(); })).value);
    rig.peer.shut();
}

// ActiveMQ Artemis 2.40.0 answers a discharge whose `fail` is left out with a null pointer's text.
TEST(RollbackOnTheWire, ADischargeThatCommitsSaysSo)
{
    auto const id = octets("id");
    auto const written = encoded(discharge{.txn_id = id, .fail = false});
    discharge read;
    bytes_view in{written};
    ASSERT_FALSE(decode(in, read));
    EXPECT_EQ(read.fail, false);
}

}  // namespace
}  // namespace sluice::test
