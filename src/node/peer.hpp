// A connection of the node: SASL, open, sessions, and the links that it owns.
#pragma once

#include "client/engine_stream.hpp"
#include "node/node_link.hpp"

#include <sluice/net/sasl_server.hpp>

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace sluice::node::detail {

class node_core;
class reply_link;

class peer final : public client::detail::engine_stream {
public:
    peer(node_core& core, std::shared_ptr<client::detail::io_thread> io, settings const& s);
    ~peer() override;

    /// @param spent of the time to the peer's open
    void begin(std::unique_ptr<net::byte_stream> stream, client::detail::clock_time spent);

    node_core& core() const noexcept { return core_; }
    std::string const& container_id() const noexcept { return container_id_; }
    /// Whom SASL has shown it to be; empty if nobody in particular.
    std::string const& user() const noexcept { return user_; }
    bool may(net::access what, std::string_view address) const;
    bool may_any(net::access what) const;
    /// Why it may not, or an empty error.
    amqp_error denied(net::access what, std::string_view address) const;
    /// The node's users have changed: what is no longer allowed ends.
    void recheck();
    /// Something was queued for it: it writes as soon as the others of this moment are done.
    void touch();
    /// `l` is told once more octets are out.
    void call_when_written(node_link& l);
    /// Calls its on_events_done() once what has come in is known. @returns false if it is already
    bool call_after_events(node_link& l);
    /// Keeps `made`, which is the owner's side of `l`, until the link is over.
    void add(engine::link& l, std::unique_ptr<node_link> made);
    /// The link is over for the node, whatever the engine still has to say of it.
    void end_link(engine::link& l, ending how);
    /// Ends the connection, telling why, at once or after what is in flight.
    void close(std::string_view condition, std::string text);
    void add_reply_link(std::string const& address, reply_link& l);
    void remove_reply_link(std::string const& address, reply_link const& l) noexcept;
    /// Sends a reply to a link of this connection, or to a queue. @returns why not
    amqp_error reply(std::string const& to, bytes octets);
    /// Why a reply to it would have nowhere to go, or an empty error.
    amqp_error cannot_reply(std::string const& to) const;
    /// Nothing is on its way or waits for an answer.
    bool at_rest();
    std::size_t buffered() const noexcept { return buffered_; }
    std::size_t links() const noexcept { return links_.size(); }
    /// For one more delivery without an answer; who is told no is called when there is again.
    bool has_room() noexcept;
    void count_unsettled(int change) noexcept { unsettled_ += static_cast<std::size_t>(change); }

    bool due = false;                // in the core's list of those to run
    std::set<bytes> transactions{};  // declared and not discharged, those that timed out too
    std::size_t replies = 0;         // of all its ports: the peer has not taken them yet
    std::size_t reply_octets = 0;

private:
    void on_event(engine::event const& e) override;
    void on_written() override;
    void on_events_done() override;
    client::detail::clock_time on_turn_end() override;
    void on_gone() override;

    // peer_sasl.cpp
    void on_sasl(bool first);
    void on_sasl_answer(net::sasl_server::answer const& said);
    void on_open();
    /// Closes the connection if they are none.
    bool are_fields(raw_value properties, char const* whose);
    void on_session(engine::session& s);
    void end_session(engine::session& s, ending how);
    void watch_buffers();

    node_core& core_;
    struct login {
        net::sasl_server_options how;
        std::shared_ptr<net::sasl_server> exchange;
    };
    std::unique_ptr<login> login_;  // until it is over
    std::string user_;
    std::string container_id_;
    std::vector<std::unique_ptr<node_link>> links_;
    std::map<std::string, reply_link*> reply_links_;  // by their targets' addresses
    std::vector<node_link*> waiting_;                 // for room
    std::vector<node_link*> after_events_;
    std::size_t buffered_ = 0;
    std::size_t unsettled_ = 0;     // deliveries at its consumers
    bool starved_ = false;          // by too many of them
    std::uint64_t watched_at_ = 0;  // octets received
};

}  // namespace sluice::node::detail
