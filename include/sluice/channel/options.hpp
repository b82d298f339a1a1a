// Settings of channels and of calls on them: plain structs with defaults.
#pragma once

#include <sluice/client/options.hpp>
#include <sluice/codec/channel_protocol.hpp>

#include <cstdint>
#include <string>

namespace sluice::channels {

using channel_protocol::guarantee;
using client::milliseconds;
using client::no_timeout;

/// Of channel<T>::open(). The first block is the channel's own: everybody who opens it has to give
/// the same. No time may be negative.
struct options {
    std::uint32_t capacity = 0;  ///< values that are sent and not acknowledged; 0: rendezvous
    guarantee delivery = guarantee::at_least_once;
    /// After which a value that was delivered and not acknowledged goes back. 0: never.
    milliseconds visibility_timeout{30'000};
    std::uint32_t tries_max = 10;  ///< deliveries that fail; then a dead letter. 0: no limit
    std::string dead_letter{};     ///< a queue of the node; empty: what is given up is dropped

    /// false: errc::not_found if it is not there; its options are then taken as they are.
    bool create = true;
    /// Acknowledgements are gathered and go out together, by count and at the latest after
    /// `async_ack_delay`: cheaper, and what was received last comes again after a crash. ack() then
    /// returns at once, and nobody learns that it came too late.
    bool async_ack = false;
    milliseconds async_ack_delay{10};
    /// Of calls that expect an answer at once: open, try_send, try_recv, close, state, ack.
    milliseconds timeout{30'000};
};

/// A channel at one moment.
struct channel_state {
    std::uint64_t size = 0;      ///< buffered, and delivered without acknowledgement
    std::uint64_t buffered = 0;  ///< sent and not delivered
    std::uint64_t unacknowledged = 0;
    std::uint64_t waiting_senders = 0;
    std::uint64_t waiting_receivers = 0;
    std::uint64_t handles = 0;
    bool closed = false;
};

}  // namespace sluice::channels
