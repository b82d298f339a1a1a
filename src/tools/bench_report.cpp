// `sluice bench`: the node beside it if one is wanted, and the table.
#include "tools/bench_pairs.hpp"
#include "tools/json_text.hpp"
#include "tools/progress.hpp"

#include <sluice/node/node.hpp>

#include <fmt/format.h>

#include <stdexcept>

namespace sluice::tools {
namespace {

constexpr std::pair<char const*, double> shown_percentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

double per_message(bench_result const& r)
{
    return r.measured == 0 ? 0 : r.processor_seconds * 1e6 / static_cast<double>(r.measured);
}

std::string as_json(bench_settings const& s, bench_result const& r)
{
    auto const rate = static_cast<double>(r.measured) / r.seconds;
    json_object latency;
    for (auto const& [name, fraction] : shown_percentiles)
        latency.add(name, static_cast<double>(r.latency.percentile(fraction)) * 1e-3);
    latency.add("max", static_cast<double>(r.latency.max()) * 1e-3);
    json_object o;
    o.add("sent", r.sent).add("received", r.received).add("accepted", r.accepted);
    o.add("seconds", r.seconds).add("messages_per_second", rate);
    o.add("megabytes_per_second", rate * static_cast<double>(s.size) * 1e-6);
    o.add("processor_microseconds_per_message", per_message(r));
    if (r.latency.count() != 0)
        o.add_json("latency_microseconds", latency.text());
    if (!r.problem.empty())
        o.add("problem", r.problem);
    return json_object{}.add_json("summary", o.text()).text();
}

void print_table(bench_settings const& s, bench_result const& r, line_output& out)
{
    auto const rate = static_cast<double>(r.measured) / r.seconds;
    out.result(fmt::format("{} pair{} on {} connection{}, {} octets, {}{}", s.pairs,
                           s.pairs == 1 ? "" : "s", s.connections, s.connections == 1 ? "" : "s",
                           s.size, s.settled ? "sent settled" : "settled by the receiver",
                           s.embedded ? ", with a node in this process" : ""));
    out.result(fmt::format("  {:<12}{:>12}/s   {:.1f} MB/s", "messages",
                           grouped(static_cast<std::uint64_t>(rate)),
                           rate * static_cast<double>(s.size) * 1e-6));
    if (r.latency.count() != 0) {
        std::string line = fmt::format("  {:<12}", "latency");
        for (auto const& [name, fraction] : shown_percentiles)
            line += fmt::format("{} {:.0f} us, ", name,
                                static_cast<double>(r.latency.percentile(fraction)) * 1e-3);
        out.result(line
                   + fmt::format("max {:.0f} us", static_cast<double>(r.latency.max()) * 1e-3));
    }
    out.result(fmt::format("  {:<12}{:>12.2f} us a message, {}", "processor", per_message(r),
                           s.embedded ? "both clients and the node" : "both clients"));
    out.result(fmt::format("  {:<12}{:>12} sent, {} received, {} accepted", "in all",
                           grouped(r.sent), grouped(r.received), grouped(r.accepted)));
    if (!r.problem.empty())
        out.note("sluice bench: " + r.problem);
}

}  // namespace

int run_bench(bench_settings s)
{
    if (s.embedded != s.peer.url.empty())
        throw std::invalid_argument{
            "bench: one of both: the URL of a peer, or --embedded for a node in this process"};
    if (s.idle_connections != 0)
        return run_idle_bench(s);
    s.connections = std::min(s.connections, s.pairs);
    std::optional<node::node> node;
    if (s.embedded) {
        node.emplace();
        std::string fault;
        auto const port = node->listen("127.0.0.1", 0, &fault);
        if (!port)
            throw std::runtime_error{fault};
        s.peer.url = fmt::format("amqp://127.0.0.1:{}", *port);
    } else if (s.peer.address.empty()) {
        s.peer.address = s.peer.path();
    }
    terminal out{stdout, stderr, terminal::when_full::wait};
    auto const r = bench_pairs(s, s.peer.url, out);
    s.json ? out.result(as_json(s, r)) : print_table(s, r, out);
    return r.problem.empty() && r.received == r.sent ? 0 : 1;
}

}  // namespace sluice::tools
