// A client that recovers, and the peer that the test plays, which loses connections.
#pragma once

#include "support/client_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {

using std::chrono::milliseconds;

inline client::connection_options recovering()
{
    auto o = strict();
    o.reconnect =
        client::reconnect_options{.initial_delay = milliseconds{5}, .max_delay = milliseconds{50}};
    return o;
}

inline client::session_options from_zero()
{
    return {.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}};
}

inline client::receiver_options with_credit(std::uint32_t window)
{
    client::receiver_options o;
    o.credit_window = window;
    return o;
}

/// The attach after a recovery is answered within a tenth of a second, or never.
inline client::sender_options answered_soon()
{
    client::sender_options o;
    o.timeout = milliseconds{100};
    return o;
}

struct recovery_rig : client_rig {
    recovery_rig() : client_rig{from_zero(), recovering()} {}
    void come_back()
    {
        peer.open_connection();
        peer.begin_session();
    }
    /// Until the client has had enough of this connection.
    void leave_the_attach_unanswered()
    {
        come_back();
        peer.skip_to<attach>();
        peer.read_to_end();
        peer.shut();
    }
    /// Answers an attach as a peer that remembers nothing of the link.
    got<attach> attach_forgetful()
    {
        auto theirs = peer.skip_to<attach>();
        attach ours = theirs.value;
        ours.role = theirs->role == role::sender ? role::receiver : role::sender;
        if (ours.role == role::sender)
            ours.initial_delivery_count = sequence_number{0};
        ours.unsettled = {};
        peer.send(ours, theirs.from.header.channel);
        return theirs;
    }
};

}  // namespace sluice::test
