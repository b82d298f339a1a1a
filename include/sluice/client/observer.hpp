// What happens on connections, told as it happens: for metrics, traces and logs.
#pragma once

#include <sluice/client/notifications.hpp>
#include <sluice/export.hpp>

#include <chrono>
#include <string>

namespace sluice::client {

/// The connection that something happened on.
struct observed_connection {
    std::string where;               ///< the URL without credentials; of a server, the peer
    void const* identity = nullptr;  ///< connection::identity(); not to be followed
};

/// The link that something happened on.
struct observed_link {
    std::string name;
    std::string address;  ///< the target's of a sender, the source's of a receiver
    sluice::role role = sluice::role::sender;
    void const* connection = nullptr;  ///< connection::identity(); not to be followed
};

/// Set in container_options or connection_options; override what you want to know.
///
/// Called where handlers run that have no executor of their own, never on an I/O thread; for one
/// connection in the order in which things happened, one call after the other; for several
/// connections at the same time. A slow observer holds nothing up: 4,096 facts of a connection wait
/// for it, and of states, ends and links 256 more; what finds no room is counted
/// (connection_counters::unobserved) and not told. What it throws goes to
/// container_options::on_exception, and the next fact is told all the same. Once the container
/// goes, what waits is not told any more. Without an observer each fact costs the test of a
/// pointer.
class SLUICE_EXPORT observer {
public:
    observer() = default;
    observer(observer const&) = delete;
    observer& operator=(observer const&) = delete;
    virtual ~observer();

    /// As connection::state_changes(), the first `open` included.
    virtual void on_connection_state(observed_connection const& at, state_change const& to);
    /// A session that had begun is over; `why` is never null, and its code error::closed_locally if
    /// this side wanted it so.
    virtual void on_session_ended(observed_connection const& at, failure_ptr const& why);
    /// For the first time, or again after it was away.
    virtual void on_link_attached(observed_link const& at);
    virtual void on_link_detached(observed_link const& at, detach_notice const& what);
    /// @param latency from the call to its outcome, waiting for credit included
    virtual void on_send_completed(observed_link const& at, send_result const& what,
                                   std::chrono::nanoseconds latency);
    /// A delivery has come, and waits to be received.
    /// @param octets of the encoded message; 0 for a streamed one
    virtual void on_delivery(observed_link const& at, std::size_t octets);
};

}  // namespace sluice::client
