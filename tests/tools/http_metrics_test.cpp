// The page for whoever collects metrics, when the machine runs short.
#include "tools/http_metrics.hpp"

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>

namespace sluice::tools {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

/// No descriptor is to be had while it lives.
class shortage {
public:
    shortage()
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        auto const first_free = ::dup(0);
        ::close(first_free);
        auto now = before_;
        now.rlim_cur = static_cast<rlim_t>(first_free);
        ::setrlimit(RLIMIT_NOFILE, &now);
    }
    ~shortage() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    shortage(shortage const&) = delete;
    shortage& operator=(shortage const&) = delete;

private:
    rlimit before_{};
};

std::chrono::nanoseconds time_used()
{
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

std::string page_of(tcp::socket& client)
{
    asio::write(client, asio::buffer(std::string{"GET /metrics HTTP/1.0\r\n\r\n"}));
    std::string got;
    boost::system::error_code ec;
    asio::read(client, asio::dynamic_buffer(got), ec);
    return got;
}

TEST(HttpMetrics, WaitsForDescriptorsWithoutTakingTheWholeProcessor)
{
    http_metrics const served{"127.0.0.1", 0, [] { return std::string{"the page"}; }};
    asio::io_context io;
    tcp::socket first{io};
    first.connect({asio::ip::address_v4::loopback(), served.port()});
    EXPECT_NE(page_of(first).find("the page"), std::string::npos);  // its thread is under way
    tcp::socket client{io};
    client.open(tcp::v4());
    {
        shortage const none_left;
        ASSERT_LT(::dup(0), 0);
        client.connect({asio::ip::address_v4::loopback(), served.port()});
        auto const before = time_used();
        pollfd answer{.fd = client.native_handle(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(::poll(&answer, 1, 400), 0);
        EXPECT_LT(time_used() - before, std::chrono::milliseconds{100});
    }
    auto const got = page_of(client);
    EXPECT_NE(got.find("the page"), std::string::npos) << got;
}

}  // namespace
}  // namespace sluice::tools
