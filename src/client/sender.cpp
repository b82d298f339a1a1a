// Sender handles.
#include "client/sender_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/sender.hpp>
#include <sluice/codec/message_writer.hpp>

namespace sluice::client {

encoded_message sender::encode(message const& m)
{
    encoded_message out;
    sluice::encode(m, out.octets);
    return out;
}

encoded_message sender::encode(std::string_view text)
{
    encoded_message out;
    out.octets.reserve(text.size() + 8);
    message_writer{out.octets}.value(text);
    return out;
}

outcome sender::send(encoded_message m, send_options options) const
{
    return detail::wait_for<outcome>([&](detail::reply_ptr<outcome> r) {
        start_send(std::move(m), options, false, std::move(r));
    });
}
outcome sender::send(message const& m, send_options options) const
{
    return send(encode(m), std::move(options));
}
outcome sender::send(std::string_view text, send_options options) const
{
    return send(encode(text), std::move(options));
}

outcome sender::try_send(encoded_message m, send_options options) const
{
    return detail::wait_for<outcome>([&](detail::reply_ptr<outcome> r) {
        start_send(std::move(m), options, true, std::move(r));
    });
}
outcome sender::try_send(message const& m, send_options options) const
{
    return try_send(encode(m), std::move(options));
}
outcome sender::try_send(std::string_view text, send_options options) const
{
    return try_send(encode(text), std::move(options));
}

body_stream sender::stream(send_options options, std::size_t buffer_max) const
{
    if (detail::may_have_fault(options))
        detail::require_none(detail::fault_in(options));
    return core_->start_stream(options, buffer_max);
}

std::string const& sender::name() const noexcept { return core_->name(); }
std::string sender::address() const { return core_->address(); }
std::uint32_t sender::credit() const noexcept { return core_->credit(); }
std::size_t sender::outstanding() const noexcept { return core_->outstanding(); }
sender_counters sender::counters() const noexcept { return core_->counters(); }
notifications<send_result> sender::outcomes() const
{
    return notifications<send_result>{core_->results()};
}
notifications<detach_notice> sender::detached() const
{
    return notifications<detach_notice>{core_->detaches()};
}
failure_ptr sender::error() const { return core_->failure(); }
executor const& sender::get_executor() const noexcept
{
    return core_->completions()->get_executor();
}

void sender::start_send(encoded_message m, send_options const& options, bool only_with_credit,
                        detail::reply_ptr<outcome> r) const
{
    if (detail::may_have_fault(options)) [[unlikely]]
        if (auto const unfit = detail::refusal(detail::fault_in(options)))
            return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_send(std::move(m), options, only_with_credit, std::move(r));
}

void sender::start_close(amqp_error why, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in(why)))
        return detail::refuse(*core_->completions(), std::move(r), unfit);
    core_->start_close(std::move(why), std::move(r));
}

}  // namespace sluice::client
