// Receivers: credit, what the engine reports, and the end of the link.
#include "client/receiver_requests.hpp"

#include <sluice/codec/reader.hpp>

namespace sluice::client::detail {
namespace {

constexpr auto const& encoded_released = delivery_core::released_state;
constexpr std::size_t copied_max = 4096;  // copying fewer octets is cheaper than giving them away

}  // namespace

receiver_core::receiver_core(std::shared_ptr<session_core> session,
                             std::shared_ptr<session_core> user,
                             std::shared_ptr<connection_core> connection_user,
                             receiver_options options)
    : link_core{std::move(session), std::move(user), std::move(connection_user), options,
                "receiver"},
      options_{std::move(options)},
      pump_{std::make_unique<message_pump>(*this)},
      room_{std::make_unique<room_command>(*this)},
      window_{options_.credit_window}
{
}

receiver_core::~receiver_core()
{
    while (auto* const d = first_) {
        first_ = d->next_in_inbox;
        d->answered.store(true, std::memory_order_relaxed);
        d->unref();
    }
}

void receiver_core::start_open(std::shared_ptr<receiver_core> user, reply_ptr<client::receiver> r)
{
    start_attach(new open_request{self(), std::move(user), std::move(r)});
}

engine::link_options receiver_core::to_engine() const
{
    engine::link_options o;
    o.name = name();
    o.source = encode_source(kept(options_.source));
    o.target = options_.encoded_target.empty() ? encode_target(kept(options_.target))
                                               : options_.encoded_target;
    o.snd_settle_mode = options_.snd_settle_mode;
    o.rcv_settle_mode = options_.rcv_settle_mode;
    o.max_message_size = options_.max_message_size;
    o.offered_capabilities = options_.offered_capabilities;
    o.desired_capabilities = options_.desired_capabilities;
    o.properties = options_.properties;
    o.streamed = options_.streamed;
    o.stream_buffer_max = options_.stream_buffer_max;
    return o;
}

result<engine::link*> receiver_core::attach(engine::session& on)
{
    auto o = to_engine();
    if (tells_unsettled())
        o.unsettled = unsettled();
    auto made = on.attach_receiver(std::move(o));
    if (!made)
        return unexpected{made.error()};
    return *made;
}

/// No credit before: a flow that crosses the refusal of its link ends the whole session at some
/// peers (Broker-J 10.1.0 forgets the handle with its detach and knows it no longer).
void receiver_core::on_attached()
{
    if (comes_back() || by_hand_ > 0 || !drainers_.empty())
        return come_back();
    if (window_ > 0)
        engine()->set_credit_window(window_);
}

/// [3.5.8] The filters in force are those of the sender's attach. Without one of them messages
/// would come that were not asked for.
std::string receiver_core::left_out(engine::link const& l) const
{
    auto in = l.remote_attach().source.encoded;
    source theirs;
    if (options_.source.filter.empty() || in.empty() || decode(in, theirs))
        return {};
    map_reader const in_force{theirs.filter};
    for (map_reader asked{raw_value{options_.source.filter}}; auto const entry = asked.next();)
        if (is_null(in_force.find(entry->name())))
            return "the peer does not apply the filter '" + std::string{entry->name()} + "'";
    return {};
}

std::string receiver_core::remote_address(engine::link const& l) const
{
    auto in = l.remote_attach().source.encoded;
    source s;
    if (in.empty() || decode(in, s))
        return {};
    return std::string{as_text(s.address).value_or(std::string_view{})};
}

// ---- credit

void receiver_core::credit_request(std::uint64_t what, std::uint32_t value)
{
    if (ended() || connection()->ended())
        return;
    if (drains_.load(std::memory_order_acquire)
        > 0) {  // else it would overtake the drain before it
        auto* const c = new credit_command{self(), what | value};
        if (!connection()->push(*c))
            c->refuse();
    } else if (merge(what, value)) {
        connection()->push_flow(*this);
    }
}

void receiver_core::apply(std::uint64_t what) { apply_credit(what); }

void receiver_core::apply_credit(std::uint64_t what)
{
    auto* const r = engine();
    if (ended())
        return;
    auto const mode = what & mode_mask;
    if (mode == set && value_of(what) == 0 && !drainers_.empty()) {
        // The drain is taken back: what is granted next is no part of it.
        after_drain_ = 0;
        if (r && !away())
            r->stop_drain();
        auto const code = make_error_code(sluice::error::operation_aborted);
        auto const why = make_failure(code, refers_to() + ": drain taken back by credit 0");
        while (auto* const d = static_cast<drain_request*>(drainers_.pop_front()))
            d->finish(code, why);
    }
    if (mode != none && !drainers_.empty()) {
        // The peer would give it back with the rest.
        after_drain_ = merged(after_drain_, what & ~(flow | echo), value_of(what));
        what &= flow | echo;
        return what ? apply_credit(what) : void();
    }
    if (mode != none)
        window_ = mode == window ? value_of(what) : 0;
    if (!r || away()) {  // granted when the link is back
        if (mode == set)
            by_hand_ = value_of(what);
        else if (mode == add)
            by_hand_ += std::min(value_of(what), std::uint32_t{0xffff'ffff} - by_hand_);
        return;
    }
    switch (mode) {
    case add: r->add_credit(value_of(what)); break;
    case set: r->set_credit(value_of(what)); break;
    case window: r->set_credit_window(value_of(what)); break;
    default: break;
    }
    if (what & (flow | echo))
        r->request_flow((what & echo) != 0);
}

void receiver_core::apply_after_drain()
{
    if (drainers_.empty() && after_drain_ != 0)
        apply_credit(std::exchange(after_drain_, 0));
}

// ---- deliveries

void receiver_core::on_event(engine::event const& e)
{
    using kind = engine::event_kind;
    auto const record = [&e] { return static_cast<delivery_core*>(e.incoming->context); };
    switch (e.kind) {
    case kind::delivery: return on_delivery(*e.incoming);
    case kind::delivery_part:
        if (auto* const d = record())
            d->on_part();
        return;
    case kind::delivery_aborted: return on_aborted(*e.incoming, e.final);
    case kind::delivery_settled:
        if (auto* const d = record(); d && e.final)
            d->on_settled_by_peer();
        return;
    case kind::drained:
        move_to_inbox(true);  // whoever waits for the drain finds what came before it
        publish();
        while (auto* const r = static_cast<drain_request*>(drainers_.pop_front()))
            r->finish({}, nullptr);
        return apply_after_drain();
    default: return;
    }
}

void receiver_core::on_delivery(engine::incoming_delivery& d)
{
    if (abandoned() || ended()) {
        std::ignore = engine()->settle(d, {encoded_released});
        return;
    }
    if (d.resumed())
        return resume(d);
    if (backlog_.empty())
        core().stir(shared_from_this());
    backlog_.push_back(&d);
}

/// The peer gave a delivery up. Of one that is read as it comes the reader learns it, and the
/// engine has it back. Of any other nobody has known: it costs none of the credit that was given by
/// hand for a message.
void receiver_core::on_aborted(engine::incoming_delivery& d, bool unknown)
{
    if (unknown) {
        tally_.add(tally::got_aborted);
        if (d.resumed())
            forget_away(d.tag());
        else if (window_ == 0 && drainers_.empty() && !abandoned() && !ended())
            engine()->add_credit(1);
        return;
    }
    if (auto* const record = static_cast<delivery_core*>(d.context))
        record->on_part(make_error_code(sluice::error::delivery_aborted));
    std::erase(backlog_, &d);
    tally_.add(tally::got_aborted);
    std::ignore = engine()->settle(d, {});
}

void receiver_core::on_stirred()
{
    if (engine())
        move_to_inbox();
}

delivery_core* receiver_core::make_record(engine::incoming_delivery& d)
{
    auto* const record = new delivery_core{self()};
    record->incoming = &d;
    record->id = d.id();
    record->message_format = d.message_format();
    record->settled = d.settled();
    auto const tag = d.tag();
    record->tag.size = static_cast<std::uint8_t>(tag.size());
    std::copy(tag.begin(), tag.end(), record->tag.octets.begin());
    d.context = record;
    if (!streamed()) {
        auto const body = d.body();
        if (body.size() <= copied_max) {
            record->copy_octets(body);
            engine()->consume(d, body.size());
        } else {
            record->take_octets(engine()->take_body(d));
        }
    }
    record->next_record = records_;
    if (records_)
        records_->previous_record = record;
    records_ = record;
    count_arrival(*record);
    return record;
}

/// It may be gone afterwards, unless somebody has a handle on it.
void receiver_core::remove_record(delivery_core& d) noexcept
{
    d.incoming = nullptr;
    (d.previous_record ? d.previous_record->next_record : records_) = d.next_record;
    if (d.next_record)
        d.next_record->previous_record = d.previous_record;
    d.next_record = d.previous_record = nullptr;
    count_gone();
    d.unlist();
}

/// Moves what there is room for, or `all`, then serves who waits: calls first, else the handler.
void receiver_core::move_to_inbox(bool all)
{
    auto room = std::size_t{0};
    auto octets = std::size_t{0};
    {
        std::lock_guard const lock{mutex_};
        room = options_.inbox_max - std::min<std::size_t>(inbox_size_, options_.inbox_max);
        octets = inbox_bytes_;
    }
    delivery_core* first = nullptr;
    delivery_core* last = nullptr;
    auto count = std::size_t{0};
    auto added = std::size_t{0};
    while ((all || count < room) && !backlog_.empty()) {
        auto const size = backlog_.front()->body().size();
        if (!all && octets + added > 0 && octets + added + size > options_.inbox_bytes_max)
            break;
        auto* const record = make_record(*backlog_.front());
        backlog_.pop_front();
        (first ? last->next_in_inbox : first) = record;
        last = record;
        ++count;
        added += record->octets().size();
    }
    {
        std::lock_guard const lock{mutex_};
        if (first) {
            (first_ ? last_->next_in_inbox : first_) = first;
            last_ = last;
            inbox_size_ += count;
            inbox_bytes_ += added;
        }
        full_ = !backlog_.empty();
    }
    serve();
}

void receiver_core::serve()
{
    while (true) {
        receive_request* waiting = nullptr;
        delivery_core* found = nullptr;
        auto wants_room = false;
        {
            std::lock_guard const lock{mutex_};
            if (!first_)
                return;
            if (receivers_.empty()) {
                if (!handler_ || std::exchange(pump_queued_, true))
                    return;
                pump_->keep(self());
            } else {
                waiting = static_cast<receive_request*>(receivers_.pop_front());
                found = pop(wants_room);
            }
        }
        if (!waiting) {
            core().look_soon();
            return core().answer(*completions(), *pump_);
        }
        hand_out(*found, wants_room);
        waiting->finish({}, nullptr, delivery_core::adopt(found));
    }
}

/// An answer that fits no frame of the peer's is cut short: not told at all, the peer would wait
/// for it, and its credit would never come back.
void receiver_core::tell(engine::incoming_delivery& d, raw_value state)
{
    auto const too_large = make_error_code(sluice::error::too_large);
    if (engine()->settle(d, state) != too_large)
        return;
    auto const cut = without_details(state);
    if (engine()->settle(d, {cut}) == too_large)
        std::ignore = engine()->settle(d, {encoded_released});
}

/// The engine's side of an answer.
void receiver_core::settle(delivery_core& d)
{
    auto* const r = engine();
    auto* const incoming = d.incoming;
    count_answer(d);
    if (d.away && !d.stated) {  // said when the peer sends it again
        d.stated = true;
        d.ref();
    }
    if (!r || !incoming)
        return;
    raw_value const state = d.stated_outcome();
    auto held = false;
    // In mode second the sender has the last word: until then it is ours.
    auto const stays = r->rcv_settle_mode() == receiver_settle_mode::second && incoming->complete()
                       && !incoming->settled() && !state.empty();
    if (stays && core().recovers()) {  // until the sender has the answer for sure
        if (!d.stated) {
            d.stated = true;
            d.ref();
        }
    } else if (!stays || !d.waits_for_settlement()) {
        incoming->context = nullptr;
        remove_record(d);
        held = std::exchange(d.stated, false);  // it was away: now it is said
    }
    tell(*incoming, state);
    if (held)
        d.unref();
    if (abandoned())
        close_when_idle();
}

}  // namespace sluice::client::detail
