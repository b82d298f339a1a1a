// What is done together or not at all: messages posted, deliveries retired. [4]
#pragma once

#include "node/consumer.hpp"

namespace sluice::node::detail {

class peer;

/// What becomes of a message once its receiver has said so: gone, buried, or back in its place.
void settle_entry(node_core& core, queue& from, entry what, engine::outcome_kind kind,
                  raw_value state, std::uint64_t link);

/// One transaction. Until it is discharged nothing of it can be seen by others.
class transaction {
public:
    transaction(node_core& core, peer const& connection, std::uint64_t controller, clock_time until)
        : core_{core}, connection_{connection}, controller_{controller}, until_{until}
    {
    }
    ~transaction();
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;

    peer const& connection() const noexcept { return connection_; }
    std::uint64_t controller() const noexcept { return controller_; }
    clock_time until() const noexcept { return until_; }

    /// @pre the room for it is reserved in the queue
    void post(std::shared_ptr<queue> to, message_ptr m);
    /// A delivery that its receiver has settled, with the outcome that it is to have.
    void retire(std::shared_ptr<queue> from, entry what, engine::outcome_kind kind, raw_value state,
                std::uint64_t link);
    /// One that its receiver has not settled: it stays at its link until the discharge.
    void hold(lent& l, engine::outcome_kind kind, raw_value state);
    void forget(lent const& l) noexcept;

    /// @returns false if a queue is gone; then it is rolled back
    bool commit();
    void roll_back();

private:
    struct posted {
        std::shared_ptr<queue> to;
        message_ptr message;
    };
    struct retired {
        std::shared_ptr<queue> from;
        entry what;
        engine::outcome_kind kind;
        bytes state;
        std::uint64_t link;
    };
    struct held {
        lent* what;
        engine::outcome_kind kind;
        bytes state;
    };

    node_core& core_;
    peer const& connection_;
    std::uint64_t controller_;  // the id of its link
    clock_time until_;
    std::vector<posted> posted_;
    std::vector<retired> retired_;
    std::vector<held> held_;
};

}  // namespace sluice::node::detail
