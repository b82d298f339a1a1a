// Throws what a call ended with.
#include <sluice/net/error.hpp>

#include <stdexcept>
#include <string>

namespace sluice::net {
namespace {

/// A text that says what to do says it alone: the advice of its code would be the same once more.
class told final : public boost::system::system_error {
public:
    told(std::error_code const& code, std::string const& text)
        : system_error{error_code{code}, text},
          text_{text + " [" + code.category().name() + ":" + std::to_string(code.value()) + "]"}
    {
    }
    char const* what() const noexcept override { return text_.what(); }

private:
    std::runtime_error text_;  // may be copied without an exception, as exceptions are
};

}  // namespace

void throw_error(std::error_code code, std::string const& text)
{
    if (text.empty())
        throw boost::system::system_error{error_code{code}};
    if (text.find("; ") != text.npos)  // as in "host 'x' does not resolve; check its name"
        throw told{code, text};
    throw boost::system::system_error{error_code{code}, text};
}

}  // namespace sluice::net
