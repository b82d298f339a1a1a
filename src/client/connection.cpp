// Connection handles.
#include "client/connection_core.hpp"
#include "client/session_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/connection.hpp>

namespace sluice::client {

session connection::default_session() const { return session{core_->default_session(core_)}; }

std::string connection::remote_container_id() const { return core_->remote_container_id(); }
std::string connection::peer() const { return core_->peer(); }
connection_counters connection::counters() const noexcept { return core_->counters(); }
audit_counters connection::audited() const noexcept { return core_->audited(); }
failure_ptr connection::error() const { return core_->failure(); }
std::uint64_t connection::reconnects() const noexcept { return core_->reconnects(); }
void connection::set_credentials(std::string user, std::string password) const
{
    core_->set_credentials(std::move(user), std::move(password));
}
notifications<state_change> connection::state_changes() const
{
    return notifications<state_change>{core_->state_changes()};
}
notifications<failure_ptr> connection::closed() const
{
    return notifications<failure_ptr>{core_->closed_notice()};
}
notifications<blocked_change> connection::blocked() const
{
    return notifications<blocked_change>{core_->blocked_notice()};
}
executor connection::get_executor() const { return core_->completions()->get_executor(); }

void connection::start_begin(session_options options, detail::reply_ptr<session> r) const
{
    auto unfit = detail::refusal(detail::fault_in(options));
    auto made = std::make_shared<detail::session_core>(core_->shared_from_this(), core_, true,
                                                       std::move(options));
    made->set_unfit(std::move(unfit));
    auto handle = detail::make_user_pointer(made);
    made->start_begin(std::move(handle), std::move(r));
}

void connection::start_close(amqp_error why, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in(why)))
        return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_close(std::move(why), std::move(r));
}

}  // namespace sluice::client
