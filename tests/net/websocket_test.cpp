// AMQP over WebSocket as a byte stream: octets, the upgrade and its refusals, the end.
#include "support/memory_stream.hpp"

#include <sluice/net/websocket.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

struct websocket_rig : memory_pair {
    connect_result at_client;
    connect_result at_server;
    std::shared_ptr<tcp_connect> client_handshake;
    std::shared_ptr<tcp_connect> server_handshake;
    int client_calls = 0;
    int server_calls = 0;
    std::vector<std::string> origins;

    void start_client(std::string const& path = "/$servicebus/websocket")
    {
        client_handshake =
            start_websocket_client(client_end(), "host:5672", path, [this](connect_result r) {
                at_client = std::move(r);
                ++client_calls;
            });
    }
    void start_server()
    {
        server_handshake = start_websocket_server(server_end(), origins, [this](connect_result r) {
            at_server = std::move(r);
            ++server_calls;
        });
    }
    void shake()
    {
        start_client();
        start_server();
        run();
    }
    /// What the server says to `request`.
    std::string ask(std::string const& request)
    {
        start_server();
        to_server->inject(io, request);
        run();
        return to_client->all;
    }
    /// What the client makes of `answer`.
    connect_result const& told(std::string const& answer)
    {
        start_client();
        run();
        to_client->inject(io, answer);
        run();
        EXPECT_EQ(client_calls, 1);
        EXPECT_FALSE(at_client.stream);
        return at_client;
    }
};

std::string upgrade(std::string const& more = "Sec-WebSocket-Protocol: amqp\r\n")
{
    return "GET /any/path HTTP/1.1\r\nHost: host:5672\r\nUpgrade: websocket\r\n"
           "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           + more + "\r\n";
}

using ready_rig = shaken<websocket_rig>;

TEST(WebSocket, PassesOctetsBothWaysAndAsksForAmqp)
{
    ready_rig r;
    EXPECT_THAT(r.to_server->all, AllOf(HasSubstr("GET /$servicebus/websocket HTTP/1.1\r\n"),
                                        HasSubstr("Host: host:5672\r\n"),
                                        HasSubstr("Sec-WebSocket-Protocol: amqp\r\n")));
    EXPECT_FALSE(write_all(r, r.c(), "to the server", [] {}));
    EXPECT_FALSE(write_all(r, r.s(), "to the client", [] {}));
    EXPECT_EQ(r.server_reader.all(), "to the server");
    EXPECT_EQ(r.client_reader.all(), "to the client");
}

TEST(WebSocket, LargeWritesGoThroughSmallRoomAndSmallReads)
{
    ready_rig r;
    r.to_server->room = 1'000;
    r.to_client->piece = 77;
    auto const up = pattern(300'000);
    auto const down = pattern(50'001);
    std::string at_server;
    EXPECT_FALSE(write_all(r, r.c(), up, [&] { at_server += r.server_reader.all(100); }));
    at_server += r.server_reader.all();
    EXPECT_TRUE(at_server == up);
    EXPECT_FALSE(write_all(r, r.s(), down, [] {}));
    EXPECT_TRUE(r.client_reader.all(33'000) == down);
}

TEST(WebSocket, MessagesAndFramesMayBeCutAnywhere)
{
    websocket_rig r;
    std::ignore = r.ask(upgrade());
    ASSERT_TRUE(r.at_server.stream) << r.at_server.text;
    patient_reader reader{r, *r.at_server.stream};
    // A message of three frames, a ping between them, then an empty one; all masked with zeros.
    auto const frame = [](unsigned char first, std::string const& payload) {
        std::string out;
        out += static_cast<char>(first);
        out += static_cast<char>(0x80 | payload.size());
        return out + std::string(4, '\0') + payload;
    };
    auto const all = frame(0x02, "AM") + frame(0x00, "QP") + frame(0x89, "ping") + frame(0x80, "!")
                     + frame(0x82, "") + frame(0x82, "?");
    auto const before = r.to_client->all.size();
    for (auto const c : all) {
        r.to_server->inject(r.io, std::string(1, c));
        r.run();
    }
    EXPECT_EQ(reader.all(), "AMQP!?");
    EXPECT_THAT(r.to_client->all.substr(before), HasSubstr("ping")) << "answered with a pong";
}

TEST(WebSocket, AnOrderlyEndIsAnEndAndACutIsNone)
{
    ready_rig r;
    ASSERT_FALSE(write_all(r, r.c(), "last", [] {}));
    r.c().shutdown_write();
    EXPECT_EQ(r.server_reader.all(), "last");
    EXPECT_EQ(r.server_reader.end, boost::asio::error::eof) << r.server_reader.end.message();
    EXPECT_EQ(r.client_reader.all(), "");
    EXPECT_EQ(r.client_reader.end, boost::asio::error::eof) << r.client_reader.end.message();

    ready_rig cut;
    ASSERT_FALSE(write_all(cut, cut.c(), "half of i", [] {}));
    cut.run();
    cut.to_server->end(cut.io);
    EXPECT_EQ(cut.server_reader.all(), "half of i");
    EXPECT_THAT(cut.server_reader.end.message(), HasSubstr("without a close frame"));
}

TEST(WebSocket, ATextMessageAndABreachOfTheProtocolEndTheStream)
{
    websocket_rig text;
    std::ignore = text.ask(upgrade());
    ASSERT_TRUE(text.at_server.stream);
    patient_reader reader{text, *text.at_server.stream};
    text.to_server->inject(text.io, std::string("\x81\x82\0\0\0\0hi", 8));
    EXPECT_EQ(reader.all(), "");
    EXPECT_THAT(reader.end.message(), HasSubstr("text message"));
    EXPECT_THAT(text.to_client->all, HasSubstr("\x88\x02\x03\xeb")) << "a close frame, 1003";

    websocket_rig unmasked;
    std::ignore = unmasked.ask(upgrade());
    ASSERT_TRUE(unmasked.at_server.stream);
    patient_reader other{unmasked, *unmasked.at_server.stream};
    unmasked.to_server->inject(unmasked.io, std::string("\x82\x02hi", 4));
    EXPECT_EQ(other.all(), "");
    EXPECT_TRUE(other.end);
    EXPECT_NE(other.end, boost::asio::error::eof);
}

TEST(WebSocket, ADeclaredSizeOfExabytesAllocatesNothing)
{
    websocket_rig r;
    std::ignore = r.ask(upgrade());
    ASSERT_TRUE(r.at_server.stream);
    patient_reader reader{r, *r.at_server.stream};
    r.to_server->inject(r.io,
                        std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0begin", 19));
    EXPECT_EQ(reader.all(), "begin") << "what has come is there; the rest may come or not";
    EXPECT_FALSE(reader.end);
}

TEST(WebSocket, CloseEndsWaits)
{
    ready_rig r;
    auto const note = std::make_shared<readiness_note>();
    r.c().async_wait(readiness::read, note);
    r.run();
    EXPECT_EQ(note->calls, 0);
    r.c().close();
    r.run();
    EXPECT_EQ(note->calls, 1);
    EXPECT_EQ(note->result, boost::asio::error::operation_aborted);
}

// ---- upgrades that are none

TEST(WebSocket, AServerRefusesWithHttpErrorsThatSayWhy)
{
    struct {
        std::string request;
        char const* status;
        char const* why;
    } const cases[] = {
        {upgrade(""), "400 Bad Request", "subprotocol has to be 'amqp'"},
        {upgrade("Sec-WebSocket-Protocol: mqtt, AMQPWSB10\r\n"), "400 Bad Request", "'amqp'"},
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "426 Upgrade Required", "AMQP over WebSocket"},
        {std::string("AMQP\0\1\0\0\r\n\r\n", 12), "400 Bad Request", "does not speak HTTP"},
        {upgrade("X: " + std::string(20'000, 'x') + "\r\n"), "400 Bad Request", "HTTP"},
        {upgrade("Sec-WebSocket-Protocol: amqp\r\nOrigin: https://evil.example\r\n"),
         "403 Forbidden", "https://evil.example"},
    };
    for (auto const& c : cases) {
        websocket_rig r;
        EXPECT_THAT(r.ask(c.request), AllOf(HasSubstr(c.status), HasSubstr(c.why)));
        EXPECT_EQ(r.server_calls, 1);
        EXPECT_EQ(r.at_server.code, error::websocket_failed);
        EXPECT_THAT(r.at_server.text, HasSubstr(c.why));
    }
}

TEST(WebSocket, PagesOfTheServersOwnOriginAndOfThoseNamedMayConnect)
{
    for (auto const* const origin : {"https://host:5672", "https://good.example"}) {
        websocket_rig r;
        r.origins = {"https://good.example"};
        EXPECT_THAT(r.ask(upgrade(std::string{"Sec-WebSocket-Protocol: x, amqp\r\nOrigin: "}
                                  + origin + "\r\n")),
                    HasSubstr("101 Switching"));
        EXPECT_TRUE(r.at_server.stream) << origin;
    }
}

// Without TLS a page whose name leads here since it was loaded looks like one of the server's own.
TEST(WebSocket, PagesOfANameThatIsTheServersOwnWithoutTlsMayNotConnect)
{
    auto const ask = [](std::string const& host) {
        websocket_rig r;
        return r.ask(
            "GET / HTTP/1.1\r\nHost: " + host
            + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: amqp\r\n"
              "Origin: http://"
            + host + "\r\n\r\n");
    };
    for (auto const* const host : {"rebound.example", "rebound.example:8080", "", ":80",
                                   "127.0.0.1.example", "localhost.example:80"})
        EXPECT_THAT(ask(host), HasSubstr("403 Forbidden")) << host;
    for (auto const* const host :
         {"127.0.0.1", "127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost", "LocalHost:8080"})
        EXPECT_THAT(ask(host), HasSubstr("101 Switching")) << host;
}

TEST(WebSocket, AClientNamesWhatTheServerAnswered)
{
    websocket_rig missing;
    auto const& a = missing.told("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(a.code, error::websocket_failed);
    EXPECT_THAT(a.text,
                AllOf(HasSubstr("HTTP 404 Not Found"), HasSubstr("/$servicebus/websocket")));

    websocket_rig amqp;
    auto const& b = amqp.told(std::string("AMQP\0\1\0\0", 8) + "\r\n\r\n");
    EXPECT_EQ(b.code, error::websocket_failed) << b.text;
    EXPECT_THAT(b.text, AllOf(HasSubstr("not HTTP"), HasSubstr("amqp://")));

    websocket_rig gone;
    gone.start_client();
    gone.to_client->end(gone.io);
    gone.run();
    EXPECT_EQ(gone.at_client.code, error::connect_failed) << gone.at_client.text;
    EXPECT_THAT(gone.at_client.text, HasSubstr("does it speak WebSocket"));
}

TEST(WebSocket, ACancelledHandshakeTellsOnce)
{
    websocket_rig r;
    r.start_client();
    r.run();
    r.client_handshake->cancel();
    r.client_handshake->cancel();
    r.run();
    EXPECT_EQ(r.client_calls, 1);
    EXPECT_EQ(r.at_client.code, error::operation_aborted);
}

}  // namespace
}  // namespace sluice::net
