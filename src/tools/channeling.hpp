// What `sluice channel` does once its command line is read.
#pragma once

#include "tools/peer_options.hpp"

#include <sluice/channel/options.hpp>

#include <optional>
#include <string>

namespace sluice::tools {

struct channel_settings {
    peer_options peer;
    std::string name;
    std::string codec = "text";
    channels::options options;           ///< its `create` is off unless a capacity is given
    std::optional<std::string> body;     ///< send: one value; unset: the lines of standard input
    bool now = false;                    ///< send, recv: do not wait
    std::optional<std::uint64_t> count;  ///< recv: unset: until it is closed and drained
    std::optional<channels::milliseconds> timeout;
};

/// Sends, and says so line by line if that takes long. @returns 0; 1 if a value was refused (full)
/// @throws std::exception if it could not begin or the channel is closed
int run_channel_send(channel_settings const& s);
/// Prints one value a line. @returns 0; 1 if --now found none
int run_channel_recv(channel_settings const& s);
int run_channel_close(channel_settings const& s);
int run_channel_destroy(channel_settings const& s);
int run_channel_stat(channel_settings const& s);

}  // namespace sluice::tools
