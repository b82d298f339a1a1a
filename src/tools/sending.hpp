// What `sluice send` does once its command line is read.
#pragma once

#include "tools/outgoing_message.hpp"
#include "tools/peer_options.hpp"
#include "tools/send_window.hpp"
#include "tools/terminal.hpp"

#include <optional>

namespace sluice::tools {

enum class body_origin : std::uint8_t { text, size, lines, file };

struct send_settings {
    peer_options peer;
    body_origin origin = body_origin::text;
    std::string text;                    ///< a body, or the name of a file ("-": standard input)
    std::uint64_t size = 0;              ///< octets of a body that has no content of its own
    std::optional<std::uint64_t> count;  ///< unset: 1, or as many as there are lines
    outgoing_sections sections;
    bool settled = false;
    double rate = 0;  ///< messages a second; 0: as fast as they go
    std::size_t window = 1000;
    bool json = false;
};

/// Connects, sends, and prints the summary. @returns 0 if every message was accepted, 1 if not
/// @throws std::exception if it could not begin
int run_send(send_settings const& s);

}  // namespace sluice::tools
