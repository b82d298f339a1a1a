// What a peer can know from the bytes alone: frames as the standard describes them, and nothing of
// the engine.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <functional>

namespace sluice::prop {

/// Cuts a stream into frames and calls `on_frame(channel, descriptor, body)`; protocol headers and
/// heartbeats are passed over.
class frame_reader {
public:
    std::function<void(std::uint16_t, std::uint64_t, bytes_view)> on_frame;

    void feed(bytes_view in)
    {
        pending_.insert(pending_.end(), in.begin(), in.end());
        std::size_t at = 0;
        while (pending_.size() - at >= 8) {
            auto const* const p = pending_.data() + at;
            if (p[0] == std::byte{'A'} && p[1] == std::byte{'M'}) {
                at += 8;
                continue;
            }
            auto const h = read_frame_header(p);
            if (pending_.size() - at < h.size)
                break;
            bytes_view const body{p + 4u * h.data_offset, h.size - 4u * h.data_offset};
            at += h.size;
            if (!body.empty())
                on_frame(h.channel, peek_descriptor(body), body);
        }
        pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
    }

private:
    bytes pending_;
};

/// One frame with an optional payload, appended to `to`.
template <class Performative>
void put_frame(bytes& to, std::uint16_t channel, Performative const& p, bytes_view payload = {})
{
    auto const at = to.size();
    to.resize(at + frame_header_size);
    append(to, p);
    to.insert(to.end(), payload.begin(), payload.end());
    write_frame_header(to.data() + at, static_cast<std::uint32_t>(to.size() - at), frame_type::amqp,
                       channel);
}

}  // namespace sluice::prop
