// What somebody may have meant who mistyped a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::tools {

/// The one of `words` that is closest to `typed`: a letter that is wrong, missing, too many or
/// swapped with the next one counts as 1. @returns empty if the closest is farther than 2, or than
/// half of what was typed
std::string nearest_word(std::string_view typed, std::vector<std::string> const& words);

}  // namespace sluice::tools
