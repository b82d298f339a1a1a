// Receiver handles.
#include "client/receiver_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/receiver.hpp>

namespace sluice::client {

using flags = detail::flow_request;

delivery receiver::try_receive() const { return core_->try_receive(); }
void receiver::on_message(std::function<void(delivery)> handler) const
{
    core_->set_handler(std::move(handler));
}

void receiver::add_credit(std::uint32_t more) const { core_->credit_request(flags::add, more); }
void receiver::set_credit(std::uint32_t credit) const { core_->credit_request(flags::set, credit); }
void receiver::set_credit_window(std::uint32_t window) const
{
    core_->credit_request(flags::window, window);
}
void receiver::request_flow(bool echo) const
{
    core_->credit_request(echo ? flags::flow | flags::echo : flags::flow, 0);
}

std::string const& receiver::name() const noexcept { return core_->name(); }
std::string receiver::address() const { return core_->address(); }
std::uint32_t receiver::credit() const noexcept { return core_->credit(); }
receiver_counters receiver::counters() const noexcept { return core_->counters(); }
notifications<detach_notice> receiver::detached() const
{
    return notifications<detach_notice>{core_->detaches()};
}
failure_ptr receiver::error() const { return core_->failure(); }
executor const& receiver::get_executor() const noexcept
{
    return core_->completions()->get_executor();
}

void receiver::start_receive(milliseconds timeout, detail::reply_ptr<delivery> r) const
{
    core_->start_receive(timeout, std::move(r));
}
void receiver::start_drain(detail::reply_ptr<> r) const { core_->start_drain(std::move(r)); }
void receiver::start_close(amqp_error why, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in(why)))
        return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_close(std::move(why), std::move(r));
}

}  // namespace sluice::client
