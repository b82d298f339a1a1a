// Backoff with jitter, curable causes, unsettled maps.
#include "client/recovery.hpp"

#include <sluice/codec/reader.hpp>
#include <sluice/net/never.hpp>

#include <algorithm>
#include <cmath>
#include <random>

namespace sluice::client::detail {
namespace {

/// From 0 to 1.
double draw()
{
    thread_local std::minstd_rand source{std::random_device{}()};
    return std::uniform_real_distribution<double>{0.0, 1.0}(source);
}

}  // namespace

std::optional<milliseconds> backoff::next(reconnect_options const& o, clock_time now,
                                          std::size_t places)
{
    if (attempts_ == 0)
        since_ = now;
    if (o.max_attempts != 0 && attempts_ >= o.max_attempts)
        return std::nullopt;
    auto const rounds = attempts_ / std::max<std::size_t>(places, 1);
    auto const round = static_cast<double>(rounds);
    using net::never;
    auto const most = static_cast<double>(std::min(o.max_delay, never).count());
    auto const first =
        static_cast<double>(std::clamp<std::int64_t>(o.initial_delay.count(), 1, never.count()));
    auto const whole = std::min(most, first * std::pow(std::max(o.factor, 1.0), round));
    auto const delay = whole * (1.0 - std::clamp(o.jitter, 0.0, 1.0) * draw());
    milliseconds const out{static_cast<std::int64_t>(delay)};
    if (o.give_up_after != no_timeout && now + out - since_ > o.give_up_after)
        return std::nullopt;
    ++attempts_;
    return out;
}

bool may_cure_connection(std::error_code code, amqp_error const& why) noexcept
{
    if (code == error::connection_closed_by_peer)
        return why.empty() || why.condition == condition::connection_forced
               || why.condition == condition::internal_error
               || why.condition == condition::resource_limit_exceeded;
    return code == error::connection_lost || code == error::idle_timeout_expired
           || code == error::handshake_timeout || code == error::connect_failed
           || code == error::resolve_failed || code == error::timed_out
           || code == error::sasl_temporary_error;
}

bool may_cure_link(amqp_error const& why, bool closed) noexcept
{
    if (why.condition == condition::detach_forced || why.condition == condition::resource_locked)
        return true;
    if (closed)
        return false;
    return why.empty() || why.condition == condition::internal_error
           || why.condition == condition::resource_limit_exceeded
           || why.condition == condition::connection_forced;
}

unsettled_reader::unsettled_reader(raw_value map, bool incomplete)
    : given_{!is_null(map)}, incomplete_{incomplete}
{
    if (!given_)
        return;
    for (map_reader in{map}; auto const e = in.next();)
        if (auto const tag = as<bytes_view>(e->key))
            entries_.push_back({*tag, e->value});
    std::ranges::sort(entries_, [](entry const& a, entry const& b) {
        return std::ranges::lexicographical_compare(a.tag, b.tag);
    });
}

std::optional<raw_value> unsettled_reader::find(bytes_view tag) const
{
    auto const at = std::ranges::lower_bound(
        entries_, tag,
        [](bytes_view a, bytes_view b) { return std::ranges::lexicographical_compare(a, b); },
        &entry::tag);
    if (at == entries_.end() || !std::ranges::equal(at->tag, tag))
        return std::nullopt;
    return at->state;
}

}  // namespace sluice::client::detail
