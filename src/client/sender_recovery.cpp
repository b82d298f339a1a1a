// Sends that outlive their link: resumed through the peer's unsettled map, or sent again in order.
// [2.6.13]
#include "client/recovery.hpp"
#include "client/sender_core.hpp"
#include "client/stream_core.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/writer.hpp>

namespace sluice::client::detail {

/// It goes on, or fails, with the others when the link is back, or the reason is here.
void sender_core::keep(send_request& s)
{
    if (s.stream)
        s.stream->set_send(&s);
    sends_.push_back(s);
}

/// Answers what cannot come back. @returns true if it did
bool sender_core::is_lost(send_request& s)
{
    using state = engine::outgoing_state;
    auto const at = s.delivery ? s.delivery->state() : state::queued;
    auto const begun = s.delivery && s.delivery->sent_bytes() > 0;
    auto const whole = at == state::unsettled || at == state::answered || at == state::settled;
    auto const fail = [&](sluice::error e, char const* text) {
        auto const code = make_error_code(e);
        answer_send(s, code, make_failure(code, refers_to() + ": " + text));
    };
    if (!s.open)
        return true;
    auto const posted = engine::kind_of({s.state}) == outcome_kind::transactional;
    if (posted && core().away()) {
        fail(error::transaction_rolled_back,
             "the connection was lost, and the transaction with it");
        return true;
    }
    if ((posted || s.stream) && whole) {  // a link alone does not end transactions
        fail(error::outcome_unknown,
             posted ? "the link was lost before the outcome of a message of a transaction came; "
                      "roll the transaction back if it matters"
                    : "the link was lost before the outcome of a streamed message came");
        return true;
    }
    if (s.stream && begun) {
        if (core().away())
            fail(error::connection_lost,
                 "the connection was lost in the middle of a streamed message, whose octets are "
                 "gone; send it again");
        else
            fail(error::link_detached_by_peer,
                 "the link was lost in the middle of a streamed message, whose octets are gone; "
                 "send it again");
        return true;
    }
    if (whole) {
        auto const tag = s.delivery->tag();
        s.tag.assign(tag.begin(), tag.end());
    }
    s.was_whole = s.was_whole || whole;
    return false;
}

void sender_core::on_lost()
{
    without_credit_ = nullptr;
    without_credit_count_ = 0;
    blocked_.stop(core().now());
    for (auto* r = sends_.front(); r;) {
        auto& s = static_cast<send_request&>(*r);
        r = r->next_waiting;
        auto const gone = is_lost(s);
        if (s.delivery)
            s.delivery->context = nullptr;
        s.delivery = nullptr;
        if (gone)
            forget(s);
    }
}

/// What was sent whole and has no outcome. As much as fits: the rest counts as not told.
bytes sender_core::unsettled(bool& incomplete) const
{
    constexpr std::byte null[]{std::byte{0x40}};
    auto const room = unsettled_room();
    bytes out;
    map_writer map{out};
    for (auto* r = sends_.front(); r; r = r->next_waiting) {
        auto const& s = static_cast<send_request const&>(*r);
        if (!s.was_whole)
            continue;
        if (out.size() + s.tag.size() + 8 > room) {
            incomplete = true;
            break;
        }
        map.add(bytes_view{s.tag}, raw_value{null});
    }
    map.finish();
    return out;
}

/// The peer has an outcome for it: it is told that we know. @returns false: it has none
bool sender_core::conclude(send_request& s, raw_value state)
{
    auto const kind = engine::kind_of(state);
    if (kind != outcome_kind::accepted && kind != outcome_kind::rejected
        && kind != outcome_kind::released && kind != outcome_kind::modified)
        return false;
    engine::send_options told{.settled = true, .resume = true, .tag = s.tag, .state = state};
    if (!engine()->send(engine::payload{{}, {}}, told)) {
        told.state = {};  // does not fit, and is the peer's own
        std::ignore = engine()->send(engine::payload{{}, {}}, told);
    }
    answer_send(s, {}, nullptr, outcome::from(kind, true, state));
    forget(s);
    return true;
}

/// The peer's terminus outlives a lost connection. [3.5.3]
bool sender_core::keeps(sluice::attach const& theirs)
{
    auto in = theirs.target.encoded;
    target t;
    return !is_null(theirs.target) && !decode(in, t)
           && (t.timeout > 0 || t.expiry_policy == symbol{"never"});
}

/// Everything that has no outcome goes out again, in the order in which it was sent.
void sender_core::on_attached()
{
    auto const& a = engine()->remote_attach();
    auto const was_kept = std::exchange(peer_keeps_, keeps(a)) && tells_unsettled();
    if (!comes_back() && sends_.empty())
        return;
    unsettled_reader const theirs{a.unsettled, a.incomplete_unsettled};
    // In mode second the peer keeps what it has until we settle it: what it does not know, it never
    // had. That it has kept the link at all it must have promised: Broker-J 10.1 tells an empty map
    // although it has forgotten everything.
    auto const sure = was_kept && theirs.complete() && !engine()->options().incomplete_unsettled
                      && engine()->rcv_settle_mode() == receiver_settle_mode::second;
    for (auto* r = sends_.front(); r;) {
        auto& s = static_cast<send_request&>(*r);
        r = r->next_waiting;
        if (s.delivery)
            continue;  // of a link that the peer attached: sends need not wait for the event
        auto resume = false;
        if (s.was_whole) {
            auto const known = theirs.find(s.tag);
            if (known && conclude(s, *known))
                continue;
            resume = known.has_value();
            if (!resume) {
                s.possible_duplicate = s.possible_duplicate || !sure;
                if (s.own_tag)
                    s.tag.clear();  // a new delivery
            }
            s.was_whole = false;
        }
        if (auto const failed = put(s, resume)) {
            answer_send(s, failed, make_failure(failed, refers_to()));
            forget(s);
        } else {
            start_time(s);
        }
    }
    if (abandoned())
        on_abandoned();
}

std::shared_ptr<notice_channel<send_result>> sender_core::results()
{
    constexpr std::size_t kept = 32;
    return results_.subscribe(completions(), kept);
}

}  // namespace sluice::client::detail
