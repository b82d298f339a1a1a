// Lines of a pipe, a file or a terminal, with an ear for Ctrl-C.
#pragma once

#include "tools/interrupt.hpp"

#include <cstdint>
#include <string>

namespace sluice::tools {

/// Not thread-safe.
class line_reader {
public:
    static constexpr std::size_t line_max = std::size_t{64} << 20;  ///< octets

    enum class result : std::uint8_t { line, end, interrupted, nothing_yet };

    line_reader(int descriptor, interrupt const& stop) : descriptor_{descriptor}, stop_{&stop} {}

    /// Waits for the next line, at most 200 ms. It comes without its end; a last line without one
    /// counts.
    /// @throws std::runtime_error if reading fails, or for a line longer than line_max
    result next(std::string& line);

private:
    bool take(std::string& line);

    int descriptor_;
    interrupt const* stop_;
    std::string buffer_;
    std::size_t at_ = 0;        // the next line begins here
    std::size_t searched_ = 0;  // no line's end before
    bool end_ = false;
};

}  // namespace sluice::tools
