// The server's half of a connection: what its peer asks for, in order, and the answers.
#include "client/connection_requests.hpp"
#include "client/link_core.hpp"
#include "client/listener_core.hpp"
#include "client/server_requests.hpp"
#include "client/session_core.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/reader.hpp>

namespace sluice::client::detail {
namespace {

constexpr std::uint64_t coordinator_code = 0x30;

std::vector<std::string> texts(symbols const& from)
{
    std::vector<std::string> out;
    for (std::size_t i = 0; i < from.size(); ++i) out.emplace_back(from.at(i).text);
    return out;
}

bytes copy(raw_value v) { return {v.encoded.begin(), v.encoded.end()}; }

template <class Terminus>
terminus common(Terminus const& from)
{
    terminus out;
    out.address = std::string{as_text(from.address).value_or(std::string_view{})};
    out.dynamic = from.dynamic;
    out.durable = from.durable;
    out.expiry_policy = std::string{from.expiry_policy.text};
    out.timeout = from.timeout;
    out.capabilities = texts(from.capabilities);
    out.dynamic_node_properties = copy(from.dynamic_node_properties);
    return out;
}

terminus source_of(attach const& a)
{
    source s;
    auto in = a.source.encoded;
    if (is_null(a.source) || decode(in, s))
        return {};
    auto out = common(s);
    out.distribution_mode = std::string{s.distribution_mode.text};
    out.filter = copy(s.filter);
    out.default_outcome = copy(s.default_outcome);
    out.outcomes = texts(s.outcomes);
    return out;
}

terminus target_of(attach const& a)
{
    target t;
    auto in = a.target.encoded;
    if (is_null(a.target) || decode(in, t))
        return {};
    return common(t);
}

amqp_error no_links()
{
    return {.condition = condition::not_found,
            .description = "this server has no links to offer",
            .info = {}};
}

}  // namespace

connection_options options_of(listener_core const& listener)
{
    return listener.options().connection;
}

// ---- SASL and open

void connection_core::start_accepted(std::unique_ptr<net::byte_stream> stream, clock_time spent)
{
    turn_guard const guard{*this};
    auto const& o = server_->listener->options();
    now_ = started_ = read_clock();
    stream_ = std::move(stream);
    set_text(peer_, stream_->peer());
    auto e = engine_options();
    e.listener = true;
    e.sasl = sasl_of_server().open() ? engine::sasl_mode::accepted : engine::sasl_mode::required;
    e.handshake_timeout_ms = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>((o.handshake_timeout - spent).count(), 1, 1'000'000'000));
    engine_.emplace(std::move(e));
    engine_->sasl_offer(net::sasl_offer(sasl_of_server()));
    std::ignore = engine_->tick(now_);
    wait_to_read();
    turn();
}

void connection_core::on_server_event(engine::event const& e)
{
    using kind = engine::event_kind;
    switch (e.kind) {
    case kind::sasl_init: return on_sasl_of_peer(true);
    case kind::sasl_response: return on_sasl_of_peer(false);
    case kind::connection_requested: return ask_for_connection();
    case kind::session_requested:
        if (server_->accepted)
            ask_for_session(*e.session);
        return;
    case kind::link_requested:
        if (e.session->context)
            ask_for_link(*e.link);
        return;
    default: return;
    }
}

void connection_core::ask_for_connection()
{
    auto const& open = engine_->remote_open();
    set_text(remote_container_id_, std::string{open.container_id});
    if (server_->listener->stopping())
        return refuse_connection({.condition = condition::connection_forced,
                                  .description = "the server is stopping",
                                  .info = {}});
    auto const& handler = server_->listener->handlers().on_connection;
    if (!handler)
        return accept_connection(nullptr);
    auto asked = std::make_shared<connection_asked>(shared_from_this());
    asked->container_id = std::string{open.container_id};
    asked->hostname = std::string{open.hostname.value_or(std::string_view{})};
    asked->user = server_->user;
    asked->peer = peer();
    asked->desired_capabilities = texts(open.desired_capabilities);
    asked->properties = copy(open.properties);
    run_handler([listener = server_->listener, asked = std::move(asked)]() mutable {
        listener->handlers().on_connection(connection_request{std::move(asked)});
    });
}

void connection_core::accept_connection(std::shared_ptr<connection_core> const& user)
{
    if (ended() || server_->accepted)
        return;
    server_->user_pointer = user;
    server_->accepted = true;
    std::ignore = engine_->open();
    ask_for_sessions();
}

void connection_core::refuse_connection(amqp_error why)
{
    if (ended() || server_->accepted)
        return;
    failure_code_ = make_error_code(sluice::error::closed_locally);
    failure_text_ = "the connection from " + peer() + " was refused: " + why.to_string();
    std::ignore = engine_->close(std::move(why));
}

std::shared_ptr<connection_core> connection_core::server_user() const
{
    return server_ ? server_->user_pointer.lock() : nullptr;
}

// ---- sessions

/// Those that came before the connection was accepted.
void connection_core::ask_for_sessions()
{
    engine_->for_each_session([&](engine::session& s) {
        if (s.state() == engine::session_state::begin_received && !s.context)
            ask_for_session(s);
    });
}

void connection_core::ask_for_session(engine::session& s)
{
    auto const& listener = *server_->listener;
    auto const most = listener.options().session.events_max;
    if (!server_->sessions.contains(&s) && server_->withdrawn->load() >= most) {
        std::ignore = s.end(inbox_overflow(most, "sessions"));
        return;
    }
    auto const [at, first] = server_->sessions.try_emplace(&s);
    if (!first)
        return;
    at->second.withdrawn = std::make_shared<std::atomic<std::uint32_t>>(0);
    if (!listener.handlers().on_session) {
        at->second.answered = true;
        auto made = std::make_shared<session_core>(shared_from_this(), server_user(), false,
                                                   listener.options().session);
        made->adopt(s);
        return ask_for_links(s);
    }
    auto asked = std::make_shared<session_asked>(shared_from_this());
    asked->what = &s;
    asked->withdrawn = server_->withdrawn;
    at->second.asked = asked;
    run_handler([held = server_->listener, asked = std::move(asked)]() mutable {
        if (asked->hand_over())
            held->handlers().on_session(session_request{std::move(asked)});
    });
}

void connection_core::accept_session(session_asked& asked, std::shared_ptr<session_core> made)
{
    auto* const s = std::exchange(asked.what, nullptr);
    if (!s)
        return made->on_ended(make_failure(make_error_code(sluice::error::session_ended_by_peer),
                                           "the peer ended the session before it was accepted"));
    server_->sessions[s].answered = true;
    made->adopt(*s);
    ask_for_links(*s);
}

void connection_core::refuse_session(session_asked& asked, amqp_error why)
{
    auto* const s = std::exchange(asked.what, nullptr);
    if (!s)
        return;
    server_->sessions[s].answered = true;
    std::ignore = s->end(std::move(why));
}

void connection_core::over(engine::session& s)
{
    s.for_each_link([&](engine::link& l) { over(l); });
    auto const it = server_->sessions.find(&s);
    if (it == server_->sessions.end())
        return;
    if (auto const asked = it->second.asked.lock()) {
        asked->what = nullptr;
        asked->withdraw();
    }
    server_->sessions.erase(it);
}

// ---- links

/// Those that came before the session was accepted.
void connection_core::ask_for_links(engine::session& s)
{
    s.for_each_link([&](engine::link& l) {
        if (l.state() == engine::link_state::attach_received && !l.context)
            ask_for_link(l);
    });
}

void connection_core::ask_for_link(engine::link& l)
{
    auto& of = *static_cast<session_core*>(l.session().context);
    auto const& withdrawn = server_->sessions[&l.session()].withdrawn;
    auto const most = of.events_max();
    if (of.ended() || (withdrawn && withdrawn->load() >= most))
        return of.overflow(inbox_overflow(most, "links"));
    auto const [at, first] = server_->links.try_emplace(&l);
    if (!first)
        return;
    if (!server_->listener->handlers().on_link) {
        at->second.answered = true;
        std::ignore = l.refuse(no_links());
        return;
    }
    auto const& a = l.remote_attach();
    auto asked = std::make_shared<link_asked>(shared_from_this());
    asked->session = of.shared_from_this();
    asked->withdrawn = withdrawn;
    asked->name = l.name();
    asked->peer_sends = l.role() == role::receiver;
    asked->to_coordinator = peek_descriptor(a.target.encoded) == coordinator_code;
    asked->source = source_of(a);
    if (asked->to_coordinator)
        asked->encoded_target = copy(a.target);
    else
        asked->target = target_of(a);
    asked->snd_settle_mode = a.snd_settle_mode;
    asked->rcv_settle_mode = a.rcv_settle_mode;
    asked->max_message_size = a.max_message_size.value_or(0);
    asked->properties = copy(a.properties);
    asked->what = &l;
    at->second.asked = asked;
    run_handler(
        [held = server_->listener, asked = std::move(asked)]() mutable {
            if (asked->hand_over())
                held->handlers().on_link(link_request{std::move(asked)});
        },
        of.completions().get());
}

void connection_core::accept_link(link_asked& asked, std::shared_ptr<link_core> made)
{
    auto* const l = std::exchange(asked.what, nullptr);
    if (!l)
        return made->fail(make_failure(make_error_code(sluice::error::link_detached_by_peer),
                                       "the peer detached the link before it was accepted"));
    server_->links[l].answered = true;
    made->adopt(*l);
}

void connection_core::refuse_link(link_asked& asked, amqp_error why)
{
    auto* const l = std::exchange(asked.what, nullptr);
    if (!l)
        return;
    server_->links[l].answered = true;
    std::ignore = l->refuse(std::move(why));
}

void connection_core::over(engine::link& l) noexcept
{
    auto const it = server_->links.find(&l);
    if (it == server_->links.end())
        return;
    if (auto const asked = it->second.asked.lock()) {
        asked->what = nullptr;
        asked->withdraw();
    }
    server_->links.erase(it);
}

void connection_core::refuse_forgotten()
{
    if (ended())
        return;
    for (auto& [l, held] : server_->links)
        if (held.asked.expired() && !std::exchange(held.answered, true))
            std::ignore = l->refuse(nobody_answered());
    for (auto& [s, held] : server_->sessions)
        if (held.asked.expired() && !std::exchange(held.answered, true))
            std::ignore = s->end(nobody_answered());
}

}  // namespace sluice::client::detail
