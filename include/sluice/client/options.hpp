// Settings of container, connection, session and links: plain structs with defaults. What cannot be
// sent or cannot work is refused at the call that it is given to, before anything goes out:
// error::invalid_argument, with the name of the field and what is wrong.
#pragma once

#include <sluice/audit/finding.hpp>
#include <sluice/codec/messaging.hpp>
#include <sluice/engine/options.hpp>
#include <sluice/net/tcp.hpp>
#include <sluice/net/tls_options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::client {

using std::chrono::milliseconds;

/// As a time-out: wait as long as it takes.
inline constexpr milliseconds no_timeout = milliseconds::max();
inline constexpr milliseconds default_timeout{30'000};

class observer;  // <sluice/client/observer.hpp>
namespace detail {
class transaction_posts;
}

struct container_options {
    std::string id{};         ///< container-id [2.7.1], UTF-8; empty: one made up
    unsigned io_threads = 1;  ///< connections are spread over them; no code of yours runs there
    unsigned handler_threads_max =
        64;  ///< threads for your handlers: few, and more while those are blocked
    /// Handlers without an executor of their own run here instead of on the container's threads.
    std::optional<boost::asio::any_io_executor> handler_executor{};
    /// Called with what a handler on the container's threads throws. Default: one line on standard
    /// error.
    std::function<void(std::exception_ptr)> on_exception{};
    /// Of every connection that has no observer of its own, listeners' included.
    std::shared_ptr<client::observer> observer{};
};

enum class sasl_choice : std::uint8_t {
    automatic,  ///< the strongest that is offered and that there are means for
    none,       ///< no SASL layer
    anonymous,  ///< ANONYMOUS; credentials of the URL are not sent
    plain,
};

/// Whether every octet of a connection, both ways, is held against the standard by
/// sluice::audit::checker, which shares no code with the engine.
enum class audit_mode : std::uint8_t {
    off,
    on,  ///< what it finds is told (on_finding) and counted (connection::audited)
    /// A violation, by whichever side, ends the connection as well: error::audit_violation, with
    /// the finding as its text, and amqp:internal-error for the peer. For tests.
    fatal,
};

/// Coming back by itself after a loss: docs/recovery.md says what comes back and what is
/// guaranteed. Each delay is drawn at random between (1 - jitter) of it and the whole of it, the
/// first one too, so that the clients of a server that has died do not come back all at once.
struct reconnect_options {
    /// Other places to try, in turn after the one given to connect(). Host and port only: options
    /// and credentials are those of the connection.
    std::vector<std::string> urls{};
    milliseconds initial_delay{100};  ///< before the first attempt; the same URL again: `factor`
    double factor = 2;                ///< of the delay with each round over the URLs; 1 at least
    double jitter = 0.5;              ///< 0 to 1: how much of a delay is random
    milliseconds max_delay{30'000};
    unsigned max_attempts = 0;                ///< of one recovery; 0: no limit
    milliseconds give_up_after = no_timeout;  ///< of one recovery
    /// How long the peer is asked to remember links that are away (a terminus whose own time-out is
    /// 0 and whose expiry-policy is not "never"); resuming needs that. 0: not asked for.
    std::chrono::seconds keep_links{120};
};

/// Reaches a peer: called on an I/O thread with its executor; `done` is called once, on that
/// executor, never from within this call. As net::connect_tcp(). One that throws or gives null has
/// failed: error::connect_failed, with what it threw, and it must not call `done` then.
using connector = std::function<std::shared_ptr<net::tcp_connect>(
    boost::asio::any_io_executor on, std::string const& host, std::uint16_t port,
    std::function<void(net::connect_result)> done)>;

struct connection_options {
    std::optional<std::string> user{};      ///< instead of the URL's
    std::optional<std::string> password{};  ///< instead of the URL's
    sasl_choice sasl = sasl_choice::automatic;
    /// With sasl_choice::automatic: the mechanisms that may be used, best first. Empty: EXTERNAL
    /// (if a certificate is shown), SCRAM-SHA-512, -256, -1, OAUTHBEARER, XOAUTH2, PLAIN, as far as
    /// there are means for them, and ANONYMOUS without any.
    std::vector<std::string> sasl_mechanisms{};
    /// Called for a token (OAUTHBEARER, XOAUTH2) at each connect and reconnect, where handlers run,
    /// never on an I/O thread; what it throws ends that attempt (error::sasl_temporary_error).
    std::function<std::string()> token{};
    /// A password or token may go over a connection that is not encrypted to another machine. SCRAM
    /// never sends the password.
    bool allow_plain_unencrypted = false;
    /// Of amqps:// and wss://; the files are read at each connect and reconnect.
    net::tls_client_options tls{};
    std::string hostname{};  ///< in open; empty: the URL's host
    /// How to reach the peer instead of TCP, such as sluice::test's that stays in memory.
    client::connector connector{};
    milliseconds timeout = default_timeout;  ///< of each call on it that expects an answer, connect
                                             ///< included; 0: the default
    std::uint32_t max_frame_size = 65536;    ///< octets; 512 at least [2.7.1]
    std::uint32_t outgoing_frame_max = 65536;  ///< octets; 512 at least
    std::uint16_t channel_max = 255;
    milliseconds idle_timeout{60'000};  ///< silence after which the peer is given up; 0: never
    std::size_t output_buffer_size =
        std::size_t{256} * 1024;  ///< octets encoded ahead of the socket; not 0
    std::size_t input_buffer_size = std::size_t{128} * 1024;  ///< octets; not 0
    bool no_delay = true;
    /// Unset: on in a build of the library with assertions, else off.
    std::optional<audit_mode> audit{};
    /// Called with each finding where handlers run, never by the I/O thread; 64 at most wait for
    /// it. Default: a line on standard error, for the first 20. No finding has credentials in it.
    std::function<void(sluice::audit::finding const&)> on_finding{};
    /// Told what happens on this connection, instead of container_options::observer.
    std::shared_ptr<client::observer> observer{};
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};  ///< an encoded map, or empty
    /// Unset: a lost connection ends everything on it. Set: everything comes back. With it,
    /// connect() tries each URL once.
    std::optional<reconnect_options> reconnect{};
};

struct session_options {
    /// The ids to begin with. Unset: 0; in a build of the library with assertions just below 2^32.
    std::optional<transfer_id> next_outgoing_id{};
    std::optional<delivery_number> next_delivery_id{};
    std::uint32_t incoming_window = 2048;  ///< transfer frames
    std::uint32_t handle_max = 1023;
    std::size_t buffered_bytes_max =
        8u << 20;  ///< octets of deliveries not taken yet, before the window shuts
    /// Of a server: requests for links that the peer has taken back and whose handler has not run;
    /// one more ends the session, amqp:resource-limit-exceeded. docs/bounds.md
    std::uint32_t events_max = 64;
    engine::flow_policy policy = engine::flow_policy::tolerant;
    milliseconds timeout{0};  ///< of calls on it that expect an answer; 0: the connection's
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};
};

/// A source or target. [3.5.3, 3.5.4]
struct terminus {
    std::string address{};  ///< empty: none (the anonymous target), or the peer's choice if dynamic
    bool dynamic = false;
    terminus_durability durable = terminus_durability::none;
    std::string expiry_policy = "session-end";
    std::uint32_t timeout = 0;  ///< seconds
    std::vector<std::string> capabilities{};
    bytes dynamic_node_properties{};  ///< an encoded map, or empty
    // sources only
    std::string distribution_mode{};  ///< "move", "copy" or empty
    /// An encoded map, or empty. A receiver whose peer leaves one of its filters out of the attach,
    /// and so does not apply it [3.5.8], does not open: error::precondition_failed, naming it.
    bytes filter{};
    bytes default_outcome{};              ///< encoded, or empty
    std::vector<std::string> outcomes{};  ///< such as "amqp:accepted:list"; empty: not said
};

struct link_options {
    std::string name{};  ///< empty: one that no other link of this container has
    sender_settle_mode snd_settle_mode = sender_settle_mode::mixed;
    receiver_settle_mode rcv_settle_mode = receiver_settle_mode::first;
    std::uint64_t max_message_size = 0;  ///< octets; 0: no limit
    milliseconds timeout{0};             ///< of calls on it that expect an answer; 0: the session's
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};
};

struct sender_options : link_options {
    terminus source{};
    terminus target{};       ///< its address is set by open_sender(address)
    bytes encoded_target{};  ///< instead of `target`: a coordinator, say
    std::uint32_t outstanding_max =
        1u << 20;  ///< sends without an outcome; one more is error::queue_full
};

struct receiver_options : link_options {
    terminus source{};  ///< its address is set by open_receiver(address)
    terminus target{};
    bytes encoded_target{};  ///< instead of `target`: a coordinator, say
    std::uint32_t credit_window =
        100;  ///< deliveries held and on their way together; 0: credit by hand
    std::uint32_t inbox_max =
        256;  ///< deliveries moved ahead of receive(), not 0; others wait in the session's window
    std::size_t inbox_bytes_max = 1u << 20;  ///< octets of those, more than one delivery
    bool streamed = false;  ///< deliveries come at their first frame and are read in parts
    std::size_t stream_buffer_max = 1u << 20;
};

struct send_options {
    bool settled = false;  ///< pre-settled: completes when its octets are written, with no outcome
    std::uint32_t message_format = 0;
    bytes tag{};    ///< at most 32 octets; empty: one is made
    bytes state{};  ///< an encoded delivery state, such as a transactional-state
    /// From the moment there is credit until the outcome. 0: the link's.
    milliseconds timeout{0};
    /// Of transaction::posting(), for its commit() to wait for.
    std::shared_ptr<detail::transaction_posts> posts{};
};

}  // namespace sluice::client
