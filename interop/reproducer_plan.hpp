// What the reproducer is asked to do, and what came of it.
#pragma once

#include "audited_relay.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace interop {

enum class body_form : std::uint8_t { small, multiframe, streamed, mixed };

/// What to do; plain numbers of the command line.
struct plan {
    std::string url;
    std::string address;
    double seconds = 15;
    double patience = 0;       ///< seconds more, while a minimum is not reached: for a busy machine
    unsigned in_flight = 100;  ///< sends without an outcome, of each sender
    unsigned credit = 5;       ///< of each receiver
    std::uint32_t first_id = 4294967293;
    bool separate_sessions = false;  ///< senders on one, receivers on another
    unsigned senders = 1;
    unsigned receivers = 1;
    bool grant_by_hand = false;  ///< one more credit for each message, by the receiver's thread
    unsigned extra_flows =
        0;  ///< a second, asked for by one more thread: session's and links' in turn
    body_form body = body_form::small;
    std::size_t size = 0;           ///< octets of a body; 0: what fits the form
    std::uint32_t frame_size = 0;   ///< max-frame-size both ways; 0: what fits the form
    std::uint64_t backlog_max = 0;  ///< messages sent and not yet received; 0: what fits the form
};

/// What came of it.
struct report {
    double seconds = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;  ///< each counted once
    std::uint64_t accepted = 0;
    std::uint64_t twice = 0;
    std::uint64_t damaged = 0;
    std::uint64_t foreign = 0;  ///< left in the queue by somebody else
    std::uint64_t transfers = 0;
    std::uint64_t flows = 0;
    std::uint64_t deferred = 0;
    std::uint64_t wraps = 0;
    std::uint64_t session_errors = 0;
    std::vector<std::string> errors;
    audited wire;
};

}  // namespace interop
