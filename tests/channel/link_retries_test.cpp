// How long a port waits before it attaches its links again.
#include <sluice/channel/detail/link_retries.hpp>

#include <gtest/gtest.h>

namespace sluice::channels::detail {
namespace {

using namespace std::chrono_literals;

struct LinkRetries : testing::Test {
    link_retries retries;
    time_point now{};

    /// The links come and stay for that time. @returns how long to wait after that
    std::chrono::milliseconds stay(std::chrono::milliseconds t)
    {
        retries.on_open(now);
        now += t;
        return retries.on_failed(now);
    }
};

TEST_F(LinkRetries, LinksThatLastedComeBackAtOnce)
{
    EXPECT_EQ(stay(1h), 0ms);
    EXPECT_EQ(stay(100ms), 0ms);
    EXPECT_EQ(stay(100ms), 0ms);
}

TEST_F(LinkRetries, LinksThatAreEndedAsSoonAsTheyAreThereWaitLongerEachTime)
{
    EXPECT_EQ(stay(0ms), 0ms);
    for (auto const expected : {40ms, 80ms, 160ms, 320ms, 640ms, 1'280ms, 2'000ms, 2'000ms})
        EXPECT_EQ(stay(99ms), expected);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(stay(0ms), 2'000ms);
    EXPECT_EQ(stay(100ms), 0ms) << "until they last";
    EXPECT_EQ(stay(0ms), 40ms);
}

TEST_F(LinkRetries, LinksThatDoNotComeWaitLongerEachTime)
{
    for (auto const expected : {20ms, 40ms, 80ms, 160ms})
        EXPECT_EQ(retries.on_failed(now), expected);
    EXPECT_EQ(stay(1s), 0ms);
    EXPECT_EQ(retries.on_failed(now), 40ms);
}

}  // namespace
}  // namespace sluice::channels::detail
