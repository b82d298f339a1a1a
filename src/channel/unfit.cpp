// Names and options of channels, looked at before anything goes to the node.
#include "channel/unfit.hpp"

#include <sluice/codec/scalars.hpp>

namespace sluice::channels::detail {

std::string unfit(std::string const& name, options const& o)
{
    constexpr milliseconds none{0};
    if (!sluice::detail::is_utf8(name))
        return "its name is not UTF-8";
    if (!sluice::detail::is_utf8(o.dead_letter))
        return "options::dead_letter is not UTF-8";
    if (o.visibility_timeout < none)
        return "options::visibility_timeout is negative; 0 is none";
    if (o.async_ack_delay < none)
        return "options::async_ack_delay is negative";
    return o.timeout < none ? "options::timeout is negative" : "";
}

}  // namespace sluice::channels::detail
