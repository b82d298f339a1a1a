// Headers of lists and maps that are filled in once the content is known.
#include <sluice/codec/writer.hpp>

namespace sluice {
namespace detail {
namespace {

constexpr std::size_t long_header = 9;   // format code, size and count of 4 octets each
constexpr std::size_t short_header = 3;  // the same with 1 octet each

}  // namespace

std::size_t begin_compound(bytes& to)
{
    auto const at = to.size();
    to.resize(at + short_header);  // the short form is the usual one
    return at;
}

void end_compound(bytes& to, std::size_t at, std::uint8_t code8, std::size_t count)
{
    auto const content = to.size() - at - short_header;
    if (count == 0 && code8 == code::list8) {
        to.resize(at);
        to.push_back(std::byte{code::list0});
    } else if (content + 1 <= 255 && count <= 255) {
        auto* const p = to.data() + at;
        put(put(put(p, code8), static_cast<std::uint8_t>(content + 1)),
            static_cast<std::uint8_t>(count));
    } else {
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), long_header - short_header,
                  std::byte{});
        auto* const p = put(to.data() + at, static_cast<std::uint8_t>(code8 + 0x10));
        store(store(p, static_cast<std::uint32_t>(content + 4)), static_cast<std::uint32_t>(count));
    }
}

}  // namespace detail

void append_descriptor(bytes& to, std::uint64_t number)
{
    to.push_back(std::byte{detail::code::described});
    append(to, number);
}

void append_descriptor(bytes& to, symbol name)
{
    to.push_back(std::byte{detail::code::described});
    append(to, name);
}

}  // namespace sluice
