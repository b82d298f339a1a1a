// HOST:PORT as people type it.
#include "tools/address.hpp"

#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

std::string parsed(std::string_view text, std::optional<std::uint16_t> port_default = {})
{
    std::string fault;
    auto const a = parse_address(text, port_default, fault);
    return a ? a->host + " " + std::to_string(a->port) : fault;
}

TEST(Address, IsAHostAndAPort)
{
    EXPECT_EQ(parsed("127.0.0.1:5673"), "127.0.0.1 5673");
    EXPECT_EQ(parsed("broker.example:0"), "broker.example 0");
    EXPECT_EQ(parsed("[::1]:5672"), "::1 5672");
    EXPECT_EQ(parsed("broker", 5672), "broker 5672");
    EXPECT_EQ(parsed("[::1]", 5672), "::1 5672");
}

TEST(Address, SaysWhatIsWrongWithIt)
{
    auto const hint = "; expected HOST:PORT, such as 127.0.0.1:5672 or [::1]:5672";
    auto const fault = [&](std::string_view of, std::string_view what) {
        return "'" + std::string{of} + "': " + std::string{what} + hint;
    };
    EXPECT_EQ(parsed("broker"), fault("broker", "no port"));
    EXPECT_EQ(parsed(":5672"), fault(":5672", "no host"));
    EXPECT_EQ(parsed("a:65536"), fault("a:65536", "the port is no number from 0 to 65535"));
    EXPECT_EQ(parsed("a:", 5672), fault("a:", "the port is no number from 0 to 65535"));
    EXPECT_EQ(parsed("a:1x"), fault("a:1x", "the port is no number from 0 to 65535"));
    EXPECT_EQ(parsed("::1:5672"), fault("::1:5672", "an IPv6 address stands in brackets"));
    EXPECT_EQ(parsed("[::1:5672"), fault("[::1:5672", "no ']' after '['"));
    EXPECT_EQ(parsed("[::1]5672"), fault("[::1]5672", "something other than a port after ']'"));
}

}  // namespace
}  // namespace sluice::tools
