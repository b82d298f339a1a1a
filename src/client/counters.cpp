// What connections, sessions and links count, and whom they tell.
#include "client/connection_core.hpp"
#include "client/receiver_core.hpp"
#include "client/sender_core.hpp"

#include <cstring>

namespace sluice::client::detail {
namespace {

engine::session_counters values_of(std::atomic<std::uint64_t> const (&from)[session_counter_count])
{
    std::uint64_t values[session_counter_count];
    for (std::size_t i = 0; i < session_counter_count; ++i)
        values[i] = from[i].load(std::memory_order_relaxed);
    engine::session_counters out;
    static_assert(std::is_trivially_copyable_v<engine::session_counters>);
    std::memcpy(&out, values, sizeof out);
    return out;
}

tally::what sent_as(outcome_kind kind) noexcept
{
    switch (kind) {
    case outcome_kind::none: return tally::sent_presettled;
    case outcome_kind::accepted: return tally::sent_accepted;
    case outcome_kind::rejected: return tally::sent_rejected;
    case outcome_kind::released: return tally::sent_released;
    case outcome_kind::modified: return tally::sent_modified;
    default: return tally::sent_otherwise;
    }
}

tally::what answered_as(outcome_kind kind) noexcept
{
    switch (kind) {
    case outcome_kind::accepted: return tally::got_accepted;
    case outcome_kind::rejected: return tally::got_rejected;
    case outcome_kind::released: return tally::got_released;
    case outcome_kind::modified: return tally::got_modified;
    default: return tally::got_otherwise;
    }
}

}  // namespace

sending_counters tally::sent() const noexcept
{
    return {.octets = at(sent_octets),
            .accepted = at(sent_accepted),
            .rejected = at(sent_rejected),
            .released = at(sent_released),
            .modified = at(sent_modified),
            .presettled = at(sent_presettled),
            .otherwise = at(sent_otherwise),
            .failed = at(sent_failed),
            .aborted = at(sent_aborted)};
}

receiving_counters tally::received() const noexcept
{
    return {.messages = at(got_messages),
            .octets = at(got_octets),
            .presettled = at(got_presettled),
            .accepted = at(got_accepted),
            .rejected = at(got_rejected),
            .released = at(got_released),
            .modified = at(got_modified),
            .otherwise = at(got_otherwise),
            .aborted = at(got_aborted)};
}

// ---- connection and session

connection_counters connection_core::counters() const noexcept
{
    auto const at = [this](std::size_t i) { return published_[i].load(std::memory_order_relaxed); };
    connection_counters out;
    out.bytes_received = at(0);
    out.bytes_written = at(1);
    out.frames_received = at(2);
    out.frames_written = at(3);
    out.sessions = values_of(of_sessions_);
    out.sent = tally_.sent();
    out.received = tally_.received();
    out.reconnects = reconnects();
    out.unobserved = feed_ ? feed_->dropped() : 0;
    return out;
}

std::shared_ptr<observer_feed> connection_core::make_feed() const
{
    auto const& who = options_.observer ? options_.observer : container_->observer();
    return who ? std::make_shared<observer_feed>(who, this, completions_) : nullptr;
}

session_counters session_core::counters() const noexcept
{
    return {values_of(published_), tally_.sent(), tally_.received()};
}

void session_core::end_as(failure_ptr why)
{
    auto const begun = phase() != detail::phase::opening;
    set_ended(why);
    if (auto* const o = connection_->observed(); o && begun)
        o->tell(observed_end{connection_->where(), std::move(why)});
}

// ---- links

link_facts link_core::facts() const
{
    auto known = shared(facts_);
    if (known)
        return known;
    return std::make_shared<observed_link const>(observed_link{
        .name = name(), .address = address(), .role = side(), .connection = connection().get()});
}

void link_core::tell_attached()
{
    set_shared(facts_, link_facts{});
    auto made = facts();
    set_shared(facts_, made);
    core().observed()->tell(observed_attach{std::move(made)});
}

void link_core::tell_detached(detach_notice what)
{
    detaches_.publish(what);
    if (auto* const o = core().observed(); o && was_attached_)
        o->tell(observed_detach{facts(), std::move(what)});
}

sender_counters sender_core::counters() const noexcept
{
    return {tally_.sent(), outstanding(), ended() ? 0 : credit(), blocked_.read(read_clock())};
}

void sender_core::publish() noexcept
{
    if (engine())
        credit_.store(engine()->free_credit(), std::memory_order_relaxed);
}

void sender_core::count(send_request const& s, std::error_code code, outcome const& o)
{
    if (code) {
        tally_.add_anywhere(tally::sent_failed);
    } else {
        tally_.add(sent_as(o.kind()));
        tally_.add(tally::sent_octets, s.stream ? s.streamed_octets : s.octets.size());
    }
    if (auto* const told = core().observed())
        told->tell(observed_send{
            facts(), {.code = code, .outcome = o}, std::chrono::steady_clock::now() - s.started});
}

receiver_counters receiver_core::counters() const noexcept
{
    return {tally_.received(), held_.load(std::memory_order_relaxed), ended() ? 0 : credit()};
}

void receiver_core::publish() noexcept
{
    if (engine())
        credit_.store(engine()->credit(), std::memory_order_relaxed);
}

void receiver_core::count_arrival(delivery_core const& d)
{
    auto const size = d.octets().size();
    tally_.add(tally::got_messages);
    tally_.add(tally::got_octets, size);
    if (d.settled)
        tally_.add(tally::got_presettled);
    held_.store(held_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (auto* const told = core().observed())
        told->tell(observed_delivery{facts(), size});
}

void receiver_core::count_gone() noexcept
{
    held_.store(held_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void receiver_core::count_answer(delivery_core& d) noexcept
{
    if (d.settled || std::exchange(d.counted, true))
        return;
    auto const kind =
        d.answer_kind == outcome_kind::none ? engine::kind_of({d.answer_state}) : d.answer_kind;
    tally_.add(answered_as(kind));
}

}  // namespace sluice::client::detail
