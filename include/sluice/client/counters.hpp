// Counters of connections, sessions and links as plain structs, for any thread to ask for.
//
// They only grow, but for those marked "now", from the object's beginning to its end and over
// reconnects, and cost nothing to have: what is counted, is counted anyway. What links count is
// there when the call that it belongs to completes; answers that nobody waits for, and what engines
// count, follow at the end of the connection's turn. Values need not be of the same moment.
#pragma once

#include <sluice/engine/connection.hpp>

#include <chrono>

namespace sluice::client {

/// What came of sends. Each send that has ended is in exactly one of the outcomes or in `failed`.
struct sending_counters {
    std::uint64_t octets = 0;  ///< of the encoded messages counted by messages()
    std::uint64_t accepted = 0;
    std::uint64_t rejected = 0;
    std::uint64_t released = 0;
    std::uint64_t modified = 0;
    std::uint64_t presettled = 0;  ///< sent settled, or settled by the peer without a word
    std::uint64_t otherwise = 0;   ///< any other state, such as `declared`
    std::uint64_t failed = 0;      ///< sends that ended with an error: no outcome is known
    std::uint64_t aborted = 0;     ///< of those that failed, given up between two frames

    /// Messages sent, with whatever outcome.
    std::uint64_t messages() const noexcept
    {
        return accepted + rejected + released + modified + presettled + otherwise;
    }
};

/// What came, and the answers given. Those to deliveries that the peer had settled do not count.
struct receiving_counters {
    std::uint64_t messages = 0;    ///< that came into the inbox, received by somebody or not
    std::uint64_t octets = 0;      ///< of those, encoded; of streamed ones what has been read
    std::uint64_t presettled = 0;  ///< of those, settled by their sender
    std::uint64_t accepted = 0;
    std::uint64_t rejected = 0;
    std::uint64_t released = 0;  ///< those of handles dropped without an answer included
    std::uint64_t modified = 0;
    std::uint64_t otherwise = 0;  ///< any other state, or settled without one
    std::uint64_t aborted = 0;    ///< streamed ones, by their sender, while they were on their way
};

/// Of sender::counters().
struct sender_counters : sending_counters {
    std::uint64_t unsettled = 0;  ///< now: sends without an outcome
    std::uint32_t credit = 0;     ///< now: not used by sends under way
    /// In total, the present wait included: how long sends have waited for the peer's credit while
    /// the link was attached.
    std::chrono::milliseconds blocked{0};
};

/// Of receiver::counters().
struct receiver_counters : receiving_counters {
    std::uint64_t unsettled = 0;  ///< now: not done with, in the inbox or with you
    std::uint32_t credit = 0;     ///< now: what the peer may still send
};

/// Of session::counters(): frames, and what its links have sent and received, those that are gone
/// included.
struct session_counters : engine::session_counters {
    sending_counters sent{};
    receiving_counters received{};
};

/// Of connection::counters(): octets and frames on the wire; the sums over all of its sessions.
struct connection_counters : engine::connection_counters {
    engine::session_counters sessions{};
    sending_counters sent{};
    receiving_counters received{};
    std::uint64_t reconnects = 0;  ///< how often it has come back
    std::uint64_t unobserved = 0;  ///< facts that its observer was too slow for (client::observer)
};

/// What the auditor of a connection has found (see connection_options::audit).
struct audit_counters {
    std::uint64_t violations = 0;
    std::uint64_t suspicious = 0;
    std::uint64_t untold = 0;  ///< of these, the ones that found no room on their way to the user
};

}  // namespace sluice::client
