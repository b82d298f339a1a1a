// Addresses to listen on.
#include "tools/listen_address.hpp"

#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

TEST(ListenAddress, TheSchemeSaysWhatLiesUnderAmqp)
{
    std::string fault;
    struct {
        char const* text;
        bool tls_given;
        bool tls;
        bool websocket;
        int port;
    } const cases[] = {
        {"127.0.0.1:1", false, false, false, 1},  {"127.0.0.1:1", true, true, false, 1},
        {"h", false, false, false, 5672},         {"h", true, true, false, 5671},
        {"amqp://h", true, false, false, 5672},   {"amqps://[::1]:9/", false, true, false, 9},
        {"ws://h:8080", true, false, true, 8080}, {"wss://h", false, true, true, 443},
    };
    for (auto const& c : cases) {
        auto const a = parse_listen_address(c.text, c.tls_given, fault);
        ASSERT_TRUE(a) << c.text << fault;
        EXPECT_EQ(a->under.tls, c.tls) << c.text;
        EXPECT_EQ(a->under.websocket, c.websocket) << c.text;
        EXPECT_EQ(a->where.port, c.port) << c.text;
    }
}

TEST(ListenAddress, AFaultSaysWhatIsExpected)
{
    std::string fault;
    EXPECT_FALSE(parse_listen_address("http://h:1", false, fault));
    EXPECT_NE(fault.find("wss://"), std::string::npos) << fault;
    EXPECT_FALSE(parse_listen_address("amqps://:1", false, fault));
    EXPECT_NE(fault.find("no host"), std::string::npos) << fault;
}

}  // namespace
}  // namespace sluice::tools
