// What the sources of TLS share: OpenSSL's objects as owners, contexts, and the texts of faults.
#pragma once

#include <sluice/net/tls.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <optional>

namespace sluice::net {

template <auto Free>
struct openssl_free {
    template <class T>
    void operator()(T* what) const noexcept
    {
        Free(what);
    }
};
using ssl_context_ptr = std::unique_ptr<SSL_CTX, openssl_free<SSL_CTX_free>>;
using ssl_ptr = std::unique_ptr<SSL, openssl_free<SSL_free>>;
using bio_ptr = std::unique_ptr<BIO, openssl_free<BIO_free_all>>;
using x509_ptr = std::unique_ptr<X509, openssl_free<X509_free>>;
using pkey_ptr = std::unique_ptr<EVP_PKEY, openssl_free<EVP_PKEY_free>>;

class tls_context {
public:
    tls_context(ssl_context_ptr raw, bool verifies, std::string server_name)
        : raw_{std::move(raw)}, verifies_{verifies}, server_name_{std::move(server_name)}
    {
    }
    SSL_CTX* raw() const noexcept { return raw_.get(); }
    bool verifies() const noexcept { return verifies_; }
    std::string const& server_name() const noexcept { return server_name_; }

private:
    ssl_context_ptr raw_;
    bool verifies_;
    std::string server_name_;
};

/// The first check that a peer's certificate failed, with what a text needs of that certificate.
struct verify_fault {
    int code = 0;  // X509_V_ERR_...
    std::string subject;
    std::string issuer;
    std::string names;  // those that it is valid for
    std::string from;   // its validity
    std::string until;
};

/// "CN=ann,O=Example" [RFC 4514]
std::string name_text(X509_NAME const* name);
/// The last common name; empty if there is none, or a NUL in it.
std::string common_name(X509 const* certificate);
verify_fault make_fault(int code, X509* certificate);

/// What is known when a handshake fails.
struct handshake_fault {
    bool server = false;      // we are
    std::string peer;         // as it is to be named
    std::string wanted_name;  // a client's: whose certificate it wanted
    std::optional<verify_fault> verify;
    unsigned long openssl = 0;  // the last of its error queue
    std::string first_octets;   // the peer's
    bool ended = false;         // the peer did
    error_code io;              // what the stream under TLS failed with
};
connect_result explain(handshake_fault const& f);

/// For tls_category(): an alert received, or one of OpenSSL's reasons, as a value.
error_code tls_error(unsigned long openssl) noexcept;
error_code tls_truncated() noexcept;
error_code tls_dropped_at_once() noexcept;  ///< the same, before the server's first octet

}  // namespace sluice::net
