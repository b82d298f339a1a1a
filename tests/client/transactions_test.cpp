// Commits that wait for their sends, and answers in transactions, with a coordinator that the test
// plays.
#include "support/client_rig.hpp"
#include "support/held_thread.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

client::session_options from_zero(milliseconds timeout = {})
{
    client::session_options o{.next_outgoing_id = transfer_id{0},
                              .next_delivery_id = delivery_number{0}};
    if (timeout != milliseconds{})
        o.timeout = timeout;
    return o;
}

bytes declared_state()
{
    static bytes const id(1);
    return encoded(delivery_state{declared{.txn_id = id}});
}

/// On a link with the next handle; its declaration is the delivery `id`.
client::transaction begin_transaction(client_rig& rig, std::uint32_t id)
{
    auto call = in_background([&] { return rig.session.begin_transaction(); });
    auto const theirs = rig.peer.attach_link();
    rig.peer.grant(100, id, 2048, 0, theirs->handle);
    rig.peer.skip_to<transfer>();
    rig.peer.settle(id, id, declared_state());
    return get(call).value.value();
}

/// Everything that was asked for before has been taken by the connection when it returns.
void let_it_take_all(client_rig& rig) { EXPECT_TRUE(rig.sender().valid()); }

/// Calls a function when a turn has read what there was, and not yet done what it was asked for.
class hooked_stream final : public net::byte_stream {
public:
    hooked_stream(std::unique_ptr<net::byte_stream> to, std::function<void()> hook)
        : to_{std::move(to)}, hook_{std::move(hook)}
    {
    }
    boost::asio::any_io_executor get_executor() override { return to_->get_executor(); }
    std::size_t read_some(boost::asio::mutable_buffer into, net::error_code& ec) override
    {
        return to_->read_some(into, ec);
    }
    std::size_t write_some(boost::asio::const_buffer from, net::error_code& ec) override
    {
        return to_->write_some(from, ec);
    }
    void async_wait(net::readiness which, std::shared_ptr<net::stream_waiter> waiter) override
    {
        to_->async_wait(which, std::move(waiter));
        if (which == net::readiness::read)
            hook_();
    }
    void shutdown_write() noexcept override { to_->shutdown_write(); }
    void close() noexcept override { to_->close(); }
    std::string peer() const override { return to_->peer(); }

private:
    std::unique_ptr<net::byte_stream> to_;
    std::function<void()> hook_;
};

client::connection_options hooked(std::function<void()> hook)
{
    auto o = strict();
    o.connector = [hook = std::move(hook)](auto&& on, auto&& host, auto port, auto&& done) {
        return net::connect_tcp(on, host, port, {}, [hook, done](net::connect_result r) {
            if (r.stream)
                r.stream = std::make_unique<hooked_stream>(std::move(r.stream), hook);
            done(std::move(r));
        });
    };
    return o;
}

TEST(Transactions, ACommitGoesOutThoughAnotherSendBeginsWhenItIsReleased)
{
    struct {
        client::sender sender{};
        client::transaction in{};
        std::atomic<bool> armed{false};
    } second;
    client_rig rig{from_zero(), hooked([&second] {
                       if (!second.armed.load() || second.sender.outstanding() != 0)
                           return;
                       second.armed.store(false);
                       second.sender.async_send(message{"2"}, second.in.posting(),
                                                [](error_code, client::outcome const&) {});
                   })};
    second.sender = rig.sender(10);
    second.in = begin_transaction(rig, 0);
    second.sender.async_send(message{"1"}, second.in.posting(),
                             [](error_code, client::outcome const&) {});
    rig.peer.skip_to<transfer>();
    auto const committed = std::make_shared<std::promise<error_code>>();
    second.in.async_commit([committed](error_code why) { committed->set_value(why); });
    let_it_take_all(rig);

    second.armed.store(true);
    rig.peer.settle(1, 1);
    auto first = rig.peer.skip_to<transfer>();
    EXPECT_EQ(first->handle, handle{1}) << "the commit waits for a send that was begun after it";
    rig.peer.settle(2, 3);
    EXPECT_EQ(get(committed->get_future()), error_code{});
    rig.peer.shut();
}

// The first one opens the link to the coordinator, and declares then: a signal between the two is
// the second one's.
TEST(Transactions, ABeginIsCancelledAlsoInTheMomentInWhichItsLinkIsAttached)
{
    client_rig rig{from_zero()};
    boost::asio::cancellation_signal signal;
    std::promise<client::error_code> done;
    rig.session.async_begin_transaction(boost::asio::bind_cancellation_slot(
        signal.slot(),
        [&](client::error_code ec, client::transaction const&) { done.set_value(ec); }));
    all_at_once_behind(
        rig.container, [&] { rig.peer.grant(100, 0, 2048, 0, rig.peer.attach_link()->handle); },
        [&] { signal.emit(boost::asio::cancellation_type::all); });
    EXPECT_EQ(get(done.get_future()), error::operation_aborted);
}

TEST(Transactions, ACommitsTimeRunsFromTheCallAndNotAnewWhenItsSendsAreThere)
{
    constexpr milliseconds limit{3'000};
    client_rig rig{from_zero(limit)};
    auto const sender = rig.sender(10);
    auto const in = begin_transaction(rig, 0);
    sender.async_send(message{"1"}, in.posting(), [](error_code, client::outcome const&) {});
    rig.peer.skip_to<transfer>();
    auto const committed = std::make_shared<std::promise<error_code>>();
    auto const since = steady_clock::now();
    in.async_commit([committed](error_code why) { committed->set_value(why); });
    auto over = committed->get_future();
    EXPECT_EQ(over.wait_for(limit * 3 / 4), std::future_status::timeout);
    rig.peer.settle(1, 1);
    EXPECT_NE(get(over), error_code{});  // nobody answers it
    EXPECT_LT(steady_clock::now() - since, limit * 8 / 5);
    rig.peer.shut();
}

TEST(Transactions, AnswersThatCannotBeSentAreRefusedByNameAndLeaveTheDelivery)
{
    client_rig rig{from_zero()};
    auto const receiver = rig.receiver();
    while (rig.peer.skip_to<flow>()->link_credit == 0u) {}
    rig.peer.deliver(0, data_message("x"));
    auto const delivery = receiver.receive(milliseconds{10'000});
    auto const in = begin_transaction(rig, 0);
    bytes const junk{std::byte{0xd1}, std::byte{0}, std::byte{0}, std::byte{0}};
    auto const refused = [](auto f) {
        auto const r = get(in_background(std::move(f)));
        EXPECT_EQ(r.code, error::invalid_argument) << r.what;
        return r.what;
    };
    EXPECT_TRUE(has(refused([&] { in.reject(delivery, {.condition = "\xc3\xa4"}); }),
                    "amqp_error::condition has other than ASCII"));
    EXPECT_TRUE(has(refused([&] {
                        in.reject(delivery,
                                  {.condition = "amqp:not-allowed", .description = "\xff"});
                    }),
                    "amqp_error::description is not UTF-8"));
    EXPECT_TRUE(has(refused([&] { in.modify(delivery, {.message_annotations = junk}); }),
                    "modification::message_annotations"));
    auto const no_outcome = encoded(true);
    EXPECT_TRUE(has(refused([&] { delivery.answer(in.state(no_outcome)); }),
                    "has an outcome that is not a described value"));
    EXPECT_TRUE(has(refused([&] { delivery.settle(in.state(in.state({}))); }),
                    "has an outcome that is a transactional-state"));
    EXPECT_FALSE(delivery.answered());
    in.reject(delivery, {.condition = "amqp:not-allowed"});
    auto const said = rig.peer.skip_to<disposition>();
    EXPECT_TRUE(said->settled);
    rig.peer.shut();
}

}  // namespace
}  // namespace sluice::test
