// What a listener's connections are bounded by, and how they end; requests that nobody answers.
#include "client/connection_requests.hpp"
#include "client/listener_core.hpp"
#include "client/server_requests.hpp"

namespace sluice::client::detail {
namespace {

/// Octets received between two looks at what is held: looking costs a walk over the sessions.
constexpr std::uint64_t watch_every = 256 * 1024;

}  // namespace

// ---- requests

amqp_error inbox_overflow(std::uint32_t most, char const* what)
{
    return {.condition = condition::resource_limit_exceeded,
            .description = "inbox overflow: " + std::to_string(most) + " requests for " + what
                           + " (events_max) were taken back before this server's handler ran, and"
                             " another one came; ask for fewer at a time",
            .info = {}};
}

void peer_asked::withdraw() noexcept
{
    auto expected = place::waits;
    if (withdrawn && place_.compare_exchange_strong(expected, place::withdrawn))
        withdrawn->fetch_add(1);
}

bool peer_asked::hand_over() noexcept
{
    auto expected = place::waits;
    if (place_.compare_exchange_strong(expected, place::handed_over))
        return true;
    withdrawn->fetch_sub(1);
    answered.store(true);
    return false;
}

connection_asked::~connection_asked()
{
    if (!answered)
        on_strand([](connection_core& on) { on.refuse_connection(nobody_answered()); });
}
session_asked::~session_asked()
{
    if (!answered)
        on_strand([](connection_core& on) { on.refuse_forgotten(); });
}
link_asked::~link_asked()
{
    if (!answered)
        on_strand([](connection_core& on) { on.refuse_forgotten(); });
}

// ---- bounds, and the end

/// Bodies that are half here are bounded for each link and session; of many sessions, here.
void connection_core::watch_buffers()
{
    if (!server_ || !engine_ || ended()
        || engine_->counters().bytes_received - server_->watched_at < watch_every)
        return;
    server_->watched_at = engine_->counters().bytes_received;
    std::size_t held = 0;
    engine_->for_each_session([&](engine::session& s) { held += s.buffered_bytes(); });
    auto const& o = server_->listener->options();
    auto const in_all = server_->listener->on_buffered(server_->buffered, held);
    server_->buffered = held;
    auto const mine = held > o.connection_buffered_max;
    if (!mine && (in_all <= o.buffered_max || held < watch_every))
        return;
    close_for({.condition = condition::resource_limit_exceeded,
               .description = "octets of messages not finished or not taken: "
                              + std::to_string(mine ? held : in_all) + ", more than "
                              + std::to_string(mine ? o.connection_buffered_max : o.buffered_max)
                              + (mine ? " on this connection" : " on all connections"),
               .info = {}});
}

bool connection_core::at_rest()
{
    if (!engine_ || !engine_->opened())
        return true;
    if (!output_left_.empty() || engine_->wants_write())
        return false;
    auto rest = true;
    engine_->for_each_session([&](engine::session& s) {
        s.for_each_link([&](engine::link& l) {
            if (l.role() != role::sender)
                return;
            auto const& out = static_cast<engine::sender&>(l);
            rest = rest && out.queued() == 0 && out.unsettled() == 0;
        });
    });
    return rest;
}

void connection_core::close_for(amqp_error why)
{
    turn_guard const guard{*this};
    if (phase() == detail::phase::opening)
        lose(make_error_code(sluice::error::closed_locally), why.to_string());
    else
        begin_close(std::move(why), true);
    wake();
}

void connection_core::on_server_closed()
{
    server_->sessions.clear();
    server_->links.clear();
    auto const listener = server_->listener;
    listener->on_buffered(std::exchange(server_->buffered, 0), 0);
    listener->on_ended(*this);
    if (!server_->accepted || !listener->handlers().on_closed)
        return;
    run_handler([self = shared_from_this(), listener] {
        listener->handlers().on_closed(client::connection{self}, self->failure());
    });
}

}  // namespace sluice::client::detail
