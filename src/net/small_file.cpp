// Looks at what a file is before it reads it.
#include "net/small_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace sluice::net::detail {
namespace {

struct descriptor {
    int is;
    ~descriptor()
    {
        if (is >= 0)
            ::close(is);
    }
};

}  // namespace

result<std::string> read_small_file(std::string const& file, file_kinds kinds, std::string* fault)
{
    auto const refuse = [&](std::error_code why, std::string const& reason) {
        if (fault)
            *fault = "cannot read " + file + ": " + reason;
        return unexpected{why};
    };
    auto const failed = [&] {
        std::error_code const why{errno, std::generic_category()};
        return refuse(why, why.message());
    };
    // Without O_NONBLOCK, to open a pipe is to wait for its other end.
    auto const waits = kinds == file_kinds::pipes_too ? 0 : O_NONBLOCK;
    descriptor const in{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits)};
    struct stat about {};
    if (in.is < 0 || ::fstat(in.is, &about) != 0)
        return failed();
    if (S_ISDIR(about.st_mode))
        return refuse(make_error_code(std::errc::is_a_directory), "it is a folder");
    if (!S_ISREG(about.st_mode) && !(kinds == file_kinds::pipes_too && S_ISFIFO(about.st_mode)))
        return refuse(make_error_code(std::errc::invalid_argument), "it is no regular file");
    auto const too_large = [&] {
        return refuse(make_error_code(std::errc::file_too_large),
                      "it has more than 64 MiB, as no file of this kind has");
    };
    if (S_ISREG(about.st_mode) && static_cast<std::uintmax_t>(about.st_size) > small_file_max)
        return too_large();
    std::string out;
    std::array<char, std::size_t{64} << 10> part;
    for (;;) {
        auto const got = ::read(in.is, part.data(), part.size());
        if (got == 0)
            return out;
        if (got < 0 && errno != EINTR)
            return failed();
        if (got > 0)
            out.append(part.data(), static_cast<std::size_t>(got));
        if (out.size() > small_file_max)
            return too_large();
    }
}

}  // namespace sluice::net::detail
