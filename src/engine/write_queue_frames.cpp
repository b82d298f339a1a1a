// The frames of a session other than transfers: each reads its fields here, in the step that
// appends its bytes.
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/write_queue_put.hpp>
#include <sluice/engine/write_queue.hpp>

#include <cassert>

namespace sluice::engine {

using status = write_status;

namespace {

/// Capabilities of an options struct as the codec takes them; lives as long as the frame is being
/// encoded.
class symbol_array {
public:
    explicit symbol_array(std::vector<std::string> const& texts)
    {
        items_.reserve(texts.size());
        for (auto const& t : texts) items_.emplace_back(std::string_view{t});
    }
    symbols view() const noexcept { return {std::span<symbol const>{items_}}; }

private:
    std::vector<symbol> items_;
};

}  // namespace

write_result write_queue::put_whole(bytes const& frame, std::span<std::byte> out)
{
    auto const size = detail::put_whole(frame, out);
    if (size == 0)
        return {.status = status::no_room};
    ++session_.connection_.counters_.frames_written;
    return {.status = status::wrote, .size = size};
}

bytes write_queue::begin_frame()
{
    auto const& o = session_.options_;
    symbol_array const offered{o.offered_capabilities};
    symbol_array const desired{o.desired_capabilities};
    begin b{.next_outgoing_id = next_outgoing_id_,
            .incoming_window = session_.inbox_.window_to_write(),
            .outgoing_window = outgoing_window_,
            .handle_max = handle{o.handle_max},
            .offered_capabilities = offered.view(),
            .desired_capabilities = desired.view(),
            .properties = {o.properties}};
    if (session_.has_remote_channel_)
        b.remote_channel = session_.remote_channel_;
    return detail::whole_frame(session_.local_channel_, b);
}

write_result write_queue::write_begin(std::span<std::byte> out)
{
    auto const written = put_whole(begin_frame(), out);
    if (written.status != status::wrote)
        return written;
    session_.begin_queued_ = false;
    session_.step(session_event::send_begin);
    if (session_.state_ == session_state::mapped
        && !end_queued_)  // refused: begin, then end, and never begun
        session_.emit({.kind = event_kind::session_begun, .session = &session_});
    return written;
}

write_result write_queue::write_control(std::span<std::byte> out)
{
    auto& c = control_.front();
    if (c.attach) {
        if (attach_must_wait(*c.attach))
            return {};
        auto& l = *c.attach;
        if (auto* const before = leaving_namesake(l))
            return write_detach(*before, out);
        auto const written = write_attach(l, out);
        if (written.status == status::wrote)
            control_.pop_front();
        return written;
    }
    auto const written = write_disposition(c, out);
    if (written.status == status::wrote)
        control_.pop_front();
    return written;
}

/// Who had the name before has to be detached first: an attach of a name in use would take that
/// link over. [2.6.1]
link* write_queue::leaving_namesake(link const& l) const noexcept
{
    for (auto* d = detaching_.front(); d; d = decltype(detaching_)::after(d))
        if (d != &l && d->role_ == l.role_ && !d->attach_queued_ && d->name() == l.name())
            return d;
    return nullptr;
}

bytes write_queue::attach_frame(link const& l) const
{
    auto const& o = l.options_;
    symbol_array const offered{o.offered_capabilities};
    symbol_array const desired{o.desired_capabilities};
    attach a{.name = o.name,
             .handle = l.local_handle_,
             .role = l.role_,
             .snd_settle_mode = l.snd_settle_mode_,
             .rcv_settle_mode = l.rcv_settle_mode_,
             .source = {o.source},
             .target = {o.target},
             .unsettled = {o.unsettled},
             .incomplete_unsettled = o.incomplete_unsettled,
             .offered_capabilities = offered.view(),
             .desired_capabilities = desired.view(),
             .properties = {o.properties}};
    if (l.role_ == role::sender)
        a.initial_delivery_count = o.initial_delivery_count;
    if (o.max_message_size != 0)
        a.max_message_size = o.max_message_size;
    return detail::whole_frame(session_.local_channel_, a);
}

write_result write_queue::write_attach(link& l, std::span<std::byte> out)
{
    auto const written = put_whole(attach_frame(l), out);
    if (written.status != status::wrote)
        return written;
    l.attach_queued_ = false;
    l.step(link_event::send_attach);
    if (l.state_ == link_state::attached && !l.refused_ && !l.reported_)
        session_.emit({.kind = event_kind::link_attached, .session = &session_, .link = &l});
    if (l.flow_pending_)
        flows_.push_back(&l);  // was asked for before its attach
    if (l.role_ == role::sender)
        static_cast<sender&>(l).wake();
    if (l.state_ == link_state::detach_received && !l.detach_queued_)
        push_detach(l);
    return written;
}

write_result write_queue::write_disposition(control& c, std::span<std::byte> out)
{
    if (precedes(c.last, c.first))
        return {.status = status::wrote};  // emptied by forget(): nothing to say
    disposition d{.role = c.of, .first = c.first, .settled = c.settled};
    if (c.last != c.first)
        d.last = c.last;
    if (c.is_accepted)
        d.state = {encoded_accepted};
    else if (c.has_state)
        d.state = {c.state};
    auto const written = put(d, out);
    if (written.status == status::wrote)
        ++session_.counters_.dispositions_written;
    return written;
}

/// Late binding [rule W2]: nothing of a flow is known before this moment.
flow write_queue::flow_fields(link* l, bool echo)
{
    flow f{.next_incoming_id = session_.inbox_.next_incoming_id(),
           .incoming_window = session_.inbox_.window_to_write(),
           .next_outgoing_id = next_outgoing_id_,
           .outgoing_window = outgoing_window_,
           .echo = echo};
    if (!l)
        return f;
    f.handle = l->local_handle_;
    if (l->role_ == role::sender) {
        auto const& s = static_cast<sender&>(*l);
        f.delivery_count = s.delivery_count_;
        f.link_credit = s.credit_;
        f.available = static_cast<std::uint32_t>(s.unbegun_) + s.available_;
        f.drain = s.drain_;
    } else {
        auto& r = static_cast<receiver&>(*l);
        f.link_credit = r.credit_to_write();
        if (r.knows_count_)
            f.delivery_count = r.delivery_count_;
        f.drain = r.drain_;
    }
    return f;
}

write_result write_queue::write_flow(std::span<std::byte> out)
{
    if (round_ == 0) {
        round_ = flows_.size();
        owes_transfer_ = false;
    }
    auto* l = flows_.front();
    auto const gone =
        l && l->state_ != link_state::attached && l->state_ != link_state::attach_sent;
    auto const for_session =
        !l || gone || l->detach_queued_;  // a leaving link's flow becomes the session's
    if (!l && (!session_flow_pending_ || round_ > 1)) {
        flows_.pop_front();  // a link's flow has answered it meanwhile, or one of this round will
                             // [rule W2]
        --round_;
        return flows_due() ? write_flow(out) : write_result{};
    }
    auto const echo = session_echo_ || (l && !for_session && l->echo_pending_);
    auto const written = put(flow_fields(for_session ? nullptr : l, echo), out);
    if (written.status != status::wrote)
        return written;
    flows_.pop_front();
    --round_;
    if (l) {
        l->flow_pending_ = false;
        l->echo_pending_ = false;
    }
    session_flow_pending_ = false;
    session_echo_ = false;
    ++session_.counters_.flows_written;
    return written;
}

write_result write_queue::write_detach(link& l, std::span<std::byte> out)
{
    detach d{
        .handle = l.local_handle_, .closed = l.detach_closed_, .error = l.detach_error_.view()};
    auto const written = put(d, out);
    if (written.status != status::wrote)
        return written;
    detaching_.remove(l);
    if (l.role_ == role::sender)
        unschedule(static_cast<sender&>(l));
    if (l.flow_pending_)
        request_flow(nullptr, l.echo_pending_);
    l.step(link_event::send_detach);
    if (l.state_ == link_state::ended)
        session_.unbind(l);
    return written;
}

write_result write_queue::write_end(std::span<std::byte> out)
{
    end const e{.error = session_.end_error_.view()};
    auto const written = put(e, out);
    if (written.status != status::wrote)
        return written;
    end_queued_ = false;
    session_.step(session_.end_error_.empty() ? session_event::send_end
                                              : session_event::send_end_with_error);
    if (session_.state_ == session_state::ended)
        session_.finish(session_.end_code_);
    return written;
}

}  // namespace sluice::engine
