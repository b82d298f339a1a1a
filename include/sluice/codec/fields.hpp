// The fields of every composite type, once, as constexpr lists: encoding, decoding, sizes and the
// test against the machine-readable standard all run on them. [1.4]
#pragma once

#include <sluice/codec/messaging.hpp>
#include <sluice/codec/performatives.hpp>
#include <sluice/codec/transactions.hpp>

#include <tuple>

namespace sluice {

/// One field: where the struct keeps it, and what the standard says of it.
///
/// The value of a default is what the struct's member is initialised with; `default_text` is how
/// the standard writes it.
template <class Composite, class Member>
struct field {
    using member_type = Member;

    Member Composite::*member;
    std::string_view name;
    std::string_view type;  ///< the standard's, such as "delivery-number"
    bool mandatory = false;
    bool multiple = false;
    std::string_view default_text = {};

    constexpr field is_mandatory() const noexcept
    {
        auto copy = *this;
        copy.mandatory = true;
        return copy;
    }
    constexpr field is_multiple() const noexcept
    {
        auto copy = *this;
        copy.multiple = true;
        return copy;
    }
    constexpr field by_default(std::string_view text) const noexcept
    {
        auto copy = *this;
        copy.default_text = text;
        return copy;
    }
};
template <class Composite, class Member>
field(Member Composite::*, char const*, char const*) -> field<Composite, Member>;

/// `descriptor`, `name` (the symbolic descriptor) and `fields` (a tuple of `field`) of each
/// composite; specialised below.
template <class Composite>
struct composite_traits;

// A macro, for each of them is the same struct with another name, number and list.
#define SLUICE_FIELDS(T, code, symbolic, ...)                              \
    template <>                                                            \
    struct composite_traits<T> {                                           \
        static constexpr std::uint64_t descriptor = code;                  \
        static constexpr std::string_view name = "amqp:" symbolic ":list"; \
        static constexpr std::string_view short_name = symbolic;           \
        static constexpr auto fields = std::tuple{__VA_ARGS__};            \
    };

SLUICE_FIELDS(open, 0x10, "open",
              field{&open::container_id, "container-id", "string"}.is_mandatory(),
              field{&open::hostname, "hostname", "string"},
              field{&open::max_frame_size, "max-frame-size", "uint"}.by_default("4294967295"),
              field{&open::channel_max, "channel-max", "ushort"}.by_default("65535"),
              field{&open::idle_time_out, "idle-time-out", "milliseconds"},
              field{&open::outgoing_locales, "outgoing-locales", "ietf-language-tag"}.is_multiple(),
              field{&open::incoming_locales, "incoming-locales", "ietf-language-tag"}.is_multiple(),
              field{&open::offered_capabilities, "offered-capabilities", "symbol"}.is_multiple(),
              field{&open::desired_capabilities, "desired-capabilities", "symbol"}.is_multiple(),
              field{&open::properties, "properties", "fields"})

SLUICE_FIELDS(begin, 0x11, "begin", field{&begin::remote_channel, "remote-channel", "ushort"},
              field{&begin::next_outgoing_id, "next-outgoing-id", "transfer-number"}.is_mandatory(),
              field{&begin::incoming_window, "incoming-window", "uint"}.is_mandatory(),
              field{&begin::outgoing_window, "outgoing-window", "uint"}.is_mandatory(),
              field{&begin::handle_max, "handle-max", "handle"}.by_default("4294967295"),
              field{&begin::offered_capabilities, "offered-capabilities", "symbol"}.is_multiple(),
              field{&begin::desired_capabilities, "desired-capabilities", "symbol"}.is_multiple(),
              field{&begin::properties, "properties", "fields"})

SLUICE_FIELDS(
    attach, 0x12, "attach", field{&attach::name, "name", "string"}.is_mandatory(),
    field{&attach::handle, "handle", "handle"}.is_mandatory(),
    field{&attach::role, "role", "role"}.is_mandatory(),
    field{&attach::snd_settle_mode, "snd-settle-mode", "sender-settle-mode"}.by_default("mixed"),
    field{&attach::rcv_settle_mode, "rcv-settle-mode", "receiver-settle-mode"}.by_default("first"),
    field{&attach::source, "source", "*"}, field{&attach::target, "target", "*"},
    field{&attach::unsettled, "unsettled", "map"},
    field{&attach::incomplete_unsettled, "incomplete-unsettled", "boolean"}.by_default("false"),
    field{&attach::initial_delivery_count, "initial-delivery-count", "sequence-no"},
    field{&attach::max_message_size, "max-message-size", "ulong"},
    field{&attach::offered_capabilities, "offered-capabilities", "symbol"}.is_multiple(),
    field{&attach::desired_capabilities, "desired-capabilities", "symbol"}.is_multiple(),
    field{&attach::properties, "properties", "fields"})

SLUICE_FIELDS(flow, 0x13, "flow",
              field{&flow::next_incoming_id, "next-incoming-id", "transfer-number"},
              field{&flow::incoming_window, "incoming-window", "uint"}.is_mandatory(),
              field{&flow::next_outgoing_id, "next-outgoing-id", "transfer-number"}.is_mandatory(),
              field{&flow::outgoing_window, "outgoing-window", "uint"}.is_mandatory(),
              field{&flow::handle, "handle", "handle"},
              field{&flow::delivery_count, "delivery-count", "sequence-no"},
              field{&flow::link_credit, "link-credit", "uint"},
              field{&flow::available, "available", "uint"},
              field{&flow::drain, "drain", "boolean"}.by_default("false"),
              field{&flow::echo, "echo", "boolean"}.by_default("false"),
              field{&flow::properties, "properties", "fields"})

SLUICE_FIELDS(transfer, 0x14, "transfer",
              field{&transfer::handle, "handle", "handle"}.is_mandatory(),
              field{&transfer::delivery_id, "delivery-id", "delivery-number"},
              field{&transfer::delivery_tag, "delivery-tag", "delivery-tag"},
              field{&transfer::message_format, "message-format", "message-format"},
              field{&transfer::settled, "settled", "boolean"},
              field{&transfer::more, "more", "boolean"}.by_default("false"),
              field{&transfer::rcv_settle_mode, "rcv-settle-mode", "receiver-settle-mode"},
              field{&transfer::state, "state", "*"},
              field{&transfer::resume, "resume", "boolean"}.by_default("false"),
              field{&transfer::aborted, "aborted", "boolean"}.by_default("false"),
              field{&transfer::batchable, "batchable", "boolean"}.by_default("false"))

SLUICE_FIELDS(disposition, 0x15, "disposition",
              field{&disposition::role, "role", "role"}.is_mandatory(),
              field{&disposition::first, "first", "delivery-number"}.is_mandatory(),
              field{&disposition::last, "last", "delivery-number"},
              field{&disposition::settled, "settled", "boolean"}.by_default("false"),
              field{&disposition::state, "state", "*"},
              field{&disposition::batchable, "batchable", "boolean"}.by_default("false"))

SLUICE_FIELDS(detach, 0x16, "detach", field{&detach::handle, "handle", "handle"}.is_mandatory(),
              field{&detach::closed, "closed", "boolean"}.by_default("false"),
              field{&detach::error, "error", "error"})

SLUICE_FIELDS(end, 0x17, "end", field{&end::error, "error", "error"})

SLUICE_FIELDS(close, 0x18, "close", field{&close::error, "error", "error"})

SLUICE_FIELDS(error_view, 0x1d, "error",
              field{&error_view::condition, "condition", "symbol"}.is_mandatory(),
              field{&error_view::description, "description", "string"},
              field{&error_view::info, "info", "fields"})

SLUICE_FIELDS(sasl_mechanisms, 0x40, "sasl-mechanisms",
              field{&sasl_mechanisms::sasl_server_mechanisms, "sasl-server-mechanisms", "symbol"}
                  .is_mandatory()
                  .is_multiple())

SLUICE_FIELDS(sasl_init, 0x41, "sasl-init",
              field{&sasl_init::mechanism, "mechanism", "symbol"}.is_mandatory(),
              field{&sasl_init::initial_response, "initial-response", "binary"},
              field{&sasl_init::hostname, "hostname", "string"})

SLUICE_FIELDS(sasl_challenge, 0x42, "sasl-challenge",
              field{&sasl_challenge::challenge, "challenge", "binary"}.is_mandatory())

SLUICE_FIELDS(sasl_response, 0x43, "sasl-response",
              field{&sasl_response::response, "response", "binary"}.is_mandatory())

SLUICE_FIELDS(sasl_outcome, 0x44, "sasl-outcome",
              field{&sasl_outcome::code, "code", "sasl-code"}.is_mandatory(),
              field{&sasl_outcome::additional_data, "additional-data", "binary"})

SLUICE_FIELDS(source, 0x28, "source", field{&source::address, "address", "*"},
              field{&source::durable, "durable", "terminus-durability"}.by_default("none"),
              field{&source::expiry_policy, "expiry-policy", "terminus-expiry-policy"}.by_default(
                  "session-end"),
              field{&source::timeout, "timeout", "seconds"}.by_default("0"),
              field{&source::dynamic, "dynamic", "boolean"}.by_default("false"),
              field{&source::dynamic_node_properties, "dynamic-node-properties", "node-properties"},
              field{&source::distribution_mode, "distribution-mode", "symbol"},
              field{&source::filter, "filter", "filter-set"},
              field{&source::default_outcome, "default-outcome", "*"},
              field{&source::outcomes, "outcomes", "symbol"}.is_multiple(),
              field{&source::capabilities, "capabilities", "symbol"}.is_multiple())

SLUICE_FIELDS(target, 0x29, "target", field{&target::address, "address", "*"},
              field{&target::durable, "durable", "terminus-durability"}.by_default("none"),
              field{&target::expiry_policy, "expiry-policy", "terminus-expiry-policy"}.by_default(
                  "session-end"),
              field{&target::timeout, "timeout", "seconds"}.by_default("0"),
              field{&target::dynamic, "dynamic", "boolean"}.by_default("false"),
              field{&target::dynamic_node_properties, "dynamic-node-properties", "node-properties"},
              field{&target::capabilities, "capabilities", "symbol"}.is_multiple())

SLUICE_FIELDS(delete_on_close, 0x2b, "delete-on-close", )
SLUICE_FIELDS(delete_on_no_links, 0x2c, "delete-on-no-links", )
SLUICE_FIELDS(delete_on_no_messages, 0x2d, "delete-on-no-messages", )
SLUICE_FIELDS(delete_on_no_links_or_messages, 0x2e, "delete-on-no-links-or-messages", )

SLUICE_FIELDS(received, 0x23, "received",
              field{&received::section_number, "section-number", "uint"}.is_mandatory(),
              field{&received::section_offset, "section-offset", "ulong"}.is_mandatory())

SLUICE_FIELDS(accepted, 0x24, "accepted", )

SLUICE_FIELDS(rejected, 0x25, "rejected", field{&rejected::error, "error", "error"})

SLUICE_FIELDS(released, 0x26, "released", )

SLUICE_FIELDS(modified, 0x27, "modified",
              field{&modified::delivery_failed, "delivery-failed", "boolean"},
              field{&modified::undeliverable_here, "undeliverable-here", "boolean"},
              field{&modified::message_annotations, "message-annotations", "fields"})

SLUICE_FIELDS(coordinator, 0x30, "coordinator",
              field{&coordinator::capabilities, "capabilities", "symbol"}.is_multiple())

SLUICE_FIELDS(declare, 0x31, "declare", field{&declare::global_id, "global-id", "*"})

SLUICE_FIELDS(discharge, 0x32, "discharge", field{&discharge::txn_id, "txn-id", "*"}.is_mandatory(),
              field{&discharge::fail, "fail", "boolean"})

SLUICE_FIELDS(declared, 0x33, "declared", field{&declared::txn_id, "txn-id", "*"}.is_mandatory())

SLUICE_FIELDS(transactional_state, 0x34, "transactional-state",
              field{&transactional_state::txn_id, "txn-id", "*"}.is_mandatory(),
              field{&transactional_state::outcome, "outcome", "*"})

SLUICE_FIELDS(header, 0x70, "header", field{&header::durable, "durable", "boolean"},
              field{&header::priority, "priority", "ubyte"},
              field{&header::ttl, "ttl", "milliseconds"},
              field{&header::first_acquirer, "first-acquirer", "boolean"},
              field{&header::delivery_count, "delivery-count", "uint"})

SLUICE_FIELDS(properties, 0x73, "properties", field{&properties::message_id, "message-id", "*"},
              field{&properties::user_id, "user-id", "binary"}, field{&properties::to, "to", "*"},
              field{&properties::subject, "subject", "string"},
              field{&properties::reply_to, "reply-to", "*"},
              field{&properties::correlation_id, "correlation-id", "*"},
              field{&properties::content_type, "content-type", "symbol"},
              field{&properties::content_encoding, "content-encoding", "symbol"},
              field{&properties::absolute_expiry_time, "absolute-expiry-time", "timestamp"},
              field{&properties::creation_time, "creation-time", "timestamp"},
              field{&properties::group_id, "group-id", "string"},
              field{&properties::group_sequence, "group-sequence", "sequence-no"},
              field{&properties::reply_to_group_id, "reply-to-group-id", "string"})

#undef SLUICE_FIELDS

}  // namespace sluice
