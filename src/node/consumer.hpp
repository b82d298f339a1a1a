// A link that takes messages out of a queue.
#pragma once

#include "node/node_link.hpp"
#include "node/queue.hpp"
#include "node/suspended.hpp"

namespace sluice::node::detail {

class consumer;
class transaction;

/// A message at a consumer. Lives until the engine is done with the delivery, or the link is over.
struct lent {
    consumer* to = nullptr;
    lent* before = nullptr;
    lent* after = nullptr;
    entry what{};
    transaction* in = nullptr;  // which has the last word
    bytes head{};
    bytes tag{};  // of one that is resumed
    engine::outgoing_delivery* delivery = nullptr;
};

class consumer final : public node_link, public queue_reader {
public:
    struct settings {
        bool browse = false;
        bytes default_outcome{};  ///< of what is settled without one; encoded, or empty
        expiry when{};            ///< what becomes of it when it is detached
        std::uint32_t timeout = 0;
    };
    consumer(peer& p, engine::sender& s, std::shared_ptr<queue> from, settings how);
    ~consumer() override;

    /// What an earlier link of this name had not settled; sent again once attached. [2.6.13]
    /// @param incomplete the peer has more than it lists: it will attach once more, and until then
    ///        nothing new is sent, and what it does not list stays as it is [2.7.3]
    void resume(std::unique_ptr<suspended> before, raw_value remote_unsettled, bool incomplete);

    /// The transaction that had the last word is committed.
    void settle_held(lent& l, engine::outcome_kind kind, raw_value state);

    // node_link
    void on_attached() override;
    void on_event(engine::event const& e) override;
    void on_written() override;
    void get_in_line() override;
    void on_events_done() override { more(); }
    void on_room() override { more(); }
    void on_ended(ending how) override;
    bool allowed() const override;

    // queue_reader
    std::uint64_t id() const noexcept override { return node_link::id(); }
    bool has_room() override;
    bool take(entry& e) override;
    bool browses() const noexcept override { return how_.browse; }
    void on_message() override { browse(); }
    void on_removed() override;

private:
    void more();
    void browse();
    void answer_drain();
    result<engine::outgoing_delivery*> send(lent& l, bool resumed = false);
    void settle(lent& l, engine::outcome_kind kind, raw_value state);
    void settle_here(entry e, engine::outcome_kind kind, raw_value state);
    void on_transactional(lent& l, raw_value state, bool final);
    void suspend(ending how);
    void keep(lent& l) noexcept;
    entry release(lent& l) noexcept;
    void resume_one(remembered& r, raw_value remote);

    engine::sender& sender_;
    std::shared_ptr<queue> from_;
    settings how_;
    lent* first_ = nullptr;
    lent* last_ = nullptr;
    std::size_t count_ = 0;
    std::size_t unsent_bytes_ = 0;  // at most of what was queued since on_written()
    std::uint64_t browsed_ = 0;     // sequence of the last message seen
    bool attached_ = false;
    std::uint32_t sent_ = 0;  // by this link
    bool held_up_ = false;    // by what is queued here already
    bool draining_ = false;
    std::unique_ptr<suspended> before_;
    bytes remote_unsettled_;  // an encoded map
    bool incomplete_ = false;
    std::vector<remembered> not_listed_;  // in a map that is incomplete
};

}  // namespace sluice::node::detail
