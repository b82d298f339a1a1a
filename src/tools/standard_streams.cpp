// What was wrong with standard output is found out once, at the end.
#include "tools/standard_streams.hpp"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <tuple>

namespace sluice::tools {
namespace {

std::atomic<int> first_fault{0};

}  // namespace

void open_missing_streams() noexcept
{
    for (int i = 0; i <= 2; ++i)
        if (::fcntl(i, F_GETFD) < 0 && errno == EBADF)
            std::ignore =  // gets the lowest number, which is i
                ::open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY);
}

void flush_stream(std::FILE* f) noexcept
{
    auto none = 0;
    if (std::fflush(f) != 0 && f == stdout)
        first_fault.compare_exchange_strong(none, errno);
}

std::string output_fault()
{
    flush_stream(stdout);
    if (std::ferror(stdout) == 0)
        return {};
    std::string text = "cannot write standard output";
    if (auto const why = first_fault.load(); why != 0)
        text += ": " + std::generic_category().message(why);
    return text;
}

}  // namespace sluice::tools
