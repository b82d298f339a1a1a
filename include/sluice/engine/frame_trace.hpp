// Frames as readable text, one line each, from the bytes of one direction.
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>

#include <cstdint>
#include <string>

namespace sluice::engine {

/// Follows one direction of a connection and turns each frame into a line such as
/// `-> [0] transfer handle=0 delivery-id=7 tag=00000007 settled=true (64 octets)`. SASL responses
/// are not shown.
///
/// Memory stays bounded by 64 KiB, whatever size a frame claims to have.
///
/// Distinct objects: safe to use concurrently. Shared object: unsafe.
class SLUICE_EXPORT frame_trace {
public:
    /// @param prefix starts each line, such as "-> "
    explicit frame_trace(std::string prefix);

    /// Takes octets cut anywhere and appends a line, ending in '\n', to `out` for each frame that
    /// is complete.
    void feed(bytes_view octets, std::string& out);

private:
    std::size_t take(bytes_view octets, std::string& out);
    void line(bytes_view frame, std::string& out);

    std::string prefix_;
    bytes pending_;              // the start of a frame, of a big one not more than its first part
    std::uint64_t missing_ = 8;  // octets until the frame, or first its header, is complete
    std::uint64_t size_ = 0;     // of the frame; 0 while its header is not complete
    bool unreadable_ = false;  // a frame size made no sense: where the next frame starts is unknown
};

}  // namespace sluice::engine
