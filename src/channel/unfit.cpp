// Names and options of channels, looked at before anything goes to the node.
#include "channel/unfit.hpp"

#include <sluice/codec/scalars.hpp>

namespace sluice::channels::detail {
namespace {

bool is_utf8_text(std::string const& text) noexcept
{
    return sluice::detail::is_utf8(reinterpret_cast<std::byte const*>(text.data()), text.size());
}

}  // namespace

std::string unfit(std::string const& name, options const& o)
{
    constexpr milliseconds none{0};
    if (!is_utf8_text(name))
        return "its name is not UTF-8";
    if (!is_utf8_text(o.dead_letter))
        return "options::dead_letter is not UTF-8";
    if (o.visibility_timeout < none)
        return "options::visibility_timeout is negative; 0 is none";
    if (o.async_ack_delay < none)
        return "options::async_ack_delay is negative";
    return o.timeout < none ? "options::timeout is negative" : "";
}

}  // namespace sluice::channels::detail
