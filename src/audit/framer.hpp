// Cuts one direction's bytes into protocol headers and frames, however they come. [2.2, 2.3.1]
#pragma once

#include <sluice/codec/frame.hpp>

#include <algorithm>
#include <cstdint>

namespace sluice::audit::detail {

/// One unit of a stream, as the framer hands it out.
struct unit {
    enum kind : std::uint8_t { header, frame, malformed };
    kind is = frame;
    std::uint64_t offset = 0;  ///< of its first octet
    frame_header head = {};    ///< of a frame, or of what cannot be one
    bytes_view octets = {};    ///< a header's eight, or a frame's first ones behind its own header
    bool cut = false;          ///< the frame goes on behind `octets`; that part was not kept
};

/// Bounded by `frame_bytes_max`: of a longer frame the rest is counted and skipped.
class framer {
public:
    enum class mode : std::uint8_t {
        header,  ///< a protocol header comes next
        either,  ///< a SASL frame or a protocol header: "AMQP" is no size of a SASL frame
        frames,
        seeking,  ///< looking for the first frame in bytes that start anywhere
        ignore,   ///< nothing that can be understood follows
    };

    explicit framer(std::size_t frame_bytes_max)
        : frame_bytes_max_{std::max<std::size_t>(frame_bytes_max, 512)}
    {
    }

    mode expects = mode::header;  ///< whoever takes the units changes it between them

    /// Bytes are missing here: drops what is held and looks for the start of a frame.
    void seek_again() noexcept
    {
        held_.clear();
        skipped_ = 0;
        release_ = false;
        expects = mode::seeking;
    }

    std::uint64_t total() const noexcept { return total_; }
    /// Bytes of a unit that has begun and not ended.
    std::uint64_t pending() const noexcept { return held_.size() + skipped_; }

    /// Takes from `in` up to the end of the next unit. @returns true if `out` is one; its octets
    /// are valid until the next call. False: all of `in` was taken.
    bool next(bytes_view& in, unit& out)
    {
        // A frame that is whole in `in`, as nearly all are.
        if (expects != mode::frames || release_ || !held_.empty() || in.size() < frame_header_size)
            return next_piecewise(in, out);
        auto const head = read_frame_header(in.data());
        if (head.size < frame_header_size || head.size > in.size() || head.size > frame_bytes_max_)
            return next_piecewise(in, out);
        out.is = unit::frame;
        out.offset = total_;
        out.head = head;
        out.octets = in.subspan(frame_header_size, head.size - frame_header_size);
        out.cut = false;
        in = in.subspan(head.size);
        total_ += head.size;
        return true;
    }

private:
    bool next_piecewise(bytes_view& in, unit& out);
    bool next_header(bytes_view& in, unit& out);
    bool next_frame(bytes_view& in, unit& out);
    bool fill(bytes_view& in, std::size_t size);
    bool seek(bytes_view& in);
    void take(bytes_view& in, std::size_t n) noexcept;
    bool malformed(bytes_view& in, unit& out, frame_header const& head);

    std::size_t frame_bytes_max_;
    sluice::bytes held_;         ///< the start of a unit that came in pieces
    std::uint64_t skipped_ = 0;  ///< octets of that unit beyond what is held
    std::uint64_t total_ = 0;
    bool release_ = false;  ///< what is held was handed out by the last call
};

}  // namespace sluice::audit::detail
