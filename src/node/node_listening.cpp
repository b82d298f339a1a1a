// The node's addresses: sockets, what lies under AMQP there, and the handshakes of that.
#include "node/node_core.hpp"
#include "node/peer.hpp"

#include <cstdlib>
#include <cstring>

namespace sluice::node::detail {
namespace {

bool tracing() noexcept
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): safe as long as nobody calls setenv()
    auto const* const value = std::getenv("SLUICE_TRACE");
    return value && std::strcmp(value, "frames") == 0;
}

}  // namespace

result<std::uint16_t> node_core::listen(std::string const& host, std::uint16_t port,
                                        node_transport under, std::string* fault)
{
    using answer = result<std::uint16_t>;
    return ask(
        [&](node_core&) -> answer {
            if (stopping_)
                return unexpected{sluice::error::operation_aborted};
            if (under.tls && !tls_) {
                auto tls =
                    net::make_tls_server(options_.tls.value_or(net::tls_server_options{}), fault);
                if (!tls)
                    return unexpected{tls.error()};
                tls_ = std::move(*tls);
            }
            auto made = net::tcp_listener::open(io_->context().get_executor(), host, port, fault);
            if (!made)
                return unexpected{made.error()};
            auto const listener = *made;
            listener->start([this, under](std::unique_ptr<net::byte_stream> s) {
                on_stream(std::move(s), under);
            });
            listeners_.push_back(listener);
            return listener->port();
        },
        answer{unexpected{sluice::error::operation_aborted}});
}

std::error_code node_core::set_tls(net::tls_server_options const& options, std::string* fault)
{
    auto made = net::make_tls_server(options, fault);
    if (!made)
        return made.error();
    return ask(
        [&](node_core&) {
            tls_ = std::move(*made);
            return std::error_code{};
        },
        make_error_code(sluice::error::operation_aborted));
}

/// A handshake counts as a connection, so that those who never finish one are bounded too.
void node_core::on_stream(std::unique_ptr<net::byte_stream> stream, node_transport under)
{
    if (!under.tls && !under.websocket)
        return on_connection(std::move(stream), clock_time{0});
    auto const which = ++handshakes_begun_;
    handshakes_[which] = net::accept_transport(std::move(stream),
                                               {.tls = under.tls ? tls_ : nullptr,
                                                .websocket = under.websocket,
                                                .origins = options_.websocket_origins,
                                                .timeout = options_.handshake_timeout},
                                               [this, which, since = now()](net::connect_result r) {
                                                   on_handshake(which, std::move(r), since);
                                               });
    make_room();
}

void node_core::on_handshake(std::uint64_t which, net::connect_result r, clock_time since)
{
    handshakes_.erase(which);
    if (!r.code && !stopping_)
        return on_connection(std::move(r.stream), now() - since);
    if (r.code && r.code != error::operation_aborted)
        tell_failed(std::move(r.text));
    make_room();
}

void node_core::on_connection(std::unique_ptr<net::byte_stream> stream, clock_time spent)
{
    auto made = std::make_shared<peer>(
        *this, io_, peer::settings{.trace = tracing(), .close_patience = options_.close_timeout});
    peers_.emplace(made.get(), made);
    ++stats_.connections_accepted;
    stats_.connections = peers_.size();
    make_room();
    made->begin(std::move(stream), spent);
    publish();
}

void node_core::make_room()
{
    auto const full = peers_.size() + handshakes_.size() >= options_.connections_max;
    for (auto const& l : listeners_)
        if (full)
            l->pause();
        else if (!stopping_)
            l->resume();
}

/// Those who cannot shake hands come as fast as they like: what waits to be told is bounded.
void node_core::tell_failed(std::string text)
{
    constexpr int untold_max = 64;
    if (!options_.on_handshake_failed || untold_.load(std::memory_order_relaxed) >= untold_max)
        return;
    untold_.fetch_add(1, std::memory_order_relaxed);
    boost::asio::post(*passwords_, [this, text = std::move(text)] {
        untold_.fetch_sub(1, std::memory_order_relaxed);
        try {
            options_.on_handshake_failed(text);
        } catch (...) {  // telling it is all there was to do
        }
    });
}

/// Handshakes are no connections yet: they end.
void node_core::close_listeners()
{
    for (auto const& l : listeners_) l->close();
    listeners_.clear();
    for (auto const& [which, going] : std::exchange(handshakes_, {})) going->cancel();
}

}  // namespace sluice::node::detail
