// Declarations and discharges, and the answers to them.
#include "node/coordinator.hpp"

#include "node/node_core.hpp"
#include "node/outcomes.hpp"
#include "node/peer.hpp"
#include "node/transactions.hpp"

#include <sluice/codec/message_view.hpp>
#include <sluice/codec/transactions.hpp>

namespace sluice::node::detail {
namespace {

constexpr std::uint64_t declare_code = 0x31;
constexpr std::uint64_t discharge_code = 0x32;

}  // namespace

coordinator_link::~coordinator_link() { roll_back(); }

void coordinator_link::on_ended(ending)
{
    set_ended();
    roll_back();
}

void coordinator_link::roll_back() noexcept
{
    for (auto const& id : std::exchange(open_, {})) {
        owner().transactions.erase(id);
        owner().core().end_transaction(id);
    }
}

/// "If the source does not support the rejected outcome, the transactional resource MUST detach the
/// link to the coordinator, with the detach performative carrying the transaction-error".
/// [4.2, 4.3]
void coordinator_link::refuse(engine::incoming_delivery& d, std::string_view condition,
                              std::string text)
{
    if (!can_reject_) {
        std::ignore = receiver_.settle(d, {encoded_released()});
        return detach(condition, std::move(text));
    }
    amqp_error const why{
        .condition = std::string{condition}, .description = std::move(text), .info = {}};
    reject(receiver_, d, why);
}

void coordinator_link::on_event(engine::event const& e)
{
    if (e.kind != engine::event_kind::delivery)
        return;
    auto& d = *e.incoming;
    if (d.settled()) {
        std::ignore = receiver_.settle(d);
        return detach(condition::not_allowed,
                      "what is said to a coordinator is sent unsettled: its outcome is the answer "
                      "[4.3]");
    }
    auto const format = d.message_format();
    auto const octets = receiver_.take_body(d);
    if (format != 0)
        return refuse(d, condition::not_implemented, "only message-format 0 is known here");
    message_view view;
    if (auto const failed = decode(octets, view))
        return refuse(d, condition::decode_error, "not a message: " + failed.message() + " [3.2]");
    auto const body = view.value();
    auto const code = peek_descriptor(body.encoded);
    if (code == declare_code)
        return declare(d, body);
    if (code == discharge_code)
        return discharge(d, body);
    refuse(d, condition::not_implemented,
           "a coordinator takes declare and discharge as the value of a message [4.3]");
}

void coordinator_link::declare(engine::incoming_delivery& d, raw_value body)
{
    auto in = body.encoded;
    sluice::declare asked;
    decode_fault fault;
    if (decode(in, asked, &fault))
        return refuse(d, condition::decode_error, fault.message());
    if (!is_null(asked.global_id))
        return refuse(d, condition::not_implemented,
                      "global transactions are not available here [4.5.2]");
    auto& core = owner().core();
    auto const most = core.options().transactions_max;
    if (open_.size() >= most)
        return refuse(d, condition::resource_limit_exceeded,
                      std::to_string(open_.size()) + " transactions are open on this link already");
    auto id = core.begin_transaction(owner(), node_link::id());
    if (id.empty())
        return refuse(d, condition::resource_limit_exceeded,
                      "there are as many transactions as may be, on this connection or in all");
    bytes const state = encoded(delivery_state{declared{.txn_id = id}});
    open_.insert(std::move(id));
    std::ignore = receiver_.settle(d, {state});
}

void coordinator_link::discharge(engine::incoming_delivery& d, raw_value body)
{
    auto in = body.encoded;
    sluice::discharge asked;
    decode_fault fault;
    if (decode(in, asked, &fault))
        return refuse(d, condition::decode_error, fault.message());
    bytes const id(asked.txn_id.begin(), asked.txn_id.end());
    if (open_.erase(id) == 0)
        return refuse(d, condition::transaction_unknown_id,
                      "no transaction of this link has that id, or it is discharged already");
    owner().transactions.erase(id);
    auto* const t = owner().core().find_transaction(id, owner());
    auto const late = !t;
    auto const done = asked.fail.value_or(false) || (t && t->commit());
    owner().core().end_transaction(id);
    if (done)
        std::ignore = receiver_.settle(d);
    else if (late)
        refuse(d, condition::transaction_timeout,
               "the transaction was rolled back: it was open for too long");
    else
        refuse(d, condition::transaction_rollback,
               "the transaction was rolled back: a queue that it posted to was deleted");
}

}  // namespace sluice::node::detail
