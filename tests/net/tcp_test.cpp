// Connecting over TCP, and what is said when that fails.
#include <sluice/net/tcp.hpp>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using tcp = boost::asio::ip::tcp;

connect_result run(boost::asio::io_context& io, std::string const& host, std::uint16_t port,
                   tcp_options options = {})
{
    connect_result out;
    auto const attempt = connect_tcp(io.get_executor(), host, port, options,
                                     [&](connect_result r) { out = std::move(r); });
    io.run();
    return out;
}

TEST(Tcp, ConnectsAndNamesItsPeer)
{
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    auto const port = acceptor.local_endpoint().port();
    auto const r = run(io, "127.0.0.1", port);
    ASSERT_TRUE(r.stream) << r.text;
    EXPECT_EQ(r.stream->peer(), "127.0.0.1:" + std::to_string(port));
}

TEST(Tcp, AClosedPortIsNamedWithWhatToDo)
{
    boost::asio::io_context io;
    std::uint16_t port = 0;
    {
        tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
        port = acceptor.local_endpoint().port();
    }
    auto const r = run(io, "127.0.0.1", port);
    EXPECT_EQ(r.code, error::connect_failed);
    EXPECT_NE(r.text.find("127.0.0.1:" + std::to_string(port)), std::string::npos) << r.text;
    EXPECT_NE(r.text.find("check"), std::string::npos) << r.text;
}

TEST(Tcp, AnUnknownHostIsNamed)
{
    boost::asio::io_context io;
    auto const r = run(io, "no-such-host.invalid", 5672);
    EXPECT_EQ(r.code, error::resolve_failed);
    EXPECT_NE(r.text.find("no-such-host.invalid"), std::string::npos) << r.text;
}

TEST(Tcp, ACancelledAttemptCallsItsHandlerOnce)
{
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    auto calls = 0;
    connect_result out;
    auto const attempt = connect_tcp(io.get_executor(), "127.0.0.1",
                                     acceptor.local_endpoint().port(), {}, [&](connect_result r) {
                                         ++calls;
                                         out = std::move(r);
                                     });
    attempt->cancel();
    attempt->cancel();
    io.run();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(out.code, error::operation_aborted);
}

struct waiter final : stream_waiter {
    void on_ready(readiness, error_code ec) override { result = ec, ++calls; }
    error_code result;
    int calls = 0;
};

TEST(Tcp, ReadingAnEmptyStreamWouldBlockAndCanBeWaitedFor)
{
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    auto const r = run(io, "127.0.0.1", acceptor.local_endpoint().port());
    ASSERT_TRUE(r.stream);
    auto peer = acceptor.accept();
    char some[8];
    error_code ec;
    EXPECT_EQ(r.stream->read_some(boost::asio::buffer(some), ec), 0u);
    EXPECT_EQ(ec, boost::asio::error::would_block);

    auto const w = std::make_shared<waiter>();
    r.stream->async_wait(readiness::read, w);
    peer.write_some(boost::asio::buffer("abc", 3));
    io.restart();
    io.run();
    EXPECT_EQ(w->calls, 1);
    EXPECT_EQ(r.stream->read_some(boost::asio::buffer(some), ec), 3u);
}

TEST(Tcp, CloseEndsAWait)
{
    boost::asio::io_context io;
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    auto const r = run(io, "127.0.0.1", acceptor.local_endpoint().port());
    ASSERT_TRUE(r.stream);
    auto const w = std::make_shared<waiter>();
    r.stream->async_wait(readiness::read, w);
    r.stream->close();
    io.restart();
    io.run();
    EXPECT_EQ(w->calls, 1);
    EXPECT_EQ(w->result, boost::asio::error::operation_aborted);
}

}  // namespace
}  // namespace sluice::net
