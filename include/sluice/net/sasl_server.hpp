// The server's half of SASL: what may be offered, and who proves to be whom. [5.3]
#pragma once

#include <sluice/net/sasl_users.hpp>

#include <functional>

namespace sluice::net {

/// How a server knows its users. Neither users nor a check of passwords: everybody may come in.
struct sasl_server_options {
    std::shared_ptr<sasl_users const> users{};
    /// PLAIN asks it, and not `users`. May throw, which refuses.
    std::function<bool(std::string_view user, std::string_view password)> check_password{};
    /// Whom the peer's verified certificate names; empty: nobody.
    std::string certificate_user{};
    /// Passwords of `users` may come as they are, for nobody in between can read along.
    bool plain = true;

    bool open() const noexcept { return !users && !check_password; }
};

/// The server's half of one exchange. Used once; after `refused` or `accepted` it is over. How many
/// messages a client may send is the mechanism's: two for SCRAM, one for the others.
class SLUICE_EXPORT sasl_server {
public:
    enum class step : std::uint8_t { challenge, accepted, refused };
    struct answer {
        step what = step::refused;
        bytes octets{};  ///< of the challenge, or to go with the outcome
    };

    virtual ~sasl_server() = default;
    /// @param response the initial one (empty: there was none), then those to the challenges
    virtual answer respond(bytes_view response) = 0;
    /// respond() computes for many milliseconds or asks somebody: not on a thread that others wait
    /// for.
    virtual bool is_slow() const noexcept { return false; }
    /// Once accepted: who it is; empty if nobody in particular.
    std::string const& user() const noexcept { return user_; }

protected:
    std::string user_;
};

/// What may be offered, strongest first; never empty, as [5.3.3.1] wants it.
SLUICE_EXPORT std::vector<std::string> sasl_offer(sasl_server_options const& o);
/// Null if `mechanism` is not offered: refuse it.
SLUICE_EXPORT std::unique_ptr<sasl_server> make_sasl_server(std::string_view mechanism,
                                                            sasl_server_options const& o);

}  // namespace sluice::net
