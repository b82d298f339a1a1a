// Many rounds of what seldom happens: answers around the deadline, calls that time out, clients
// that all come back at once.
#include "support/client_rig.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <deque>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

std::size_t heap_in_use() { return ::mallinfo2().uordblks; }

/// Answers each attach and each transfer with the number that is in it, in one of four ways: at
/// once; once the caller has surely given up; about when its deadline is; after the next one's
/// request has come. On a thread of its own until the connection closes.
class tardy_peer {
public:
    explicit tardy_peer(scripted_peer& p) : peer_{p} {}
    void run()
    {
        try {
            while (serve(peer_.next())) {}
        } catch (std::exception const& e) {
            ADD_FAILURE() << "the peer gave up: " << e.what();
            peer_.shut();
        }
    }

private:
    enum manner : std::uint8_t { at_once, too_late, around, after_the_next };

    struct link {
        std::string name;
        std::string address;
        std::uint32_t number = 0;
        bool answered = false;
        bool detached = false;
    };

    bool serve(frame f)
    {
        bytes_view in{f.octets};
        switch (f.descriptor()) {
        case descriptor_of<attach>: take_attach(in); break;
        case descriptor_of<detach>: take_detach(in); break;
        case descriptor_of<transfer>: take_transfer(in); break;
        case descriptor_of<end>: peer_.send(end{}); break;
        case descriptor_of<close>: peer_.send(close{}); return false;
        default: break;
        }
        return true;
    }
    void wait_about_a_deadline()
    {
        auto const until = std::chrono::steady_clock::now()
                           + std::chrono::microseconds{600 + 97 * (++spins_ % 17)};
        while (std::chrono::steady_clock::now() < until) {}
    }

    void take_attach(bytes_view in)
    {
        attach a;
        ASSERT_FALSE(decode(in, a));
        target t;
        auto encoded_target = a.target.encoded;
        ASSERT_FALSE(decode(encoded_target, t));
        link l{.name = std::string{a.name},
               .address = std::string{as_text(t.address).value_or("")},
               .number = a.handle.value};
        flush();
        auto const how = static_cast<manner>(std::stoi(l.address) / 2 % 4);
        if (how == around)
            wait_about_a_deadline();
        if (how == at_once || how == around)
            answer(l);
        links_.push_back(l);
        if (how == after_the_next)
            held_ = true;
    }
    void answer(link& l)
    {
        l.answered = true;
        auto const address = encoded(std::string_view{l.address});
        auto const to = encoded(target{.address = {address}});
        auto const from = encoded(source{});
        peer_.send(attach{.name = l.name,
                          .handle = handle{l.number},
                          .role = role::receiver,
                          .source = {from},
                          .target = {to}});
    }
    void take_detach(bytes_view in)
    {
        detach d;
        ASSERT_FALSE(decode(in, d));
        for (auto& l : links_)
            if (l.number == d.handle.value)
                l.detached = true;
        if (!held_)
            flush();
    }
    /// What was held back goes out.
    void flush()
    {
        held_ = false;
        for (auto& l : links_) {
            if (!l.answered)
                answer(l);
            if (l.detached)
                peer_.send(detach{.handle = handle{l.number}, .closed = true});
        }
        std::erase_if(links_, [](link const& l) { return l.detached; });
        for (auto const& [id, number] : unsettled_) settle(id, number);
        unsettled_.clear();
    }

    void take_transfer(bytes_view in)
    {
        transfer t;
        ASSERT_FALSE(decode(in, t));
        message_view m;
        ASSERT_FALSE(decode(in, m));
        auto const number = text_of(m.first_data);
        auto const how = static_cast<manner>(std::stoi(number) / 2 % 4);
        auto const id = t.delivery_id->value();
        if (how == too_late || how == after_the_next) {
            unsettled_.emplace_back(id, number);
            return;
        }
        if (how == around)
            wait_about_a_deadline();
        settle(id, number);
    }
    void settle(std::uint32_t id, std::string const& number)
    {
        auto const state = encoded(delivery_state{
            rejected{.error = error_view{.condition = "test:number", .description = number}}});
        peer_.settle(id, id, state);
    }

    scripted_peer& peer_;
    std::vector<link> links_;
    std::deque<std::pair<std::uint32_t, std::string>> unsettled_;
    bool held_ = false;
    unsigned spins_ = 0;
};

TEST(Endurance, ALateReplyNeverPoisonsTheNextCallInTenThousandRounds)
{
    constexpr int rounds = 10'000;
    client_rig rig;
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    rig.peer.attach_link();
    rig.peer.grant(rounds, 0, 2 * rounds);
    auto const sender = get(opening).value.value();
    tardy_peer tardy{rig.peer};
    std::thread peer{[&] { tardy.run(); }};
    auto answered = 0;
    auto late = 0;
    for (int n = 0; n < rounds; ++n) {
        auto const number = std::to_string(n);
        try {
            if (n % 2 == 0) {
                client::sender_options o;
                o.timeout = milliseconds{1};
                auto const made = rig.session.open_sender(number, o);
                ASSERT_EQ(made.address(), number);
                made.async_close([](error_code) {});
            } else {
                auto const out = sender.send(client::encoded_message{data_message(number)},
                                             {.timeout = milliseconds{1}});
                ASSERT_EQ(out.error().description, number);
            }
            ++answered;
        } catch (boost::system::system_error const& e) {
            auto const expected = n % 2 == 0 ? error::timed_out : error::outcome_unknown;
            ASSERT_EQ(e.code(), expected) << n << ": " << e.what();
            ++late;
        }
    }
    std::printf("%d answered in time, %d too late\n", answered, late);
    EXPECT_EQ(answered + late, rounds);
    EXPECT_GE(late, rounds / 4);  // those whose answer waits for the caller to give up
    EXPECT_EQ(rig.session.error(), nullptr);
    rig.connection.close();
    peer.join();
}

TEST(Endurance, AHundredThousandCallsThatTimeOutLeaveTheHeapFlat)
{
    constexpr std::uint32_t batch = 1'000;
    constexpr std::uint32_t batches = 100;
    client_rig rig;
    auto const without_credit = rig.sender();
    auto opening = in_background([&] { return rig.session.open_sender("q"); });
    rig.peer.attach_link();
    rig.peer.grant(batch * batches, 0, batch * batches, 0, handle{1});
    auto const unanswered = get(opening).value.value();
    auto const receiver = rig.receiver();
    std::vector<std::size_t> heap;
    heap.reserve(batches);
    std::uint64_t taken = 0;
    for (std::uint32_t b = 0; b < batches; ++b) {
        std::atomic<std::uint32_t> left{3 * batch};
        std::promise<void> all;
        auto const one_less = [&] {
            if (--left == 0)
                all.set_value();
        };
        std::vector<boost::asio::cancellation_signal> signals(batch);
        for (std::uint32_t i = 0; i < batch; ++i) {
            receiver.async_receive(milliseconds{1}, [&](error_code ec, client::delivery const&) {
                EXPECT_EQ(ec, error::timed_out);
                one_less();
            });
            unanswered.async_send(client::encoded_message{data_message("unanswered")},
                                  {.timeout = milliseconds{1}},
                                  [&](error_code ec, client::outcome const&) {
                                      EXPECT_EQ(ec, error::outcome_unknown);
                                      one_less();
                                  });
            without_credit.async_send(
                client::encoded_message{data_message("never")},
                boost::asio::bind_cancellation_slot(signals[i].slot(),
                                                    [&](error_code ec, client::outcome const&) {
                                                        EXPECT_EQ(ec, error::operation_aborted);
                                                        one_less();
                                                    }));
        }
        for (auto& s : signals) s.emit(boost::asio::cancellation_type::terminal);
        // A send whose time was over before the socket had it is withdrawn and never comes.
        get(all.get_future());
        auto const written = rig.session.counters().transfers_written;
        while (taken < written) {
            rig.peer.skip_to<transfer>();
            ++taken;
        }
        if (taken > 0)
            rig.peer.settle(0, static_cast<std::uint32_t>(taken - 1));  // late: dropped
        EXPECT_EQ(without_credit.outstanding() + unanswered.outstanding(), 0u);
        if (b % 10 == 9)
            heap.push_back(heap_in_use());
    }
    for (auto const h : heap) std::printf("heap after 10,000 more: %zu octets\n", h);
    // It goes up and down by what is kept for the next calls; eight octets a call would show.
    auto const half = heap.begin() + static_cast<std::ptrdiff_t>(heap.size() / 2);
    EXPECT_LT(*std::max_element(half, heap.end()),
              *std::min_element(heap.begin(), half) + 3 * 512 * 1024);
    rig.peer.grant(10, static_cast<std::uint32_t>(taken), 2048, 0, handle{0});
    auto next = in_background(
        [&] { return without_credit.send(client::encoded_message{data_message("next")}); });
    auto const t = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(same_bytes(t.payload, data_message("next")));
    rig.peer.settle(t->delivery_id->value(), t->delivery_id->value());
    EXPECT_TRUE(get(next).value);
}

// ---- two hundred clients

/// Takes connections in and ends each at once, as a server that is dying does.
class dying_server {
public:
    explicit dying_server(std::uint16_t port)
        : acceptor_{context_, {asio::ip::address_v4::loopback(), port}}
    {
        take();
        thread_ = std::thread{[this] { context_.run(); }};
    }
    ~dying_server()
    {
        context_.stop();
        thread_.join();
    }
    std::size_t attempts() const { return attempts_; }
    /// The most attempts in any ten milliseconds. @pre nothing comes any more
    std::size_t peak()
    {
        context_.stop();
        std::size_t most = 0;
        for (std::size_t i = 0, j = 0; i < at_.size(); ++i) {
            while (at_[i] - at_[j] > milliseconds{10}) ++j;
            most = std::max(most, i - j + 1);
        }
        return most;
    }

private:
    void take()
    {
        acceptor_.async_accept([this](error_code ec, asio::ip::tcp::socket s) {
            if (ec)
                return;
            at_.push_back(std::chrono::steady_clock::now());
            ++attempts_;
            s.close();
            take();
        });
    }
    asio::io_context context_;
    asio::ip::tcp::acceptor acceptor_;
    std::vector<std::chrono::steady_clock::time_point> at_;
    std::atomic<std::size_t> attempts_{0};
    std::thread thread_;
};

TEST(Endurance, TwoHundredClientsOfADyingServerComeBackWithoutAStorm)
{
    constexpr std::size_t clients = 200;
    client::connection_options options;
    auto& back = options.reconnect.emplace();
    back.initial_delay = milliseconds{40};
    back.factor = 2;
    back.jitter = 0.5;
    back.max_delay = milliseconds{200};
    auto server = std::make_unique<client::container>("server");
    std::uint16_t port = 0;
    client::container container;
    std::vector<client::connection> connections;
    {
        auto const listening = server->listen("127.0.0.1", 0);
        port = listening.port();
        auto const url = "amqp://127.0.0.1:" + std::to_string(port);
        for (std::size_t i = 0; i < clients; ++i)
            connections.push_back(container.connect(url, options));
    }
    std::vector<client::notifications<client::state_change>> changes;
    for (auto const& c : connections) changes.push_back(c.state_changes());
    auto const died = std::chrono::steady_clock::now();
    server.reset();
    std::size_t attempts = 0;
    std::size_t peak = 0;
    {
        dying_server dying{port};
        while (dying.attempts() < 5 * clients) std::this_thread::yield();
        peak = dying.peak();
        attempts = dying.attempts();
    }
    auto const took = std::chrono::steady_clock::now() - died;
    // The shortest delays that the jitter can draw: 20, 40, 80, then 100 ms.
    std::size_t most = 1;
    for (auto sum = milliseconds{20}; sum < took; ++most)
        sum += std::min(milliseconds{20 << std::min<std::size_t>(most, 4)}, milliseconds{100});
    std::printf("%zu clients: %zu attempts in %lld ms, at most %zu in any 10 ms; limit %zu\n",
                clients, attempts,
                static_cast<long long>(std::chrono::duration_cast<milliseconds>(took).count()),
                peak, most * clients);
    EXPECT_LE(attempts, most * clients);
    server = std::make_unique<client::container>("server again");
    auto const again = server->listen("127.0.0.1", port);
    for (std::size_t i = 0; i < clients; ++i) {
        while (true) {
            auto const change = changes[i].next(milliseconds{60'000});
            ASSERT_TRUE(change) << "client " << i << " has not come back";
            if (change->state == client::connection_state::open)
                break;
        }
        EXPECT_EQ(connections[i].reconnects(), 1u);
    }
}

}  // namespace
}  // namespace sluice::test
