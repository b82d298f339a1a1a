// Appends frames without payload, if the room suffices.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <algorithm>

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

/// One frame of a kind that is rare, whole: its exact size tells whether it fits, where the bound
/// that put_frame() goes by might not.
template <class Performative>
bytes whole_frame(std::uint16_t channel, Performative const& p)
{
    bytes out(frame_header_size);
    append(out, p);
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), frame_type::amqp,
                       channel);
    return out;
}

/// @returns octets written, 0 if there is no room.
inline std::size_t put_whole(bytes const& frame, std::span<std::byte> out) noexcept
{
    if (frame.size() > out.size())
        return 0;
    std::copy(frame.begin(), frame.end(), out.begin());
    return frame.size();
}

}  // namespace sluice::engine::detail
