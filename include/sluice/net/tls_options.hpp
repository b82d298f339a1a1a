// What TLS is set up with: plain structs with defaults.
#pragma once

#include <string>

namespace sluice::net {

/// A client's side. Certificates and keys are the names of PEM files, or the PEM text itself
/// ("-----BEGIN ...").
struct tls_client_options {
    std::string ca_file{};    ///< whom to trust, and nobody else; empty: the system's CAs
    std::string cert_file{};  ///< this side's certificate, then those up to its CA; empty: none
    std::string key_file{};   ///< its key; empty: it is in cert_file
    std::string key_password{};
    /// The peer's chain and host name. false: whoever answers is taken for the peer, and may read
    /// and change everything.
    bool verify = true;
    std::string server_name{};  ///< asked for (SNI) and checked; empty: the host connected to
};

/// A listener's side; files as above.
struct tls_server_options {
    std::string cert_file{};  ///< the certificate, then those up to its CA
    std::string key_file{};   ///< its key; empty: it is in cert_file
    std::string key_password{};
    std::string client_ca_file{};  ///< whose certificates clients may show; empty: not asked for
    bool client_required = true;   ///< with client_ca_file: a client without one is refused
};

}  // namespace sluice::net
