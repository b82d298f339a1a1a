// The proxy between two real sockets.
#include "support/audit_conversation.hpp"
#include "support/recorded_lines.hpp"
#include "tools/audit_proxy.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>
#include <random>
#include <thread>

namespace sluice::tools {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using audit::testing::conversation;
using boost::system::error_code;
using ::testing::HasSubstr;

/// A proxy, whose broker is the test itself.
class AuditProxy : public ::testing::Test {
protected:
    void start(audit_proxy_options o = {})
    {
        o.forward_port = broker_.local_endpoint().port();
        proxy_ = std::make_unique<audit_proxy>(io_, o, report_, out_);
        port_ = proxy_->port();
        thread_ = std::thread{[this] { io_.run(); }};
    }
    /// Ends the proxy; then the report can be looked at.
    std::string stop()
    {
        asio::post(io_, [this] { proxy_->stop(); });
        thread_.join();
        report_.summary("summary");
        return out_.results();
    }
    ~AuditProxy() override
    {
        if (thread_.joinable())
            stop();
    }

    /// A client, and the broker's end of its connection.
    struct both {
        tcp::socket client;
        tcp::socket server;
    };
    both connect()
    {
        tcp::socket client{sockets_};
        client.connect({asio::ip::address_v4::loopback(), port_});
        return {std::move(client), broker_.accept()};
    }
    static void send(tcp::socket& s, bytes const& b) { asio::write(s, asio::buffer(b)); }
    static bytes receive(tcp::socket& s, std::size_t n)
    {
        bytes b(n);
        asio::read(s, asio::buffer(b));
        return b;
    }
    static error_code end_of(tcp::socket& s)
    {
        char c = 0;
        error_code ec;
        s.read_some(asio::buffer(&c, 1), ec);
        return ec;
    }
    /// Says it all, and checks that the other end hears the same.
    static void play(both& b, std::vector<audit::testing::piece> const& pieces)
    {
        for (auto const& p : pieces) {
            bool const up = p.way == audit::direction::from_client;
            send(up ? b.client : b.server, p.octets);
            ASSERT_EQ(receive(up ? b.server : b.client, p.octets.size()), p.octets);
        }
    }
    static void part(both& b)
    {
        b.client.shutdown(tcp::socket::shutdown_send);
        EXPECT_EQ(end_of(b.server), asio::error::eof);
        b.server.close();
        EXPECT_EQ(end_of(b.client), asio::error::eof);
    }

    asio::io_context sockets_;
    tcp::acceptor broker_{sockets_, {asio::ip::address_v4::loopback(), 0}};
    asio::io_context io_{1};
    test::recorded_lines out_;
    audit_report report_{out_, {}};
    std::unique_ptr<audit_proxy> proxy_;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

TEST_F(AuditProxy, FindsNothingInAGoodConnection)
{
    start();
    auto b = connect();
    play(b, conversation(1));
    part(b);
    EXPECT_THAT(stop(), HasSubstr("clean: 0 violations, 0 suspicious; 1 connection, 15 frames"));
    EXPECT_EQ(report_.status(), audit_status::clean);
}

TEST_F(AuditProxy, NamesTheStaleFlowWhileTheConnectionGoesOn)
{
    start();
    auto good = connect();
    auto bad = connect();
    play(bad, conversation(0));
    play(good, conversation(1));
    part(good);
    part(bad);
    auto const text = stop();
    EXPECT_THAT(text, ::testing::StartsWith("#2 "));
    EXPECT_THAT(text, HasSubstr(audit::testing::stale_flow_finding));
    EXPECT_THAT(text, HasSubstr("FINDINGS: 1 violation, 0 suspicious; 2 connections, 30 frames"));
    EXPECT_EQ(report_.status(), audit_status::findings);
}

TEST_F(AuditProxy, StopsAtTheFirstViolationIfAskedTo)
{
    start({.until_violation = true});
    auto b = connect();
    auto pieces = conversation(0);
    pieces.resize(12);
    play(b, pieces);
    send(b.client, conversation(0)[12].octets);
    thread_.join();  // by itself
    EXPECT_TRUE(proxy_->stopped());
    EXPECT_THAT(out_.results(), HasSubstr(audit::testing::stale_flow_finding));
    report_.summary("");
    EXPECT_THAT(out_.results(), HasSubstr("open when the audit ended"));
    // What was on its way has gone out unchanged.
    EXPECT_EQ(receive(b.server, conversation(0)[12].octets.size()), conversation(0)[12].octets);
}

TEST_F(AuditProxy, PassesOnAnyOctetsUnchangedBothWaysAtOnce)
{
    start();
    auto b = connect();
    std::mt19937 random{7};
    bytes up(3'000'001);
    bytes down(2'000'003);
    for (auto* data : {&up, &down})
        for (auto& octet : *data) octet = static_cast<std::byte>(random());
    auto const writes = [](tcp::socket& s, bytes const& data) {
        return std::async(std::launch::async, [&s, &data] { send(s, data); });
    };
    auto const reads = [](tcp::socket& s, std::size_t n) {
        return std::async(std::launch::async, [&s, n] { return receive(s, n); });
    };
    auto const sent_up = writes(b.client, up);
    auto const sent_down = writes(b.server, down);
    auto got_up = reads(b.server, up.size());
    auto got_down = reads(b.client, down.size());
    EXPECT_TRUE(got_up.get() == up);
    EXPECT_TRUE(got_down.get() == down);
    part(b);
    stop();
}

TEST_F(AuditProxy, PassesOnTheEndOfOneDirectionAndKeepsTheOther)
{
    start();
    auto b = connect();
    b.client.shutdown(tcp::socket::shutdown_send);
    EXPECT_EQ(end_of(b.server), asio::error::eof);
    send(b.server, bytes(100'000, std::byte{7}));
    EXPECT_EQ(receive(b.client, 100'000), bytes(100'000, std::byte{7}));
    b.server.close();
    EXPECT_EQ(end_of(b.client), asio::error::eof);
    stop();
}

TEST_F(AuditProxy, PassesOnAResetAsAReset)
{
    start();
    for (bool const by_client : {true, false}) {
        auto b = connect();
        auto& who = by_client ? b.client : b.server;
        who.set_option(asio::socket_base::linger{true, 0});
        who.close();
        EXPECT_EQ(end_of(by_client ? b.server : b.client), asio::error::connection_reset);
    }
}

TEST_F(AuditProxy, DoesNotReadWhatTheOtherSideDoesNotTakeAndHoldsUpNobodyElse)
{
    start();
    auto slow = connect();
    slow.client.non_blocking(true);
    bytes const block(1 << 20, std::byte{'x'});
    std::size_t sent = 0;
    // Until the socket takes nothing more, which is soon if nobody in between hoards.
    for (constexpr std::size_t far_too_much = 256u << 20; sent < far_too_much;) {
        pollfd p{.fd = slow.client.native_handle(), .events = POLLOUT, .revents = 0};
        if (::poll(&p, 1, 300) == 0)
            break;
        error_code ec;
        sent += slow.client.write_some(asio::buffer(block), ec);
    }
    EXPECT_LT(sent, 64u << 20);

    auto other = connect();
    play(other, conversation(1));
    part(other);

    EXPECT_EQ(receive(slow.server, sent).size(), sent);
    stop();
}

TEST_F(AuditProxy, SaysThatABrokerCannotBeReachedAndIsNotClean)
{
    start();
    broker_.close();
    tcp::socket client{sockets_};
    client.connect({asio::ip::address_v4::loopback(), port_});
    EXPECT_TRUE(end_of(client));
    EXPECT_THAT(stop(), HasSubstr("Connection refused"));
    EXPECT_EQ(report_.status(), audit_status::could_not_run);
    EXPECT_THAT(out_.notes(), HasSubstr("could not be passed on to 127.0.0.1:"));
}

TEST_F(AuditProxy, PassesOnTlsAndSaysThatItWasNotChecked)
{
    start();
    auto b = connect();
    bytes const hello{std::byte{0x16}, std::byte{3}, std::byte{1}, std::byte{2}};
    send(b.client, hello);
    EXPECT_EQ(receive(b.server, 4), hello);
    part(b);
    EXPECT_THAT(stop(), HasSubstr("TLS: passed on, and not checked"));
    EXPECT_EQ(report_.findings(), 0u);
    EXPECT_EQ(report_.status(), audit_status::could_not_run);
}

TEST_F(AuditProxy, NoticesWhatDoesNotCome)
{
    start();
    auto b = connect();
    play(b, {conversation(1)[0], conversation(1)[1]});  // headers
    // The server asks for something every 50 ms, and the client is silent.
    send(b.server, audit::testing::frame_of(
                       0, open{.container_id = "s", .idle_time_out = std::uint32_t{50}}));
    send(b.client, audit::testing::frame_of(0, open{.container_id = "c"}));
    while (out_.results().find("idle-time-out") == std::string::npos) std::this_thread::yield();
    EXPECT_THAT(stop(), HasSubstr("client->server"));
}

}  // namespace
}  // namespace sluice::tools
