// TLS's handshake, and the stream that comes of it.
#include "net/core_stream.hpp"
#include "net/tls_core.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::net {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds linger{1'000};  // for the peer to read our alert
constexpr std::size_t linger_octets_max = std::size_t{64} * 1024;

class tls_handshake final : public tcp_connect,
                            public stream_waiter,
                            public std::enable_shared_from_this<tls_handshake> {
public:
    tls_handshake(std::shared_ptr<tls_core> core, std::function<void(connect_result)> done)
        : core_{std::move(core)}, timer_{core_->inner().get_executor()}, done_{std::move(done)}
    {
    }

    void start()
    {
        asio::post(core_->inner().get_executor(), [self = shared_from_this()] { self->step(); });
    }

    void cancel() override
    {
        finish({to_boost(error::operation_aborted),
                "the TLS handshake with " + core_->inner().peer() + " was cancelled", nullptr});
    }

    void on_ready(readiness, error_code ec) override
    {
        if (!done_)
            return;
        if (lingering_)
            drain();
        else if (ec)
            fail(ec);
        else
            step();
    }

private:
    void step()
    {
        if (!done_)
            return;
        switch (core_->shake()) {
        case tls_core::progress::done:
            return finish({{}, {}, std::make_unique<core_stream<tls_core>>(core_)});
        case tls_core::progress::wants_read:
            return core_->wait(readiness::read, readiness::read, shared_from_this());
        case tls_core::progress::wants_write:
            return core_->wait(readiness::write, readiness::write, shared_from_this());
        case tls_core::progress::failed: return fail({});
        }
    }

    void fail(error_code io)
    {
        auto fault = core_->take_fault();
        if (io)
            fault.io = io;
        auto const reachable = !fault.io && !fault.ended;
        result_ = explain(fault);
        if (!core_->server() || !reachable)
            return finish(std::move(result_));
        // A client may have sent more than was read. Closing at once would be a reset, which could
        // overtake the alert that tells it why.
        lingering_ = true;
        core_->inner().shutdown_write();
        timer_.expires_after(linger);
        timer_.async_wait([self = shared_from_this()](error_code ec) {
            if (!ec && self->done_)
                self->finish(std::move(self->result_));
        });
        drain();
    }

    void drain()
    {
        std::array<char, 4096> scrap;
        for (;;) {
            error_code ec;
            drained_ += core_->inner().read_some(asio::buffer(scrap), ec);
            if (ec == asio::error::would_block || ec == asio::error::try_again)
                return core_->wait(readiness::read, readiness::read, shared_from_this());
            if (ec || drained_ > linger_octets_max)
                return finish(std::move(result_));
        }
    }

    void finish(connect_result result)
    {
        auto const done = std::exchange(done_, nullptr);
        if (!done)
            return;
        timer_.cancel();
        if (!result.stream)
            core_->close();
        done(std::move(result));
    }

    std::shared_ptr<tls_core> core_;
    asio::steady_timer timer_;
    std::function<void(connect_result)> done_;
    connect_result result_;
    std::size_t drained_ = 0;
    bool lingering_ = false;
};

std::shared_ptr<tcp_connect> start(std::unique_ptr<byte_stream> stream, tls_context_ptr context,
                                   std::string host, std::function<void(connect_result)> done)
{
    auto core = std::make_shared<tls_core>(std::move(stream), std::move(context), std::move(host));
    auto made = std::make_shared<tls_handshake>(std::move(core), std::move(done));
    made->start();
    return made;
}

}  // namespace

std::shared_ptr<tcp_connect> start_tls_client(std::unique_ptr<byte_stream> stream,
                                              tls_context_ptr context, std::string host,
                                              std::function<void(connect_result)> done)
{
    if (!context->server_name().empty())
        host = context->server_name();
    return start(std::move(stream), std::move(context), std::move(host), std::move(done));
}

std::shared_ptr<tcp_connect> start_tls_server(std::unique_ptr<byte_stream> stream,
                                              tls_context_ptr context,
                                              std::function<void(connect_result)> done)
{
    return start(std::move(stream), std::move(context), {}, std::move(done));
}

}  // namespace sluice::net
