// Connecting over TCP, and what is said when that fails.
#include <sluice/net/detail/tcp_addresses.hpp>
#include <sluice/net/tcp.hpp>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <vector>

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

/// A port that refuses: bound, so that nobody else gets it meanwhile, and not listening.
class closed_port {
public:
    explicit closed_port(boost::asio::io_context& io) : socket_{io, tcp::v4()}
    {
        socket_.bind({boost::asio::ip::address_v4::loopback(), 0});
    }
    tcp::endpoint where() const { return socket_.local_endpoint(); }

private:
    tcp::socket socket_;
};

TEST(Tcp, AClosedPortIsNamedWithWhatToDo)
{
    boost::asio::io_context io;
    closed_port const held{io};
    auto const port = held.where().port();
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

/// Listens and answers nobody: its queue is full.
class black_hole {
public:
    explicit black_hole(boost::asio::io_context& io) : acceptor_{io, tcp::v4()}
    {
        acceptor_.bind({boost::asio::ip::address_v4::loopback(), 0});
        acceptor_.listen(0);
        for (int i = 0; i < 4; ++i) {
            auto& s = waiting_.emplace_back(io, tcp::v4());
            s.native_non_blocking(true);
            auto const to = where();
            std::ignore = ::connect(s.native_handle(), to.data(), socklen_t(to.size()));
        }
    }
    tcp::endpoint where() const { return acceptor_.local_endpoint(); }

private:
    tcp::acceptor acceptor_;
    std::vector<tcp::socket> waiting_;
};

TEST(Tcp, AnAddressThatSaysNothingLeavesTimeForTheNext)
{
    boost::asio::io_context io;
    black_hole const hole{io};
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    std::vector<tcp::endpoint> where(25, acceptor.local_endpoint());
    where.front() = hole.where();
    connect_result out;
    auto const attempt =
        detail::connect_addresses(io.get_executor(), where, {.timeout = std::chrono::seconds{5}},
                                  [&](connect_result r) { out = std::move(r); });
    io.run();
    ASSERT_TRUE(out.stream) << out.text;
    EXPECT_EQ(out.stream->peer(), "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
}

TEST(Tcp, AnAddressThatRefusesIsFollowedByTheNextAndTheLastIsNamed)
{
    boost::asio::io_context io;
    closed_port const held{io};
    auto const closed = held.where();
    tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
    for (auto const& last : {acceptor.local_endpoint(), closed}) {
        connect_result out;
        auto const attempt =
            detail::connect_addresses(io.get_executor(), {closed, closed, last}, {},
                                      [&](connect_result r) { out = std::move(r); });
        io.restart();
        io.run();
        EXPECT_EQ(out.stream != nullptr, last != closed) << out.text;
        EXPECT_EQ(out.code == error::connect_failed, last == closed) << out.text;
    }
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
