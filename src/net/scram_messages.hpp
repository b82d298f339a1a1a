// SCRAM's digests and the text of its messages: what both halves and the users' file need.
#pragma once

#include <sluice/net/sasl_scram.hpp>

namespace sluice::net::detail {

inline bytes_view octets_of(std::string_view text) noexcept
{
    return {reinterpret_cast<std::byte const*>(text.data()), text.size()};
}
inline std::string_view text_of(bytes_view octets) noexcept
{
    return {reinterpret_cast<char const*>(octets.data()), octets.size()};
}
inline bytes copy_of(std::string_view text)
{
    auto const view = octets_of(text);
    return {view.begin(), view.end()};
}

bytes hmac(scram_hash hash, bytes_view key, bytes_view text);
bytes digest(scram_hash hash, bytes_view octets);
/// SaltedPassword of [RFC 5802]; the caller wipes it.
bytes salted_password(scram_hash hash, std::string_view password, bytes_view salt,
                      std::uint32_t iterations);
/// In a time that does not depend on what is in them.
bool same(bytes_view a, bytes_view b) noexcept;
void wipe(bytes& secret) noexcept;
void wipe(std::string& secret) noexcept;

std::string to_base64(bytes_view octets);
/// Strict: no blanks, the padding where it belongs.
std::optional<bytes> from_base64(std::string_view text);

/// ',' and '=' as "=2C" and "=3D". [RFC 5802, 5.1]
std::string escape_name(std::string_view name);
/// Nothing if a '=' begins neither.
std::optional<std::string> unescape_name(std::string_view text);

/// Reads "a=...,b=..." from the front, in the order in which [RFC 5802] has them.
class scram_reader {
public:
    explicit scram_reader(std::string_view text) noexcept : left_{text} {}
    /// The value of the next attribute, if that is its name.
    std::optional<std::string_view> next(char name) noexcept;
    /// Nothing follows but extensions, which are passed over.
    bool only_extensions() const noexcept;
    std::string_view left() const noexcept { return left_; }

private:
    std::string_view left_;
    bool first_ = true;
};

/// Printable ASCII without ','.
bool is_nonce(std::string_view text) noexcept;
std::string make_nonce();

}  // namespace sluice::net::detail
