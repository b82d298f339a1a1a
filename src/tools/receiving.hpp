// What `sluice recv` does once its command line is read.
#pragma once

#include "tools/message_output.hpp"
#include "tools/peer_options.hpp"

#include <optional>

namespace sluice::tools {

enum class answer : std::uint8_t { accept, release, reject, modify, none };

struct recv_settings {
    peer_options peer;
    std::optional<std::uint64_t> count;  ///< unset: until something else ends it
    std::uint32_t credit = 500;
    answer ack = answer::accept;
    message_output::format format = message_output::format::text;
    std::string file;      ///< for format::file; {} becomes the message's number
    std::string selector;  ///< of JMS, over headers and application properties; empty: none
    bool browse = false;
    bool drain = false;
    std::optional<double> timeout;  ///< seconds without a message
    bool json = false;
};

/// Connects, receives, and prints the summary. @returns 0 if it did what was asked for, 1 if not
/// @throws std::exception if it could not begin
int run_recv(recv_settings const& s);

}  // namespace sluice::tools
