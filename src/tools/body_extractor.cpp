// Sections, one after the other: those before the body are skipped by their size. [3.2]
#include "tools/body_extractor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace sluice::tools {
namespace {

constexpr unsigned data_code = 0x75, sequence_code = 0x76, value_code = 0x77;

unsigned at(bytes const& b, std::size_t i) noexcept { return std::to_integer<unsigned>(b[i]); }

std::uint64_t big_endian(bytes const& b, std::size_t from, std::size_t size) noexcept
{
    std::uint64_t out = 0;
    for (auto i = from; i != from + size; ++i) out = out << 8 | at(b, i);
    return out;
}

/// Octets of the size field after this constructor, by its upper half: those of values of variable
/// width, and of lists, maps and arrays. [1.2] nullopt: a value of fixed width
std::optional<std::size_t> size_width(unsigned constructor) noexcept
{
    switch (constructor >> 4) {
    case 0xa:
    case 0xc:
    case 0xe: return 1;
    case 0xb:
    case 0xd:
    case 0xf: return 4;
    default: return std::nullopt;
    }
}

std::uint64_t fixed_width(unsigned constructor) noexcept
{
    switch (constructor >> 4) {
    case 0x5: return 1;
    case 0x6: return 2;
    case 0x7: return 4;
    case 0x8: return 8;
    case 0x9: return 16;
    default: return 0;
    }
}

}  // namespace

bool body_extractor::fail(std::string what)
{
    fault_ = std::move(what);
    return false;
}

bool body_extractor::feed(bytes_view in, bytes& out)
{
    while (fault_.empty() && !in.empty()) {
        if (left_ == 0) {
            header_.push_back(in.front());
            in = in.subspan(1);
            start_section();
            continue;
        }
        auto const part =
            in.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size())));
        if (is_body_)
            out.insert(out.end(), part.begin(), part.end());
        left_ -= part.size();
        in = in.subspan(part.size());
    }
    return fault_.empty();
}

/// Looks at the header again with each octet: it has fifteen at most.
bool body_extractor::start_section()
{
    auto const have = header_.size();
    if (at(header_, 0) != 0x00)
        return fail("the message is malformed: a section has no descriptor [3.2]");
    if (have < 2)
        return true;
    auto const wide = at(header_, 1) == 0x80;  // ulong instead of smallulong
    if (!wide && at(header_, 1) != 0x53)
        return fail("the message is malformed: a section's descriptor is no ulong [3.2]");
    auto const constructor_at = std::size_t{wide ? 10u : 3u};
    if (have <= constructor_at)
        return true;
    auto const section = big_endian(header_, 2, constructor_at - 2);
    auto const constructor = at(header_, constructor_at);
    auto const width = size_width(constructor);
    if (width && have <= constructor_at + *width)
        return true;
    if (section < 0x70 || section > 0x78)
        return fail(
            fmt::format("the message is malformed: no section has the code {:#x} [3.2]", section));
    if (section == sequence_code)
        return fail("the body is a sequence of lists, not octets; use --output json");
    is_body_ = section == data_code || section == value_code;
    seen_body_ = seen_body_ || is_body_;
    auto const octets = constructor >> 4 == 0xa || constructor >> 4 == 0xb;  // binary and texts
    if (is_body_ && !octets)
        return fail("the body is a value that is neither text nor octets; use --output json");
    left_ = width ? big_endian(header_, constructor_at + 1, *width) : fixed_width(constructor);
    header_.clear();
    return true;
}

bool body_extractor::finish()
{
    if (!fault_.empty())
        return false;
    if (left_ != 0 || !header_.empty())
        return fail("the message ends in the middle of a section");
    return seen_body_ || fail("the message has no body");
}

}  // namespace sluice::tools
