// One breach of the standard, as the checker reports it: to be read, pasted and parsed.
#pragma once

#include <sluice/audit/rule.hpp>
#include <sluice/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::audit {

/// Since any fixed moment that the caller chose. Milliseconds convert by themselves.
using time_point = std::chrono::microseconds;

/// Which way bytes go. The client is the side that opened the transport.
enum class direction : std::uint8_t { from_client = 0, from_server = 1 };

inline constexpr direction opposite(direction d) noexcept
{
    return d == direction::from_client ? direction::from_server : direction::from_client;
}

/// "client->server" or "server->client".
SLUICE_EXPORT std::string_view name(direction d) noexcept;

/// One breach, with the frame that shows it and the numbers.
///
/// `direction` is the way that the frame at fault went: its sender is who is wrong. Where something
/// did *not* come (an answer, a heartbeat) it is the way that it should have come, and the frame is
/// the last one that did.
struct SLUICE_EXPORT finding {
    time_point time{};
    audit::direction direction = direction::from_client;
    audit::rule rule = rule::count_;
    audit::severity severity = severity::violation;
    std::uint64_t frame = 0;  ///< number of the frame in its direction, from 1; 0: before the first
    std::uint64_t offset = 0;  ///< octets before the frame in its direction
    std::optional<std::uint16_t> channel;
    std::optional<std::uint32_t> handle;
    std::string_view performative;  ///< such as "flow"; empty if it is about none; static storage
    std::string expected;
    std::string actual;
    std::string detail;  ///< where the expected value comes from; may be empty

    std::string_view rule_name() const noexcept { return info(rule).name; }
    std::string_view section() const noexcept { return info(rule).section; }

    /// One line without its end:
    /// "1.250000 client->server frame 17 channel 1 flow: next-outgoing-id [2.5.6] violation:
    /// expected 282 (…), actual 281".
    std::string text() const;
    /// One JSON object in one line, without the line's end.
    std::string json() const;
};

}  // namespace sluice::audit
