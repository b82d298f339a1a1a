// Connecting: each way in which it fails says what failed and what to do.
#include "support/client_rig.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::connection_options;
using std::chrono::milliseconds;

bool has(std::string const& text, std::string_view part) { return text.find(part) != text.npos; }

/// The failure of connecting to `url`.
ended<client::connection> refused(std::string const& url, connection_options options = {})
{
    client::container c;
    return get(in_background([&] { return c.connect(url, options); }));
}

TEST(Connect, OpensAndTellsWhoThePeerIs)
{
    scripted_peer peer;
    client::container c{"me"};
    auto call = in_background([&] { return c.connect(peer.url()); });
    peer.accept();
    peer.expect_header(protocol_id::amqp);
    peer.send_header(protocol_id::amqp);
    auto const theirs = peer.expect<open>();
    EXPECT_EQ(theirs->container_id, "me");
    EXPECT_EQ(theirs->hostname, "127.0.0.1");
    peer.send(open{.container_id = "peer"});
    auto const connection = get(call).value.value();
    EXPECT_EQ(connection.remote_container_id(), "peer");
    EXPECT_EQ(connection.peer(), "127.0.0.1:" + std::to_string(peer.port()));
    EXPECT_EQ(connection.error(), nullptr);

    auto closing = in_background([&] { connection.close(); });
    peer.expect<close>();
    peer.send(close{});
    EXPECT_TRUE(get(closing).value);
    EXPECT_EQ(connection.error()->code, make_error_code(error::closed_locally));
    EXPECT_TRUE(peer.at_end());
}

TEST(Connect, AnInvalidUrlSaysWhere)
{
    auto const r = refused("amqp://h:port");
    EXPECT_EQ(r.code, error::invalid_url);
    EXPECT_TRUE(has(r.what, "at character 10")) << r.what;
    EXPECT_TRUE(has(refused("amqp://h?colour=red").what, "'colour' is unknown"));
    EXPECT_TRUE(has(refused("amqp://h?max_frame_size=12").what, "max_frame_size"));
    EXPECT_TRUE(has(refused("amqp://h?sasl=magic").what, "sasl"));
}

TEST(Connect, AClosedPortIsNamed)
{
    std::string url;
    {
        scripted_peer const peer;
        url = peer.url();
    }
    auto const r = refused(url);
    EXPECT_EQ(r.code, error::connect_failed);
    EXPECT_TRUE(has(r.what, "cannot connect to 127.0.0.1:")) << r.what;
}

TEST(Connect, AFailedConnectionsHandleTellsTheCause)
{
    client::container c;
    std::promise<client::failure_ptr> cause;
    c.async_connect("amqp://h:port", [&](error_code ec, client::connection connection) {
        EXPECT_EQ(ec, error::invalid_url);
        cause.set_value(connection.error());
    });
    EXPECT_TRUE(has(get(cause.get_future())->text, "at character 10"));
}

TEST(Connect, CredentialsGoOutUnderNoOtherMechanism)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url("user:s3cret@", "")); });
    peer.accept();
    peer.expect_header(protocol_id::sasl);
    peer.send_header(protocol_id::sasl);
    std::array<symbol, 1> const offered{symbol{"ANONYMOUS"}};
    peer.send_octets(scripted_peer::encoded(
        sluice::sasl_mechanisms{.sasl_server_mechanisms = std::span<symbol const>{offered}}, 0, {},
        frame_type::sasl));
    auto const r = get(call);
    EXPECT_EQ(r.code, error::sasl_no_common_mechanism);
    EXPECT_TRUE(has(r.what, "offers ANONYMOUS")) << r.what;
    EXPECT_TRUE(has(r.what, "may use SCRAM-SHA-512")) << r.what;
    EXPECT_FALSE(has(r.what, "s3cret"));
    EXPECT_TRUE(peer.read_to_end().empty());  // not one octet after the header
}

TEST(Connect, APlainMechanismThatComesAsABareSymbolIsUsed)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url("user:s3cret@", "")); });
    peer.accept();
    peer.expect_header(protocol_id::sasl);
    peer.send_header(protocol_id::sasl);
    bytes frame(frame_header_size);
    auto const body = octets(std::string("\x00\x53\x40\xc0\x08\x01\xa3\x05PLAIN", 13));
    frame.insert(frame.end(), body.begin(), body.end());
    write_frame_header(frame.data(), static_cast<std::uint32_t>(frame.size()), frame_type::sasl, 0);
    peer.send_octets(frame);
    auto const init = peer.expect<struct sasl_init>();
    EXPECT_EQ(init->mechanism.text, "PLAIN");
    EXPECT_EQ(text_of(*init->initial_response), std::string("\0user\0s3cret", 12));
    peer.send_octets(scripted_peer::encoded(sluice::sasl_outcome{.code = sasl_code::auth}, 0, {},
                                            frame_type::sasl));
    auto const r = get(call);
    EXPECT_EQ(r.code, error::sasl_auth_failed);
    EXPECT_TRUE(has(r.what, "check both")) << r.what;
    EXPECT_FALSE(has(r.what, "s3cret"));
}

TEST(Connect, WithoutCredentialsTheClientIsAnonymous)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url("", "")); });
    peer.accept();
    peer.expect_header(protocol_id::sasl);
    peer.send_header(protocol_id::sasl);
    std::array<symbol, 2> const offered{symbol{"PLAIN"}, symbol{"ANONYMOUS"}};
    peer.send_octets(scripted_peer::encoded(
        sluice::sasl_mechanisms{.sasl_server_mechanisms = std::span<symbol const>{offered}}, 0, {},
        frame_type::sasl));
    EXPECT_EQ(peer.expect<struct sasl_init>()->mechanism.text, "ANONYMOUS");
    peer.send_octets(scripted_peer::encoded(sluice::sasl_outcome{}, 0, {}, frame_type::sasl));
    peer.expect_header(protocol_id::amqp);
    peer.send_header(protocol_id::amqp);
    peer.expect<open>();
    peer.send(open{.container_id = "peer"});
    EXPECT_TRUE(get(call).value);
}

TEST(Connect, APeerWithoutASaslLayerIsNamed)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url("", "")); });
    peer.accept();
    peer.send_header(protocol_id::amqp);
    auto const r = get(call);
    EXPECT_EQ(r.code, error::invalid_protocol_header);
    EXPECT_TRUE(has(r.what, "SASL")) << r.what;
}

TEST(Connect, APeerThatRefusesTheOpenSaysWhy)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url()); });
    peer.open_connection();
    peer.send(
        close{.error = error_view{.condition = "amqp:not-found", .description = "no such host"}});
    auto r = get(call);
    if (r.value) {  // it was open for a moment
        auto second = get(in_background([&] { return r.value->begin(); }));
        r.code = second.code;
        r.what = second.what;
    }
    EXPECT_EQ(r.code, error::connection_closed_by_peer);
    EXPECT_TRUE(has(r.what, "amqp:not-found: no such host")) << r.what;
}

TEST(Connect, APeerThatSaysNothingIsGivenUp)
{
    scripted_peer peer;
    auto const r = refused(peer.url(), {.timeout = milliseconds{500}});
    EXPECT_EQ(r.code, error::handshake_timeout);
    EXPECT_TRUE(has(r.what, "127.0.0.1:" + std::to_string(peer.port()))) << r.what;
}

TEST(Connect, APeerThatStopsInTheMiddleOfAFrameIsGivenUp)
{
    scripted_peer peer;
    client::container c;
    auto call =
        in_background([&] { return c.connect(peer.url(), {.timeout = milliseconds{500}}); });
    peer.accept();
    peer.send_header(protocol_id::amqp);
    auto const whole = scripted_peer::encoded(open{.container_id = "peer"});
    peer.send_octets(bytes_view{whole}.first(whole.size() - 3));
    EXPECT_EQ(get(call).code, error::handshake_timeout);
}

TEST(Connect, APeerThatEndsTheTransportIsNamed)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url()); });
    peer.accept();
    peer.expect_header(protocol_id::amqp);
    peer.reset();
    auto const r = get(call);
    EXPECT_EQ(r.code, error::connection_lost);
    EXPECT_TRUE(has(r.what, "lost")) << r.what;
}

TEST(Connect, GarbageIsRefused)
{
    scripted_peer peer;
    client::container c;
    auto call = in_background([&] { return c.connect(peer.url()); });
    peer.accept();
    peer.send_octets(octets("HTTP/1.1 400 Bad Request\r\n\r\n"));
    auto const r = get(call);
    EXPECT_EQ(r.code, error::invalid_protocol_header);
    EXPECT_TRUE(has(r.what, "48545450")) << r.what;  // what came, in hexadecimal
}

TEST(Connect, SilenceAfterTheOpenEndsTheConnection)
{
    scripted_peer peer;
    client::container c;
    auto call =
        in_background([&] { return c.connect(peer.url(), {.idle_timeout = milliseconds{500}}); });
    peer.open_connection();
    auto const connection = get(call).value.value();
    auto waiting = in_background([&] { return connection.begin(); });
    auto const r = get(waiting);
    EXPECT_EQ(r.code, error::idle_timeout_expired);
    EXPECT_TRUE(has(r.what, "500 ms")) << r.what;
    EXPECT_EQ(connection.error()->code, make_error_code(error::idle_timeout_expired));
}

TEST(Connect, CancellingCompletesAtOnce)
{
    scripted_peer peer;
    client::container c;
    boost::asio::cancellation_signal signal;
    std::promise<error_code> done;
    c.async_connect(peer.url(), boost::asio::bind_cancellation_slot(
                                    signal.slot(), [&](error_code ec, client::connection) {
                                        done.set_value(ec);
                                    }));
    peer.accept();
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(get(done.get_future()), error::operation_aborted);
}

TEST(Connect, TheContainersEndCompletesIt)
{
    scripted_peer peer;
    std::promise<error_code> done;
    auto c = std::make_unique<client::container>();
    c->async_connect(peer.url(), [&](error_code ec, client::connection) { done.set_value(ec); });
    peer.accept();
    c.reset();
    EXPECT_EQ(get(done.get_future()), error::operation_aborted);
}

}  // namespace
}  // namespace sluice::test
