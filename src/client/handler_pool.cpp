// The pool's threads, and the one that watches whether they are blocked.
#include "client/handler_pool.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace sluice::client::detail {
namespace {

using namespace std::chrono_literals;
constexpr auto blocked_after = 5ms;
constexpr auto idle_max = 10s;

thread_local pool_state const* worker_of = nullptr;

}  // namespace

/// Outlives the pool while one of its threads, perhaps the one that destroys the pool, is still at
/// work.
struct pool_state : std::enable_shared_from_this<pool_state> {
    pool_state(unsigned max, exception_sink exceptions)
        : sink{std::move(exceptions)},
          threads_max{std::max(max, 1u)},
          threads_usual{std::min(threads_max, std::max(std::thread::hardware_concurrency(), 2u))}
    {
    }

    void push(pool_task* t)
    {
        std::unique_lock lock{mutex};
        if (stopping) {
            lock.unlock();
            t->drop();
            return;
        }
        t->next = nullptr;
        (first ? last->next : first) = t;
        last = t;
        ++waiting;
        auto const sleeps = idle >= waiting;
        if (!sleeps && threads < threads_usual)
            add_thread();
        else if (!sleeps && threads < threads_max)
            watch_from_now_on();
        lock.unlock();  // first: who is woken wants it
        if (sleeps)
            work_here.notify_one();
    }

    /// @pre locked
    void add_thread()
    {
        ++threads;
        std::thread{[self = shared_from_this()] { self->work(); }}.detach();
    }

    void watch_from_now_on()
    {
        if (std::exchange(watching, true)) {
            if (std::exchange(watcher_sleeps, false))
                watch_here.notify_one();
            return;
        }
        ++watchers;
        std::thread{[self = shared_from_this()] { self->watch(); }}.detach();
    }

    void work()
    {
        worker_of = this;
        std::unique_lock lock{mutex};
        while (true) {
            ++idle;
            work_here.wait_for(lock, idle_max, [this] { return first || stopping; });
            --idle;
            if (!first)
                break;  // stopping, or nothing to do for long
            auto* const t = first;
            first = t->next;
            --waiting;
            ++taken;
            lock.unlock();
            {
                // The task may hold the last executor, and a strand needs its pool longer than
                // that.
                auto const keep = pool.lock();
                try {
                    t->run();
                } catch (...) {
                    (*sink)(std::current_exception());
                }
            }
            lock.lock();
        }
        --threads;
        if (threads == 0 || stopping)
            gone.notify_all();
    }

    void watch()
    {
        std::unique_lock lock{mutex};
        while (!stopping) {
            // Who was called for a task that is gone by then sleeps on, and has to be called again.
            auto const pressed = [this] {
                auto const now = stopping || (waiting > idle && threads < threads_max);
                watcher_sleeps = !now;
                return now;
            };
            auto const called = watch_here.wait_for(lock, idle_max, pressed);
            watcher_sleeps = false;
            if (!called)
                break;
            auto const before = taken;
            watch_here.wait_for(lock, blocked_after, [this] { return stopping; });
            if (!stopping && waiting > idle && taken == before && threads < threads_max)
                add_thread();
        }
        watching = false;
        --watchers;
        gone.notify_all();
    }

    void stop()
    {
        std::unique_lock lock{mutex};
        stopping = true;
        if (first && threads == 0)
            add_thread();
        work_here.notify_all();
        watch_here.notify_all();
        auto const self = worker_of == this ? 1u : 0u;
        gone.wait(lock, [&] { return threads <= self && watchers == 0; });
        while (auto* const t = first) {  // only if the one thread left is the one that stops
            first = t->next;
            lock.unlock();
            t->drop();
            lock.lock();
        }
        waiting = 0;
    }

    std::weak_ptr<handler_pool> pool;
    exception_sink const sink;
    unsigned const threads_max;
    unsigned const threads_usual;
    std::mutex mutex;
    std::condition_variable work_here;
    std::condition_variable watch_here;
    std::condition_variable gone;
    pool_task* first = nullptr;
    pool_task* last = nullptr;
    std::uint64_t taken = 0;
    std::size_t waiting = 0;
    unsigned threads = 0;
    unsigned idle = 0;
    unsigned watchers = 0;
    bool watching = false;
    bool watcher_sleeps = false;  // until there are more tasks than threads
    bool stopping = false;
};

handler_pool::handler_pool(unsigned threads_max, exception_sink sink)
    : state_{std::make_shared<pool_state>(threads_max, std::move(sink))}
{
}

std::shared_ptr<handler_pool> handler_pool::make(unsigned threads_max, exception_sink sink)
{
    std::shared_ptr<handler_pool> made{new handler_pool{threads_max, std::move(sink)}};
    made->state_->pool = made;
    return made;
}

handler_pool::~handler_pool()
{
    state_->stop();
    shutdown();
    destroy();
}

void handler_pool::push(pool_task* t) { state_->push(t); }

void handler_pool::stop()
{
    state_->stop();
    // What still waits on a strand, because the strand's own handler is who stops the pool, keeps
    // that strand and with it the pool: without this neither would ever go.
    shutdown();
}

unsigned handler_pool::threads() const
{
    std::lock_guard const lock{state_->mutex};
    return state_->threads;
}

}  // namespace sluice::client::detail
