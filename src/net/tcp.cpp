// TCP: a socket as a byte stream, and the way to get one.
#include <sluice/net/tcp.hpp>

#include <boost/asio/connect.hpp>
#include <boost/asio/steady_timer.hpp>

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

/// Resolver, socket and timer race; whoever ends it calls `done` and lets go of the rest.
class connecting final : public tcp_connect, public std::enable_shared_from_this<connecting> {
public:
    connecting(asio::any_io_executor executor, std::string host, std::uint16_t port,
               tcp_options const& options, std::function<void(connect_result)> done)
        : executor_{executor},
          resolver_{executor},
          socket_{executor},
          timer_{executor},
          host_{std::move(host)},
          port_{port},
          options_{options},
          done_{std::move(done)}
    {
    }

    void start()
    {
        if (options_.timeout != std::chrono::milliseconds::max()) {
            timer_.expires_after(options_.timeout);
            timer_.async_wait([self = shared_from_this()](error_code ec) {
                if (!ec)
                    self->finish(to_boost(error::timed_out),
                                 "no connection to " + self->where() + " within "
                                     + std::to_string(self->options_.timeout.count())
                                     + " ms; check host, port and firewall");
            });
        }
        resolver_.async_resolve(
            host_, std::to_string(port_), tcp::resolver::numeric_service,
            [self = shared_from_this()](error_code ec, tcp::resolver::results_type const& found) {
                self->resolved(ec, found);
            });
    }

    void cancel() override
    {
        finish(to_boost(error::operation_aborted), "connecting to " + where() + " was cancelled");
    }

private:
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
        asio::async_connect(socket_, found,
                            [self = shared_from_this()](error_code code, tcp::endpoint const&) {
                                self->connected(code);
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
        resolver_.cancel();
        error_code ignored;
        socket_.close(ignored);
        done({ec, std::move(text), std::move(stream)});
    }

    asio::any_io_executor executor_;
    tcp::resolver resolver_;
    tcp::socket socket_;
    asio::steady_timer timer_;
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

}  // namespace sluice::net
