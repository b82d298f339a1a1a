// AMQP over WebSocket [AMQP WebSocket Binding 1.0]: subprotocol "amqp", binary messages, whose
// boundaries mean nothing to AMQP.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/tcp.hpp>

#include <string>
#include <vector>

namespace sluice::net {

/// Upgrades `stream` and hands out the stream within. `done` is called once, on the stream's
/// executor, never from within this call: error::websocket_failed (an HTTP error, another
/// subprotocol, no HTTP at all), error::connect_failed (the peer went away) or
/// error::operation_aborted (cancelled: there is no time limit in here), with a text that says what
/// the peer answered.
///
/// No message is held whole, whatever its size; HTTP headers may have 8 KiB. Of the stream handed
/// out: its end is asio::error::eof only after a close frame; a text message or a breach of the
/// protocol ends it.
/// @param host for the Host field, with the port if that is not the scheme's
/// @param path "/" or as in the URL
SLUICE_EXPORT std::shared_ptr<tcp_connect> start_websocket_client(
    std::unique_ptr<byte_stream> stream, std::string host, std::string path,
    std::function<void(connect_result)> done);
/// Any path will do. Whoever does not ask for the subprotocol "amqp" gets an HTTP error that says
/// so, and so does a web page of another origin [RFC 6455, 10.2]: a browser would let any page of
/// the web talk to a server that is within its user's reach. The server's own pages may always
/// connect; without TLS, only if they call it by an address or "localhost", for other names can be
/// made to lead here.
/// @param origins those whose pages may connect besides the server's own, as in
///     "https://example.org"; "*": all
SLUICE_EXPORT std::shared_ptr<tcp_connect> start_websocket_server(
    std::unique_ptr<byte_stream> stream, std::vector<std::string> origins,
    std::function<void(connect_result)> done);

}  // namespace sluice::net
