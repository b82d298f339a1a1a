// Links that are detached, not closed: what they had not settled, until they come back or expire.
#pragma once

#include "node/node_link.hpp"
#include "node/queue.hpp"

#include <list>
#include <map>
#include <set>

namespace sluice::node::detail {

/// When the time-out of a terminus begins to run. [3.5.6]
enum class expiry : std::uint8_t { link_detach, session_end, connection_close, never };

/// A message whose fate the peer may know.
struct remembered {
    bytes tag;
    entry what;
};

/// One link that is away.
struct suspended {
    link_key key;
    std::shared_ptr<queue> from;        // of one that we send on
    std::vector<remembered> unsettled;  // in the order they were sent
    std::set<bytes> accepted;           // of one that we receive on: tags the peer has not settled
    expiry when = expiry::session_end;
    std::uint32_t timeout = 0;      // seconds
    void const* session = nullptr;  // of which it was part, while that lives
    void const* connection = nullptr;
    clock_time ends_at = clock_time::max();

    /// What was at the consumer goes back to its queue.
    void expire();
};

class suspended_links {
public:
    explicit suspended_links(std::size_t most) : most_{most} {}

    void add(std::unique_ptr<suspended> s, clock_time now);
    /// The link of this name, if it is away.
    std::unique_ptr<suspended> take(link_key const& key);
    void on_session_ended(void const* session, clock_time now);
    void on_connection_closed(void const* connection, clock_time now);
    void expire(clock_time now);
    clock_time next() const noexcept { return next_; }

private:
    void start(suspended& s, clock_time now);

    std::size_t most_;
    std::map<link_key, std::unique_ptr<suspended>> links_;
    std::list<link_key> age_;  // the oldest first
    clock_time next_ = clock_time::max();
};

}  // namespace sluice::node::detail
