// What is said when TLS fails: which check, of whose certificate, and what to do.
#include "net/harmless.hpp"
#include "net/tls_detail.hpp"

namespace sluice::net {
namespace {

constexpr int value_truncated = 1;
constexpr int value_dropped_at_once = 2;
constexpr int value_alert = 0x100;     // and the alert's number
constexpr int value_reason = 0x10000;  // and OpenSSL's

std::string text_of(ASN1_STRING const* from)
{
    unsigned char* raw = nullptr;
    auto const size = from ? ASN1_STRING_to_UTF8(&raw, from) : -1;
    if (size < 0)
        return {};
    std::string out{reinterpret_cast<char const*>(raw), static_cast<std::size_t>(size)};
    OPENSSL_free(raw);
    return out;
}

std::string contents(BIO* bio)
{
    char* data = nullptr;
    auto const size = BIO_get_mem_data(bio, &data);
    return size > 0 ? std::string{data, static_cast<std::size_t>(size)} : std::string{};
}

std::string time_text(ASN1_TIME const* t)
{
    bio_ptr const out{BIO_new(BIO_s_mem())};
    if (!out || !t || ASN1_TIME_print(out.get(), t) != 1)
        return "an unreadable date";
    return contents(out.get());
}

std::string address_text(ASN1_OCTET_STRING const* ip)
{
    auto const* const data = ASN1_STRING_get0_data(ip);
    auto const size = static_cast<std::size_t>(ASN1_STRING_length(ip));
    namespace asio = boost::asio::ip;
    if (asio::address_v4::bytes_type four; size == four.size()) {
        std::copy_n(data, size, four.begin());
        return asio::address_v4{four}.to_string();
    }
    if (asio::address_v6::bytes_type six; size == six.size()) {
        std::copy_n(data, size, six.begin());
        return asio::address_v6{six}.to_string();
    }
    return {};
}

std::string names_of(X509 const* certificate)
{
    auto* const names = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    std::string out;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        auto const* const name = sk_GENERAL_NAME_value(names, i);
        auto const text = name->type == GEN_DNS     ? text_of(name->d.dNSName)
                          : name->type == GEN_IPADD ? address_text(name->d.iPAddress)
                                                    : std::string{};
        if (!text.empty())
            out += (out.empty() ? "" : ", ") + text;
    }
    GENERAL_NAMES_free(names);
    return harmless(out);
}

std::string check_text(verify_fault const& v, std::string const& wanted, bool server)
{
    auto const whose = "the certificate \"" + v.subject + "\"";
    auto const trust = server ? "client_ca_file (--tls-client-ca)" : "tls.ca_file (--tls-ca)";
    switch (v.code) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return whose + " is not for '" + wanted + "'; "
               + (v.names.empty() ? "it is for no host name or address at all (a common name does "
                                    "not count)"
                                  : "it is for " + v.names)
               + "; connect by a name that it has, or set tls.server_name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return whose + " expired on " + v.until + "; the peer needs a new one, or a clock is wrong";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return whose + " is not valid before " + v.from + "; is a clock wrong?";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return whose + " is self-signed and not trusted here; put it into " + trust
               + " if it is the peer's";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:  // the peer sends its CA's, too
        return "the peer's certificate leads to the CA \"" + v.subject
               + "\", which is not trusted here; put that CA into " + trust
               + " if you know it to be the peer's";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return whose + " is signed by the CA \"" + v.issuer + "\", which is not trusted here; put "
               + "that CA into " + trust
               + ", or let the peer send the certificates up to one that is";
    case X509_V_ERR_INVALID_PURPOSE:
        return whose + " is not made for this side of a connection (its extended key usage); the "
               + "peer needs another one";
    default: return whose + " failed a check: " + X509_verify_cert_error_string(v.code);
    }
}

/// The number of the alert that the peer sent, or 0.
int alert_of(unsigned long openssl) noexcept
{
    auto const reason = ERR_GET_REASON(openssl);
    auto const is_alert = ERR_GET_LIB(openssl) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET
                          && reason < SSL_AD_REASON_OFFSET + 256;
    return is_alert ? reason - SSL_AD_REASON_OFFSET : 0;
}

std::string alert_text(int alert)
{
    auto const number = std::to_string(alert);
    switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
        return "it requires a certificate, and this side has none (alert " + number
               + "); set tls.cert_file and key_file (--tls-cert, --tls-key)";
    case SSL_AD_UNKNOWN_CA:
        return "it does not trust the CA of this side's certificate (alert " + number
               + "); let it trust that CA, or use a certificate of one that it trusts";
    case SSL_AD_CERTIFICATE_EXPIRED:
        return "this side's certificate has expired (alert " + number + "); use a new one";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
        return "it does not accept this side's certificate (alert " + number + ", "
               + SSL_alert_desc_string_long(alert) + "); its log may say why";
    case SSL_AD_PROTOCOL_VERSION:
        return "it has no version of TLS in common with this side, which speaks 1.2 and 1.3 (alert "
               + number + ")";
    case SSL_AD_HANDSHAKE_FAILURE:
        return "it has no ciphers in common with this side, or requires a certificate (alert "
               + number + "); set tls.cert_file and key_file if it does";
    case SSL_AD_UNRECOGNIZED_NAME:
        return "it has no certificate for the name asked for (alert " + number
               + "); check the host name, or set tls.server_name";
    default: return "alert " + number + ", " + SSL_alert_desc_string_long(alert);
    }
}

bool looks_like_tls(std::string const& first) noexcept
{
    // A record of handshake or alert, of major version 3 [RFC 8446, 5.1]
    return first.empty()
           || ((first[0] == 0x16 || first[0] == 0x15) && (first.size() < 2 || first[1] == 3));
}

std::string foreign_text(handshake_fault const& f)
{
    auto const& first = f.first_octets;
    auto const http = first.starts_with("GET ") || first.starts_with("HTTP")
                      || first.starts_with("POST") || first.starts_with("HEAD");
    auto const* const speaks = first.starts_with("AMQP") ? "AMQP without TLS"
                               : http                    ? "HTTP without TLS"
                                                         : "something that is not TLS";
    return std::string{"it speaks "} + speaks
           + (f.server ? " to a port that is for TLS; it has to connect with amqps:// (or wss://)"
                       : "; use amqp:// (or ws://), or the port on which it speaks TLS");
}

class category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "tls"; }

    std::string message(int value) const override
    {
        if (value == value_truncated)
            return "the transport ended without TLS's close_notify: it was cut off, and something "
                   "may be missing";
        if (value == value_dropped_at_once)
            return "the peer hung up after TLS's handshake before it said anything (no "
                   "close_notify); it may want a certificate of this side's, or another one "
                   "(tls.cert_file); its log may say why";
        if (value >= value_reason) {
            auto const* const text = ERR_reason_error_string(
                ERR_PACK(ERR_LIB_SSL, 0, static_cast<unsigned long>(value - value_reason)));
            return std::string{"the peer broke TLS: "} + (text ? text : "no reason given");
        }
        return "the peer ended TLS: " + alert_text(value - value_alert);
    }
};

}  // namespace

std::string name_text(X509_NAME const* name)
{
    bio_ptr const out{BIO_new(BIO_s_mem())};
    constexpr auto flags = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
    if (!out || X509_NAME_print_ex(out.get(), name, 0, flags) < 0)
        return {};
    return contents(out.get());
}

std::string common_name(X509 const* certificate)
{
    auto const* const subject = X509_get_subject_name(certificate);
    auto last = -1;
    for (auto at = last; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;)
        last = at;
    if (last < 0)
        return {};
    auto out = text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
    return out.find('\0') == out.npos ? out : std::string{};
}

verify_fault make_fault(int code, X509* certificate)
{
    verify_fault out;
    out.code = code;
    if (!certificate)
        return out;
    out.subject = harmless(name_text(X509_get_subject_name(certificate)));
    out.issuer = harmless(name_text(X509_get_issuer_name(certificate)));
    out.names = names_of(certificate);
    out.from = time_text(X509_get0_notBefore(certificate));
    out.until = time_text(X509_get0_notAfter(certificate));
    return out;
}

connect_result explain(handshake_fault const& f)
{
    auto const told = [&](error code, std::string const& text) {
        return connect_result{to_boost(code), "TLS with " + f.peer + ": " + text, nullptr};
    };
    if (f.verify)
        return told(error::tls_verify_failed, check_text(*f.verify, f.wanted_name, f.server));
    auto const reason = ERR_GET_REASON(f.openssl);
    if (auto const alert = alert_of(f.openssl))
        return told(error::tls_refused, "the peer refused: " + alert_text(alert));
    if (!looks_like_tls(f.first_octets))
        return told(error::tls_handshake_failed, foreign_text(f));
    if (f.io && f.io != boost::asio::error::eof)
        return told(error::connect_failed,
                    "lost in the middle of the handshake: " + f.io.message());
    if (f.ended || f.io)
        return told(error::connect_failed,
                    f.first_octets.empty() ? "the peer closed the transport at the handshake; does "
                                             "it speak TLS on this port?"
                                           : "the peer closed the transport in the middle of the "
                                             "handshake; its log may say why");
    switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_VERSION_TOO_LOW:
        return told(error::tls_handshake_failed,
                    "the peer speaks an older version of TLS only; 1.2 or 1.3 is needed");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return told(error::tls_verify_failed,
                    "the peer showed no certificate, and one is required here");
    default: break;
    }
    auto const* const text = ERR_reason_error_string(f.openssl);
    return told(error::tls_handshake_failed, text ? text : "OpenSSL gives no reason");
}

error_code tls_error(unsigned long openssl) noexcept
{
    if (auto const alert = alert_of(openssl))
        return {value_alert + alert, tls_category()};
    auto const reason = ERR_GET_REASON(openssl);
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return tls_truncated();
    return {value_reason + reason, tls_category()};
}

error_code tls_truncated() noexcept { return {value_truncated, tls_category()}; }

error_code tls_dropped_at_once() noexcept { return {value_dropped_at_once, tls_category()}; }

boost::system::error_category const& tls_category() noexcept
{
    static category const instance;
    return instance;
}

std::error_code why_lost(error_code ended_with) noexcept
{
    if (ended_with.category() == tls_category()) {
        switch (ended_with.value() - value_alert) {
        case SSL_AD_HANDSHAKE_FAILURE:
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_UNKNOWN_CA:
        case SSL_AD_ACCESS_DENIED:
        case SSL_AD_CERTIFICATE_REQUIRED: return make_error_code(error::tls_refused);
        default: break;
        }
    }
    return make_error_code(error::connection_lost);
}

}  // namespace sluice::net
