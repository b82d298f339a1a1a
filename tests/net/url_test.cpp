// AMQP URLs: what is read, and what a fault says.
#include <sluice/net/url.hpp>

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

url read(std::string_view text)
{
    std::string fault;
    auto out = parse_url(text, &fault);
    EXPECT_TRUE(out.has_value()) << text << ": " << fault;
    return out ? *out : url{};
}

std::string fault_of(std::string_view text)
{
    std::string fault;
    auto const out = parse_url(text, &fault);
    EXPECT_EQ(out.error(), make_error_code(error::invalid_url)) << text;
    return fault;
}

TEST(Url, TakesAllPartsApart)
{
    auto const u =
        read("amqp://guest:secret@broker.example:5673/queue/a?sasl=plain&hostname=vhost");
    EXPECT_FALSE(u.tls);
    EXPECT_EQ(u.user, "guest");
    EXPECT_EQ(u.password, "secret");
    EXPECT_EQ(u.host, "broker.example");
    EXPECT_EQ(u.port, 5673);
    EXPECT_EQ(u.path, "queue/a");
    EXPECT_EQ(u.option("sasl"), "plain");
    EXPECT_EQ(u.option("hostname"), "vhost");
    EXPECT_EQ(u.option("nothing"), std::nullopt);
}

TEST(Url, HasTheStandardsPortsAsDefaults)
{
    EXPECT_EQ(read("amqp://h").port, 5672);
    EXPECT_EQ(read("amqps://h").port, 5671);
    EXPECT_TRUE(read("amqps://h").tls);
    EXPECT_EQ(read("amqps://h:1").port, 1);
}

TEST(Url, KnowsAmqpOverWebSocketHoweverItIsWritten)
{
    auto const azure = read("wss://ns.servicebus.windows.net/$servicebus/websocket");
    EXPECT_TRUE(azure.tls);
    EXPECT_TRUE(azure.websocket);
    EXPECT_EQ(azure.port, 443);
    EXPECT_EQ(azure.websocket_path, "/$servicebus/websocket");
    EXPECT_EQ(azure.path, "");
    EXPECT_EQ(azure.to_string(), "wss://ns.servicebus.windows.net:443/$servicebus/websocket");
    for (auto const* const text : {"ws://h", "amqp+ws://h", "amqpws://h/"}) {
        EXPECT_TRUE(read(text).websocket) << text;
        EXPECT_FALSE(read(text).tls) << text;
        EXPECT_EQ(read(text).port, 80) << text;
        EXPECT_EQ(read(text).websocket_path, "/") << text;
    }
    for (auto const* const text :
         {"wss://u:p@h:1/a%20b?sasl=plain", "amqp+wss://h:1/a%20b", "amqpwss://h:1/a%20b"}) {
        EXPECT_TRUE(read(text).websocket && read(text).tls) << text;
        EXPECT_EQ(read(text).websocket_path, "/a%20b") << text;
    }
}

TEST(Url, MayLeaveTheSchemeOut)
{
    EXPECT_FALSE(read("localhost").has_scheme);
    EXPECT_TRUE(read("amqp://localhost").has_scheme);
    EXPECT_EQ(read("localhost").host, "localhost");
    EXPECT_EQ(read("localhost:5673/q").port, 5673);
    EXPECT_EQ(read("u:p@localhost").user, "u");
}

TEST(Url, DecodesPercentSignsInEveryPart)
{
    auto const u = read("amqp://us%3Aer:p%40ss%2Fw%25@h/a%20b?n%3D=%26");
    EXPECT_EQ(u.user, "us:er");
    EXPECT_EQ(u.password, "p@ss/w%");
    EXPECT_EQ(u.path, "a b");
    EXPECT_EQ(u.options.at(0).first, "n=");
    EXPECT_EQ(u.options.at(0).second, "&");
}

TEST(Url, TakesIpv6LiteralsInBrackets)
{
    auto const u = read("amqp://[::1]:5673/q");
    EXPECT_EQ(u.host, "::1");
    EXPECT_EQ(u.port, 5673);
    EXPECT_EQ(u.to_string(), "amqp://[::1]:5673");
    EXPECT_EQ(read("amqp://[fe80::1]").port, 5672);
}

TEST(Url, TakesSchemesInEitherCase)
{
    EXPECT_TRUE(read("AMQPS://h").tls);
    EXPECT_EQ(read("Amqp://h").port, 5672);
    EXPECT_TRUE(read("WSS://h/Path").websocket);
    EXPECT_EQ(read("WSS://h/Path").websocket_path, "/Path");
    EXPECT_NE(fault_of("HTTP://h").find("an unknown scheme"), std::string::npos);
}

TEST(Url, TellsAMissingPasswordFromAnEmptyOne)
{
    EXPECT_EQ(read("amqp://u@h").password, std::nullopt);
    EXPECT_EQ(read("amqp://u:@h").password, "");
}

TEST(Url, FaultsNameTheCharacterAndTheWayOut)
{
    EXPECT_EQ(fault_of("http://h"),
              "invalid URL at character 1: an unknown scheme; begin with amqp://, amqps://, ws:// "
              "or wss://");
    EXPECT_NE(fault_of("amqp://h:99999").find("at character 10: a port"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h:0").find("from 1 to 65535"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h:").find("leave ':' and port out"), std::string::npos);
    EXPECT_NE(fault_of("amqp://").find("no host"), std::string::npos);
    EXPECT_NE(fault_of("").find("no host"), std::string::npos);
    EXPECT_NE(fault_of("amqp://:p@h").find("empty user"), std::string::npos);
    EXPECT_NE(fault_of("amqp://[::1").find("without its ']'"), std::string::npos);
    EXPECT_NE(fault_of("amqp://[::1]x").find("after the ']'"), std::string::npos);
    EXPECT_NE(fault_of("amqp://::1").find("IPv6 address in brackets"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h/%4").find("at character 10: a '%'"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h/%zz").find("%25"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h/a b").find("blank"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h?x").find("name=value"), std::string::npos);
    EXPECT_NE(fault_of("amqp://h#f").find("%23"), std::string::npos);
}

TEST(Url, FaultsNeverRepeatAPassword)
{
    for (auto const* const text :
         {"amqp://u:s3cret%@h", "amqp://u:s3cret/x@h", "amqp://u:s3 cret@h",
          "amqp://u:s3cret@h:port", "amqp://u:s3cret@", "amqp://u:12/s3cret@h"}) {
        auto const fault = fault_of(text);
        EXPECT_EQ(fault.find("s3"), std::string::npos) << fault;
        EXPECT_EQ(fault.find("12/"), std::string::npos) << fault;
    }
}

TEST(Url, TextHasNoCredentials) { EXPECT_EQ(read("amqp://u:p@h/q").to_string(), "amqp://h:5672"); }

}  // namespace
}  // namespace sluice::net
