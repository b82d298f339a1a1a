// Boost.JSON, compiled once here: Debian's libboost-dev has its sources, and not its library.
#include <sluice/channel/codec.hpp>

#include <boost/json/src.hpp>

namespace sluice::channels::detail {

void append_octets(bytes& to, void const* from, std::size_t size)
{
    auto const* const first = static_cast<std::byte const*>(from);
    to.insert(to.end(), first, first + size);
}

}  // namespace sluice::channels::detail
