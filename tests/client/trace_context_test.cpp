// Trace context as annotations; filters and subscriptions as brokers expect them.
#include <sluice/client/source_filters.hpp>
#include <sluice/client/trace_context.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::source_filters;
using client::subscribe;
using client::trace_context;

constexpr char example[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(TraceContext, GoesThroughAMessageUnchanged)
{
    auto const sent = trace_context::parse(example, "vendor=1");
    ASSERT_TRUE(sent);
    EXPECT_TRUE(sent->sampled);
    EXPECT_EQ(sent->traceparent(), example);
    message m{"x"};
    sent->inject(m);
    bytes octets;
    encode(m, octets);
    message got;
    ASSERT_FALSE(decode(octets, got));
    EXPECT_EQ(trace_context::extract(got), sent);
    ASSERT_TRUE(got.message_annotations.find("traceparent"));
}

TEST(TraceContext, IsFoundInApplicationPropertiesToo)
{
    message m{"x"};
    EXPECT_FALSE(trace_context::extract(m));
    m.application_properties["traceparent"] = example;
    EXPECT_EQ(trace_context::extract(m)->traceparent(), example);
}

TEST(TraceContext, ReplacesAnOlderOne)
{
    message m{"x"};
    trace_context::parse(example, "old=1")->inject(m);
    auto next = *trace_context::parse(example);
    next.span_id[0] = 0x77;
    next.inject(m);
    EXPECT_EQ(*trace_context::extract(m), next);
}

TEST(TraceContext, TakesNothingElseForOne)
{
    for (auto const* const wrong :
         {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
          "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
          "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01"})
        EXPECT_FALSE(trace_context::parse(wrong)) << wrong;
    // A version of later may say more.
    EXPECT_TRUE(
        trace_context::parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"));
}

TEST(SourceFilters, HaveTheRegisteredDescriptors)
{
    auto const filter =
        source_filters{.selector = "colour = 'green'", .no_local = true, .topic_binding = "a.#"}
            .encoded();
    bytes_view in{filter};
    value v;
    ASSERT_FALSE(decode(in, v));
    auto const* const map = v.get_if<value_map>();
    ASSERT_TRUE(map);
    EXPECT_EQ(map->size(), 3u);
    auto const* const selector =
        map->find("apache.org:selector-filter:string")->get_if<described_value>();
    ASSERT_TRUE(selector);
    EXPECT_EQ(selector->descriptor, value{std::uint64_t{0x0000'468C'0000'0004}});
    EXPECT_EQ(selector->content.text(), "colour = 'green'");
    auto const* const no_local =
        map->find("apache.org:no-local-filter:list")->get_if<described_value>();
    ASSERT_TRUE(no_local);
    EXPECT_EQ(no_local->descriptor, value{std::uint64_t{0x0000'468C'0000'0003}});
    EXPECT_TRUE(no_local->content.get_if<value_list>());
    EXPECT_TRUE(map->begin()->first.get_if<symbol_string>()) << "keys are symbols";
    EXPECT_TRUE(source_filters{}.encoded().empty());
}

TEST(Subscription, IsNamedAsBrokersExpect)
{
    auto const durable = subscribe({.name = "audit", .durable = true});
    EXPECT_EQ(durable.name, "audit");
    EXPECT_EQ(durable.source.durable, terminus_durability::unsettled_state);
    EXPECT_EQ(durable.source.expiry_policy, "never");
    EXPECT_EQ(durable.source.capabilities, std::vector<std::string>{"topic"});

    auto const shared =
        subscribe({.name = "audit", .durable = true, .shared = true, .global = true});
    EXPECT_EQ(shared.name, "audit|global");
    EXPECT_EQ(shared.source.capabilities, (std::vector<std::string>{"topic", "shared", "global"}));
    EXPECT_EQ(subscribe({.name = "a", .durable = true, .shared = true, .receiver_number = 1}).name,
              "a|2");
    EXPECT_EQ(subscribe({.name = "a", .shared = true}).name, "a|volatile1");
    EXPECT_EQ(subscribe({.name = "a", .shared = true, .global = true, .receiver_number = 2}).name,
              "a|global-volatile3");
    EXPECT_TRUE(subscribe({}).name.empty());
}

}  // namespace
}  // namespace sluice::test
