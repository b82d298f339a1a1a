// The case that ends other clients' sessions within a second: a sender with many sends in flight
// and a receiver with little credit share one session with a broker that checks every flow. `./dev
// demo` runs it.
#include "reproducer_run.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace {

using interop::body_form;
using interop::plan;
using interop::report;

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);
extern "C" void on_signal(int) { stop = true; }

/// What every run has to reach, or the exit status is 1.
struct demands {
    std::uint64_t transfers_min = 0;
    std::uint64_t flows_min = 0;
    bool wrap = false;
    bool deferred = false;
};

std::string number(std::uint64_t n)
{
    auto digits = std::to_string(n);
    for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
        digits.insert(static_cast<std::size_t>(i), ",");
    return digits;
}

std::string wraps(std::uint64_t n) { return number(n) + (n == 1 ? " wrap" : " wraps"); }

class live_line {
public:
    void show(report const& now, double seconds)
    {
        auto const rate = static_cast<double>(now.received - last_received_)
                          / std::max(0.001, seconds - last_seconds_);
        last_received_ = now.received;
        last_seconds_ = seconds;
        fmt::print("{}{:5.0f} s  {:>8} messages/s  {:>9} flows written  {:>7} flows deferred  {} "
                   "stale  {}{}",
                   terminal_ ? "\r" : "", seconds, number(static_cast<std::uint64_t>(rate)),
                   number(now.flows), number(now.deferred), number(now.wire.stale_flows),
                   wraps(now.wraps), terminal_ ? "  " : "\n");
        std::fflush(stdout);
        shown_ = true;
    }
    void end()
    {
        if (terminal_ && shown_)
            fmt::print("\n");
        shown_ = false;
        last_received_ = 0;
        last_seconds_ = 0;
    }

private:
    bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
    bool shown_ = false;
    std::uint64_t last_received_ = 0;
    double last_seconds_ = 0;
};

bool enough(report const& r, demands const& d)
{
    return r.transfers >= d.transfers_min && r.flows >= d.flows_min && (!d.wrap || r.wraps > 0)
           && (!d.deferred || r.deferred > 0);
}

/// @returns what is wrong with a run; empty if nothing is.
std::vector<std::string> faults(report const& r, demands const& d)
{
    auto out = r.errors;
    auto const want = [&](bool holds, std::string text) {
        if (!holds)
            out.push_back(std::move(text));
    };
    auto const& w = r.wire;
    want(r.sent > 0, "nothing was sent");
    want(r.received == r.sent,
         fmt::format("{} of {} messages were not received", r.sent - r.received, r.sent));
    want(r.accepted == r.sent,
         fmt::format("{} of {} sends were not accepted", r.sent - r.accepted, r.sent));
    want(r.twice == 0, fmt::format("{} messages were received twice", r.twice));
    want(r.damaged == 0, fmt::format("{} messages were damaged", r.damaged));
    want(r.session_errors == 0, fmt::format("{} sessions ended with an error", r.session_errors));
    want(w.stale_flows == 0, fmt::format("{} flows were stale", w.stale_flows));
    want(w.client_violations == 0,
         fmt::format("{} breaches of the standard on the wire", w.client_violations));
    want(w.unchecked == 0, fmt::format("{} frames on the wire could not be checked", w.unchecked));
    want(w.connections == 1,
         fmt::format("the auditor saw {} connections instead of 1", w.connections));
    want(w.flows == r.flows,
         fmt::format("counted {} flows, but {} were on the wire", r.flows, w.flows));
    want(w.transfers == r.transfers,
         fmt::format("counted {} transfer frames, but {} were on the wire", r.transfers,
                     w.transfers));
    want(r.transfers >= d.transfers_min,
         fmt::format("{} transfer frames instead of {} or more", r.transfers, d.transfers_min));
    want(r.flows >= d.flows_min,
         fmt::format("{} flows instead of {} or more", r.flows, d.flows_min));
    want(!d.wrap || r.wraps > 0, "next-outgoing-id did not wrap");
    want(!d.deferred || r.deferred > 0, "no flow was deferred");
    return out;
}

void add(report& sum, report const& r)
{
    for (auto const field : {&report::sent, &report::received, &report::accepted, &report::twice,
                             &report::damaged, &report::foreign, &report::transfers, &report::flows,
                             &report::deferred, &report::wraps, &report::session_errors})
        sum.*field += r.*field;
    sum.seconds += r.seconds;
    for (auto const field :
         {&interop::audited::flows, &interop::audited::transfers, &interop::audited::stale_flows,
          &interop::audited::client_violations, &interop::audited::findings})
        sum.wire.*field += r.wire.*field;
}

void print_table(report const& r)
{
    auto const row = [](std::string_view name, std::uint64_t value,
                        std::string const& remark = {}) {
        fmt::print("  {:<16}{:>14}{}{}\n", name, number(value), remark.empty() ? "" : "   ",
                   remark);
    };
    fmt::print("\n");
    row("sent", r.sent,
        fmt::format("in {:.1f} s, {} messages/s", r.seconds,
                    number(static_cast<std::uint64_t>(static_cast<double>(r.sent) / r.seconds))));
    row("received", r.received,
        r.twice + r.damaged == 0 ? "each of them once"
                                 : fmt::format("{} twice, {} damaged", r.twice, r.damaged));
    row("accepted", r.accepted);
    row("transfer frames", r.transfers);
    row("flows", r.flows);
    row("deferred flows", r.deferred,
        r.deferred > 0
            ? "asked for while a transfer frame was being written"
            : "a frame whose body is at hand is written in one step, and nothing can ask "
              "meanwhile; --body streamed --extra-flows 2000 has some");
    row("stale flows", r.wire.stale_flows,
        fmt::format("of {} that were checked on the wire", number(r.wire.flows)));
    row("session errors", r.session_errors);
    row("wraps", r.wraps, "of next-outgoing-id past 4,294,967,295");
    row("findings", r.wire.findings, "of the auditor, both sides");
    if (r.foreign > 0)
        row("not ours", r.foreign, "messages that were in the queue before");
}

bool run_once(plan p, demands const& d, unsigned index, unsigned runs, live_line& line, report& sum)
{
    if (p.address.empty())
        p.address =
            fmt::format("test.{:08x}{:08x}", std::random_device{}(), std::random_device{}());
    fmt::print("{} on {}, first transfer-id {}, {} in flight, credit {}{}\n",
               p.separate_sessions ? "separate sessions" : "one session", p.address, p.first_id,
               p.in_flight, p.credit,
               runs > 1 ? fmt::format(": run {} of {}", index + 1, runs) : "");
    std::fflush(stdout);
    auto const r =
        std::make_shared<interop::run>(
            p, [&](report const& now) { return enough(now, d); }, stop)
            ->execute([&](report const& now, double seconds) { line.show(now, seconds); });
    line.end();
    auto const wrong = faults(r, stop ? demands{} : d);
    if (runs > 1)
        fmt::print("  {} sent, {} received, {} accepted, {} transfer frames, {} flows, {} "
                   "deferred, {} stale, {}\n",
                   number(r.sent), number(r.received), number(r.accepted), number(r.transfers),
                   number(r.flows), number(r.deferred), number(r.wire.stale_flows), wraps(r.wraps));
    for (auto const& text : r.wire.texts) fmt::print("  finding: {}\n", text);
    for (auto const& text : wrong) fmt::print("  WRONG: {}\n", text);
    std::fflush(stdout);
    add(sum, r);
    return wrong.empty();
}

int run_all(plan const& p, demands const& d, unsigned runs)
{
    report sum;
    live_line line;
    bool good = true;
    for (unsigned i = 0; i < runs && !stop; ++i) good = run_once(p, d, i, runs, line, sum) && good;
    print_table(sum);
    if (stop)
        fmt::print("\ninterrupted\n");
    fmt::print("\n{}\n", good ? "every message was received once, every flow was exact"
                              : "FAILED: see above");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv)
{
    plan p;
    demands d;
    unsigned runs = 1;
    std::string sessions = "one";
    std::map<std::string, body_form> const forms{{"small", body_form::small},
                                                 {"multiframe", body_form::multiframe},
                                                 {"streamed", body_form::streamed},
                                                 {"mixed", body_form::mixed}};
    CLI::App app{"Sends and receives on one session, flat out, and counts what can go wrong."};
    app.add_option("--url", p.url, "amqp://user:password@host:port")->required();
    app.add_option("--seconds", p.seconds, "of sending, each run")->check(CLI::PositiveNumber);
    app.add_option("--patience", p.patience, "seconds more, if a minimum is not reached by then")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--address", p.address, "queue; default: a new one, test.<random>");
    app.add_option("--in-flight", p.in_flight, "sends without an outcome, each sender")
        ->check(CLI::Range(1, 100000));
    app.add_option("--credit", p.credit, "of each receiver")->check(CLI::Range(1, 100000));
    app.add_option("--first-id", p.first_id, "next-outgoing-id of begin");
    app.add_option("--sessions", sessions, "one, or separate ones for senders and receivers")
        ->check(CLI::IsMember({"one", "separate"}));
    app.add_option("--senders", p.senders, "each on a thread of its own")
        ->check(CLI::Range(1, 100));
    app.add_option("--receivers", p.receivers, "each on a thread of its own")
        ->check(CLI::Range(1, 100));
    app.add_flag("--grant-by-hand", p.grant_by_hand,
                 "receivers grant each credit themselves, from their threads");
    app.add_option("--extra-flows", p.extra_flows, "asked for by a thread of its own, a second")
        ->check(CLI::Range(0, 1'000'000));
    app.add_option("--body", p.body, "small, multiframe, streamed, or all three in turn: mixed")
        ->transform(CLI::CheckedTransformer(forms));
    app.add_option("--size", p.size, "octets of a body")->check(CLI::Range(24, 100'000'000));
    app.add_option("--frame-size", p.frame_size, "octets of a frame at most, both ways")
        ->check(CLI::Range(512, 65536));
    app.add_option("--runs", runs, "one after the other, each on a connection of its own")
        ->check(CLI::Range(1, 1000));
    app.add_option("--min-transfers", d.transfers_min, "transfer frames that each run must write");
    app.add_option("--min-flows", d.flows_min, "flows that each run must write");
    app.add_flag("--expect-wrap", d.wrap, "each run must pass transfer-id 4294967295");
    app.add_flag("--expect-deferred", d.deferred, "each run must have deferred a flow");
    CLI11_PARSE(app, argc, argv);
    p.separate_sessions = sessions == "separate";

    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run_all(p, d, runs);
    } catch (std::exception const& e) {
        fmt::print(stderr, "reproducer: {}\n", e.what());
        return EXIT_FAILURE;
    }
}
