// Framing of one direction.
#include "framer.hpp"

#include <array>

namespace sluice::audit::detail {
namespace {

bool starts_with_amqp(bytes_view in) noexcept
{
    return in.size() >= 4 && in[0] == std::byte{'A'} && in[1] == std::byte{'M'}
           && in[2] == std::byte{'Q'} && in[3] == std::byte{'P'};
}

/// Whether eight octets can be a frame's header; no implementation is known to write a longer one.
bool plausible_header(frame_header const& head) noexcept
{
    if (head.data_offset != 2 || head.type > 1 || head.size > (1u << 24))
        return false;
    if (head.size == frame_header_size)
        return head.type == 0 && head.channel == 0;
    return head.size >= frame_header_size + 4;
}

/// Whether the three octets behind it start a performative or a SASL frame.
bool plausible_body(frame_header const& head, bytes_view body) noexcept
{
    auto const code = std::to_integer<unsigned>(body[2]);
    return body[0] == std::byte{0} && body[1] == std::byte{0x53}
           && (head.type == 0 ? code >= 0x10 && code <= 0x18 : code >= 0x40 && code <= 0x44);
}

}  // namespace

void framer::take(bytes_view& in, std::size_t n) noexcept
{
    in = in.subspan(n);
    total_ += n;
}

/// Moves bytes from `in` to what is held. @returns true once `size` are there.
bool framer::fill(bytes_view& in, std::size_t size)
{
    if (held_.size() < size) {
        auto const n = std::min(in.size(), size - held_.size());
        held_.insert(held_.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(n));
        take(in, n);
    }
    return held_.size() >= size;
}

bool framer::malformed(bytes_view& in, unit& out, frame_header const& head)
{
    out = {.is = unit::malformed, .offset = total_ - pending(), .head = head};
    if (held_.empty())
        take(in, frame_header_size);
    expects = mode::ignore;  // where the next frame starts cannot be known
    release_ = true;
    return true;
}

bool framer::next_header(bytes_view& in, unit& out)
{
    if (!fill(in, 8))
        return false;
    out = {.is = unit::header, .offset = total_ - pending(), .octets = held_};
    release_ = true;
    return true;
}

bool framer::next_frame(bytes_view& in, unit& out)
{
    if (held_.empty() && in.size() >= frame_header_size) {  // whole in `in`, as a rule
        auto const head = read_frame_header(in.data());
        if (head.size < frame_header_size)
            return malformed(in, out, head);
        if (head.size <= in.size()) {
            auto const kept = std::min<std::size_t>(head.size, frame_bytes_max_);
            out = {.is = unit::frame,
                   .offset = total_,
                   .head = head,
                   .octets = in.subspan(frame_header_size, kept - frame_header_size),
                   .cut = kept != head.size};
            take(in, head.size);
            return true;
        }
    }
    if (!fill(in, frame_header_size))
        return false;
    auto const head = read_frame_header(held_.data());
    if (head.size < frame_header_size)
        return malformed(in, out, head);
    auto const kept = std::min<std::size_t>(head.size, frame_bytes_max_);
    if (!fill(in, kept))
        return false;
    auto const left = std::uint64_t{head.size} - kept - skipped_;
    auto const n = static_cast<std::size_t>(std::min<std::uint64_t>(left, in.size()));
    take(in, n);
    skipped_ += n;
    if (n != left)
        return false;
    out = {.is = unit::frame,
           .offset = total_ - head.size,
           .head = head,
           .octets = bytes_view{held_}.subspan(frame_header_size),
           .cut = kept != head.size};
    release_ = true;
    return true;
}

// A recording that starts in the middle may start in the middle of a frame. The first octets that
// look like the start of one are taken for it; what stands before them is dropped.
bool framer::seek(bytes_view& in)
{
    for (; fill(in, frame_header_size); held_.erase(held_.begin())) {
        if (starts_with_amqp(held_)) {
            expects = mode::either;
            return true;
        }
        auto const head = read_frame_header(held_.data());
        if (!plausible_header(head))
            continue;
        if (head.size != frame_header_size) {
            if (!fill(in, frame_header_size + 3))
                return false;
            if (!plausible_body(head, bytes_view{held_}.subspan(frame_header_size)))
                continue;
        }
        expects = mode::frames;
        return true;
    }
    return false;
}

bool framer::next_piecewise(bytes_view& in, unit& out)
{
    if (release_) {
        held_.clear();
        skipped_ = 0;
        release_ = false;
    }
    if (expects == mode::seeking && !seek(in))
        return false;
    if (expects == mode::ignore) {
        take(in, in.size());
        return false;
    }
    if (in.empty() && held_.empty())
        return false;
    if (expects == mode::header)
        return next_header(in, out);
    if (expects == mode::either) {
        if (!fill(in, 4))
            return false;
        if (starts_with_amqp(held_))
            return next_header(in, out);
    }
    return next_frame(in, out);
}

}  // namespace sluice::audit::detail
