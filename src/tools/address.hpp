// "HOST:PORT" as people type it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::tools {

struct address {
    std::string host;
    std::uint16_t port = 0;
};

/// Reads "127.0.0.1:5672", "[::1]:5672", "broker:5672", or with `port_default` no port at all.
/// @returns nullopt, and says in `fault` what was wrong and what is expected.
std::optional<address> parse_address(std::string_view text,
                                     std::optional<std::uint16_t> port_default, std::string& fault);

}  // namespace sluice::tools
