// Appends one frame without payload, if the room suffices.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

namespace sluice::engine::detail {

/// @returns octets written, 0 if `out` may be too small.
template <class Performative>
std::size_t put_frame(frame_type type, std::uint16_t channel, Performative const& p,
                      std::span<std::byte> out)
{
    if (frame_header_size + encoded_size_bound(p) > out.size())
        return 0;
    auto* const last = encode(p, out.data() + frame_header_size);
    auto const size = static_cast<std::size_t>(last - out.data());
    write_frame_header(out.data(), static_cast<std::uint32_t>(size), type, channel);
    return size;
}

}  // namespace sluice::engine::detail
