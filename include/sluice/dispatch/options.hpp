// Settings of a dispatcher and its consumers: plain structs with defaults.
#pragma once

#include <sluice/client/delivery.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

namespace sluice::dispatch {

using client::milliseconds;

/// Who answers the messages that were delivered.
enum class acknowledge : std::uint8_t {
    automatic,  ///< the dispatcher: accepted when the listener returns, or when receive() hands out
    by_user,  ///< you, one by one or with dispatcher::acknowledge(); recover() gives back the rest
    transacted,  ///< commit(); transacted_session sets it
};

struct dispatcher_options {
    acknowledge mode = acknowledge::automatic;
    /// Of rollback, recover, commit, close and barrier unless the call says otherwise. Not begun by
    /// then: withdrawn, with no change. Begun: the session ends. error::timed_out either way.
    milliseconds timeout{30'000};
    /// How long a link may take to answer a drain; then credit 0 and an echo have to do.
    milliseconds drain_timeout{10'000};
    /// Messages delivered in one transaction; beyond, no more credit is given until its end.
    std::uint32_t delivered_max = 100'000;
    /// Called on the dispatcher's thread with what a listener throws. Default: one line on standard
    /// error.
    std::function<void(std::exception_ptr)> on_exception{};
};

struct consumer_options {
    /// Messages held here before they are delivered and those on their way, together. At least 1.
    std::uint32_t prefetch = 100;
    /// It reads copies (distribution-mode copy): its messages are dropped where those of others are
    /// released.
    bool browser = false;
    /// The source offers the outcome `modified`. Then what was delivered goes back with
    /// delivery-failed, and its delivery-count rises; else it is released. [3.4.5, 3.5.3]
    bool modified_offered = true;
};

/// What it throws goes to dispatcher_options::on_exception; the message is then modified
/// (delivery-failed) or released, in a transaction with commit().
using listener = std::function<void(client::delivery const&)>;

}  // namespace sluice::dispatch
