// JSON that machines can read whatever is in it.
#include "tools/json_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::tools {
namespace {

std::string json(std::string_view text)
{
    std::string out;
    append_json(out, text);
    return out;
}

std::string json(double number)
{
    std::string out;
    append_json(out, number);
    return out;
}

std::string base64_of(std::string_view text) { return base64(std::as_bytes(std::span{text})); }

TEST(JsonText, EscapesWhatJsonWants)
{
    EXPECT_EQ(json("a\"b\\c\n\t\x01\x7f"), R"("a\"b\\c\n\u0009\u0001\u007f")");
    EXPECT_EQ(json(std::string_view{"\0", 1}), R"("\u0000")");
    EXPECT_EQ(json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
              "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
}

TEST(JsonText, ReplacesWhatIsNoUtf8)
{
    EXPECT_EQ(json("a\xff"
                   "b"),
              "\"a\xef\xbf\xbd"
              "b\"");
    for (auto const* const wrong :
         {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80",
          "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"})
        EXPECT_FALSE(is_utf8(wrong)) << json(wrong);
    for (auto const* const right : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                    "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(right)) << json(right);
}

TEST(JsonText, NumbersReadBackAndOthersAreStrings)
{
    EXPECT_EQ(json(0.1), "0.1");
    EXPECT_EQ(json(-2.5e300), "-2.5e+300");
    EXPECT_EQ(json(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
    EXPECT_EQ(json(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(JsonText, Base64IsThatOfRfc4648)
{
    EXPECT_EQ(base64_of(""), "");
    EXPECT_EQ(base64_of("f"), "Zg==");
    EXPECT_EQ(base64_of("fo"), "Zm8=");
    EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
}

TEST(JsonText, Base64OfMuchIsOneText)
{
    std::string const much(std::size_t{7} << 20, 'x');
    auto const text = base64_of(much);
    EXPECT_EQ(text.size(), (much.size() + 2) / 3 * 4);
    EXPECT_EQ(text.find('='), text.size() - 2);
}

TEST(JsonText, ObjectsKeepTheOrderOfTheirMembers)
{
    json_object o;
    EXPECT_TRUE(o.empty());
    o.add("b", std::uint64_t{18446744073709551615u})
        .add("a", "x")
        .add("t", true)
        .add("i", std::int64_t{-1});
    EXPECT_EQ(o.text(), R"({"b":18446744073709551615,"a":"x","t":true,"i":-1})");
    EXPECT_EQ(json_object{}.text(), "{}");
}

}  // namespace
}  // namespace sluice::tools
