// Remote channels at the node: the hub with its surroundings, and the pairs of links that are its
// ports. docs/channel-protocol.md
#pragma once

#include "node/channel_hub.hpp"
#include "node/node_link.hpp"

#include <deque>
#include <map>

namespace sluice::node::detail {

class node_core;
class channel_pair;

/// The node's channels. Used on its thread.
class channel_service final : public channel_outside {
public:
    static constexpr std::size_t ports_max = 64;  // of one connection

    explicit channel_service(node_core& core);
    ~channel_service() override;

    channel_hub& hub() noexcept { return hub_; }
    channel_hub const& hub() const noexcept { return hub_; }
    void on_time(clock_time now) { hub_.on_time(now); }
    void flush();
    /// It takes no more replies: its port goes with the next flush(), when nobody is in the hub.
    void leave_later(channel_pair const& pair);
    std::uint64_t stored_bytes() const noexcept { return stored_; }
    channel_pair& pair_of(peer& p, std::string const& name);
    /// Whether the connection may have this port.
    bool has_room(peer& p, std::string const& name) const;
    void erase(channel_pair& pair);

    bool reserve(std::size_t octets) override;
    void release(std::size_t octets) noexcept override { stored_ -= octets; }
    void dead_letter(letter const& l) override;

private:
    node_core& core_;
    std::uint64_t stored_ = 0;
    std::map<std::pair<peer*, std::string>, std::unique_ptr<channel_pair>> pairs_;
    std::vector<std::pair<peer*, std::string>> leaving_;
    channel_hub hub_;
};

/// Two links of one name on one connection: a port once both are there.
class channel_pair final : public port_sink {
public:
    channel_pair(channel_service& all, peer& p, std::string name)
        : all_{all}, peer_{p}, name_{std::move(name)}
    {
    }
    peer& owner() const noexcept { return peer_; }
    std::string const& name() const noexcept { return name_; }

    void join(class channel_requests& l);
    void join(class channel_replies& l);
    /// One of the links is over: the other one ends too. `*this` may be gone then.
    void leave(node_link const& l, ending how);
    /// Leaves the hub if its replies are not taken, before the peer has answered the detach.
    void leave_if_overflown();
    void on_request(bytes_view octets);

    void send(protocol::reply const& r) override;
    unsigned may(std::string_view channel) const override;

private:
    void begin();
    void leave_hub();

    channel_service& all_;
    peer& peer_;
    std::string name_;
    channel_requests* requests_ = nullptr;
    channel_replies* replies_ = nullptr;
    channel_port* port_ = nullptr;
    protocol::request request_;  // the last one: its memory is used again
};

/// Requests come in here.
class channel_requests final : public node_link {
public:
    channel_requests(peer& p, engine::receiver& r);
    void on_event(engine::event const& e) override;
    void on_ended(ending how) override;

private:
    engine::receiver& receiver_;
    channel_pair* pair_;
};

/// Replies go out here.
class channel_replies final : public node_link {
public:
    channel_replies(peer& p, engine::sender& s);
    void on_event(engine::event const& e) override;
    void on_ended(ending how) override;
    void send(protocol::reply const& r);
    ~channel_replies() override;

private:
    bool overflows();
    void count(std::ptrdiff_t replies, std::ptrdiff_t octets) noexcept;

    struct reply {
        bytes octets{};
        bool over = false;
    };
    engine::sender& sender_;
    channel_pair* pair_;
    std::deque<reply> pending_;  // in the engine
    std::size_t pending_bytes_ = 0;
    std::vector<bytes> spare_;
};

}  // namespace sluice::node::detail
