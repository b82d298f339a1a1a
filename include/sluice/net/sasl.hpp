// SASL mechanisms as small state objects, and the choice between them. [5.3]
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>
#include <sluice/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

/// The client's half of one exchange with one mechanism. Used once. Distinct objects: safe to use
/// concurrently.
class SLUICE_EXPORT sasl_client {
public:
    virtual ~sasl_client() = default;
    virtual std::string_view mechanism() const noexcept = 0;
    /// Sent with sasl-init; nothing if the mechanism begins with a challenge.
    virtual std::optional<bytes> initial_response() = 0;
    /// @returns the response; error::sasl_auth_failed if the challenge is wrong, error::
    ///     sasl_server_not_proven if the peer fails to prove who it is (then close); fault() says
    ///     what it was.
    virtual result<bytes> respond(bytes_view challenge) = 0;
    /// The peer says that all is well. @returns error::sasl_server_not_proven if this mechanism
    ///     has the server prove that it knows the password and it has not: then close.
    virtual std::error_code finish([[maybe_unused]] bytes_view additional_data) { return {}; }
    /// respond() would compute for many milliseconds: nothing for a thread that others wait for.
    virtual bool is_slow([[maybe_unused]] bytes_view challenge) const noexcept { return false; }
    /// After an error, or after a refusal of which the peer said more: a sentence without secrets.
    std::string const& fault() const noexcept { return fault_; }

protected:
    std::string fault_;
};

/// A user and a password. The password is in no text that this library makes.
struct credentials {
    std::string user{};
    std::string password{};
    std::string authorize_as{};  ///< the identity to act as, if another
};

/// ANONYMOUS [RFC 4505]; `trace` tells the server who it is, if it cares.
SLUICE_EXPORT std::unique_ptr<sasl_client> sasl_anonymous(std::string trace = {});
/// PLAIN [RFC 4616]. @returns error::invalid_argument if user or password contain a NUL.
SLUICE_EXPORT result<std::unique_ptr<sasl_client>> sasl_plain(credentials const& who);

/// EXTERNAL [RFC 4422]: the peer knows us by what is below, a certificate.
SLUICE_EXPORT std::unique_ptr<sasl_client> sasl_external(std::string authorize_as = {});

/// A token that whoever has it may use: it is a secret like a password.
struct sasl_token {
    std::string token{};
    std::string user{};      ///< XOAUTH2 needs it; OAUTHBEARER may leave it out
    std::string host{};      ///< whom we connected to
    std::uint16_t port = 0;  ///< 0: not said
};
/// OAUTHBEARER [RFC 7628]. The octets of a sasl-init with a token of more than about 400 octets
/// are more than [5.3.1] lets a frame have; the peers that take such tokens take such frames.
/// @returns error::invalid_argument if token, user or host hold a control character
SLUICE_EXPORT result<std::unique_ptr<sasl_client>> sasl_oauthbearer(sasl_token const& what);
/// XOAUTH2, the same before it was a standard, as some services have it.
/// @returns error::invalid_argument as above, or if there is no user
SLUICE_EXPORT result<std::unique_ptr<sasl_client>> sasl_xoauth2(sasl_token const& what);

/// What a client's initial response of PLAIN says; nothing if it is malformed. [RFC 4616]
SLUICE_EXPORT std::optional<credentials> sasl_read_plain(bytes_view response);

/// What a client has to show, and how its connection is protected.
struct sasl_means {
    bool credentials = false;    ///< a user and a password
    bool scram_possible = true;  ///< they are ASCII: see scram_is_prepared()
    bool token = false;
    bool token_user = false;   ///< and a user with it
    bool certificate = false;  ///< a certificate of ours was shown to the peer
    /// A password or token may go out as it is: nobody in between can read along, or the user
    /// wants it so.
    bool may_send_secrets = true;
};

/// Mechanisms in an order of preference, and why others are not among them.
struct sasl_preference {
    std::vector<std::string> wanted{};    ///< best first
    std::vector<std::string> insecure{};  ///< left out, for they would send a secret readable
    std::string remark{};                 ///< for people: what else was left out and why, or empty
};

/// The mechanisms that this library has, strongest first.
SLUICE_EXPORT std::span<std::string_view const> sasl_known() noexcept;

/// What a client would use. Nothing is sent under a mechanism that is not listed.
/// @param order the user's own; empty: strongest first. What there are no means for is left out.
SLUICE_EXPORT sasl_preference sasl_prefer(sasl_means const& means,
                                          std::span<std::string const> order = {});

/// The first of `wanted` that is offered (names compare exactly [5.3.3.1]).
/// @returns an empty view if there is none; `fault`, if given, then says why and what to do.
SLUICE_EXPORT std::string_view sasl_choose(sasl_preference const& preference,
                                           std::span<std::string const> offered,
                                           std::string* fault = nullptr);
/// There is no choice, but there would be one if secrets might be sent readable.
SLUICE_EXPORT bool sasl_is_insecure_only(sasl_preference const& preference,
                                         std::span<std::string const> offered);

}  // namespace sluice::net
