// What a channel costs, beside its floor: the round trip of an echo on the same connection, and a
// plain sender and receiver through the node, in the same run, in rounds that take turns.
//
//   channel_bench [VALUES] [ROUNDS]
//
// Exit status 1 if a promise is broken: a send with its receive in at most 3 round trips, at
// capacity 1 and at rendezvous; 40 % of the plain pair's rate in batches of 64.
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/use_future.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace {

namespace client = sluice::client;
using clock_type = std::chrono::steady_clock;
using sluice::channel;

constexpr double trips_max = 3;
constexpr double share_min = 0.4;
constexpr std::uint32_t batch = 64;
std::string const text(64, 'x');

double seconds_of(std::function<void()> const& f)
{
    auto const began = clock_type::now();
    f();
    return std::chrono::duration<double>(clock_type::now() - began).count();
}

/// Of what takes one step after the other, and waits whenever the machine does something else: the
/// least disturbed of many short rounds.
double least(std::vector<double> const& all) { return *std::ranges::min_element(all); }

double median(std::vector<double> all)
{
    std::ranges::sort(all);
    return all[all.size() / 2];
}

struct rig {
    sluice::node::node node;
    client::container container;
    client::connection connection = connect();

    client::connection connect()
    {
        client::connection_options o;
        o.audit = client::audit_mode::off;
        static auto const port = node.listen("127.0.0.1", 0).value();
        return container.connect("amqp://127.0.0.1:" + std::to_string(port), o);
    }
};

/// Seconds of one message to a queue of the node and back.
double echo(rig& r, unsigned count)
{
    auto const out = r.connection.open_sender("echo");
    auto const in = r.connection.open_receiver("echo");
    sluice::message const m{text};
    auto const took = seconds_of([&] {
        for (unsigned i = 0; i < count; ++i) {
            out.send(m, {.settled = true});
            in.receive().accept();
        }
    });
    out.close();
    in.close();
    return took / count;
}

/// Seconds of a send and a receive, one after the other on one thread.
double buffered(rig& r, unsigned count)
{
    auto const c = channel<std::string>::open(r.connection, "buffered", {.capacity = 1});
    return seconds_of([&] {
               for (unsigned i = 0; i < count; ++i) {
                   c.send(text);
                   c.recv();
               }
           })
           / count;
}

/// Seconds of a send that is picked up by a receiver that waits, and of its next receive.
double rendezvous(rig& r, unsigned count)
{
    auto const c = channel<std::string>::open(r.connection, "rendezvous");
    auto const other = channel<std::string>::open(r.connection, "rendezvous");
    std::jthread const receiver{[&] {
        for (unsigned i = 0; i < count; ++i) other.recv();
    }};
    return seconds_of([&] {
               for (unsigned i = 0; i < count; ++i) c.send(text);
           })
           / count;
}

/// Waits for so many answers.
class countdown {
public:
    explicit countdown(unsigned n) : left_{n} {}
    void done()
    {
        if (left_.fetch_sub(1) == 1)
            over_.set_value();
    }
    void wait() { over_.get_future().wait(); }

private:
    std::atomic<unsigned> left_;
    std::promise<void> over_;
};

/// Messages a second of a sender and a receiver with a queue between them.
double plain(rig& r, unsigned count)
{
    auto const sends = r.connect();
    auto const receives = r.connect();
    auto const out = sends.open_sender("plain");
    client::receiver_options window;
    window.credit_window = 500;
    auto const in = receives.open_receiver("plain", window);
    sluice::message const m{text};
    countdown sent{count};
    countdown got{count};
    in.on_message([&](client::delivery const& d) {
        d.accept();
        got.done();
    });
    auto const took = seconds_of([&] {
        for (unsigned i = 0; i < count; ++i)
            out.async_send(m, [&](client::error_code, client::outcome const&) { sent.done(); });
        sent.wait();
        got.wait();
    });
    return count / took;
}

/// Receives in batches, each asked for where the one before is handed out.
class batch_reader {
public:
    batch_reader(channel<std::string> from, unsigned count) : from_{std::move(from)}, left_{count}
    {
    }
    void ask()
    {
        from_.async_recv_batch(
            batch, [this](client::error_code ec, std::vector<std::string> const& values) {
                left_ -= std::min<std::size_t>(left_, values.size());
                if (ec || left_ == 0)
                    return over_.set_value();
                ask();
            });
    }
    void wait() { over_.get_future().wait(); }

private:
    channel<std::string> from_;
    std::size_t left_;
    std::promise<void> over_;
};

/// Values a second of a channel: sends go ahead, receives in batches, acknowledged in the
/// background.
double pipelined(rig& r, unsigned count)
{
    auto const sends = r.connect();
    auto const receives = r.connect();
    sluice::channels::options const o{.capacity = 512, .async_ack = true};
    auto const out = channel<std::string>::open(sends, "pipelined", o);
    batch_reader in{channel<std::string>::open(receives, "pipelined", o), count};
    countdown sent{count};
    auto const took = seconds_of([&] {
        in.ask();
        for (unsigned i = 0; i < count; ++i)
            out.async_send(text, [&](client::error_code) { sent.done(); });
        sent.wait();
        in.wait();
    });
    return count / took;
}

double resident_bytes()
{
    std::ifstream in{"/proc/self/statm"};
    double all = 0;
    double resident = 0;
    in >> all >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Octets of a channel, both halves, node and client being one process here.
double octets_a_channel(rig& r, unsigned count)
{
    std::vector<channel<std::string>> all;
    auto const before = resident_bytes();
    for (unsigned i = 0; i < count; ++i)
        all.push_back(
            channel<std::string>::open(r.connection, "many-" + std::to_string(i), {.capacity = 1}));
    return (resident_bytes() - before) / count;
}

}  // namespace

int main(int argc, char** argv)
{
    auto const count = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 20'000);
    auto const rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    auto const serial = std::max(count / 100, 1U);
    rig r;
    echo(r, serial);
    std::vector<double> trip, one, zero, rate, piped;
    for (int i = 0; i < rounds; ++i) {
        for (int k = 0; k < 8; ++k) {
            trip.push_back(echo(r, serial));
            one.push_back(buffered(r, serial));
            zero.push_back(rendezvous(r, serial));
        }
        rate.push_back(plain(r, count));
        piped.push_back(pipelined(r, count));
    }
    auto const floor = least(trip);
    auto const trips_one = least(one) / floor;
    auto const trips_zero = least(zero) / floor;
    auto const share = median(piped) / median(rate);
    std::printf("echo through a queue           %8.1f us a round trip (the floor)\n", floor * 1e6);
    std::printf("send + recv, capacity 1        %8.1f us, %.2f round trips\n", least(one) * 1e6,
                trips_one);
    std::printf("send to recv, capacity 0       %8.1f us, %.2f round trips\n", least(zero) * 1e6,
                trips_zero);
    std::printf("plain sender and receiver      %8.0f messages/s\n", median(rate));
    std::printf("channel, batches of %u         %8.0f values/s, %.0f %% of that\n", batch,
                median(piped), share * 100);
    std::printf("1000 channels, one connection  %8.0f octets a channel, node and client\n",
                octets_a_channel(r, 1'000));
    auto const kept = trips_one <= trips_max && trips_zero <= trips_max && share >= share_min;
    std::printf("at most %.0f round trips, at least %.0f %%: %s\n", trips_max, share_min * 100,
                kept ? "kept" : "BROKEN");
    return kept ? 0 : 1;
}
