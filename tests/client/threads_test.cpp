// Many threads on one session over a real socket: exact flows, nothing lost, nothing twice.
#include "support/client_rig.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

namespace sluice::test {
namespace {

using client::delivery;
using client::outcome;

/// Plays a broker with one queue for one session: takes what is sent, gives it out again, and holds
/// every flow against the number of transfer frames before it [2.5.6]. On a thread of its own until
/// the connection closes.
class loop_back {
public:
    loop_back(scripted_peer& peer, std::uint32_t first_id) : peer_{peer}, next_incoming_{first_id}
    {
    }

    void run(std::uint32_t window)
    {
        try {
            serve(window);
        } catch (std::exception const& e) {
            ADD_FAILURE() << "the broker gave up: " << e.what();
            peer_.shut();
        }
    }

    void serve(std::uint32_t window)
    {
        window_ = window;
        while (true) {
            auto const f = peer_.next();
            bytes_view in{f.octets};
            switch (f.descriptor()) {
            case descriptor_of<attach>: take<attach>(in, &loop_back::on_attach); break;
            case descriptor_of<transfer>: take<transfer>(in, &loop_back::on_transfer); break;
            case descriptor_of<flow>: take<flow>(in, &loop_back::on_flow); break;
            case descriptor_of<end>: peer_.send(end{}); break;
            case descriptor_of<close>: peer_.send(close{}); return;
            default: break;
            }
            give();
        }
    }

    std::uint64_t flows = 0;
    std::uint64_t wrong_flows = 0;
    std::uint64_t transfers = 0;

private:
    template <class T>
    void take(bytes_view in, void (loop_back::*on)(T const&, bytes_view))
    {
        T v;
        if (auto const failed = decode(in, v))
            throw std::runtime_error{failed.message()};
        (this->*on)(v, in);
    }
    void on_attach(attach const& theirs, bytes_view)
    {
        auto ours = theirs;
        ours.role = theirs.role == role::sender ? role::receiver : role::sender;
        if (ours.role == role::sender) {
            ours.initial_delivery_count = sequence_number{0};
            receiver_ = theirs.handle;
        }
        peer_.send(ours);
        if (ours.role == role::receiver)
            grant(theirs.handle);
    }
    void grant(handle h)
    {
        peer_.send(flow{.next_incoming_id = next_incoming_,
                        .incoming_window = window_,
                        .next_outgoing_id = transfer_id{sent_},
                        .outgoing_window = 2048,
                        .handle = h,
                        .delivery_count = sequence_number{counts_[h.value]},
                        .link_credit = 1000});
    }
    void on_transfer(transfer const& t, bytes_view payload)
    {
        ++next_incoming_;
        ++transfers;
        if (t.delivery_id) {
            id_ = *t.delivery_id;
            ++counts_[t.handle.value];
        }
        auto& partial = partial_[t.handle.value];
        partial.insert(partial.end(), payload.begin(), payload.end());
        if (!t.more) {
            queue_.push_back(std::move(partial));
            partial.clear();
            peer_.settle(id_of(t).value(), id_of(t).value());
            if (counts_[t.handle.value] % 100 == 0)
                grant(t.handle);
        }
        if (t.delivery_id)
            ids_[t.handle.value] = *t.delivery_id;
        if (transfers % (window_ / 4) == 0)
            grant(t.handle);
    }
    delivery_number id_of(transfer const& t)
    {
        return t.delivery_id ? *t.delivery_id : ids_[t.handle.value];
    }
    void on_flow(flow const& f, bytes_view)
    {
        ++flows;
        if (f.next_outgoing_id != next_incoming_)
            ++wrong_flows;
        if (f.handle == receiver_ && f.link_credit)
            limit_ = f.delivery_count.value_or(sequence_number{0}).value() + *f.link_credit;
        edge_ = f.next_incoming_id ? f.next_incoming_id->value() + f.incoming_window
                                   : f.incoming_window;
    }
    /// Frames while there is credit, for begun deliveries go on without, and a window.
    void give()
    {
        constexpr std::size_t frame_max = 60'000;
        while (!queue_.empty() && sent_ < edge_ && (offset_ > 0 || given_ < limit_)) {
            auto const& whole = queue_.front();
            auto const part =
                bytes_view{whole}.subspan(offset_, std::min(frame_max, whole.size() - offset_));
            auto const more = offset_ + part.size() < whole.size();
            if (offset_ == 0) {
                peer_.deliver(given_, part, false, *receiver_, more);
                ++given_;
            } else {
                peer_.send(transfer{.handle = *receiver_, .more = more}, 0, part);
            }
            ++sent_;
            offset_ += part.size();
            if (!more) {
                offset_ = 0;
                queue_.pop_front();
            }
        }
    }

    scripted_peer& peer_;
    transfer_id next_incoming_;
    std::uint32_t window_ = 0;
    std::uint32_t sent_ = 0;
    std::uint32_t given_ = 0;
    std::size_t offset_ = 0;
    std::uint32_t limit_ = 0;
    std::uint32_t edge_ = 0;
    delivery_number id_;
    std::optional<handle> receiver_;
    std::map<std::uint32_t, std::uint32_t> counts_;
    std::map<std::uint32_t, delivery_number> ids_;
    std::map<std::uint32_t, bytes> partial_;
    std::deque<bytes> queue_;
};

struct loop_rig {
    static constexpr std::uint32_t first_id = 4294967293;
    scripted_peer peer;
    client::container container;
    client::connection connection;
    client::session session;
    loop_back broker{peer, first_id};
    std::thread thread;

    loop_rig()
    {
        auto c = in_background([&] { return container.connect(peer.url()); });
        peer.open_connection();
        connection = get(c).value.value();
        auto s = in_background(
            [&] { return connection.begin({.next_outgoing_id = transfer_id{first_id}}); });
        peer.begin_session(0, 100);
        session = get(s).value.value();
        thread = std::thread{[this] { broker.run(100); }};
    }
    ~loop_rig()
    {
        if (!thread.joinable())
            return;
        connection.async_close([](error_code) {});
        thread.join();
    }
    void finish()
    {
        EXPECT_EQ(session.error(), nullptr);
        connection.close();
        thread.join();
        EXPECT_EQ(broker.wrong_flows, 0u);
    }
};

TEST(Threads, AFlowAlwaysSaysHowManyTransfersWentBefore)
{
    loop_rig rig;
    constexpr int senders = 4;
    constexpr int each = 500;
    client::receiver_options options;
    options.credit_window = 5;
    auto const receiver = rig.session.open_receiver("q", options);
    auto const sender = rig.session.open_sender("q");
    std::atomic<int> accepted{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < senders; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                auto const size = i % 10 == 0 ? 100'000u : 10u;  // some take two frames
                auto const body = std::to_string(t * each + i) + " " + std::string(size, 'x');
                sender.async_send(client::encoded_message{data_message(body)},
                                  [&](error_code ec, outcome o) {
                                      if (!ec && o.accepted())
                                          ++accepted;
                                  });
                if (i % 3 == 0)
                    receiver.request_flow();
            }
        });
    std::set<int> seen;
    for (int i = 0; i < senders * each; ++i) {
        auto const d = receiver.receive(std::chrono::milliseconds{10'000});
        EXPECT_TRUE(seen.insert(std::stoi(*d.message().body_text())).second);
        d.accept();
    }
    for (auto& t : threads) t.join();
    while (accepted < senders * each) std::this_thread::yield();
    EXPECT_EQ(seen.size(), std::size_t{senders * each});
    EXPECT_EQ(rig.session.counters().wraps, 1u);
    rig.finish();
    EXPECT_GT(rig.broker.flows, 100u);
}

TEST(Threads, FlowsAskedForWhileABodyIsPulledAreWrittenAfterItsFrame)
{
    loop_rig rig;
    auto const receiver = rig.session.open_receiver("q", [] {
        client::receiver_options o;
        o.credit_window = 0;
        return o;
    }());
    auto const sender = rig.session.open_sender("q");
    std::jthread asking{[&](std::stop_token stop) {
        while (!stop.stop_requested()) receiver.set_credit(5);
    }};
    bytes const part(20'000);
    auto sent = 0;
    for (; sent < 40'000 && rig.session.counters().flows_deferred == 0; ++sent) {
        auto const stream = sender.stream();
        for (int i = 0; i < 5; ++i) stream.write_data(part);
        EXPECT_TRUE(stream.finish().accepted());
        receiver.receive(std::chrono::milliseconds{10'000}).accept();
    }
    asking.request_stop();
    asking.join();
    EXPECT_GT(rig.session.counters().flows_deferred, 0u) << "after " << sent << " messages";
    rig.finish();
}

TEST(Threads, HandlersOfManySessionsRunBesideABlockedOne)
{
    loop_rig rig;
    std::promise<void> release;
    auto const released = release.get_future().share();
    std::promise<void> blocked;
    auto left = std::make_shared<std::promise<void>>();
    boost::asio::post(rig.session.get_executor(), [&blocked, released, left] {
        blocked.set_value();
        released.wait();
        left->set_value();
    });
    get(blocked.get_future());
    // Other executors of the container still run, whatever the number of blocked ones below the
    // limit.
    std::atomic<int> ran{0};
    std::promise<void> all;
    for (int i = 0; i < 3; ++i)
        boost::asio::post(rig.connection.get_executor(), [&] {
            if (++ran == 3)
                all.set_value();
        });
    get(all.get_future());
    release.set_value();
    get(left->get_future());  // before what it waits on goes
    rig.finish();
}

boost::asio::awaitable<int> ping(client::session session, int count)
{
    using boost::asio::use_awaitable;
    auto const receiver = co_await session.async_open_receiver("q", use_awaitable);
    auto const sender = co_await session.async_open_sender("q", use_awaitable);
    auto received = 0;
    for (int i = 0; i < count; ++i) {
        auto const o = co_await sender.async_send(message{i}, use_awaitable);
        EXPECT_TRUE(o.accepted());
        auto const d = co_await receiver.async_receive(use_awaitable);
        EXPECT_EQ(d.message().body_value()->integer(), i);
        d.accept();
        ++received;
    }
    co_return received;
}

TEST(Threads, CoroutinesRunOnTheirOwnOrOnTheSessionsExecutor)
{
    loop_rig rig;
    std::promise<int> on_session;
    boost::asio::co_spawn(rig.session.get_executor(), ping(rig.session, 50),
                          [&](std::exception_ptr e, int n) { on_session.set_value(e ? -1 : n); });
    EXPECT_EQ(get(on_session.get_future()), 50);
    boost::asio::io_context io;
    auto on_own = 0;
    boost::asio::co_spawn(io, ping(rig.session, 50),
                          [&](std::exception_ptr e, int n) { on_own = e ? -1 : n; });
    io.run();
    EXPECT_EQ(on_own, 50);
    rig.finish();
}

}  // namespace
}  // namespace sluice::test
