// What the two halves of remote channels say to each other: requests of a client to the node, and
// the node's replies. Each is one message whose body is an amqp-value with a list, named by its
// first field. docs/channel-protocol.md is the specification.
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::channel_protocol {

/// Both links of a port attach here: the requests' target and the replies' source. They belong
/// together by having the same link name on the same connection.
inline constexpr std::string_view address = "$channels";

/// Which request an answer is for. The client counts them from 1, never twice on one port.
using request_id = std::uint64_t;
/// A channel's incarnation: a channel that was destroyed and made anew has another one.
using channel_id = std::uint64_t;
/// A value that was delivered and is not acknowledged; counted from 1 on each port.
using token = std::uint64_t;
/// Chosen by the client at random; outlives a lost connection.
using handle_id = std::array<std::byte, 16>;

/// Limits of one message; more is error::too_many_elements.
inline constexpr std::size_t cases_max = 1'024;   // of a select
inline constexpr std::size_t ranges_max = 4'096;  // of an ack, a pickup, an accepted

enum class guarantee : std::uint8_t { at_least_once, at_most_once };

struct channel_options {
    std::uint32_t capacity = 0;
    std::string codec{};  // its name; both sides have to have the same
    guarantee delivery = guarantee::at_least_once;
    std::uint32_t visibility_timeout_ms = 30'000;  // 0: none
    std::uint32_t tries_max = 10;                  // 0: no limit
    std::string dead_letter{};                     // a queue; empty: what is given up is dropped
    friend bool operator==(channel_options const&, channel_options const&) = default;
};

// ---- requests

/// Answered by `opened` or `done`.
struct open {
    request_id id = 0;
    std::string name{};
    handle_id handle{};
    bool create = true;       // false: only if it is there
    channel_id expected = 0;  // not 0: only this incarnation (`create` is false then)
    channel_options options{};
};

struct recv_case {
    channel_id channel = 0;
    std::uint32_t max = 1;  // values: waits for one, takes up to so many that are there
    handle_id handle{};     // whose it is, so that it ends with it; all 0: nobody's in particular
};

struct send_case {
    channel_id channel = 0;
    handle_id handle{};
    std::uint64_t sequence = 0;  // counted by the handle: a repeated one is answered, not repeated
    bytes_view octets{};         // the value; refers to the message that was decoded
};

using select_case = std::variant<recv_case, send_case>;

/// Everything that waits is one: a send, a receive, or several of which the node picks one.
/// Answered by `done`, `accepted` or `value`s.
struct select {
    request_id id = 0;
    bool otherwise = false;  // do not wait
    std::vector<select_case> cases{};
};

/// The request is answered as usual, with `withdrawn` if nothing has come of it.
struct cancel {
    request_id id = 0;
};

/// First and last of ranges of tokens that the application is done with.
struct ack {
    std::vector<std::pair<token, token>> ranges{};
};

/// The receiver's client has the value, before the application works on it: a send at capacity 0
/// is done.
struct pickup {
    std::vector<std::pair<token, token>> ranges{};
};

enum class verdict : std::uint8_t { accepted, released, failed, rejected };

/// What became of one value. Answered by `done`: ok or expired.
struct settle {
    request_id id = 0;  // 0: no answer wanted
    channel_protocol::token token = 0;
    channel_protocol::verdict verdict = verdict::accepted;
    std::string reason{};  // of `rejected`, for the dead letter
};

enum class ending : std::uint8_t { close, destroy, stop };

/// Closes the channel for everyone, destroys it, or ends one handle. Answered by `done`.
struct end {
    request_id id = 0;
    ending how = ending::close;
    channel_id channel = 0;
    handle_id handle{};
};

/// Answered by `state`.
struct stat {
    request_id id = 0;
    channel_id channel = 0;
};

using request = std::variant<open, select, cancel, ack, pickup, settle, end, stat>;

// ---- replies

struct opened {
    request_id id = 0;
    channel_id channel = 0;
    std::array<std::byte, 16>
        node{};                 // another one after the node's restart: its channels are gone
    channel_options options{};  // those in force
};

enum class status : std::uint8_t {
    ok,         // a send was accepted; a verdict, a close was carried out
    otherwise,  // nothing was ready
    withdrawn,  // cancelled in time
    closed,     // receive: closed and drained. send: closed
    destroyed,
    stopped,
    expired,   // the value went back before
    mismatch,  // other options than the channel has; `text` has both
    not_found,
    not_allowed,  // permissions
    limit,        // `text` says which
    malformed,    // `text` says what
};

struct done {
    request_id id = 0;
    std::uint32_t index = 0;  // which case
    channel_protocol::status status = status::ok;
    std::string text{};
};

/// First and last of ranges of requests, each with one send case, that are done: status ok.
struct accepted {
    std::vector<std::pair<request_id, request_id>> ranges{};
};

struct delivered {
    request_id id = 0;
    std::uint32_t index = 0;
    channel_protocol::token token = 0;  // 0: nothing to acknowledge (at most once)
    std::uint32_t tries = 0;            // earlier ones
    bool wants_pickup = false;          // a sender waits for it
    bool more = false;                  // further values of the same request follow
    bytes_view octets{};
};

struct state {
    request_id id = 0;
    std::uint64_t size = 0;  // buffered, and delivered without acknowledgement
    std::uint64_t buffered = 0;
    std::uint64_t unacknowledged = 0;
    std::uint64_t waiting_senders = 0;
    std::uint64_t waiting_receivers = 0;
    std::uint64_t handles = 0;
    bool closed = false;
    channel_options options{};
};

using reply = std::variant<opened, done, accepted, delivered, state>;

/// Appends the whole message to `out`, in its one canonical form.
/// @pre a select has at most `cases_max` cases, the others at most `ranges_max` ranges.
SLUICE_EXPORT void encode(bytes& out, request const& r);
SLUICE_EXPORT void encode(bytes& out, reply const& r);

/// Views in `out` refer to `message`. On failure `out` is unspecified, and `fault` says which field
/// of what and what is wrong with it: "select.cases[1].sequence: ...".
/// @returns a codec error of error.hpp: invalid_value for an unknown kind of message, a choice that
///     is none, an empty `max`, a range whose last is before its first; too_many_elements beyond
///     the limits above; missing_mandatory_field, wrong_type, too_many_fields, truncated and so on.
SLUICE_EXPORT std::error_code decode(bytes_view message, request& out, std::string& fault);
SLUICE_EXPORT std::error_code decode(bytes_view message, reply& out, std::string& fault);

}  // namespace sluice::channel_protocol
