// Receiving: the way of a delivery from the inbox to whoever waits.
#include "client/receiver_requests.hpp"

namespace sluice::client::detail {
namespace {

constexpr int pumped_max =
    64;  // deliveries to one handler before others of the session have their turn

/// Destroys a handler where handlers run: its captures are the user's.
class disposal final : public reply_base {
public:
    explicit disposal(std::shared_ptr<void> what) : reply_base{true}, what_{std::move(what)} {}
    void run() override { delete this; }
    void deliver() noexcept override {}
    void discard() noexcept override { delete this; }

private:
    ~disposal() = default;
    std::shared_ptr<void> what_;
};

}  // namespace

void receiver_core::open_request::finish(std::error_code code, failure_ptr why)
{
    auto const l = link_;
    auto reply = std::move(reply_);
    auto user = std::move(user_);
    delete this;
    l->connection()->answer(*l->completions(), std::move(reply), code, std::move(why),
                            client::receiver{std::move(user)});
}

// ---- receive

void receiver_core::receive_request::execute(connection_core& on)
{
    if (!begin())
        return finish(
            make_error_code(sluice::error::operation_aborted),
            make_failure(make_error_code(sluice::error::operation_aborted), "receive cancelled"),
            {});
    auto const l = link_;
    auto detached = false;
    {
        std::lock_guard const lock{l->mutex_};
        detached = l->detached_ && !l->first_;
        if (!detached)
            l->receivers_.push_back(*this);
    }
    if (detached) {
        auto const why = l->failure();
        return finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why, {});
    }
    on.deadlines().arm(*this, timeout_, on.now());
    l->serve();
}

void receiver_core::receive_request::refuse() noexcept
{
    auto const why = link_->connection()->failure();
    finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why, {});
}

void receiver_core::receive_request::give_up(std::error_code why)
{
    {
        std::lock_guard const lock{link_->mutex_};
        link_->receivers_.remove(*this);
    }
    auto const in_time = why == sluice::error::timed_out;
    finish(why,
           make_failure(why, link_->refers_to()
                                 + (in_time ? ": no delivery within "
                                                  + std::to_string(timeout_.count()) + " ms"
                                            : ": receive cancelled")),
           {});
}

void receiver_core::receive_request::finish(std::error_code code, failure_ptr why,
                                            client::delivery d)
{
    auto const l = link_;
    if (armed())
        l->core().deadlines().disarm(*this);
    auto reply = std::move(reply_);
    delete this;
    l->core().answer(*l->completions(), std::move(reply), code, std::move(why), std::move(d));
}

/// @pre locked, not empty
delivery_core* receiver_core::pop(bool& wants_room) noexcept
{
    auto* const d = first_;
    first_ = d->next_in_inbox;
    d->next_in_inbox = nullptr;
    --inbox_size_;
    inbox_bytes_ -= d->octets().size();
    wants_room = full_ && inbox_size_ <= options_.inbox_max / 2;
    if (wants_room)
        full_ = false;
    return d;
}

/// Goes to the user now: what its sender settled is done with, and makes room for more.
void receiver_core::hand_out(delivery_core& d, bool wants_room)
{
    if (d.settled && !d.answered.exchange(true, std::memory_order_acq_rel)) {
        d.ref();
        if (!connection()->push_answer(d))
            d.refuse();
    }
    if (wants_room)
        room_->push(self());
}

void receiver_core::start_receive(milliseconds timeout, reply_ptr<client::delivery> r)
{
    delivery_core* found = nullptr;
    auto wants_room = false;
    std::error_code code;
    failure_ptr why;
    {
        std::unique_lock lock{mutex_};
        if (handler_) {
            code = make_error_code(sluice::error::invalid_state);
        } else if (first_ && receivers_.empty()) {
            found = pop(wants_room);
        } else if (detached_ && !first_) {
            why = failure();
            code = why ? why->code : make_error_code(sluice::error::link_not_attached);
        } else {
            lock.unlock();
            auto* const request = new receive_request{self(), timeout, std::move(r)};
            if (!connection()->push(*request))
                request->refuse();
            return;
        }
    }
    if (code == sluice::error::invalid_state)
        why = make_failure(code,
                           refers_to() + " has a handler (on_message), which gets every delivery");
    if (found)
        hand_out(*found, wants_room);
    core().answer(*completions(), std::move(r), code, std::move(why),
                  found ? delivery_core::adopt(found) : client::delivery{});
}

client::delivery receiver_core::try_receive()
{
    delivery_core* found = nullptr;
    auto wants_room = false;
    {
        std::lock_guard const lock{mutex_};
        if (handler_ || !first_ || !receivers_.empty())
            return {};
        found = pop(wants_room);
    }
    hand_out(*found, wants_room);
    return delivery_core::adopt(found);
}

void receiver_core::room_command::push(std::shared_ptr<receiver_core> keep)
{
    if (queued_.exchange(true, std::memory_order_acq_rel))
        return;
    keep_ = std::move(keep);
    if (!link_.connection()->push(*this))
        keep_.reset();
}

void receiver_core::room_command::execute(connection_core&)
{
    auto const keep = std::move(keep_);
    queued_.store(false, std::memory_order_release);
    if (link_.engine())
        link_.move_to_inbox();
}

// ---- the handler

void receiver_core::set_handler(std::function<void(client::delivery)> handler)
{
    auto made = handler
                    ? std::make_shared<std::function<void(client::delivery)>>(std::move(handler))
                    : nullptr;
    auto starts = false;
    {
        std::lock_guard const lock{mutex_};
        handler_.swap(made);
        starts = handler_ && first_ && receivers_.empty() && !std::exchange(pump_queued_, true);
        if (starts)
            pump_->keep(self());
    }
    if (starts)
        completions()->push(*pump_);
}

void receiver_core::message_pump::run()
{
    auto const keep = std::move(keep_);
    connection_core::handling_scope const scope{*link_.connection()};
    for (int i = 0;; ++i) {
        delivery_core* found = nullptr;
        auto wants_room = false;
        std::shared_ptr<std::function<void(client::delivery)>> handler;
        {
            std::lock_guard const lock{link_.mutex_};
            handler = link_.handler_;
            if (!handler || !link_.first_) {
                link_.pump_queued_ = false;
                if (link_.detached_)
                    link_.handler_.reset();  // `handler` is destroyed below, without the lock
                return;
            }
            if (i < pumped_max)
                found = link_.pop(wants_room);
        }
        if (!found)
            break;
        link_.hand_out(*found, wants_room);
        try {
            (*handler)(delivery_core::adopt(found));
        } catch (...) {
            keep_ = keep;
            link_.completions()->push(*this);
            throw;
        }
    }
    keep_ = keep;
    link_.completions()->push(*this);
}

void receiver_core::dispose_later(std::shared_ptr<void> handler)
{
    core().answer(*completions(), *new disposal{std::move(handler)});
}

// ---- drain

void receiver_core::drain_request::execute(connection_core& on)
{
    auto* const r = link_->engine();
    if ((!r && !link_->away()) || link_->ended()) {
        auto const why = link_->failure();
        return finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why);
    }
    if (!begin())
        return finish(make_error_code(sluice::error::operation_aborted), nullptr);
    link_->drainers_.push_back(*this);
    on.deadlines().arm(*this, link_->timeout(), on.now());
    link_->window_ = 0;
    link_->by_hand_ = 0;
    link_->after_drain_ = 0;
    if (!link_->away())
        r->drain();
}

void receiver_core::drain_request::refuse() noexcept
{
    auto const why = link_->connection()->failure();
    finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why);
}

void receiver_core::drain_request::give_up(std::error_code why)
{
    auto const l = link_;
    l->drainers_.remove(*this);
    finish(why, make_failure(why, l->refers_to() + ": no answer to the drain"));
    if (!l->drainers_.empty())
        return;
    if (auto* const r = l->engine(); r && !l->away())
        r->stop_drain();
    l->apply_after_drain();
}

void receiver_core::drain_request::finish(std::error_code code, failure_ptr why)
{
    auto const l = link_;
    l->drains_.fetch_sub(1, std::memory_order_acq_rel);
    if (armed())
        l->core().deadlines().disarm(*this);
    auto reply = std::move(reply_);
    delete this;
    l->core().answer(*l->completions(), std::move(reply), code, std::move(why));
}

void receiver_core::start_drain(reply_ptr<> r)
{
    auto* const request = new drain_request{self(), std::move(r)};
    if (!connection()->push(*request))
        request->refuse();
}

}  // namespace sluice::client::detail
