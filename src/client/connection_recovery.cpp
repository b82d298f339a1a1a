// A connection that comes back by itself: what is kept, when it is tried again, what is told.
#include "client/connection_core.hpp"
#include "client/session_core.hpp"

namespace sluice::client::detail {
namespace {

constexpr std::size_t one_fact = 1;
constexpr std::size_t events_kept = 64;
/// A connection that lives shorter than this counts as one more failed attempt.
constexpr clock_time settled_after{1'000};

}  // namespace

bool connection_core::is_curable(std::error_code code)
{
    auto const now = phase();
    if (!recovers() || server_ || now == detail::phase::ended || now == detail::phase::closing)
        return false;
    if (now == detail::phase::opening && backoff_.attempts() + 1 >= urls_.size())
        return false;  // connect() tries each place once
    return may_cure_connection(failure_code_ ? failure_code_ : code,
                               engine_ ? engine_->error() : amqp_error{});
}

/// The engine goes, and with it all that it knows; what users hold stays, and waits.
void connection_core::start_recovery()
{
    lost_ = false;
    auto const why = why_closed(lost_code_);
    set_failure(nullptr);
    if (stream_)
        std::ignore = write_some();  // the answer to the peer's close
    end_stream();
    if (phase() == detail::phase::open) {
        if (now_ - opened_at_ >= settled_after)
            backoff_.reset();
        set_phase(detail::phase::recovering);  // first: the links that end now do not end it
        for (auto const& s : std::vector{sessions_}) s->lose();
        tell_state(connection_state::recovering, why);
    } else {
        url_at_.store((url_at_.load(std::memory_order_relaxed) + 1) % urls_.size(),
                      std::memory_order_relaxed);
    }
    if (engine_) {
        auto const& c = engine_->counters();
        counted_before_.bytes_received += c.bytes_received;
        counted_before_.bytes_written += c.bytes_written;
        counted_before_.frames_received += c.frames_received;
        counted_before_.frames_written += c.frames_written;
    }
    engine_.reset();
    sasl_.reset();
    watch_.reset();
    if (container_->tracing()) {
        trace_in_.emplace("<- ");
        trace_out_.emplace("-> ");
    }
    lost_ = waits_to_read_ = waits_to_write_ = write_shut_ = false;
    why_closed_ = nullptr;
    failure_text_.clear();
    failure_code_ = {};
    auto const delay = backoff_.next(*options_.reconnect, now_, urls_.size());
    if (delay)
        return deadlines_.arm(again_, *delay, now_);
    finish(make_failure(why->code,
                        "given up after " + std::to_string(backoff_.attempts())
                            + " attempts to reconnect; the last: " + why->text,
                        why->error));
}

void connection_core::attempt()
{
    if (!ended() && !engine_ && !connecting_)
        connect_now();
}

void connection_core::stop_recovery() noexcept
{
    lost_ = false;
    deadlines_.disarm(again_);
    if (auto const going = std::exchange(connecting_, nullptr))
        going->cancel();
}

/// Open again: everything is asked for anew, in the order in which it was made.
void connection_core::come_back()
{
    set_phase(detail::phase::open);
    reconnects_.fetch_add(1, std::memory_order_relaxed);
    for (auto const& s : std::vector{sessions_}) s->begin_again();
}

// ---- what is told

void connection_core::tell_state(connection_state state, failure_ptr why)
{
    state_change const to{.state = state, .why = why, .reconnects = reconnects()};
    states_.publish(to);
    if (feed_)
        feed_->tell(observed_state{where(), to});
    if (state != connection_state::closed)
        return;
    states_.close(why);
    closed_.publish(why);
    closed_.close(why);
    blocked_.close(why);
}

std::shared_ptr<notice_channel<state_change>> connection_core::state_changes()
{
    return states_.subscribe(completions_, events_kept);
}
std::shared_ptr<notice_channel<failure_ptr>> connection_core::closed_notice()
{
    return closed_.subscribe(completions_, one_fact);
}
std::shared_ptr<notice_channel<blocked_change>> connection_core::blocked_notice()
{
    return blocked_.subscribe(completions_, events_kept);
}

/// Sends wait for the peer's credit or window, or for the socket.
void connection_core::watch_blocked()
{
    auto blocked = waits_to_write_;
    if (engine_ && !ended() && !blocked)
        engine_->for_each_session([&](engine::session& s) {
            s.for_each_link([&](engine::link& l) {
                if (l.role() != role::sender)
                    return;
                auto const& out = static_cast<engine::sender&>(l);
                blocked |= out.unbegun() > out.credit()
                           || (out.queued() > 0 && s.remote_incoming_window() == 0);
            });
        });
    if (blocked != std::exchange(is_blocked_, blocked))
        blocked_.publish({.blocked = blocked});
}

void connection_core::set_credentials(std::string user, std::string password)
{
    std::lock_guard const lock{default_session_mutex_};
    user_ = std::move(user);
    password_ = std::move(password);
}

}  // namespace sluice::client::detail
