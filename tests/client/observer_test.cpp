// What an observer is told: where, in which order, and that it holds nothing up.
#include "support/client_rig.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace sluice::test {
namespace {

constexpr std::chrono::seconds patience{10};

/// Each fact as a line.
class recording : public client::observer {
public:
    void on_connection_state(client::observed_connection const& at,
                             client::state_change const& to) override
    {
        EXPECT_EQ(at.where.rfind("amqp://127.0.0.1:", 0), 0u) << at.where;
        constexpr char const* names[] = {"open", "recovering", "closed"};
        add(names[static_cast<int>(to.state)]);
    }
    void on_session_ended(client::observed_connection const&,
                          client::failure_ptr const& why) override
    {
        add("session ended: " + why->code.message());
    }
    void on_link_attached(client::observed_link const& at) override { add(named(at, "attached")); }
    void on_link_detached(client::observed_link const& at,
                          client::detach_notice const& what) override
    {
        add(named(at, "detached: ") + what.why->error.condition);
    }
    void on_send_completed(client::observed_link const& at, client::send_result const& what,
                           std::chrono::nanoseconds latency) override
    {
        EXPECT_GT(latency.count(), 0);
        EXPECT_LT(latency, patience);
        add(named(at, what.code ? "failed" : "sent: " + what.outcome.to_string()));
    }
    void on_delivery(client::observed_link const& at, std::size_t octets) override
    {
        add(named(at, "delivery of " + std::to_string(octets)));
    }

    /// All so far, once there are `count`.
    std::vector<std::string> wait(std::size_t count)
    {
        std::unique_lock lock{mutex_};
        EXPECT_TRUE(grown_.wait_for(lock, patience, [&] { return lines_.size() >= count; }));
        return lines_;
    }

private:
    static std::string named(client::observed_link const& at, std::string what)
    {
        return (at.role == role::sender ? "to " : "from ") + at.address + " " + std::move(what);
    }
    void add(std::string line)
    {
        std::lock_guard const lock{mutex_};
        lines_.push_back(std::move(line));
        grown_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable grown_;
    std::vector<std::string> lines_;
};

client::session_options from_zero()
{
    return {.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}};
}
client::connection_options observed_by(std::shared_ptr<client::observer> who)
{
    auto o = strict();
    o.observer = std::move(who);
    return o;
}

TEST(Observer, IsToldOfStatesLinksSendsAndDeliveriesInTheirOrder)
{
    auto const seen = std::make_shared<recording>();
    client_rig rig{from_zero(), observed_by(seen)};
    auto const sender = rig.sender(1);
    auto sending =
        in_background([&] { return sender.send(client::encoded_message{data_message("x")}); });
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(sending).value);
    auto const receiver = rig.receiver();
    auto const message = data_message("hello");
    rig.peer.deliver(0, message, false, handle{1});
    auto const delivery = get(in_background([&] { return receiver.receive(); })).value.value();
    rig.peer.send(detach{.handle = handle{0},
                         .closed = true,
                         .error = error_view{.condition = "amqp:resource-deleted"}});
    rig.peer.skip_to<detach>();
    rig.peer.send(end{});
    rig.peer.skip_to<end>();
    auto closing = in_background([&] { rig.connection.close(); });
    rig.peer.skip_to<close>();
    rig.peer.send(close{});
    EXPECT_TRUE(get(closing).value);

    auto const ended = make_error_code(error::session_ended_by_peer).message();
    std::vector<std::string> const expected = {"open",
                                               "to q attached",
                                               "to q sent: accepted",
                                               "from q attached",
                                               "from q delivery of "
                                                   + std::to_string(message.size()),
                                               "to q detached: amqp:resource-deleted",
                                               "session ended: " + ended,
                                               "from q detached: ",
                                               "closed"};
    EXPECT_EQ(seen->wait(expected.size()), expected);
    EXPECT_EQ(rig.connection.counters().unobserved, 0u);
}

/// Waits in its first call until it is let go.
class blocking final : public client::observer {
public:
    void on_link_attached(client::observed_link const&) override
    {
        entered.set_value();
        go_on.get_future().wait();
    }
    void on_send_completed(client::observed_link const&, client::send_result const&,
                           std::chrono::nanoseconds) override
    {
        if (++sends == 4'096)
            all.set_value();
    }
    std::promise<void> entered;
    std::promise<void> go_on;
    std::promise<void> all;
    std::atomic<int> sends{0};
};

TEST(Observer, ThatBlocksHoldsNothingUpAndWhatFindsNoRoomIsCounted)
{
    auto const slow = std::make_shared<blocking>();
    client_rig rig{from_zero(), observed_by(slow)};
    auto const sender = rig.sender();
    slow->entered.get_future().wait();
    constexpr int more = 100;
    auto const tries = in_background([&] {
                           for (int i = 0; i < 4'096 + more; ++i) try {
                                   sender.try_send("x");
                               } catch (boost::system::system_error const&) {
                               }
                       }).get();
    EXPECT_EQ(rig.connection.counters().sent.failed, 4'096u + more);
    EXPECT_EQ(rig.connection.counters().unobserved, std::uint64_t{more});
    slow->go_on.set_value();
    auto all = slow->all.get_future();
    ASSERT_EQ(all.wait_for(patience), std::future_status::ready);
}

class throwing final : public recording {
    void on_link_attached(client::observed_link const&) override
    {
        throw std::runtime_error{"not me"};
    }
};

TEST(Observer, OfAContainerMayThrowAndIsToldTheNextFactAllTheSame)
{
    auto const seen = std::make_shared<throwing>();
    std::promise<std::string> thrown;
    client::container_options options;
    options.observer = seen;
    options.on_exception = [&](std::exception_ptr what) {
        try {
            std::rethrow_exception(what);
        } catch (std::exception const& e) {
            thrown.set_value(e.what());
        }
    };
    scripted_peer peer;
    client::container container{options};
    auto connecting = in_background([&] { return container.connect(peer.url(), strict()); });
    peer.open_connection();
    auto const connection = get(connecting).value.value();
    auto opening = in_background([&] { return connection.open_sender("q"); });
    peer.begin_session();
    peer.attach_link();
    auto const sender = get(opening).value.value();
    EXPECT_EQ(get(thrown.get_future()), "not me");
    peer.reset();
    auto const lines = seen->wait(4);
    EXPECT_EQ(lines.front(), "open");
    EXPECT_EQ(lines.back(), "closed");
}

}  // namespace
}  // namespace sluice::test
