// A listener of the client layer over TLS and WebSocket, and connections that come back over TLS.
#include "support/certificates.hpp"

#include <sluice/client/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace sluice::test {
namespace {

using testing::HasSubstr;

client::listener_options options_for(authority const& ca)
{
    client::listener_options o;
    auto const own = ca.issue();
    o.tls.emplace();
    o.tls->cert_file = own.certificate;
    o.tls->key_file = own.key;
    return o;
}

TEST(ClientTls, AListenerTakesConnectionsInOverTlsAndOverWebSocket)
{
    authority const ca;
    client::container server;
    client::container container;
    client::connection_options o;
    o.tls.ca_file = ca.pem();
    for (auto const websocket : {false, true}) {
        auto lo = options_for(ca);
        lo.websocket = websocket;
        auto const listener = server.listen("127.0.0.1", 0, lo);
        auto const c = container.connect((websocket ? "wss://127.0.0.1:" : "amqps://127.0.0.1:")
                                             + std::to_string(listener.port()),
                                         o);
        EXPECT_EQ(c.remote_container_id(), server.id());
        c.close();
    }
}

TEST(ClientTls, AListenerTellsOfHandshakesThatFailedAndTakesANewCertificate)
{
    authority const ca;
    authority const other{"Other CA"};
    std::promise<std::string> told;
    std::promise<void> thrown;
    std::atomic<bool> first{true};
    client::container server{
        client::container_options{.on_exception = [&](std::exception_ptr) { thrown.set_value(); }}};
    client::container container;
    client::connection_options o;
    o.tls.ca_file = other.pem();
    auto lo = options_for(ca);
    lo.on_handshake_failed = [&](std::string const& text) {
        if (!first.exchange(false))
            return;
        told.set_value(text);
        throw std::runtime_error{"what it throws ends no thread"};
    };
    auto const listener = server.listen("127.0.0.1", 0, lo);
    auto const url = "amqps://127.0.0.1:" + std::to_string(listener.port());
    EXPECT_THROW(container.connect(url, o), boost::system::system_error);
    EXPECT_THAT(told.get_future().get(), HasSubstr("does not trust the CA"));
    thrown.get_future().wait();
    EXPECT_FALSE(listener.reload_tls(*options_for(other).tls));
    EXPECT_TRUE(container.connect(url, o).valid());
    EXPECT_FALSE(listener.reload_tls());
    EXPECT_THAT([&] { container.connect(url, o); },
                testing::ThrowsMessage<boost::system::system_error>(HasSubstr("not trusted here")));
}

TEST(ClientTls, AListenerWithoutAUsableCertificateDoesNotListen)
{
    client::container server;
    client::listener_options o;
    o.tls.emplace().cert_file = "/no/such/cert.pem";
    EXPECT_THAT(
        [&] { server.listen("127.0.0.1", 0, o); },
        testing::ThrowsMessage<boost::system::system_error>(HasSubstr("/no/such/cert.pem")));
    auto const plain = server.listen("127.0.0.1", 0);
    EXPECT_EQ(plain.reload_tls(), error::invalid_state);
}

TEST(ClientTls, AnotherPlaceToReconnectToIsNeverLessProtected)
{
    client::container container;
    client::connection_options o;
    o.reconnect.emplace().urls = {"amqp://other.example"};
    EXPECT_THAT([&] { container.connect("amqps://127.0.0.1:1", o); },
                testing::ThrowsMessage<boost::system::system_error>(HasSubstr("not encrypted")));
}

TEST(ClientTls, AConnectionComesBackOverTls)
{
    authority const ca;
    auto first = std::make_unique<client::container>();
    client::container second;
    client::container container;
    client::connection_options o;
    o.tls.ca_file = ca.pem();
    auto const dying = first->listen("127.0.0.1", 0, options_for(ca));
    auto const living = second.listen("127.0.0.1", 0, options_for(ca));
    o.reconnect.emplace().urls = {"127.0.0.1:" + std::to_string(living.port())};
    o.reconnect->initial_delay = client::milliseconds{1};
    o.reconnect->max_delay = client::milliseconds{10};
    auto const c = container.connect("amqps://127.0.0.1:" + std::to_string(dying.port()), o);
    EXPECT_EQ(c.remote_container_id(), first->id());
    auto const changes = c.state_changes();
    first.reset();  // its end closes every connection at once
    for (;;) {
        auto const change = changes.next(client::milliseconds{20'000});
        ASSERT_TRUE(change);
        if (change->state == client::connection_state::open && change->reconnects > 0)
            break;
    }
    EXPECT_EQ(c.remote_container_id(), second.id());
}

}  // namespace
}  // namespace sluice::test
