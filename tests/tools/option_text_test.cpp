// What people write after options, and what they are told when it is wrong.
#include "tools/option_text.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sluice::tools {
namespace {

value typed(std::string const& text) { return parse_property("k=" + text).second; }

template <class F>
std::string fault_of(F f)
{
    try {
        f();
    } catch (std::invalid_argument const& e) {
        return e.what();
    }
    return "no fault";
}

TEST(OptionText, PropertiesHaveTheTypeOfTheirForm)
{
    EXPECT_EQ(parse_property("name=value"), (std::pair<std::string, value>{"name", "value"}));
    EXPECT_EQ(typed("5"), value{std::int64_t{5}});
    EXPECT_EQ(typed("-5"), value{std::int64_t{-5}});
    EXPECT_EQ(typed("18446744073709551615"), value{std::uint64_t{18446744073709551615u}});
    EXPECT_EQ(typed("2.5"), value{2.5});
    EXPECT_EQ(typed("-1e3"), value{-1e3});
    EXPECT_EQ(typed("99999999999999999999"), value{1e20});
    EXPECT_EQ(typed("true"), value{true});
    EXPECT_EQ(typed("false"), value{false});
    for (auto const* const text :
         {"", "True", "5 apples", "1.2.3", "0x10", "inf", "nan", "-", "e5", "a=b"})
        EXPECT_EQ(typed(text), value{text}) << text;
    EXPECT_EQ(typed("\"5\""), value{"5"});
    EXPECT_EQ(typed("\""), value{"\""});
}

TEST(OptionText, APropertyNeedsANameAndAValue)
{
    EXPECT_NE(fault_of([] { parse_property("x"); }).find("write NAME=VALUE"), std::string::npos);
    EXPECT_NE(fault_of([] { parse_property("=x"); }).find("write NAME=VALUE"), std::string::npos);
    EXPECT_NE(fault_of([] { parse_property("k=\xff"); }).find("UTF-8"), std::string::npos);
}

TEST(OptionText, AQueueMayHaveSettings)
{
    node::queue_options defaults;
    defaults.length_max = 7;
    EXPECT_EQ(parse_queue("q", defaults).first, "q");
    EXPECT_EQ(parse_queue("q", defaults).second.length_max, 7u);
    auto const [name, o] =
        parse_queue("a%3Ab:length_max=5,bytes_max=2KiB,full=withhold,dead_letter=d", defaults);
    EXPECT_EQ(name, "a:b");
    EXPECT_EQ(o.length_max, 5u);
    EXPECT_EQ(o.bytes_max, 2048u);
    EXPECT_EQ(o.full, node::when_full::withhold);
    EXPECT_EQ(o.dead_letter, "d");
}

TEST(OptionText, AWrongQueueIsToldWhatThereIs)
{
    auto const fault = [](char const* text) { return fault_of([=] { parse_queue(text, {}); }); };
    EXPECT_NE(fault("").find("needs a name"), std::string::npos);
    EXPECT_NE(fault("$management").find("'$'"), std::string::npos);
    EXPECT_NE(fault("q:x").find("NAME:setting=value"), std::string::npos);
    EXPECT_NE(fault("q:").find("NAME:setting=value"), std::string::npos);
    EXPECT_NE(fault("q:colour=red").find("there are length_max"), std::string::npos);
    EXPECT_NE(fault("q:length_max=0").find("from 1 on"), std::string::npos);
    EXPECT_NE(fault("q:full=never").find("reject or withhold"), std::string::npos);
    EXPECT_NE(fault("q:dead_letter=$management").find("'$'"), std::string::npos);
    EXPECT_NE(fault("q:bytes_max=x").find("20MiB"), std::string::npos);
}

TEST(OptionText, SizesHaveUnits)
{
    EXPECT_EQ(parse_size("0"), 0u);
    EXPECT_EQ(parse_size("100"), 100u);
    EXPECT_EQ(parse_size("100B"), 100u);
    EXPECT_EQ(parse_size("64k"), 64'000u);
    EXPECT_EQ(parse_size("64KiB"), 65'536u);
    EXPECT_EQ(parse_size("1.5MB"), 1'500'000u);
    EXPECT_EQ(parse_size("20MiB"), 20u << 20);
    for (auto const* const wrong :
         {"", "x", "-1", "1 k", "1kb", "1e3", "k", "99999999999G", "1.2.3"})
        EXPECT_NE(fault_of([=] { parse_size(wrong); }).find("write octets"), std::string::npos)
            << wrong;
}

TEST(OptionText, NumbersAreDecimalNotNegativeAndInTheirRange)
{
    for (auto const* const good : {"0", "1", "18446744073709551615"}) {
        std::string text = good;
        EXPECT_EQ(number_fault(text, true), "") << good;
        EXPECT_EQ(text, good);
    }
    for (auto const* const good : {"0", "0.5", "1e3", "1e9"}) {
        std::string text = good;
        EXPECT_EQ(number_fault(text, false), "") << good;
        EXPECT_EQ(text, good);
    }
    std::string text = "010";
    EXPECT_EQ(number_fault(text, true), "");
    EXPECT_EQ(text, "10") << "not octal";
    text = "000";
    EXPECT_EQ(number_fault(text, true), "");
    EXPECT_EQ(text, "0");
    for (auto const* const wrong : {"", "-1", "-0", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "nan",
                                    "18446744073709551616", "99999999999999999999"}) {
        text = wrong;
        EXPECT_NE(number_fault(text, true), "") << wrong;
    }
    for (auto const* const wrong : {"", "-1", "-0", "nan", "-nan", "inf", "-inf", "infinity",
                                    "1e10", "1e999", "0x1p3", "1,5"}) {
        text = wrong;
        EXPECT_NE(number_fault(text, false), "") << wrong;
    }
}

TEST(OptionText, TextsThatAMessageCannotHaveAreRefusedByName)
{
    check_string("--subject", "tee \xc3\xa4");
    check_string("--subject", "");
    check_symbol("--content-type", "text/plain");
    EXPECT_EQ(fault_of([] { check_string("--subject", "\xff\xfe"); }),
              "--subject is not UTF-8, as strings of AMQP are");
    EXPECT_EQ(fault_of([] { check_symbol("--content-type", "text/\xc3\xa4"); }),
              "--content-type is not ASCII, as symbols of AMQP are");
}

}  // namespace
}  // namespace sluice::tools
