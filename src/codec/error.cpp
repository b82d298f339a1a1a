// The texts of the errors: what was wrong, and what to do.
#include <sluice/error.hpp>

namespace sluice {
namespace {

char const* codec_text(error e) noexcept
{
    switch (e) {
    case error::truncated:
        return "the input ends in the middle of a value; wait for the rest, or check the size that "
               "the sender declared";
    case error::unknown_constructor:
        return "an unknown format code where a value should begin; the sender does not write AMQP "
               "1.0 here";
    case error::wrong_type:
        return "a value of another type than this place takes; the sender has to encode it as the "
               "standard's type";
    case error::missing_mandatory_field:
        return "a mandatory field is null or left out; the sender has to set it";
    case error::invalid_descriptor:
        return "a described type that is not expected here; the sender has to send one that the "
               "standard names for this place";
    case error::too_many_fields:
        return "a list with more elements than its type has fields; the sender follows another "
               "version of the standard";
    case error::nested_too_deep:
        return "values nested deeper than decode_depth_max (32); flatten the data";
    case error::size_mismatch:
        return "the declared size of a list, map or array and its elements disagree; the sender's "
               "encoder is at fault";
    case error::too_many_elements:
        return "a declared count that the bytes present cannot hold; the sender's encoder is at "
               "fault";
    case error::invalid_utf8: return "a string that is not UTF-8; send other data as binary";
    case error::invalid_value:
        return "a value outside the domain of its type; see the standard for the values allowed "
               "here";
    case error::too_large:
        return "a value too large for its destination; use a wider type or a smaller value";
    case error::trailing_bytes:
        return "bytes after the end of the value; pass exactly one value, or decode the rest as "
               "well";
    case error::invalid_section_order:
        return "message sections out of order, twice, or bodies of several kinds; the order is "
               "header, annotations, properties, one kind of body, footer";
    default: return nullptr;
    }
}

char const* frame_text(error e) noexcept
{
    switch (e) {
    case error::invalid_protocol_header:
        return "the peer answered with neither an AMQP 1.0 nor a SASL protocol header; check the "
               "port, and whether it speaks TLS or another version";
    case error::frame_too_small:
        return "a frame size below 8 or a data offset outside the frame; the peer's framing is "
               "broken, reconnect";
    case error::frame_too_large:
        return "a frame larger than the max-frame-size announced to the peer; the peer has to "
               "split it, or announce more";
    case error::unknown_frame_type:
        return "a frame of a type other than AMQP (0) and SASL (1); the peer has to send one of "
               "these";
    case error::frame_out_of_state:
        return "the peer sent a frame that is not allowed in this state; the peer is at fault, "
               "reconnect";
    case error::connection_not_open: return "the connection is not open; open it first";
    case error::connection_closed_by_peer:
        return "the peer closed the connection; its condition says why";
    case error::connection_lost:
        return "the connection ended without a close frame; check the network and the peer, then "
               "reconnect";
    case error::idle_timeout_expired:
        return "nothing came from the peer within the idle time-out; check the network, or allow a "
               "longer one";
    case error::handshake_timeout:
        return "the peer did not answer the handshake in time; check that it speaks AMQP 1.0, or "
               "allow more time";
    case error::channel_max_exceeded:
        return "no channel is free below the negotiated channel-max; end a session or open another "
               "connection";
    case error::handle_max_exceeded:
        return "no handle is free below the peer's handle-max; detach a link or begin another "
               "session";
    default: return nullptr;
    }
}

char const* endpoint_text(error e) noexcept
{
    switch (e) {
    case error::session_not_open: return "the session is not open; begin one first";
    case error::session_ended_by_peer: return "the peer ended the session; its condition says why";
    case error::link_not_attached: return "the link is not attached; attach it first";
    case error::link_detached_by_peer: return "the peer detached the link; its condition says why";
    case error::link_refused:
        return "the peer refused the link; check the address and the rights, its condition says "
               "why";
    case error::link_name_in_use:
        return "a link of this name and role exists already; choose another name or close that "
               "one";
    case error::unsent_transfer_acknowledged:
        return "the peer's next-incoming-id is ahead of what was sent; the peer miscounts";
    case error::window_violation:
        return "the peer sent beyond the session's window, or a flow with an inexact "
               "next-outgoing-id; the peer miscounts";
    case error::transfer_limit_exceeded:
        return "more deliveries than the link's credit allows; the sender has to wait for credit";
    case error::message_size_exceeded:
        return "the message is larger than the link's max-message-size; send less or agree on a "
               "larger size";
    case error::invalid_delivery_id:
        return "a delivery-id, or a range of them, out of sequence; the peer miscounts";
    case error::unattached_handle:
        return "a frame for a handle that no link is attached to; the peer has to attach first";
    case error::handle_in_use:
        return "an attach for a handle that is in use; the peer has to choose a free one";
    case error::no_credit:
        return "the receiver has granted no credit; try later, or use the send that waits";
    case error::delivery_aborted:
        return "the sender gave the delivery up before it was complete; nothing was delivered";
    case error::body_source_failed:
        return "the source of the body failed, so the delivery was aborted; send it again";
    case error::invalid_state:
        return "the call does not fit the object's state or role; see its documentation";
    case error::invalid_argument:
        return "an argument outside its documented range; see the function's documentation";
    case error::resource_limit_exceeded:
        return "a configured limit was reached; raise that limit or use less";
    case error::already_settled: return "the delivery is settled; its outcome cannot change";
    default: return nullptr;
    }
}

char const* upper_text(error e) noexcept
{
    switch (e) {
    case error::sasl_no_common_mechanism:
        return "the peer offers no SASL mechanism that may be used here; give credentials, or "
               "enable a mechanism on the peer";
    case error::sasl_auth_failed:
        return "the peer refused the credentials; check user name and password";
    case error::sasl_system_error:
        return "the peer could not check the credentials; try later or see its log";
    case error::sasl_required:
        return "the peer demands a SASL layer; connect with SASL (ANONYMOUS if there is no user)";
    case error::sasl_temporary_error:
        return "the peer cannot check credentials for the moment; try again later";
    case error::sasl_server_not_proven:
        return "the peer did not prove that it knows the password; it may be somebody else, so "
               "nothing more was sent to it";
    case error::sasl_unencrypted:
        return "a password or token would go over the network readable; use amqps://, or allow it "
               "with allow_plain_unencrypted";
    case error::invalid_url: return "the URL cannot be read; write amqp://user:password@host:port/";
    case error::resolve_failed:
        return "the host name does not resolve; check its spelling and the name service";
    case error::connect_failed:
        return "nothing accepts connections there; check host and port, and that the peer runs";
    case error::timed_out:
        return "no answer came before the deadline; try again or allow more time";
    case error::operation_aborted: return "cancelled by the caller, or because its object ended";
    case error::outcome_unknown:
        return "the message was sent, but its outcome was lost; it may or may not have arrived, "
               "resend if duplicates do no harm";
    case error::closed_locally: return "closed by this side; open a new one";
    case error::rejected:
        return "the peer rejected the message; its condition says why, do not resend it unchanged";
    case error::released: return "the peer released the message unprocessed; it may be sent again";
    case error::modified: return "the peer did not accept the message; it may be sent again";
    case error::stale_delivery:
        return "the delivery belongs to a link that is gone; the peer will deliver it again";
    case error::inbox_overflow:
        return "events were not taken in time, so the session was ended; poll more often or allow "
               "more events";
    case error::queue_full: return "a bounded queue is full; try again later";
    case error::not_found:
        return "there is nothing of that name; check it, or create what it names first";
    case error::precondition_failed:
        return "it exists with other settings; use those, or delete it first";
    case error::audit_violation:
        return "the connection's auditor found a breach of the standard; its text says which";
    case error::transaction_rolled_back:
        return "nothing of the transaction was done; its condition says why, do it again";
    case error::transaction_in_doubt:
        return "the commit was not answered; look at the peer whether it was done";
    case error::listen_failed:
        return "the address cannot be listened on; is the port in use already?";
    default: return nullptr;
    }
}

char const* security_text(error e) noexcept
{
    switch (e) {
    case error::tls_setup_failed:
        return "a certificate, key or list of CAs cannot be used; check the file and that it is "
               "PEM";
    case error::tls_verify_failed:
        return "the peer's certificate failed a check; trust its CA, connect by a name that it "
               "has, or let the peer get a valid one";
    case error::tls_refused:
        return "the peer refused TLS with this side; check the certificate that it wants, and its "
               "log";
    case error::tls_handshake_failed:
        return "no TLS with this peer; check that it speaks TLS 1.2 or 1.3 on this port";
    case error::websocket_failed:
        return "the peer did not agree to AMQP over WebSocket; check port and path";
    default: return nullptr;
    }
}

class category final : public std::error_category {
public:
    char const* name() const noexcept override { return "sluice"; }

    std::string message(int value) const override
    {
        if (value == 0)
            return "no error";
        auto const e = static_cast<error>(value);
        for (auto const text : {codec_text, frame_text, endpoint_text, upper_text, security_text})
            if (auto const* const found = text(e))
                return found;
        return "unknown sluice error " + std::to_string(value) + "; use matching library versions";
    }
};

}  // namespace

std::error_category const& sluice_category() noexcept
{
    static category const instance;
    return instance;
}

}  // namespace sluice
