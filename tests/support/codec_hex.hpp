// Bytes as hexadecimal text, so that tests show what is on the wire.
#pragma once

#include <sluice/codec/codec.hpp>

#include <string>
#include <string_view>

namespace sluice::test {

/// "0a 0b" or "0a0b"; blanks are only for reading.
inline bytes codec_from_hex(std::string_view text)
{
    auto const digit = [](char c) {
        return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    };
    bytes out;
    bool high = true;
    unsigned value = 0;
    for (auto const c : text) {
        if (c == ' ')
            continue;
        value = high ? digit(c) << 4 : value | digit(c);
        if (!high)
            out.push_back(static_cast<std::byte>(value));
        high = !high;
    }
    return out;
}

inline std::string codec_to_hex(bytes_view octets)
{
    std::string text;
    for (auto const o : octets) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(o) >> 4];
        text += "0123456789abcdef"[std::to_integer<unsigned>(o) & 15];
    }
    return text;
}

/// The encoding of anything that `append` takes.
template <class T>
std::string codec_encoded_hex(T const& v)
{
    return codec_to_hex(encoded(v));
}

inline raw_value codec_raw(bytes const& b) { return raw_value{bytes_view{b}}; }

inline bytes_view codec_octets(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace sluice::test
