// Commands from other threads, and the turn that serves them.
#include "client/connection_requests.hpp"
#include "client/link_core.hpp"
#include "client/server_requests.hpp"
#include "client/session_core.hpp"

#include <boost/asio/post.hpp>

#include <cstdio>

namespace sluice::client::detail {
namespace {

/// The connection whose turn it is on this thread.
thread_local connection_core const* turning = nullptr;

/// The connection whose messages this thread's handlers have.
thread_local connection_core const* handling = nullptr;

constexpr std::chrono::milliseconds look_after{1};
constexpr int passes_max = 64;  // over the commands, before their results are written
constexpr int rounds_max = 64;  // of one turn, before other connections of the thread have theirs

}  // namespace

connection_core::connection_core(std::shared_ptr<container_core> container,
                                 std::vector<net::url> where, connection_options options)
    : container_{std::move(container)},
      io_{container_->next_io_thread()},
      completions_{container_->make_completions()},
      options_{std::move(options)},
      urls_{std::move(where)},
      feed_{make_feed()},
      timer_{io_->context()}
{
    user_ = options_.user;
    password_ = options_.password;
    if (container_->tracing()) {
        trace_in_.emplace("<- ");
        trace_out_.emplace("-> ");
    }
    now_ = read_clock();
}

connection_core::connection_core(std::shared_ptr<container_core> container,
                                 std::shared_ptr<io_thread> io,
                                 std::shared_ptr<listener_core> listener)
    : container_{std::move(container)},
      io_{std::move(io)},
      completions_{container_->make_completions()},
      options_{options_of(*listener)},
      feed_{make_feed()},
      timer_{io_->context()},
      server_{std::make_unique<server_side>()}
{
    server_->listener = std::move(listener);
    if (container_->tracing()) {
        trace_in_.emplace("<- ");
        trace_out_.emplace("-> ");
    }
    now_ = read_clock();
}

connection_core::~connection_core()
{
    for (auto* c = queue_.close(); c;) {  // none, unless it was never started
        auto* const next = c->next_command;
        c->refuse();
        c = next;
    }
}

connection_core::turn_guard::turn_guard(connection_core const& whose) noexcept
    : before_{std::exchange(turning, &whose)}
{
}
connection_core::turn_guard::~turn_guard() { turning = before_; }

bool connection_core::in_turn() const noexcept { return turning == this; }

// ---- any thread

bool connection_core::push(command& c) noexcept
{
    if (!queue_.push(c))
        return false;
    wake();
    return true;
}

bool connection_core::push_answer(command& c) noexcept
{
    if (!queue_.push(c))
        return false;
    if (handling != this || !looks_soon_.load(std::memory_order_seq_cst))
        wake();
    return true;
}

connection_core::handling_scope::handling_scope(connection_core& whose) noexcept
    : whose_{whose}, before_{std::exchange(handling, &whose)}
{
}
connection_core::handling_scope::~handling_scope()
{
    handling = before_;
    if (!whose_.queue_.empty() && !whose_.queue_.is_closed())
        whose_.wake();
}

void connection_core::push_flow(flow_request& r) noexcept
{
    if (queue_.is_closed())
        return;
    flows_.push(r);
    wake();
}

void connection_core::release_later(std::shared_ptr<void> held) noexcept
{
    if (!io_->stopped())
        boost::asio::post(io_->context(), [held = std::move(held)] {});
}

void connection_core::wake() noexcept
{
    if (!scheduled_.exchange(true, std::memory_order_seq_cst))
        boost::asio::post(io_->context(), [self = shared_from_this()] { self->run_turn(); });
}

std::shared_ptr<session_core> connection_core::default_session(
    std::shared_ptr<connection_core> const& user)
{
    std::shared_ptr<session_core> gone;  // let go outside of the lock
    std::lock_guard const lock{default_session_mutex_};
    // One that its peer has ended serves nobody any more.
    if (default_session_ && default_session_->phase() < detail::phase::closing)
        return default_session_;
    gone.swap(default_session_);
    auto made =
        std::make_shared<session_core>(user->shared_from_this(), user, false, session_options{});
    auto handle = make_user_pointer(made);
    made->start_begin(handle, nullptr);
    if (!ended())  // finish() sets that before it looks for a session to let go
        default_session_ = handle;
    return handle;
}

// ---- strand

void connection_core::answer(completion_queue& queue, reply_base& r)
{
    if (!r.batched()) {
        r.deliver();
    } else if (!in_turn()) {
        queue.push(r);
    } else if (queue.defer(r)) {
        dirty_.push_back(queue.shared_from_this());
    }
}

void connection_core::look_soon()
{
    if (!in_turn() || look_.armed())
        return;
    looks_soon_.store(true, std::memory_order_seq_cst);
    deadlines_.arm(look_, look_after, now_);
}

void connection_core::run_turn()
{
    turn_guard const guard{*this};
    turn();
}

/// Commands and events, answers, octets out, until there is nothing left; then the flag that wakes
/// goes down.
void connection_core::turn()
{
    now_ = read_clock();
    for (int round = 0; round < rounds_max; ++round) {
        if (lost_) [[unlikely]]
            start_recovery();
        auto progress = run_commands();
        progress |= poll_events();
        flush_answers();
        progress |= write_some();
        if (progress)
            continue;
        scheduled_.store(false, std::memory_order_seq_cst);
        auto const nothing = (queue_.empty() || queue_.is_closed()) && flows_.empty();
        if (nothing || scheduled_.exchange(true, std::memory_order_seq_cst)) {
            end_turn();
            return;
        }
    }
    scheduled_.store(true, std::memory_order_seq_cst);
    end_turn();
    boost::asio::post(io_->context(), [self = shared_from_this()] { self->run_turn(); });
}

void connection_core::end_turn()
{
    publish();
    watch_buffers();
    if (blocked_.wanted())
        watch_blocked();
    arm_timer();
    flush_answers();
}

/// Flows are not in the queue, but keep their order to it: they are applied after a take, so that
/// those asked for before a command are here when it runs; and what was asked for before them is
/// taken before anything is written, so that credit overtakes no answer.
bool connection_core::run_commands()
{
    auto any = false;
    for (int pass = 0; pass < passes_max; ++pass) {
        auto* c = queue_.take_all();
        flows_.apply_all();
        any = any || c;
        while (c) {
            auto* const next = c->next_command;
            c->execute(*this);
            c = next;
        }
        if (queue_.empty() || queue_.is_closed())
            break;
    }
    return any;
}

void connection_core::flush_answers()
{
    for (auto const& l : stirred_) l->on_stirred();
    stirred_.clear();
    for (auto const& queue : dirty_) queue->flush();
    dirty_.clear();
}

void connection_core::publish() noexcept
{
    if (!engine_)
        return;
    auto const& c = engine_->counters();
    auto const& before = counted_before_;
    std::uint64_t const values[] = {
        c.bytes_received + before.bytes_received, c.bytes_written + before.bytes_written,
        c.frames_received + before.frames_received, c.frames_written + before.frames_written};
    for (std::size_t i = 0; i < std::size(values); ++i)
        published_[i].store(values[i], std::memory_order_relaxed);
    for (auto const& s : sessions_) s->publish();
}

/// One timer for the engine's times and the deadlines of calls; set anew only if it has to come
/// earlier.
void connection_core::arm_timer()
{
    auto at = deadlines_.next();
    if (engine_)
        at = std::min(at, engine_->tick(now_));
    if (engine_ && engine_->wants_write() && !waits_to_write_)
        at = now_;
    if (at >= timer_at_ || at == clock_time::max())
        return;
    timer_at_ = at;
    timer_.expires_at(std::chrono::steady_clock::time_point{at});
    timer_.async_wait([self = shared_from_this(), at](error_code ec) {
        if (!ec && self->timer_at_ == at)
            self->on_timer();
    });
}

void connection_core::on_timer()
{
    turn_guard const guard{*this};
    timer_at_ = clock_time::max();
    now_ = read_clock();
    deadlines_.run(now_);
    if (engine_) {
        std::ignore = engine_->tick(now_);
        poll_events();
    }
    turn();
}

void connection_core::remove(session_core& s) noexcept
{
    std::erase_if(sessions_, [&](auto const& held) { return held.get() == &s; });
}

void connection_core::trace(engine::frame_trace& direction, bytes_view octets)
{
    trace_text_.clear();
    direction.feed(octets, trace_text_);
    std::fwrite(trace_text_.data(), 1, trace_text_.size(), stderr);
}

}  // namespace sluice::client::detail
