// A TCP proxy on 127.0.0.1 that breaks what it carries: after a random number of octets of either
// direction it resets, cuts, half-closes or delays. What is drawn follows from one seed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace sluice::test {

struct chaos_plan {
    std::uint64_t seed = 1;
    std::uint64_t octets_min = 0;  ///< of one direction, between two faults
    std::uint64_t octets_max = 0;  ///< 0: no faults but those that are asked for
    std::chrono::milliseconds delay_max{30};
};

struct chaos_counts {
    std::uint64_t connections = 0;
    std::uint64_t cuts = 0;
    std::uint64_t resets = 0;
    std::uint64_t half_closes = 0;
    std::uint64_t delays = 0;
    /// Connections that were broken.
    std::uint64_t broken() const noexcept { return cuts + resets + half_closes; }
};

/// Relays 127.0.0.1:port() to 127.0.0.1:`to` on a thread of its own. Thread-safe.
class chaos_proxy {
public:
    explicit chaos_proxy(std::uint16_t to, chaos_plan plan = {})
        : plan_{plan}, to_{to}, random_{plan.seed}, faults_{plan.octets_max > 0}
    {
        boost::asio::co_spawn(io_, accept_all(), boost::asio::detached);
        thread_ = std::thread{[this] { io_.run(); }};
    }
    chaos_proxy(chaos_proxy const&) = delete;
    chaos_proxy& operator=(chaos_proxy const&) = delete;
    ~chaos_proxy()
    {
        io_.stop();
        thread_.join();
    }

    std::uint16_t port() const noexcept { return port_; }
    /// Faults by octets, from now on or no more.
    void set_faults(bool on) noexcept { faults_ = on; }
    /// Connections are taken in and ended at once while it is shut.
    void set_shut(bool shut) noexcept { shut_ = shut; }
    /// Breaks every connection that there is.
    void reset_all()
    {
        boost::asio::post(io_, [this] {
            for (auto const& weak : pairs_)
                if (auto const p = weak.lock())
                    break_off(*p, true);
            pairs_.clear();
        });
    }
    chaos_counts counts() const noexcept
    {
        return {.connections = connections_,
                .cuts = cuts_,
                .resets = resets_,
                .half_closes = half_closes_,
                .delays = delays_};
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
        int open_ways = 2;
    };

    static auto redirect(error_code& ec)
    {
        return boost::asio::redirect_error(boost::asio::use_awaitable, ec);
    }
    std::uint64_t draw(std::uint64_t least, std::uint64_t most)
    {
        return std::uniform_int_distribution<std::uint64_t>{least, most}(random_);
    }
    static void close(tcp::socket& s, bool reset)
    {
        error_code ec;
        if (reset)
            s.set_option(boost::asio::socket_base::linger{true, 0}, ec);
        s.close(ec);
    }
    void break_off(pair& p, bool reset)
    {
        if (!p.client.is_open() && !p.server.is_open())
            return;
        ++(reset ? resets_ : cuts_);
        close(p.client, reset);
        close(p.server, reset);
    }

    task<> accept_all()
    {
        for (;;) {
            error_code ec;
            auto socket = co_await acceptor_.async_accept(redirect(ec));
            if (ec)
                co_return;
            if (!shut_)
                boost::asio::co_spawn(io_, serve(std::move(socket)), boost::asio::detached);
        }
    }
    task<> serve(tcp::socket client)
    {
        auto const p = std::make_shared<pair>(std::move(client));
        error_code ec;
        co_await p->server.async_connect({boost::asio::ip::address_v4::loopback(), to_},
                                         redirect(ec));
        if (ec)
            co_return;  // the client sees the end of its connection
        p->client.set_option(tcp::no_delay{true}, ec);
        p->server.set_option(tcp::no_delay{true}, ec);
        ++connections_;
        std::erase_if(pairs_, [](auto const& weak) { return weak.expired(); });
        pairs_.push_back(p);
        boost::asio::co_spawn(io_, pump(p, p->client, p->server), boost::asio::detached);
        boost::asio::co_spawn(io_, pump(p, p->server, p->client), boost::asio::detached);
    }

    /// One way of one connection, fault by fault.
    task<> pump(std::shared_ptr<pair> p, tcp::socket& from, tcp::socket& to)
    {
        std::vector<std::byte> buffer(16 * 1024);
        auto left = draw(plan_.octets_min, plan_.octets_max);
        error_code ec;
        while (!ec) {
            auto const n = co_await from.async_read_some(boost::asio::buffer(buffer), redirect(ec));
            for (std::size_t done = 0; !ec && done < n;) {
                auto const part = faults_ ? std::min<std::uint64_t>(left, n - done) : n - done;
                co_await boost::asio::async_write(
                    to, boost::asio::buffer(buffer.data() + done, part), redirect(ec));
                done += part;
                if (ec || !faults_)
                    continue;
                left -= part;
                if (left > 0)
                    continue;
                left = draw(std::max<std::uint64_t>(plan_.octets_min, 1), plan_.octets_max);
                auto const what = draw(0, 7);
                if (what < 2) {
                    ++delays_;
                    boost::asio::steady_timer timer{io_};
                    timer.expires_after(std::chrono::milliseconds{
                        draw(0, static_cast<std::uint64_t>(plan_.delay_max.count()))});
                    co_await timer.async_wait(redirect(ec));
                } else if (what < 4) {
                    ++half_closes_;
                    to.shutdown(tcp::socket::shutdown_send, ec);
                    ec = boost::asio::error::eof;  // what comes after is read by nobody
                } else {
                    break_off(*p, what < 6);
                    ec = boost::asio::error::connection_aborted;
                }
            }
        }
        if (ec == boost::asio::error::eof) {
            to.shutdown(tcp::socket::shutdown_send, ec);
        } else {
            close(p->client, false);
            close(p->server, false);
        }
        if (--p->open_ways == 0) {
            close(p->client, false);
            close(p->server, false);
        }
    }

    chaos_plan const plan_;
    std::uint16_t const to_;
    std::mt19937_64 random_;  // of the thread's
    std::vector<std::weak_ptr<pair>> pairs_;
    std::atomic<bool> faults_;
    std::atomic<bool> shut_{false};
    std::atomic<std::uint64_t> connections_{0}, cuts_{0}, resets_{0}, half_closes_{0}, delays_{0};
    boost::asio::io_context io_{1};
    tcp::acceptor acceptor_{io_, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
    std::uint16_t const port_ = acceptor_.local_endpoint().port();
    std::thread thread_;
};

}  // namespace sluice::test
