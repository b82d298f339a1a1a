// What goes next: requests are merged here, and write_next() takes turns between them.
#include <sluice/engine/connection.hpp>
#include <sluice/engine/write_queue.hpp>

#include <algorithm>
#include <cassert>

namespace sluice::engine {

write_queue::write_queue(session& owner, session_options const& options) noexcept
    : session_{owner},
      initial_outgoing_id_{options.next_outgoing_id},
      next_outgoing_id_{options.next_outgoing_id},
      next_delivery_id_{options.next_delivery_id},
      outgoing_window_{options.outgoing_window}
{
}

void write_queue::restart(session_options const& options) noexcept
{
    initial_outgoing_id_ = options.next_outgoing_id;
    next_outgoing_id_ = options.next_outgoing_id;
    next_delivery_id_ = options.next_delivery_id;
    outgoing_window_ = options.outgoing_window;
    remote_window_ =
        last_peer_window_;  // the peer counted from our first id, which it did not know yet
    window_at_last_news_ = last_peer_window_;
}

void write_queue::push_attach(link& l)
{
    l.attach_queued_ = true;
    control_.push_back({.attach = &l});
    session_.wake();
}

void write_queue::push_disposition(role of, delivery_number id, bool settled, raw_value state)
{
    constexpr std::size_t least = 64;  // of a disposition without its state
    // A sender only repeats what its peer said: what that cannot take itself is left out. [2.7.1]
    if (of == role::sender
        && state.encoded.size() + least > session_.connection_.outgoing_frame_max_)
        state = {};
    auto const accepts = is_accepted(state);
    if (!control_.empty()) {
        auto& last = control_.back();
        auto const same_state = last.is_accepted == accepts && last.has_state == !state.empty()
                                && (accepts || same_bytes(last.state, state.encoded));
        if (!last.attach && last.of == of && last.settled == settled && same_state
            && last.last + 1 == id) {
            last.last = id;
            return;
        }
    }
    control c{.of = of,
              .settled = settled,
              .is_accepted = accepts,
              .has_state = !state.empty(),
              .first = id,
              .last = id};
    if (!accepts)
        c.state.assign(state.encoded.begin(), state.encoded.end());
    control_.push_back(std::move(c));
    session_.wake();
}

void write_queue::push_detach(link& l) noexcept
{
    l.detach_queued_ = true;
    detaching_.push_back(l);
    session_.wake();
}

void write_queue::push_end(bool overtake) noexcept
{
    end_queued_ = true;
    end_overtakes_ = end_overtakes_ || overtake;
    session_.wake();
}

void write_queue::request_flow(link* l, bool echo)
{
    auto& pending = l ? l->flow_pending_ : session_flow_pending_;
    auto& echo_pending = l ? l->echo_pending_ : session_echo_;
    echo_pending = echo_pending || echo;
    if (pending)
        return;
    pending = true;
    if (writing_transfer_)
        ++session_.counters_.flows_deferred;
    if (round_ > 0)
        owes_transfer_ = true;  // asked for during a round: waits for the next [rule W3]
    // A link whose attach is not written yet joins when it is.
    if (!l || l->state_ != link_state::detached) {
        if (l && l->state_ == link_state::attach_received)
            return;
        flows_.push_back(l);
        session_.wake();
    }
}

void write_queue::schedule(sender& s) noexcept
{
    if (s.scheduled_)
        return;
    s.scheduled_ = true;
    ready_.push_back(s);
    session_.wake();
    if (remote_window_ < std::max(1u, window_at_last_news_ / 2))
        ask_for_window();
}

void write_queue::unschedule(sender& s) noexcept
{
    if (!s.scheduled_)
        return;
    s.scheduled_ = false;
    ready_.remove(s);
}

void write_queue::forget(link& l) noexcept
{
    if (l.role_ == role::sender)
        unschedule(static_cast<sender&>(l));
    for (std::size_t i = 0; l.flow_pending_ && i < flows_.size(); ++i)
        if (flows_[i] == &l)
            flows_[i] = nullptr;
    for (std::size_t i = 0; l.attach_queued_ && i < control_.size(); ++i) {
        if (control_[i].attach != &l)
            continue;
        control_[i] = {};  // an empty disposition range, skipped when it comes up
        control_[i].of = role::receiver;
        control_[i].last = control_[i].first - 1;
    }
    if (l.detach_queued_ && l.state_ != link_state::detach_sent && l.state_ != link_state::ended)
        detaching_.remove(l);
}

/// [2.5.6]: remote-incoming-window = next-incoming-id + incoming-window - next-outgoing-id, never
/// below 0. 64 bits, for the difference can be negative and the window any 32-bit number.
std::error_code write_queue::on_peer_window(std::optional<transfer_id> next_incoming_id,
                                            std::uint32_t window) noexcept
{
    auto const known = next_incoming_id.value_or(initial_outgoing_id_);
    auto const lead = distance(next_outgoing_id_, known);
    if (lead > 0)
        return make_error_code(error::unsent_transfer_acknowledged);
    auto const open = static_cast<std::int64_t>(lead) + static_cast<std::int64_t>(window);
    remote_window_ = static_cast<std::uint32_t>(std::max<std::int64_t>(open, 0));
    window_at_last_news_ = remote_window_;
    last_peer_window_ = window;
    asked_for_window_ = false;
    session_.wake();
    return {};
}

bool write_queue::may_transfer() const noexcept
{
    return !ready_.empty() && remote_window_ > 0 && session_.state_ == session_state::mapped;
}

bool write_queue::flows_due() const noexcept
{
    if (flows_.empty())
        return false;
    return round_ > 0 || !owes_transfer_ || !may_transfer();
}

/// Before the peer's begin its handle-max is unknown; handle 0 is always allowed. [2.7.2]
bool write_queue::attach_must_wait(link const& l) const noexcept
{
    return session_.state_ == session_state::begin_sent && l.local_handle_.value > 0;
}

link* write_queue::finished_detach() const noexcept
{
    for (auto* l = detaching_.front(); l; l = decltype(detaching_)::after(l)) {
        if (l->attach_queued_)
            continue;
        if (l->role_ == role::receiver || l->overtake_ || !static_cast<sender*>(l)->begun())
            return l;
    }
    return nullptr;
}

bool write_queue::end_is_due() const noexcept
{
    if (!end_queued_)
        return false;
    if (end_overtakes_)
        return true;
    if (!control_.empty() || !detaching_.empty())
        return false;
    // Deliveries that have begun are finished first. [rule W4]
    return std::none_of(session_.links_.begin(), session_.links_.end(), [](auto const& l) {
        return l->role_ == role::sender && l->state_ == link_state::attached
               && static_cast<sender const&>(*l).begun();
    });
}

bool write_queue::wants_write() const noexcept
{
    auto const s = session_.state_;
    if (session_.begin_queued_ || end_is_due())
        return true;
    if (s != session_state::mapped && s != session_state::begin_sent
        && s != session_state::end_received)
        return false;
    if (s == session_state::end_received)
        return end_queued_;
    if (!control_.empty()) {
        auto const& c = control_[0];
        if (!c.attach || !attach_must_wait(*c.attach))
            return true;
    }
    return !flows_.empty() || finished_detach() || may_transfer();
}

write_result write_queue::write_next(std::span<std::byte> out)
{
    assert(!writing_transfer_);  // a body source must not call back in here
    if (needs_attention()) {
        auto const written = write_other(out);
        if (written.status != write_status::idle)
            return written;
    }
    if (!may_transfer())
        return {};
    return write_transfer(*ready_.front(), out);
}

/// Everything but transfers, in the order of rule W4.
write_result write_queue::write_other(std::span<std::byte> out)
{
    if (session_.begin_queued_)
        return write_begin(out);
    if (end_is_due())
        return write_end(out);
    if (session_.state_ != session_state::mapped && session_.state_ != session_state::begin_sent)
        return {};
    if (!control_.empty()) {
        auto const written = write_control(out);
        if (written.status != write_status::idle)
            return written;
    }
    if (auto* const l = finished_detach()) {
        auto* const s = l->role_ == role::sender ? static_cast<sender*>(l) : nullptr;
        // Given up: the half delivery is aborted if the window admits the frame, else detach
        // overtakes it.
        if (s && !s->reported_ && s->begun() && remote_window_ > 0)
            return write_abort(*s, *s->queue_.front(), out);
        return write_detach(*l, out);
    }
    return flows_due() ? write_flow(out) : write_result{};
}

}  // namespace sluice::engine
