// TLS 1.2 and 1.3 over any byte stream: what it is set up with, and the handshake.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/tcp.hpp>
#include <sluice/net/tls_options.hpp>
#include <sluice/result.hpp>

#include <memory>
#include <string>
#include <system_error>

namespace sluice::net {

/// Options with their files read. Immutable; thread-safe.
class tls_context;
using tls_context_ptr = std::shared_ptr<tls_context const>;

/// Reads the files. @returns error::tls_setup_failed; `fault`, if given, says which file and why
SLUICE_EXPORT result<tls_context_ptr> make_tls_client(tls_client_options const& options,
                                                      std::string* fault = nullptr);
SLUICE_EXPORT result<tls_context_ptr> make_tls_server(tls_server_options const& options,
                                                      std::string* fault = nullptr);

/// Shakes hands over `stream` and hands out the stream within; nothing of the caller's is sent
/// before the peer's certificate has passed its checks. `done` is called once, on the stream's
/// executor, never from within this call: error::tls_verify_failed, error::tls_refused,
/// error::tls_handshake_failed, error::connect_failed (the peer went away), or
/// error::operation_aborted (cancelled: there is no time limit in here), with a text that says
/// which check failed, for whom, and what to do.
///
/// Of the stream handed out: its end is asio::error::eof only after TLS's own close_notify; the
/// peer's alerts, broken records and an end without close_notify are errors of tls_category().
/// @param host the name or address connected to
SLUICE_EXPORT std::shared_ptr<tcp_connect> start_tls_client(
    std::unique_ptr<byte_stream> stream, tls_context_ptr context, std::string host,
    std::function<void(connect_result)> done);
SLUICE_EXPORT std::shared_ptr<tcp_connect> start_tls_server(
    std::unique_ptr<byte_stream> stream, tls_context_ptr context,
    std::function<void(connect_result)> done);

/// "tls": what ends a TLS stream. Messages name the alert or the fault.
SLUICE_EXPORT boost::system::error_category const& tls_category() noexcept;

/// For what a stream ended with: error::tls_refused for an alert that says so (a client that has no
/// certificate may learn of that after its handshake), else error::connection_lost.
SLUICE_EXPORT std::error_code why_lost(error_code ended_with) noexcept;

}  // namespace sluice::net
