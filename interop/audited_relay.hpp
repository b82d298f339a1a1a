// A TCP relay on 127.0.0.1 in this process that holds every byte of both directions against the
// standard.
//
// It is how these programs measure stale flows instead of assuming that there are none: the auditor
// shares no code with the engine, sees what is on the wire, and counts transfer frames by itself.
#pragma once

#include <sluice/audit/checker.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace interop {

/// What the auditor saw of all connections together.
struct audited {
    std::uint64_t connections = 0;
    std::uint64_t transfers = 0;    ///< frames from the client
    std::uint64_t flows = 0;        ///< frames from the client, each of them checked
    std::uint64_t unchecked = 0;    ///< frames of either side that could not be checked in full
    std::uint64_t stale_flows = 0;  ///< flows of the client whose next-outgoing-id was not exact
    std::uint64_t client_violations = 0;  ///< breaches by the client, stale flows included
    std::uint64_t findings = 0;           ///< of any kind, by either side
    std::vector<std::string> texts;       ///< the first `texts_max` of them, one line each
};

/// Relays 127.0.0.1:port() to `host`:`port` from construction to stop() on a thread of its own.
class audited_relay {
public:
    static constexpr std::size_t texts_max = 20;

    audited_relay(std::string host, std::uint16_t port)
        : host_{std::move(host)}, service_{std::to_string(port)}
    {
        boost::asio::co_spawn(io_, accept_all(), boost::asio::detached);
        thread_ = std::thread{[this] { io_.run(); }};
    }
    audited_relay(audited_relay const&) = delete;
    audited_relay& operator=(audited_relay const&) = delete;
    ~audited_relay() { stop(); }

    std::uint16_t port() const noexcept { return port_; }

    /// Stale flows so far, from any thread.
    std::uint64_t stale_flows() const noexcept
    {
        return stale_flows_.load(std::memory_order_relaxed);
    }

    /// Waits a moment for what is being closed, then breaks off what is still connected.
    /// @returns the totals; the same ones when called again.
    audited const& stop()
    {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
        while (live_ > 0 && thread_.joinable() && std::chrono::steady_clock::now() < end)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        io_.stop();
        if (thread_.joinable())
            thread_.join();
        for (auto& p : pairs_) finish(*p, sluice::audit::ending::cut);
        pairs_.clear();
        return totals_;
    }

private:
    using tcp = boost::asio::ip::tcp;
    using error_code = boost::system::error_code;
    template <class T = void>
    using task = boost::asio::awaitable<T>;

    struct pair {
        explicit pair(tcp::socket c) : client{std::move(c)}, server{client.get_executor()} {}
        tcp::socket client;
        tcp::socket server;
        sluice::audit::checker checker;
        int open_ways = 2;
        bool finished = false;
    };

    static auto redirect(error_code& ec)
    {
        return boost::asio::redirect_error(boost::asio::use_awaitable, ec);
    }

    task<> accept_all()
    {
        for (;;) {
            error_code ec;
            auto socket = co_await acceptor_.async_accept(redirect(ec));
            if (ec)
                co_return;
            boost::asio::co_spawn(io_, serve(std::move(socket)), boost::asio::detached);
        }
    }

    task<> serve(tcp::socket client)
    {
        error_code ec;
        tcp::resolver resolver{io_};
        auto const where = co_await resolver.async_resolve(host_, service_, redirect(ec));
        if (ec)
            co_return;  // the client sees the end of its connection
        auto const p = std::make_shared<pair>(std::move(client));
        co_await boost::asio::async_connect(p->server, where, redirect(ec));
        if (ec)
            co_return;
        p->client.set_option(tcp::no_delay{true}, ec);
        p->server.set_option(tcp::no_delay{true}, ec);
        pairs_.push_back(p);
        ++live_;
        ++totals_.connections;
        using sluice::audit::direction;
        boost::asio::co_spawn(io_, pump(p, p->client, p->server, direction::from_client),
                              boost::asio::detached);
        boost::asio::co_spawn(io_, pump(p, p->server, p->client, direction::from_server),
                              boost::asio::detached);
    }

    /// One way of one connection. Octets are audited before they are passed on, so that what they
    /// cause is seen later.
    task<> pump(std::shared_ptr<pair> p, tcp::socket& from, tcp::socket& to,
                sluice::audit::direction way)
    {
        std::vector<std::byte> buffer(256 * 1024);
        error_code ec;
        for (;;) {
            auto const n = co_await from.async_read_some(boost::asio::buffer(buffer), redirect(ec));
            if (ec)
                break;
            p->checker.feed(way, {buffer.data(), n}, now());
            collect(*p);
            co_await boost::asio::async_write(to, boost::asio::buffer(buffer, n), redirect(ec));
            if (ec)
                break;
        }
        auto const clean = ec == boost::asio::error::eof;
        to.shutdown(tcp::socket::shutdown_send, ec);
        if (!clean) {
            from.close(ec);
            to.close(ec);
        }
        if (--p->open_ways > 0)
            co_return;
        finish(*p, clean ? sluice::audit::ending::complete : sluice::audit::ending::cut);
        std::erase(pairs_, p);
        --live_;
    }

    void collect(pair& p)
    {
        sluice::audit::finding f;
        while (p.checker.poll_finding(f)) {
            ++totals_.findings;
            if (totals_.texts.size() < texts_max)
                totals_.texts.push_back(f.text());
            if (f.direction != sluice::audit::direction::from_client)
                continue;
            if (f.severity == sluice::audit::severity::violation)
                ++totals_.client_violations;
            if (f.rule != sluice::audit::rule::next_outgoing_id)
                continue;
            ++totals_.stale_flows;
            stale_flows_.fetch_add(1, std::memory_order_relaxed);
        }
    }

    void finish(pair& p, sluice::audit::ending how)
    {
        if (std::exchange(p.finished, true))
            return;
        p.checker.finish(how);
        collect(p);
        auto const& c = p.checker.totals();
        auto const& mine =
            c.directions[static_cast<std::size_t>(sluice::audit::direction::from_client)];
        totals_.transfers += mine.transfers;
        totals_.flows += mine.flows;
        for (auto const& d : c.directions) totals_.unchecked += d.unchecked;
        totals_.findings += c.findings_dropped;
    }

    sluice::audit::time_point now() const
    {
        return std::chrono::duration_cast<sluice::audit::time_point>(
            std::chrono::steady_clock::now() - started_);
    }

    std::string host_;
    std::string service_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    audited totals_;  // of the thread's until it is joined
    std::vector<std::shared_ptr<pair>> pairs_;
    std::atomic<std::uint64_t> stale_flows_{0};
    std::atomic<int> live_{0};
    boost::asio::io_context io_{1};
    tcp::acceptor acceptor_{io_, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
    std::uint16_t port_ = acceptor_.local_endpoint().port();
    std::thread thread_;
};

}  // namespace interop
