// Commands of a connection, its channels, its events and how it ends.
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fit_error.hpp>

#include <algorithm>
#include <cassert>

namespace sluice::engine {

connection::connection(connection_options options) : options_{std::move(options)}
{
    options_.max_frame_size = std::max(options_.max_frame_size, frame_size_min_max);
    options_.outgoing_frame_max = std::max(options_.outgoing_frame_max, frame_size_min_max);
    options_.events_max = std::max(options_.events_max, 1u);
    channel_max_ = options_.channel_max;
}

connection::~connection() = default;

bool connection::step(connection_event on) noexcept
{
    auto const next = connection_table.next(state_, on);
    if (next)
        state_ = *next;
    return next.has_value();
}

std::error_code connection::open()
{
    if (open_wanted_ || close_wanted_ || state_ == connection_state::ended)
        return make_error_code(error::invalid_state);
    if (options_.listener && state_ != connection_state::open_received)
        return make_error_code(error::invalid_state);
    open_wanted_ = true;
    // Until the peer has said what it takes, that is 512 octets. [2.4.1, 2.7.1]
    if (open_frame().size() <= outgoing_frame_max_)
        return {};
    open_wanted_ = false;
    if (options_.listener)
        end_output(error::too_large, "our open does not fit the "
                                         + std::to_string(outgoing_frame_max_)
                                         + " octets that the peer takes [2.7.1]");
    return make_error_code(error::too_large);
}

std::error_code connection::close(amqp_error why, bool overtake)
{
    if (close_sent_ || state_ == connection_state::ended || output_ended_)
        return make_error_code(error::invalid_state);
    if (close_wanted_) {
        if (!overtake && why.empty())
            return make_error_code(error::invalid_state);
        close_overtakes_ = true;
        return {};
    }
    close_wanted_ = true;
    close_overtakes_ = overtake || !why.empty() || state_ != connection_state::opened;
    detail::fit(why, outgoing_frame_max_);
    close_error_ = std::move(why);
    close_code_ = make_error_code(error::closed_locally);
    if (error_.empty())
        error_ = close_error_;
    if (!close_overtakes_)
        for (auto& s : sessions_) s->end();
    return {};
}

result<session*> connection::begin(session_options options)
{
    if (close_wanted_ || reported_ || state_ == connection_state::ended)
        return unexpected{error::connection_not_open};
    std::unique_ptr<session> made{new session{*this, std::move(options)}};
    if (!bind_channel(*made))
        return unexpected{error::channel_max_exceeded};
    if (made->queue_.begin_frame().size() > frame_size_max()) {
        release_local_channel(*made);
        return unexpected{error::too_large};
    }
    auto& s = keep(std::move(made));
    s.begin_queued_ = true;
    activate(s);
    return &s;
}

session& connection::keep(std::unique_ptr<session> made)
{
    made->place_ = sessions_.size();
    sessions_.push_back(std::move(made));
    return *sessions_.back();
}

bool connection::bind_channel(session& s)
{
    for (std::size_t i = lowest_free_channel_; i <= channel_max_; ++i) {
        if (i == local_channels_.size())
            local_channels_.push_back(nullptr);
        lowest_free_channel_ = i;
        if (local_channels_[i])
            continue;
        local_channels_[i] = &s;
        s.local_channel_ = static_cast<std::uint16_t>(i);
        return true;
    }
    return false;
}

bool connection::has_channel(session const& s) const noexcept
{
    return s.local_channel_ < local_channels_.size() && local_channels_[s.local_channel_] == &s;
}

void connection::release_remote_channel(session& s) noexcept
{
    if (find_remote(s.remote_channel_) == &s)
        remote_channels_[s.remote_channel_] = nullptr;
}

void connection::release_local_channel(session& s) noexcept
{
    if (!has_channel(s))
        return;
    local_channels_[s.local_channel_] = nullptr;
    lowest_free_channel_ = std::min(lowest_free_channel_, std::size_t{s.local_channel_});
}

/// Both ends are through: both channels may be used again.
void connection::unmap(session& s) noexcept
{
    release_local_channel(s);
    release_remote_channel(s);
}

/// A link or session that the peer has ended keeps its number until our answer is written.
bool session::handles_are_used_up() const noexcept
{
    auto const max =
        std::min(std::size_t{options_.handle_max}, std::size_t{remote_.handle_max.value});
    return links_.size() > max && std::any_of(links_.begin(), links_.end(), [](auto const& l) {
               return l->state_ == link_state::detach_received;
           });
}

bool connection::channels_are_used_up() const noexcept
{
    return sessions_.size() > channel_max_
           && std::any_of(sessions_.begin(), sessions_.end(),
                          [](auto const& s) { return s->state_ == session_state::end_received; });
}

bool connection::numbers_are_used_up() const noexcept
{
    if (channels_are_used_up())
        return true;
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [](auto const& s) { return s->handles_are_used_up(); });
}

/// @param s the session whose links have changed, or null: the sessions have
void connection::pause_if_numbers_are_used_up(session const* s) noexcept
{
    if (options_.writes_between && !must_write_first_)
        must_write_first_ = s ? s->handles_are_used_up() : channels_are_used_up();
}

void connection::forget(session& s)
{
    assert(s.reported_);
    recycle_final();
    for (auto& l : s.links_) {
        if (!l->forgotten_)
            s.release_deliveries(*l);
        l->forgotten_ = true;
    }
    s.forgotten_ = true;
    unsure_ = true;
    if (s.state_ == session_state::ended)
        free(s);
}

/// Events that wait may refer to what nobody wants any more: it goes when there are none, so that
/// nothing has to be looked for among them.
void connection::free(session& s)
{
    if (&s == writing_ || s.gone_)
        return;  // write_sessions() frees it when it has nothing more to write
    if (s.active_)
        active_.remove(s);
    s.active_ = false;
    s.gone_ = true;
    s.next_gone_ = std::exchange(gone_sessions_, &s);
    if (events_.empty())
        free_gone();
}

void connection::free(link& l)
{
    if (std::exchange(l.gone_, true))
        return;
    l.next_gone_ = std::exchange(gone_links_, &l);
    if (events_.empty())
        free_gone();
}

void connection::free_gone()
{
    while (gone_links_) {
        auto& l = *std::exchange(gone_links_, gone_links_->next_gone_);
        l.session_->erase(l);
    }
    while (gone_sessions_) {
        auto const at = std::exchange(gone_sessions_, gone_sessions_->next_gone_)->place_;
        std::swap(sessions_[at], sessions_.back());
        sessions_[at]->place_ = at;
        sessions_.pop_back();
    }
    unsure_ = false;
}

// ---- events

void connection::recycle_final() noexcept
{
    if (!final_.session)
        return;
    if (final_.outgoing)
        final_.session->release(*final_.outgoing);
    else if (final_.incoming)
        final_.session->release(*final_.incoming);
    final_ = {};
}

/// What it refers to is still of use; else the last reference to its delivery goes with it.
bool connection::is_of_use(event const& e) noexcept
{
    if (e.kind < event_kind::session_requested)
        return true;
    if (!e.session)
        return false;  // see purge()
    if (!e.session->forgotten_ && !(e.link && e.link->forgotten_))
        return true;
    if (e.final && e.outgoing)
        e.session->release(*e.outgoing);
    else if (e.final && e.incoming)
        e.session->release(*e.incoming);
    return false;
}

/// Its owner is done with it, and what there is to tell of it would refer to memory of others.
void connection::purge(incoming_delivery const& d) noexcept
{
    for (std::size_t i = 0; i < events_.size(); ++i)
        if (events_[i].incoming == &d && events_[i].session && !events_[i].final)
            events_[i].session = nullptr;
    unsure_ = true;
}

bool connection::poll_event(event& out)
{
    if (final_.session)
        recycle_final();
    while (!events_.empty()) {
        out = events_.front();
        events_.pop_front();
        if (unsure_ && !is_of_use(out)) [[unlikely]]
            continue;
        if (out.final)
            final_ = {out.session, out.outgoing, out.incoming};
        return true;
    }
    if (unsure_) [[unlikely]]
        free_gone();
    return false;
}

// ---- ends

/// Without a frame that says why.
void connection::end_output(sluice::error code, std::string text, std::string_view condition)
{
    if (!reported_)  // else it has ended for another reason
        error_ = {.condition = std::string{condition}, .description = std::move(text), .info = {}};
    state_ = connection_state::ended;
    output_ended_ = true;
    finish(make_error_code(code));
}

void connection::fail(sluice::error code, std::string_view condition, std::string text)
{
    if (reported_)
        return;
    if (layer_in_
        == layer::sasl) {  // no frame of this layer says an error: the stream ends [5.3.2]
        return end_output(code, std::move(text), condition);
    }
    close({.condition = std::string{condition}, .description = std::move(text), .info = {}}, true);
    finish(make_error_code(code));
}

void connection::finish(std::error_code code)
{
    if (reported_)
        return;
    reported_ = true;
    if (events_.empty())
        free_gone();  // not one by one while the table is gone through
    auto const why = code ? code : make_error_code(error::closed_locally);
    for (std::size_t i = sessions_.size(); i-- > 0;) {  // one that was forgotten leaves the table
        auto& s = *sessions_[i];
        s.on_connection_lost(why, error_);
    }
    emit({.kind = event_kind::connection_closed, .code = code});
}

void connection::transport_closed(std::error_code why)
{
    output_ended_ = true;
    auto const clean = state_ == connection_state::ended || (close_wanted_ && close_error_.empty());
    step(connection_event::transport_lost);
    state_ = connection_state::ended;
    finish(clean ? std::error_code{} : why);
}

time_point connection::tick(time_point now)
{
    if (!clock_started_) {
        clock_started_ = true;
        started_ = last_received_ = last_written_ = now;
    }
    auto next = time_point::max();
    if (state_ == connection_state::ended || output_ended_)
        return next;
    auto const due = [&](time_point since, std::uint32_t after_ms) {
        auto const at = since + time_point{after_ms};
        if (now >= at)
            return true;
        next = std::min(next, at);
        return false;
    };
    auto const shaking_hands = remote_bytes_.empty() && !reported_;
    if (shaking_hands && options_.handshake_timeout_ms != 0
        && due(started_, options_.handshake_timeout_ms)) {
        end_output(error::handshake_timeout, "the peer did not open within "
                                                 + std::to_string(options_.handshake_timeout_ms)
                                                 + " ms");
        return time_point::max();
    }
    auto const timeout = options_.idle_timeout_ms;
    if (!shaking_hands && timeout != 0 && !reported_ && due(last_received_, timeout)) {
        fail(error::idle_timeout_expired, condition::resource_limit_exceeded,
             "nothing received for " + std::to_string(timeout) + " ms [2.4.5]");
    }
    if (heartbeat_ms_ != 0 && !close_sent_ && due(last_written_, heartbeat_ms_)) {
        heartbeat_due_ = true;
        next = std::min(next, now + time_point{heartbeat_ms_});  // the one after it
    }
    return next;
}

}  // namespace sluice::engine
