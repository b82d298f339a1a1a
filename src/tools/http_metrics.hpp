// One page over HTTP, for whoever collects metrics.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <list>
#include <string>
#include <thread>

namespace sluice::tools {

/// Answers GET and HEAD of /metrics with what `page` makes, anything else with an HTTP error, on a
/// thread of its own. A connection that sends no request for five seconds is closed; at most 64 are
/// open, and for one more the one that has been without a request for longest is closed.
class http_metrics {
public:
    /// @param port 0: any @throws boost::system::system_error if it cannot listen there
    http_metrics(std::string const& host, std::uint16_t port, std::function<std::string()> page);
    ~http_metrics();
    http_metrics(http_metrics const&) = delete;
    http_metrics& operator=(http_metrics const&) = delete;

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

private:
    class session;
    static constexpr int sessions_max = 64;
    void accept();
    void accept_later();

    std::function<std::string()> page_;
    int sessions_ = 0;                // of the thread
    bool accepting_ = false;          // likewise
    std::list<session*> no_request_;  // likewise, longest first
    boost::asio::io_context io_{1};
    boost::asio::ip::tcp::acceptor acceptor_{io_};
    boost::asio::steady_timer timer_{io_};
    std::thread thread_;
};

}  // namespace sluice::tools
