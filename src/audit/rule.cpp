// The table of rules.
#include <sluice/audit/rule.hpp>

#include <array>

namespace sluice::audit {
namespace {

constexpr auto violation = severity::violation;
constexpr auto suspicious = severity::suspicious;

constexpr std::array table{
    rule_info{rule::protocol_header, "protocol-header", "2.2", violation,
              "each side starts with a protocol header"},
    rule_info{rule::header_mismatch, "header-mismatch", "2.2", violation,
              "a server that answers with another header closes the connection"},
    rule_info{rule::frame_size, "frame-size", "2.7.1", violation,
              "no frame is larger than the other side takes"},
    rule_info{rule::frame_size_early, "frame-size-early", "2.4.1", suspicious,
              "before the other side's open 512 octets are what it is known to take"},
    rule_info{rule::data_offset, "data-offset", "2.3.1", violation,
              "size and data offset fit the frame"},
    rule_info{rule::frame_type, "frame-type", "2.3.1", violation,
              "the frame type is the one of the phase, AMQP or SASL"},
    rule_info{rule::decode_error, "decode-error", "1.4", violation,
              "fields have their type, and mandatory ones are there"},
    rule_info{rule::unexpected_payload, "unexpected-payload", "2.3.2", violation,
              "only a transfer has a payload"},
    rule_info{rule::truncated_stream, "truncated-stream", "2.3.1", violation,
              "the bytes end with a whole frame"},
    rule_info{rule::sasl_order, "sasl-order", "5.3.2", violation,
              "SASL frames come from the right side and in order"},
    rule_info{rule::sasl_order_early, "sasl-order-early", "5.3.2", suspicious,
              "a client waits for the mechanisms and the outcome"},
    rule_info{rule::sasl_frame_size, "sasl-frame-size", "5.3.1", violation,
              "a SASL frame has 512 octets at most"},
    rule_info{rule::sasl_mechanism, "sasl-mechanism", "5.3.3.2", violation,
              "the mechanism is one of those offered"},
    rule_info{rule::sasl_outcome, "sasl-outcome", "5.3.3.6", violation,
              "nothing follows an outcome other than ok"},
    rule_info{rule::frame_before_open, "frame-before-open", "2.4.1", violation,
              "open is the first frame"},
    rule_info{rule::open_twice, "open-twice", "2.4.1", violation, "open is sent once"},
    rule_info{rule::open_channel, "open-channel", "2.4.1", violation, "open goes on channel 0"},
    rule_info{rule::open_max_frame_size, "open-max-frame-size", "2.7.1", violation,
              "every peer takes frames of 512 octets"},
    rule_info{rule::frame_after_close, "frame-after-close", "2.4.3", violation,
              "close is the last thing written"},
    rule_info{rule::channel_max, "channel-max", "2.7.1", violation,
              "no channel is beyond the other side's channel-max"},
    rule_info{rule::idle_time_out, "idle-time-out", "2.4.5", violation,
              "something is sent within the other side's idle-time-out"},
    rule_info{rule::channel_in_use, "channel-in-use", "2.5.1", violation,
              "begin goes on a channel that is free"},
    rule_info{rule::channel_unmapped, "channel-unmapped", "2.5.5", violation,
              "a session's frames stand between its begin and its end"},
    rule_info{rule::begin_remote_channel, "begin-remote-channel", "2.7.2", violation,
              "remote-channel names a begin that waits for its answer"},
    rule_info{rule::next_outgoing_id, "next-outgoing-id", "2.5.6", violation,
              "next-outgoing-id is the first one plus the transfer frames sent"},
    rule_info{rule::next_incoming_id_early, "next-incoming-id-early", "2.7.4", violation,
              "next-incoming-id is absent before the other side's begin"},
    rule_info{rule::next_incoming_id_missing, "next-incoming-id-missing", "2.7.4", violation,
              "next-incoming-id is there once the other side's begin has come"},
    rule_info{rule::next_incoming_id_ahead, "next-incoming-id-ahead", "2.5.6", violation,
              "next-incoming-id counts what was sent"},
    rule_info{rule::next_incoming_id_back, "next-incoming-id-back", "2.5.6", violation,
              "next-incoming-id never goes back"},
    rule_info{rule::session_window, "session-window", "2.5.6", violation,
              "transfer frames stay within the other side's incoming-window"},
    rule_info{rule::echo_unanswered, "echo-unanswered", "2.7.4", suspicious,
              "an echo is answered by a flow"},
    rule_info{rule::handle_in_use, "handle-in-use", "2.7.3", violation,
              "attach takes a handle that is free"},
    rule_info{rule::handle_unattached, "handle-unattached", "2.6.2", violation,
              "a link's frames stand between its attach and its detach"},
    rule_info{rule::handle_max, "handle-max", "2.7.2", violation,
              "no handle is beyond the other side's handle-max"},
    rule_info{rule::link_name_in_use, "link-name-in-use", "2.6.1", violation,
              "a name and a direction make one link of a session"},
    rule_info{rule::link_name_reused, "link-name-reused", "2.6.1", suspicious,
              "a link that is attached again elsewhere is stolen from where it was"},
    rule_info{rule::initial_delivery_count, "initial-delivery-count", "2.7.3", violation,
              "a sender's attach has an initial-delivery-count"},
    rule_info{rule::flow_link_field, "flow-link-field", "2.7.4", violation,
              "a flow without a handle has no link fields"},
    rule_info{rule::delivery_count, "delivery-count", "2.6.7", violation,
              "a sender's delivery-count is the first one plus the deliveries sent or drained"},
    rule_info{rule::delivery_count_early, "delivery-count-early", "2.7.4", violation,
              "a receiver's delivery-count is absent before the sender's attach"},
    rule_info{rule::delivery_count_missing, "delivery-count-missing", "2.7.4", violation,
              "delivery-count is there once it is known"},
    rule_info{rule::delivery_count_ahead, "delivery-count-ahead", "2.6.7", violation,
              "a receiver's delivery-count counts what was sent"},
    rule_info{rule::delivery_count_back, "delivery-count-back", "2.6.7", violation,
              "a receiver's delivery-count never goes back"},
    rule_info{rule::link_credit, "link-credit", "2.6.7", violation,
              "deliveries stay within the receiver's credit"},
    rule_info{rule::drain_unanswered, "drain-unanswered", "2.6.7", suspicious,
              "a drain uses up the credit"},
    rule_info{rule::message_size, "message-size", "2.7.3", violation,
              "no message is larger than the receiver's max-message-size"},
    rule_info{rule::transfer_role, "transfer-role", "2.6", violation,
              "only a link's sender sends transfers"},
    rule_info{rule::delivery_id_missing, "delivery-id-missing", "2.7.5", violation,
              "a delivery's first frame has a delivery-id"},
    rule_info{rule::delivery_id_order, "delivery-id-order", "2.8.8", violation,
              "delivery-ids never go back"},
    rule_info{rule::delivery_id_gap, "delivery-id-gap", "2.6", violation,
              "delivery-ids are a sequence of the session"},
    rule_info{rule::delivery_tag_missing, "delivery-tag-missing", "2.7.5", violation,
              "a delivery's first frame has a delivery-tag"},
    rule_info{rule::message_format_missing, "message-format-missing", "2.7.5", violation,
              "the first frame of several has a message-format"},
    rule_info{rule::continuation_delivery_id, "continuation-delivery-id", "2.7.5", violation,
              "a continuation's delivery-id is its delivery's"},
    rule_info{rule::continuation_delivery_tag, "continuation-delivery-tag", "2.7.5", violation,
              "a continuation's delivery-tag is its delivery's"},
    rule_info{rule::continuation_message_format, "continuation-message-format", "2.7.5", violation,
              "a continuation's message-format is its delivery's"},
    rule_info{rule::delivery_interleaved, "delivery-interleaved", "2.6.14", violation,
              "a link's deliveries do not interleave"},
    rule_info{rule::delivery_unfinished, "delivery-unfinished", "2.6.14", suspicious,
              "a delivery is finished or aborted before its link detaches"},
    rule_info{rule::abort_nothing, "abort-nothing", "2.6.14", suspicious,
              "an abort ends a delivery that has begun"},
    rule_info{rule::resume_unknown, "resume-unknown", "2.7.5", violation,
              "what is resumed was in the sender's unsettled map"},
    rule_info{rule::sender_settle_mode, "sender-settle-mode", "2.7.5", violation,
              "deliveries are settled as the link's snd-settle-mode says"},
    rule_info{rule::receiver_settle_mode, "receiver-settle-mode", "2.7.5", violation,
              "a transfer does not ask for mode second where the link has first"},
    rule_info{rule::receiver_settled_first, "receiver-settled-first", "2.8.3", violation,
              "in mode second the receiver settles after the sender"},
    rule_info{rule::disposition_range, "disposition-range", "2.7.6", violation,
              "a range's last is not before its first"},
    rule_info{rule::disposition_unsent, "disposition-unsent", "2.7.6", violation,
              "a disposition names deliveries that were sent"},
    rule_info{rule::disposition_beyond, "disposition-beyond", "2.7.6", suspicious,
              "a range ends with a delivery that was sent"},
    rule_info{rule::disposition_nothing, "disposition-nothing", "2.6.12", suspicious,
              "a disposition names a delivery that somebody has not settled"},
};

static_assert(table.size() == rule_count);
static_assert([] {
    for (std::size_t i = 0; i != table.size(); ++i)
        if (static_cast<std::size_t>(table[i].rule) != i)
            return false;
    return true;
}());

}  // namespace

std::span<rule_info const> rules() noexcept { return table; }

rule_info const& info(rule r) noexcept { return table[static_cast<std::size_t>(r)]; }

std::string_view name(severity s) noexcept
{
    return s == severity::violation ? "violation" : "suspicious";
}

}  // namespace sluice::audit
