// A dispatcher that has a transaction.
#include "dispatch/runner.hpp"

#include <sluice/dispatch/transacted_session.hpp>

namespace sluice::dispatch {
namespace {

std::shared_ptr<detail::runner> make(client::session session, dispatcher_options options)
{
    options.mode = acknowledge::transacted;
    auto first = session.begin_transaction();
    return std::make_shared<detail::runner>(std::move(session), std::move(options),
                                            std::move(first));
}

}  // namespace

transacted_session::transacted_session(client::session session, dispatcher_options options)
    : dispatcher_{make(std::move(session), std::move(options))}
{
}

client::transaction transacted_session::transaction() const
{
    return dispatcher_.runner_->transaction();
}

client::send_options transacted_session::posting(client::send_options options) const
{
    auto const t = transaction();
    if (!t)
        net::throw_error(make_error_code(error::invalid_state),
                         "there is no transaction, for its declaration has failed; rollback() "
                         "declares the next");
    return t.posting(std::move(options));
}

void transacted_session::commit() { commit(dispatcher_.runner_->options().timeout); }
void transacted_session::commit(milliseconds timeout)
{
    dispatcher_.runner_->run(detail::request_kind::commit, timeout);
}
void transacted_session::rollback() { dispatcher_.rollback(); }
void transacted_session::rollback(milliseconds timeout) { dispatcher_.rollback(timeout); }

}  // namespace sluice::dispatch
