// Messages on their way out, and what their receivers say of them.
#include "node/consumer.hpp"

#include "node/checks.hpp"
#include "node/node_core.hpp"
#include "node/peer.hpp"
#include "node/transactions.hpp"

#include <sluice/codec/reader.hpp>

#include <array>

namespace sluice::node::detail {
namespace {

// What is queued ahead of the socket for one link: enough to keep it busy. The rest stays where
// another consumer can have it.
constexpr std::size_t ahead_max = 1'000;
constexpr std::size_t ahead_bytes_max = 1u << 20;

}  // namespace

consumer::consumer(peer& p, engine::sender& s, std::shared_ptr<queue> from, settings how)
    : node_link{p, s}, sender_{s}, from_{std::move(from)}, how_{std::move(how)}
{
    from_->add(*this);
}

consumer::~consumer()
{
    from_->remove(*this);
    while (first_) std::ignore = release(*first_);
}

void consumer::keep(lent& l) noexcept
{
    l.before = last_;
    (last_ ? last_->after : first_) = &l;
    last_ = &l;
    ++count_;
    owner().count_unsettled(1);
}

/// Takes the message out of `l`, which is gone then.
entry consumer::release(lent& l) noexcept
{
    (l.before ? l.before->after : first_) = l.after;
    (l.after ? l.after->before : last_) = l.before;
    --count_;
    owner().count_unsettled(-1);
    if (l.in)
        l.in->forget(l);
    if (l.delivery)
        l.delivery->context = nullptr;
    auto what = std::move(l.what);
    delete &l;
    return what;
}

// ---- out

bool consumer::has_room()
{
    if (ended() || owner().call_after_events(*this))
        return false;
    return attached_ && !incomplete_ && !held_up_ && sender_.free_credit() > 0
           && count_ < owner().core().options().unsettled_max && owner().has_room();
}

result<engine::outgoing_delivery*> consumer::send(lent& l, bool resumed)
{
    auto const& m = *l.what.message;
    l.head = m.head(owner().core().now());
    engine::payload const body{.head = l.head, .tail = m.tail(l.head)};
    auto const presettled = sender_.snd_settle_mode() == sender_settle_mode::settled;
    // Not used again by a later link of this name, whose peer may still tell an outcome by it.
    std::array<std::byte, 12> tag;
    auto const count = ++sent_;
    for (unsigned i = 0; i < 8; ++i) tag[i] = static_cast<std::byte>(id() >> (56 - 8 * i));
    for (unsigned i = 0; i < 4; ++i) tag[8 + i] = static_cast<std::byte>(count >> (24 - 8 * i));
    return sender_.send(body, {.settled = presettled,
                               .notify_sent = presettled,
                               .resume = resumed,
                               .message_format = m.format(),
                               .tag = resumed ? bytes_view{l.tag} : bytes_view{tag},
                               .context = &l});
}

bool consumer::take(entry& e)
{
    auto* const l = new lent{.to = this, .what = std::move(e)};
    auto const made = send(*l);
    if (!made) {  // larger than its link takes: somebody else's
        e = std::move(l->what);
        delete l;
        return false;
    }
    l->delivery = *made;
    l->what.message->set_acquired();
    unsent_bytes_ += l->what.message->size();
    keep(*l);
    owner().core().count_delivered();
    if (sender_.queued() >= ahead_max || unsent_bytes_ >= ahead_bytes_max) {
        held_up_ = true;
        owner().call_when_written(*this);
    }
    owner().touch();
    return true;
}

/// Whatever may be sent now is. Credit may have come behind answers that give messages back, and
/// those go first: nothing is sent before all that has come in is known.
void consumer::more()
{
    if (ended() || owner().call_after_events(*this))
        return;
    if (how_.browse) {
        browse();
    } else if (has_room()) {
        from_->line_up(*this);
        from_->dispatch();
    }
    sender_.set_available(static_cast<std::uint32_t>(
        std::min<std::uint64_t>(from_->ready(), std::numeric_limits<std::int32_t>::max())));
    answer_drain();
}

void consumer::get_in_line()
{
    if (!how_.browse && has_room())
        from_->line_up(*this);
}

void consumer::browse()
{
    while (has_room()) {
        auto const* const next = from_->after(browsed_);
        if (!next)
            return;
        browsed_ = next->sequence;
        entry copy{.sequence = next->sequence, .message = next->message};
        std::ignore = take(copy);
    }
}

void consumer::answer_drain()
{
    if (!draining_ || held_up_)
        return;
    auto const something =
        how_.browse ? from_->after(browsed_) != nullptr : from_->has_message_for(*this);
    if (something && has_room())
        return;
    draining_ = false;
    sender_.drained();
    owner().touch();
}

void consumer::on_written()
{
    held_up_ = false;
    if (sender_.queued() == 0)
        unsent_bytes_ = 0;
    if (sender_.queued() >= ahead_max || unsent_bytes_ >= ahead_bytes_max) {
        held_up_ = true;
        return owner().call_when_written(*this);
    }
    more();
}

// ---- events

void consumer::on_attached()
{
    attached_ = true;
    if (before_) {
        std::map<bytes, raw_value> known;
        for (map_reader map{{remote_unsettled_}}; auto const e = map.next();)
            if (auto const tag = as<bytes_view>(e->key))
                known.emplace(bytes(tag->begin(), tag->end()), e->value);
        auto const before = std::move(before_);
        for (auto& r : before->unsettled) {
            auto const it = known.find(r.tag);
            if (it != known.end())
                resume_one(r, it->second);
            else if (incomplete_)
                not_listed_.push_back(std::move(r));
            else
                from_->give_back(std::move(r.what));  // the peer has never had it, or forgot it
        }
    }
    more();
}

void consumer::on_event(engine::event const& e)
{
    using kind = engine::event_kind;
    switch (e.kind) {
    case kind::credit: return more();
    case kind::drain_requested: draining_ = true; return more();
    default: break;
    }
    auto* const l = e.outgoing ? static_cast<lent*>(e.outgoing->context) : nullptr;
    if (!l)
        return;
    if (e.kind == kind::outcome) {
        auto const state = e.outgoing->remote_state();
        if (auto text = fault_of_state(state); !text.empty()) {
            if (e.final)
                settle_here(release(*l), engine::outcome_kind::released, {});
            return detach(condition::decode_error, std::move(text));
        }
        if (e.outgoing->outcome() == engine::outcome_kind::transactional)
            return on_transactional(*l, state, e.final);
    }
    if (!e.final)
        return;
    auto const was_full = count_ >= owner().core().options().unsettled_max;
    if (e.kind == kind::sent)
        settle_here(release(*l), engine::outcome_kind::accepted, {});
    else if (e.kind == kind::outcome)
        settle(*l, e.outgoing->outcome(), e.outgoing->remote_state());
    else if (e.kind == kind::aborted && !ended())
        settle_here(release(*l), engine::outcome_kind::released, {});
    if (was_full)
        more();
}

void consumer::settle(lent& l, engine::outcome_kind kind, raw_value state)
{
    using outcome = engine::outcome_kind;
    auto const terminal = kind == outcome::accepted || kind == outcome::rejected
                          || kind == outcome::released || kind == outcome::modified;
    bytes const copy(state.encoded.begin(),
                     state.encoded.end());  // the delivery's own goes with it
    auto what = release(l);
    if (terminal)
        return settle_here(std::move(what), kind, {copy});
    // Settled without an outcome: the source's default, or an attempt that failed. [3.5.3]
    raw_value const otherwise{how_.default_outcome};
    auto const by_default = engine::kind_of(otherwise);
    if (by_default != outcome::none && by_default != outcome::unknown)
        return settle_here(std::move(what), by_default, otherwise);
    what.message->count_failure();
    settle_here(std::move(what), outcome::released, {});
}

void consumer::settle_here(entry e, engine::outcome_kind kind, raw_value state)
{
    if (!how_.browse)
        settle_entry(owner().core(), *from_, std::move(e), kind, state, id());
}

/// The outcome counts once its transaction is committed; whoever has settled waits for nothing
/// more. [4.4.2]
void consumer::on_transactional(lent& l, raw_value state, bool final)
{
    delivery_state decoded;
    auto const* const t =
        decode(state, decoded) ? nullptr : std::get_if<transactional_state>(&decoded);
    bytes const id = t ? bytes(t->txn_id.begin(), t->txn_id.end()) : bytes{};
    auto* const in = owner().core().find_transaction(id, owner());
    if (!in) {
        if (final)
            settle_here(release(l), engine::outcome_kind::released, {});
        return detach(
            owner().transactions.contains(id) ? condition::transaction_timeout
                                              : condition::transaction_unknown_id,
            "a delivery was answered in a transaction that is not open on this connection "
            "[4.4.2]");
    }
    auto const kind = engine::kind_of(t->outcome);
    if (!final)
        return in->hold(l, kind, t->outcome);
    bytes const outcome(t->outcome.encoded.begin(), t->outcome.encoded.end());
    auto what = release(l);
    if (!how_.browse)
        in->retire(from_, std::move(what), kind, {outcome}, node_link::id());
}

void consumer::settle_held(lent& l, engine::outcome_kind kind, raw_value state)
{
    auto* const d = l.delivery;
    auto what = release(l);
    std::ignore = sender_.settle(*d);
    owner().touch();
    settle_here(std::move(what), kind, state);
}

// ---- the end, and what comes after it

void consumer::on_removed()
{
    detach(condition::resource_deleted, "queue '" + from_->name() + "' was deleted");
}

void consumer::on_ended(ending how)
{
    set_ended();
    from_->remove(*this);
    auto const expires =
        how == ending::closed || (how_.when == expiry::link_detach && how_.timeout == 0);
    if (!expires && !how_.browse && !from_->removed())
        return suspend(how);
    while (first_) {
        auto const begun = first_->delivery && first_->delivery->sent_bytes() > 0;
        auto what = release(*first_);
        if (how_.browse)
            continue;
        if (begun)
            what.message->count_failure();
        from_->give_back(std::move(what));
    }
    for (auto& r : not_listed_) from_->give_back(std::move(r.what));
}

/// What was not begun is for anybody; what the peer may have waits for the link to come back.
void consumer::suspend(ending how)
{
    auto s = std::make_unique<suspended>();
    s->key = key();
    s->from = from_;
    s->when = how_.when;
    s->timeout = how_.timeout;
    s->session = how == ending::detached ? &sender_.session() : nullptr;
    s->connection = how == ending::connection ? nullptr : &owner();
    while (first_) {
        auto const* const d = first_->delivery;
        if (!d || d->sent_bytes() == 0) {
            from_->give_back(release(*first_));
            continue;
        }
        bytes tag(d->tag().begin(), d->tag().end());
        s->unsettled.push_back({.tag = std::move(tag), .what = release(*first_)});
    }
    std::ranges::move(not_listed_, std::back_inserter(s->unsettled));
    not_listed_.clear();
    owner().core().suspend(std::move(s));
}

void consumer::resume(std::unique_ptr<suspended> before, raw_value remote_unsettled,
                      bool incomplete)
{
    incomplete_ = incomplete;
    before_ = std::move(before);
    remote_unsettled_.assign(remote_unsettled.encoded.begin(), remote_unsettled.encoded.end());
}

/// The peer knows the delivery. It has an outcome for it, or wants the rest.
void consumer::resume_one(remembered& r, raw_value remote)
{
    auto const kind = engine::kind_of(remote);
    using outcome = engine::outcome_kind;
    if (kind == outcome::accepted || kind == outcome::rejected || kind == outcome::released
        || kind == outcome::modified) {
        settle_here(std::move(r.what), kind, remote);
        std::ignore =
            sender_.send(engine::payload{{}, {}},
                         {.settled = true, .resume = true, .tag = r.tag, .state = remote});
        return;
    }
    auto* const l = new lent{.to = this, .what = std::move(r.what), .tag = std::move(r.tag)};
    auto const made = send(*l, true);
    if (!made) {
        from_->give_back(std::move(l->what));
        delete l;
        return;
    }
    l->delivery = *made;
    keep(*l);
}

}  // namespace sluice::node::detail
