// A relay between two real sockets that lets the auditor see every octet: whoever connects to its
// port talks to the other one.
#pragma once

#include <sluice/audit/checker.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {

class audit_tap {
public:
    explicit audit_tap(std::uint16_t forward_to)
        : forward_to_{boost::asio::ip::address_v4::loopback(), forward_to}
    {
        co_spawn(io_, accept_all(), boost::asio::detached);
        thread_ = std::thread{[this] { io_.run(); }};
    }
    audit_tap(audit_tap const&) = delete;
    audit_tap& operator=(audit_tap const&) = delete;
    ~audit_tap() { stop(); }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

    struct verdict {
        std::size_t connections = 0;
        audit::counters totals{};         // of all connections together
        std::vector<std::string> faults;  // violations and suspicions, for people
    };

    /// Cuts what is still connected and tells what was seen.
    verdict stop()
    {
        if (thread_.joinable()) {
            io_.stop();
            thread_.join();
        }
        verdict out;
        out.connections = relayed_.size();
        for (auto const& r : relayed_) {
            r->checker.finish(r->ended == 2 ? audit::ending::complete : audit::ending::cut);
            for (audit::finding f; r->checker.poll_finding(f);) out.faults.push_back(f.text());
            auto const& t = r->checker.totals();
            out.totals.violations += t.violations;
            out.totals.suspicious += t.suspicious;
            for (std::size_t d = 0; d < t.directions.size(); ++d) {
                out.totals.directions[d].bytes += t.directions[d].bytes;
                out.totals.directions[d].frames += t.directions[d].frames;
                out.totals.directions[d].transfers += t.directions[d].transfers;
                out.totals.directions[d].flows += t.directions[d].flows;
                out.totals.directions[d].unchecked += t.directions[d].unchecked;
            }
        }
        return out;
    }

private:
    using tcp = boost::asio::ip::tcp;

    struct relayed {
        explicit relayed(tcp::socket s) : client{std::move(s)}, server{client.get_executor()} {}
        tcp::socket client;
        tcp::socket server;
        audit::checker checker;
        int ended = 0;  // ways
    };

    boost::asio::awaitable<void> accept_all()
    {
        while (true) {
            auto r = std::make_shared<relayed>(
                co_await acceptor_.async_accept(boost::asio::use_awaitable));
            co_await r->server.async_connect(forward_to_, boost::asio::use_awaitable);
            r->client.set_option(tcp::no_delay{true});
            r->server.set_option(tcp::no_delay{true});
            relayed_.push_back(r);
            co_spawn(io_, pump(r, audit::direction::from_client), boost::asio::detached);
            co_spawn(io_, pump(r, audit::direction::from_server), boost::asio::detached);
        }
    }

    boost::asio::awaitable<void> pump(std::shared_ptr<relayed> r, audit::direction way)
    {
        auto& from = way == audit::direction::from_client ? r->client : r->server;
        auto& to = way == audit::direction::from_client ? r->server : r->client;
        std::array<std::byte, 16'384> buffer;
        boost::system::error_code ec;
        while (true) {
            auto const n = co_await from.async_read_some(
                boost::asio::buffer(buffer),
                boost::asio::redirect_error(boost::asio::use_awaitable, ec));
            if (ec)
                break;
            // Before it is passed on: an answer is never seen ahead of what it answers.
            r->checker.feed(way, bytes_view{buffer}.first(n), now());
            co_await boost::asio::async_write(
                to, boost::asio::buffer(buffer.data(), n),
                boost::asio::redirect_error(boost::asio::use_awaitable, ec));
            if (ec)
                break;
        }
        if (ec == boost::asio::error::eof)
            ++r->ended;
        to.shutdown(tcp::socket::shutdown_send, ec);
    }

    audit::time_point now() const
    {
        return std::chrono::duration_cast<audit::time_point>(std::chrono::steady_clock::now()
                                                             - started_);
    }

    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    boost::asio::io_context io_{1};
    tcp::endpoint forward_to_;
    tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
    std::vector<std::shared_ptr<relayed>> relayed_;
    std::thread thread_;
};

}  // namespace sluice::test
