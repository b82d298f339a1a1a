// Frames as readable text, one line each, from the bytes of one direction.
#pragma once

#include <sluice/codec/types.hpp>

#include <string>

namespace sluice::engine {

/// Follows one direction of a connection and turns each frame into a line such as
/// `-> [0] transfer handle=0 delivery-id=7 tag=00000007 settled=true (64 octets)`. SASL responses are not shown.
///
/// Distinct objects: safe to use concurrently. Shared object: unsafe.
class frame_trace {
public:
    /// @param prefix starts each line, such as "-> "
    explicit frame_trace(std::string prefix);

    /// Takes octets cut anywhere and appends a line, ending in '\n', to `out` for each frame that is complete.
    void feed(bytes_view octets, std::string& out);

private:
    void line(bytes_view frame, std::string& out);

    std::string prefix_;
    bytes pending_;
};

}  // namespace sluice::engine
