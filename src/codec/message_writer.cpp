// The parts of message_writer that are not called for every field.
#include <sluice/codec/message_writer.hpp>

#include <algorithm>

namespace sluice {

std::byte* detail::finish_map(std::byte* header, std::byte* end, std::size_t count) noexcept
{
    constexpr std::size_t short_header = 3;
    constexpr std::size_t long_header = 9;
    auto* const content = header + short_header;
    auto const size = static_cast<std::size_t>(end - content);
    if (size + 1 <= 255 && count <= 255) {
        put(put(put(header, code::map8), static_cast<std::uint8_t>(size + 1)),
            static_cast<std::uint8_t>(count));
        return end;
    }
    std::memmove(header + long_header, content, size);
    auto* const p = put(header, code::map32);
    store(store(p, static_cast<std::uint32_t>(size + 4)), static_cast<std::uint32_t>(count));
    return header + long_header + size;
}

void message_writer::grow(std::size_t size)
{
    constexpr std::size_t step = 512;  // a small message at once; resizing clears what is new
    auto const at = static_cast<std::size_t>(at_ - to_->data());
    to_->resize(std::max(at + size, to_->size() + std::max(step, to_->size() / 2)));
    at_ = to_->data() + at;
    end_ = to_->data() + to_->size();
}

}  // namespace sluice
