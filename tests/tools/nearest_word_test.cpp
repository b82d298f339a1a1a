// Which word is suggested for a mistyped one.
#include "tools/nearest_word.hpp"

#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

std::vector<std::string> const words{"node", "send", "recv", "channel", "bench", "audit", "passwd"};

TEST(NearestWord, FindsWhatWasMistyped)
{
    EXPECT_EQ(nearest_word("sned", words), "send");
    EXPECT_EQ(nearest_word("receive", words), "");
    EXPECT_EQ(nearest_word("revc", words), "recv");
    EXPECT_EQ(nearest_word("nodes", words), "node");
    EXPECT_EQ(nearest_word("chanel", words), "channel");
    EXPECT_EQ(nearest_word("bnech", words), "bench");
}

TEST(NearestWord, SuggestsNothingThatIsFar)
{
    EXPECT_EQ(nearest_word("frobnicate", words), "");
    EXPECT_EQ(nearest_word("x", words), "");
    EXPECT_EQ(nearest_word("", words), "");
    EXPECT_EQ(nearest_word("sned", {}), "");
}

}  // namespace
}  // namespace sluice::tools
