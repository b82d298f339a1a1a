// Protocol headers. [2.2]
#include <sluice/codec/frame.hpp>

namespace sluice {

std::array<std::byte, 8> protocol_header(protocol_id id) noexcept
{
    return {
        std::byte{'A'}, std::byte{'M'}, std::byte{'Q'}, std::byte{'P'}, static_cast<std::byte>(id),
        std::byte{1},   std::byte{0},   std::byte{0}};
}

}  // namespace sluice
