// One thread for the deadlines of all ports of the process.
#pragma once

#include <sluice/channel/detail/operation.hpp>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace sluice::channels::detail {

/// Who is called when it is time. @pre never waits
class timed {
public:
    virtual ~timed() = default;
    virtual void on_time() = 0;
};

/// Lives as long as a port does. Thread-safe.
class deadline_thread {
public:
    static std::shared_ptr<deadline_thread> shared();
    deadline_thread();
    ~deadline_thread();
    deadline_thread(deadline_thread const&) = delete;
    deadline_thread& operator=(deadline_thread const&) = delete;

    /// Calls `whom` once at `when`, or a little later, if it is still there.
    void call(std::weak_ptr<timed> whom, time_point when);

private:
    struct state {
        std::mutex mutex;  // of what follows
        std::condition_variable changed;
        std::multimap<time_point, std::weak_ptr<timed>> calls;
        bool over = false;
    };
    static void run(std::shared_ptr<state> const& s);

    std::shared_ptr<state> state_;  // outlives this when this ends on its own thread
    std::thread thread_;
};

}  // namespace sluice::channels::detail
