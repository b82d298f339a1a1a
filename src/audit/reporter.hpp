// Where findings are collected, with the place in the streams that they are about.
#pragma once

#include <sluice/audit/checker.hpp>

#include <array>
#include <deque>
#include <string>
#include <string_view>

namespace sluice::audit::detail {

/// The frame that is being looked at, or the last one of a direction that owes something.
struct place {
    audit::direction direction = audit::direction::from_client;
    std::uint64_t frame = 0;
    std::uint64_t offset = 0;
    std::int32_t channel = -1;  ///< -1: none
    std::int64_t handle = -1;   ///< -1: none
    std::string_view performative = {};
};

/// Counts and keeps findings up to a limit. Building a finding is off the hot path.
class reporter {
public:
    explicit reporter(std::size_t findings_max) : findings_max_{findings_max} {}

    place at;  ///< set for each frame before it is checked
    time_point now{};
    counters totals;

    /// Reports about the place `at`.
    void report(rule r, std::string expected, std::string actual, std::string detail = {})
    {
        report(r, at, std::move(expected), std::move(actual), std::move(detail));
    }
    void report(rule r, place const& where, std::string expected, std::string actual,
                std::string detail = {});

    bool poll(finding& out);

private:
    std::deque<finding> findings_;
    std::size_t findings_max_;
};

/// Decimal.
inline std::string text(std::uint64_t n) { return std::to_string(n); }
inline std::string text(std::int64_t n) { return std::to_string(n); }
inline std::string text(std::uint32_t n) { return std::to_string(n); }

/// What came from the wire, short and printable.
std::string printable(std::string_view from_wire);
/// The same in quotation marks.
std::string quoted(std::string_view from_wire);
/// Octets in hexadecimal, short.
std::string hex(bytes_view octets);

/// How far `to` is ahead of `from` as RFC 1982 serial numbers; negative if it is behind.
inline std::int64_t serial_distance(std::uint32_t from, std::uint32_t to) noexcept
{
    return static_cast<std::int32_t>(to - from);
}

constexpr std::size_t index(direction d) noexcept { return static_cast<std::size_t>(d); }

}  // namespace sluice::audit::detail
