// What has to come in time: answers to echoes and drains, and something at all.
// [2.4.5, 2.6.7, 2.7.4]
#include "connection_audit.hpp"

#include <algorithm>

namespace sluice::audit::detail {

void connection_audit::ask(request& r)
{
    if (r.open)
        return;  // the older one stands for both
    r = {true, report_.now, report_.at.frame};
    next_check_ = std::min(next_check_, report_.now + options_.answer_due);
}

void connection_audit::check_time()
{
    next_check_ = time_point::max();
    if (!following_)
        return;
    check_idle(direction::from_client);
    check_idle(direction::from_server);
    check_answers(false);
}

/// `d`'s side has to send something within what the other side's open asks for.
void connection_audit::check_idle(direction d)
{
    auto& s = of(d);
    auto const& other = of(opposite(d));
    if (other.idle_us == 0 || s.closed || other.closed)
        return;
    auto const since = std::max(s.last_bytes, other.opened_at);
    auto const due = since + time_point{other.idle_us} + options_.idle_slack;
    if (report_.now < due) {
        next_check_ = std::min(next_check_, due);
        return;
    }
    // Looked at again once something has come.
    next_check_ = std::min(next_check_, report_.now + time_point{other.idle_us});
    if (s.idle_reported)
        return;
    s.idle_reported = true;
    place const last{.direction = d,
                     .frame = report_.totals.directions[index(d)].frames,
                     .offset = s.frames.total()};
    report_.report(rule::idle_time_out, last,
                   "something within " + text(std::int64_t{other.idle_us / 1000}) + " ms",
                   "nothing for " + text(std::int64_t{(report_.now - since).count() / 1000})
                       + " ms");
}

/// Reports what is due, or everything that is open.
void connection_audit::check_answers(bool all)
{
    if (sides_[0].closed || sides_[1].closed)
        return;
    for (auto const& s : sessions_) {
        if (s->learned || s->loose)
            continue;
        for (auto const asker : {direction::from_client, direction::from_server}) {
            overdue(rule::echo_unanswered, s->echo[index(asker)], asker, *s, nullptr, all);
            for (auto const& l : s->links)
                overdue(rule::echo_unanswered, l->echo[index(asker)], asker, *s, l.get(), all);
        }
        for (auto const& l : s->links)
            overdue(rule::drain_unanswered, l->draining, opposite(l->direction), *s, l.get(), all);
    }
}

void connection_audit::overdue(rule r, request& asked, direction asker, session const& s,
                               link const* l, bool all)
{
    if (!asked.open)
        return;
    auto const due = asked.since + options_.answer_due;
    if (!all && report_.now < due) {
        next_check_ = std::min(next_check_, due);
        return;
    }
    auto const d = opposite(asker);
    asked.open = false;  // said once
    // Who has not begun or attached yet, or not any more, cannot answer.
    if (!s.begun[index(d)] || s.ended[index(d)])
        return;
    place last{.direction = d,
               .frame = report_.totals.directions[index(d)].frames,
               .offset = of(d).frames.total(),
               .channel = s.channel[index(d)]};
    if (l != nullptr) {
        auto const& e = l->direction == d ? l->sender : l->receiver;
        if (e.is != link_end::attached)
            return;
        last.handle = e.handle;
    }
    auto const waited = text(std::int64_t{(report_.now - asked.since).count() / 1000}) + " ms";
    report_.report(r, last, r == rule::drain_unanswered ? "the credit used up" : "a flow in answer",
                   "none for " + waited,
                   "asked for in frame " + text(asked.frame) + " of the other side");
}

}  // namespace sluice::audit::detail
