// Our codec beside Proton-C's: the same work in the same run, and the ratios.
//
//   codec_bench [Google Benchmark's options]
//       rounds that take turns, then a table of the ratios
//   codec_bench --count CASE sluice|proton TIMES
//       only the work, to be run below callgrind (bench/count_codec_instructions)
#include "support/codec_sluice.hpp"
#ifdef SLUICE_HAVE_PROTON
#include "support/codec_proton.hpp"
#endif

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

constexpr int rounds = 5;

/// The work of `Codec` as `times` rounds of what `part` names.
template <class Codec>
std::uint64_t run(std::string_view part, std::size_t times)
{
    Codec codec;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != times; ++i) {
        if (part != "decode")
            codec.encode();
        if (part != "encode")
            sum = codec.decode();
        benchmark::DoNotOptimize(codec);
        benchmark::ClobberMemory();
    }
    return part == "encode" ? codec.decode() : sum;
}

using runner = std::uint64_t (*)(std::string_view part, std::size_t times);

struct bench_case {
    char const* name;
    char const* part;  // encode, decode, or both
    runner ours;
    runner theirs;
    double ratio_min;  // what we promise: times as fast as Proton-C; 0: no promise
};

#ifdef SLUICE_HAVE_PROTON
constexpr runner proton_transfer = run<proton_transfer_codec>;
constexpr runner proton_message = run<proton_message_codec>;
#else
constexpr runner proton_transfer = nullptr;
constexpr runner proton_message = nullptr;
#endif

constexpr std::array cases{
    bench_case{"transfer/encode", "encode", run<sluice_transfer_codec>, proton_transfer, 5},
    bench_case{"transfer/decode", "decode", run<sluice_transfer_codec>, proton_transfer, 5},
    bench_case{"message/encode", "encode", run<sluice_view_codec>, proton_message, 5},
    bench_case{"message/decode", "decode", run<sluice_view_codec>, proton_message, 0},
    bench_case{"message/both", "both", run<sluice_view_codec>, proton_message, 5},
    bench_case{"owning/encode", "encode", run<sluice_message_codec>, proton_message, 0},
    bench_case{"owning/decode", "decode", run<sluice_message_codec>, proton_message, 0},
    bench_case{"owning/both", "both", run<sluice_message_codec>, proton_message, 0},
};

void measure(benchmark::State& state, runner r, char const* part)
{
    constexpr std::size_t batch = 1000;
    for (auto _ : state)
        if (r(part, batch) == 0)
            state.SkipWithError("could not decode");
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}

std::string run_name(bench_case const& c, char const* who, int round)
{
    return std::string{c.name} + "/" + who + "/" + std::to_string(round + 1);
}

void register_benchmarks()
{
    for (auto const& c : cases) {
        for (int round = 0; round != rounds; ++round) {
            benchmark::RegisterBenchmark(run_name(c, "sluice", round).c_str(), measure, c.ours,
                                         c.part)
                ->MinTime(0.1);
            if (!c.theirs)
                continue;
            benchmark::RegisterBenchmark(run_name(c, "proton", round).c_str(), measure, c.theirs,
                                         c.part)
                ->MinTime(0.1);
        }
    }
}

class collector : public benchmark::ConsoleReporter {
public:
    collector() : ConsoleReporter{OO_Tabular} {}

    void ReportRuns(std::vector<Run> const& runs) override
    {
        for (auto const& r : runs)
            if (!r.error_occurred)
                per_second_[r.run_name.function_name] = r.counters.at("items_per_second");
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

void print_table(collector const& measured)
{
    std::puts(
        "\nCodec, one thread; ours against Proton-C in the same run. transfer: the\n"
        "performative (Proton through pn_data). message: header, properties, five application\n"
        "properties, 64 octets of data, filled, encoded, decoded and read whole, with\n"
        "message_writer and message_view. owning: the same with message.");
    std::printf("%-16s | %6s %7s %6s %6s | %9s %9s\n", "times Proton's", "min", "median", "max",
                "target", "ours ns", "Proton ns");
    for (auto const& c : cases) {
        std::vector<double> ratios, ours, theirs;
        for (int round = 0; round != rounds; ++round) {
            auto const o = measured.per_second(run_name(c, "sluice", round));
            auto const t = measured.per_second(run_name(c, "proton", round));
            if (o <= 0 || t <= 0)
                continue;
            ratios.push_back(o / t);
            ours.push_back(1e9 / o);
            theirs.push_back(1e9 / t);
        }
        if (ratios.empty())
            continue;
        for (auto* const v : {&ratios, &ours, &theirs}) std::sort(v->begin(), v->end());
        auto const middle = ratios.size() / 2;
        std::printf("%-16s | %6.2f %7.2f %6.2f %6.1f | %9.1f %9.1f\n", c.name, ratios.front(),
                    ratios[middle], ratios.back(), c.ratio_min, ours[middle], theirs[middle]);
    }
}

/// All implementations must have read the same, or comparing them means nothing.
bool all_read_the_same()
{
    for (auto const& c : cases) {
        if (c.theirs && c.ours(c.part, 1) != c.theirs(c.part, 1)) {
            std::fprintf(stderr, "codec_bench: %s: the two codecs read different things\n", c.name);
            return false;
        }
    }
    return true;
}

int count(int argc, char** argv)
{
    if (argc == 5) {
        std::string_view const who{argv[3]};
        for (auto const& c : cases) {
            if (std::string_view{argv[2]} != c.name)
                continue;
            auto const r = who == "sluice" ? c.ours : who == "proton" ? c.theirs : nullptr;
            auto const times = std::strtoul(argv[4], nullptr, 10);
            if (r && times != 0)
                return r(c.part, times) != 0 ? 0 : 1;
        }
    }
    std::fputs("usage: codec_bench --count CASE sluice|proton TIMES\ncases:", stderr);
    for (auto const& c : cases) std::fprintf(stderr, " %s", c.name);
    std::fputc('\n', stderr);
    return 2;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv)
{
    using namespace sluice::bench;
    if (argc > 1 && std::string_view{argv[1]} == "--count")
        return count(argc, argv);
    if (!all_read_the_same())
        return 1;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    register_benchmarks();
    collector measured;
    benchmark::RunSpecifiedBenchmarks(&measured);
    print_table(measured);
    return 0;
}
