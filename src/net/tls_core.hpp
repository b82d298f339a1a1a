// One TLS connection over a byte stream: OpenSSL on one side, readiness on the other.
#pragma once

#include "net/tls_detail.hpp"

#include <array>

namespace sluice::net {

/// Owns the stream underneath. What waits for TLS may have to wait for the other direction of that
/// stream: OpenSSL says which. Kept alive by waits under way.
class tls_core final : public stream_waiter, public std::enable_shared_from_this<tls_core> {
public:
    enum class progress : std::uint8_t { done, wants_read, wants_write, failed };

    /// `host` names the peer in SNI and is what its certificate has to be for; of a server empty.
    tls_core(std::unique_ptr<byte_stream> inner, tls_context_ptr context, std::string host);

    byte_stream& inner() noexcept { return *inner_; }
    bool server() const noexcept { return host_.empty(); }

    progress shake();
    /// After shake() has failed.
    handshake_fault take_fault();

    std::size_t read_some(boost::asio::mutable_buffer into, error_code& ec);
    std::size_t write_some(boost::asio::const_buffer from, error_code& ec);
    void async_wait(readiness which, std::shared_ptr<stream_waiter> waiter);
    /// Waits for `needs` of the stream underneath, for who wants `which` of this one.
    void wait(readiness which, readiness needs, std::shared_ptr<stream_waiter> waiter);
    void shutdown_write() noexcept;
    void close() noexcept;
    void reset() noexcept;
    stream_security security() const;

    void on_ready(readiness which, error_code ec) override;

private:
    struct slot {
        std::shared_ptr<stream_waiter> waiter;
        readiness needs = readiness::read;
        bool posted = false;  // does not wait for the stream underneath
    };

    static BIO_METHOD const* method();
    static int bio_read(BIO* b, char* into, int size);
    static int bio_write(BIO* b, char const* from, int size);
    static long bio_control(BIO* b, int what, long number, void* pointer);
    static int verified(int good, X509_STORE_CTX* chain);

    void want_host();
    void flush_end() noexcept;
    void post_ready(readiness which, std::shared_ptr<stream_waiter> waiter);
    void wait_inner(readiness needs);
    /// What a call of OpenSSL's came to, if not success: would_block (and sets `needs`), or the
    /// end.
    error_code outcome(int returned, readiness& needs);
    error_code cut_off() const noexcept;

    std::unique_ptr<byte_stream> inner_;
    tls_context_ptr context_;
    std::string host_;
    ssl_ptr ssl_;
    std::optional<verify_fault> fault_;
    std::string first_octets_;
    std::array<slot, 2> slots_;    // who waits for this stream, by readiness
    std::array<bool, 2> waits_{};  // the stream underneath is waited for
    error_code io_;                // what it failed with, for good
    error_code read_end_;
    error_code write_end_;
    readiness read_needs_ = readiness::read;
    readiness write_needs_ = readiness::write;
    bool dry_ = false;  // OpenSSL holds no octet that could be had without reading
    bool shaken_ = false;
    bool read_any_ = false;  // since the handshake
    bool ended_ = false;     // the stream underneath
    bool flushing_ = false;  // our close_notify waits for room
    bool closed_ = false;
};

}  // namespace sluice::net
