// Where the payload of a streamed delivery comes from: the only thing that the engine calls.
#pragma once

#include <sluice/export.hpp>

#include <cstddef>
#include <span>

namespace sluice::engine {

enum class pull_status : unsigned char {
    bytes,      ///< `size` octets were written; more will follow. With 0 it means `not_ready`
    not_ready,  ///< nothing now; the link gives up its turn until sender::body_ready()
    end,        ///< `size` octets were written (maybe 0) and they are the last
    failed,     ///< the body cannot be finished: the delivery is aborted
};

struct pull_result {
    pull_status status = pull_status::not_ready;
    std::size_t size = 0;
};

/// Implemented by the owner. Lives until its delivery is complete, aborted or withdrawn.
class SLUICE_EXPORT body_source {
public:
    /// Writes up to `into.size()` octets of the encoded message, in order. Called while a frame is
    /// being written: it may ask for flows and credit, and must not call write(), receive() or
    /// anything that ends or frees a link. It gives its own delivery up by answering `failed`.
    virtual pull_result pull(std::span<std::byte> into) noexcept = 0;

protected:
    ~body_source() = default;
};

}  // namespace sluice::engine
