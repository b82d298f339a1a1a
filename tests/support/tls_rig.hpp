// TLS between two ends in memory: ours at both, or OpenSSL as it is at one.
#pragma once

#include "support/certificates.hpp"
#include "support/memory_stream.hpp"

#include <sluice/net/tls.hpp>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace sluice::test {

struct tls_rig : memory_pair {
    authority ca;
    net::tls_client_options client{.ca_file = ca.pem()};
    net::tls_server_options server;
    std::string host = "localhost";

    net::connect_result at_client;
    net::connect_result at_server;
    std::shared_ptr<net::tcp_connect> client_handshake;
    std::shared_ptr<net::tcp_connect> server_handshake;
    int client_calls = 0;
    int server_calls = 0;

    explicit tls_rig(certificate_request const& of_server = {}) { use(ca.issue(of_server)); }

    void use(identity const& i)
    {
        server.cert_file = i.certificate;
        server.key_file = i.key;
    }
    void use_at_client(identity const& i)
    {
        client.cert_file = i.certificate;
        client.key_file = i.key;
    }

    void start_client()
    {
        std::string fault;
        auto context = net::make_tls_client(client, &fault);
        ASSERT_TRUE(context) << fault;
        client_handshake =
            net::start_tls_client(client_end(), *context, host, [this](net::connect_result r) {
                at_client = std::move(r);
                ++client_calls;
            });
    }
    void start_server()
    {
        std::string fault;
        auto context = net::make_tls_server(server, &fault);
        ASSERT_TRUE(context) << fault;
        server_handshake =
            net::start_tls_server(server_end(), *context, [this](net::connect_result r) {
                at_server = std::move(r);
                ++server_calls;
            });
    }
    /// As far as it comes without a clock.
    void shake()
    {
        start_client();
        start_server();
        run();
    }
};

/// OpenSSL without any of our code, at either end of a memory_pair.
class bare_tls {
public:
    bare_tls(SSL_METHOD const* method, memory_pair& pair, bool is_server)
        : context_{SSL_CTX_new(method)}, pair_{pair}, is_server_{is_server}
    {
    }
    ~bare_tls()
    {
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }
    bare_tls(bare_tls const&) = delete;
    bare_tls& operator=(bare_tls const&) = delete;

    SSL_CTX* context() { return context_; }
    SSL* ssl()
    {
        if (!ssl_) {
            ssl_ = SSL_new(context_);
            SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
            is_server_ ? SSL_set_accept_state(ssl_) : SSL_set_connect_state(ssl_);
        }
        return ssl_;
    }
    void use(identity const& i)
    {
        auto* const in =
            BIO_new_mem_buf(i.certificate.data(), static_cast<int>(i.certificate.size()));
        auto* const certificate = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
        SSL_CTX_use_certificate(context_, certificate);
        X509_free(certificate);
        BIO_free(in);
        auto* const in_key = BIO_new_mem_buf(i.key.data(), static_cast<int>(i.key.size()));
        auto* const key = PEM_read_bio_PrivateKey(in_key, nullptr, nullptr, nullptr);
        SSL_CTX_use_PrivateKey(context_, key);
        EVP_PKEY_free(key);
        BIO_free(in_key);
    }

    /// Octets between it and the pipes. @returns true if any moved
    bool move()
    {
        auto& in = is_server_ ? *pair_.to_server : *pair_.to_client;
        auto& out = is_server_ ? *pair_.to_client : *pair_.to_server;
        auto const moved = !in.octets.empty();
        if (moved) {
            BIO_write(SSL_get_rbio(ssl()), in.octets.data(), static_cast<int>(in.octets.size()));
            in.octets.clear();
            in.wake(pair_.io);
        }
        char* data = nullptr;
        auto const size = BIO_get_mem_data(SSL_get_wbio(ssl()), &data);
        if (size > 0) {
            out.inject(pair_.io, {data, static_cast<std::size_t>(size)});
            (void)BIO_reset(SSL_get_wbio(ssl()));
        }
        return moved || size > 0;
    }
    template <class F>
    int run(F f)
    {
        auto last = -1;
        for (int i = 0; i < 50; ++i) {
            ERR_clear_error();
            last = f(ssl());
            auto const moved = move();
            pair_.io.restart();
            while (pair_.io.poll() > 0)
                ;
            if (last > 0 || (!moved && i > 2))
                break;
        }
        return last;
    }
    int shake() { return run(SSL_do_handshake); }
    int write(std::string const& text)
    {
        return run(
            [&](SSL* s) { return SSL_write(s, text.data(), static_cast<int>(text.size())); });
    }
    std::string read()
    {
        char buffer[16384];
        auto const n = run([&](SSL* s) { return SSL_read(s, buffer, sizeof buffer); });
        return n > 0 ? std::string{buffer, static_cast<std::size_t>(n)} : std::string{};
    }

private:
    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
    memory_pair& pair_;
    bool is_server_;
};

}  // namespace sluice::test
