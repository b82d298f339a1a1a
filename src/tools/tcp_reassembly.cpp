// Reassembly: late, again, or never.
#include "tools/tcp_reassembly.hpp"

#include <algorithm>

namespace sluice::tools {
namespace {

using audit::direction;
constexpr std::array both{direction::from_client, direction::from_server};

}  // namespace

/// High enough that a few octets before the first one have positions too.
void tcp_reassembly::way::start(std::uint32_t sequence) noexcept
{
    if (started)
        return;
    started = true;
    next = highest = (std::uint64_t{1} << 32) + sequence;
}

std::uint64_t tcp_reassembly::way::position(std::uint32_t sequence) const noexcept
{
    auto const distance = static_cast<std::int32_t>(sequence - static_cast<std::uint32_t>(next));
    return next + static_cast<std::uint64_t>(std::int64_t{distance});
}

/// Whether what comes next is on its way still: who should have it has not acknowledged it.
bool tcp_reassembly::way::is_late() const noexcept
{
    return !waiting.empty() && waiting.begin()->first > next && acknowledged
           && *acknowledged <= next;
}

void tcp_reassembly::take(direction d, tcp_segment const& s, stamp at)
{
    auto& mine = of(d);
    auto& theirs = of(audit::opposite(d));
    auto const first = s.sequence + (s.syn ? 1 : 0);
    mine.start(first);
    if (s.ack) {
        theirs.start(s.acknowledged);
        auto const to = theirs.position(s.acknowledged);
        theirs.acknowledged = std::max(theirs.acknowledged.value_or(to), to);
    }
    auto const from = mine.position(first);
    if (s.length != 0) {
        auto needs = s.ack ? theirs.position(s.acknowledged) : 0;
        if (theirs.end)  // the end counts as an octet in acknowledgements
            needs = std::min(needs, *theirs.end);
        keep(mine, from,
             {.octets = {s.payload.begin(), s.payload.end()},
              .length = s.length,
              .needs = needs,
              .at = at});
    }
    if (s.fin && !mine.end)
        mine.end = from + s.length;
    give_all();
    if (s.rst) {
        reset_ = true;
        return flush();
    }
    while (lose_patience(direction::from_client, at) || lose_patience(direction::from_server, at))
        give_all();
}

void tcp_reassembly::keep(way& w, std::uint64_t from, segment s)
{
    auto const to = from + s.length;
    auto const after = w.waiting.upper_bound(from);
    bool const waits = after != w.waiting.begin()
                       && to <= std::prev(after)->first + std::prev(after)->second.length;
    if (to <= w.next || waits) {
        ++w.counters.retransmitted;
        return;
    }
    if (from < w.next)
        ++w.counters.retransmitted;
    else if (from < w.highest)
        ++w.counters.out_of_order;
    w.highest = std::max(w.highest, to);
    if (from < w.next) {  // its start was there before
        auto const known = w.next - from;
        auto const have = std::min<std::uint64_t>(known, s.octets.size());
        s.octets.erase(s.octets.begin(), s.octets.begin() + static_cast<std::ptrdiff_t>(have));
        s.length -= known;
        from = w.next;
    }
    w.waiting_octets += s.octets.size();
    auto& place = w.waiting[from];
    w.waiting_octets -= place.octets.size();
    place = std::move(s);
}

bool tcp_reassembly::is_ready(direction d) noexcept
{
    auto const& w = of(d);
    if (w.waiting.empty())
        return false;
    auto const& [from, s] = *w.waiting.begin();
    return from <= w.next && s.needs <= of(audit::opposite(d)).next;
}

/// Gives out what is in order. @returns whether there was something.
bool tcp_reassembly::give(direction d)
{
    auto& w = of(d);
    bool any = false;
    while (is_ready(d)) {
        auto const node = w.waiting.extract(w.waiting.begin());
        auto const& s = node.mapped();
        w.waiting_octets -= s.octets.size();
        w.stalled_packets = 0;
        w.stalled_since.reset();
        any = true;
        auto const to = node.key() + s.length;
        if (to <= w.next)
            continue;
        auto const known = w.next - node.key();
        bytes_view octets{s.octets};
        octets = octets.subspan(std::min<std::size_t>(known, octets.size()));
        if (!octets.empty()) {
            w.next += octets.size();
            sink_.on_data(d, octets, s.at);
        }
        if (w.next < to)
            lose(d, to, s.at);  // the capture keeps the first octets of a packet only
    }
    return any;
}

void tcp_reassembly::give_all()
{
    for (bool any = true; any;) {
        any = false;
        for (auto const d : both) any |= give(d);
    }
}

void tcp_reassembly::lose(direction d, std::uint64_t to, stamp at)
{
    auto& w = of(d);
    auto const n = to - w.next;
    w.counters.lost += n;
    w.next = to;
    w.highest = std::max(w.highest, to);
    sink_.on_lost(d, n, at);
}

/// Whether something has waited here too long; then the way is made free for it.
bool tcp_reassembly::lose_patience(direction d, stamp now)
{
    auto& w = of(d);
    if (w.waiting.empty() || (w.is_late() && w.waiting_octets <= waiting_max))
        return false;
    if (!w.stalled_since)
        w.stalled_since = now.time;
    ++w.stalled_packets;
    if (w.stalled_packets < patience_packets && now.time - *w.stalled_since < patience
        && w.waiting_octets <= waiting_max)
        return false;
    give_way(d);
    return true;
}

/// What the first segment that waits needs is not in the capture.
void tcp_reassembly::give_way(direction d)
{
    auto& w = of(d);
    auto& [from, first] = *w.waiting.begin();
    if (from > w.next)
        return lose(d, from, first.at);
    auto const o = audit::opposite(d);
    auto const& other = of(o);
    auto const known = other.waiting.empty() ? first.needs : other.waiting.begin()->first;
    if (known > other.next)
        return lose(o, std::min(known, first.needs), first.at);
    first.needs = 0;  // each waits for the other, as copies of lost segments can
}

void tcp_reassembly::flush()
{
    give_all();
    for (auto const d : both)
        while (!of(d).waiting.empty()) {
            give_way(d);
            give_all();
        }
}

bool tcp_reassembly::closed() const noexcept
{
    return std::all_of(ways_.begin(), ways_.end(),
                       [](way const& w) { return w.end && w.next >= *w.end; });
}

}  // namespace sluice::tools
