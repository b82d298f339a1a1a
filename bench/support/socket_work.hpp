// What the programs of the socket benchmark have to do, and what they say of it.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
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
        if (w.serial)
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
