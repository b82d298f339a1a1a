// What an exception says, for people.
#pragma once

#include <exception>
#include <string>

namespace sluice::tools {

/// Its text without the number of an error's code behind it, as in "[std:sluice:41]", which tells a
/// person nothing; and the limit of open files by its name.
std::string plain_text(std::exception const& e);

}  // namespace sluice::tools
