// JSON as text.
#include "tools/json_text.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cmath>

namespace sluice::tools {
namespace {

unsigned octet(std::string_view text, std::size_t i) noexcept
{
    return static_cast<unsigned char>(text[i]);
}

}  // namespace

std::size_t utf8_character(std::string_view text) noexcept
{
    auto const first = octet(text, 0);
    if (first < 0x80)
        return 1;
    auto const size = std::size_t{first >= 0xf0 ? 4u : first >= 0xe0 ? 3u : 2u};
    if (first < 0xc2 || first > 0xf4 || text.size() < size)
        return 0;
    for (std::size_t i = 1; i != size; ++i)
        if ((octet(text, i) & 0xc0) != 0x80)
            return 0;
    auto const second = octet(text, 1);  // overlong forms, surrogates, beyond U+10FFFF [RFC 3629]
    auto const wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)
                       || (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : size;
}

bool is_utf8(std::string_view text) noexcept
{
    while (!text.empty()) {
        auto const size = utf8_character(text);
        if (size == 0)
            return false;
        text.remove_prefix(size);
    }
    return true;
}

void append_json(std::string& to, std::string_view text)
{
    to += '"';
    while (!text.empty()) {
        auto const c = octet(text, 0);
        auto const size = utf8_character(text);
        if (c == '"' || c == '\\')
            (to += '\\') += text[0];
        else if (c == '\n')
            to += "\\n";
        else if (c < 0x20 || c == 0x7f)
            to += fmt::format("\\u{:04x}", c);
        else if (size == 0)
            to += "\xef\xbf\xbd";
        else
            to += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    to += '"';
}

void append_json(std::string& to, double number)
{
    if (std::isnan(number))
        to += "\"NaN\"";
    else if (std::isinf(number))
        to += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    else
        to += fmt::format("{}", number);
}

std::string base64(bytes_view octets)
{
    constexpr std::size_t step = 3u << 20;  // OpenSSL counts in int; no padding before the end
    std::string out;
    out.reserve((octets.size() + 2) / 3 * 4);
    while (!octets.empty()) {
        auto const part = octets.first(std::min(step, octets.size()));
        std::string text((part.size() + 2) / 3 * 4 + 1, '\0');  // and a null
        auto const size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                          reinterpret_cast<unsigned char const*>(part.data()),
                                          static_cast<int>(part.size()));
        out.append(text, 0, static_cast<std::size_t>(size));
        octets = octets.subspan(part.size());
    }
    return out;
}

json_object& json_object::add(std::string_view name, std::string_view text)
{
    std::string json;
    append_json(json, text);
    return add_json(name, json);
}

json_object& json_object::add(std::string_view name, double number)
{
    std::string json;
    append_json(json, number);
    return add_json(name, json);
}

json_object& json_object::add_json(std::string_view name, std::string_view json)
{
    if (!empty())
        text_ += ',';
    append_json(text_, name);
    (text_ += ':') += json;
    return *this;
}

}  // namespace sluice::tools
