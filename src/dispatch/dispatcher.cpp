// Handles on a dispatcher and its consumers.
#include "dispatch/runner.hpp"

#include <sluice/dispatch/dispatcher.hpp>

namespace sluice::dispatch {
namespace {

struct registration {
    std::shared_ptr<detail::runner> owner;
    detail::consumer_id id = 0;
};

registration registration_of(detail::place& p)
{
    std::lock_guard const lock{p.mutex};
    return {p.owner.lock(), p.id};
}

registration registered(std::shared_ptr<detail::place> const& p)
{
    if (p)
        if (auto r = registration_of(*p); r.owner)
            return r;
    net::throw_error(make_error_code(error::invalid_state), "the consumer is not registered");
}

}  // namespace

// ---- consumer

client::delivery consumer::receive(milliseconds timeout) const
{
    auto const r = registered(place_);
    return r.owner->receive(*place_, r.id, timeout, true);
}

client::delivery consumer::receive_now() const
{
    auto const r = registered(place_);
    return r.owner->receive(*place_, r.id, milliseconds{0}, false);
}

client::receiver consumer::receiver() const
{
    std::lock_guard const lock{place_->mutex};
    return place_->receiver;
}

std::size_t consumer::waiting() const
{
    auto const r = place_ ? registration_of(*place_) : registration{};
    return r.owner ? r.owner->waiting(r.id) : 0;
}

std::uint32_t consumer::credit() const
{
    auto const r = place_ ? registration_of(*place_) : registration{};
    return r.owner ? r.owner->credit(r.id) : 0;
}

// ---- dispatcher

dispatcher::dispatcher(client::session session, dispatcher_options options)
{
    if (options.mode == acknowledge::transacted)
        net::throw_error(make_error_code(error::invalid_argument),
                         "a dispatcher with a transaction is made by transacted_session");
    runner_ = std::make_shared<detail::runner>(std::move(session), std::move(options),
                                               client::transaction{});
}

dispatcher::~dispatcher()
{
    if (runner_)
        runner_->shut();
}

void dispatcher::start(bool initially_stopped)
{
    auto const now = runner_->state();
    if (!initially_stopped && (now == lifecycle::stopped || now == lifecycle::running))
        return;
    runner_->change(initially_stopped ? lifecycle_event::start_stopped : lifecycle_event::start);
}
void dispatcher::start() { runner_->change(lifecycle_event::start); }
void dispatcher::stop() { runner_->change(lifecycle_event::stop); }
bool dispatcher::running() const { return runner_->state() == lifecycle::running; }
void dispatcher::close() { close(runner_->options().timeout); }
void dispatcher::close(milliseconds timeout) { runner_->run(detail::request_kind::close, timeout); }
bool dispatcher::closed() const { return runner_->closed(); }

consumer dispatcher::register_consumer(client::receiver from, consumer_options options,
                                       listener on_message)
{
    if (!from)
        net::throw_error(make_error_code(error::invalid_argument),
                         "register_consumer wants a receiver that is open");
    auto p = std::make_shared<detail::place>();
    p->options = options;
    p->on_message = std::move(on_message);
    return consumer{runner_->add(std::move(p), std::move(from))};
}

void dispatcher::register_consumer(consumer const& again) { runner_->add(again.place_, {}); }

void dispatcher::register_consumer(consumer const& again, client::receiver from)
{
    runner_->add(again.place_, std::move(from));
}

consumer dispatcher::unregister_consumer(consumer const& c)
{
    if (!c)
        net::throw_error(make_error_code(error::not_found), "unregister_consumer wants a consumer");
    runner_->remove(c.place_);
    return c;
}

std::vector<consumer> dispatcher::clear_consumers()
{
    std::vector<consumer> out;
    for (auto& p : runner_->clear()) out.push_back(consumer{std::move(p)});
    return out;
}

void dispatcher::dispatch(consumer const& to, client::delivery d)
{
    if (!d)
        net::throw_error(make_error_code(error::invalid_argument), "dispatch wants a delivery");
    auto const r = to ? registration_of(*to.place_) : registration{};
    runner_->dispatch(r.owner == runner_ ? r.id : 0, std::move(d));
}

void dispatcher::barrier() { barrier(runner_->options().timeout); }
void dispatcher::barrier(milliseconds timeout)
{
    runner_->run(detail::request_kind::barrier, timeout);
}
void dispatcher::rollback() { rollback(runner_->options().timeout); }
void dispatcher::rollback(milliseconds timeout)
{
    runner_->run(detail::request_kind::rollback, timeout);
}
void dispatcher::recover() { recover(runner_->options().timeout); }
void dispatcher::recover(milliseconds timeout)
{
    if (runner_->options().mode == acknowledge::transacted)
        net::throw_error(make_error_code(error::invalid_state),
                         "recover() is for sessions without a transaction: call rollback()");
    rollback(timeout);
}
void dispatcher::acknowledge()
{
    if (runner_->options().mode != dispatch::acknowledge::by_user)
        net::throw_error(make_error_code(error::invalid_state),
                         "acknowledge() is for acknowledge::by_user: the others answer themselves");
    runner_->acknowledge();
}

std::size_t dispatcher::held() const { return runner_->held(); }
client::session const& dispatcher::session() const noexcept { return runner_->session(); }

}  // namespace sluice::dispatch
