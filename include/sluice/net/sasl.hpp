// SASL mechanisms as small state objects, and the choice between them. [5.3]
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>
#include <sluice/result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

/// The client's half of one exchange with one mechanism. Used once.
class SLUICE_EXPORT sasl_client {
public:
    virtual ~sasl_client() = default;
    virtual std::string_view mechanism() const noexcept = 0;
    /// Sent with sasl-init; nothing if the mechanism begins with a challenge.
    virtual std::optional<bytes> initial_response() = 0;
    /// @returns the response; error::sasl_auth_failed if the challenge is wrong (then close).
    virtual result<bytes> respond(bytes_view challenge) = 0;
};

/// A user and a password. The password is in no text that this library makes.
struct credentials {
    std::string user;
    std::string password;
    std::string authorize_as;  ///< the identity to act as, if another
};

/// ANONYMOUS [RFC 4505]; `trace` tells the server who it is, if it cares.
std::unique_ptr<sasl_client> sasl_anonymous(std::string trace = {});
/// PLAIN [RFC 4616]. @returns error::invalid_argument if user or password contain a NUL.
SLUICE_EXPORT result<std::unique_ptr<sasl_client>> sasl_plain(credentials const& who);

/// What a client's initial response of PLAIN says; nothing if it is malformed. [RFC 4616]
SLUICE_EXPORT std::optional<credentials> sasl_read_plain(bytes_view response);

/// The mechanisms that a client would use, best first. Nothing is sent under a mechanism that is
/// not listed here.
SLUICE_EXPORT std::vector<std::string> sasl_wanted(bool has_credentials);

/// The first of `wanted` that is offered (names compare exactly [5.3.3.1]).
/// @returns an empty view if there is none; `fault`, if given, then names both lists.
SLUICE_EXPORT std::string_view sasl_choose(std::span<std::string const> wanted,
                                           std::span<std::string const> offered,
                                           std::string* fault = nullptr);

}  // namespace sluice::net
