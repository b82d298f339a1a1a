// Real threads on real sockets, with the auditor in between: whatever users do at the same time on
// one session, what goes over the wire is exact.
#include "support/audit_tap.hpp"

#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <iostream>

namespace sluice::test {
namespace {

using client::outcome;

constexpr client::milliseconds patience{60'000};

client::encoded_message message_of(std::size_t size)
{
    bytes const body(size, std::byte{7});
    bytes out;
    message_writer{out}.data(bytes_view{body});
    return {std::move(out)};
}

client::receiver_options credit_of(std::uint32_t window)
{
    client::receiver_options o;
    o.credit_window = window;
    return o;
}

/// A node, the auditor before it, a client of both, and the threads that use one session of it.
class AuditedThreads : public ::testing::Test {
protected:
    AuditedThreads()
        : port_{node_.listen("127.0.0.1", 0).value()},
          tap_{port_},
          connection_{container_.connect("amqp://127.0.0.1:" + std::to_string(tap_.port()),
                                         frames_of(4'096))}
          // Just below the wrap, and a window that shuts often.
          ,
          session_{connection_.begin({.next_outgoing_id = transfer_id{4'294'967'200u},
                                      .next_delivery_id = delivery_number{4'294'967'250u},
                                      .incoming_window = 16})}
    {
    }

    static client::connection_options frames_of(std::uint32_t size)
    {
        client::connection_options o;
        o.outgoing_frame_max = size;
        o.max_frame_size = size;
        o.audit = client::audit_mode::off;  // the tap is the judge
        return o;
    }

    void start(std::function<void()> work)
    {
        threads_.emplace_back([work = std::move(work)] {
            try {
                work();
            } catch (std::exception const& e) {
                ADD_FAILURE() << "a thread ended with: " << e.what();
            }
        });
    }
    void join()
    {
        for (auto& t : threads_) t.join();
        threads_.clear();
    }
    ~AuditedThreads() override { join(); }

    /// Nothing is wrong, and there was something that could have been.
    void expect_clean(std::uint64_t transfers, std::uint64_t flows)
    {
        connection_.close();
        auto const v = tap_.stop();
        EXPECT_EQ(v.totals.violations, 0u);
        EXPECT_EQ(v.totals.suspicious, 0u);
        for (auto const& f : v.faults) ADD_FAILURE() << f;
        std::uint64_t unchecked = 0;
        for (auto const& d : v.totals.directions) {
            EXPECT_GE(d.transfers, transfers);
            unchecked += d.unchecked;
        }
        EXPECT_EQ(unchecked, 0u);
        EXPECT_GE(v.totals.directions[0].flows, flows);
        std::cout << "client: " << v.totals.directions[0].transfers << " transfers, "
                  << v.totals.directions[0].flows
                  << " flows; node: " << v.totals.directions[1].transfers << " transfers, "
                  << v.totals.directions[1].flows << " flows\n";
    }

    node::node node_;
    std::uint16_t port_;
    audit_tap tap_;
    client::container container_;
    client::connection connection_;
    client::session session_;
    std::vector<std::thread> threads_;
};

TEST_F(AuditedThreads, SendersReceiversAndCreditChangersOnOneSession)
{
    constexpr int senders = 3;
    constexpr int each = 400;
    std::atomic<int> received = 0;
    std::promise<void> all;
    std::vector<client::receiver> receivers;
    for (int i = 0; i < 2; ++i) {
        receivers.push_back(session_.open_receiver("q", credit_of(5)));
        receivers.back().on_message([&](client::delivery d) {
            d.accept();
            if (++received == senders * each)
                all.set_value();
        });
    }
    std::atomic<bool> over = false;
    for (int s = 0; s < senders; ++s)
        start([&, s] {
            auto const sender = session_.open_sender("q");
            std::vector<std::future<outcome>> outcomes;
            for (int n = 0; n < each; ++n)
                outcomes.push_back(
                    sender.async_send(message_of(n % 10 == s ? 20'000u : static_cast<unsigned>(n)),
                                      boost::asio::use_future));
            for (auto& o : outcomes) EXPECT_TRUE(o.get().accepted());
        });
    start([&] {  // while the others are at work, without ever taking all credit away
        for (std::uint32_t n = 1; !over; n = n % 9 + 1) {
            receivers[n % 2].set_credit_window(n);
            receivers[n % 2].request_flow(n == 3);
        }
    });
    EXPECT_EQ(all.get_future().wait_for(patience), std::future_status::ready);
    over = true;
    join();
    expect_clean(senders * each, 150);
}

TEST_F(AuditedThreads, StreamedBodiesAndAbortsBesideShortMessages)
{
    constexpr int count = 60;
    constexpr int whole_ones = 2 * count * 2 / 3 + 5 * count;
    std::atomic<int> received = 0;
    std::promise<void> all;
    auto const receiver = session_.open_receiver("q", credit_of(3));
    receiver.on_message([&](client::delivery d) {
        d.accept();
        if (++received == whole_ones)
            all.set_value();
    });
    for (int t = 0; t < 2; ++t)
        start([&, t] {
            auto const sender = session_.open_sender("q");
            bytes const part(3'000, std::byte{1});
            for (int n = 0; n < count; ++n) {
                auto const stream = sender.stream({}, 8'192);
                for (int i = 0; i < 5; ++i) stream.write_data(bytes_view{part});
                if ((n + t) % 3 == 0) {
                    stream.abort();
                } else {
                    EXPECT_TRUE(stream.finish().accepted());
                }
            }
        });
    start([&] {
        auto const sender = session_.open_sender("q");
        for (int n = 0; n < 5 * count; ++n) {
            EXPECT_TRUE(sender.send(message_of(10)).accepted());
            receiver.request_flow();
        }
    });
    join();
    EXPECT_EQ(all.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_EQ(received, whole_ones);
    receiver.close();
    expect_clean(static_cast<std::uint64_t>(5 * count), 100);
}

TEST_F(AuditedThreads, CancelersAndClosersDisturbNobody)
{
    constexpr int rounds = 40;
    std::atomic<bool> over = false;
    std::atomic<std::uint64_t> moved = 0;
    start([&] {  // who is not to be disturbed
        auto const sender = session_.open_sender("steady");
        auto const receiver = session_.open_receiver("steady", credit_of(4));
        while (!over || moved < 500) {
            EXPECT_TRUE(sender.send(message_of(moved % 7 == 0 ? 9'000 : 9)).accepted());
            receiver.receive(patience).accept();
            ++moved;
        }
    });
    for (int t = 0; t < 2; ++t)
        start([&, t] {  // links that come and go, with sends and receives on their way
            for (int n = 0; n < rounds; ++n) {
                auto const sender = session_.open_sender("shared");
                auto const receiver = session_.open_receiver("shared", credit_of(8));
                std::vector<std::future<outcome>> outcomes;
                for (int i = 0; i < 8; ++i)
                    outcomes.push_back(sender.async_send(message_of(i == t ? 30'000u : 30u),
                                                         boost::asio::use_future));
                auto waiting = receiver.async_receive(boost::asio::use_future);
                if (n % 2 == 0)
                    waiting.get().release();
                n % 3 == 0 ? sender.close() : receiver.close();
                n % 3 == 0 ? receiver.close() : sender.close();
                for (auto& o : outcomes) o.wait();
                if (n % 2 != 0)
                    waiting.wait();
            }
        });
    start([&] {  // calls that are cancelled at any moment
        auto const sender = session_.open_sender("cancelled");
        auto const receiver = session_.open_receiver("cancelled", credit_of(2));
        boost::asio::io_context mine;  // signals are emitted where the handlers run
        for (int n = 0; n < 5 * rounds; ++n) {
            boost::asio::cancellation_signal stop_sending;
            boost::asio::cancellation_signal stop_receiving;
            int completed = 0;
            auto const here = [&](auto& signal, auto handler) {
                return boost::asio::bind_cancellation_slot(
                    signal.slot(), boost::asio::bind_executor(mine, std::move(handler)));
            };
            sender.async_send(message_of(n % 3 == 0 ? 50'000u : 5u),
                              here(stop_sending, [&](auto, outcome const&) { ++completed; }));
            receiver.async_receive(here(stop_receiving, [&](auto ec, client::delivery const& d) {
                if (!ec)
                    d.accept();
                ++completed;
            }));
            if (n % 2 == 0)
                mine.run_one();
            stop_sending.emit(boost::asio::cancellation_type::all);
            if (n % 4 == 0)
                mine.poll();
            stop_receiving.emit(boost::asio::cancellation_type::all);
            mine.restart();
            mine.run();
            mine.restart();
            EXPECT_EQ(completed, 2);
        }
    });
    start([&] {  // sessions beside it
        for (int n = 0; n < rounds; ++n) {
            auto const other = connection_.begin();
            auto const sender = other.open_sender("beside");
            auto outcome = sender.async_send(message_of(6'000), boost::asio::use_future);
            if (n % 2 == 0)
                outcome.wait();
            other.end();
            outcome.wait();
        }
    });
    for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    over = true;
    threads_.resize(1);
    join();
    EXPECT_GE(moved, 500u);
    expect_clean(500, 250);
}

}  // namespace
}  // namespace sluice::test
