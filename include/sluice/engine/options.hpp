// What an owner may set before a connection, session or link begins. Plain structs with defaults.
#pragma once

#include <sluice/codec/messaging.hpp>
#include <sluice/engine/condition.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace sluice::engine {

/// The time, as the owner reads it from a clock of its choice; only differences matter.
using time_point = std::chrono::milliseconds;

/// What to do about a flow whose next-outgoing-id is not the number of transfer frames seen.
/// [2.5.6]
enum class flow_policy : std::uint8_t {
    tolerant,  ///< take the peer's value, report event_kind::flow_mismatch, count it
    strict,    ///< end that session with amqp:session:window-violation; also minds flows with a
               ///< link's fields and no handle, a sender's flow without delivery-count, and
               ///< deliveries against the sender's settle mode
};

enum class sasl_mode : std::uint8_t {
    none,      ///< no SASL layer; as listener: a SASL header is refused
    required,  ///< a SASL layer comes first
    accepted,  ///< listener only: with or without, as the peer begins
};

struct connection_options {
    std::string container_id = "sluice";
    std::string hostname{};  ///< sent in open if not empty
    bool listener = false;   ///< the peer begins
    sasl_mode sasl = sasl_mode::none;
    std::uint32_t max_frame_size = 65536;  ///< octets we accept; at least 512
    std::uint32_t outgoing_frame_max =
        65536;  ///< octets we send at most, below the peer's limit; at least 512
    std::uint16_t channel_max = 255;  ///< the highest channel number, both ways
    std::uint32_t idle_timeout_ms =
        60'000;  ///< silence after which we give up (half is announced); 0: never
    std::uint32_t handshake_timeout_ms =
        30'000;                       ///< from the first tick to the peer's open; 0: never
    std::uint32_t events_max = 1024;  ///< receive() pauses while this many events wait
    /// The owner calls write() whenever receive() has not taken all. receive() then pauses, too,
    /// while the peer's next link or session would find no handle or channel of ours free though
    /// one is as soon as the answers to its detach or end are written; and while a SASL event waits
    /// for the owner's answer, for what a peer pipelines after it is to be read in that light.
    bool writes_between = false;
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};  ///< an encoded map, or empty
};

struct session_options {
    transfer_id next_outgoing_id{0};
    delivery_number next_delivery_id{0};
    std::uint32_t incoming_window = 2048;  ///< transfer frames; the inbox's room
    std::uint32_t outgoing_window =
        2147483647;                   ///< announced only: what we send waits here, not at the peer
    std::uint32_t handle_max = 1023;  ///< the highest handle, both ways
    std::size_t buffered_bytes_max = 8u
                                     << 20;  ///< payload held for the user before first frames wait
    flow_policy policy = flow_policy::tolerant;
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};
};

struct link_options {
    std::string name{};
    bytes source{};  ///< encoded (append(bytes, sluice::source)), or empty: null
    bytes target{};  ///< encoded target or coordinator, or empty: null
    sender_settle_mode snd_settle_mode = sender_settle_mode::mixed;
    receiver_settle_mode rcv_settle_mode = receiver_settle_mode::first;
    std::uint64_t max_message_size =
        0;  ///< octets of a message we take (receiver) or announce; 0: no limit
    sequence_number initial_delivery_count{0};  ///< sender
    bytes unsettled{};                          ///< an encoded map, or empty: null [2.6.13]
    bool incomplete_unsettled = false;
    std::vector<std::string> offered_capabilities{};
    std::vector<std::string> desired_capabilities{};
    bytes properties{};

    // receiver only
    std::uint32_t credit_window =
        0;  ///< 0: manual credit; else held + outstanding deliveries are kept at this
    bool streamed = false;  ///< deliveries are announced at their first frame and read in parts
    std::size_t stream_buffer_max =
        1u << 20;  ///< octets unread of a streamed body before its frames wait

    // sender only
    bool auto_settle =
        true;  ///< settle when the peer states an outcome without settling (mode second)
    bool manual_drain =
        false;  ///< a drain waits for sender::drained(): the owner has more than it has queued
};

}  // namespace sluice::engine
