// The rules that the checker knows: a stable short name, a section of the standard, how grave.
#pragma once

#include <sluice/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::audit {

/// How grave a finding is.
enum class severity : std::uint8_t {
    violation,   ///< the standard forbids it, whatever was on its way at that moment
    suspicious,  ///< allowed, but dangerous: an echo that is never answered
};

/// What was checked. Names are stable; `info` gives them, with the section.
enum class rule : std::uint8_t {
    // headers, frames, types [2.2, 2.3]
    protocol_header,
    header_mismatch,
    frame_size,
    frame_size_early,
    data_offset,
    frame_type,
    decode_error,
    unexpected_payload,
    truncated_stream,
    // SASL [5.3]
    sasl_order,
    sasl_order_early,
    sasl_frame_size,
    sasl_mechanism,
    sasl_outcome,
    // connection [2.4]
    frame_before_open,
    open_twice,
    open_channel,
    open_max_frame_size,
    frame_after_close,
    channel_max,
    idle_time_out,
    // session [2.5]
    channel_in_use,
    channel_unmapped,
    begin_remote_channel,
    next_outgoing_id,
    next_incoming_id_early,
    next_incoming_id_missing,
    next_incoming_id_ahead,
    next_incoming_id_back,
    session_window,
    echo_unanswered,
    // link [2.6]
    handle_in_use,
    handle_unattached,
    handle_max,
    link_name_in_use,
    link_name_reused,
    initial_delivery_count,
    flow_link_field,
    delivery_count,
    delivery_count_early,
    delivery_count_missing,
    delivery_count_ahead,
    delivery_count_back,
    link_credit,
    drain_unanswered,
    message_size,
    // delivery [2.6.12 - 2.6.14, 2.7.5, 2.7.6]
    transfer_role,
    delivery_id_missing,
    delivery_id_order,
    delivery_id_gap,
    delivery_tag_missing,
    message_format_missing,
    continuation_delivery_id,
    continuation_delivery_tag,
    continuation_message_format,
    delivery_interleaved,
    delivery_unfinished,
    abort_nothing,
    resume_unknown,
    sender_settle_mode,
    receiver_settle_mode,
    receiver_settled_first,
    disposition_range,
    disposition_unsent,
    disposition_beyond,
    disposition_nothing,
    count_,
};

inline constexpr std::size_t rule_count = static_cast<std::size_t>(rule::count_);

struct rule_info {
    audit::rule rule = rule::count_;
    std::string_view name;     ///< such as "next-outgoing-id"; stable
    std::string_view section;  ///< such as "2.5.6"
    audit::severity severity = severity::violation;
    std::string_view says;  ///< what the rule asks for, in one sentence
};

/// All rules, in the order of the enumeration.
SLUICE_EXPORT std::span<rule_info const> rules() noexcept;

/// @pre `r` is a rule.
SLUICE_EXPORT rule_info const& info(rule r) noexcept;

/// "violation" or "suspicious".
SLUICE_EXPORT std::string_view name(severity s) noexcept;

}  // namespace sluice::audit
