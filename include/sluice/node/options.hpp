// Settings of a node and its queues: plain structs with defaults, and the limit's answer beside
// each.
#pragma once

#include <sluice/engine/options.hpp>
#include <sluice/net/sasl_users.hpp>
#include <sluice/net/tls_options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node {

using std::chrono::milliseconds;

/// What a full queue does with one more message.
enum class when_full : std::uint8_t {
    reject,    ///< `rejected` with amqp:resource-limit-exceeded; a pre-settled one ends its link
    withhold,  ///< its senders get no credit until there is room
};

struct queue_options {
    std::uint64_t length_max = 10'000'000;  ///< messages, those at consumers included
    std::uint64_t bytes_max = 1ull << 30;   ///< octets of them
    when_full full = when_full::reject;
    std::string dead_letter{};  ///< where rejected messages go; empty: they are dropped
};

/// What lies under AMQP at one address.
struct node_transport {
    bool tls = false;        ///< and nothing without it; needs node_options::tls
    bool websocket = false;  ///< and nothing without it
};

struct node_options {
    std::string container_id = "sluice-node";  ///< [2.7.1]
    bool auto_create = true;  ///< a queue comes into being with the first link or message to it
    queue_options queue{};    ///< of queues that are created without options of their own
    std::size_t queues_max = 100'000;  ///< beyond: amqp:resource-limit-exceeded on the link

    /// Who may log in, and do what: a file as `sluice passwd` writes it, read when the node is made
    /// and by node::reload_users(); or users from elsewhere. Either: SASL is required;
    /// SCRAM-SHA-512 and -256, EXTERNAL for a verified certificate whose common name is a user's,
    /// and PLAIN are offered, the last where nobody can read along. What a user may not do is
    /// refused with amqp:unauthorized-access.
    std::string users_file{};
    std::shared_ptr<net::sasl_users const> users{};
    /// PLAIN for these also from other machines over connections that are not encrypted.
    bool allow_plain_unencrypted = false;
    /// Passwords that wait to be checked, at most: one more gets the outcome sys-temp.
    std::size_t password_checks_max = 64;

    /// The check of PLAIN. Set: ANONYMOUS and connections without SASL are refused. Called on a
    /// thread of its own, one call at a time.
    std::function<bool(std::string_view user, std::string_view password)> check_password{};

    std::optional<net::tls_server_options> tls{};  ///< for addresses that are listened on with TLS
    /// Whose web pages may connect over WebSocket besides the node's own: "https://example.org", or
    /// "*".
    std::vector<std::string> websocket_origins{};
    /// Told with a text of each TLS or WebSocket handshake that failed: which check, for whom. On
    /// the same thread as check_password; 64 at most wait for it, more are dropped.
    std::function<void(std::string const&)> on_handshake_failed{};

    engine::flow_policy policy = engine::flow_policy::strict;
    std::size_t connections_max = 10'000;    ///< beyond: the next waits in the backlog
    milliseconds handshake_timeout{10'000};  ///< to the peer's open; then the socket is closed
    milliseconds idle_timeout{60'000};       ///< silence; then amqp:resource-limit-exceeded [2.4.5]
    milliseconds close_timeout{10'000};      ///< to the peer's close; then the socket is closed
    std::uint32_t max_frame_size = 65536;    ///< beyond: amqp:connection:framing-error
    std::uint16_t channel_max = 255;         ///< sessions a connection, less one
    std::uint32_t handle_max = 1023;         ///< links a session, less one
    std::uint32_t links_max = 4'096;  ///< links a connection; more: amqp:resource-limit-exceeded
    std::uint64_t message_size_max = 128u << 20;  ///< beyond: amqp:link:message-size-exceeded
    std::uint32_t incoming_window = 1024;         ///< transfer frames a session
    std::uint32_t credit = 500;                   ///< of a sender's link, kept topped up
    std::uint32_t unsettled_max = 20'000;  ///< deliveries at one consumer; more wait for answers
    std::uint32_t connection_unsettled_max = 200'000;  ///< of all consumers of one connection
    /// Octets of half-received messages: of one connection (amqp:resource-limit-exceeded closes it)
    /// and of all.
    std::size_t connection_buffered_max = 256u << 20;
    std::size_t buffered_max = 1u << 30;
    /// Octets of all queues and channels, each message counting 256 more; beyond: as a full queue.
    std::uint64_t stored_max = 4ull << 30;
    std::size_t suspended_max = 10'000;  ///< detached links that are remembered; the oldest goes
    /// On one link; ten times that on a connection (100 at least), a hundred times that in all.
    std::size_t transactions_max = 1'000;
    milliseconds transaction_timeout{60'000};  ///< then rolled back: amqp:transaction:timeout
    milliseconds stop_timeout{5'000};          ///< for what is in flight when the node stops
};

/// What a node has done, true at the moment of asking.
struct node_stats {
    std::uint64_t connections = 0;  ///< open now
    std::uint64_t connections_accepted = 0;
    std::uint64_t links = 0;  ///< attached now
    std::uint64_t queues = 0;
    std::uint64_t messages = 0;  ///< in queues and at consumers
    std::uint64_t bytes = 0;     ///< octets of them
    std::uint64_t received = 0;  ///< messages taken in
    std::uint64_t delivered = 0;
    std::uint64_t accepted = 0;  ///< by consumers
    std::uint64_t released = 0;
    std::uint64_t rejected = 0;  ///< by consumers
    std::uint64_t refused = 0;   ///< by this node
    std::uint64_t expired = 0;
    std::uint64_t channels = 0;          ///< there now
    std::uint64_t channel_requests = 0;  ///< that wait: sends, receives, selects
    std::uint64_t channel_values = 0;    ///< waiting, buffered and not acknowledged
    std::uint64_t channel_bytes = 0;     ///< octets of them; count in stored_max
};

struct queue_info {
    std::string name{};
    std::uint64_t length = 0;  ///< messages, those at consumers included
    std::uint64_t ready = 0;   ///< messages that no consumer has
    std::uint64_t bytes = 0;
    std::uint64_t consumers = 0;
    std::uint64_t producers = 0;
};

}  // namespace sluice::node
