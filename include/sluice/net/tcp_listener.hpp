// Taking TCP connections in.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/byte_stream.hpp>
#include <sluice/result.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <functional>

namespace sluice::net {

/// A listening socket. Everything on its executor, but for open() and port().
class SLUICE_EXPORT tcp_listener {
public:
    virtual ~tcp_listener() = default;

    /// Binds and listens. Resolves `host` at once: give an address, or a name that needs no
    /// network.
    /// @param port 0: any that is free, see port()
    /// @returns error::resolve_failed, error::listen_failed; `fault`, if given, says what and what
    /// to
    ///     do.
    static result<std::shared_ptr<tcp_listener>> open(boost::asio::any_io_executor executor,
                                                      std::string const& host, std::uint16_t port,
                                                      std::string* fault = nullptr);

    /// Calls `taken` for each connection from here on. When the process has no more descriptors it
    /// waits a moment and goes on; those who connect wait in the backlog.
    virtual void start(std::function<void(std::unique_ptr<byte_stream>)> taken) = 0;
    /// Connections wait in the backlog until resume().
    virtual void pause() = 0;
    virtual void resume() = 0;
    virtual void close() noexcept = 0;

    virtual std::uint16_t port() const noexcept = 0;
    /// "127.0.0.1:5672"
    virtual std::string address() const = 0;
};

}  // namespace sluice::net
