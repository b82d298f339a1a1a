// Declaring and discharging. [4.3]
#include "client/transaction_core.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/message_writer.hpp>

namespace sluice::client::detail {
namespace {

constexpr symbol local_transactions[] = {"amqp:local-transactions"};

template <class Body>
encoded_message message_of(Body const& body)
{
    bytes const encoded_body = encoded(body);
    encoded_message out;
    message_writer{out.octets}.value(raw_value{encoded_body});
    return out;
}

/// An answer that was not there, though it was asked for: the peer may have done it.
bool is_in_doubt(std::error_code code) noexcept
{
    return code == error::outcome_unknown || code == error::timed_out;
}

}  // namespace

// ---- cancelling

void step_canceller::cancel() noexcept
{
    std::shared_ptr<canceller> step;
    {
        std::lock_guard const lock{mutex_};
        cancelled_ = true;
        step = step_;
    }
    if (step)
        step->cancel();
}

void step_canceller::on_step(std::shared_ptr<canceller> next)
{
    {
        std::lock_guard const lock{mutex_};
        step_ = next;
        if (!cancelled_)
            return;
    }
    next->cancel();
}

// ---- the controller link

void transaction_controller::begin(std::shared_ptr<session_core> const& session,
                                   reply_ptr<transaction> r)
{
    auto cancelling = step_canceller::of(r.get());
    client::sender link;
    {
        std::lock_guard const lock{mutex_};
        if (link_ && !link_.error())
            link = link_;
    }
    if (link)
        declare(session, link, std::move(r), std::move(cancelling));
    else
        open(session, std::move(r), std::move(cancelling));
}

void transaction_controller::open(std::shared_ptr<session_core> const& session,
                                  reply_ptr<transaction> r,
                                  std::shared_ptr<step_canceller> cancelling)
{
    sender_options options;
    options.encoded_target =
        encoded(coordinator{.capabilities = symbols{std::span{local_transactions}}});
    options.source.outcomes = {"amqp:accepted:list", "amqp:rejected:list", "amqp:declared:list"};
    options.snd_settle_mode = sender_settle_mode::unsettled;
    // It holds the session no handle: the session ends with its user's last.
    auto const core = std::make_shared<sender_core>(session->shared_from_this(), nullptr, nullptr,
                                                    std::move(options));
    auto done = [self = shared_from_this(), session, reply = std::move(r),
                 cancelling](std::error_code code, failure_ptr why, client::sender link) mutable {
        if (code) {
            auto const queue = link.core_->completions();
            auto& connection = *link.core_->connection();
            return connection.answer(*queue, std::move(reply), code, std::move(why), transaction{});
        }
        {
            std::lock_guard const lock{self->mutex_};
            self->link_ = link;
        }
        self->declare(session, link, std::move(reply), std::move(cancelling));
    };
    core->start_open(make_user_pointer(core), library_reply<decltype(done), client::sender>::make(
                                                  std::move(done), std::move(cancelling)));
}

void transaction_controller::declare(std::shared_ptr<session_core> const& session,
                                     client::sender const& link, reply_ptr<transaction> r,
                                     std::shared_ptr<step_canceller> cancelling)
{
    auto done = [self = shared_from_this(), session, link, reply = std::move(r)](
                    std::error_code code, failure_ptr why, outcome const& o) mutable {
        self->on_declared({session, link}, code, std::move(why), o, std::move(reply));
    };
    link.core_->start_command(
        message_of(sluice::declare{}),
        library_reply<decltype(done), outcome>::make(std::move(done), std::move(cancelling)));
}

void transaction_controller::on_declared(place const& at, std::error_code code, failure_ptr why,
                                         outcome const& o, reply_ptr<transaction> r)
{
    auto const& link = at.link;
    auto& connection = *link.core_->connection();
    auto const& queue = link.core_->completions();
    delivery_state state;
    auto const* const declared = !code && !decode(raw_value{o.state()}, state)
                                     ? std::get_if<sluice::declared>(&state)
                                     : nullptr;
    if (!declared) {
        if (code == error::timed_out || code == error::operation_aborted
            || code == error::outcome_unknown)
            close();  // the peer may have declared one that nobody will discharge
        if (!code) {
            code = make_error_code(o.rejected() ? error::rejected : error::invalid_value);
            why = make_failure(code,
                               "the coordinator did not declare a transaction, it " + o.to_string(),
                               o.error());
        }
        return connection.answer(*queue, std::move(r), code, std::move(why), transaction{});
    }
    auto core = std::make_shared<transaction_core>(
        shared_from_this(), at, bytes(declared->txn_id.begin(), declared->txn_id.end()));
    connection.answer(*queue, std::move(r), {}, nullptr,
                      transaction_core::wrap(make_user_pointer(std::move(core))));
}

void transaction_controller::discharge(std::shared_ptr<transaction_core> const& of, bool fail,
                                       reply_ptr<> r)
{
    auto cancelling = step_canceller::of(r.get());
    auto done = [of, fail, reply = std::move(r)](std::error_code code, failure_ptr why,
                                                 outcome const& o) mutable {
        of->on_discharged(fail, code, std::move(why), o, std::move(reply));
    };
    of->link().core_->start_command(
        message_of(sluice::discharge{.txn_id = of->id(), .fail = fail}),
        library_reply<decltype(done), outcome>::make(std::move(done), std::move(cancelling)),
        fail ? nullptr : of->posts());
}

void transaction_controller::close()
{
    client::sender link;
    {
        std::lock_guard const lock{mutex_};
        link = std::exchange(link_, client::sender{});
    }
    if (!link)
        return;
    auto done = [](std::error_code, failure_ptr const&) {};
    link.core_->start_close({}, library_reply<decltype(done)>::make(done));
}

void transaction_controller::forget() noexcept
{
    client::sender link;  // goes outside of the lock
    std::lock_guard const lock{mutex_};
    std::swap(link, link_);
}

// ---- a transaction

transaction_core::transaction_core(std::shared_ptr<transaction_controller> controller,
                                   transaction_controller::place at, bytes id)
    : controller_{std::move(controller)},
      user_{std::move(at.session)},
      link_{std::move(at.link)},
      id_{std::move(id)}
{
}

failure_ptr transaction_core::failure() const
{
    std::lock_guard const lock{mutex_};
    return failure_;
}

void transaction_core::answer(reply_ptr<> r, std::error_code code, failure_ptr why) const
{
    link_.core_->connection()->answer(*link_.core_->completions(), std::move(r), code,
                                      std::move(why));
}

void transaction_core::start_discharge(bool fail, reply_ptr<> r)
{
    auto expected = state::active;
    if (state_.compare_exchange_strong(expected, state::discharging))
        return controller_->discharge(shared_from_this(), fail, std::move(r));
    if (fail)
        return answer(std::move(r), {}, nullptr);
    auto why = failure();
    if (!why)
        why = make_failure(make_error_code(error::invalid_state),
                           "the transaction was committed or rolled back before");
    answer(std::move(r), why->code, why);
}

void transaction_core::abandon(std::shared_ptr<transaction_core> self)
{
    auto expected = state::active;
    if (state_.compare_exchange_strong(expected, state::discharging))
        controller_->discharge(self, true, nullptr);
}

void transaction_core::on_discharged(bool fail, std::error_code code, failure_ptr why,
                                     outcome const& o, reply_ptr<> r)
{
    auto const unanswered = is_in_doubt(code) || code == error::operation_aborted;
    if (unanswered)
        controller_->close();  // the peer rolls back what it has not committed
    if (!fail && code == error::transaction_rolled_back)  // it was held back, and did not go
        controller_->discharge(shared_from_this(), true, nullptr);
    std::error_code out;
    if (!fail && (code || !o.accepted())) {
        out = make_error_code(is_in_doubt(code) ? error::transaction_in_doubt
                                                : error::transaction_rolled_back);
        auto text = std::string{
            is_in_doubt(code) ? "the commit was sent and not answered: the peer may have done it"
                              : "the transaction was rolled back"};
        why = code ? make_failure(out, text + " (" + (why ? why->text : code.message()) + ")",
                                  why ? why->error : amqp_error{})
                   : make_failure(out, std::move(text), o.error());
    } else if (fail && code == error::timed_out) {
        out = code;
    } else {
        why = nullptr;
    }
    {
        std::lock_guard const lock{mutex_};
        if (!failure_)
            failure_ = why;
    }
    state_.store(state::over, std::memory_order_release);
    if (r)
        answer(std::move(r), out, std::move(why));
}

}  // namespace sluice::client::detail
