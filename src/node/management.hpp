// `$management`: queues declared, deleted, purged and read by request and reply.
#pragma once

#include "node/node_link.hpp"

#include <sluice/codec/message.hpp>

#include <list>

namespace sluice::node::detail {

inline constexpr std::string_view management_address = "$management";

/// Requests come in here. docs/node.md has the operations.
class management_link final : public node_link {
public:
    management_link(peer& p, engine::receiver& r) : node_link{p, r}, receiver_{r} {}
    void on_event(engine::event const& e) override;
    void on_ended(ending) override { set_ended(); }
    bool allowed() const override;

private:
    engine::receiver& receiver_;
};

/// Replies go out here: to the link whose target is what the request calls its reply-to.
class reply_link final : public node_link {
public:
    reply_link(peer& p, engine::sender& s, std::string address);
    ~reply_link() override;
    void on_event(engine::event const& e) override;
    void on_ended(ending how) override;
    /// @returns false if it holds as many as it may
    bool send(bytes reply);
    /// For one more, if it is small.
    bool has_room() const noexcept;

private:
    void drop(std::list<bytes>::iterator reply) noexcept;

    engine::sender& sender_;
    std::string address_;
    std::list<bytes> pending_;
    std::size_t pending_bytes_ = 0;
};

/// Carries the request out. @returns the reply
sluice::message manage(peer& asker, sluice::message const& request);

}  // namespace sluice::node::detail
