// The live line of a long run: how many, how fast, how long still.
#pragma once

#include "tools/terminal.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tools {

/// "1,234,567"
std::string grouped(std::uint64_t number);
/// "1 frame", "2,000 frames"; `noun` is one whose plural ends with s
std::string counted(std::uint64_t number, std::string_view noun);
/// "850 ms", "12.3 s", "3:05", "2:10:00"
std::string duration_text(std::chrono::duration<double> d);

/// Called as often as one likes; draws ten times a second at most, and only on a terminal. The rate
/// is that of the last seconds. Not thread-safe.
class progress {
public:
    using clock = std::chrono::steady_clock;

    /// @param verb such as "sent" @param unit such as "octets"; empty: messages go without saying
    /// @param total unset: not known
    progress(line_output& to, std::string verb, std::string unit,
             std::optional<std::uint64_t> total)
        : to_{&to}, verb_{std::move(verb)}, unit_{std::move(unit)}, total_{total}
    {
    }

    void show(std::uint64_t count, clock::time_point now = clock::now());
    /// The line for this moment.
    std::string line(std::uint64_t count, clock::time_point now);

private:
    line_output* to_;
    std::string verb_;
    std::string unit_;
    std::optional<std::uint64_t> total_;
    std::optional<clock::time_point> drawn_;
    clock::time_point since_;  // the rate is measured from here
    std::uint64_t count_then_ = 0;
    double rate_ = 0;
};

}  // namespace sluice::tools
