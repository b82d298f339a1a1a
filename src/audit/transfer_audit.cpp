// Transfers: window, credit, delivery-ids, continuations, settlement. [2.6.12 - 2.6.14, 2.7.5]
#include "connection_audit.hpp"

#include <algorithm>

namespace sluice::audit::detail {

namespace {

/// The first frames seen of a link in use may be the rest of a delivery, so that they prove little.
void settle_in(session& s, link& l, transfer const& t)
{
    auto& mine = s.sent[index(l.direction)];
    if (t.delivery_id && mine.id_known && t.delivery_id->value() == mine.next_delivery_id)
        ++mine.next_delivery_id;
    l.settling_in = t.more && !t.aborted;
}

/// Whether a frame in the middle of a delivery starts the session's next one.
bool is_next_delivery(session const& s, link const& l, transfer const& t)
{
    auto const& mine = s.sent[index(l.direction)];
    return t.delivery_id && l.current.id_known && t.delivery_id->value() != l.current.id
           && t.delivery_id->value() == mine.next_delivery_id;
}

void check_delivery_id(reporter& report, session& s, link& l, transfer const& t)
{
    auto& mine = s.sent[index(l.direction)];
    if (!t.delivery_id) {
        report.report(rule::delivery_id_missing, text(mine.next_delivery_id), "absent",
                      "on a first frame");
        ++mine.next_delivery_id;
        return;
    }
    auto const id = t.delivery_id->value();
    if (mine.id_known && id != mine.next_delivery_id) [[unlikely]] {
        bool const gap = serial_distance(mine.next_delivery_id, id) > 0;
        report.report(gap ? rule::delivery_id_gap : rule::delivery_id_order,
                      text(mine.next_delivery_id), text(id), "one more than the last");
    }
    mine.id_known = true;
    mine.next_delivery_id = id + 1;
    if (l.current.settled || t.aborted)
        return;
    bool const first = t.rcv_settle_mode == receiver_settle_mode::first;
    mine.unsettled.push(id, l.second && !first);
}

void check_credit(reporter& report, session& s, link& l)
{
    auto const number = l.count++;
    if (l.draining.open && l.count >= l.drain_limit)
        l.draining.open = false;
    l.credit.arrived(s.sent[index(opposite(l.direction))].receiver_id.last);
    if (number < l.credit.highest()) [[likely]]
        return;
    if (l.overrun || s.learned || !s.begun[index(opposite(l.direction))])
        return;
    l.overrun = true;
    auto const count = [&](std::int64_t n) {
        return text(l.initial + static_cast<std::uint32_t>(n));
    };
    if (!l.credit.any())
        return report.report(rule::link_credit, "no delivery before credit",
                             "delivery-count " + count(number + 1));
    report.report(rule::link_credit, "at most delivery-count " + count(l.credit.highest()),
                  "delivery-count " + count(number + 1),
                  "the receiver's delivery-count + link-credit");
}

void begin_delivery(reporter& report, session& s, link& l, transfer const& t)
{
    auto& now = l.current;
    now.open = true;
    now.oversized = false;
    now.size = 0;
    now.settled = t.settled.value_or(false);
    now.id_known = t.delivery_id.has_value();
    now.id = now.id_known ? t.delivery_id->value() : 0;
    now.format_known = t.message_format.has_value();
    now.format = t.message_format.value_or(0);
    if (t.aborted
        && !t.resume)  // what was sent before the link was resumed may be aborted [2.6.13]
        report.report(rule::abort_nothing, "an abort of a delivery that has begun", "aborted=true",
                      "on a first frame");
    if (!now.format_known && t.more)
        report.report(rule::message_format_missing, "message-format", "absent",
                      "on the first frame of several");
    now.tag_size = 0;
    if (t.delivery_tag) {
        auto const size = std::min(t.delivery_tag->size(), now.tag.size());
        std::copy_n(t.delivery_tag->begin(), size, now.tag.begin());
        now.tag_size = static_cast<std::uint8_t>(size);
    } else {
        report.report(rule::delivery_tag_missing, "delivery-tag", "absent", "on a first frame");
    }
    if (t.resume && !l.resumable && !l.learned)
        report.report(rule::resume_unknown, "a delivery from the sender's unsettled map",
                      "resume=true", "its attach had none");
    check_delivery_id(report, s, l, t);
    check_credit(report, s, l);
}

void check_continuation(reporter& report, link& l, transfer const& t)
{
    auto const& now = l.current;
    if (t.delivery_id && now.id_known && t.delivery_id->value() != now.id)
        report.report(rule::continuation_delivery_id, text(now.id), text(t.delivery_id->value()),
                      "as on the first frame");
    bytes_view const tag{now.tag.data(), now.tag_size};
    if (t.delivery_tag && !same_bytes(*t.delivery_tag, tag))
        report.report(rule::continuation_delivery_tag, hex(tag), hex(*t.delivery_tag),
                      "as on the first frame");
    if (t.message_format && now.format_known && *t.message_format != now.format)
        report.report(rule::continuation_message_format, text(now.format), text(*t.message_format),
                      "as on the first frame");
    if (t.settled.value_or(false))
        l.current.settled = true;
}

void add_payload(reporter& report, link& l, std::uint64_t payload)
{
    auto& now = l.current;
    now.size += payload;
    if (l.message_size_max == 0 || now.size <= l.message_size_max || now.oversized) [[likely]]
        return;
    now.oversized = true;
    report.report(rule::message_size, "at most " + text(l.message_size_max), text(now.size),
                  "octets, the receiver's max-message-size");
}

void end_delivery(reporter& report, link& l, transfer const& t)
{
    auto& now = l.current;
    now.open = false;
    if (l.learned)
        return;
    auto& mine = l.of->sent[index(l.direction)];
    if (now.id_known && (now.settled || t.aborted) && mine.unsettled.live() != 0) {
        auto const found =
            mine.unsettled.for_range(now.id, now.id, [](auto& e) { e.live = false; });
        if (found != 0)
            mine.settled[index(l.direction)].add(now.id, now.id);
    }
    if (t.aborted)
        return;
    if (l.settle_mode == sender_settle_mode::settled && !now.settled)
        report.report(rule::sender_settle_mode, "settled=true", "settled=false",
                      "snd-settle-mode is settled");
    if (l.settle_mode == sender_settle_mode::unsettled && now.settled)
        report.report(rule::sender_settle_mode, "settled=false", "settled=true",
                      "snd-settle-mode is unsettled");
    if (t.rcv_settle_mode == receiver_settle_mode::second && !now.settled && !l.second
        && l.receiver.is != link_end::none)
        report.report(rule::receiver_settle_mode, "rcv-settle-mode first", "second",
                      "the receiver's attach says first");
}

}  // namespace

/// Numbers the frame and holds it against the window: every transfer frame counts. [2.5.6]
void connection_audit::count_transfer(direction d, session& s)
{
    ++report_.totals.directions[index(d)].transfers;
    auto& mine = s.sent[index(d)];
    auto const number = mine.sent++;
    mine.window.arrived(s.sent[index(opposite(d))].receiver_id.last);
    if (number < mine.window.highest()) [[likely]]
        return;
    if (mine.overrun || s.learned)
        return;
    mine.overrun = true;
    if (!mine.window.any())
        return report_.report(rule::session_window, "no transfer before the other side's begin",
                              "transfer-id " + text(mine.id(number)));
    report_.report(rule::session_window,
                   "at most transfer-id " + text(mine.id(mine.window.highest() - 1)),
                   "transfer-id " + text(mine.id(number)),
                   "the other side's next-incoming-id + incoming-window is "
                       + text(mine.id(mine.window.highest())));
}

void connection_audit::on_transfer(direction d, session& s, transfer const& t,
                                   std::uint64_t payload)
{
    count_transfer(d, s);
    check_state(t.state);
    if (s.loose)
        return;
    report_.at.handle = t.handle.value;
    auto* found = s.handles[index(d)].find(t.handle.value);
    if (found == nullptr) [[unlikely]] {
        found = s.learned ? learn_link(d, s, t.handle.value) : find_link(d, s, t.handle.value);
        if (found == nullptr)
            return;
    }
    auto& l = *found;
    if (l.settling_in) [[unlikely]]
        return settle_in(s, l, t);
    if (!l.is_sender(d)) [[unlikely]]
        return report_.report(rule::transfer_role, "a transfer from the sender",
                              "from the receiver");

    if (l.current.open && is_next_delivery(s, l, t)) {
        report_.report(rule::delivery_interleaved, "the rest of delivery " + text(l.current.id),
                       "delivery " + text(t.delivery_id->value()));
        l.current.open = false;
    }
    if (l.current.open)
        check_continuation(report_, l, t);
    else
        begin_delivery(report_, s, l, t);
    add_payload(report_, l, payload);
    if (t.aborted || !t.more)
        end_delivery(report_, l, t);
}

}  // namespace sluice::audit::detail
