// A link that brings messages in: to one queue, or to wherever each message says.
#pragma once

#include "node/node_link.hpp"
#include "node/queue.hpp"
#include "node/suspended.hpp"

#include <set>

namespace sluice::node::detail {

class producer final : public node_link, public queue_writer {
public:
    struct settings {
        bool can_reject = true;  ///< the sender knows the outcome `rejected`
        expiry when = expiry::session_end;
        std::uint32_t timeout = 0;
    };
    /// @param to null: each message names its queue (the anonymous terminus)
    producer(peer& p, engine::receiver& r, std::shared_ptr<queue> to, settings how);
    ~producer() override;

    /// Tags of an earlier link of this name that were accepted and not settled: they are here
    /// already.
    void resume(std::set<bytes> accepted) noexcept { accepted_ = std::move(accepted); }

    // node_link
    void on_event(engine::event const& e) override;
    void on_ended(ending how) override;
    bool allowed() const override;

    // queue_writer
    std::uint32_t promised() const override;
    void grant(std::uint32_t more) override;
    void on_removed() override;

private:
    void take(engine::incoming_delivery& d);
    void accept(engine::incoming_delivery& d);
    void post(engine::incoming_delivery& d, message_ptr m);
    void give_up(engine::incoming_delivery& d, std::string_view condition, std::string text);
    void refuse(engine::incoming_delivery& d, std::string_view condition, std::string text);

    engine::receiver& receiver_;
    std::shared_ptr<queue> to_;
    settings how_;
    bool added_ = false;
    std::set<bytes> accepted_;  // in mode second: not settled by the sender yet
};

}  // namespace sluice::node::detail
