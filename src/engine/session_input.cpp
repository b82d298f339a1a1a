// What a session does with the frames of its peer, and what it answers to those that break a rule.
// [2.5, 2.6]
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fault_of.hpp>
#include <sluice/engine/session.hpp>

#include <cassert>

namespace sluice::engine {

using detail::fault_of;

template <class T>
bool session::decode_or_fail(bytes_view body, T& out)
{
    auto rest = body;
    if (!decode(rest, out) && rest.empty()) [[likely]]
        return true;
    connection_.fail(error::invalid_value, condition::decode_error, fault_of(body, out));
    return false;
}

void session::on_begin(sluice::begin const& b, bytes_view encoded)
{
    remote_bytes_.assign(encoded.begin(), encoded.end());
    bytes_view in{remote_bytes_};
    std::ignore = decode(in, remote_);
    inbox_.on_begin(b.next_outgoing_id);
    auto const in_state = step(session_event::receive_begin);
    assert(in_state);
    std::ignore = in_state;
    std::ignore = queue_.on_peer_window(std::nullopt, b.incoming_window);
    if (state_ != session_state::mapped)
        return;
    emit({.kind = event_kind::session_begun, .session = this});
    // Links whose attach waited for the peer's handle-max and lie beyond it fail here, unsent.
    // [2.7.2]
    for (auto& l : links_) {
        if (!l->attach_queued_ || l->local_handle_.value <= remote_.handle_max.value)
            continue;
        drop_unsent(*l, error::handle_max_exceeded);
    }
    wake();
}

void session::on_frame(std::uint64_t descriptor, bytes_view body)
{
    if (descriptor == 0x17)
        return on_end(body);
    if (!takes_frames())
        return;
    switch (descriptor) {
    case 0x12: return on_attach(body);
    case 0x13: return on_flow(body);
    case 0x14: return on_transfer(body);
    case 0x15: return on_disposition(body);
    case 0x16: return on_detach(body);
    default:
        connection_.fail(error::invalid_descriptor, condition::decode_error,
                         "performative with descriptor " + std::to_string(descriptor)
                             + " is not one that a session takes [2.7]");
    }
}

void session::on_attach(bytes_view body)
{
    attach a;
    if (!decode_or_fail(body, a))
        return;
    auto const h = a.handle;
    if (h.value > options_.handle_max)
        return connection_.fail(error::handle_max_exceeded, condition::framing_error,
                                "attach with handle " + std::to_string(h.value) + "; handle-max is "
                                    + std::to_string(options_.handle_max) + " [2.7.2]");
    if (auto const* const other = find_remote(h))
        return fail(error::handle_in_use, condition::handle_in_use,
                    "attach of '" + std::string{a.name} + "' with handle " + std::to_string(h.value)
                        + ", which link '" + other->name() + "' uses [2.6.2]");
    auto const own = a.role == role::sender ? role::receiver : role::sender;
    if (a.role == role::sender && !a.initial_delivery_count)
        return fail(error::missing_mandatory_field, condition::invalid_field,
                    "attach of sender '" + std::string{a.name}
                        + "' without initial-delivery-count [2.7.3]");
    auto* l = find_half_attached(a.name, own);
    constexpr std::size_t least = 64;  // of an attach that refuses, beside its name
    if (!l && a.name.size() + least > connection_.outgoing_frame_max_)
        return fail(error::too_large, condition::frame_size_too_small,
                    "attach of a link whose name has " + std::to_string(a.name.size())
                        + " octets: no answer fits a frame that its peer takes [2.7.1]");
    if (!l)
        l = &make_remote_link(a);
    bind_remote(*l, h);
    connection_.pause_if_numbers_are_used_up(this);
    answer_attach(*l, a, body);
}

link& session::make_remote_link(attach const& a)
{
    link_options o;
    o.name = std::string{a.name};
    o.snd_settle_mode = a.snd_settle_mode;
    o.rcv_settle_mode = a.rcv_settle_mode;
    if (a.role == role::sender)
        return keep(std::unique_ptr<link>{new receiver{*this, std::move(o)}});
    return keep(std::unique_ptr<link>{new sender{*this, std::move(o)}});
}

void session::answer_attach(link& l, attach const& a, bytes_view encoded)
{
    l.adopt_remote(encoded);
    no_more_half_attached(l);
    auto const asked = !l.has_local_handle_;
    auto const crossed = l.attach_queued_;  // both sides attach at once, ours is not written yet
    l.step(link_event::receive_attach);
    if (l.role_ == role::receiver)
        static_cast<receiver&>(l).on_attached();
    if (asked)
        return emit({.kind = event_kind::link_requested, .session = this, .link = &l});
    if (l.state_ != link_state::attached && !crossed)
        return;  // we have sent our detach meanwhile
    l.settle_modes();
    // A null terminus on the peer's side refuses the link; the detach that says why follows.
    // [2.6.3]
    auto const& theirs = l.role_ == role::sender ? a.target : a.source;
    auto const& ours = l.role_ == role::sender ? l.options_.target : l.options_.source;
    l.refused_ = theirs.empty() && !ours.empty();
    if (l.refused_ || crossed)
        return;
    emit({.kind = event_kind::link_attached, .session = this, .link = &l});
    if (l.role_ == role::sender)
        static_cast<sender&>(l).wake();
}

bool session::check_flow(flow const& f)
{
    ++counters_.flows_received;
    if (f.next_outgoing_id != inbox_.counted_) {
        ++counters_.flow_mismatches;
        auto const expected = inbox_.counted_.value();
        auto const actual = f.next_outgoing_id.value();
        if (options_.policy == flow_policy::strict) {
            fail(error::window_violation, condition::window_violation,
                 "flow with next-outgoing-id " + std::to_string(actual) + "; "
                     + std::to_string(expected)
                     + " is the id after the last transfer frame received [2.5.6]");
            return false;
        }
        emit({.kind = event_kind::flow_mismatch,
              .session = this,
              .expected = expected,
              .actual = actual});
        if (reported_)
            return false;
    }
    inbox_.take_next_incoming_id(f.next_outgoing_id);
    if (queue_.on_peer_window(f.next_incoming_id, f.incoming_window)) {
        fail(error::unsent_transfer_acknowledged, condition::window_violation,
             "flow with next-incoming-id " + std::to_string(f.next_incoming_id->value())
                 + " ahead of " + std::to_string(next_outgoing_id().value())
                 + ", the id of the next transfer to be sent [2.5.6]");
        return false;
    }
    return true;
}

void session::on_flow(bytes_view body)
{
    flow f;
    if (!decode_or_fail(body, f) || !check_flow(f))
        return;
    if (!f.handle) {
        if (options_.policy == flow_policy::strict
            && (f.delivery_count || f.link_credit || f.available || f.drain))
            return fail(error::invalid_value, condition::invalid_field,
                        "flow with a link's fields and no handle [2.7.4]");
        if (f.echo)
            queue_.request_flow(nullptr, false);
        return;
    }
    auto* const l = find_remote(*f.handle);
    if (!l)
        return fail(error::unattached_handle, condition::unattached_handle,
                    "flow for handle " + std::to_string(f.handle->value)
                        + ", which is not attached [2.6.2]");
    if (l->reported_)
        return;
    if (l->role_ == role::sender)
        static_cast<sender*>(l)->on_flow(f);
    else
        static_cast<receiver*>(l)->on_flow(f);
}

void session::on_transfer(bytes_view body)
{
    auto& t = scratch_;  // decode() sets all of it: made once instead of once a message
    if (decode(body, t)) [[unlikely]]
        return connection_.fail(error::invalid_value, condition::decode_error, fault_of(body, t));
    auto* const l = find_remote(t.handle);
    if (!l || l->role_ == role::sender) [[unlikely]]
        return refuse_transfer(l, t);
    inbox_.on_transfer(static_cast<receiver&>(*l), t, body);
}

void session::refuse_transfer(link* l, transfer const& t)
{
    if (!l)
        return fail(error::unattached_handle, condition::unattached_handle,
                    "transfer for handle " + std::to_string(t.handle.value)
                        + ", which is not attached [2.6.2]");
    inbox_.on_stray_transfer(t);
    if (!l->reported_)
        fail_link(*l, error::invalid_state, condition::not_allowed,
                  "transfer from the receiver of link '" + l->name() + "' [2.7.5]");
}

void session::on_disposition(bytes_view body)
{
    disposition d;
    if (!decode_or_fail(body, d))
        return;
    ++counters_.dispositions_received;
    auto const last = d.last.value_or(d.first);
    if (precedes(last, d.first))
        return fail(error::invalid_delivery_id, condition::invalid_field,
                    "disposition whose last, " + std::to_string(last.value())
                        + ", precedes its first, " + std::to_string(d.first.value()) + " [2.7.6]");
    if (d.role == role::receiver)
        settle_outgoing(d);
    else
        settle_incoming(d);
}

void session::settle_outgoing(disposition const& d)
{
    outgoing_.for_each_in(d.first, d.last.value_or(d.first),
                          [&](outgoing_delivery& delivery) { apply_outcome(delivery, d); });
}

/// Mode second: the last word is the sender's, as soon as it knows the outcome. [2.6.12]
bool session::settles_answered(outgoing_delivery const& d) const noexcept
{
    auto const terminal =
        d.outcome_ >= outcome_kind::accepted && d.outcome_ <= outcome_kind::declared;
    return terminal && d.link_->options_.auto_settle;
}

/// Its receiver stated an outcome before the last frame, which is written now.
void session::settle_answered(outgoing_delivery& d)
{
    if (d.settled_ || d.remotely_settled_ || !settles_answered(d))
        return;
    queue_.push_disposition(role::sender, d.id_, true, d.remote_state());
    outgoing_.remove(d.id_);
    d.indexed_ = false;
    d.remotely_settled_ = true;
}

void session::apply_outcome(outgoing_delivery& d, disposition const& what)
{
    if (what.state.empty() && !what.settled)
        return;  // says nothing
    auto& s = *d.link_;
    auto const accepted = is_accepted(what.state);
    if (!what.state.empty()) {
        d.outcome_ = accepted ? outcome_kind::accepted : kind_of(what.state);
        if (accepted)
            d.remote_state_.clear();
        else
            d.remote_state_.assign(what.state.encoded.begin(), what.state.encoded.end());
    }
    auto settled = what.settled;
    if (!settled && settles_answered(d) && d.state_ != outgoing_state::begun) {
        queue_.push_disposition(role::sender, d.id_, true,
                                what.state);  // mode second: the last word is ours [2.6.12]
        settled = true;
    }
    if (settled) {
        outgoing_.remove(d.id_);
        d.indexed_ = false;
        d.remotely_settled_ = true;
        if (d.state_ == outgoing_state::begun || d.state_ == outgoing_state::aborting)
            return;  // told at its end
        d.state_ = outgoing_state::settled;
        s.sent_.remove(d);
    } else if (auto const next = outgoing_table.next(d.state_, outgoing_event::outcome)) {
        d.state_ = *next;
    }
    connection_.emit_delivery(event_kind::outcome, *this, s, &d, nullptr, settled);
}

void session::settle_incoming(disposition const& what)
{
    if (what.settled)
        inbox_.settle_waiting(what);
    incoming_.for_each_in(what.first, what.last.value_or(what.first), [&](incoming_delivery& d) {
        if (!what.state.empty())
            d.remote_state_.assign(what.state.encoded.begin(), what.state.encoded.end());
        if (!what.settled)
            return;
        incoming_.remove(d.id_);
        d.indexed_ = false;
        d.remotely_settled_ = true;
        if (!d.complete_)
            return;
        auto& r = *d.link_;
        auto const answered = d.state_ == incoming_state::answered;
        if (d.dropped_)
            return r.let_go(d);  // its owner was done with it when it was half here
        d.state_ = *incoming_table.next(d.state_, incoming_event::peer_settles);
        if (answered) {  // the owner waits for this and is done with it
            r.part_with(d);
        }
        d.noted_ = !answered;
        emit({.kind = event_kind::delivery_settled,
              .final = answered,
              .session = this,
              .link = &r,
              .incoming = &d});
    });
}

void session::on_detach(bytes_view body)
{
    detach d;
    if (!decode_or_fail(body, d))
        return;
    auto* const l = find_remote(d.handle);
    if (!l)
        return fail(error::unattached_handle, condition::unattached_handle,
                    "detach for handle " + std::to_string(d.handle.value)
                        + ", which is not attached [2.6.2]");
    remote_handles_[d.handle.value] = nullptr;
    l->has_remote_handle_ = false;
    l->closed_by_peer_ = d.closed;
    if (d.error)
        l->error_ = amqp_error::from(d.error);
    l->step(link_event::receive_detach);
    if (l->state_ == link_state::ended) {
        auto const code =
            d.error ? make_error_code(error::link_detached_by_peer) : std::error_code{};
        report_link_end(*l, code);
        return unbind(*l);
    }
    auto const code = l->refused_ ? error::link_refused : error::link_detached_by_peer;
    report_link_end(*l, make_error_code(code));
    l->overtake_ = true;  // ours goes out at once, nothing can be finished any more
    if (l->detach_queued_) {
        wake();
    } else {
        l->detach_closed_ = d.closed;
        if (!l->has_local_handle_) {  // never accepted: attach, then detach [2.6.3]
            if (bind_local(*l))
                queue_.push_attach(*l);
        } else if (!l->attach_queued_) {
            queue_.push_detach(*l);  // else write_attach() sees to it
        }
    }
    connection_.pause_if_numbers_are_used_up(this);
}

void session::on_end(bytes_view body)
{
    sluice::end e;
    if (!decode_or_fail(body, e))
        return;
    if (e.error)
        error_ = amqp_error::from(e.error);
    ended_by_peer_ = state_ == session_state::mapped || state_ == session_state::begin_received;
    if (!step(session_event::receive_end))
        return connection_.fail(error::frame_out_of_state, condition::illegal_state,
                                "end on channel " + std::to_string(remote_channel_)
                                    + " of a session that has not begun [2.5.5]");
    connection_.release_remote_channel(*this);
    auto const asked_for =
        queue_.end_queued_ && end_error_.empty() && !e.error;  // both sides ended at once
    if (state_ == session_state::ended) {
        auto const code =
            e.error ? make_error_code(error::session_ended_by_peer) : std::error_code{};
        return finish(code);
    }
    if (!begin_queued_
        && !connection_.has_channel(*this)) {  // never accepted: begin, then end [2.5.1]
        if (connection_.bind_channel(*this))
            begin_queued_ = true;
    }
    queue_.push_end(true);
    connection_.pause_if_numbers_are_used_up(nullptr);
    end_code_ = asked_for ? std::error_code{} : make_error_code(error::session_ended_by_peer);
    finish(end_code_);
}

}  // namespace sluice::engine
