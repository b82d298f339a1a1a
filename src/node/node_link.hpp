// What every end of a link at the node has in common.
#pragma once

#include <sluice/engine/connection.hpp>

#include <cstdint>
#include <string>

namespace sluice::node::detail {

class peer;

/// Who has the link, what it is called, and which end is ours: what makes it the same link again
/// after a detach or a lost connection. [2.6.1]
struct link_key {
    std::string user{};  ///< nobody takes over another user's link by calling itself the same
    std::string container;
    std::string name;
    role ours = role::sender;
    friend auto operator<=>(link_key const&, link_key const&) = default;
};

/// How a link came to its end.
enum class ending : std::uint8_t { closed, detached, session, connection };

/// Owned by its peer, from the attach to the end of the engine's link.
class node_link {
public:
    node_link(peer& p, engine::link& l);
    virtual ~node_link() = default;
    node_link(node_link const&) = delete;
    node_link& operator=(node_link const&) = delete;

    std::uint64_t id() const noexcept { return id_; }
    engine::link& engine_link() const noexcept { return link_; }
    peer& owner() const noexcept { return peer_; }
    link_key key() const;

    /// The peer has had our attach, and may be sent to.
    virtual void on_attached() {}
    virtual void on_event(engine::event const& e) = 0;
    virtual void on_written() {}
    /// See peer::call_after_events(): first one for all, then the other, so that each has its turn.
    virtual void get_in_line() {}
    virtual void on_events_done() {}
    /// The connection has fewer deliveries without an answer than when it had too many.
    virtual void on_room() {}
    /// Whether its user may still have it.
    virtual bool allowed() const { return true; }
    /// The link, its session or its connection is over; the engine's link is still there.
    virtual void on_ended(ending how) = 0;

    void detach(std::string_view condition, std::string text, bool overtake = false);
    bool ended() const noexcept { return ended_; }
    void set_ended() noexcept { ended_ = true; }

    std::size_t place = 0;  // in the peer's list

private:
    peer& peer_;
    engine::link& link_;
    std::uint64_t id_;
    bool ended_ = false;
};

}  // namespace sluice::node::detail
