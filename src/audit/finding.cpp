// A finding as a line to read and as JSON.
#include <sluice/audit/finding.hpp>

namespace sluice::audit {
namespace {

void append_number(std::string& to, std::uint64_t n) { to += std::to_string(n); }

/// Seconds with six places; times before the caller's zero are possible.
void append_seconds(std::string& to, time_point t)
{
    auto const us = t.count();
    auto const magnitude =
        us < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(us) : static_cast<std::uint64_t>(us);
    if (us < 0)
        to += '-';
    append_number(to, magnitude / 1'000'000);
    auto const places = std::to_string(magnitude % 1'000'000);
    to += '.';
    to.append(6 - places.size(), '0');
    to += places;
}

void append_json(std::string& to, std::string_view text)
{
    constexpr std::string_view hex = "0123456789abcdef";
    to += '"';
    for (char const c : text) {
        auto const octet = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            to += '\\';
            to += c;
        } else if (octet < 0x20 || octet == 0x7f) {
            to += "\\u00";
            to += hex[octet >> 4];
            to += hex[octet & 15];
        } else {
            to += c;
        }
    }
    to += '"';
}

void append_member(std::string& to, std::string_view key, std::string_view value)
{
    to += ',';
    append_json(to, key);
    to += ':';
    append_json(to, value);
}

void append_member(std::string& to, std::string_view key, std::uint64_t value)
{
    to += ',';
    append_json(to, key);
    to += ':';
    append_number(to, value);
}

}  // namespace

std::string_view name(direction d) noexcept
{
    return d == direction::from_client ? "client->server" : "server->client";
}

std::string finding::text() const
{
    std::string t;
    append_seconds(t, time);
    t.append(" ").append(name(direction));
    t += " frame ";
    append_number(t, frame);
    if (channel) {
        t += " channel ";
        append_number(t, *channel);
    }
    if (handle) {
        t += " handle ";
        append_number(t, *handle);
    }
    if (!performative.empty())
        t.append(" ").append(performative);
    t.append(": ").append(rule_name()).append(" [").append(section()).append("] ");
    t.append(name(severity)).append(": expected ").append(expected);
    if (!detail.empty())
        t.append(" (").append(detail).append(")");
    t.append(", actual ").append(actual);
    return t;
}

std::string finding::json() const
{
    std::string t = "{\"time\":";
    append_seconds(t, time);
    append_member(t, "direction", name(direction));
    append_member(t, "frame", frame);
    append_member(t, "offset", offset);
    if (channel)
        append_member(t, "channel", *channel);
    if (handle)
        append_member(t, "handle", *handle);
    if (!performative.empty())
        append_member(t, "performative", performative);
    append_member(t, "rule", rule_name());
    append_member(t, "section", section());
    append_member(t, "severity", name(severity));
    append_member(t, "expected", expected);
    append_member(t, "actual", actual);
    if (!detail.empty())
        append_member(t, "detail", detail);
    append_member(t, "text", text());
    t += '}';
    return t;
}

}  // namespace sluice::audit
