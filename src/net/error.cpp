// Throws what a call ended with.
#include <sluice/net/error.hpp>

namespace sluice::net {

void throw_error(std::error_code code, std::string const& text)
{
    if (text.empty())
        throw boost::system::system_error{error_code{code}};
    throw boost::system::system_error{error_code{code}, text};
}

}  // namespace sluice::net
