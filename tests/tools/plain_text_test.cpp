// What exceptions say, without numbers.
#include "tools/plain_text.hpp"

#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
#include <system_error>

namespace sluice::tools {
namespace {

TEST(PlainText, CodesAreLeftOut)
{
    EXPECT_EQ(plain_text(std::runtime_error{"it failed [std:sluice:41]"}), "it failed");
    EXPECT_EQ(plain_text(std::runtime_error{"it failed [asio.ssl:167772294]"}), "it failed");
    EXPECT_EQ(plain_text(std::runtime_error{"it failed [system:2 at a.cpp:7]"}), "it failed");
    boost::system::error_code const code{2, boost::system::system_category()};
    EXPECT_EQ(plain_text(boost::system::system_error{code, "x"}).find('['), std::string::npos);
}

TEST(PlainText, OtherBracketsStay)
{
    for (auto const* const text : {"bind to [::1]", "host [fe80:0:0:0:0:0:0:1]", "as in [2.5.6]",
                                   "", "]", "[std:sluice:41]", "a [b]", "a [b:c]"})
        EXPECT_EQ(plain_text(std::runtime_error{text}), text);
}

TEST(PlainText, TheLimitOfOpenFilesIsNamed)
{
    auto const many = std::make_error_code(std::errc::too_many_files_open);
    EXPECT_NE(plain_text(std::system_error{many, "eventfd"}).find("ulimit -n"), std::string::npos);
    EXPECT_NE(plain_text(boost::system::system_error{many, "eventfd"}).find("ulimit -n"),
              std::string::npos);
}

}  // namespace
}  // namespace sluice::tools
