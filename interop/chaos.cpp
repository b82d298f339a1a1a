// Messages through a proxy that resets, cuts, half-closes and delays at random octets: what was
// accepted has to be received, in the order of its link, and no call may hang. The seed is printed.
#include "../tests/support/chaos_proxy.hpp"
#include "load_run.hpp"

#include <sluice/node/node.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <random>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

struct settings {
    double seconds = 60;
    std::uint64_t seed = 0;
    std::uint16_t port = 0;
    std::string credentials;
    bool exactly_once = false;
    bool first = false;
    std::uint64_t octets_max = 1'000'000;
    std::uint64_t least_messages = 0;
    std::uint64_t least_cuts = 0;
};

int report(settings const& s, interop::load_counts const& c,
           sluice::test::chaos_counts const& faults, std::string fault, bool done,
           std::size_t grown)
{
    fmt::print("seed {}: {} connections, {} resets, {} cuts, {} half-closes, {} delays\n{}\n",
               s.seed, faults.connections, faults.resets, faults.cuts, faults.half_closes,
               faults.delays, interop::text_of(c));
    fmt::print("memory grew by {} KiB in the second half\n", grown / 1024);
    std::vector<std::string> wrong;
    auto const require = [&](bool holds, std::string text) {
        if (!holds)
            wrong.push_back(std::move(text));
    };
    require(done, "calls or messages were still under way in the end");
    require(c.lost == 0, fmt::format("{} accepted messages were never received", c.lost));
    require(c.failed == 0, fmt::format("{} sends failed", c.failed));
    require(c.out_of_order == 0, fmt::format("{} came out of order", c.out_of_order));
    require(!s.exactly_once || c.repeated == 0,
            "exactly once was asked for, and something came twice");
    require(fault.empty(), fault);
    require(c.received >= s.least_messages,
            fmt::format("fewer than {} messages", s.least_messages));
    require(faults.broken() >= s.least_cuts,
            fmt::format("fewer than {} connections were broken", s.least_cuts));
    require(grown < 64u << 20, "memory grows");
    for (auto const& text : wrong) fmt::print(stderr, "chaos (seed {}): {}\n", s.seed, text);
    return wrong.empty() ? 0 : 1;
}

int run(settings s)
{
    std::optional<sluice::node::node> node;
    if (s.port == 0) {
        node.emplace();
        s.port = node->listen("127.0.0.1", 0).value();
    }
    fmt::print("seed {}\n", s.seed);
    std::fflush(stdout);
    sluice::test::chaos_proxy proxy{s.port,
                                    {.seed = s.seed, .octets_min = 1, .octets_max = s.octets_max}};
    proxy.set_faults(false);  // until everything stands
    auto const url = fmt::format("amqp://{}127.0.0.1:{}", s.credentials, proxy.port());
    interop::load_run load{{.sender_url = url,
                            .receiver_url = url,
                            .address = "test.chaos",
                            .mode = s.first ? sluice::receiver_settle_mode::first
                                            : sluice::receiver_settle_mode::second,
                            .run = fmt::format("{:x}", s.seed)}};
    load.start();
    proxy.set_faults(true);
    auto const begun = clock_type::now();
    auto const until = begun
                       + std::chrono::duration_cast<clock_type::duration>(
                           std::chrono::duration<double>{s.seconds});
    std::size_t half = 0;
    for (auto told = begun; clock_type::now() < until && load.fault().empty();) {
        std::this_thread::sleep_for(100ms);
        if (half == 0 && clock_type::now() > begun + (until - begun) / 2)
            half = interop::resident();
        if (clock_type::now() < told + 10s)
            continue;
        told = clock_type::now();
        fmt::print("{:4.0f} s: {} broken; {}\n",
                   std::chrono::duration<double>{told - begun}.count(), proxy.counts().broken(),
                   interop::text_of(load.counts()));
        std::fflush(stdout);
    }
    proxy.set_faults(false);
    load.stop_sending();
    auto const done = load.wait_until_done(60s);
    if (!done)
        fmt::print(stderr, "{}", load.under_way());
    for (unsigned i = 0; !done && node && i < 3; ++i)
        if (auto const q = node->read(fmt::format("test.chaos.{}", i)))
            fmt::print(stderr, "  queue {}: {} messages, {} ready\n", i, q->length, q->ready);
    auto const now = interop::resident();
    auto const result =
        report(s, load.counts(), proxy.counts(), load.fault(), done, now > half ? now - half : 0);
    load.close();
    return result;
}

}  // namespace

int main(int argc, char** argv)
{
    settings s;
    s.seed = std::random_device{}();
    CLI::App app{"Messages over connections that break all the time"};
    app.add_option("--seconds", s.seconds, "how long")->capture_default_str();
    app.add_option("--seed", s.seed, "of what is drawn; default: another one each time");
    app.add_option("--port", s.port, "of a broker on 127.0.0.1; default: a node in this process");
    app.add_option("--credentials", s.credentials, "such as guest:guest@");
    app.add_flag("--exactly-once", s.exactly_once, "nothing may come twice");
    app.add_flag("--first", s.first, "receiver settle mode first, not second");
    app.add_option("--octets-max", s.octets_max, "of one direction, between two faults")
        ->capture_default_str();
    app.add_option("--min-messages", s.least_messages, "fail with fewer");
    app.add_option("--min-cuts", s.least_cuts, "fail with fewer");
    CLI11_PARSE(app, argc, argv);
    try {
        return run(s);
    } catch (std::exception const& e) {
        fmt::print(stderr, "chaos (seed {}): {}\n", s.seed, e.what());
        return 1;
    }
}
