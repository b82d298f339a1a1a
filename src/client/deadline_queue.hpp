// Deadlines of waiting calls. Most calls share a few durations, and a list of one duration is
// sorted as it grows.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace sluice::client::detail {

using clock_time = std::chrono::milliseconds;  // of the steady clock

inline clock_time read_clock() noexcept
{
    return std::chrono::duration_cast<clock_time>(
        std::chrono::steady_clock::now().time_since_epoch());
}

class deadline_queue;

/// Something that happens at a time unless it is disarmed before.
class timed {
public:
    timed() = default;
    timed(timed const&) = delete;
    timed& operator=(timed const&) = delete;
    /// On the strand; disarmed already.
    virtual void on_time() = 0;
    bool armed() const noexcept { return list_ != nullptr; }

protected:
    ~timed() = default;

private:
    friend class deadline_queue;
    struct list {
        std::chrono::milliseconds duration{0};
        timed* first = nullptr;
        timed* last = nullptr;
    };
    timed* earlier_ = nullptr;
    timed* later_ = nullptr;
    list* list_ = nullptr;
    clock_time at_{};
};

/// Arming and disarming cost a few instructions; no allocation for a duration in use. Strand only.
class deadline_queue {
public:
    /// `no_timeout`, and whatever is a hundred years or more, never comes.
    void arm(timed& t, std::chrono::milliseconds after, clock_time now);
    void disarm(timed& t) noexcept;
    /// Calls on_time() of all that are due; these may arm and disarm.
    void run(clock_time now);
    /// When the next one is due; max() if none is.
    clock_time next() const noexcept;

private:
    static constexpr std::size_t lists_max = 16;  // durations with a list each; others are sorted
    timed::list* list_for(std::chrono::milliseconds duration);

    std::vector<std::unique_ptr<timed::list>> lists_;
    std::multimap<clock_time, timed*> sorted_;
    timed::list in_sorted_;  // marks those
};

}  // namespace sluice::client::detail
