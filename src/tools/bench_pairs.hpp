// `sluice bench`: senders and receivers in pairs, as fast as they go.
#pragma once

#include "tools/histogram.hpp"
#include "tools/peer_options.hpp"
#include "tools/terminal.hpp"

#include <cstdint>
#include <string>

namespace sluice::tools {

struct bench_settings {
    peer_options peer;
    bool embedded = false;
    unsigned pairs = 1;
    unsigned connections = 1;
    std::uint64_t size = 100;  ///< octets of a body
    bool settled = false;
    std::uint32_t credit = 500;
    std::uint32_t window = 500;  ///< sends without an outcome, of each sender
    double seconds = 5;
    double rate = 0;  ///< of all pairs together, a second; 0: as fast as they go
    bool json = false;
    std::uint64_t idle_connections = 0;
};

struct bench_result {
    std::uint64_t sent = 0;  ///< in the measured time and after it
    std::uint64_t received = 0;
    std::uint64_t accepted = 0;
    std::uint64_t measured = 0;  ///< received in the measured time
    double seconds = 0;          ///< of it
    double processor_seconds = 0;
    histogram latency;    ///< nanoseconds from send to receipt
    std::string problem;  ///< empty: all is well, and every message is accounted for
};

/// @throws std::exception if it could not begin
bench_result bench_pairs(bench_settings const& s, std::string const& url, line_output& out);

/// @returns the exit status
int run_bench(bench_settings s);
/// The same for connections that do nothing but be there.
int run_idle_bench(bench_settings const& s);

}  // namespace sluice::tools
