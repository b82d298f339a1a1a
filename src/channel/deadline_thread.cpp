// One thread for the deadlines of all ports of the process.
#include "channel/deadline_thread.hpp"

namespace sluice::channels::detail {

std::shared_ptr<deadline_thread> deadline_thread::shared()
{
    static std::mutex mutex;
    static std::weak_ptr<deadline_thread> known;
    std::lock_guard const lock{mutex};
    auto out = known.lock();
    if (!out)
        known = out = std::make_shared<deadline_thread>();
    return out;
}

deadline_thread::deadline_thread()
    : state_{std::make_shared<state>()}, thread_{[s = state_] { run(s); }}
{
}

deadline_thread::~deadline_thread()
{
    {
        std::lock_guard const lock{state_->mutex};
        state_->over = true;
        state_->changed.notify_one();
    }
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();  // the last port went in a call of ours
    else
        thread_.join();
}

void deadline_thread::call(std::weak_ptr<timed> whom, time_point when)
{
    std::lock_guard const lock{state_->mutex};
    auto const at = state_->calls.emplace(when, std::move(whom));
    if (at == state_->calls.begin())
        state_->changed.notify_one();
}

void deadline_thread::run(std::shared_ptr<state> const& s)
{
    std::unique_lock lock{s->mutex};
    while (!s->over) {
        if (s->calls.empty()) {
            s->changed.wait(lock);
            continue;
        }
        auto const first = s->calls.begin();
        if (auto const when = first->first; when > std::chrono::steady_clock::now()) {
            s->changed.wait_until(lock, when);
            continue;
        }
        auto whom = std::move(first->second);
        s->calls.erase(first);
        lock.unlock();
        if (auto const t = whom.lock())
            t->on_time();
        lock.lock();
    }
}

}  // namespace sluice::channels::detail
