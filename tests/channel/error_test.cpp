// The errors of channels say what was wrong and what to do.
#include <sluice/channel/error.hpp>

#include <gtest/gtest.h>

#include <set>

namespace sluice::channels {
namespace {

TEST(ChannelErrors, EachHasATextOfItsOwn)
{
    std::set<std::string> texts;
    for (int e = 1; e <= static_cast<int>(errc::handler_failed); ++e) {
        auto const text = category().message(e);
        EXPECT_NE(text, "unknown error of a channel") << e;
        EXPECT_TRUE(texts.insert(text).second) << text;
    }
    EXPECT_EQ(category().message(0), "unknown error of a channel");
}

TEST(ChannelErrors, CompareEqualInBoostsType)
{
    boost::system::error_code const code{make_error_code(errc::channel_closed)};
    EXPECT_EQ(code, errc::channel_closed);
    EXPECT_STREQ(category().name(), "sluice.channel");
}

}  // namespace
}  // namespace sluice::channels
