// The node over TLS and WebSocket: messages, who is let in, those who never finish a handshake.
#include "support/certificates.hpp"

#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <mutex>

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tcp = boost::asio::ip::tcp;

struct rig {
    authority ca;
    std::mutex mutex;
    std::vector<std::string> failures;  // guarded by it
    std::promise<void> failed;
    std::unique_ptr<node::node> node;
    client::container container;
    client::connection_options options;
    std::uint16_t port = 0;
    std::string url;

    explicit rig(node::node_transport under = {.tls = true}, node::node_options o = {})
    {
        auto const own = ca.issue();
        if (!o.tls)
            o.tls.emplace();
        o.tls->cert_file = own.certificate;
        o.tls->key_file = own.key;
        if (!o.tls->client_ca_file.empty())
            o.tls->client_ca_file = ca.pem();
        o.on_handshake_failed = [this](std::string const& text) {
            std::lock_guard const lock{mutex};
            failures.push_back(text);
            if (failures.size() == 1)
                failed.set_value();
        };
        options.tls.ca_file = ca.pem();
        options.timeout = client::milliseconds{20'000};
        node = std::make_unique<node::node>(std::move(o));
        port = node->listen("127.0.0.1", 0, under).value();
        auto const* const scheme =
            under.websocket ? (under.tls ? "wss" : "ws") : (under.tls ? "amqps" : "amqp");
        url = scheme + ("://127.0.0.1:" + std::to_string(port));
    }
    client::connection connect() { return container.connect(url, options); }
    /// What connecting fails with.
    boost::system::system_error refused(std::string const& to)
    {
        try {
            container.connect(to, options);
        } catch (boost::system::system_error const& e) {
            return e;
        }
        ADD_FAILURE() << "connected";
        return boost::system::system_error{{}};
    }
    std::string first_failure()
    {
        failed.get_future().wait();
        std::lock_guard const lock{mutex};
        return failures.front();
    }
};

bytes message_of(std::size_t size, std::size_t n)
{
    bytes out;
    message_writer{out}.data(bytes(size, static_cast<std::byte>(n)));
    return out;
}

class NodeTransport : public testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(NodeTransport, CarriesSmallAndLargeMessagesInTheirOrder)
{
    rig r{{.tls = GetParam().first, .websocket = GetParam().second}};
    auto const c = r.connect();
    auto const sizes = {1u, 100u, 16'000u, 70'000u, 1'000'000u, 3u};
    auto receiver = c.open_receiver("q");
    auto const sender = c.open_sender("q");
    std::vector<std::future<client::outcome>> outcomes;
    for (std::size_t n = 0; n < 200; ++n)
        for (auto const size : sizes)
            if (size < 100'000 || n % 50 == 0)
                outcomes.push_back(sender.async_send(client::encoded_message{message_of(size, n)},
                                                     {}, boost::asio::use_future));
    for (std::size_t n = 0; n < 200; ++n) {
        for (auto const size : sizes) {
            if (size >= 100'000 && n % 50 != 0)
                continue;
            auto const d = receiver.receive();
            ASSERT_EQ(d.body().size(), message_of(size, n).size()) << n;
            ASSERT_EQ(d.body().back(), static_cast<std::byte>(n));
            d.accept();
        }
    }
    for (auto& o : outcomes) EXPECT_EQ(o.get().kind(), client::outcome_kind::accepted);
    c.close();
}

INSTANTIATE_TEST_SUITE_P(TlsAndWebSocket, NodeTransport,
                         testing::Values(std::pair{true, false}, std::pair{false, true},
                                         std::pair{true, true}),
                         [](auto const& p) {
                             return p.param.second ? (p.param.first ? "Wss" : "Ws") : "Amqps";
                         });

TEST(NodeTls, ACertificateOfAnUnknownCaIsRefusedByTheClient)
{
    rig r;
    r.options.tls.ca_file = authority{"Another CA"}.pem();
    auto const e = r.refused(r.url);
    EXPECT_EQ(e.code(), error::tls_verify_failed);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("CN=Test CA"), HasSubstr("127.0.0.1")));
    EXPECT_THAT(r.first_failure(), HasSubstr("does not trust the CA"));
    EXPECT_EQ(r.node->stats().connections_accepted, 0u) << "no octet of AMQP";
}

TEST(NodeTls, AMissingFileIsNamedBeforeAnythingIsConnected)
{
    rig r;
    r.options.tls.ca_file = "/no/such/ca.pem";
    auto const e = r.refused(r.url);
    EXPECT_EQ(e.code(), error::tls_setup_failed);
    EXPECT_THAT(e.what(), HasSubstr("/no/such/ca.pem"));
}

TEST(NodeTls, WithAndWithoutTlsDoNotMeetAndBothSay)
{
    rig secure;
    auto const plain_client = secure.refused("amqp://127.0.0.1:" + std::to_string(secure.port));
    EXPECT_EQ(plain_client.code(), error::connection_lost) << plain_client.what();
    EXPECT_THAT(plain_client.what(), HasSubstr("does it want TLS (amqps://)"));
    EXPECT_THAT(secure.first_failure(), HasSubstr("AMQP without TLS"));

    rig plain{{}};
    auto const tls_client = plain.refused("amqps://127.0.0.1:" + std::to_string(plain.port));
    EXPECT_EQ(tls_client.code(), error::tls_handshake_failed) << tls_client.what();
    EXPECT_THAT(tls_client.what(), HasSubstr("AMQP without TLS"));
    auto const ws_client = plain.refused("ws://127.0.0.1:" + std::to_string(plain.port) + "/x");
    EXPECT_EQ(ws_client.code(), error::websocket_failed) << ws_client.what();
}

TEST(NodeTls, AClientWithoutTheCertificateThatIsRequiredLearnsWhatIsMissing)
{
    node::node_options o;
    o.tls.emplace().client_ca_file = "yes";
    rig r{{.tls = true}, std::move(o)};
    auto const e = r.refused(r.url);
    EXPECT_EQ(e.code(), error::tls_refused) << e.what();
    EXPECT_THAT(e.what(), AllOf(HasSubstr("requires a certificate"), HasSubstr("cert_file")));
    EXPECT_THAT(r.first_failure(), HasSubstr("showed no certificate"));
    auto const own = r.ca.issue({.common_name = "ann", .names = ""});
    r.options.tls.cert_file = own.certificate + own.key;  // one file may hold both
    EXPECT_TRUE(r.connect().valid());
}

TEST(NodeTls, ANewCertificateIsUsedFromThenOnAndOpenConnectionsStay)
{
    rig r;
    auto const before = r.connect();
    authority const other{"Next year's CA"};
    auto const own = other.issue();
    std::string fault;
    EXPECT_EQ(r.node->reload_tls({.cert_file = own.certificate, .key_file = "rubbish"}, &fault),
              error::tls_setup_failed);
    EXPECT_THAT(fault, HasSubstr("rubbish"));
    EXPECT_TRUE(r.connect().valid()) << "all is as it was";
    EXPECT_FALSE(r.node->reload_tls({.cert_file = own.certificate, .key_file = own.key}, &fault))
        << fault;
    EXPECT_EQ(r.refused(r.url).code(), error::tls_verify_failed);
    r.options.tls.ca_file = other.pem();
    EXPECT_TRUE(r.connect().valid());
    auto const sender = before.open_sender("q");
    EXPECT_EQ(sender.send(client::encoded_message{message_of(10, 1)}).kind(),
              client::outcome_kind::accepted);
}

/// Whoever connects, says `octets` and nothing more.
struct silent_peer {
    boost::asio::io_context io;
    tcp::socket socket{io};
    silent_peer(std::uint16_t port, std::string_view octets)
    {
        socket.connect({boost::asio::ip::address_v4::loopback(), port});
        boost::system::error_code ignored;
        boost::asio::write(socket, boost::asio::buffer(octets), ignored);
    }
    /// The other side has hung up, within ten seconds.
    bool is_cut_off()
    {
        for (;;) {
            pollfd p{socket.native_handle(), POLLIN, 0};
            if (::poll(&p, 1, 10'000) != 1)
                return false;
            char some[512];
            boost::system::error_code ec;
            if (socket.read_some(boost::asio::buffer(some), ec) == 0 || ec)
                return true;
        }
    }
};

TEST(NodeTls, ThoseWhoNeverFinishAHandshakeAreCutOffAndHoldUpNobody)
{
    using namespace std::string_view_literals;
    for (auto const under :
         {node::node_transport{.tls = true}, node::node_transport{.websocket = true}}) {
        rig r{under, {.handshake_timeout = node::milliseconds{1'000}}};
        silent_peer nothing{r.port, ""};
        silent_peer half{r.port, under.tls ? "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"sv
                                           : "GET / HTTP/1.1\r\nHost: x\r\n"sv};
        silent_peer garbage{r.port, "\xff\xff\xff\xff\xff\xff\xff\xff\r\n\r\n"};
        EXPECT_TRUE(r.connect().valid());
        EXPECT_TRUE(garbage.is_cut_off());
        EXPECT_TRUE(half.is_cut_off());
        EXPECT_TRUE(nothing.is_cut_off());
    }
}

TEST(NodeTls, HandshakesCountAsConnectionsSoThatAFloodOfThemIsBounded)
{
    rig r{{.tls = true}, {.connections_max = 3, .handshake_timeout = node::milliseconds{1'000}}};
    std::vector<std::unique_ptr<silent_peer>> flood;
    for (int i = 0; i < 12; ++i) flood.push_back(std::make_unique<silent_peer>(r.port, "\x16"));
    EXPECT_TRUE(r.connect().valid()) << "its turn comes when those before it are cut off";
    for (auto const& f : flood) EXPECT_TRUE(f->is_cut_off());
}

TEST(NodeTls, StopsInTheMiddleOfHandshakes)
{
    rig r;
    silent_peer half{r.port, "\x16\x03\x01"};
    auto const c = r.connect();
    r.node->stop();
    EXPECT_TRUE(half.is_cut_off());
}

TEST(NodeTls, ListeningWithTlsNeedsACertificate)
{
    node::node n;
    std::string fault;
    EXPECT_EQ(n.listen("127.0.0.1", 0, {.tls = true}, &fault).error(), error::tls_setup_failed);
    EXPECT_THAT(fault, HasSubstr("needs a certificate"));
    EXPECT_EQ(n.reload_tls(), error::invalid_state);
}

}  // namespace
}  // namespace sluice::test
