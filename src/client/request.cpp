// Cancellation signals on their way to the strand.
#include "client/request.hpp"

#include "client/connection_core.hpp"

namespace sluice::client::detail {

void cancel_token::cancel() noexcept
{
    if (queued_.exchange(true, std::memory_order_acq_rel))
        return;
    kept_ = shared_from_this();
    if (!connection_->push(*this))
        kept_.reset();
}

void cancel_token::execute(connection_core&)
{
    auto const self = std::move(kept_);
    cancelled = true;
    if (target)
        target->give_up(make_error_code(sluice::error::operation_aborted));
}

void request::accept_cancellation(reply_base& from,
                                  std::shared_ptr<connection_core> const& connection)
{
    if (!from.cancellable())
        return;
    token_ = std::make_shared<cancel_token>(connection);
    from.connect(token_);
}

}  // namespace sluice::client::detail
