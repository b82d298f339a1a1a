// Numbers for machines and people: metrics, histograms, progress, passwords.
#include "tools/histogram.hpp"
#include "tools/node_metrics.hpp"
#include "tools/progress.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;

TEST(NodeMetrics, EachSampleHasHelpAndTypeAndCountersEndInTotal)
{
    node::node_stats s;
    s.connections = 3;
    s.received = 18446744073709551615u;
    auto const text = prometheus_text(s, "1.2.3");
    EXPECT_NE(text.find("# HELP sluice_node_connections Connections open now.\n"
                        "# TYPE sluice_node_connections gauge\n"
                        "sluice_node_connections 3\n"),
              std::string::npos);
    EXPECT_NE(text.find("# TYPE sluice_node_received_total counter\n"
                        "sluice_node_received_total 18446744073709551615\n"),
              std::string::npos);
    EXPECT_NE(text.find("sluice_build_info{version=\"1.2.3\"} 1\n"), std::string::npos);
    EXPECT_NE(stats_json(s).find("\"connections\":3,"), std::string::npos);
}

TEST(NodeMetrics, TheLineForPeopleHasRates)
{
    node::node_stats before;
    node::node_stats now;
    now.received = 3000;
    EXPECT_NE(stats_line(now, before, 2).find("in 1,500/s"), std::string::npos);
}

TEST(Histogram, PercentilesAreRightWithinThreeInAHundred)
{
    histogram h;
    EXPECT_EQ(h.percentile(0.5), 0u);
    for (std::uint64_t i = 1; i <= 100'000; ++i) h.add(i * 1000);
    for (auto const fraction : {0.01, 0.5, 0.9, 0.999}) {
        auto const exact = fraction * 1e8;
        EXPECT_NEAR(static_cast<double>(h.percentile(fraction)), exact, exact * 0.03);
        EXPECT_GE(static_cast<double>(h.percentile(fraction)), exact);
    }
    EXPECT_EQ(h.percentile(1), 100'000'000u);
    EXPECT_EQ(h.max(), 100'000'000u);
}

TEST(Histogram, SmallValuesAreExactAndHugeOnesAreKept)
{
    histogram a;
    histogram b;
    for (std::uint64_t const v : {0u, 1u, 31u, 32u, 33u}) {
        histogram one;
        one.add(v);
        EXPECT_EQ(one.percentile(0.5), v);
    }
    a.add(1);
    b.add(~std::uint64_t{0});
    a.add(b);
    EXPECT_EQ(a.count(), 2u);
    EXPECT_EQ(a.percentile(0.5), 1u);
    EXPECT_EQ(a.max(), ~std::uint64_t{0});
}

struct no_output final : line_output {
    void result(std::string) override {}
    void note(std::string) override {}
    void live(std::string line) override { drawn.push_back(std::move(line)); }
    std::vector<std::string> drawn;
};

TEST(Progress, SaysHowManyHowFastAndHowLongStill)
{
    no_output out;
    progress p{out, "sent", "", 10'000};
    auto const t = progress::clock::time_point{} + 1h;
    EXPECT_EQ(p.line(0, t), "sent 0 of 10,000");
    EXPECT_EQ(p.line(2000, t + 1s), "sent 2,000 of 10,000, 2,000/s, 4.0 s left");
    EXPECT_EQ(p.line(10'000, t + 2s), "sent 10,000 of 10,000, 5,000/s");
    progress unknown{out, "received", "octets", std::nullopt};
    EXPECT_EQ(unknown.line(5, t), "received 5 octets");
}

TEST(Progress, DrawsTenTimesASecondAtMost)
{
    no_output out;
    progress p{out, "sent", "", std::nullopt};
    auto const t = progress::clock::time_point{} + 1h;
    for (int i = 0; i != 100; ++i) p.show(1, t + i * 10ms);
    EXPECT_EQ(out.drawn.size(), 10u);
}

TEST(Progress, DurationsAreShort)
{
    EXPECT_EQ(duration_text(850ms), "850 ms");
    EXPECT_EQ(duration_text(12.34s), "12.3 s");
    EXPECT_EQ(duration_text(185s), "3:05");
    EXPECT_EQ(duration_text(7800s), "2:10:00");
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace sluice::tools
