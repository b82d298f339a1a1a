// Text that a peer chose, made fit for a message that people read.
#pragma once

#include <string>
#include <string_view>

namespace sluice::net {

/// What could play tricks on a terminal or a log is taken out, and the length bounded.
inline std::string harmless(std::string_view from, std::size_t length_max = 256)
{
    std::string out{from.substr(0, length_max)};
    for (auto& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    return from.size() > length_max ? out + "..." : out;
}

}  // namespace sluice::net
