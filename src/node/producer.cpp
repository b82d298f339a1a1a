// Messages on their way in.
#include "node/producer.hpp"

#include "node/checks.hpp"
#include "node/node_core.hpp"
#include "node/outcomes.hpp"
#include "node/peer.hpp"
#include "node/transactions.hpp"

namespace sluice::node::detail {

producer::producer(peer& p, engine::receiver& r, std::shared_ptr<queue> to, settings how)
    : node_link{p, r}, receiver_{r}, to_{std::move(to)}, how_{how}
{
    if (!to_)
        return;
    added_ = true;  // from here on, so that its queue does not go before the attach is out
    to_->add(*this);
}

producer::~producer()
{
    if (added_)
        to_->remove(*this);
}

/// Those that have come, and are answered in mode second only, are in the queue.
std::uint32_t producer::promised() const
{
    auto const here = std::min<std::size_t>(receiver_.held(), accepted_.size());
    return receiver_.credit() + receiver_.held() - static_cast<std::uint32_t>(here);
}

void producer::grant(std::uint32_t more)
{
    receiver_.add_credit(more);
    owner().touch();
}

void producer::on_event(engine::event const& e)
{
    if (e.kind == engine::event_kind::delivery)
        return take(*e.incoming);
    if (e.kind == engine::event_kind::delivery_aborted && to_ && to_->withholds())
        to_->grant_credit();
    if (e.kind == engine::event_kind::delivery_settled) {
        auto const tag = e.incoming->tag();
        accepted_.erase(bytes(tag.begin(), tag.end()));
        if (to_ && to_->withholds())
            to_->grant_credit();
    }
}

void producer::take(engine::incoming_delivery& d)
{
    auto& core = owner().core();
    if (ended()) {
        std::ignore = receiver_.settle(d, {encoded_released()});
        return;
    }
    if (d.resumed()) {
        auto const tag = d.tag();
        if (accepted_.erase(bytes(tag.begin(), tag.end())) > 0)
            return accept(d);
        // "The receiver MUST ignore resumed deliveries that are not in its local unsettled map":
        // it is not a new message. [2.7.5]
        std::ignore = receiver_.settle(d, {encoded_released()});
        return;
    }
    if (auto text = fault_of_state(d.remote_state()); !text.empty())
        return give_up(d, condition::decode_error, std::move(text));
    if (!accepted_.empty() && !d.settled()
        && accepted_.contains(bytes(d.tag().begin(), d.tag().end())))
        return give_up(d, condition::invalid_field,
                       "delivery " + std::to_string(d.id().value())
                           + " has the tag of one that its sender has not settled [2.6.12]");
    auto const format = d.message_format();
    auto made = message::make(receiver_.take_body(d), format, core.now(), core.wall_clock());
    if (!made)
        return refuse(d, condition::decode_error,
                      "not a message: " + made.error().message() + " [3.2]");
    if (engine::kind_of(d.remote_state()) == engine::outcome_kind::transactional)
        return post(d, std::move(*made));
    auto const what = to_ ? core.push_to(*to_, *made) : core.relay(*made, owner());
    if (what.empty())
        return accept(d);
    refuse(d, what.condition, what.description);
}

/// Its link ends; the message is not taken.
void producer::give_up(engine::incoming_delivery& d, std::string_view condition, std::string text)
{
    std::ignore = receiver_.settle(d, {encoded_released()});
    detach(condition, std::move(text));
}

/// In a transaction: there is room for it from now on, and it comes with the commit. [4.4.1]
void producer::post(engine::incoming_delivery& d, message_ptr m)
{
    auto& core = owner().core();
    delivery_state decoded;
    auto const* const t =
        decode(d.remote_state(), decoded) ? nullptr : std::get_if<transactional_state>(&decoded);
    bytes const id = t ? bytes(t->txn_id.begin(), t->txn_id.end()) : bytes{};
    auto* const in = core.find_transaction(id, owner());
    if (!in)
        return refuse(d,
                      owner().transactions.contains(id) ? condition::transaction_timeout
                                                        : condition::transaction_unknown_id,
                      "the transaction of this transfer is not open on this connection [4.4.1]");
    amqp_error why;
    auto const to = to_ ? to_ : core.target_of(m, owner(), why);
    if (to && !to->reserve(m->size()))
        why = core.full(*to);
    if (!why.empty())
        return refuse(d, why.condition, why.description);
    in->post(to, std::move(m));
    core.count_received();
    std::ignore = receiver_.settle(d, {encoded(delivery_state{transactional_state{
                                          .txn_id = id, .outcome = raw_value{encoded_accepted}}})});
    if (to_ && to_->withholds())
        to_->grant_credit();
}

void producer::accept(engine::incoming_delivery& d)
{
    owner().core().count_received();
    if (receiver_.rcv_settle_mode() == receiver_settle_mode::second && !d.settled()) {
        auto const tag = d.tag();
        accepted_.emplace(tag.begin(), tag.end());
    }
    std::ignore = receiver_.settle(d);
    if (to_ && to_->withholds())
        to_->grant_credit();
}

/// Who sent it settled, or does not know `rejected`, learns it from the end of the link.
void producer::refuse(engine::incoming_delivery& d, std::string_view condition, std::string text)
{
    owner().core().count_refused();
    auto const silent = d.settled() || !how_.can_reject;
    amqp_error const why{
        .condition = std::string{condition}, .description = std::move(text), .info = {}};
    if (silent)
        return give_up(d, why.condition, why.description);
    reject(receiver_, d, why);
}

void producer::on_removed()
{
    detach(condition::resource_deleted, "queue '" + to_->name() + "' was deleted");
}

void producer::on_ended(ending how)
{
    set_ended();
    if (std::exchange(added_, false))
        to_->remove(*this);
    auto const expires =
        how == ending::closed || (how_.when == expiry::link_detach && how_.timeout == 0);
    // In mode second also without any: that it had none tells a sender that is back that nothing of
    // what it has no outcome for is here.
    auto const second = receiver_.rcv_settle_mode() == receiver_settle_mode::second;
    if (expires || (accepted_.empty() && !second))
        return;
    auto s = std::make_unique<suspended>();
    s->key = key();
    s->accepted = std::move(accepted_);
    s->when = how_.when;
    s->timeout = how_.timeout;
    s->session = how == ending::detached ? &receiver_.session() : nullptr;
    s->connection = how == ending::connection ? nullptr : &owner();
    owner().core().suspend(std::move(s));
}

}  // namespace sluice::node::detail
