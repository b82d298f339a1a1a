// The nine performatives and the SASL frames as plain structs of views. [2.7, 5.3.3]
//
// A decoded struct refers to the bytes it was decoded from. A field that is absent on the wire is
// `nullopt`, an empty view, or its default where the standard names one; a field equal to its
// default is not written.
#pragma once

#include <sluice/codec/serial.hpp>
#include <sluice/codec/types.hpp>

namespace sluice {

/// A link's number on one session, chosen by the side that attaches. [2.6.2]
struct handle {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(handle, handle) noexcept = default;
};

enum class role : bool { sender = false, receiver = true };  ///< [2.8.1]
/// [2.8.2]
enum class sender_settle_mode : std::uint8_t { unsettled = 0, settled = 1, mixed = 2 };
enum class receiver_settle_mode : std::uint8_t { first = 0, second = 1 };  ///< [2.8.3]
/// [5.3.3.6]
enum class sasl_code : std::uint8_t { ok = 0, auth = 1, sys = 2, sys_perm = 3, sys_temp = 4 };

/// The composite `error`, as a view. [2.8.14]
struct error_view {
    symbol condition{};
    std::optional<std::string_view> description{};
    raw_value info{};
};

struct open {  // [2.7.1]
    std::string_view container_id{};
    std::optional<std::string_view> hostname{};
    std::uint32_t max_frame_size = 4294967295;
    std::uint16_t channel_max = 65535;
    std::optional<std::uint32_t> idle_time_out{};  ///< milliseconds
    symbols outgoing_locales{};
    symbols incoming_locales{};
    symbols offered_capabilities{};
    symbols desired_capabilities{};
    raw_value properties{};
};

struct begin {  // [2.7.2]
    std::optional<std::uint16_t> remote_channel{};
    transfer_id next_outgoing_id{};
    std::uint32_t incoming_window = 0;
    std::uint32_t outgoing_window = 0;
    handle handle_max{4294967295};
    symbols offered_capabilities{};
    symbols desired_capabilities{};
    raw_value properties{};
};

struct attach {  // [2.7.3]
    std::string_view name{};
    sluice::handle handle{};
    sluice::role role = role::sender;
    sender_settle_mode snd_settle_mode = sender_settle_mode::mixed;
    receiver_settle_mode rcv_settle_mode = receiver_settle_mode::first;
    raw_value source{};
    raw_value target{};
    raw_value unsettled{};
    bool incomplete_unsettled = false;
    std::optional<sequence_number> initial_delivery_count{};
    std::optional<std::uint64_t> max_message_size{};
    symbols offered_capabilities{};
    symbols desired_capabilities{};
    raw_value properties{};
};

struct flow {  // [2.7.4]
    std::optional<transfer_id> next_incoming_id{};
    std::uint32_t incoming_window = 0;
    transfer_id next_outgoing_id{};
    std::uint32_t outgoing_window = 0;
    std::optional<sluice::handle> handle{};
    std::optional<sequence_number> delivery_count{};
    std::optional<std::uint32_t> link_credit{};
    std::optional<std::uint32_t> available{};
    bool drain = false;
    bool echo = false;
    raw_value properties{};
};

struct transfer {  // [2.7.5]
    sluice::handle handle{};
    std::optional<delivery_number> delivery_id{};
    std::optional<bytes_view> delivery_tag{};  ///< at most 32 octets
    std::optional<std::uint32_t> message_format{};
    std::optional<bool> settled{};
    bool more = false;
    std::optional<receiver_settle_mode> rcv_settle_mode{};
    raw_value state{};
    bool resume = false;
    bool aborted = false;
    bool batchable = false;
};

struct disposition {  // [2.7.6]
    sluice::role role = role::sender;
    delivery_number first{};
    std::optional<delivery_number> last{};
    bool settled = false;
    raw_value state{};
    bool batchable = false;
};

struct detach {  // [2.7.7]
    sluice::handle handle{};
    bool closed = false;
    std::optional<error_view> error{};
};

struct end {  // [2.7.8]
    std::optional<error_view> error{};
};

struct close {  // [2.7.9]
    std::optional<error_view> error{};
};

struct sasl_mechanisms {  // [5.3.3.1]
    symbols sasl_server_mechanisms{};
};

struct sasl_init {  // [5.3.3.2]
    symbol mechanism{};
    std::optional<bytes_view> initial_response{};
    std::optional<std::string_view> hostname{};
};

struct sasl_challenge {  // [5.3.3.3]
    bytes_view challenge{};
};

struct sasl_response {  // [5.3.3.4]
    bytes_view response{};
};

struct sasl_outcome {  // [5.3.3.5]
    sasl_code code = sasl_code::ok;
    std::optional<bytes_view> additional_data{};
};

}  // namespace sluice
