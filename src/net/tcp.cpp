// TCP: a socket as a byte stream, and the way to get one.
#include <sluice/net/detail/tcp_addresses.hpp>
#include <sluice/net/never.hpp>
#include <sluice/net/tcp.hpp>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <optional>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

std::string to_text(tcp::endpoint const& where)
{
    auto const address = where.address().to_string();
    return (where.address().is_v6() ? "[" + address + "]" : address) + ":"
           + std::to_string(where.port());
}

class tcp_stream final : public byte_stream {
public:
    explicit tcp_stream(tcp::socket socket) : socket_{std::move(socket)}
    {
        error_code ignored;
        socket_.non_blocking(true, ignored);
        if (auto const remote = socket_.remote_endpoint(ignored); !ignored) {
            peer_ = to_text(remote);
            auto const& a = remote.address();
            loopback_ =
                a.is_loopback()
                || (a.is_v6() && a.to_v6().is_v4_mapped()
                    && asio::ip::make_address_v4(asio::ip::v4_mapped, a.to_v6()).is_loopback());
        }
    }

    asio::any_io_executor get_executor() override { return socket_.get_executor(); }

    std::size_t read_some(asio::mutable_buffer into, error_code& ec) override
    {
        return socket_.read_some(into, ec);
    }
    std::size_t write_some(asio::const_buffer from, error_code& ec) override
    {
        return socket_.write_some(from, ec);
    }

    void async_wait(readiness which, std::shared_ptr<stream_waiter> waiter) override
    {
        socket_.async_wait(
            which == readiness::read ? tcp::socket::wait_read : tcp::socket::wait_write,
            [waiter = std::move(waiter), which](error_code ec) { waiter->on_ready(which, ec); });
    }

    void shutdown_write() noexcept override
    {
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
    }
    void close() noexcept override
    {
        error_code ignored;
        socket_.close(ignored);
    }

    void reset() noexcept override
    {
        error_code ignored;
        socket_.set_option(asio::socket_base::linger{true, 0}, ignored);
        socket_.close(ignored);
    }

    std::string peer() const override { return peer_; }
    stream_security security() const override { return {.loopback = loopback_}; }

private:
    tcp::socket socket_;
    std::string peer_;
    bool loopback_ = false;
};

/// For an address that says nothing, where the whole has no time-out.
constexpr std::chrono::seconds share_without_limit{10};

/// Resolver, socket and timer race; whoever ends it calls `done` and lets go of the rest.
class connecting final : public tcp_connect, public std::enable_shared_from_this<connecting> {
public:
    connecting(asio::any_io_executor executor, std::string host, std::uint16_t port,
               tcp_options const& options, std::function<void(connect_result)> done)
        : executor_{executor},
          resolver_{executor},
          socket_{executor},
          timer_{executor},
          share_{executor},
          host_{std::move(host)},
          port_{port},
          options_{options},
          done_{std::move(done)}
    {
    }

    void start()
    {
        start_timer();
        resolver_.async_resolve(
            host_, std::to_string(port_), tcp::resolver::numeric_service,
            [self = shared_from_this()](error_code ec, tcp::resolver::results_type const& found) {
                self->resolved(ec, found);
            });
    }

    void start(std::vector<tcp::endpoint> where)
    {
        start_timer();
        addresses_ = std::move(where);
        try_next(asio::error::host_not_found);
    }

    void cancel() override
    {
        finish(to_boost(error::operation_aborted), "connecting to " + where() + " was cancelled");
    }

private:
    using clock = std::chrono::steady_clock;

    void start_timer()
    {
        if (options_.timeout < never) {
            ends_ = clock::now() + options_.timeout;
            timer_.expires_after(options_.timeout);
            timer_.async_wait([self = shared_from_this()](error_code ec) {
                if (!ec)
                    self->finish(to_boost(error::timed_out),
                                 "no connection to " + self->where() + " within "
                                     + std::to_string(self->options_.timeout.count())
                                     + " ms; check host, port and firewall");
            });
        }
    }

    std::string where() const
    {
        return (host_.find(':') != host_.npos ? "[" + host_ + "]" : host_) + ":"
               + std::to_string(port_);
    }

    void resolved(error_code ec, tcp::resolver::results_type const& found)
    {
        if (!done_)
            return;
        if (ec)
            return finish(to_boost(error::resolve_failed), "host '" + host_ + "' does not resolve ("
                                                               + ec.message()
                                                               + "); check its name");
        for (auto const& entry : found) addresses_.push_back(entry.endpoint());
        try_next(asio::error::host_not_found);
    }

    /// One address after the other. Behind one that says nothing there may be one that answers.
    void try_next(error_code last)
    {
        auto const n = tried_;
        if (n == addresses_.size())
            return connected(last);
        ++tried_;
        error_code ignored;
        socket_.close(ignored);
        if (tried_ < addresses_.size())
            limit_share(addresses_.size() - n);
        socket_.async_connect(addresses_[n],
                              [self = shared_from_this(), n = tried_](error_code ec) {
                                  if (!self->done_ || n != self->tried_)
                                      return;
                                  self->share_.cancel();
                                  if (ec)
                                      self->try_next(ec);
                                  else
                                      self->connected({});
                              });
    }

    void limit_share(std::size_t left)
    {
        auto const time = ends_ ? (*ends_ - clock::now()) / static_cast<std::int64_t>(left)
                                : clock::duration{share_without_limit};
        share_.expires_after(std::max(time, clock::duration::zero()));
        share_.async_wait([self = shared_from_this(), n = tried_](error_code ec) {
            if (!ec && self->done_ && n == self->tried_)
                self->try_next(asio::error::timed_out);
        });
    }

    void connected(error_code ec)
    {
        if (!done_)
            return;
        if (ec)
            return finish(to_boost(error::connect_failed),
                          "cannot connect to " + where() + " (" + ec.message()
                              + "); check that a peer listens there, and the port");
        error_code ignored;
        socket_.set_option(tcp::no_delay{options_.no_delay}, ignored);
        finish({}, {}, make_tcp_stream(std::move(socket_)));
    }

    void finish(error_code ec, std::string text, std::unique_ptr<byte_stream> stream = nullptr)
    {
        auto const done = std::exchange(done_, nullptr);
        if (!done)
            return;
        timer_.cancel();
        share_.cancel();
        resolver_.cancel();
        error_code ignored;
        socket_.close(ignored);
        done({ec, std::move(text), std::move(stream)});
    }

    asio::any_io_executor executor_;
    tcp::resolver resolver_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    asio::steady_timer share_;  // of one address
    std::vector<tcp::endpoint> addresses_;
    std::size_t tried_ = 0;
    std::optional<clock::time_point> ends_;
    std::string host_;
    std::uint16_t port_;
    tcp_options options_;
    std::function<void(connect_result)> done_;
};

}  // namespace

std::unique_ptr<byte_stream> make_tcp_stream(tcp::socket socket)
{
    return std::make_unique<tcp_stream>(std::move(socket));
}

std::shared_ptr<tcp_connect> connect_tcp(asio::any_io_executor executor, std::string host,
                                         std::uint16_t port, tcp_options const& options,
                                         std::function<void(connect_result)> done)
{
    auto attempt = std::make_shared<connecting>(std::move(executor), std::move(host), port, options,
                                                std::move(done));
    attempt->start();
    return attempt;
}

std::shared_ptr<tcp_connect> detail::connect_addresses(asio::any_io_executor executor,
                                                       std::vector<tcp::endpoint> where,
                                                       tcp_options const& options,
                                                       std::function<void(connect_result)> done)
{
    auto const host = where.empty() ? std::string{} : where.front().address().to_string();
    auto const port = where.empty() ? std::uint16_t{0} : where.front().port();
    auto attempt =
        std::make_shared<connecting>(std::move(executor), host, port, options, std::move(done));
    attempt->start(std::move(where));
    return attempt;
}

}  // namespace sluice::net
