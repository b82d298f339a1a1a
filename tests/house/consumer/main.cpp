// The first program of a user: it only has to build against the installed package, link and run.
#include <sluice/error.hpp>

#include <cstdio>
#include <system_error>

int main()
{
    std::error_code const code = make_error_code(sluice::error::window_violation);
    std::printf("%s: %s\n", code.category().name(), code.message().c_str());
    return code.message().empty() ? 1 : 0;
}
