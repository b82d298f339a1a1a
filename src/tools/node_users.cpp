// Reading users and passwords, and comparing them.
#include "tools/node_users.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace sluice::tools {
namespace {

using digest = std::array<unsigned char, 32>;

/// Equal lengths make the comparison's time say nothing about the password.
digest sha256(std::string_view text)
{
    digest out{};
    EVP_Digest(text.data(), text.size(), out.data(), nullptr, EVP_sha256(), nullptr);
    return out;
}

}  // namespace

node_users node_users::parse(std::string_view text, std::string_view name)
{
    node_users out;
    for (std::size_t number = 1; !text.empty(); ++number) {
        auto const end = std::min(text.find('\n'), text.size());
        auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        if (line.empty() || line.front() == '#')
            continue;
        auto const colon = line.find(':');
        if (colon == line.npos || colon == 0)
            throw std::invalid_argument{
                fmt::format("{}, line {}: expected USER:PASSWORD", name, number)};
        out.passwords_[std::string{line.substr(0, colon)}] = line.substr(colon + 1);
    }
    if (out.passwords_.empty())
        throw std::invalid_argument{
            fmt::format("{} names no user; write lines USER:PASSWORD", name)};
    return out;
}

bool node_users::check(std::string_view user, std::string_view password) const
{
    auto const found = passwords_.find(user);
    auto const expected = sha256(found == passwords_.end() ? std::string_view{} : found->second);
    auto const given = sha256(password);
    auto const same = CRYPTO_memcmp(expected.data(), given.data(), expected.size()) == 0;
    return same && found != passwords_.end();
}

node_users read_users(std::string const& file)
{
    std::ifstream in{file, std::ios::binary};
    std::string const text{std::istreambuf_iterator<char>{in}, {}};
    if (!in)
        throw std::system_error{errno, std::generic_category(), "cannot read " + file};
    return node_users::parse(text, file);
}

}  // namespace sluice::tools
