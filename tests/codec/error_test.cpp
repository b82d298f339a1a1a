// The texts of the errors.
#include <sluice/error.hpp>
#include <sluice/result.hpp>

#include <gtest/gtest.h>

#include <set>

namespace sluice {
namespace {

constexpr int last_error = static_cast<int>(error::websocket_failed);

bool is_declared(int value)
{
    // The gaps between the groups of the enumeration.
    return (value >= 1 && value <= 14) || (value >= 20 && value <= 51)
           || (value >= 60 && value <= 66) || (value >= 70 && value <= 88)
           || (value >= 100 && value <= last_error);
}

TEST(Error, EveryErrorHasATextOfItsOwnThatSaysMoreThanAName)
{
    std::set<std::string> texts;
    for (int value = 1; value <= last_error; ++value) {
        auto const text = make_error_code(static_cast<error>(value)).message();
        if (!is_declared(value)) {
            EXPECT_NE(text.find("unknown sluice error"), std::string::npos) << value;
            continue;
        }
        EXPECT_EQ(text.find("unknown"), text.find("unknown format code")) << value << " " << text;
        EXPECT_GT(text.size(), 30u) << value;
        EXPECT_TRUE(texts.insert(text).second) << value << " repeats: " << text;
    }
}

TEST(Error, TheCategoryIsNamedAndNoneIsNoError)
{
    EXPECT_STREQ(sluice_category().name(), "sluice");
    EXPECT_EQ(make_error_code(error::none).message(), "no error");
    EXPECT_FALSE(make_error_code(error::none));
    std::error_code const code = error::truncated;
    EXPECT_EQ(code, error::truncated);
}

TEST(Result, HoldsAValueOrAnError)
{
    result<int> const good{5};
    ASSERT_TRUE(good);
    EXPECT_EQ(*good, 5);
    EXPECT_FALSE(good.error());

    result<int> bad{unexpected{error::wrong_type}};
    EXPECT_FALSE(bad);
    EXPECT_EQ(bad.error(), error::wrong_type);
    EXPECT_THROW((void)bad.value(), std::system_error);
}

}  // namespace
}  // namespace sluice
