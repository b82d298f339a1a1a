// Lines in, lines out, and the file replaced in one step.
#include "tools/user_file.hpp"

#include "net/small_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace sluice::tools {
namespace {

constexpr std::size_t salt_size = 16;

std::string first_word(net::sasl_user const& u)
{
    return net::sasl_user_line({.name = u.name, .keys = {}, .grants = {}});
}

bool is_line_of(std::string_view line, std::string_view word)
{
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ');
}

/// Calls `f` with each line, its end left out, and whether it is that user's.
template <class F>
void each_line(std::string_view text, std::string_view name, F f)
{
    auto const word = first_word({.name = std::string{name}, .keys = {}, .grants = {}});
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = text.substr(0, end);
        f(line, is_line_of(line, word));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// Where a link leads to, there or not, so that it stays one when the file is replaced.
std::string target_of(std::filesystem::path path)
{
    std::error_code ignored;
    constexpr int links_max = 40;  // as the system has it
    for (int i = 0; i < links_max && std::filesystem::is_symlink(path, ignored); ++i) {
        auto const to = std::filesystem::read_symlink(path, ignored);
        if (ignored)
            break;
        path = to.is_absolute() ? to : path.parent_path() / to;
    }
    auto const real = std::filesystem::canonical(path, ignored);
    return ignored ? path.string() : real.string();
}

[[noreturn]] void fail(std::string const& what)
{
    throw std::system_error{errno, std::generic_category(), what};
}

}  // namespace

std::string new_user_file()
{
    auto const seed = net::sasl_random(24);
    std::string text(33, '\0');
    text.resize(static_cast<std::size_t>(
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                        reinterpret_cast<unsigned char const*>(seed.data()), 24)));
    return "# Users of a Sluice node: NAME, salted keys, and read=, write=, manage=ADDRESS, where "
           "'*'\n"
           "# at the end stands for any ending. `sluice passwd` writes the keys; the rest may be\n"
           "# changed here too. SIGHUP makes a running node read it again.\n"
           "@seed "
           + text + "\n";
}

std::string with_user(std::string_view text, net::sasl_user const& u)
{
    std::string out;
    auto done = false;
    each_line(text, u.name, [&](std::string_view line, bool of_user) {
        out += of_user ? net::sasl_user_line(u) : std::string{line};
        out += '\n';
        done |= of_user;
    });
    return done ? out : out + net::sasl_user_line(u) + "\n";
}

std::optional<std::string> without_user(std::string_view text, std::string_view name)
{
    std::string out;
    auto found = false;
    each_line(text, name, [&](std::string_view line, bool of_user) {
        found |= of_user;
        if (!of_user)
            out += std::string{line} + '\n';
    });
    return found ? std::optional{out} : std::nullopt;
}

std::vector<net::scram_keys> keys_of_password(std::string_view password, std::uint32_t iterations)
{
    if (password.empty())
        throw std::invalid_argument{"an empty password; choose one, or give --no-password for a "
                                    "user who comes with a certificate"};
    if (!net::scram_is_prepared(password))
        throw std::invalid_argument{
            "the password has a character that is not ASCII, or a control character; SCRAM would "
            "have to normalise it (SASLprep), which is not done here: choose another"};
    std::vector<net::scram_keys> out;
    for (auto const hash : {net::scram_hash::sha256, net::scram_hash::sha512})
        out.push_back(
            net::derive_scram_keys(hash, password, net::sasl_random(salt_size), iterations)
                .value());
    return out;
}

user_file::user_file(std::string path, bool may_be_new) : path_{std::move(path)}
{
    path_ = target_of(path_);
    folder_ = std::filesystem::path{path_}.parent_path().string();
    if (folder_.empty())
        folder_ = ".";
    // A constructor that throws is not followed by the destructor, and the lock would stay.
    auto const give_up = [this](std::string const& what) {
        auto const why = errno;
        if (lock_ >= 0)
            ::close(lock_);
        errno = why;
        fail(what);
    };
    lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0 || ::flock(lock_, LOCK_EX) != 0)
        give_up("cannot open the folder " + folder_);
    std::string fault;
    auto content = net::detail::read_small_file(path_, net::detail::file_kinds::regular, &fault);
    if (content) {
        text_ = std::move(*content);
    } else if (content.error() == std::errc::no_such_file_or_directory && may_be_new) {
        is_new_ = true;
        text_ = new_user_file();
    } else if (auto const why = content.error();
               why == std::errc::invalid_argument || why == std::errc::file_too_large) {
        ::close(lock_);
        throw std::invalid_argument{fault};
    } else {
        errno = why.value();
        give_up("cannot read " + path_);
    }
}

user_file::~user_file()
{
    if (lock_ >= 0)
        ::close(lock_);
}

net::sasl_users user_file::users() const
{
    std::string fault;
    auto users = net::sasl_users::parse(text_, path_, &fault);
    if (!users)
        throw std::invalid_argument{fault};
    return std::move(*users);
}

void user_file::write(std::string_view text)
{
    auto name = path_ + ".XXXXXX";
    auto const file = ::mkstemp(name.data());  // mode 0600
    if (file < 0)
        fail("cannot make a file in " + folder_);
    auto left = text;
    auto good = true;
    while (good && !left.empty()) {
        auto const n = ::write(file, left.data(), left.size());
        good = n > 0 || (n < 0 && errno == EINTR);
        left.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    good = good && ::fsync(file) == 0;
    good = ::close(file) == 0 && good;
    good = good && ::rename(name.c_str(), path_.c_str()) == 0;
    if (!good) {
        auto const why = errno;
        ::unlink(name.c_str());
        errno = why;
        fail("cannot write " + path_);
    }
    std::ignore = ::fsync(lock_);
}

bool is_open_to_others(std::string const& path) noexcept
{
    struct stat s {};
    return ::stat(path.c_str(), &s) == 0 && (s.st_mode & 077) != 0;
}

}  // namespace sluice::tools
