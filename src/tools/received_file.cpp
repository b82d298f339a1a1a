// Bodies on their way into files.
#include "tools/received_file.hpp"

#include "tools/body_extractor.hpp"
#include "tools/message_output.hpp"

#include <boost/asio/error.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace sluice::tools {
namespace {

[[noreturn]] void fail(std::string const& name)
{
    throw std::system_error{errno, std::generic_category(), "cannot write " + name};
}

}  // namespace

std::string received_file::name_of(std::string const& pattern, std::uint64_t number)
{
    auto out = pattern;
    if (auto const at = out.find("{}"); at != out.npos)
        out.replace(at, 2, std::to_string(number));
    return out;
}

received_file::received_file(std::string name) : name_{std::move(name)}
{
    if (name_.empty())
        return;
    struct stat about {};
    auto const in_place = ::stat(name_.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
    if (!in_place)
        part_ = name_ + ".part";
    auto const flags = O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC);
    descriptor_ = ::open(in_place ? name_.c_str() : part_.c_str(), flags, 0666);
    if (descriptor_ < 0)
        fail(in_place ? name_ : part_);
}

received_file::~received_file()
{
    if (name_.empty() || descriptor_ < 0)
        return;
    ::close(descriptor_);
    if (!part_.empty())
        ::unlink(part_.c_str());
}

void received_file::write(bytes_view octets)
{
    write_all(descriptor_, octets, name_.empty() ? "standard output" : name_);
}

void received_file::keep()
{
    if (name_.empty())
        return;
    if (::close(std::exchange(descriptor_, -1)) != 0
        || (!part_.empty() && std::rename(part_.c_str(), name_.c_str()) != 0))
        fail(name_);
}

std::uint64_t copy_body(client::delivery const& from, received_file& to,
                        std::function<void(std::uint64_t)> const& seen)
{
    body_extractor body;
    bytes in(std::size_t{256} << 10);
    bytes out;
    std::uint64_t octets = 0;
    for (;;) {
        std::size_t size = 0;
        try {
            size = from.read_some(in);
        } catch (boost::system::system_error const& e) {
            if (e.code() != boost::asio::error::eof)
                throw;
            if (!body.finish())
                throw unwanted_body{body.fault()};
            return octets;
        }
        out.clear();
        if (!body.feed(bytes_view{in}.first(size), out))
            throw unwanted_body{body.fault()};
        to.write(out);
        octets += out.size();
        seen(octets);
    }
}

}  // namespace sluice::tools
