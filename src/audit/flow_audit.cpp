// Flows: the exact ids, windows, delivery-counts and credit. [2.5.6, 2.6.7, 2.7.4]
#include "connection_audit.hpp"

#include <algorithm>

namespace sluice::audit::detail {
namespace {

std::string counted(std::uint32_t initial, std::int64_t n, std::string_view what)
{
    return "initial " + text(initial) + " + " + text(n) + " " + std::string{what};
}

}  // namespace

void connection_audit::on_flow(direction d, session& s, flow const& f)
{
    ++report_.totals.directions[index(d)].flows;
    auto const o = opposite(d);
    check_outgoing_id(d, s, f);
    check_incoming_id(d, s, f);
    answer(s.echo[index(o)]);
    if (!f.handle)
        return on_session_flow(d, s, f);

    report_.at.handle = f.handle->value;
    auto* const l = find_link(d, s, f.handle->value);
    if (l == nullptr)
        return;
    answer(l->echo[index(o)]);
    if (f.echo)
        ask(l->echo[index(d)]);
    if (s.loose || s.learned)
        return;  // the other direction is not known
    if (l->is_sender(d))
        on_sender_flow(d, *l, f);
    else
        on_receiver_flow(d, *l, f);
}

void connection_audit::on_session_flow(direction d, session& s, flow const& f)
{
    if (f.echo)
        ask(s.echo[index(d)]);
    std::string set;
    if (f.delivery_count)
        set += " delivery-count";
    if (f.link_credit)
        set += " link-credit";
    if (f.available)
        set += " available";
    if (f.drain)
        set += " drain";
    if (!set.empty())
        report_.report(rule::flow_link_field, "no link field without a handle", set.substr(1));
}

// The one number that the checker is most about. It keeps its own count, whatever a flow says.
void connection_audit::check_outgoing_id(direction d, session& s, flow const& f)
{
    auto& mine = s.sent[index(d)];
    if (!mine.initial_known) {
        mine.initial = f.next_outgoing_id.value() - static_cast<std::uint32_t>(mine.sent);
        mine.initial_known = true;
        return;
    }
    auto const wrong = serial_distance(mine.id(mine.sent), f.next_outgoing_id.value());
    mine.receiver_id.sender_states(wrong);
    if (wrong != 0) [[unlikely]]
        report_.report(rule::next_outgoing_id, text(mine.id(mine.sent)),
                       text(f.next_outgoing_id.value()),
                       counted(mine.initial, mine.sent, "transfer frames"));
}

void connection_audit::check_incoming_id(direction d, session& s, flow const& f)
{
    auto const o = opposite(d);
    auto& theirs = s.sent[index(o)];
    auto& said = theirs.receiver_id;
    auto const mark = static_cast<std::uint64_t>(s.sent[index(d)].sent);
    std::int64_t number = 0;
    if (!f.next_incoming_id) {
        if (s.knows_begin[index(d)])
            report_.report(rule::next_incoming_id_missing, text(theirs.id(said.last)), "absent",
                           "or later; the other side's begin has arrived");
    } else if (!s.begun[index(o)]) {
        if (!s.learned)
            report_.report(rule::next_incoming_id_early, "absent",
                           text(f.next_incoming_id->value()), "the other side has sent no begin");
    } else {
        if (!theirs.initial_known)
            return;
        auto const id = f.next_incoming_id->value();
        number = theirs.sent + serial_distance(theirs.id(theirs.sent), id);
        s.knows_begin[index(d)] = !s.learned;
        if (number > theirs.sent + said.lead) {
            report_.report(rule::next_incoming_id_ahead, "at most " + text(theirs.id(theirs.sent)),
                           text(id), counted(theirs.initial, theirs.sent, "transfer frames sent"));
        } else {
            if (number < said.last && !said.wavered && !s.learned)
                report_.report(rule::next_incoming_id_back,
                               "at least " + text(theirs.id(said.last)), text(id),
                               "as stated before");
            said.last = number;
            said.stated = true;
        }
    }
    theirs.window.state(number + f.incoming_window, mark);
    theirs.overrun = false;
}

void connection_audit::on_sender_flow(direction d, link& l, flow const& f)
{
    if (!f.delivery_count) {
        report_.report(rule::delivery_count_missing,
                       text(l.initial + static_cast<std::uint32_t>(l.count)), "absent",
                       "a sender states it with a handle");
        return;
    }
    auto const expected = l.initial + static_cast<std::uint32_t>(l.count);
    auto wrong = serial_distance(expected, f.delivery_count->value());
    auto stated = l.count + wrong;
    // A delivery of several frames may count from its first or from its last.
    if (wrong == -1 && l.current.open)
        wrong = 0;
    auto const& knows = l.of->sent[index(opposite(d))].receiver_id.last;
    bool const may_drain = l.drain || (l.drain_ended && knows <= l.drain_mark);
    // Credit may have all of 32 bits, which a serial number does not tell from a step back.
    auto const given_back = l.count + (f.delivery_count->value() - expected);
    if (wrong != 0 && may_drain && l.credit.any() && given_back <= l.credit.highest()) {
        l.count = stated = given_back;  // the credit was used up without messages
        wrong = 0;
    }
    l.receiver_count.sender_states(wrong);
    if (wrong != 0)
        report_.report(rule::delivery_count, text(expected), text(f.delivery_count->value()),
                       counted(l.initial, l.count, "deliveries"));
    if (f.link_credit)
        l.credit.acknowledged(stated + *f.link_credit, *f.link_credit == 0);
    if (f.link_credit.value_or(1) == 0)
        answer(l.draining);
    settle_drain(l);
}

/// @returns the count that the receiver states, as a number from the link's start.
std::int64_t connection_audit::receiver_count(link& l, flow const& f)
{
    auto& said = l.receiver_count;
    auto const sent = l.initial + static_cast<std::uint32_t>(l.count);
    if (!f.delivery_count) {
        if (said.stated)
            report_.report(rule::delivery_count_missing,
                           text(l.initial + static_cast<std::uint32_t>(said.last)), "absent",
                           "or later; the sender's attach has arrived");
        return 0;
    }
    auto const stated = f.delivery_count->value();
    if (l.sender.is == link_end::none) {
        report_.report(rule::delivery_count_early, "absent", text(stated),
                       "the sender has not attached");
        return 0;
    }
    auto const number = l.count + serial_distance(sent, stated);
    if (number > l.count + said.lead) {
        report_.report(rule::delivery_count_ahead, "at most " + text(sent), text(stated),
                       counted(l.initial, l.count, "deliveries sent"));
        return number;
    }
    if (number < said.last && !said.wavered)
        report_.report(rule::delivery_count_back,
                       "at least " + text(l.initial + static_cast<std::uint32_t>(said.last)),
                       text(stated), "as stated before");
    said.last = number;
    said.stated = true;
    return number;
}

void connection_audit::on_receiver_flow(direction d, link& l, flow const& f)
{
    auto const number = receiver_count(l, f);
    auto const mark = l.of->sent[index(d)].sent;
    if (f.link_credit) {
        l.credit.state(number + *f.link_credit, static_cast<std::uint64_t>(mark));
        l.overrun = false;
    }
    if (f.drain) {
        l.drain = true;
        l.drain_limit = f.link_credit ? number + *f.link_credit : l.drain_limit;
        ask(l.draining);
        settle_drain(l);
    } else if (l.drain) {
        l.drain = false;
        l.drain_ended = true;
        l.drain_mark = mark;
        answer(l.draining);
    }
}

/// Credit that messages have used up needs no flow to say so.
void connection_audit::settle_drain(link& l) noexcept
{
    if (l.count >= l.drain_limit)
        answer(l.draining);
}

}  // namespace sluice::audit::detail
