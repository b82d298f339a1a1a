// Delivery handles.
#include "client/receiver_core.hpp"
#include "client/user_values.hpp"

#include <sluice/client/delivery.hpp>
#include <sluice/codec/codec.hpp>

namespace sluice::client {
namespace {

void check(std::error_code code)
{
    if (code)
        net::throw_error(code, "answering a delivery");
}

}  // namespace

delivery::delivery(detail::delivery_core* core, adopt) noexcept : core_{core} {}

delivery::reference::reference(reference const& other) noexcept : core{other.core}
{
    if (core)
        core->ref();
}
delivery::reference::~reference()
{
    if (core)
        core->unref();
}

bytes_view delivery::body() const noexcept { return core_->octets(); }

message_view delivery::view() const
{
    message_view out;
    decode_fault fault;
    if (auto const failed = decode(body(), out, &fault))
        net::throw_error(failed, "the message is malformed: " + fault.message());
    return out;
}

sluice::message delivery::message() const
{
    sluice::message out;
    decode_fault fault;
    if (auto const failed = decode(body(), out, &fault))
        net::throw_error(failed, "the message is malformed: " + fault.message());
    return out;
}

bytes_view delivery::tag() const noexcept { return core_->tag.view(); }
delivery_number delivery::id() const noexcept { return core_->id; }
std::uint32_t delivery::message_format() const noexcept { return core_->message_format; }
bool delivery::settled() const noexcept { return core_->settled; }
bool delivery::answered() const noexcept { return core_->answered.load(std::memory_order_acquire); }

void delivery::accept() const { check(core_->answer(outcome_kind::accepted, {})); }
void delivery::release() const { check(core_->answer(outcome_kind::released, {})); }

void delivery::reject(amqp_error why) const
{
    detail::require_none(detail::fault_in(why));
    bytes state;
    append(state, delivery_state{rejected{.error = why.view()}});
    check(core_->answer(outcome_kind::rejected, std::move(state)));
}

void delivery::modify(modification how) const
{
    detail::require_none(detail::fault_in(how));
    bytes state;
    append(state, delivery_state{modified{.delivery_failed = how.delivery_failed,
                                          .undeliverable_here = how.undeliverable_here,
                                          .message_annotations = {how.message_annotations}}});
    check(core_->answer(outcome_kind::modified, std::move(state)));
}

void delivery::answer(bytes encoded_state) const
{
    detail::require_none(detail::fault_in_state("encoded_state", encoded_state));
    check(core_->answer(outcome_kind::unknown, std::move(encoded_state)));
}

bytes delivery::accepted_state() { return {encoded_accepted.begin(), encoded_accepted.end()}; }

void delivery::start_settle(bytes state, detail::reply_ptr<> r) const
{
    if (auto const unfit = detail::refusal(detail::fault_in_state("encoded_state", state)))
        return detail::refuse(*core_->link->completions(), std::move(r), unfit);
    core_->start_settle(std::move(state), std::move(r));
}
void delivery::start_read(std::span<std::byte> into, detail::reply_ptr<std::size_t> r) const
{
    core_->start_read(into, std::move(r));
}

executor const& delivery::get_executor() const noexcept
{
    return core_->link->completions()->get_executor();
}

}  // namespace sluice::client
