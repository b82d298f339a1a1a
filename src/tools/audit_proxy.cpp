// The relay.
#include "tools/audit_proxy.hpp"

#include "tools/progress.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <vector>

namespace sluice::tools {
namespace {

namespace asio = boost::asio;

constexpr std::size_t buffer_size = 64 * 1024;
constexpr std::chrono::milliseconds tick{100};  // for what is due and did not come
constexpr std::chrono::milliseconds live_each{500};

constexpr std::chrono::milliseconds handshake_max{10'000};

auto redirect(boost::system::error_code& ec)
{
    return asio::redirect_error(asio::use_awaitable, ec);
}

bool would_block(boost::system::error_code ec)
{
    return ec == asio::error::would_block || ec == asio::error::try_again;
}

template <class Handler>
class ready_waiter final : public net::stream_waiter {
public:
    explicit ready_waiter(Handler h) : handler_{std::move(h)} {}
    void on_ready(net::readiness, net::error_code ec) override { std::move(handler_)(ec); }

private:
    Handler handler_;
};

template <class Token>
auto async_ready(net::byte_stream& stream, net::readiness which, Token&& token)
{
    return asio::async_initiate<Token, void(net::error_code)>(
        [&stream, which](auto handler) {
            stream.async_wait(
                which, std::make_shared<ready_waiter<decltype(handler)>>(std::move(handler)));
        },
        token);
}

std::string text(asio::ip::tcp::endpoint const& e)
{
    auto const host = e.address().to_string();
    return e.address().is_v6() ? fmt::format("[{}]:{}", host, e.port())
                               : fmt::format("{}:{}", host, e.port());
}

/// What a client's first octet says of a stream that no frame can be read from; else null.
char const* unreadable(std::byte first) noexcept
{
    if (first == std::byte{0x16})
        return "TLS: passed on, and not checked; let it end here (--listen-tls, --forward-tls)";
    if (first == std::byte{'G'})
        return "HTTP (a WebSocket?): passed on, and not checked";
    return nullptr;
}

}  // namespace

struct audit_proxy::relayed {
    relayed(std::unique_ptr<net::byte_stream> c, std::unique_ptr<net::byte_stream> s)
        : client{std::move(c)}, server{std::move(s)}
    {
    }

    net::byte_stream& from(audit::direction way)
    {
        return way == audit::direction::from_client ? *client : *server;
    }
    /// As a reset of its peer's would be: at once, and the other end learns that it was no end.
    void reset()
    {
        client->reset();
        server->reset();
    }

    std::unique_ptr<net::byte_stream> client;
    std::unique_ptr<net::byte_stream> server;
    audit::checker checker{{.findings_max = 16'384}};
    std::unique_ptr<audited_connection> audited;
    char const* why_unchecked = nullptr;
    bool seen = false;  // the client has sent something
    bool was_reset = false;
    int open_ways = 2;
    std::list<std::shared_ptr<relayed>>::iterator place;
};

audit_proxy::audit_proxy(asio::io_context& io, audit_proxy_options o, audit_report& report,
                         line_output& out)
    : io_{io},
      options_{std::move(o)},
      report_{report},
      out_{out},
      acceptor_{io},
      clock_{io},
      pause_{io}
{
    auto const found =
        tcp::resolver{io}.resolve(options_.listen_host, std::to_string(options_.listen_port),
                                  tcp::resolver::passive | tcp::resolver::numeric_service);
    auto const where = found.begin()->endpoint();
    acceptor_.open(where.protocol());
    acceptor_.set_option(asio::socket_base::reuse_address{true});
    acceptor_.bind(where);
    acceptor_.listen();
    asio::co_spawn(io_, accept_all(), asio::detached);
    asio::co_spawn(io_, watch(), asio::detached);
}

audit_proxy::~audit_proxy() = default;

audit::time_point audit_proxy::now() const
{
    return std::chrono::duration_cast<audit::time_point>(std::chrono::steady_clock::now()
                                                         - started_);
}

asio::awaitable<void> audit_proxy::accept_all()
{
    while (!stopped_) {
        error_code ec;
        tcp::endpoint peer;
        auto socket = co_await acceptor_.async_accept(peer, redirect(ec));
        if (stopped_)
            co_return;
        if (!ec) {
            asio::co_spawn(io_, serve(std::move(socket), text(peer)), asio::detached);
            continue;
        }
        // Out of descriptors, as a rule: those who wait are served when others have gone.
        out_.note("cannot accept a connection: " + ec.message());
        pause_.expires_after(tick);
        co_await pause_.async_wait(redirect(ec));
    }
}

/// What `begin` starts, given what to call at its end; stop() cancels it.
template <class Begin>
asio::awaitable<std::shared_ptr<net::connect_result>> audit_proxy::finished(Begin begin)
{
    std::shared_ptr<net::tcp_connect> going;
    auto start = [&](auto handler) {
        auto const shared = std::make_shared<decltype(handler)>(std::move(handler));
        going = begin([shared](net::connect_result r) {
            std::move (*shared)(std::make_shared<net::connect_result>(std::move(r)));
        });
        connecting_.insert(going);
    };
    auto const& token = asio::use_awaitable;
    auto out =
        co_await asio::async_initiate<decltype(token), void(std::shared_ptr<net::connect_result>)>(
            start, token);
    connecting_.erase(going);
    co_return out;
}

void audit_proxy::failed(std::string const& name, std::string const& why)
{
    auto const line = fmt::format("{} could not be passed on to {}:{}: {}", name,
                                  options_.forward_host, options_.forward_port, why);
    out_.note(line);
    report_.failure(line);
}

asio::awaitable<void> audit_proxy::serve(tcp::socket client, std::string name)
{
    error_code ignored;
    client.set_option(tcp::no_delay{true}, ignored);
    auto accepted = net::make_tcp_stream(std::move(client));
    if (options_.listen_tls) {
        auto const r = co_await finished([&](auto done) {
            net::transport_options o;
            o.tls = options_.listen_tls;
            o.timeout = handshake_max;
            return net::accept_transport(std::move(accepted), o, std::move(done));
        });
        if (stopped_)
            co_return;
        if (r->code) {
            failed(name, r->text);
            co_return;
        }
        accepted = std::move(r->stream);
    }
    auto const server = co_await finished([&](auto done) {
        net::url where;
        where.host = options_.forward_host;
        where.port = options_.forward_port;
        where.tls = options_.forward_tls.has_value();
        return net::connect_transport(io_.get_executor(), where, {},
                                      options_.forward_tls.value_or(net::tls_client_options{}),
                                      std::move(done));
    });
    if (stopped_)
        co_return;
    if (server->code) {
        failed(name, server->text);
        accepted->reset();
        co_return;
    }
    auto const r = std::make_shared<relayed>(std::move(accepted), std::move(server->stream));
    r->audited = report_.begin(std::move(name), r->server->peer());
    r->place = live_.insert(live_.end(), r);
    asio::co_spawn(io_, pump(r, audit::direction::from_client), asio::detached);
    asio::co_spawn(io_, pump(r, audit::direction::from_server), asio::detached);
}

asio::awaitable<void> audit_proxy::pump(std::shared_ptr<relayed> r, audit::direction way)
{
    auto& from = r->from(way);
    auto& to = r->from(audit::opposite(way));
    std::vector<std::byte> buffer(buffer_size);
    error_code ec;
    while (!ec && !stopped_) {
        co_await async_ready(from, net::readiness::read, redirect(ec));
        if (ec || stopped_)
            break;
        auto const n = from.read_some(asio::buffer(buffer), ec);
        if (would_block(ec))
            ec = {};
        if (ec || n == 0)
            continue;
        // First on their way, then looked at: what they cause is seen later all the same, for this
        // thread reads it.
        auto sent = to.write_some(asio::buffer(buffer.data(), n), ec);
        if (would_block(ec))
            ec = {};
        examine(*r, way, {buffer.data(), n});
        while (!ec && !stopped_ && sent < n) {
            co_await async_ready(to, net::readiness::write, redirect(ec));
            if (!ec && !stopped_)
                sent += to.write_some(asio::buffer(buffer.data() + sent, n - sent), ec);
            if (would_block(ec))
                ec = {};
        }
    }
    if (ec == asio::error::eof && !stopped_) {
        to.shutdown_write();
    } else if (!stopped_) {
        r->was_reset = true;
        r->reset();
    }
    if (--r->open_ways == 0 && !stopped_)
        ended(*r);
}

void audit_proxy::examine(relayed& r, audit::direction way, bytes_view octets)
{
    if (!r.seen && way == audit::direction::from_client) {
        r.seen = true;
        r.why_unchecked = unreadable(octets.front());
    }
    if (r.why_unchecked != nullptr)
        return;
    r.checker.feed(way, octets, now());
    report_.collect(*r.audited, r.checker);
    if (options_.until_violation && report_.violations() != 0)
        stop();
}

void audit_proxy::ended(relayed& r)
{
    auto const kept = *r.place;  // until the end of this function
    live_.erase(r.place);
    if (r.why_unchecked != nullptr)
        return report_.unchecked(std::move(r.audited), r.why_unchecked);
    r.checker.finish(r.was_reset ? audit::ending::cut : audit::ending::complete);
    report_.end(std::move(r.audited), r.checker, r.was_reset ? "reset" : "closed");
    if (options_.until_violation && report_.violations() != 0)
        stop();
}

/// Time passes for connections on which nothing comes, and a person at a terminal sees that we
/// live.
asio::awaitable<void> audit_proxy::watch()
{
    auto last = std::chrono::steady_clock::now();
    while (!stopped_) {
        error_code ec;
        clock_.expires_after(tick);
        co_await clock_.async_wait(redirect(ec));
        if (stopped_)
            co_return;
        for (auto const& r : live_) {
            if (r->why_unchecked != nullptr)
                continue;
            r->checker.advance(now());
            report_.collect(*r->audited, r->checker);
        }
        if (options_.until_violation && report_.violations() != 0)
            stop();
        auto const since = std::chrono::steady_clock::now() - last;
        if (since >= live_each) {
            last += since;
            show_live(since);
        }
    }
}

void audit_proxy::show_live(std::chrono::steady_clock::duration since_last)
{
    auto frames = report_.ended_frames();
    for (auto const& r : live_)
        for (auto const& d : r->checker.totals().directions) frames += d.frames;
    auto const seconds = std::chrono::duration<double>(since_last).count();
    out_.live(fmt::format("{}, {:.0f} frames/s, {}", counted(live_.size(), "connection"),
                          static_cast<double>(frames - frames_shown_) / seconds,
                          counted(report_.findings(), "finding")));
    frames_shown_ = frames;
}

void audit_proxy::stop()
{
    if (std::exchange(stopped_, true))
        return;
    error_code ignored;
    acceptor_.close(ignored);
    for (auto const& c : std::exchange(connecting_, {})) c->cancel();
    clock_.cancel();
    pause_.cancel();
    for (auto const& r : live_) {
        if (r->why_unchecked != nullptr) {
            report_.unchecked(std::move(r->audited), r->why_unchecked);
        } else {
            r->checker.finish(audit::ending::cut);
            report_.end(std::move(r->audited), r->checker, "open when the audit ended");
        }
        r->client->close();
        r->server->close();
    }
    live_.clear();
}

}  // namespace sluice::tools
