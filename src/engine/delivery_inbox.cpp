// Counting, checking and putting together what a session receives.
#include <sluice/engine/connection.hpp>
#include <sluice/engine/delivery_inbox.hpp>

#include <algorithm>

namespace sluice::engine {

delivery_inbox::delivery_inbox(session& owner, session_options const& options) noexcept
    : session_{owner},
      capacity_{std::clamp(options.incoming_window, 1u, 0x7fff'ffffu)},
      buffered_max_{options.buffered_bytes_max}
{
}

void delivery_inbox::on_begin(transfer_id first) noexcept
{
    next_incoming_id_ = first;
    counted_ = first;
    promised_edge_ = first + capacity_;  // what our begin said, or will say
    begun_ = true;
}

std::optional<transfer_id> delivery_inbox::next_incoming_id() const noexcept
{
    if (!begun_)
        return std::nullopt;
    return next_incoming_id_;
}

/// The free room, counted from next-incoming-id; an edge that was promised is kept even if the room
/// is gone, or if a tolerated flow of the peer moved next-incoming-id.
std::uint32_t delivery_inbox::window_to_write() noexcept
{
    if (!begun_)
        return capacity_;
    auto const free =
        capacity_ - static_cast<std::uint32_t>(std::min<std::size_t>(waiting_.size(), capacity_));
    auto const edge = counted_ + free;
    if (precedes(promised_edge_, edge))
        promised_edge_ = edge;
    return static_cast<std::uint32_t>(std::max(0, distance(next_incoming_id_, promised_edge_)));
}

void delivery_inbox::refuse_beyond_window(transfer const& t)
{
    session_.fail(error::window_violation, condition::window_violation,
                  "transfer " + std::to_string(counted_.value()) + " on handle "
                      + std::to_string(t.handle.value) + " is beyond the window, which ends before "
                      + std::to_string(promised_edge_.value()) + " [2.5.6]");
}

/// Every transfer frame counts, whatever it is and whether its link lives. [2.5.6]
inline bool delivery_inbox::count_frame(transfer const& t)
{
    if (counted_ == promised_edge_) [[unlikely]]
        return refuse_beyond_window(t), false;
    ++counted_;
    ++next_incoming_id_;
    ++session_.counters_.transfers_received;
    return true;
}

/// Half of the window is used: the peer hears of the other half before it runs dry. [2.5.6]
void delivery_inbox::request_window_if_due()
{
    auto const left = distance(counted_, promised_edge_);
    if (left > static_cast<std::int32_t>(capacity_ / 2)) [[likely]]
        return;
    auto const free = capacity_ - std::min(capacity_, static_cast<std::uint32_t>(waiting_.size()));
    if (static_cast<std::int32_t>(free) > left)
        session_.queue_.request_flow(nullptr, false);
}

void delivery_inbox::on_stray_transfer(transfer const& t)
{
    if (!count_frame(t))
        return;
    // Crossed with our detach: dropped, but its delivery-id was used. [2.6.6]
    if (t.delivery_id && (!knows_delivery_id_ || *t.delivery_id == next_delivery_id_)) {
        next_delivery_id_ = *t.delivery_id + 1;
        knows_delivery_id_ = true;
    }
    request_window_if_due();
}

void delivery_inbox::on_transfer(receiver& link, transfer const& t, bytes_view payload)
{
    // One branch for what is hardly ever true.
    auto const ends = (link.refused_ | link.detach_queued_ | link.reported_) != 0;
    if (link.state_ != link_state::attached || ends) [[unlikely]] {
        on_stray_transfer(t);
        if (link.state_ == link_state::attach_received)
            link.on_early_transfer();
        return;
    }
    if (!count_frame(t))
        return;
    // With frames of the link waiting, the newest of them tells whether a delivery is half here.
    auto const first = link.waiting_frames_ > 0 ? !link.half_waits_ : link.partial_ == nullptr;
    if (first ? !check_first(link, t) : !check_continuation(link, t))
        return;
    if (must_wait(link, first, payload.size())) [[unlikely]] {
        if (!first && link.waiting_frames_ == 0)
            link.half_id_ = link.partial_->id_;
        wait(link, t, payload, first);
    } else
        admit(link, t, payload, first);
    request_window_if_due();
}

void delivery_inbox::refuse_first(receiver& link, transfer const& t)
{
    if (!t.delivery_id || !t.delivery_tag)
        return session_.fail_link(link, error::missing_mandatory_field, condition::invalid_field,
                                  std::string{"the first transfer of a delivery has no "}
                                      + (t.delivery_id ? "delivery-tag" : "delivery-id")
                                      + " [2.7.5]");
    if (t.delivery_tag->size() > 32)
        return session_.fail_link(link, error::invalid_value, condition::invalid_field,
                                  "delivery-tag of " + std::to_string(t.delivery_tag->size())
                                      + " octets; at most 32 are allowed [2.8.7]");
    if (knows_delivery_id_ && *t.delivery_id != next_delivery_id_)
        return session_.fail(error::invalid_delivery_id, condition::invalid_field,
                             "delivery-id " + std::to_string(t.delivery_id->value())
                                 + " is out of sequence; expected "
                                 + std::to_string(next_delivery_id_.value()) + " [2.7.5]");
    next_delivery_id_ = *t.delivery_id + 1;  // it was used, though not allowed
    knows_delivery_id_ = true;
    if (asks_for_second(link, t))
        return session_.fail_link(link, error::invalid_value, condition::invalid_field,
                                  "delivery " + std::to_string(t.delivery_id->value())
                                      + " asks for rcv-settle-mode second, and its link has first "
                                        "[2.7.5]");
    session_.fail_link(link, error::transfer_limit_exceeded, condition::transfer_limit_exceeded,
                       "delivery " + std::to_string(t.delivery_id->value()) + " at delivery-count "
                           + std::to_string(link.delivery_count_.value()) + " is beyond the limit "
                           + std::to_string(link.written_limit_.value()) + " [2.6.7]");
}

/// "If the negotiated link value is first, then it is illegal to set this field to second." [2.7.5]
inline bool delivery_inbox::asks_for_second(receiver const& link, transfer const& t) noexcept
{
    return t.rcv_settle_mode == receiver_settle_mode::second
           && link.rcv_settle_mode_ == receiver_settle_mode::first;
}

inline bool delivery_inbox::check_first(receiver& link, transfer const& t)
{
    auto const complete = t.delivery_id && t.delivery_tag && t.delivery_tag->size() <= 32;
    auto const in_sequence =
        complete && (!knows_delivery_id_ || *t.delivery_id == next_delivery_id_);
    auto const fits = in_sequence && link.granted_ != 0;
    if (!fits || t.rcv_settle_mode) [[unlikely]]
        if (!fits || asks_for_second(link, t))
            return refuse_first(link, t), false;
    next_delivery_id_ = *t.delivery_id + 1;
    knows_delivery_id_ = true;
    --link.granted_;
    if (link.credit_ > 0)
        --link.credit_;
    ++link.delivery_count_;
    ++link.held_;
    return true;
}

bool delivery_inbox::check_continuation(receiver& link, transfer const& t)
{
    auto const& begun = link.half_waits_ ? link.half_id_ : link.partial_->id_;
    if (t.delivery_id && *t.delivery_id != begun) {
        session_.fail_link(link, error::invalid_delivery_id, condition::invalid_field,
                           "a continuation transfer names delivery-id "
                               + std::to_string(t.delivery_id->value()) + " while delivery "
                               + std::to_string(begun.value()) + " is not complete [2.7.5]");
        return false;
    }
    if (t.delivery_tag || t.message_format) [[unlikely]]
        return check_repeated(link, t);
    return true;
}

/// What a continuation may leave out has to be what the first frame said. [2.7.5]
bool delivery_inbox::check_repeated(receiver& link, transfer const& t)
{
    auto tag = link.partial_ ? link.partial_->tag() : bytes_view{};
    auto format = link.partial_ ? link.partial_->message_format() : 0;
    if (link.half_waits_)  // its first frame may be here still: then that is the newest of them
        for (auto i = waiting_.size(); i != 0;) {
            auto const& f = waiting_[--i];
            if (f.link == &link && f.first) {
                tag = f.tag.view();
                format = f.message_format;
                break;
            }
        }
    auto const same_tag = !t.delivery_tag || same_bytes(*t.delivery_tag, tag);
    if (same_tag && t.message_format.value_or(format) == format)
        return true;
    session_.fail_link(link, error::invalid_value, condition::invalid_field,
                       std::string{"a continuation transfer has another "}
                           + (same_tag ? "message-format" : "delivery-tag")
                           + " than the first one of its delivery [2.7.5]");
    return false;
}

inline bool delivery_inbox::must_wait(receiver const& link, bool first,
                                      std::size_t size) const noexcept
{
    if (link.waiting_frames_ > 0)
        return true;  // order within a link
    if (first)
        return buffered_ + size > buffered_max_ && link.unread_ > 0;
    return link.options_.streamed && link.unread_ >= link.options_.stream_buffer_max
           && !link.partial_->dropped_;
}

inline incoming_delivery& delivery_inbox::begin_delivery(receiver& link, transfer const& t)
{
    auto& d = session_.connection_.incoming_pool_.acquire();
    d.link_ = &link;
    d.id_ = *t.delivery_id;
    d.message_format_ = t.message_format.value_or(0);
    d.remotely_settled_ = t.settled.value_or(false);
    d.resumed_ = t.resume;
    d.mode_ = link.rcv_settle_mode_;
    if (t.rcv_settle_mode) [[unlikely]]
        d.mode_ = *t.rcv_settle_mode;
    d.tag_.assign(*t.delivery_tag);
    if (!t.state.empty()) [[unlikely]]
        d.remote_state_.assign(t.state.encoded.begin(), t.state.encoded.end());
    link.here_.push_back(d);
    if (!d.remotely_settled_) {
        session_.incoming_.push(d.id_, d);
        d.indexed_ = true;
    }
    return d;
}

inline void delivery_inbox::append(receiver& link, incoming_delivery& d, bytes_view payload)
{
    auto const* const from = payload.data();
    if (d.body_.empty())
        d.body_.assign(from, from + payload.size());
    else
        d.body_.insert(d.body_.end(), from, from + payload.size());
    link.unread_ += payload.size();
    buffered_ += payload.size();
}

void delivery_inbox::refuse_too_large(receiver& link, incoming_delivery const& d)
{
    session_.fail_link(link, error::message_size_exceeded, condition::message_size_exceeded,
                       "delivery " + std::to_string(d.id_.value()) + " has "
                           + std::to_string(d.received_) + " octets or more; max-message-size is "
                           + std::to_string(link.options_.max_message_size) + " [2.7.3]");
}

/// A sender that said how it settles keeps to it. Only a strict session minds. [2.7.5, 2.8.2]
bool delivery_inbox::check_settled(receiver& link, incoming_delivery const& d, transfer const& t)
{
    auto const mode = link.snd_settle_mode_;
    if (d.dropped_)
        return true;
    auto const says_settled = t.settled.value_or(false);  // a disposition may at any time
    auto const wrong =
        mode == sender_settle_mode::settled ? !t.more && !d.remotely_settled_ : says_settled;
    if (!wrong)
        return true;
    session_.fail_link(link, error::invalid_state, condition::not_allowed,
                       "delivery " + std::to_string(d.id_.value())
                           + (says_settled ? " is settled and snd-settle-mode is unsettled"
                                           : " is not settled and snd-settle-mode is settled")
                           + " [2.7.5]");
    return false;
}

/// A delivery in one frame: most are.
inline bool delivery_inbox::admit_whole(receiver& link, transfer const& t, bytes_view payload)
{
    auto const limit = link.options_.max_message_size;
    if (t.more || t.aborted || (limit != 0 && payload.size() > limit) || link.drain_)
        return false;
    auto& d = begin_delivery(link, t);
    d.received_ = payload.size();
    if (link.minds_settled_ && !check_settled(link, d, t)) [[unlikely]]
        return true;
    append(link, d, payload);
    static_assert(incoming_table.next(incoming_state::none, incoming_event::frame_last)
                  == incoming_state::complete);
    d.state_ = incoming_state::complete;
    d.complete_ = true;
    ++session_.counters_.deliveries_received;
    session_.connection_.emit_delivery(event_kind::delivery, session_, link, nullptr, &d, false);
    return true;
}

void delivery_inbox::admit(receiver& link, transfer const& t, bytes_view payload, bool first)
{
    if (first && admit_whole(link, t, payload))
        return;
    if (first) {
        link.partial_ = &begin_delivery(link, t);
        ++partial_;
    }
    auto& d = *link.partial_;
    if (t.aborted) [[unlikely]]
        return abort(link, d);
    if (!first && t.settled.value_or(false)
        && !d.remotely_settled_) {  // settled on a later frame [2.7.5]
        d.remotely_settled_ = true;
        if (d.indexed_)
            session_.incoming_.remove(d.id_);
        d.indexed_ = false;
    }
    if (link.minds_settled_ && !check_settled(link, d, t)) [[unlikely]]
        return;
    d.received_ += payload.size();
    auto const limit = link.options_.max_message_size;
    if (limit != 0 && d.received_ > limit) [[unlikely]]
        return refuse_too_large(link, d);
    if (!d.dropped_)
        append(link, d, payload);
    if (!t.more)
        return finish(link, d);
    d.state_ = *incoming_table.next(d.state_, incoming_event::frame_more);
    if (!link.options_.streamed || d.dropped_)
        return;
    if (first) {
        link.streamed_begun_ = &d;
        session_.emit(
            {.kind = event_kind::delivery, .session = &session_, .link = &link, .incoming = &d});
    } else if (!d.announced_) {
        d.announced_ = true;
        d.noted_ = true;
        session_.emit({.kind = event_kind::delivery_part,
                       .session = &session_,
                       .link = &link,
                       .incoming = &d});
    }
}

inline void delivery_inbox::finish(receiver& link, incoming_delivery& d)
{
    d.state_ = *incoming_table.next(d.state_, incoming_event::frame_last);
    d.complete_ = true;
    auto const announced = link.streamed_begun_ == &d;
    link.streamed_begun_ = nullptr;
    link.partial_ = nullptr;
    --partial_;
    ++session_.counters_.deliveries_received;
    if (d.dropped_ && d.remotely_settled_) [[unlikely]] {
        if (d.indexed_)
            session_.incoming_.remove(d.id_);
        link.let_go(d);
    } else if (d.dropped_) [[unlikely]] {  // answered in mode second, and not settled yet
        d.state_ = *incoming_table.next(d.state_, incoming_event::answer);
    } else {
        d.noted_ = announced;
        session_.emit({.kind = announced ? event_kind::delivery_part : event_kind::delivery,
                       .session = &session_,
                       .link = &link,
                       .incoming = &d});
    }
    if (link.drain_)
        link.check_drained();
}

/// Settled by the abort: no disposition, no message; the credit it took comes back in automatic
/// mode. [2.7.5]
void delivery_inbox::abort(receiver& link, incoming_delivery& d)
{
    if (d.indexed_)
        session_.incoming_.remove(d.id_);
    d.indexed_ = false;
    d.state_ = incoming_state::aborted;
    d.remotely_settled_ = true;
    link.partial_ = nullptr;
    --partial_;
    auto const announced = link.streamed_begun_ == &d;
    link.streamed_begun_ = nullptr;
    d.noted_ = announced;
    if (d.dropped_) {
        link.let_go(d);
    } else {
        if (!announced)  // its owner has nothing of it to settle
            link.part_with(d);
        session_.emit({.kind = event_kind::delivery_aborted,
                       .final = !announced,
                       .code = make_error_code(error::delivery_aborted),
                       .session = &session_,
                       .link = &link,
                       .incoming = &d});
    }
    link.check_drained();
}

}  // namespace sluice::engine
