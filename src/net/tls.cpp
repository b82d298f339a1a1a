// Certificates, keys and CAs: from PEM into contexts, with a text for whatever is wrong with them.
#include "net/small_file.hpp"
#include "net/tls_detail.hpp"

#include <algorithm>
#include <new>

namespace sluice::net {
namespace {

constexpr std::size_t read_ahead = std::size_t{33} * 1024;  // two records of the largest size

/// Thrown within this file.
struct setup_fault {
    std::string text;
};

std::string last_reason()
{
    auto const* const text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "no reason given";
}

bool is_text(std::string const& file) noexcept { return file.starts_with("-----BEGIN"); }

/// For texts: PEM itself may be a key, so it is in none.
std::string shown(std::string const& file)
{
    return is_text(file) ? "given as text" : "'" + file + "'";
}

bio_ptr open_pem(std::string const& file, std::string const& what)
{
    if (is_text(file))
        return bio_ptr{BIO_new_mem_buf(file.data(), static_cast<int>(file.size()))};
    // OpenSSL itself would read a device without end.
    std::string fault;
    auto content = detail::read_small_file(file, detail::file_kinds::pipes_too, &fault);
    if (!content)
        throw setup_fault{
            "the " + what + " " + shown(file) + " cannot be read: "
            + fault.substr(std::string_view{"cannot read "}.size() + file.size() + 2)};
    bio_ptr out{BIO_new(BIO_s_mem())};
    auto const size = static_cast<int>(content->size());
    auto const taken = out && (size == 0 || BIO_write(out.get(), content->data(), size) == size);
    OPENSSL_cleanse(content->data(), content->size());  // it may be a key
    if (!taken)
        throw std::bad_alloc{};
    BIO_set_mem_eof_return(out.get(), 0);
    return out;
}

struct password_asked {
    std::string const& password;
    bool asked = false;
};

/// Never a prompt on the terminal, which is what OpenSSL does by itself.
int give_password(char* into, int size, int, void* user)
{
    auto& p = *static_cast<password_asked*>(user);
    p.asked = true;
    if (p.password.empty() || p.password.size() > static_cast<std::size_t>(size))
        return -1;
    std::ranges::copy(p.password, into);  // its length is the answer: no zero behind it
    return static_cast<int>(p.password.size());
}

void load_certificates(SSL_CTX* into, std::string const& file)
{
    auto const in = open_pem(file, "certificate");
    std::string const none;
    password_asked password{none};
    x509_ptr const first{PEM_read_bio_X509_AUX(in.get(), nullptr, give_password, &password)};
    if (!first)
        throw setup_fault{"no certificate in the file " + shown(file) + " (" + last_reason()
                          + "); it has to be PEM, -----BEGIN CERTIFICATE-----"};
    if (SSL_CTX_use_certificate(into, first.get()) != 1)
        throw setup_fault{"the certificate " + shown(file) + " cannot be used: " + last_reason()};
    SSL_CTX_clear_chain_certs(into);
    while (auto* const next = PEM_read_bio_X509(in.get(), nullptr, give_password, &password))
        if (SSL_CTX_add0_chain_cert(into, next) != 1) {
            X509_free(next);
            throw setup_fault{"a certificate behind the first of " + shown(file)
                              + " cannot be used: " + last_reason()};
        }
    ERR_clear_error();  // of the end of the file
}

void load_key(SSL_CTX* into, std::string const& file, std::string const& password)
{
    auto const in = open_pem(file, "key");
    password_asked asked{password};
    pkey_ptr const key{PEM_read_bio_PrivateKey(in.get(), nullptr, give_password, &asked)};
    if (!key && asked.asked)
        throw setup_fault{
            "the key " + shown(file) + " is encrypted, and "
            + (password.empty() ? "there is no password for it" : "its password is another one")};
    if (!key)
        throw setup_fault{"no key in the file " + shown(file) + " (" + last_reason()
                          + "); it has to be PEM, -----BEGIN PRIVATE KEY-----"};
    if (SSL_CTX_use_PrivateKey(into, key.get()) != 1 || SSL_CTX_check_private_key(into) != 1)
        throw setup_fault{"the key " + shown(file) + " does not belong to the certificate ("
                          + last_reason() + ")"};
}

/// Those of the file become trusted, whether or not they are CAs themselves; a client is told them.
void load_trusted(SSL_CTX* into, std::string const& file, bool tell)
{
    auto const in = open_pem(file, "file of CAs");
    auto* const store = SSL_CTX_get_cert_store(into);
    auto count = 0;
    std::string const none;
    password_asked password{none};
    for (;;) {
        x509_ptr const next{PEM_read_bio_X509_AUX(in.get(), nullptr, give_password, &password)};
        if (!next)
            break;
        if (X509_STORE_add_cert(store, next.get()) != 1
            || (tell && SSL_CTX_add_client_CA(into, next.get()) != 1))
            throw setup_fault{"a certificate in the file of CAs " + shown(file)
                              + " cannot be used: " + last_reason()};
        ++count;
    }
    auto const why = ERR_peek_last_error();
    auto const at_end =
        ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
    if (count == 0 || !at_end)
        throw setup_fault{(count == 0 ? "no certificate in the file of CAs "
                                      : "a broken certificate in the file of CAs ")
                          + shown(file) + " (" + last_reason()
                          + "); it has to be PEM, -----BEGIN CERTIFICATE-----"};
    ERR_clear_error();
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
}

/// Read once: there are more than a hundred of them.
void trust_system(SSL_CTX* into)
{
    static auto const store = [] {
        auto* const made = X509_STORE_new();
        if (made)
            X509_STORE_set_default_paths(made);
        return std::unique_ptr<X509_STORE, openssl_free<X509_STORE_free>>{made};
    }();
    if (store)
        SSL_CTX_set1_cert_store(into, store.get());
    ERR_clear_error();
}

ssl_context_ptr make_raw(SSL_METHOD const* method)
{
    ERR_clear_error();
    ssl_context_ptr out{SSL_CTX_new(method)};
    if (!out)
        throw setup_fault{"OpenSSL cannot be used: " + last_reason()};
    auto* const raw = out.get();
    // Forward secrecy always; CBC for the brokers that have nothing newer.
    if (SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1
        || SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:ECDHE+AES:!aNULL")
               != 1)
        throw setup_fault{"OpenSSL is configured to allow neither TLS 1.2 nor 1.3: "
                          + last_reason()};
    SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                              | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_read_ahead(raw, 1);  // one read of the socket for many records
    SSL_CTX_set_default_read_buffer_len(raw, read_ahead);
    return out;
}

void load_own(SSL_CTX* into, std::string const& certificate, std::string const& key,
              std::string const& password)
{
    load_certificates(into, certificate);
    load_key(into, key.empty() ? certificate : key, password);
}

template <class F>
result<tls_context_ptr> guarded(std::string* fault, F make)
{
    try {
        return tls_context_ptr{make()};
    } catch (setup_fault const& f) {
        ERR_clear_error();
        if (fault)
            *fault = "TLS: " + f.text;
        return unexpected{error::tls_setup_failed};
    }
}

}  // namespace

result<tls_context_ptr> make_tls_client(tls_client_options const& o, std::string* fault)
{
    return guarded(fault, [&] {
        auto raw = make_raw(TLS_client_method());
        if (!o.ca_file.empty())
            load_trusted(raw.get(), o.ca_file, false);
        else if (o.verify)
            trust_system(raw.get());
        if (!o.cert_file.empty())
            load_own(raw.get(), o.cert_file, o.key_file, o.key_password);
        else if (!o.key_file.empty())
            throw setup_fault{"a key without its certificate; give both"};
        return std::make_shared<tls_context>(std::move(raw), o.verify, o.server_name);
    });
}

result<tls_context_ptr> make_tls_server(tls_server_options const& o, std::string* fault)
{
    return guarded(fault, [&] {
        if (o.cert_file.empty())
            throw setup_fault{"a listener needs a certificate and its key; none is given"};
        auto raw = make_raw(TLS_server_method());
        SSL_CTX_set_options(raw.get(), SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
        SSL_CTX_set_num_tickets(raw.get(), 0);  // connections live long; nothing is resumed
        load_own(raw.get(), o.cert_file, o.key_file, o.key_password);
        auto const asks = !o.client_ca_file.empty();
        if (asks) {
            load_trusted(raw.get(), o.client_ca_file, true);
            SSL_CTX_set_verify(raw.get(),
                               SSL_VERIFY_PEER
                                   | (o.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                               nullptr);
        }
        return std::make_shared<tls_context>(std::move(raw), asks, std::string{});
    });
}

}  // namespace sluice::net
