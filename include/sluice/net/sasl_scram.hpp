// SCRAM [RFC 5802, RFC 7677]: a password is shown to be known, by both sides, and never sent.
#pragma once

#include <sluice/net/sasl.hpp>

namespace sluice::net {

enum class scram_hash : std::uint8_t { sha1, sha256, sha512 };

/// "SCRAM-SHA-256"
SLUICE_EXPORT std::string_view scram_mechanism(scram_hash hash) noexcept;
/// @returns nothing if it is none of the three
SLUICE_EXPORT std::optional<scram_hash> scram_hash_of(std::string_view mechanism) noexcept;
/// Octets of a digest.
SLUICE_EXPORT std::size_t scram_size(scram_hash hash) noexcept;

/// What a client takes from a server: fewer protect no password [RFC 7677], more keep it busy.
inline constexpr std::uint32_t scram_iterations_min = 4'096;
inline constexpr std::uint32_t scram_iterations_max = 1'000'000;
/// Of new keys.
inline constexpr std::uint32_t scram_iterations_default = 10'000;

/// What a server keeps of a password: it cannot be used to log in, but to guess at.
struct scram_keys {
    scram_hash hash = scram_hash::sha256;
    std::uint32_t iterations = scram_iterations_default;
    bytes salt{};
    bytes stored_key{};
    bytes server_key{};
};

/// Whether SASLprep [RFC 4013] would leave `text` as it is: ASCII without control characters. What
/// is not ASCII would have to be normalised, which this library does not do; it says so rather than
/// send what the other side may have in another form.
SLUICE_EXPORT bool scram_is_prepared(std::string_view text) noexcept;

/// Computes for milliseconds.
/// @returns error::invalid_argument if !scram_is_prepared(password), the salt is empty, or the
///     iterations are out of 1 to scram_iterations_max.
SLUICE_EXPORT result<scram_keys> derive_scram_keys(
    scram_hash hash, std::string_view password, bytes_view salt,
    std::uint32_t iterations = scram_iterations_default);
/// As good as it gets: from the system, by OpenSSL. Throws std::runtime_error if there is none.
SLUICE_EXPORT bytes sasl_random(std::size_t size);

/// The client. Channel binding is neither used nor offered (the header is "n,,").
/// @param nonce printable without ','; empty: made. For tests.
/// @returns error::invalid_argument if user or password are not prepared, or there is no user
SLUICE_EXPORT result<std::unique_ptr<sasl_client>> sasl_scram(scram_hash hash,
                                                              credentials const& who,
                                                              std::string nonce = {});

}  // namespace sluice::net
