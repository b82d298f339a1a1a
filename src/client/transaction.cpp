// Transactions as users see them.
#include "client/transaction_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/session.hpp>
#include <sluice/codec/codec.hpp>

namespace sluice::client {
namespace {

bytes encoded_outcome(delivery_state const& outcome) { return encoded(outcome); }

/// Over with its controller link: its id means nothing on a connection that has come back. [4.1]
void require_link(client::sender const& controller)
{
    if (auto const why = controller.error())
        net::throw_error(make_error_code(error::transaction_rolled_back),
                         "the transaction was lost: " + why->text);
}

}  // namespace

bytes const& transaction::id() const noexcept { return core_->id(); }
bool transaction::active() const noexcept
{
    return core_->now() == detail::transaction_core::state::active && !core_->link().error();
}
failure_ptr transaction::error() const { return core_->failure(); }
executor transaction::get_executor() const { return core_->link().get_executor(); }

bytes transaction::state(bytes_view encoded_outcome) const
{
    return encoded(delivery_state{
        transactional_state{.txn_id = core_->id(), .outcome = raw_value{encoded_outcome}}});
}

send_options transaction::posting(send_options options) const
{
    require_link(core_->link());
    options.state = state({});
    options.posts = core_->posts();
    return options;
}

void transaction::accept(delivery const& d) const
{
    require_link(core_->link());
    d.answer(state(encoded_outcome(sluice::accepted{})));
}
void transaction::release(delivery const& d) const
{
    require_link(core_->link());
    d.answer(state(encoded_outcome(sluice::released{})));
}
void transaction::reject(delivery const& d, amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    require_link(core_->link());
    d.answer(state(encoded_outcome(sluice::rejected{.error = why.view()})));
}
void transaction::modify(delivery const& d, modification how) const
{
    detail::require_none(detail::fault_in(how));
    require_link(core_->link());
    d.answer(state(encoded_outcome(
        sluice::modified{.delivery_failed = how.delivery_failed,
                         .undeliverable_here = how.undeliverable_here,
                         .message_annotations = raw_value{how.message_annotations}})));
}

void transaction::start_discharge(bool fail, detail::reply_ptr<> r) const
{
    core_->start_discharge(fail, std::move(r));
}

void session::start_transaction(detail::reply_ptr<transaction> r) const
{
    core_->transactions()->begin(core_, std::move(r));
}

}  // namespace sluice::client
