// What an AMQP connection runs over: octets in order, both ways. TCP today; TLS and WebSocket fit
// the same form.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>

#include <memory>
#include <string>

namespace sluice::net {

enum class readiness : bool { read, write };

/// Somebody who waits for a stream; kept alive by the stream while a wait is under way.
class SLUICE_EXPORT stream_waiter {
public:
    virtual ~stream_waiter() = default;
    /// Called on the stream's executor, once for each async_wait().
    virtual void on_ready(readiness which, error_code ec) = 0;
};

/// How a stream is protected, and whom its peer has shown itself to be. Empty texts: not known.
struct stream_security {
    bool encrypted = false;  ///< TLS, this side's part of the handshake done
    bool loopback = false;   ///< the peer's address is this machine's own (127.0.0.0/8, ::1)
    std::string protocol{};  ///< "TLSv1.3"
    std::string cipher{};    ///< "TLS_AES_256_GCM_SHA384"
    /// Of the peer's certificate, and only if its chain was verified: its subject as in [RFC 4514]
    /// ("CN=ann,O=Example"), and the last common name in it ("ann").
    std::string peer_subject{};
    std::string peer_common_name{};
};

/// Works by readiness: try, and wait if it would block. So that a connection with nothing to do
/// holds no buffer.
///
/// Not thread-safe: everything on the stream's executor.
class SLUICE_EXPORT byte_stream {
public:
    virtual ~byte_stream() = default;

    virtual boost::asio::any_io_executor get_executor() = 0;

    /// Reads what is there. @returns octets read; with `ec`: asio::error::would_block if
    /// async_wait(read) has to come first, asio::error::eof at the end.
    virtual std::size_t read_some(boost::asio::mutable_buffer into, error_code& ec) = 0;
    /// Writes what fits. @returns octets written; with `ec`: asio::error::would_block if
    /// async_wait(write) has to come first, and then the next call has to begin with the octets
    /// that this one has not written.
    virtual std::size_t write_some(boost::asio::const_buffer from, error_code& ec) = 0;
    /// One wait of each kind at a time. Spurious wake-ups happen.
    virtual void async_wait(readiness which, std::shared_ptr<stream_waiter> waiter) = 0;

    /// No more will be written; reading goes on.
    virtual void shutdown_write() noexcept = 0;
    /// Ends both ways; waits under way end with operation_aborted.
    virtual void close() noexcept = 0;
    /// Ends both ways so that the peer can tell it from an end: a reset, where there is such a
    /// thing.
    virtual void reset() noexcept { close(); }

    /// The peer, for people: "127.0.0.1:5672".
    virtual std::string peer() const = 0;

    /// True from the moment that the stream is handed over. Makes texts: not for each frame.
    virtual stream_security security() const { return {}; }
};

}  // namespace sluice::net
