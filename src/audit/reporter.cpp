// Collecting findings.
#include "reporter.hpp"

#include <utility>

namespace sluice::audit::detail {

void reporter::report(rule r, place const& where, std::string expected, std::string actual,
                      std::string detail)
{
    auto const how = info(r).severity;
    ++(how == severity::violation ? totals.violations : totals.suspicious);
    ++totals.by_rule[static_cast<std::size_t>(r)];
    if (findings_.size() >= findings_max_) {
        ++totals.findings_dropped;
        return;
    }
    finding f;
    f.time = now;
    f.direction = where.direction;
    f.rule = r;
    f.severity = how;
    f.frame = where.frame;
    f.offset = where.offset;
    if (where.channel >= 0)
        f.channel = static_cast<std::uint16_t>(where.channel);
    if (where.handle >= 0)
        f.handle = static_cast<std::uint32_t>(where.handle);
    f.performative = where.performative;
    f.expected = std::move(expected);
    f.actual = std::move(actual);
    f.detail = std::move(detail);
    findings_.push_back(std::move(f));
}

bool reporter::poll(finding& out)
{
    if (findings_.empty())
        return false;
    out = std::move(findings_.front());
    findings_.pop_front();
    return true;
}

std::string printable(std::string_view from_wire)
{
    constexpr std::size_t length_max = 64;
    std::string t;
    for (char const c : from_wire.substr(0, length_max)) t += c >= 0x20 && c < 0x7f ? c : '?';
    if (from_wire.size() > length_max)
        t += "...";
    return t;
}

std::string quoted(std::string_view from_wire)
{
    std::string t = "'";
    t += printable(from_wire);
    t += '\'';
    return t;
}

std::string hex(bytes_view octets)
{
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::size_t octets_max = 32;
    std::string t;
    for (auto const b : octets.first(std::min(octets.size(), octets_max))) {
        t += digits[std::to_integer<std::size_t>(b) >> 4];
        t += digits[std::to_integer<std::size_t>(b) & 15];
    }
    if (octets.size() > octets_max)
        t += "...";
    return t.empty() ? "nothing" : t;
}

}  // namespace sluice::audit::detail
