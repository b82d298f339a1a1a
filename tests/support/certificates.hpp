// CAs and certificates made for one test, in memory.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace sluice::test {

/// PEM texts, as tls_client_options and tls_server_options take them.
struct identity {
    std::string certificate;
    std::string key;
};

struct certificate_request {
    std::string common_name = "localhost";
    /// In OpenSSL's words: "DNS:localhost,IP:127.0.0.1"; empty: none.
    std::string names = "DNS:localhost,IP:127.0.0.1";
    long from = -3600;  ///< seconds from now
    long until = 3600;
    std::string usage{};  ///< "serverAuth", "clientAuth"; empty: any
    bool self_signed = false;
    bool is_ca = false;
};

namespace certificates_detail {

template <auto Free>
struct freed {
    void operator()(auto* p) const { Free(p); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed<X509_free>>;

inline void need(bool good)
{
    if (!good)
        throw std::runtime_error{"OpenSSL made no certificate"};
}

template <class Write>
std::string pem(Write write)
{
    std::unique_ptr<BIO, freed<BIO_free_all>> const out{BIO_new(BIO_s_mem())};
    need(out && write(out.get()) == 1);
    char* data = nullptr;
    auto const size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

inline void extend(X509* certificate, X509* issuer, int what, std::string const& value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    std::unique_ptr<X509_EXTENSION, freed<X509_EXTENSION_free>> const made{
        X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str())};
    need(made && X509_add_ext(certificate, made.get(), -1) == 1);
}

}  // namespace certificates_detail

class authority {
public:
    explicit authority(std::string const& name = "Test CA")
    {
        using namespace certificates_detail;
        key_.reset(EVP_EC_gen("P-256"));
        need(key_ != nullptr);
        certificate_ = make({.common_name = name, .names = {}, .is_ca = true}, key_.get(), true);
    }

    std::string pem() const { return pem_of(*certificate_); }

    identity issue(certificate_request const& r = {}) const
    {
        using namespace certificates_detail;
        key_ptr const key{EVP_EC_gen("P-256")};
        need(key != nullptr);
        auto const made = make(r, key.get(), r.self_signed);
        return {pem_of(*made), certificates_detail::pem([&](BIO* out) {
                    return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr,
                                                    nullptr);
                })};
    }

    /// The key of `of`, encrypted.
    static std::string encrypted(identity const& of, std::string password)
    {
        using namespace certificates_detail;
        std::unique_ptr<BIO, freed<BIO_free_all>> const in{
            BIO_new_mem_buf(of.key.data(), static_cast<int>(of.key.size()))};
        key_ptr const key{PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr)};
        return certificates_detail::pem([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), EVP_aes_128_cbc(),
                                            reinterpret_cast<unsigned char const*>(password.data()),
                                            static_cast<int>(password.size()), nullptr, nullptr);
        });
    }

private:
    static std::string pem_of(X509& c)
    {
        return certificates_detail::pem([&](BIO* out) { return PEM_write_bio_X509(out, &c); });
    }

    certificates_detail::certificate_ptr make(certificate_request const& r, EVP_PKEY* key,
                                              bool self_signed) const
    {
        using namespace certificates_detail;
        certificate_ptr out{X509_new()};
        need(out != nullptr);
        static long serial = 1;
        X509_set_version(out.get(), 2);
        ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(out.get()), r.from);
        X509_gmtime_adj(X509_getm_notAfter(out.get()), r.until);
        X509_set_pubkey(out.get(), key);
        auto* const subject = X509_get_subject_name(out.get());
        X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8,
                                   reinterpret_cast<unsigned char const*>("Sluice"), -1, -1, 0);
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<unsigned char const*>(r.common_name.data()),
                                   static_cast<int>(r.common_name.size()), -1, 0);
        auto* const issuer = self_signed ? out.get() : certificate_.get();
        X509_set_issuer_name(out.get(), X509_get_subject_name(issuer));
        extend(out.get(), issuer, NID_basic_constraints,
               r.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
        if (!r.names.empty())
            extend(out.get(), issuer, NID_subject_alt_name, r.names);
        if (!r.usage.empty())
            extend(out.get(), issuer, NID_ext_key_usage, r.usage);
        need(X509_sign(out.get(), self_signed ? key : key_.get(), EVP_sha256()) > 0);
        return out;
    }

    certificates_detail::key_ptr key_;
    certificates_detail::certificate_ptr certificate_;
};

}  // namespace sluice::test
