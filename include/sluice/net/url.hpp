// AMQP URLs: amqp://user:password@host:port/path?name=value
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
    bool tls = false;  ///< amqps
    std::optional<std::string> user;
    std::optional<std::string> password;  ///< never part of a text that this library makes
    std::string host;                     ///< of an IPv6 literal without its brackets
    std::uint16_t port = 5672;            ///< 5671 for amqps unless the URL names one
    std::string path;                     ///< without the leading '/': usually an address
    std::vector<std::pair<std::string, std::string>> options;

    /// The first option of that name.
    std::optional<std::string_view> option(std::string_view name) const noexcept;
    /// "amqp://host:port", without credentials.
    std::string to_string() const;
};

/// Reads `text`. The scheme may be left out ("localhost", "host:5673/q"); then it is amqp.
///
/// @param fault if given and reading fails: what is wrong, at which character, and what to do.
/// Credentials in `text` are not repeated in it.
/// @returns error::invalid_url
SLUICE_EXPORT result<url> parse_url(std::string_view text, std::string* fault = nullptr);

}  // namespace sluice::net
