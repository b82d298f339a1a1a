// Digests by OpenSSL, base64, and attributes.
#include "net/scram_messages.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

namespace sluice::net::detail {
namespace {

EVP_MD const* method_of(scram_hash hash) noexcept
{
    switch (hash) {
    case scram_hash::sha1: return EVP_sha1();
    case scram_hash::sha256: return EVP_sha256();
    default: return EVP_sha512();
    }
}

unsigned char const* raw(bytes_view octets) noexcept
{
    return reinterpret_cast<unsigned char const*>(octets.data());
}
unsigned char* raw(bytes& octets) noexcept
{
    return reinterpret_cast<unsigned char*>(octets.data());
}

void require(bool done)
{
    if (!done)
        throw std::runtime_error{"OpenSSL cannot compute a digest; does this system allow it?"};
}

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

bytes hmac(scram_hash hash, bytes_view key, bytes_view text)
{
    bytes out(scram_size(hash));
    unsigned size = 0;
    require(HMAC(method_of(hash), key.data(), static_cast<int>(key.size()), raw(text), text.size(),
                 raw(out), &size)
            != nullptr);
    return out;
}

bytes digest(scram_hash hash, bytes_view octets)
{
    bytes out(scram_size(hash));
    require(EVP_Digest(octets.data(), octets.size(), raw(out), nullptr, method_of(hash), nullptr)
            == 1);
    return out;
}

bytes salted_password(scram_hash hash, std::string_view password, bytes_view salt,
                      std::uint32_t iterations)
{
    bytes out(scram_size(hash));
    require(PKCS5_PBKDF2_HMAC(password.empty() ? "" : password.data(),
                              static_cast<int>(password.size()), raw(salt),
                              static_cast<int>(salt.size()), static_cast<int>(iterations),
                              method_of(hash), static_cast<int>(out.size()), raw(out))
            == 1);
    return out;
}

bool same(bytes_view a, bytes_view b) noexcept
{
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(bytes& secret) noexcept { OPENSSL_cleanse(secret.data(), secret.size()); }
void wipe(std::string& secret) noexcept { OPENSSL_cleanse(secret.data(), secret.size()); }

std::string to_base64(bytes_view octets)
{
    std::string out;
    for (std::size_t i = 0; i < octets.size(); i += 3) {
        std::uint32_t group = 0;
        auto const count = std::min<std::size_t>(3, octets.size() - i);
        for (std::size_t k = 0; k < 3; ++k)
            group = group << 8 | (k < count ? std::to_integer<std::uint32_t>(octets[i + k]) : 0);
        for (std::size_t k = 0; k < 4; ++k)
            out += k <= count ? alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

std::optional<bytes> from_base64(std::string_view text)
{
    if (text.size() % 4 != 0)
        return std::nullopt;
    bytes out;
    out.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        auto const last = i + 4 == text.size();
        auto const padding = !last || text[i + 3] != '=' ? 0u : text[i + 2] != '=' ? 1u : 2u;
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            auto const at = k < 4 - padding ? alphabet.find(text[i + k]) : 0;
            if (at == alphabet.npos)
                return std::nullopt;
            group = group << 6 | static_cast<std::uint32_t>(at);
        }
        if ((group & ((1u << 8 * padding) - 1)) != 0)
            return std::nullopt;  // bits that no octet has
        for (std::size_t k = 0; k < 3 - padding; ++k)
            out.push_back(static_cast<std::byte>(group >> (16 - 8 * k)));
    }
    return out;
}

std::string escape_name(std::string_view name)
{
    std::string out;
    for (auto const c : name) {
        if (c == ',')
            out += "=2C";
        else if (c == '=')
            out += "=3D";
        else
            out += c;
    }
    return out;
}

std::optional<std::string> unescape_name(std::string_view text)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '=') {
            out += text[i];
            continue;
        }
        auto const code = text.substr(i, 3);
        if (code != "=2C" && code != "=3D")
            return std::nullopt;
        out += code == "=2C" ? ',' : '=';
        i += 2;
    }
    return out;
}

std::optional<std::string_view> scram_reader::next(char name) noexcept
{
    auto text = left_;
    if (!first_) {
        if (!text.starts_with(','))
            return std::nullopt;
        text.remove_prefix(1);
    }
    if (text.size() < 2 || text[0] != name || text[1] != '=')
        return std::nullopt;
    auto const end = std::min(text.find(','), text.size());
    left_ = text.substr(end);
    first_ = false;
    return text.substr(2, end - 2);
}

bool scram_reader::only_extensions() const noexcept
{
    for (auto text = left_; !text.empty();) {
        if (text.size() < 3 || text[0] != ',' || text[2] != '=')
            return false;
        text.remove_prefix(std::min(text.find(',', 1), text.size()));
    }
    return true;
}

bool is_nonce(std::string_view text) noexcept
{
    return !text.empty()
           && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != ','; });
}

std::string make_nonce() { return to_base64(sasl_random(18)); }

}  // namespace sluice::net::detail
