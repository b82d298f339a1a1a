// Connections in, and the end of all of them.
#include "client/listener_core.hpp"

#include <sluice/net/never.hpp>

#include <boost/asio/post.hpp>

namespace sluice::client::detail {
namespace {

constexpr clock_time stop_poll{10};
constexpr clock_time close_patience{1'000};  // for the peers' closes

}  // namespace

listener_core::listener_core(std::shared_ptr<container_core> container, listener_options options,
                             server_handlers handlers)
    : container_{std::move(container)},
      io_{container_->next_io_thread()},
      completions_{container_->make_completions()},
      options_{std::move(options)},
      handlers_{std::move(handlers)},
      timer_{io_->context()}
{
}

std::error_code listener_core::open(std::string const& host, std::uint16_t port, std::string& fault)
{
    if (options_.tls) {
        auto tls = net::make_tls_server(*options_.tls, &fault);
        if (!tls)
            return tls.error();
        tls_ = std::move(*tls);
    }
    auto const on = io_->context().get_executor();
    auto made = options_.acceptor ? options_.acceptor(on, host, port, &fault)
                                  : net::tcp_listener::open(on, host, port, &fault);
    if (!made)
        return made.error();
    socket_ = std::move(*made);
    boost::asio::post(io_->context(), [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->socket_->start([weak](std::unique_ptr<net::byte_stream> s) {
                if (auto const live = weak.lock())
                    live->on_stream(std::move(s));
            });
    });
    return {};
}

std::error_code listener_core::set_tls(net::tls_server_options const& options, std::string* fault)
{
    auto made = net::make_tls_server(options, fault);
    if (!made)
        return made.error();
    boost::asio::post(io_->context(),
                      [self = shared_from_this(), tls = std::move(*made)] { self->tls_ = tls; });
    return {};
}

/// A handshake counts as a connection, so that those who never finish one are bounded too.
void listener_core::on_stream(std::unique_ptr<net::byte_stream> stream)
{
    if (stopping_)
        return;
    if (!tls_ && !options_.websocket)
        return begin(std::move(stream), clock_time{0});
    auto const which = ++handshakes_begun_;
    handshakes_[which] = net::accept_transport(
        std::move(stream),
        {.tls = tls_,
         .websocket = options_.websocket,
         .origins = options_.websocket_origins,
         .timeout = options_.handshake_timeout},
        [weak = weak_from_this(), which, since = read_clock()](net::connect_result r) {
            if (auto const self = weak.lock())
                self->on_handshake(which, std::move(r), since);
        });
    make_room();
}

void listener_core::on_handshake(std::uint64_t which, net::connect_result r, clock_time since)
{
    handshakes_.erase(which);
    if (!r.code && !stopping_)
        return begin(std::move(r.stream), read_clock() - since);
    if (r.code && r.code != error::operation_aborted)
        tell_failed(std::move(r.text));
    make_room();
}

/// Those who cannot shake hands come as fast as they like: what waits to be told is bounded.
void listener_core::tell_failed(std::string text)
{
    constexpr int untold_max = 64;
    if (!options_.on_handshake_failed || untold_->load(std::memory_order_relaxed) >= untold_max)
        return;
    untold_->fetch_add(1, std::memory_order_relaxed);
    boost::asio::post(completions_->get_executor(),
                      [container = container_, tell = options_.on_handshake_failed,
                       untold = untold_, text = std::move(text)] {
                          untold->fetch_sub(1, std::memory_order_relaxed);
                          try {
                              tell(text);
                          } catch (...) {
                              container->report(std::current_exception());
                          }
                      });
}

void listener_core::begin(std::unique_ptr<net::byte_stream> stream, clock_time spent)
{
    auto const made = std::make_shared<connection_core>(container_, io_, shared_from_this());
    if (!container_->add(made))
        return;
    connections_.insert(made);
    count_.store(connections_.size(), std::memory_order_relaxed);
    make_room();
    made->start_accepted(std::move(stream), spent);
}

void listener_core::make_room()
{
    if (connections_.size() + handshakes_.size() >= options_.connections_max)
        socket_->pause();
    else if (!stopping_)
        socket_->resume();
}

void listener_core::on_ended(connection_core& c)
{
    connections_.erase(c.shared_from_this());
    count_.store(connections_.size(), std::memory_order_relaxed);
    make_room();
}

std::size_t listener_core::on_buffered(std::size_t before, std::size_t after) noexcept
{
    buffered_ = buffered_ - before + after;
    return buffered_;
}

/// A flood of logins leaves those who are in their share of the handlers' threads.
std::shared_ptr<void> listener_core::take_check()
{
    if (checks_->load(std::memory_order_relaxed) >= options_.password_checks_max)
        return nullptr;
    checks_->fetch_add(1, std::memory_order_relaxed);
    return {checks_.get(),
            [held = checks_](void*) { held->fetch_sub(1, std::memory_order_relaxed); }};
}

// ---- the end

/// Handshakes are no connections yet: they end.
void listener_core::close_now() noexcept
{
    socket_->close();
    for (auto const& [which, going] : std::exchange(handshakes_, {})) going->cancel();
}

void listener_core::close()
{
    boost::asio::post(io_->context(), [self = shared_from_this()] { self->close_now(); });
}

void listener_core::abandon(std::shared_ptr<listener_core> self)
{
    if (!io_->stopped())
        boost::asio::post(io_->context(), [held = std::move(self)] { held->close_now(); });
}

void listener_core::start_abort() noexcept
{
    boost::asio::post(io_->context(), [self = shared_from_this()] {
        self->close_now();
        self->timer_.cancel();
        for (auto& r : std::exchange(self->stoppers_, {}))
            self->completions_->complete(*r.release());
    });
}

void listener_core::start_stop(amqp_error why, reply_ptr<> r)
{
    boost::asio::post(io_->context(), [self = shared_from_this(), why = std::move(why),
                                       reply = std::move(r)]() mutable {
        self->stoppers_.push_back(std::move(reply));
        if (std::exchange(self->stopping_, true) && !self->connections_.empty())
            return;
        self->why_ = std::move(why);
        self->close_now();
        self->stop_at_ = read_clock() + net::at_most_never(self->options_.stop_timeout);
        self->go_on_stopping();
    });
}

/// First what is under way, then the closes, then the sockets.
void listener_core::go_on_stopping()
{
    auto const time = read_clock();
    auto const patience = std::min<clock_time>(close_patience, options_.stop_timeout);
    if (!closing_) {
        auto const rest = std::all_of(connections_.begin(), connections_.end(),
                                      [](auto const& c) { return c->at_rest(); });
        if (rest || time >= stop_at_) {
            closing_ = true;
            stop_at_ = time + patience;
            for (auto const& c : std::vector(connections_.begin(), connections_.end()))
                c->close_for(why_);
        }
    } else if (time >= stop_at_) {
        for (auto const& c : std::vector(connections_.begin(), connections_.end()))
            c->start_abort();
    }
    if (connections_.empty()) {
        for (auto& r : std::exchange(stoppers_, {})) completions_->complete(*r.release());
        return;
    }
    timer_.expires_after(stop_poll);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
        if (!ec)
            self->go_on_stopping();
    });
}

}  // namespace sluice::client::detail
