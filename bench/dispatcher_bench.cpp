// What a dispatcher costs: two listeners behind one beside two plain receivers with handlers, in
// rounds that take turns; and a rollback of messages that wait beside the time that it took to
// receive them. One node in this process serves both.
//
//   dispatcher_bench [MESSAGES] [ROUNDS]
//
// Exit status 1 if a promise is broken: 70 % of the plain receivers' messages a second, and a
// rollback that takes no longer than receiving did.
#include <sluice/client/client.hpp>
#include <sluice/dispatch/dispatcher.hpp>
#include <sluice/node/node.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

namespace {

namespace client = sluice::client;
namespace dispatch = sluice::dispatch;
using clock_type = std::chrono::steady_clock;

constexpr std::uint32_t window = 500;
constexpr std::uint32_t rolled_back = 10'000;
constexpr double share_min = 0.7;

double seconds_since(clock_type::time_point then)
{
    return std::chrono::duration<double>(clock_type::now() - then).count();
}

/// Counts up to what was wanted.
class counter {
public:
    explicit counter(std::uint64_t wanted) : wanted_{wanted} {}
    void operator()()
    {
        if (seen_.fetch_add(1, std::memory_order_relaxed) + 1 == wanted_)
            done_.set_value();
    }
    void wait() { done_.get_future().wait(); }

private:
    std::uint64_t const wanted_;
    std::atomic<std::uint64_t> seen_{0};
    std::promise<void> done_;
};

class rig {
public:
    rig()
    {
        client::connection_options o;
        o.audit = client::audit_mode::off;
        connection_ = container_.connect(
            "amqp://127.0.0.1:" + std::to_string(node_.listen("127.0.0.1", 0).value()), o);
    }
    void fill(std::string const& queue, std::uint64_t count)
    {
        auto const sender = connection_.open_sender(queue);
        sluice::message const m{std::string(64, 'x')};
        for (std::uint64_t n = 0; n + 1 < count; ++n) sender.send(m, {.settled = true});
        sender.send(m).or_throw();
        sender.close();
    }
    client::session session() { return connection_.begin(); }
    std::uint64_t released() const { return node_.stats().released; }

private:
    sluice::node::node node_;
    client::container container_;
    client::connection connection_;
};

/// Messages a second.
double plain(rig& r, std::uint64_t count)
{
    r.fill("q", count);
    auto const session = r.session();
    client::receiver_options o;
    o.credit_window = window;
    counter seen{count};
    auto const began = clock_type::now();
    std::vector<client::receiver> receivers;
    for (int i = 0; i < 2; ++i) {
        receivers.push_back(session.open_receiver("q", o));
        receivers.back().on_message([&seen](client::delivery const& d) {
            d.accept();
            seen();
        });
    }
    seen.wait();
    auto const out = static_cast<double>(count) / seconds_since(began);
    session.end();
    return out;
}

double dispatched(rig& r, std::uint64_t count)
{
    r.fill("q", count);
    auto const session = r.session();
    client::receiver_options o;
    o.credit_window = 0;
    counter seen{count};
    auto const began = clock_type::now();
    {
        dispatch::dispatcher d{session};
        for (int i = 0; i < 2; ++i)
            d.register_consumer(session.open_receiver("q", o), {.prefetch = window},
                                [&seen](client::delivery const&) { seen(); });
        d.start();
        seen.wait();
        auto const out = static_cast<double>(count) / seconds_since(began);
        d.close();
        session.end();
        return out;
    }
}

struct times {
    double receiving = 0;
    double rollback = 0;
};

times roll_back(rig& r)
{
    r.fill("r", rolled_back);
    auto const session = r.session();
    client::receiver_options o;
    o.credit_window = 0;
    dispatch::dispatcher d{session, {.mode = dispatch::acknowledge::by_user}};
    times out;
    auto const began = clock_type::now();
    auto const c = d.register_consumer(session.open_receiver("r", o), {.prefetch = rolled_back});
    d.start(true);
    while (c.waiting() < rolled_back) std::this_thread::yield();
    out.receiving = seconds_since(began);
    auto const before = r.released();
    auto const asked = clock_type::now();
    d.rollback();
    while (r.released() < before + rolled_back) std::this_thread::yield();  // the node has them
    out.rollback = seconds_since(asked);
    d.close();
    c.receiver().close();
    auto const empties = session.open_receiver("r");
    for (std::uint32_t n = 0; n < rolled_back; ++n) empties.receive().accept();
    session.end();
    return out;
}

template <class T>
T median(std::vector<T> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv)
{
    auto const count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 50'000;
    auto const rounds = argc > 2 ? std::atoi(argv[2]) : 5;
    if (count == 0 || rounds <= 0) {
        std::fprintf(stderr, "usage: dispatcher_bench [MESSAGES] [ROUNDS], both at least 1\n");
        return 2;
    }
    rig r;
    plain(r, count / 4 + 1);
    dispatched(r, count / 4 + 1);
    std::vector<double> without;
    std::vector<double> with;
    std::vector<double> shares;
    std::vector<double> receiving;
    std::vector<double> rollbacks;
    for (int i = 0; i < rounds; ++i) {
        without.push_back(plain(r, count));
        with.push_back(dispatched(r, count));
        shares.push_back(with.back() / without.back());
        auto const t = roll_back(r);
        receiving.push_back(t.receiving);
        rollbacks.push_back(t.rollback);
    }
    std::printf("two receivers with handlers   %9.0f messages/s\n", median(without));
    std::printf("a dispatcher, two listeners   %9.0f messages/s, %.0f %% (promised: %.0f %%)\n",
                median(with), 100 * median(shares), 100 * share_min);
    std::printf("receiving %u messages      %9.1f ms\n", rolled_back, 1000 * median(receiving));
    std::printf("rolling them back             %9.1f ms (promised: no longer)\n",
                1000 * median(rollbacks));
    auto const good = median(shares) >= share_min && median(rollbacks) <= median(receiving);
    return good ? 0 : 1;
}
