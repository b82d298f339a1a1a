// The auditor beside our engine on the same traffic: what checking a frame costs.
//
//   audit_bench [Google Benchmark's options]
//       rounds that take turns, then a table of the ratios
//
// A frame is handled by two engines, one that writes it and one that reads it; the auditor looks at
// it once. It is held against one of the two: half of the time of both ends.
#include "support/engine_work.hpp"
#include "support/sluice_rig.hpp"

#include <sluice/audit/checker.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

constexpr std::array cases{
    engine_work{.message_size = 64, .presettled = true},
    engine_work{.message_size = 64, .presettled = false},
    engine_work{.message_size = 1024, .presettled = true},
    engine_work{.message_size = 1024, .presettled = false},
};
constexpr int rounds = 5;
constexpr std::size_t messages = 20 * batch_max;
constexpr double ratio_max = 1;  // what we promise

/// All that two engines say to each other for so many messages.
class tape {
public:
    explicit tape(engine_work const& work)
    {
        sluice_rig rig{work, [this](bool from_sender, bytes_view b) {
                           pieces_.push_back({from_sender ? audit::direction::from_client
                                                          : audit::direction::from_server,
                                              {b.begin(), b.end()}});
                       }};
        rig.run(messages);
    }

    /// @returns the frames, each of which was checked in full and found in order.
    std::uint64_t play() const
    {
        audit::checker checker;
        audit::time_point now{};
        for (auto const& p : pieces_)
            checker.feed(p.way, p.octets, now += std::chrono::microseconds{1});
        auto const& c = checker.totals();
        if (c.violations + c.suspicious + c.directions[0].unchecked + c.directions[1].unchecked
            != 0)
            throw std::runtime_error{"the auditor objects to our engine, or has not seen it all"};
        return c.directions[0].frames + c.directions[1].frames;
    }

private:
    struct piece {
        audit::direction way;
        bytes octets;
    };
    std::vector<piece> pieces_;
};

void engines(benchmark::State& state, engine_work const& work)
{
    auto const frames = tape{work}.play();
    for (auto _ : state) sluice_rig{work}.run(messages);
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(frames));
}

void auditor(benchmark::State& state, engine_work const& work)
{
    tape const t{work};
    std::uint64_t frames = 0;
    for (auto _ : state) frames += t.play();
    state.SetItemsProcessed(static_cast<std::int64_t>(frames));
}

/// Keeps what each round measured, by the name of its benchmark.
class collector : public benchmark::ConsoleReporter {
public:
    collector() : ConsoleReporter{OO_Tabular} {}

    void ReportRuns(std::vector<Run> const& runs) override
    {
        for (auto const& run : runs)
            if (!run.error_occurred)
                per_second_[run.run_name.function_name] = run.counters.at("items_per_second");
        ConsoleReporter::ReportRuns(runs);
    }

    double per_second(std::string const& name) const
    {
        auto const at = per_second_.find(name);
        return at == per_second_.end() ? 0 : at->second;
    }

private:
    std::map<std::string, double> per_second_;
};

std::string name_of(engine_work const& work)
{
    return (work.presettled ? "presettled/" : "settled/") + std::to_string(work.message_size);
}
std::string run_name(engine_work const& work, char const* what, int round)
{
    return name_of(work) + "/" + what + "/" + std::to_string(round + 1);
}

/// @returns whether every ratio is as promised.
bool print_table(collector const& measured)
{
    std::puts("\nNanoseconds a frame: the auditor, and one end of our engine (half of both ends)");
    std::printf("%-16s | %9s %9s | %6s %7s %6s %7s\n", "case", "auditor", "engine", "ratio:", "min",
                "median", "max");
    bool kept = true;
    for (auto const& work : cases) {
        std::vector<double> ratios;
        std::vector<double> ours;
        std::vector<double> theirs;
        for (auto round = 0; round < rounds; ++round) {
            auto const e = measured.per_second(run_name(work, "engine", round));
            auto const a = measured.per_second(run_name(work, "auditor", round));
            if (e <= 0 || a <= 0)
                continue;  // filtered out
            ours.push_back(1e9 / a);
            theirs.push_back(1e9 / (2 * e));
            ratios.push_back(ours.back() / theirs.back());
        }
        if (ratios.empty())
            continue;
        for (auto* v : {&ratios, &ours, &theirs}) std::sort(v->begin(), v->end());
        auto const middle = ratios.size() / 2;
        kept &= ratios[middle] <= ratio_max;
        std::printf("%-16s | %9.1f %9.1f | %6s %7.2f %6.2f %7.2f\n", name_of(work).c_str(),
                    ours[middle], theirs[middle], "", ratios.front(), ratios[middle],
                    ratios.back());
    }
    std::printf("promised: a median of at most %.2f: %s\n", ratio_max, kept ? "kept" : "NOT KEPT");
    return kept;
}

int run(int argc, char** argv)
{
    for (auto const& work : cases)
        for (auto round = 0; round < rounds; ++round) {
            benchmark::RegisterBenchmark(run_name(work, "engine", round).c_str(), engines, work)
                ->MinTime(0.25);
            benchmark::RegisterBenchmark(run_name(work, "auditor", round).c_str(), auditor, work)
                ->MinTime(0.25);
        }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    collector reporter;
    if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0)
        return 2;
    return print_table(reporter) ? 0 : 1;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv)
{
    try {
        return sluice::bench::run(argc, argv);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "audit_bench: %s\n", e.what());
        return 1;
    }
}
