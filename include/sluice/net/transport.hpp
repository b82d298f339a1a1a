// From a URL to a stream that carries AMQP, and from an accepted socket to one: TCP, TLS over it,
// WebSocket over either.
#pragma once

#include <sluice/net/tls.hpp>
#include <sluice/net/url.hpp>

namespace sluice::net {

/// Connects as the scheme of `where` says. `done` is called once, on `executor`, never from within
/// this call. Its time limit is that of `tcp` and covers all steps. Errors: those of connect_tcp(),
/// make_tls_client(), start_tls_client() and start_websocket_client().
SLUICE_EXPORT std::shared_ptr<tcp_connect> connect_transport(
    boost::asio::any_io_executor executor, url const& where, tcp_options const& tcp,
    tls_client_options const& tls, std::function<void(connect_result)> done);

/// What a listener does with a socket before AMQP begins.
struct transport_options {
    tls_context_ptr tls{};                      ///< of make_tls_server(); null: no TLS
    bool websocket = false;                     ///< AMQP over WebSocket and nothing else
    std::vector<std::string> origins{};         ///< see start_websocket_server()
    std::chrono::milliseconds timeout{10'000};  ///< for all steps together
};

/// Handshakes over `accepted`. `done` as above; its text names the peer. error::timed_out if the
/// peer is too slow.
SLUICE_EXPORT std::shared_ptr<tcp_connect> accept_transport(
    std::unique_ptr<byte_stream> accepted, transport_options const& options,
    std::function<void(connect_result)> done);

}  // namespace sluice::net
