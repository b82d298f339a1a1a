// Receivers: the end of the link, and of the last handle on it.
#include "client/receiver_requests.hpp"

namespace sluice::client::detail {

void receiver_core::on_detached(failure_ptr const& why)
{
    if (engine() && !abandoned())
        move_to_inbox(true);  // what came before the end can still be received
    request_list left;
    std::shared_ptr<std::function<void(client::delivery)>> handler;
    {
        std::lock_guard const lock{mutex_};
        detached_ = true;
        std::swap(left, receivers_);
        if (!first_)
            handler.swap(handler_);  // it may hold handles on this
    }
    while (auto* const r = static_cast<receive_request*>(left.pop_front()))
        r->finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why, {});
    while (auto* const r = static_cast<drain_request*>(drainers_.pop_front()))
        r->finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why);
    if (handler)
        dispose_later(std::move(handler));
}

void receiver_core::on_released()
{
    backlog_.clear();
    while (auto* const d = records_) keep_or_stale(*d, true);
}

/// Nobody can receive any more, and nobody is there to be told: without this what was not taken and
/// the link would keep each other.
void receiver_core::on_orphaned()
{
    delivery_core* first = nullptr;
    std::shared_ptr<std::function<void(client::delivery)>> handler;
    {
        std::lock_guard const lock{mutex_};
        first = std::exchange(first_, nullptr);
        last_ = nullptr;
        inbox_size_ = inbox_bytes_ = 0;
        handler.swap(handler_);
    }
    while (auto* const d = first) {
        first = d->next_in_inbox;
        d->answered.store(true, std::memory_order_relaxed);
        d->unref();
    }
    if (handler)
        dispose_later(std::move(handler));
}

/// Nobody can receive any more: what was not taken goes back, and the link goes when the rest is
/// answered.
void receiver_core::on_abandoned()
{
    set_handler({});
    delivery_core* first = nullptr;
    {
        std::lock_guard const lock{mutex_};
        first = std::exchange(first_, nullptr);
        last_ = nullptr;
        inbox_size_ = inbox_bytes_ = 0;
    }
    if (engine() && !ended()) {
        engine()->set_credit(0);
        for (auto* const d : backlog_)
            std::ignore = engine()->settle(*d, {delivery_core::released_state});
        backlog_.clear();
    }
    while (auto* const d = first) {
        first = d->next_in_inbox;
        d->answered.store(true, std::memory_order_relaxed);
        d->answer_kind = outcome_kind::released;
        settle(*d);
        d->unref();
    }
    close_when_idle();
}

void receiver_core::close_when_idle()
{
    if (!records_)
        close_abandoned();
}

}  // namespace sluice::client::detail
