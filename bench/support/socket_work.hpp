// What the programs of the socket benchmark have to do, and what they say of it.
#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::bench {

/// One side's part of one run, as its process gets it on its command line.
struct socket_work {
    std::string port;  // of senders
    bool presettled = false;
    std::size_t size = 64;
    std::uint64_t count = 100'000;  // messages over all links
    unsigned links = 1;
    bool serial = false;  // one message at a time, and its round trip is measured
    unsigned rate = 0;    // messages a second, each measured from when it was due; 0: no limit
    std::string through;  // the URL of a broker that both sides connect to; empty: no broker

    static constexpr std::uint32_t credit = 1'000;
    static constexpr std::uint64_t queued_max = 150;  // Proton-C: before a write
    std::uint64_t warm_up() const noexcept { return count / 10; }
};

inline double cpu_seconds()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

inline std::int64_t nanoseconds()
{
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Counts messages; after the warm-up time and processor are counted, too.
class socket_meter {
public:
    explicit socket_meter(socket_work const& w) : work_{w}
    {
        if (w.serial || w.rate > 0)
            trips_.reserve(w.count);
    }

    /// @returns true with the last one
    bool count()
    {
        if (++counted_ == work_.warm_up()) {
            began_ = nanoseconds();
            cpu_ = cpu_seconds();
        }
        return counted_ == work_.count;
    }
    void trip(std::int64_t ns)
    {
        if (counted_ >= work_.warm_up())
            trips_.push_back(ns);
    }

    /// The line that the parent reads.
    void report()
    {
        auto const seconds = static_cast<double>(nanoseconds() - began_) * 1e-9;
        auto const n = static_cast<double>(work_.count - work_.warm_up());
        std::sort(trips_.begin(), trips_.end());
        auto const at = [this](double p) {
            if (trips_.empty())
                return 0.0;
            auto const i = static_cast<std::size_t>(p * static_cast<double>(trips_.size()));
            return static_cast<double>(trips_[std::min(i, trips_.size() - 1)]) * 1e-3;
        };
        std::printf("done %.1f %.1f %.2f %.2f %.2f\n", n / seconds,
                    (cpu_seconds() - cpu_) / n * 1e9, at(0.5), at(0.99), at(0.999));
        std::fflush(stdout);
    }

private:
    socket_work const& work_;
    std::uint64_t counted_ = 0;
    std::int64_t began_ = 0;
    double cpu_ = 0;
    std::vector<std::int64_t> trips_;
};

/// When each message is due. What comes late for want of a processor counts as late, too.
class socket_pace {
public:
    explicit socket_pace(socket_work const& w)
        : step_{1'000'000'000 / std::max(w.rate, 1u)}, count_{w.count}
    {
    }
    std::int64_t due_at(std::uint64_t i) const noexcept
    {
        return began_ + step_ * static_cast<std::int64_t>(i);
    }
    /// Until the message is due.
    void wait_for(std::uint64_t i) const
    {
        auto const at = due_at(i);
        timespec const t{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {}
    }
    /// Sleeps of this thread end on time.
    static void be_punctual() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }
    std::uint64_t count() const noexcept { return count_; }

private:
    std::int64_t const step_;
    std::uint64_t const count_;
    std::int64_t const began_ = nanoseconds() + 10'000'000;
};

/// For loops that others wake: a thread that calls `wake` whenever one more message is due.
class socket_clock {
public:
    socket_clock(socket_work const& w, std::function<void()> wake)
        : pace_{w}, wake_{std::move(wake)}, thread_{[this] { run(); }}
    {
    }
    ~socket_clock()
    {
        over_.store(true);
        thread_.join();
    }
    std::uint64_t due() const noexcept { return due_.load(std::memory_order_acquire); }
    std::int64_t due_at(std::uint64_t i) const noexcept { return pace_.due_at(i); }

private:
    void run()
    {
        socket_pace::be_punctual();
        for (std::uint64_t i = 0; i < pace_.count() && !over_.load(); ++i) {
            pace_.wait_for(i);
            due_.store(i + 1, std::memory_order_release);
            wake_();
        }
    }

    socket_pace pace_;
    std::function<void()> wake_;
    std::atomic<std::uint64_t> due_{0};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// amqp://[user:password@]host:port[/address]
struct socket_broker {
    std::string user, password, host_port, address = "bench";

    explicit socket_broker(std::string url)
    {
        if (auto const at = url.find("://"); at != std::string::npos)
            url.erase(0, at + 3);
        if (auto const at = url.rfind('@'); at != std::string::npos) {
            auto const colon = std::min(url.find(':'), at);
            user = url.substr(0, colon);
            password = colon < at ? url.substr(colon + 1, at - colon - 1) : std::string{};
            url.erase(0, at + 1);
        }
        if (auto const at = url.find('/'); at != std::string::npos) {
            if (at + 1 < url.size())
                address = url.substr(at + 1);
            url.erase(at);
        }
        host_port = url;
    }
    /// Without the address.
    std::string url() const
    {
        return "amqp://" + (user.empty() ? "" : user + ":" + password + "@") + host_port;
    }
};

inline void say_port(std::string_view port)
{
    std::printf("port %.*s\n", static_cast<int>(port.size()), port.data());
    std::fflush(stdout);
}

/// Octets of one transfer frame that carries the message, nearly: header, performative, data
/// section.
inline std::size_t frame_size(socket_work const& w) { return w.size + 36; }

// Each returns when its part is done.
void engine_receive(socket_work const& w);
void engine_send(socket_work const& w);
void sluice_receive(socket_work const& w);
void sluice_send(socket_work const& w);
void proton_receive(socket_work const& w);
void proton_send(socket_work const& w);
void bare_receive(socket_work const& w);
void bare_send(socket_work const& w);

}  // namespace sluice::bench
