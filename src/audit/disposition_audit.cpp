// Dispositions: ranges, deliveries that were never sent, who settles first. [2.7.6, 2.8.3]
#include "connection_audit.hpp"

namespace sluice::audit::detail {

/// @returns whether the range is to be applied.
bool connection_audit::check_disposition_range(transfers const& of, disposition const& f,
                                               std::uint32_t last)
{
    auto const first = f.first.value();
    if (!of.id_known) {
        report_.report(rule::disposition_unsent, "no disposition before the first delivery",
                       "delivery-id " + text(first));
        return false;
    }
    auto const newest = of.next_delivery_id - 1;
    if (serial_distance(newest, first) > 0) {
        report_.report(rule::disposition_unsent, "at most delivery-id " + text(newest), text(first),
                       "the last one sent");
        return false;
    }
    if (serial_distance(newest, last) > 0)
        report_.report(rule::disposition_beyond, "last at most " + text(newest), text(last),
                       "the last delivery-id sent");
    return true;
}

void connection_audit::on_disposition(direction d, session& s, disposition const& f)
{
    check_state(f.state);
    bool const receives = f.role == role::receiver;
    auto const sender = receives ? opposite(d) : d;
    auto& deliveries = s.sent[index(sender)];
    auto const first = f.first.value();
    auto const last = f.last.value_or(f.first).value();
    if (serial_distance(first, last) < 0) [[unlikely]]
        return report_.report(rule::disposition_range, "last not before first " + text(first),
                              text(last));
    if (s.loose || s.learned || !check_disposition_range(deliveries, f, last))
        return;
    if (receives)
        s.knows_begin[index(d)] = true;

    std::uint64_t too_soon = 0;
    auto const found = deliveries.unsettled.for_range(first, last, [&](auto& e) {
        if (!f.settled)
            return;
        if (receives && e.second)
            ++too_soon;
        e.live = false;
    });
    if (f.settled && found != 0)
        deliveries.settled[index(d)].add(first, last);
    if (too_soon != 0)
        report_.report(rule::receiver_settled_first, "settled=false", "settled=true",
                       "rcv-settle-mode is second, and the sender has not settled " + text(too_soon)
                           + " of these");
    if (found == 0 && !deliveries.unsettled.forgotten(first)
        && !deliveries.settled[index(opposite(d))].may_touch(first, last))
        report_.report(rule::disposition_nothing, "a delivery that is not settled",
                       "delivery-ids " + text(first) + " to " + text(last), "settled already");
}

}  // namespace sluice::audit::detail
