// What is wrong with what a channel is to be opened with: the node could not even read it.
#pragma once

#include <sluice/channel/options.hpp>

namespace sluice::channels::detail {

/// @returns what the node could not read, or what cannot work, by its name; or nothing
std::string unfit(std::string const& name, options const& o);

}  // namespace sluice::channels::detail
