// Keeps an error of ours within the frame that will carry it.
#include <sluice/engine/detail/fit_error.hpp>

#include <algorithm>

namespace sluice::engine::detail {

void fit(amqp_error& why, std::uint32_t frame_max)
{
    constexpr std::size_t overhead = 96;  // headers, descriptors, the other fields
    auto const room = std::size_t{frame_max} - overhead;
    why.condition.resize(std::min<std::size_t>(why.condition.size(), 128));
    auto left = room - why.condition.size();
    if (why.description.size() > left) {
        auto cut = left;
        while (cut > 0 && (static_cast<unsigned char>(why.description[cut]) & 0xc0) == 0x80)
            --cut;  // UTF-8
        why.description.resize(cut);
    }
    left -= why.description.size();
    if (why.info.size() > left)
        why.info.clear();
}

}  // namespace sluice::engine::detail
