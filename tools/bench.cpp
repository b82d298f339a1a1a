// `sluice bench`: how fast a peer is, with this client on both sides of it.
#include "command.hpp"
#include "tools/bench_pairs.hpp"
#include "tools/option_text.hpp"

#include <memory>

namespace sluice::tools {

void add_bench(CLI::App& program, action& chosen)
{
    auto s = std::make_shared<bench_settings>();
    auto size = std::make_shared<std::string>("100");
    auto& app = *program.add_subcommand(
        "bench",
        "Measure a peer, or a node in this process: senders and receivers in pairs, each pair on a "
        "queue of its own.\n"
        "With --idle-connections: connections with a session and two links each, that do nothing "
        "else.\n"
        "Exit status: 0 every message that was sent arrived and was accepted; 1 not so; 2 could "
        "not run.");
    s->peer.add_to(app);
    app.add_flag("--embedded", s->embedded, "a node in this process instead of a URL");
    app.add_option("--pairs", s->pairs, "a sender and a receiver each")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_option("--connections", s->connections, "that the pairs share")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_option("-s,--size", *size, "octets of a body; latency needs 8")->capture_default_str();
    app.add_flag("--settled", s->settled, "send settled");
    app.add_option("--credit", s->credit, "of each receiver")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--window", s->window, "sends without an outcome, of each sender")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--seconds", s->seconds, "to measure, after a warm-up")
        ->check(CLI::Range(0.1, 86400.0))
        ->capture_default_str();
    app.add_option("--rate", s->rate,
                   "messages a second of all pairs together: latency without queues (as fast as "
                   "they go)")
        ->check(above_zero());
    app.add_option("--idle-connections", s->idle_connections,
                   "open so many instead; with --embedded, the node's heap for each is told")
        ->check(CLI::Range(1, 100'000));
    app.add_flag("--json", s->json, "the result as JSON");
    app.callback([s, size, &chosen] {
        chosen = [s, size] {
            constexpr auto size_max = std::uint64_t{64} << 20;
            s->size = parse_size(*size);
            if (s->size > size_max)
                throw std::invalid_argument{"bench: --size is 64MiB at most"};
            return run_bench(*s);
        };
    });
}

}  // namespace sluice::tools
