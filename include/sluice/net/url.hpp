// AMQP URLs: amqp://user:password@host:port/path?name=value, and those of AMQP over WebSocket.
#pragma once

#include <sluice/export.hpp>
#include <sluice/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::net {

/// A URL taken apart, percent-decoded. Plain data.
struct SLUICE_EXPORT url {
    bool tls = false;        ///< amqps, wss
    bool websocket = false;  ///< ws, wss (also written amqp+ws, amqpws, amqp+wss, amqpwss)
    bool has_scheme = true;  ///< it was written, not taken for granted
    std::optional<std::string> user;
    std::optional<std::string> password;  ///< never part of a text that this library makes
    std::string host;                     ///< of an IPv6 literal without its brackets
    std::uint16_t port = 5672;            ///< unless the URL names one: 5671 amqps, 80 ws, 443 wss
    std::string path;                     ///< without the leading '/': usually an address
    std::string websocket_path;           ///< of ws and wss instead: "/$servicebus/websocket"
    std::vector<std::pair<std::string, std::string>> options;

    /// The first option of that name.
    std::optional<std::string_view> option(std::string_view name) const noexcept;
    /// "amqp://host:port", without credentials; of ws and wss with the path.
    std::string to_string() const;
};

/// Reads `text`. The scheme may be left out ("localhost", "host:5673/q"); then it is
/// amqp. The path of a WebSocket is kept as written, not decoded.
///
/// @param fault if given and reading fails: what is wrong, at which character, and what to do.
/// Credentials in `text` are not repeated in it.
/// @returns error::invalid_url
SLUICE_EXPORT result<url> parse_url(std::string_view text, std::string* fault = nullptr);

}  // namespace sluice::net
