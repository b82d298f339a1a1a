// What the dispatcher's decisions mean for receivers, deliveries and the transaction.
#include "dispatch/runner.hpp"

#include <boost/asio/post.hpp>

namespace sluice::dispatch::detail {

void runner::set_credit(consumer_id of, std::uint32_t credit)
{
    places_.at(of)->receiver.set_credit(credit);
}

void runner::add_credit(consumer_id of, std::uint32_t more)
{
    places_.at(of)->receiver.add_credit(more);
}

// ---- drain

/// What is on its way comes to the handler, which finds no such consumer: it goes back in its order
/// before the link gets credit again. The consumer may have moved to another dispatcher by then.
void runner::stop(consumer_id of)
{
    auto const& p = places_.at(of);
    auto const which = std::make_shared<bool>(true);
    {
        std::lock_guard const registered{p->mutex};
        p->stopping = which;
    }
    p->receiver.async_drain([self = weak_from_this(), p, which](client::error_code why) {
        auto who = self.lock();
        std::vector<client::delivery> left;
        {
            std::lock_guard const registered{p->mutex};
            if (p->stopping != which)  // registered with another receiver since
                return;
            p->stopping = nullptr;
            p->receiver.on_message({});
            while (auto d = p->receiver.try_receive()) left.push_back(std::move(d));
            if (why && !p->receiver.error())
                p->receiver.set_credit(0);  // not drained: it is no part of what is granted next
            if (auto now = p->owner.lock())
                who = std::move(now);
        }
        if (who)
            return who->on_stopped(p, std::move(left));
        for (auto const& d : left) give_back(d);
    });
}

void runner::give_back(client::delivery const& d)
{
    try {
        if (!d.settled())
            d.release();
    } catch (boost::system::system_error const&) {  // its link is gone, and the peer has it again
    }
}

void runner::on_stopped(std::shared_ptr<place> const& p, std::vector<client::delivery> left)
{
    auto const l = hold();
    for (auto& d : left) take_in(nullptr, std::move(d));
    if (!places_.contains(p->id) || places_.at(p->id) != p)
        return;
    listen(*p);
    core_.ready(p->id);
}

void runner::drain(consumer_id of)
{
    auto const& p = places_.at(of);
    p->echo_asked = false;
    draining_since_ = clock::now();
    p->receiver.async_drain(
        [self = weak_from_this(), p, round = ++p->round](client::error_code why) {
            if (auto const r = self.lock())
                r->on_drained(p, round, why);
        });
}

/// On the session's queue, where its receivers' handlers run: none is running, but the receiver may
/// have messages that its handler has not seen.
void runner::on_drained(std::shared_ptr<place> const& p, std::uint64_t round, std::error_code why)
{
    auto const l = hold();
    if (core_.at() != service::draining || p->round != round || !places_.contains(p->id))
        return;
    if (why == error::operation_aborted)
        return;  // by our own credit 0: the echo's answer counts
    if (why == error::timed_out && !p->echo_asked) {
        draining_since_ = clock::now() - options_.drain_timeout;
        return give_up_drains();
    }
    p->receiver.on_message({});
    while (auto d = p->receiver.try_receive()) take_in(p, std::move(d));
    listen(*p);
    core_.drained(p->id);
    look_around();
    wake();
    changed_.notify_all();
}

/// Where a peer does not answer a drain: no credit, and its next flow says that it knows.
void runner::give_up_drains()
{
    if (clock::now() < draining_since_ + options_.drain_timeout)
        return;
    auto const flows = session_.counters().flows_received;
    for (auto const& [id, p] : places_) {
        if (core_.quiet_link(id))
            continue;
        if (!p->echo_asked) {
            p->echo_asked = true;
            p->flows_before = flows;
            p->receiver.set_credit(0);
            p->receiver.request_flow(true);
        } else if (flows > p->flows_before) {
            // A call that completes on the session's queue, with an error, since there is a
            // handler.
            p->receiver.async_receive([self = weak_from_this(), p = p, round = p->round](
                                          client::error_code, client::delivery const&) {
                if (auto const r = self.lock())
                    r->on_drained(p, round, {});
            });
        }
    }
}

// ---- the transaction

void runner::discharge(bool fail)
{
    auto done = [self = weak_from_this(), round = ++exchange_](client::error_code why) {
        if (auto const r = self.lock())
            r->on_discharged(round, why);
    };
    if (!transaction_) {
        if (!fail)
            text_ = "there is no transaction, for its declaration has failed";
        auto const code = fail ? std::error_code{} : make_error_code(error::invalid_state);
        return boost::asio::post(session_.get_executor(),
                                 [done = std::move(done), code] { done(code); });
    }
    if (fail)
        transaction_.async_rollback(std::move(done));
    else
        transaction_.async_commit(std::move(done));
}

void runner::on_discharged(std::uint64_t round, std::error_code why)
{
    auto const l = hold();
    if (exchange_ != round)
        return;
    if (auto const said = transaction_ ? transaction_.error() : nullptr; why && said)
        text_ = said->text;
    transaction_ = {};
    core_.discharged(why);
    wake();
    changed_.notify_all();
}

void runner::declare()
{
    session_.async_begin_transaction([self = weak_from_this(), round = ++exchange_](
                                         client::error_code why, client::transaction const& t) {
        if (auto const r = self.lock())
            r->on_declared(round, why, t);
    });
}

void runner::on_declared(std::uint64_t round, std::error_code why, client::transaction t)
{
    auto const l = hold();
    if (exchange_ != round)
        return;
    if (why)
        text_ = "no transaction could be declared: " + why.message();
    else
        transaction_ = std::move(t);
    core_.declared(why);
    wake();
    changed_.notify_all();
}

// ---- answers

void runner::tell(item& it, answer a)
{
    auto const& d = static_cast<message&>(it).what;
    if (d.settled() || d.answered())
        return;
    try {
        switch (a) {
        case answer::accept: return d.accept();
        case answer::release: return d.release();
        case answer::fail: return d.modify({.delivery_failed = true});
        case answer::clear: return d.answer({});
        case answer::retire: return transaction_ ? transaction_.accept(d) : void();
        case answer::retire_failed:
            return !transaction_         ? void()
                   : it.modified_offered ? transaction_.modify(d, {.delivery_failed = true})
                                         : transaction_.release(d);
        }
    } catch (boost::system::system_error const&) {
        // Its user was faster, or its link is gone and the peer has it again.
    }
}

bool runner::answered(item const& it) const
{
    return static_cast<message const&>(it).what.answered();
}

void runner::end_session()
{
    session_.async_end([](client::error_code) {});
}

}  // namespace sluice::dispatch::detail
