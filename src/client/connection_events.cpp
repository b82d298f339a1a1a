// What the engine reports, and how a connection ends.
#include "client/connection_requests.hpp"
#include "client/link_core.hpp"
#include "client/server_requests.hpp"
#include "client/session_core.hpp"

namespace sluice::client::detail {

bool connection_core::poll_events()
{
    if (!engine_)
        return false;
    engine::event e;
    auto any = false;
    while (engine_->poll_event(e)) {
        any = true;
        handle(e);
    }
    return any;
}

void connection_core::handle(engine::event const& e)
{
    using kind = engine::event_kind;
    switch (e.kind) {
    case kind::sasl_mechanisms: return choose_sasl();
    case kind::sasl_challenge: return on_sasl_challenge();
    case kind::sasl_outcome: return on_sasl_outcome(e.code);
    case kind::connection_opened: return on_opened();
    case kind::connection_closed: return on_closed(e.code);
    case kind::session_requested:
    case kind::link_requested:
        if (asks_too_much())
            return;
        [[fallthrough]];
    case kind::sasl_init:
    case kind::sasl_response:
    case kind::connection_requested:
        if (server_)
            return on_server_event(e);
        break;
    case kind::session_ended:
        if (server_)
            over(*e.session);
        break;
    case kind::link_detached:
        if (server_)
            over(*e.link);
        break;
    default: break;
    }
    if (e.link) {
        if (e.link->context)
            return static_cast<link_core*>(e.link->context)->handle(e);
        return handle_unexpected(e);
    }
    if (e.session && e.session->context)
        return static_cast<session_core*>(e.session->context)->handle(e);
    handle_unexpected(e);
}

/// Answers to a peer that does not read wait here. One that asks for ever more without reading
/// anything is not waited for: its transport goes, since a close would not be read either.
bool connection_core::asks_too_much()
{
    constexpr std::uint32_t most = 8'192;
    if (!waits_to_write_)
        asked_while_blocked_ = 0;
    if (ended() || ++asked_while_blocked_ <= most)
        return ended();
    if (asked_while_blocked_ == most + 1)
        lose(make_error_code(sluice::error::resource_limit_exceeded),
             "the peer at " + where() + " asked for " + std::to_string(most)
                 + " sessions and links and read none of the answers");
    return true;
}

/// A client takes neither sessions nor links from its peer; what it gave up itself is freed here.
void connection_core::handle_unexpected(engine::event const& e)
{
    using kind = engine::event_kind;
    auto const refused = [](char const* what) {
        return amqp_error{.condition = condition::not_allowed,
                          .description =
                              std::string{"this container is no server: it takes no "} + what,
                          .info = {}};
    };
    switch (e.kind) {
    case kind::session_requested: std::ignore = e.session->end(refused("sessions")); return;
    case kind::link_requested: std::ignore = e.link->refuse(refused("links")); return;
    case kind::session_ended: engine_->forget(*e.session); return;
    case kind::link_detached: e.session->forget(*e.link); return;
    default: return;
    }
}

failure_ptr connection_core::why_closed(std::error_code code)
{
    if (why_closed_)
        return why_closed_;
    auto const opening = phase() == detail::phase::opening;
    auto text = failure_text_;
    amqp_error error;
    if (failure_code_)
        code = failure_code_;
    if (!code || code == sluice::error::closed_locally) {
        code = make_error_code(sluice::error::closed_locally);
        if (text.empty())
            text = "connection to " + where() + " closed by this side";
    } else {
        error = engine_ ? engine_->error() : amqp_error{};
    }
    if (text.empty()) {
        if (code == sluice::error::connection_closed_by_peer)
            text = "connection to " + where()
                   + (opening ? " refused by the peer" : " closed by the peer");
        else if (code == sluice::error::handshake_timeout)
            text = "connected to " + where() + ", but no open came";
        else
            text = "connection to " + where() + (opening ? " failed" : " ended");
    }
    why_closed_ = make_failure(code, std::move(text), std::move(error));
    set_failure(why_closed_);  // the sessions that end now wake people who may ask
    return why_closed_;
}

void connection_core::on_closed(std::error_code code)
{
    if (!is_curable(code))
        return finish(why_closed(code));
    lost_ = true;  // when its events are through: see turn()
    lost_code_ = code;
}

void connection_core::begin_close(amqp_error why, bool overtake)
{
    if (ended())
        return;
    auto const clean = why.empty();
    if (away()) {
        failure_code_ = make_error_code(sluice::error::closed_locally);
        finish(make_failure(failure_code_,
                            "connection to " + where() + " closed by this side while it was lost"));
        return end_stream();
    }
    if (!engine_ || phase() == detail::phase::opening) {
        failure_code_ = make_error_code(sluice::error::closed_locally);
        if (connecting_)
            connecting_->cancel();
        if (!engine_)
            return finish(make_failure(failure_code_,
                                       "connection to " + where() + " closed while connecting"));
        failure_text_ = "connection to " + where() + " closed while opening";
    }
    set_phase(detail::phase::closing);
    if (!clean && !failure_code_) {
        failure_code_ = make_error_code(sluice::error::closed_locally);
        failure_text_ = "connection to " + where() + " closed by this side";
    }
    std::ignore = engine_->close(std::move(why), overtake);
}

/// Everything that waits learns why, once; from here on calls fail where they are made.
void connection_core::finish(failure_ptr why)
{
    if (ended())
        return;
    auto const self = shared_from_this();
    set_ended(why);
    stop_recovery();
    if (auto* const request = std::exchange(connect_, nullptr))
        request->finish(why->code, why);
    for (auto const& s : std::vector{sessions_}) s->on_ended(why);
    while (auto* const r = static_cast<close_request*>(closing_.pop_front()))
        r->finish({}, nullptr);
    auto* c = queue_.close();
    flows_.apply_all();  // before their owners go with the commands that were pushed after them
    while (c) {
        auto* const next = c->next_command;
        c->refuse();
        c = next;
    }
    tell_state(connection_state::closed, why);
    if (server_)
        on_server_closed();
    std::shared_ptr<session_core> gone;
    {
        std::lock_guard const lock{default_session_mutex_};
        gone.swap(default_session_);
    }
    publish();
}

// ---- close

void connection_core::close_request::execute(connection_core& on)
{
    if (on.ended())
        return finish({}, nullptr);
    on.closing_.push_back(*this);
    on.deadlines().arm(*this, on.options_.timeout, on.now_);
    if (!begin())
        return give_up(make_error_code(sluice::error::operation_aborted));
    auto const overtake = !why_.empty();
    on.begin_close(std::move(why_), overtake);
}

void connection_core::close_request::give_up(std::error_code why)
{
    auto const core = core_;
    auto const text = "the peer at " + core->where() + " did not answer the close in time";
    core->closing_.remove(*this);
    auto const failure = make_failure(why, text);
    core->lose(make_error_code(sluice::error::closed_locally), text);
    core->poll_events();  // what the loss ends is over before anybody is woken
    finish(why, failure);
}

void connection_core::close_request::finish(std::error_code code, failure_ptr why)
{
    auto const core = core_;
    core->deadlines_.disarm(*this);
    auto reply = std::move(reply_);
    delete this;
    core->answer(*core->completions_, std::move(reply), code, std::move(why));
}

void connection_core::start_close(amqp_error why, reply_ptr<> r)
{
    auto* const request = new close_request{shared_from_this(), std::move(why), std::move(r)};
    if (!push(*request))
        request->refuse();
}

void connection_core::abandon(std::shared_ptr<connection_core> self)
{
    self->start_close({}, nullptr);
}

/// The container goes: a close if the socket takes it at once, and then the end.
class connection_core::abort_command final : public command {
public:
    void execute(connection_core& on) override
    {
        auto const text = "the container of the connection to " + on.where() + " is gone";
        on.failure_code_ = make_error_code(sluice::error::operation_aborted);
        on.failure_text_ = text;
        if (on.connecting_)
            on.connecting_->cancel();
        if (on.engine_ && on.stream_) {
            std::ignore = on.engine_->close({}, true);
            std::ignore = on.write_some();
        }
        on.lose(on.failure_code_, text);
        if (!on.engine_)
            on.finish(make_failure(on.failure_code_, text));
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    ~abort_command() override = default;
};

void connection_core::start_abort() noexcept
{
    auto* const c = new abort_command;
    if (!push(*c))
        c->refuse();
    // A connection that has ended may still wait for its peer to read the close.
    boost::asio::post(io_->context(), [self = shared_from_this()] {
        if (self->ended())
            self->end_stream();
    });
}

}  // namespace sluice::client::detail
