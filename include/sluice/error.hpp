// What can go wrong, as one append-only list that every layer uses.
#pragma once

#include <sluice/export.hpp>

#include <string>
#include <system_error>
#include <type_traits>

namespace sluice {

/// Everything that codec, engine and the layers above report. Append-only: values are stable ABI.
///
/// The text of each (`make_error_code(e).message()`) names what was wrong and what to do.
enum class error {
    none = 0,

    // codec [1]
    truncated = 1,                ///< The input ends in the middle of a value.
    unknown_constructor = 2,      ///< A format code that part 1 does not define.
    wrong_type = 3,               ///< A value of another type than the field's.
    missing_mandatory_field = 4,  ///< A mandatory field is null or left out.
    invalid_descriptor = 5,       ///< A described type whose descriptor is not known here.
    too_many_fields = 6,          ///< A list with more elements than its type has fields.
    nested_too_deep = 7,          ///< More levels of nesting than `decode_depth_max`.
    size_mismatch = 8,            ///< A compound's declared size and its elements disagree.
    too_many_elements = 9,        ///< A declared count that the bytes cannot hold.
    invalid_utf8 = 10,            ///< A string that is not UTF-8.
    invalid_value = 11,           ///< A value outside its type's domain (a char, a choice).
    too_large = 12,               ///< The value does not fit the destination.
    trailing_bytes = 13,          ///< Bytes after the end of what was to be decoded.
    invalid_section_order = 14,   ///< Message sections out of order, twice or mixed. [3.2]

    // frames and connection [2]
    invalid_protocol_header = 20,       ///< Neither AMQP 1.0 nor a SASL header. [2.2]
    frame_too_small = 21,               ///< A frame size below 8 or a data offset below 2. [2.3.1]
    frame_too_large = 22,               ///< A frame beyond the max-frame-size that we announced.
    unknown_frame_type = 23,            ///< Neither an AMQP (0) nor a SASL (1) frame.
    frame_out_of_state = 24,            ///< A frame that the endpoint's state does not allow.
    connection_not_open = 25,           ///< The call needs an open connection.
    connection_closed_by_peer = 26,     ///< The peer closed the connection; see its condition.
    connection_lost = 27,               ///< The transport ended without a close frame.
    idle_timeout_expired = 28,          ///< Nothing came from the peer within the time-out. [2.4.5]
    handshake_timeout = 29,             ///< The peer did not open in time.
    channel_max_exceeded = 30,          ///< No free channel below the negotiated channel-max.
    handle_max_exceeded = 31,           ///< No free handle below the peer's handle-max.
    session_not_open = 32,              ///< The call needs a mapped session.
    session_ended_by_peer = 33,         ///< The peer ended the session; see its condition.
    link_not_attached = 34,             ///< The call needs an attached link.
    link_detached_by_peer = 35,         ///< The peer detached the link; see its condition.
    link_refused = 36,                  ///< The peer refused the attach; see its condition.
    link_name_in_use = 37,              ///< A link of that name and role exists in the container.
    unsent_transfer_acknowledged = 38,  ///< The peer's next-incoming-id leads what was sent.
    window_violation = 39,              ///< Frames beyond the window, or an inexact flow. [2.5.6]
    transfer_limit_exceeded = 40,       ///< More deliveries than the credit allows. [2.6.7]
    message_size_exceeded = 41,         ///< Larger than max-message-size. [2.7.3]
    invalid_delivery_id = 42,           ///< A delivery-id or range out of sequence. [2.7.5]
    unattached_handle = 43,             ///< A frame for a handle that is not attached.
    handle_in_use = 44,                 ///< An attach for a handle that is in use.
    no_credit = 45,                     ///< A try-send found no credit.
    delivery_aborted = 46,              ///< The delivery was aborted before it was complete.
    body_source_failed = 47,            ///< The body source failed; the delivery was aborted.
    invalid_state = 48,                 ///< The call does not fit the object's state or role.
    invalid_argument = 49,              ///< An argument outside its documented range.
    resource_limit_exceeded = 50,       ///< A limit named `..._max` was reached.
    already_settled = 51,  ///< The delivery is settled; nothing more can be said of it.

    // SASL [5]
    sasl_no_common_mechanism = 60,  ///< The peer offers none of the mechanisms we may use.
    sasl_auth_failed = 61,          ///< The peer refused the credentials (outcome auth).
    sasl_system_error = 62,         ///< The peer failed while authenticating (outcome sys…).
    sasl_required = 63,             ///< The peer demands a SASL layer.
    sasl_temporary_error = 64,      ///< The same for a while (outcome sys-temp).
    sasl_server_not_proven = 65,    ///< The peer does not prove that it knows the password.
    sasl_unencrypted = 66,          ///< Only mechanisms that would send a secret readable.

    // net and client
    invalid_url = 70,          ///< The URL cannot be read; the text says where.
    resolve_failed = 71,       ///< The host name does not resolve.
    connect_failed = 72,       ///< Nothing accepts connections there.
    timed_out = 73,            ///< The deadline passed before the answer came.
    operation_aborted = 74,    ///< Cancelled by the caller or by the object's end.
    outcome_unknown = 75,      ///< Sent whole, but its outcome will not be learnt.
    closed_locally = 76,       ///< This side closed the object.
    rejected = 77,             ///< The peer rejected the message; see its condition.
    released = 78,             ///< The peer released the message: not and never accepted.
    modified = 79,             ///< The peer modified the message: not accepted, may be resent.
    stale_delivery = 80,       ///< The delivery belongs to a link that is gone.
    inbox_overflow = 81,       ///< The user did not take events in time; the session ended.
    queue_full = 82,           ///< A bounded queue has no room; try again later.
    listen_failed = 83,        ///< The address cannot be listened on; the text says why.
    not_found = 84,            ///< There is nothing of that name.
    precondition_failed = 85,  ///< What is there differs from what was asked for.
    audit_violation = 86,      ///< The connection's own auditor found a breach of the standard.
    transaction_rolled_back =
        87,                     ///< Nothing of the transaction was done; see the condition. [4.5]
    transaction_in_doubt = 88,  ///< The commit was not answered: done or rolled back.

    // TLS and WebSocket
    tls_setup_failed = 100,   ///< A certificate, key or list of CAs cannot be used; see the text.
    tls_verify_failed = 101,  ///< The peer's certificate failed a check; the text says which.
    tls_refused = 102,        ///< The peer ended TLS with an alert, over a certificate as a rule.
    tls_handshake_failed = 103,  ///< No TLS with this peer: it speaks none, or an old one.
    websocket_failed = 104,      ///< The peer did not agree to AMQP over WebSocket.
};

/// The category named "sluice".
SLUICE_EXPORT std::error_category const& sluice_category() noexcept;

inline std::error_code make_error_code(error e) noexcept
{
    return {static_cast<int>(e), sluice_category()};
}

}  // namespace sluice

template <>
struct std::is_error_code_enum<sluice::error> : std::true_type {};
