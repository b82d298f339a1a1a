// Session handles.
#include "client/connection_core.hpp"
#include "client/receiver_core.hpp"
#include "client/sender_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/session.hpp>

namespace sluice::client {

void session::request_flow(bool echo) const { core_->request_flow(echo); }
session_counters session::counters() const noexcept { return core_->counters(); }
failure_ptr session::error() const { return core_->failure(); }
executor const& session::get_executor() const noexcept
{
    return core_->completions()->get_executor();
}

void session::start_sender(sender_options options, detail::reply_ptr<sender> r) const
{
    if (options.target.dynamic)
        options.target.address.clear();  // the peer's to give [3.5.4]
    auto unfit = detail::refusal(detail::fault_in(options));
    auto made = std::make_shared<detail::sender_core>(core_->shared_from_this(), core_,
                                                      core_->user_connection(), std::move(options));
    made->set_unfit(std::move(unfit));
    auto handle = detail::make_user_pointer(made);
    made->start_open(std::move(handle), std::move(r));
}

void session::start_receiver(receiver_options options, detail::reply_ptr<receiver> r) const
{
    if (options.source.dynamic)
        options.source.address.clear();  // the peer's to give [3.5.3]
    auto unfit = detail::refusal(detail::fault_in(options));
    auto made = std::make_shared<detail::receiver_core>(
        core_->shared_from_this(), core_, core_->user_connection(), std::move(options));
    made->set_unfit(std::move(unfit));
    auto handle = detail::make_user_pointer(made);
    made->start_open(std::move(handle), std::move(r));
}

void session::start_end(amqp_error why, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in(why)))
        return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_end(std::move(why), std::move(r));
}

struct answers_together::scope {
    explicit scope(std::shared_ptr<detail::connection_core> of) : whose{std::move(of)}, now{*whose}
    {
    }
    std::shared_ptr<detail::connection_core> const whose;
    detail::connection_core::handling_scope const now;
};

answers_together::answers_together(session const& of)
    : scope_{std::make_unique<scope>(of.core_->connection())}
{
}
answers_together::~answers_together() = default;

}  // namespace sluice::client
