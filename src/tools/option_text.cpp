// Reading what stands after options.
#include "tools/option_text.hpp"

#include "tools/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace sluice::tools {
namespace {

template <class T>
std::optional<T> number(std::string_view text) noexcept
{
    T out{};
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (code != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return out;
}

value typed(std::string_view text)
{
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
        return value{text.substr(1, text.size() - 2)};
    if (text == "true" || text == "false")
        return value{text == "true"};
    if (auto const i = number<std::int64_t>(text))
        return value{*i};
    if (auto const u = number<std::uint64_t>(text))
        return value{*u};
    // from_chars would read "inf" and "nan" too: words, to whoever typed them.
    auto const digits = text.find_first_of("0123456789");
    if (digits <= 2 && text.find_first_not_of("+-.0123456789eE") == text.npos)
        if (auto const d = number<double>(text))
            return value{*d};
    return value{text};
}

std::string percent_decoded(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned octet = 0;
        auto const* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size()
            && std::from_chars(digits, digits + 2, octet, 16).ptr == digits + 2) {
            out += static_cast<char>(octet);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

void set(node::queue_options& o, std::string_view name, std::string_view content,
         std::string_view all)
{
    auto const fail = [&](std::string_view what) {
        throw std::invalid_argument{fmt::format("queue '{}': {}", all, what)};
    };
    if (name == "length_max") {
        auto const n = number<std::uint64_t>(content);
        if (!n || *n == 0)
            fail("length_max is a number of messages from 1 on, such as length_max=1000");
        o.length_max = *n;
    } else if (name == "bytes_max") {
        o.bytes_max = parse_size(content);
    } else if (name == "full") {
        if (content != "reject" && content != "withhold")
            fail("full is reject or withhold");
        o.full = content == "reject" ? node::when_full::reject : node::when_full::withhold;
    } else if (name == "dead_letter") {
        o.dead_letter = percent_decoded(content);
        if (o.dead_letter.starts_with('$'))
            fail("dead_letter is a queue, whose name does not begin with '$'");
    } else {
        fail(fmt::format("no setting is called '{}'; there are length_max, bytes_max, full and "
                         "dead_letter",
                         name));
    }
}

}  // namespace

std::pair<std::string, value> parse_property(std::string_view text)
{
    auto const equals = text.find('=');
    if (equals == text.npos || equals == 0)
        throw std::invalid_argument{
            fmt::format("'{}' is no property; write NAME=VALUE, such as colour=red", text)};
    if (!is_utf8(text))
        throw std::invalid_argument{fmt::format(
            "property '{}' is not UTF-8, as strings of AMQP are", text.substr(0, equals))};
    return {std::string{text.substr(0, equals)}, typed(text.substr(equals + 1))};
}

void check_string(std::string_view option, std::string_view text)
{
    if (!is_utf8(text))
        throw std::invalid_argument{fmt::format("{} is not UTF-8, as strings of AMQP are", option)};
}

void check_symbol(std::string_view option, std::string_view text)
{
    auto const is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!std::ranges::all_of(text, is_ascii))
        throw std::invalid_argument{fmt::format("{} is not ASCII, as symbols of AMQP are", option)};
}

std::pair<std::string, node::queue_options> parse_queue(std::string_view text,
                                                        node::queue_options const& defaults)
{
    auto const colon = std::min(text.find(':'), text.size());
    auto o = defaults;
    auto name = percent_decoded(text.substr(0, colon));
    if (name.empty() || name.front() == '$')
        throw std::invalid_argument{fmt::format(
            "queue '{}': a queue needs a name, and one that does not begin with '$'", text)};
    for (auto at = colon; at < text.size();) {
        auto const begin = at + 1;
        auto const end = std::min(text.find(',', begin), text.size());
        auto const part = text.substr(begin, end - begin);
        auto const equals = part.find('=');
        if (equals == part.npos)
            throw std::invalid_argument{
                fmt::format("queue '{}': '{}' is no setting; write NAME:setting=value,... with "
                            "length_max, bytes_max, full or dead_letter",
                            text, part)};
        set(o, part.substr(0, equals), part.substr(equals + 1), text);
        at = end;
    }
    return {std::move(name), std::move(o)};
}

std::uint64_t parse_size(std::string_view text)
{
    struct unit {
        std::string_view name;
        double octets;
    };
    static constexpr unit units[] = {
        {"", 1},    {"B", 1},    {"k", 1e3},      {"kB", 1e3},     {"M", 1e6},      {"MB", 1e6},
        {"G", 1e9}, {"GB", 1e9}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
    };
    auto const end = std::min(text.find_first_not_of("0123456789."), text.size());
    auto const n = number<double>(text.substr(0, end));
    for (auto const& u : units)
        if (n && text.substr(end) == u.name && *n * u.octets < 0x1p63)
            return static_cast<std::uint64_t>(*n * u.octets);
    throw std::invalid_argument{
        fmt::format("'{}' is no size; write octets, such as 100, 64k or 20MiB", text)};
}

std::string number_fault(std::string& text, bool whole)
{
    auto const first = text.find_first_not_of('0');
    if (first != 0 && first != text.npos && text[first] >= '1' && text[first] <= '9')
        text.erase(0, first);
    else if (first == text.npos && text.size() > 1)
        text = "0";
    if (whole) {
        if (number<std::uint64_t>(text))
            return {};
        auto const digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
        return fmt::format("'{}' {}", text,
                           digits ? "is too large a number"
                                  : "is no whole number from 0 on, such as 100");
    }
    constexpr double largest = 1e9;  // of seconds, some 30 years
    auto const n = number<double>(text);
    if (n && *n >= 0 && *n <= largest && text.front() != '-')
        return {};
    return fmt::format("'{}' is no number from 0 to 1e9, such as 2.5", text);
}

}  // namespace sluice::tools
