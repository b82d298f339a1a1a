// TCP, then TLS, then WebSocket, under one time limit.
#include <sluice/net/never.hpp>
#include <sluice/net/transport.hpp>
#include <sluice/net/websocket.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using stream_ptr = std::unique_ptr<byte_stream>;

/// Steps that each hand a stream to the next one. Whoever ends it, steps or timer, calls `done` and
/// cancels the rest.
class steps : public tcp_connect, public std::enable_shared_from_this<steps> {
public:
    void cancel() override
    {
        finish({to_boost(error::operation_aborted), doing_ + " with " + where_ + " was cancelled",
                nullptr});
    }

protected:
    steps(asio::any_io_executor executor, std::string where, std::chrono::milliseconds timeout,
          std::function<void(connect_result)> done)
        : executor_{std::move(executor)},
          where_{std::move(where)},
          timeout_{timeout},
          timer_{executor_},
          done_{std::move(done)}
    {
    }

    asio::any_io_executor const& executor() const noexcept { return executor_; }

    void start_timer()
    {
        if (timeout_ >= never)
            return;
        timer_.expires_at(started_ + timeout_);
        timer_.async_wait([self = shared_from_this()](error_code ec) {
            if (!ec)
                self->finish({to_boost(error::timed_out),
                              self->doing_ + " with " + self->where_ + " did not end within "
                                  + std::to_string(self->timeout_.count())
                                  + " ms; is that what is spoken on this port?",
                              nullptr});
        });
    }

    /// `begin` starts a step, given what to call at its end; `next` takes its stream.
    template <class Begin, class Next>
    void step(char const* doing, Begin begin, Next next)
    {
        doing_ = doing;
        step_ = begin([self = shared_from_this(), next](connect_result r) {
            self->step_.reset();
            if (!self->done_)
                return;
            if (r.code)
                self->finish(std::move(r));
            else
                next(std::move(r.stream));
        });
    }

    void finish(connect_result result)
    {
        auto const done = std::exchange(done_, nullptr);
        if (!done)
            return;
        auto const self = shared_from_this();
        timer_.cancel();
        if (auto const going = std::exchange(step_, nullptr))
            going->cancel();
        done(std::move(result));
    }

    void finish_with(stream_ptr stream) { finish({{}, {}, std::move(stream)}); }

private:
    asio::any_io_executor executor_;
    std::string where_;
    std::chrono::milliseconds timeout_;
    asio::steady_timer timer_;
    clock::time_point started_ = clock::now();
    std::function<void(connect_result)> done_;
    std::shared_ptr<tcp_connect> step_;
    std::string doing_;
};

class client_steps final : public steps {
public:
    client_steps(asio::any_io_executor executor, url where, tcp_options const& tcp,
                 std::function<void(connect_result)> done)
        : steps{std::move(executor), where.to_string(), tcp.timeout, std::move(done)},
          url_{std::move(where)},
          tcp_{tcp}
    {
    }

    void start(tls_client_options const& tls)
    {
        if (url_.tls) {
            std::string fault;
            auto made = make_tls_client(tls, &fault);
            if (!made)
                return asio::post(executor(), [self = shared_from_this(), this, fault] {
                    finish({to_boost(error::tls_setup_failed), fault, nullptr});
                });
            tls_ = std::move(*made);
        }
        step(
            "connecting",
            [&](auto done) {
                return connect_tcp(executor(), url_.host, url_.port, tcp_, std::move(done));
            },
            [this](stream_ptr s) { connected(std::move(s)); });
    }

private:
    void connected(stream_ptr stream)
    {
        if (url_.tls || url_.websocket)
            start_timer();
        if (!url_.tls)
            return secured(std::move(stream));
        step(
            "the TLS handshake",
            [&](auto done) {
                return start_tls_client(std::move(stream), tls_, url_.host, std::move(done));
            },
            [this](stream_ptr s) { secured(std::move(s)); });
    }

    void secured(stream_ptr stream)
    {
        if (!url_.websocket)
            return finish_with(std::move(stream));
        auto host = url_.host.find(':') == url_.host.npos ? url_.host : "[" + url_.host + "]";
        if (url_.port != (url_.tls ? 443 : 80))
            host += ":" + std::to_string(url_.port);
        step(
            "the WebSocket handshake",
            [&](auto done) {
                return start_websocket_client(std::move(stream), std::move(host),
                                              url_.websocket_path, std::move(done));
            },
            [this](stream_ptr s) { finish_with(std::move(s)); });
    }

    url url_;
    tcp_options tcp_;
    tls_context_ptr tls_;
};

class server_steps final : public steps {
public:
    server_steps(asio::any_io_executor executor, std::string peer, transport_options const& o,
                 std::function<void(connect_result)> done)
        : steps{std::move(executor), std::move(peer), o.timeout, std::move(done)}, options_{o}
    {
    }

    void start(stream_ptr stream)
    {
        start_timer();
        if (!options_.tls)
            return secured(std::move(stream));
        step(
            "the TLS handshake",
            [&](auto done) {
                return start_tls_server(std::move(stream), options_.tls, std::move(done));
            },
            [this](stream_ptr s) { secured(std::move(s)); });
    }

private:
    void secured(stream_ptr stream)
    {
        if (!options_.websocket && !options_.tls)  // nothing to do, but later all the same
            return asio::post(executor(), [self = shared_from_this(), this,
                                           held = std::make_shared<stream_ptr>(std::move(stream))] {
                finish_with(std::move(*held));
            });
        if (!options_.websocket)
            return finish_with(std::move(stream));
        step(
            "the WebSocket handshake",
            [&](auto done) {
                return start_websocket_server(std::move(stream), options_.origins, std::move(done));
            },
            [this](stream_ptr s) { finish_with(std::move(s)); });
    }

    transport_options options_;
};

}  // namespace

std::shared_ptr<tcp_connect> connect_transport(asio::any_io_executor executor, url const& where,
                                               tcp_options const& tcp,
                                               tls_client_options const& tls,
                                               std::function<void(connect_result)> done)
{
    auto made = std::make_shared<client_steps>(std::move(executor), where, tcp, std::move(done));
    made->start(tls);
    return made;
}

std::shared_ptr<tcp_connect> accept_transport(stream_ptr accepted, transport_options const& options,
                                              std::function<void(connect_result)> done)
{
    auto executor = accepted->get_executor();
    auto made = std::make_shared<server_steps>(std::move(executor), accepted->peer(), options,
                                               std::move(done));
    made->start(std::move(accepted));
    return made;
}

}  // namespace sluice::net
