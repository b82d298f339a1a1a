// Views of encoded values that can be asked without decoding them into anything.
#include <sluice/codec/scalars.hpp>
#include <sluice/codec/types.hpp>

namespace sluice {
namespace {

/// Calls `use(symbol)` for each in turn until it answers false. Ends at anything malformed.
template <class Use>
void for_each(symbols const& s, Use use) noexcept
{
    using namespace detail;
    if (s.encoded.empty()) {
        for (auto const item : s.items)
            if (!use(item))
                return;
        return;
    }
    auto const encoded = s.encoded.encoded;
    cursor in{encoded.data() + 1, encoded.data() + encoded.size()};
    auto element = octet(encoded.data());
    std::uint32_t count = 1;
    if (element == code::array8 || element == code::array32) {
        array_header array;
        if (read_array_header(in, element, array, 0) != error::none)
            return;
        element = array.element;
        count = array.count;
        in.end = array.end;
    }
    symbol one;
    for (; count != 0 && scalar_codec<symbol>::read(in, element, one) == error::none; --count)
        if (!use(one))
            return;
}

}  // namespace

bool same_bytes(bytes_view a, bytes_view b) noexcept
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::size_t symbols::size() const noexcept
{
    std::size_t n = 0;
    for_each(*this, [&n](symbol) { return ++n, true; });
    return n;
}

bool symbols::contains(symbol s) const noexcept
{
    bool found = false;
    for_each(*this, [&](symbol each) { return !(found = each == s); });
    return found;
}

symbol symbols::at(std::size_t i) const noexcept
{
    symbol found;
    for_each(*this, [&](symbol each) {
        if (i != 0)
            return --i, true;
        found = each;
        return false;
    });
    return found;
}

}  // namespace sluice
