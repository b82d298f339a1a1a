// Deliveries that outlive their link: kept for the peer to send again, or stale. [2.6.13]
#include "client/receiver_requests.hpp"
#include "client/recovery.hpp"

#include <sluice/codec/writer.hpp>

namespace sluice::client::detail {

/// The engine's side goes. The user's handle stays as it is: away, or stale.
void receiver_core::keep_or_stale(delivery_core& d, bool stale)
{
    if (d.incoming)
        d.incoming->context = nullptr;
    d.incoming = nullptr;
    d.away = !stale;
    if (!stale)
        return;
    d.stale.store(true, std::memory_order_release);
    auto const held = std::exchange(d.stated, false);
    d.on_stale(failure());
    if (held)
        d.unref();
    remove_record(d);  // last: nobody else may have it
}

/// What nobody has taken the peer still has, too, and sends again; what it sent settled it has not.
/// @returns how many
std::uint32_t receiver_core::drop_untaken()
{
    std::uint32_t dropped = 0;
    delivery_core* left = nullptr;
    {
        std::lock_guard const lock{mutex_};
        delivery_core* kept_first = nullptr;
        delivery_core* kept_last = nullptr;
        inbox_size_ = inbox_bytes_ = 0;
        for (auto* d = first_; d;) {
            auto* const next = d->next_in_inbox;
            if (d->settled) {
                (kept_first ? kept_last->next_in_inbox : kept_first) = d;
                kept_last = d;
                d->next_in_inbox = nullptr;
                ++inbox_size_;
                inbox_bytes_ += d->octets().size();
            } else {
                d->next_in_inbox = left;
                left = d;
                ++dropped;
            }
            d = next;
        }
        first_ = kept_first;
        last_ = kept_last;
        full_ = false;
    }
    while (auto* const d = left) {
        left = d->next_in_inbox;
        d->next_in_inbox = nullptr;
        d->answered.store(true, std::memory_order_relaxed);
        keep_or_stale(*d, true);
        d->unref();
    }
    return dropped;
}

void receiver_core::on_lost()
{
    if (engine() && window_ == 0 && !by_hand_is_due_)
        by_hand_ = drainers_.empty() ? engine()->credit() : 0;
    auto const streams = streamed();
    auto again =
        std::erase_if(backlog_, [streams](auto const* d) { return streams || !d->settled(); });
    move_to_inbox(true);
    again += drop_untaken();
    by_hand_is_due_ = true;
    if (window_ == 0)  // the credit that they came by is still the user's wish
        by_hand_ += static_cast<std::uint32_t>(again);
    for (auto* d = records_; d;) {
        auto* const next = d->next_record;
        // The transaction of an answer goes with its connection, and the peer has it again. [4.4.2]
        auto const rolled_back =
            d->stated && engine::kind_of(d->stated_outcome()) == outcome_kind::transactional;
        keep_or_stale(*d, streamed() || d->settled || rolled_back);
        d = next;
    }
}

/// What users hold, with the outcome where they have given one. As much as fits: the rest is stale,
/// and comes again. An incomplete map would do no better: its sender would have to hold back all
/// that is new, and could not tell what is missing from what is settled. [2.7.3]
bytes receiver_core::unsettled()
{
    constexpr std::byte null[]{std::byte{0x40}};
    auto const room = unsettled_room();
    bytes out;
    map_writer map{out};
    for (auto* d = records_; d;) {
        auto* const next = d->next_record;
        auto const state = d->stated ? d->stated_outcome() : raw_value{};
        if (out.size() + d->tag.size + state.encoded.size() + 8 > room)
            keep_or_stale(*d, true);
        else
            map.add(d->tag.view(), state.empty() ? raw_value{null} : state);
        d = next;
    }
    map.finish();
    return out;
}

/// Its sender will not send it again.
void receiver_core::forget_away(bytes_view tag)
{
    for (auto* r = records_; r; r = r->next_record)
        if (r->away && std::ranges::equal(r->tag.view(), tag))
            return keep_or_stale(*r, true);
}

/// Credit as the user left it, and what is needed for the peer to send again what it knows of.
void receiver_core::come_back()
{
    auto const& a = engine()->remote_attach();
    unsettled_reader const theirs{a.unsettled, a.incomplete_unsettled};
    auto expected = std::uint32_t{0};
    for (auto* d = records_; d;) {
        auto* const next = d->next_record;
        if (theirs.find(d->tag.view()) || (theirs.given() && !theirs.complete()))
            ++expected;
        else
            keep_or_stale(*d, true);
        d = next;
    }
    if (window_ > 0)
        engine()->set_credit_window(window_);
    else if (by_hand_ + expected > 0)
        engine()->set_credit(by_hand_ + expected);
    by_hand_ = 0;
    by_hand_is_due_ = false;
    if (!drainers_.empty())
        engine()->drain();
    if (abandoned())
        close_when_idle();
}

/// The user has it already. What is not in our unsettled map is to be ignored. [2.7.5]
void receiver_core::resume(engine::incoming_delivery& d)
{
    for (auto* r = records_; r; r = r->next_record) {
        if (!r->away || !std::ranges::equal(r->tag.view(), d.tag()))
            continue;
        r->away = false;
        r->incoming = &d;
        d.context = r;
        engine()->consume(d, d.body().size());
        if (d.settled()) {  // the peer has our answer, or wants none
            d.context = nullptr;
            r->incoming = nullptr;
            std::ignore = engine()->settle(d, {});
            if (r->stated)
                r->on_settled_by_peer();
            else
                keep_or_stale(*r, true);
        } else if (r->stated) {
            settle(*r);
        }
        return;
    }
    std::ignore = engine()->settle(d, {delivery_core::released_state});
}

}  // namespace sluice::client::detail
