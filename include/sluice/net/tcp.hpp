// Byte streams over TCP: resolve, connect, read, write.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/byte_stream.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <functional>

namespace sluice::net {

struct tcp_options {
    bool no_delay = true;                       ///< TCP_NODELAY: frames are batched already
    std::chrono::milliseconds timeout{30'000};  ///< for resolving and connecting together
};

/// A connected socket as a stream; makes it non-blocking.
SLUICE_EXPORT std::unique_ptr<byte_stream> make_tcp_stream(boost::asio::ip::tcp::socket socket);

/// How connecting ended. `text` says what failed, for which host and port, and what to do.
struct connect_result {
    error_code code;  ///< error::resolve_failed, error::connect_failed, error::timed_out,
                      ///< error::operation_aborted
    std::string text;
    std::unique_ptr<byte_stream> stream;
};

/// A connect under way.
class SLUICE_EXPORT tcp_connect {
public:
    virtual ~tcp_connect() = default;
    /// The handler is called with error::operation_aborted. On the executor only.
    virtual void cancel() = 0;
};

/// Resolves `host`, tries its addresses in turn. `done` is called once, on `executor`, never from
/// within this call.
SLUICE_EXPORT std::shared_ptr<tcp_connect> connect_tcp(boost::asio::any_io_executor executor,
                                                       std::string host, std::uint16_t port,
                                                       tcp_options const& options,
                                                       std::function<void(connect_result)> done);

}  // namespace sluice::net
