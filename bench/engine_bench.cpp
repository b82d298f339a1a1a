// Our engine beside Proton-C's: the same messages, in memory, one thread, both ends, in one run.
//
//   engine_bench [--instructions FILE] [Google Benchmark's options]
//       rounds that take turns, then a table of the ratios; FILE has what count_instructions prints
//   engine_bench --count presettled|settled SIZE sluice|proton MESSAGES
//       only the work, to be run below callgrind
#include "support/engine_work.hpp"
#include "support/sluice_rig.hpp"
#ifdef SLUICE_HAVE_PROTON
#include "support/proton_rig.hpp"
#endif

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::bench {
namespace {

struct bench_case {
    engine_work work;
    double ratio_min;           // what we promise: times Proton's messages a second
    unsigned instructions_max;  // of ours, both ends together; 0: no promise
};

constexpr std::array cases{
    bench_case{{.message_size = 64, .presettled = true}, 8, 1000},
    bench_case{{.message_size = 64, .presettled = false}, 8, 1500},
    bench_case{{.message_size = 1024, .presettled = true}, 6, 0},
    bench_case{{.message_size = 1024, .presettled = false}, 6, 0},
};
constexpr int rounds = 5;
constexpr std::size_t warm_up = 20 * batch_max;

std::string name_of(engine_work const& work)
{
    return (work.presettled ? "presettled/" : "settled/") + std::to_string(work.message_size);
}

// ---- measuring ----------------------------------------------------------------------------------

template <class Rig>
void transfer(benchmark::State& state, engine_work const& work)
{
    Rig rig{work};
    rig.run(warm_up);
    for (auto _ : state) rig.run(batch_max);
    auto const messages = static_cast<std::uint64_t>(state.iterations()) * batch_max;
    check(rig.tally(), work, warm_up + messages);
    state.SetItemsProcessed(static_cast<std::int64_t>(messages));
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

std::string run_name(engine_work const& work, std::string_view engine, int round)
{
    return name_of(work) + "/" + std::string{engine} + "/" + std::to_string(round + 1);
}

void register_benchmarks()
{
    for (auto const& c : cases) {
        for (auto round = 0; round < rounds; ++round) {
            benchmark::RegisterBenchmark(run_name(c.work, "sluice", round).c_str(),
                                         transfer<sluice_rig>, c.work)
                ->MinTime(0.25);
#ifdef SLUICE_HAVE_PROTON
            benchmark::RegisterBenchmark(run_name(c.work, "proton", round).c_str(),
                                         transfer<proton_rig>, c.work)
                ->MinTime(0.25);
#endif
        }
    }
}

// ---- the table ----------------------------------------------------------------------------------

/// Lines "presettled/64 sluice 950", as bench/count_instructions prints them.
std::map<std::string, unsigned> read_instructions(char const* path)
{
    std::map<std::string, unsigned> counts;
    if (!path)
        return counts;
    std::ifstream in{path};
    if (!in) {
        std::fprintf(stderr,
                     "engine_bench: cannot read %s; make it with bench/count_instructions\n", path);
        std::exit(2);
    }
    std::string of;
    std::string engine;
    for (unsigned count = 0; in >> of >> engine >> count;) counts[of + "/" + engine] = count;
    return counts;
}

std::string cell(std::map<std::string, unsigned> const& counts, std::string const& key)
{
    auto const at = counts.find(key);
    return at == counts.end() ? "-" : std::to_string(at->second);
}

void print_table(collector const& measured, std::map<std::string, unsigned> const& instructions)
{
    std::puts(
        "\nEngine alone, in memory, one thread, both ends; ours against Proton-C in the same run");
    std::printf("%-16s | %-21s %6s | %10s %10s | %-19s %6s\n", "", "times Proton's msg/s", "",
                "ours", "Proton", "instructions a msg", "");
    std::printf("%-16s | %6s %7s %6s %6s | %10s %10s | %9s %9s %6s\n", "case", "min", "median",
                "max", "target", "msg/s", "msg/s", "ours", "Proton", "target");
    for (auto const& c : cases) {
        std::vector<double> ratios;
        std::vector<double> ours;
        std::vector<double> theirs;
        for (auto round = 0; round < rounds; ++round) {
            auto const o = measured.per_second(run_name(c.work, "sluice", round));
            auto const t = measured.per_second(run_name(c.work, "proton", round));
            if (o <= 0 || t <= 0)
                continue;  // filtered out
            ours.push_back(o);
            theirs.push_back(t);
            ratios.push_back(o / t);
        }
        if (ratios.empty())
            continue;
        for (auto* v : {&ratios, &ours, &theirs}) std::sort(v->begin(), v->end());
        auto const middle = ratios.size() / 2;
        auto const name = name_of(c.work);
        auto const target =
            c.instructions_max == 0 ? std::string{"-"} : std::to_string(c.instructions_max);
        std::printf("%-16s | %6.2f %7.2f %6.2f %6.1f | %10.0f %10.0f | %9s %9s %6s\n", name.c_str(),
                    ratios.front(), ratios[middle], ratios.back(), c.ratio_min, ours[middle],
                    theirs[middle], cell(instructions, name + "/sluice").c_str(),
                    cell(instructions, name + "/proton").c_str(), target.c_str());
    }
}

// ---- below callgrind ----------------------------------------------------------------------------

template <class Rig>
int count(engine_work const& work, std::size_t messages)
{
    Rig rig{work};
    rig.run(messages);
    check(rig.tally(), work, messages);
    return 0;
}

int usage()
{
    std::fputs("usage: engine_bench --count presettled|settled SIZE sluice|proton MESSAGES\n",
               stderr);
    return 2;
}

int count(int argc, char** argv)
{
    if (argc != 6)
        return usage();
    std::string_view const mode{argv[2]};
    std::string_view const engine{argv[4]};
    auto const messages = std::strtoul(argv[5], nullptr, 10);
    engine_work const work{.message_size = std::strtoul(argv[3], nullptr, 10),
                           .presettled = mode == "presettled"};
    if ((mode != "presettled" && mode != "settled") || work.message_size < 16 || messages == 0)
        return usage();
    if (engine == "sluice")
        return count<sluice_rig>(work, messages);
#ifdef SLUICE_HAVE_PROTON
    if (engine == "proton")
        return count<proton_rig>(work, messages);
#endif
    return usage();
}

int run(int argc, char** argv)
{
    if (argc > 1 && std::string_view{argv[1]} == "--count")
        return count(argc, argv);
    char const* instructions = nullptr;
    if (argc > 2 && std::string_view{argv[1]} == "--instructions") {
        instructions = argv[2];
        argv[2] = argv[0];
        argv += 2;
        argc -= 2;
    }
    auto const counts = read_instructions(instructions);
    register_benchmarks();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    collector reporter;
    if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0)
        return 2;
    print_table(reporter, counts);
    return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv)
{
    try {
        return sluice::bench::run(argc, argv);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "engine_bench: %s\n", e.what());
        return 1;
    }
}
