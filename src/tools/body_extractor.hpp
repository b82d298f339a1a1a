// The octets of a message's body, taken out while the message is still arriving.
#pragma once

#include <sluice/codec/types.hpp>

#include <cstdint>
#include <string>

namespace sluice::tools {

/// Fed with an encoded message in parts, cut anywhere, yields the content of its data sections, or
/// of a body that is one binary, string or symbol. Keeps a few octets, whatever the message's size.
/// Not thread-safe.
class body_extractor {
public:
    /// Takes the next octets of the message and appends what is body to `out`.
    /// @returns false if this is no message with such a body: fault() says why
    bool feed(bytes_view in, bytes& out);
    /// @returns false if the message ends too early: fault() says so
    bool finish();

    std::string const& fault() const noexcept { return fault_; }

private:
    bool start_section();
    bool fail(std::string what);

    bytes header_;            // of the section that begins, until it is all here
    std::uint64_t left_ = 0;  // octets of its content
    bool is_body_ = false;    // those are wanted
    bool seen_body_ = false;
    std::string fault_;
};

}  // namespace sluice::tools
