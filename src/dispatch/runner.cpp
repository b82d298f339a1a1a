// The dispatcher's thread, and the calls that wait for it.
#include "dispatch/runner.hpp"

#include <sluice/net/never.hpp>

#include <cstdio>
#include <optional>

namespace sluice::dispatch::detail {
namespace {

core::options core_options(dispatcher_options const& o)
{
    return {.automatic = o.mode == acknowledge::automatic,
            .transacted = o.mode == acknowledge::transacted,
            .delivered_max = o.delivered_max};
}

/// With times that can be added to the clock's.
dispatcher_options countable(dispatcher_options o)
{
    o.drain_timeout = net::at_most_never(o.drain_timeout);
    return o;
}

void print(std::exception_ptr what)
{
    try {
        std::rethrow_exception(what);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "sluice: a dispatcher's listener has thrown: %s\n", e.what());
    } catch (...) {
        std::fputs("sluice: a dispatcher's listener has thrown\n", stderr);
    }
}

runner::clock::time_point deadline_after(milliseconds timeout)
{
    return timeout >= net::never ? runner::clock::time_point::max()
                                 : runner::clock::now() + timeout;
}

constexpr int together_max = 64;  // messages whose answers go out together
/// Between two looks at what nobody tells: the end of the session, a peer that cannot drain.
constexpr milliseconds usual_look{250};
constexpr milliseconds draining_look{10};

}  // namespace

runner::runner(client::session session, dispatcher_options options, client::transaction first)
    : session_{std::move(session)},
      options_{countable(std::move(options))},
      core_{*this, core_options(options_)},
      transaction_{std::move(first)}
{
}

void runner::fail(std::error_code why) const
{
    auto const last = why == error::closed_locally ? std::string{"the dispatcher is closed"}
                      : why == error::timed_out
                          ? std::string{"the dispatcher has not done it within the deadline"}
                          : text_;
    net::throw_error(why, last);
}

void runner::check_open() const
{
    if (core_.closed())
        fail(core_.reason());
}

// ---- commands

void runner::change(lifecycle_event e)
{
    auto const l = hold();
    check_open();
    core_.change(e);
    if (core_.state() != lifecycle::created && thread_id_ == std::thread::id{}) {
        thread_ = std::thread{[self = shared_from_this()] { self->thread_main(); }};
        thread_id_ = thread_.get_id();
    }
    wake();
    changed_.notify_all();  // consumers that wait in receive()
}

lifecycle runner::state()
{
    auto const l = hold();
    return core_.state();
}

std::shared_ptr<place> runner::add(std::shared_ptr<place> p, client::receiver from)
{
    if (!p)
        net::throw_error(make_error_code(error::invalid_argument),
                         "the consumer is empty: register one that unregister_consumer() or "
                         "clear_consumers() returned, or a receiver");
    auto const l = hold();
    check_open();
    auto waits = false;
    {
        std::lock_guard const registered{p->mutex};
        if (p->registered && p->owner.lock())
            net::throw_error(make_error_code(error::invalid_state),
                             "the consumer is registered: unregister it first");
        p->registered = true;
        p->id = ++ids_;
        ++p->round;
        p->owner = weak_from_this();
        if (from && from != p->receiver) {
            p->receiver = std::move(from);
            p->stopping = nullptr;
        }
        waits = p->stopping != nullptr;
    }
    // What had come before is no news to its credit.
    std::vector<client::delivery> here;
    if (!waits)
        while (auto d = p->receiver.try_receive()) here.push_back(std::move(d));
    places_[p->id] = p;
    core_.add(p->id, {.prefetch = p->options.prefetch,
                      .held = static_cast<std::uint32_t>(here.size()),
                      .listens = static_cast<bool>(p->on_message),
                      .browser = p->options.browser,
                      .modified_offered = p->options.modified_offered,
                      .waits = waits});
    for (auto& d : here) take_in(p, std::move(d));
    if (!waits)
        listen(*p);
    wake();
    return p;
}

void runner::listen(place const& p)
{
    p.receiver.on_message([self = weak_from_this(), id = p.id](client::delivery d) {
        if (auto const r = self.lock())
            r->dispatch(id, std::move(d));
        else
            give_back(d);
    });
}

/// `now`: its receiver is its user's again, and not only when it is quiet.
void runner::dismiss(place& p, bool now)
{
    if (now)
        p.receiver.on_message({});
    std::lock_guard const registered{p.mutex};
    p.registered = false;
}

void runner::dismiss_all(bool now)
{
    for (auto const& [id, p] : std::exchange(places_, {})) dismiss(*p, now);
}

void runner::remove(std::shared_ptr<place> const& p)
{
    auto const l = hold();
    auto const at = places_.find(p->id);
    if (at == places_.end() || at->second != p)
        net::throw_error(make_error_code(error::not_found),
                         "the consumer is not registered with this dispatcher");
    core_.remove(p->id);
    dismiss(*p, false);
    places_.erase(at);
    wake();
    changed_.notify_all();
}

std::vector<std::shared_ptr<place>> runner::clear()
{
    auto const l = hold();
    check_open();
    std::vector<std::shared_ptr<place>> out;
    for (auto const id : core_.clear()) out.push_back(places_.at(id));
    dismiss_all(false);
    wake();
    changed_.notify_all();
    return out;
}

void runner::acknowledge()
{
    auto const l = hold();
    check_open();
    core_.acknowledge();
}

// ---- waiting

void runner::wake() noexcept
{
    auto sleeps = thread_state::sleeps;
    if (thread_is_.compare_exchange_strong(sleeps, thread_state::works))
        work_.notify_one();
}

/// Until something may have changed. @returns false once the time is over
bool runner::wait(lock& l, std::condition_variable& on, clock::time_point until)
{
    if (take_in_all())
        return clock::now() < until;
    auto const look = core_.at() == service::draining ? draining_look : usual_look;
    auto const next = clock::now() + look;
    on.wait_until(l, std::min(next, until));
    look_around();
    return clock::now() < until;
}

void runner::look_around()
{
    if (!core_.closed())
        if (auto const why = session_.error()) {
            text_ = why->text;
            core_.session_lost(why->code ? why->code : make_error_code(error::session_not_open));
            dismiss_all(true);
            changed_.notify_all();
            wake();
        }
    if (core_.at() == service::draining)
        give_up_drains();
}

void runner::run(request_kind kind, milliseconds timeout)
{
    auto const until = deadline_after(timeout);
    auto l = hold();
    if (kind == request_kind::barrier && on_own_thread())
        net::throw_error(make_error_code(error::invalid_state),
                         "a listener cannot wait for itself: call barrier() from another thread");
    request r{kind};
    ++callers_;
    core_.ask(r);
    while (true) {
        if (on_own_thread() || thread_id_ == std::thread::id{})
            core_.serve_now(r);
        wake();
        if (r.at == request::phase::done)
            break;
        if (!wait(l, changed_, until) && r.at != request::phase::done)
            core_.late(r);
    }
    --callers_;
    if (core_.closed())
        dismiss_all(true);
    auto const why = r.result;
    core_.leave(r);
    wake();
    changed_.notify_all();
    if (why)
        fail(why);
}

client::delivery runner::receive(place const& p, consumer_id id, milliseconds timeout, bool waits)
{
    auto const until = deadline_after(timeout);
    auto l = hold();
    while (true) {
        check_open();
        if (p.on_message || !core_.knows(id))
            net::throw_error(make_error_code(error::invalid_state),
                             p.on_message ? "the consumer has a listener, which gets each message"
                                          : "the consumer is not registered");
        if (auto* const it = core_.peek(id)) {
            auto out = static_cast<message*>(it)->what;
            core_.take(id);
            return out;
        }
        if (!waits)
            return {};
        if (auto const why = p.receiver.error(); why && core_.waiting(id) == 0)
            net::throw_error(why->code ? why->code : make_error_code(error::link_not_attached),
                             why->text);
        ++callers_;
        auto const in_time = wait(l, changed_, until);
        --callers_;
        if (!in_time && !core_.peek(id))
            net::throw_error(make_error_code(error::timed_out), "no message has come");
    }
}

// ---- the thread

void runner::thread_main()
{
    auto l = hold();
    thread_is_ = thread_state::works;
    std::optional<client::answers_together> together;
    for (int handled = 0; !core_.closed();) {
        if (core_.serve()) {
            changed_.notify_all();
        } else if (auto* const it = core_.next()) {
            if (++handled % together_max == 0)
                together.reset();
            if (!together)
                together.emplace(session_);
            call_listener(static_cast<message&>(*it), l);
        } else if (!take_in_all()) {
            together.reset();
            thread_is_ = thread_state::sleeps;
            wait(l, work_, clock::time_point::max());
            thread_is_ = thread_state::works;
        }
    }
    thread_is_ = thread_state::none;
    take_in_all();
}

void runner::call_listener(message& m, lock& l)
{
    auto threw = false;
    l.unlock();
    try {
        m.from->on_message(m.what);
    } catch (...) {
        threw = true;
        try {
            (options_.on_exception ? options_.on_exception : print)(std::current_exception());
        } catch (...) {  // it has been told
        }
    }
    l.lock();
    take_in_all();
    core_.returned(threw);
    if (callers_ > 0)
        changed_.notify_all();
}

/// Closes; a listener that does not return in time costs the session, and is waited for.
void runner::shut() noexcept
{
    try {
        run(request_kind::close, options_.timeout);
    } catch (...) {
        auto const l = hold();
        if (!core_.closed()) {
            end_session();
            core_.session_lost(make_error_code(error::timed_out));
        }
    }
    if (!thread_.joinable())
        return;
    if (on_own_thread())
        thread_.detach();
    else
        thread_.join();
}

// ---- getters

std::size_t runner::held()
{
    auto const l = hold();
    return core_.held();
}
std::size_t runner::waiting(consumer_id id)
{
    auto const l = hold();
    return core_.waiting(id);
}
std::uint32_t runner::credit(consumer_id id)
{
    auto const l = hold();
    return core_.credit(id);
}
bool runner::closed()
{
    auto const l = hold();
    return core_.closed();
}
client::transaction runner::transaction()
{
    auto const l = hold();
    return transaction_;
}

}  // namespace sluice::dispatch::detail
