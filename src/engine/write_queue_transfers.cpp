// Transfer frames: an id is given out in the step that appends the frame's bytes, and nowhere else.
// [2.5.6, 2.6.14]
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/write_queue_put.hpp>
#include <sluice/engine/write_queue.hpp>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice::engine {

using status = write_status;

namespace {

/// Sets a flag for one scope: flows asked for within it are deferred.
class flag_guard {
public:
    explicit flag_guard(bool& flag) noexcept : flag_{flag} { flag_ = true; }
    ~flag_guard() { flag_ = false; }
    flag_guard(flag_guard const&) = delete;
    flag_guard& operator=(flag_guard const&) = delete;

private:
    bool& flag_;
};

/// More than frame header and performative of a transfer take: a first frame, a continuation.
/// Constants, so that the hot path need not add up what each field may need.
inline std::size_t transfer_overhead(bool first, outgoing_delivery const& d,
                                     std::size_t state) noexcept
{
    constexpr std::size_t base = frame_header_size + 48;
    constexpr std::size_t continuation = frame_header_size + 32;
    return first ? base + d.tag().size() + state : continuation;
}

inline std::byte* put_uint(std::byte* p, std::uint32_t v) noexcept
{
    if (v == 0)
        return *p = std::byte{0x43}, p + 1;
    if (v < 256)
        return p[0] = std::byte{0x52}, p[1] = static_cast<std::byte>(v), p + 2;
    p[0] = std::byte{0x70};
    p[1] = static_cast<std::byte>(v >> 24);
    p[2] = static_cast<std::byte>(v >> 16);
    p[3] = static_cast<std::byte>(v >> 8);
    p[4] = static_cast<std::byte>(v);
    return p + 5;
}

/// The first transfer of a delivery without state, as encode() would write it (a test compares
/// them): a third of what the general way costs, once a message.
inline std::byte* put_usual_transfer(std::byte* out, handle h, delivery_number id,
                                     delivery_tag const& tag, std::uint32_t format, bool settled,
                                     bool more) noexcept
{
    auto* p = put_uint(out + 6, h.value);
    p = put_uint(p, id.value());
    p[0] = std::byte{0xa0};
    p[1] = static_cast<std::byte>(tag.size);
    if (tag.size == 4) [[likely]]
        std::memcpy(p + 2, tag.octets.data(), 4);
    else
        std::memcpy(p + 2, tag.octets.data(), tag.size);
    p = put_uint(p + 2 + tag.size, format);
    auto fields = 4u;
    if (settled || more)
        *p++ = settled ? std::byte{0x41} : std::byte{0x40}, ++fields;
    if (more)
        *p++ = std::byte{0x41}, ++fields;
    constexpr std::array<std::byte, 4> head{std::byte{0x00}, std::byte{0x53}, std::byte{0x14},
                                            std::byte{0xc0}};
    std::memcpy(out, head.data(), head.size());
    out[4] = static_cast<std::byte>(p - out - 5);
    out[5] = static_cast<std::byte>(fields);
    return p;
}

/// Octets [from, from + count) of the two parts, to `to`.
inline void copy_payload(payload const& p, std::uint64_t from, std::size_t count,
                         std::byte* to) noexcept
{
    auto const head = p.head.size();
    if (from == 0 && count == head && count > 0) [[likely]] {
        std::memcpy(to, p.head.data(), count);
        return;
    }
    if (from < head) {
        auto const n = std::min(count, head - static_cast<std::size_t>(from));
        std::memcpy(to, p.head.data() + from, n);
        to += n;
        count -= n;
        from += n;
    }
    if (count > 0)
        std::memcpy(to, p.tail.data() + (from - head), count);
}

}  // namespace

/// The fields of the next transfer of `d`; `more` is the caller's to set.
inline transfer write_queue::transfer_of(sender const& s, outgoing_delivery const& d) const noexcept
{
    transfer t{.handle = s.local_handle_};
    if (d.state_ != outgoing_state::queued)
        return t;
    t.delivery_id = next_delivery_id_;
    t.delivery_tag = d.tag_.view();
    t.message_format = d.message_format_;
    if (d.settled_)
        t.settled = true;
    t.state = {d.local_state_};
    t.resume = d.resume_;
    return t;
}

inline void write_queue::count_transfer() noexcept
{
    ++next_outgoing_id_;  // [2.5.6] before any other frame of this session
    --remote_window_;
    auto& counters = session_.counters_;
    ++counters.transfers_written;
    if (next_outgoing_id_.value() == 0)
        ++counters.wraps;
    ++session_.connection_.counters_.frames_written;
}

inline void write_queue::after_first_frame(sender& s, outgoing_delivery& d)
{
    d.state_ = outgoing_state::begun;
    d.id_ = next_delivery_id_;
    ++next_delivery_id_;
    --s.unbegun_;
    --s.credit_;
    ++s.delivery_count_;
    if (!d.settled_) {
        session_.outgoing_.push(d.id_, d);
        d.indexed_ = true;
    }
}

[[gnu::always_inline]] inline void write_queue::after_last_frame(sender& s, outgoing_delivery& d)
{
    s.queue_.remove(d);
    ++session_.counters_.deliveries_sent;
    auto const answered = d.outcome_ != outcome_kind::none;
    if (answered) [[unlikely]]
        session_.settle_answered(d);
    auto const gone = d.settled_ || d.remotely_settled_;
    d.state_ = gone       ? outgoing_state::settled
               : answered ? outgoing_state::answered
                          : outgoing_state::unsettled;
    if (!gone) {
        s.sent_.push_back(d);
        if (d.notify_sent_)
            session_.emit(
                {.kind = event_kind::sent, .session = &session_, .link = &s, .outgoing = &d});
        return;
    }
    if (d.settled_ && !d.notify_sent_) {
        session_.release(d);
        return;
    }
    auto const kind = d.settled_ ? event_kind::sent : event_kind::outcome;
    session_.emit({.kind = kind, .final = true, .session = &session_, .link = &s, .outgoing = &d});
}

/// After a transfer the link goes to the end of the line, if it has more. [rule W5]
[[gnu::always_inline]] inline void write_queue::after_transfer(sender& s)
{
    if (!s.sendable()) {
        unschedule(s);
    } else if (ready_.size() > 1) {
        ready_.remove(s);
        ready_.push_back(s);
    }
    owes_transfer_ = false;
    if (s.drain_) [[unlikely]]
        answer_drain(s);
    if (remote_window_ < std::max(1u, window_at_last_news_ / 2))
        ask_for_window();
}

/// Some peers never send a flow unasked: one echo a window asks for news. [rule W6]
void write_queue::ask_for_window() noexcept
{
    if (asked_for_window_ || ready_.empty() || session_.state_ != session_state::mapped)
        return;
    asked_for_window_ = true;
    request_flow(nullptr, true);
}

/// The sender has nothing more to begin: it gives the rest of the credit back. [2.6.7]
void write_queue::answer_drain(sender& s)
{
    if (!s.drain_ || s.drain_answered_ || s.drain_waits_ || s.state_ != link_state::attached)
        return;
    if (s.unbegun_ > 0 && s.credit_ > 0)
        return;
    s.delivery_count_ += s.credit_;
    s.credit_ = 0;
    s.drain_answered_ = true;
    request_flow(&s, false);
}

std::byte* write_queue::put_transfer(sender const& s, outgoing_delivery const& d, bool more,
                                     std::byte* out) const noexcept
{
    auto t = transfer_of(s, d);
    t.more = more;
    return encode(t, out);
}

[[gnu::always_inline]] inline write_result write_queue::write_payload(sender& s,
                                                                      outgoing_delivery& d,
                                                                      std::span<std::byte> out)
{
    auto const first = d.state_ == outgoing_state::queued;
    auto const usual = first && d.usual_;
    auto const overhead = transfer_overhead(first, d, usual ? 0 : d.local_state_.size());
    auto const room = std::size_t{session_.connection_.outgoing_frame_max_} - overhead;
    auto const left = d.payload_.size() - static_cast<std::size_t>(d.sent_);
    auto const count = std::min(left, room);
    if (overhead + count > out.size()) [[unlikely]]
        return {.status = status::no_room};

    auto const more = count < left;
    auto* const head = out.data() + frame_header_size;
    auto* const body = usual ? put_usual_transfer(head, s.local_handle_, next_delivery_id_, d.tag_,
                                                  d.message_format_, d.settled_, more)
                             : put_transfer(s, d, more, head);
    copy_payload(d.payload_, d.sent_, count, body);
    auto const size = static_cast<std::size_t>(body - out.data()) + count;
    write_frame_header(out.data(), static_cast<std::uint32_t>(size), frame_type::amqp,
                       session_.local_channel_);
    count_transfer();

    d.sent_ += count;
    if (first)
        after_first_frame(s, d);
    if (!more)
        after_last_frame(s, d);
    after_transfer(s);
    return {.status = status::wrote, .size = size};
}

[[gnu::always_inline]] inline write_result write_queue::write_transfer_inline(
    sender& s, std::span<std::byte> out)
{
    assert(s.sendable());  // who changes that takes the link off `ready_`
    auto& d = *s.queue_.front();
    if (d.state_ == outgoing_state::aborting) [[unlikely]]
        return write_abort(s, d, out);
    return d.source_ ? write_streamed(s, d, out) : write_payload(s, d, out);
}

/// Fills `room` from the body's source as far as that goes; says why when it failed.
pull_result write_queue::pull_body(sender& s, outgoing_delivery& d, std::span<std::byte> room)
{
    pull_result pulled{.status = pull_status::bytes};
    {
        flag_guard const writing{writing_transfer_};
        while (pulled.size < room.size() && pulled.status == pull_status::bytes) {
            auto const answer = d.source_->pull(room.subspan(pulled.size));
            assert(answer.size <= room.size() - pulled.size);
            // No octets and no reason would be asked for ever.
            auto const empty = answer.status == pull_status::bytes && answer.size == 0;
            pulled.status = empty ? pull_status::not_ready : answer.status;
            if (answer.status != pull_status::failed)
                pulled.size += answer.size;
        }
    }
    auto const limit = s.remote_.max_message_size.value_or(0);
    if (limit != 0 && d.sent_ + pulled.size > limit) {
        pulled.status = pull_status::failed;
        d.failure_ = error::message_size_exceeded;
    } else if (pulled.status == pull_status::failed) {
        d.failure_ = error::body_source_failed;
    }
    return pulled;
}

/// The frame whose body failed was never there, it takes no id and no credit; what was sent before
/// it is aborted.
void write_queue::withdraw_failed(sender& s, outgoing_delivery& d)
{
    if (d.state_ == outgoing_state::begun) {
        d.state_ = outgoing_state::aborting;
        return;
    }
    s.queue_.remove(d);
    --s.unbegun_;
    d.state_ = outgoing_state::withdrawn;
    session_.emit({.kind = event_kind::aborted,
                   .final = true,
                   .code = make_error_code(d.failure_),
                   .session = &session_,
                   .link = &s,
                   .outgoing = &d});
    after_transfer(s);
}

write_result write_queue::write_streamed(sender& s, outgoing_delivery& d, std::span<std::byte> out)
{
    auto t = transfer_of(s, d);
    t.more = true;
    auto const overhead =
        transfer_overhead(d.state_ == outgoing_state::queued, d, d.local_state_.size());
    auto const frame_max = std::size_t{session_.connection_.outgoing_frame_max_};
    if (out.size() < frame_max)
        return {.status = status::no_room};
    auto* body = encode(t, out.data() + frame_header_size);
    auto const room = frame_max - overhead;

    auto const [answer, count] = pull_body(s, d, {body, room});
    if (answer == pull_status::failed) {
        withdraw_failed(s, d);
        return write_next(out);
    }
    if (answer == pull_status::not_ready)
        d.source_ready_ = false;
    if (count == 0 && answer == pull_status::not_ready) {
        unschedule(s);  // gives up its turn [rule W3]
        return write_next(out);
    }
    auto const last = answer == pull_status::end;
    if (last) {  // `more` was written before the source could tell
        t.more = false;
        auto* const shorter = encode(t, out.data() + frame_header_size);
        std::memmove(shorter, body, count);
        body = shorter;
    }
    auto const size = static_cast<std::size_t>(body - out.data()) + count;
    write_frame_header(out.data(), static_cast<std::uint32_t>(size), frame_type::amqp,
                       session_.local_channel_);
    count_transfer();

    d.sent_ += count;
    if (d.state_ == outgoing_state::queued)
        after_first_frame(s, d);
    if (last)
        after_last_frame(s, d);
    after_transfer(s);
    return {.status = status::wrote, .size = size};
}

write_result write_queue::write_abort(sender& s, outgoing_delivery& d, std::span<std::byte> out)
{
    transfer const t{.handle = s.local_handle_, .aborted = true};
    auto const written = put(t, out);
    if (written.status != status::wrote)
        return written;
    --session_.connection_.counters_.frames_written;  // counted by count_transfer() as well
    count_transfer();
    s.queue_.remove(d);
    if (d.indexed_)
        session_.outgoing_.remove(d.id_);  // settled by this [2.7.5]
    d.indexed_ = false;
    d.state_ = outgoing_state::aborted;
    session_.emit({.kind = event_kind::aborted,
                   .final = true,
                   .code = make_error_code(d.failure_),
                   .session = &session_,
                   .link = &s,
                   .outgoing = &d});
    after_transfer(s);
    return written;
}

write_result write_queue::write_transfer(sender& s, std::span<std::byte> out)
{
    return write_transfer_inline(s, out);
}

write_result write_queue::write_many(std::span<std::byte> out)
{
    std::size_t used = 0;
    while (true) {
        auto last = write_next(out.subspan(used));
        used += last.size;
        // After a transfer, only what writing it asked for can come before the next: flows, and
        // dispositions.
        auto const plain = last.status == status::wrote && !needs_attention();
        while (plain && last.status == status::wrote && flows_.empty() && control_.empty()
               && !ready_.empty() && remote_window_ > 0) {
            last = write_transfer_inline(*ready_.front(), out.subspan(used));
            used += last.size;
        }
        if (last.status != status::wrote)
            return {.status = last.status, .size = used};
    }
}

}  // namespace sluice::engine
