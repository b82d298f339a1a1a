// traceparent: version 00, 32 + 16 + 2 digits, lower case. [W3C Trace Context 1, 3.2]
#include <sluice/client/trace_context.hpp>

#include <algorithm>
#include <span>

namespace sluice::client {
namespace {

constexpr char traceparent_key[] = "traceparent";
constexpr char tracestate_key[] = "tracestate";
constexpr std::size_t traceparent_size = 55;

void append_hex(std::string& to, std::span<std::uint8_t const> octets)
{
    constexpr char digits[] = "0123456789abcdef";
    for (auto const o : octets) {
        to += digits[o >> 4];
        to += digits[o & 15];
    }
}

int digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;  // upper case is not allowed
}

bool read_hex(std::string_view text, std::span<std::uint8_t> out) noexcept
{
    for (std::size_t i = 0; i < out.size(); ++i) {
        auto const high = digit(text[2 * i]);
        auto const low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

bool is_zero(std::span<std::uint8_t const> octets) noexcept
{
    return std::ranges::all_of(octets, [](std::uint8_t o) { return o == 0; });
}

std::optional<trace_context> read(value_map const& from)
{
    auto const* const parent = from.find(traceparent_key);
    if (!parent || !parent->text())
        return std::nullopt;
    auto const* const state = from.find(tracestate_key);
    return trace_context::parse(*parent->text(),
                                state ? state->text().value_or("") : std::string_view{});
}

}  // namespace

bool trace_context::valid() const noexcept { return !is_zero(trace_id) && !is_zero(span_id); }

std::string trace_context::traceparent() const
{
    std::string out = "00-";
    append_hex(out, trace_id);
    out += '-';
    append_hex(out, span_id);
    out += sampled ? "-01" : "-00";
    return out;
}

std::optional<trace_context> trace_context::parse(std::string_view traceparent,
                                                  std::string_view tracestate)
{
    // A later version may have more behind it, which begins with a dash.
    if (traceparent.size() < traceparent_size
        || (traceparent.size() > traceparent_size
            && (traceparent.starts_with("00") || traceparent[traceparent_size] != '-')))
        return std::nullopt;
    std::array<std::uint8_t, 1> version{};
    std::array<std::uint8_t, 1> flags{};
    trace_context out;
    auto const dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
    if (!dashes || !read_hex(traceparent, version) || version[0] == 0xff
        || !read_hex(traceparent.substr(3), out.trace_id)
        || !read_hex(traceparent.substr(36), out.span_id)
        || !read_hex(traceparent.substr(53), flags) || !out.valid())
        return std::nullopt;
    out.sampled = (flags[0] & 1) != 0;
    out.state = tracestate;
    return out;
}

void trace_context::inject(message& into) const
{
    into.message_annotations[symbol{traceparent_key}] = traceparent();
    if (!state.empty() || into.message_annotations.contains(tracestate_key))
        into.message_annotations[symbol{tracestate_key}] = state;
}

std::optional<trace_context> trace_context::extract(message const& from)
{
    auto found = read(from.message_annotations);
    return found ? found : read(from.application_properties);
}

}  // namespace sluice::client
