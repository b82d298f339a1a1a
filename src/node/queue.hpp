// A queue: messages in their order, consumers in their turn, senders in theirs.
#pragma once

#include "node/message.hpp"

#include <sluice/node/options.hpp>

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace sluice::node::detail {

class node_core;
class queue;

/// A message in its place. Consumers that said "not here" do not get it again. [3.4.5]
struct entry {
    std::uint64_t sequence = 0;
    message_ptr message{};
    std::vector<std::uint64_t> refused_by{};  // ids of links
};

/// What takes messages from a queue; it is told when there may be one for it.
class queue_reader {
public:
    virtual ~queue_reader() = default;
    virtual std::uint64_t id() const noexcept = 0;
    /// It can take one more, now.
    virtual bool has_room() = 0;
    /// @pre has_room() @returns false if it cannot take this one at all
    virtual bool take(entry& e) = 0;
    /// Takes copies and leaves the messages where they are; it asks by itself, see browse().
    virtual bool browses() const noexcept = 0;
    virtual void on_message() = 0;  // of those that browse
    /// The queue is being removed.
    virtual void on_removed() = 0;

protected:
    friend class queue;
    bool in_line_ = false;
};

/// What brings messages to a queue that withholds credit.
class queue_writer {
public:
    virtual ~queue_writer() = default;
    /// Messages it may send or has sent, and that are not in the queue yet.
    virtual std::uint32_t promised() const = 0;
    virtual void grant(std::uint32_t more) = 0;
    virtual void on_removed() = 0;
};

class queue {
public:
    queue(node_core& core, std::string name, queue_options options, bool lasting);

    std::string const& name() const noexcept { return name_; }
    queue_options const& options() const noexcept { return options_; }
    /// Declared, or dynamic: it does not go by itself when it is of no use.
    bool lasting() const noexcept { return lasting_; }
    void make_lasting() noexcept { lasting_ = true; }
    bool removed() const noexcept { return removed_; }
    bool idle() const noexcept { return length_ == 0 && readers_.empty() && writers_.empty(); }
    bool empty() const noexcept { return length_ == 0; }
    std::size_t links() const noexcept { return readers_.size() + writers_.size(); }
    queue_info info() const;

    // ---- messages

    /// @returns false if it is full; then nothing has happened
    bool push(message_ptr const& m);
    /// Room for a message that will come, or not. @returns false if it is full
    bool reserve(std::size_t size);
    void push_reserved(message_ptr const& m);
    void unreserve(std::size_t size);
    /// Back to its place; `e` has come from take().
    void give_back(entry e);
    /// It will not come back. `e` has come from take().
    void done(entry const& e);
    /// As far as there is room.
    void annotate(entry const& e, raw_value annotations);
    /// Rejected by its consumer: to the dead-letter queue, or away.
    void bury(entry const& e);
    std::uint64_t purge();
    /// Drops what is past its time.
    void expire(clock_time now);
    clock_time next_expiry() const noexcept { return next_expiry_; }

    // ---- readers

    void add(queue_reader& r);
    void remove(queue_reader& r);
    /// It has room (again).
    void line_up(queue_reader& r);
    void dispatch();
    /// Ready messages that `r` could have.
    bool has_message_for(queue_reader const& r) const;
    std::uint64_t ready() const noexcept { return fresh_.size() + returned_.size(); }
    /// The first ready entry after `sequence`; null if there is none.
    entry const* after(std::uint64_t sequence) const;

    // ---- writers

    void add(queue_writer& w);
    void remove(queue_writer& w);
    bool withholds() const noexcept { return options_.full == when_full::withhold; }
    /// Room was found or used: credit for those who wait.
    void grant_credit();

    void set_removed();

private:
    bool is_full(std::size_t more) const noexcept;
    bool hand_out(queue_reader& r);
    template <class Entries>
    std::uint64_t drop_if(Entries& from, auto const& condition);
    void drop(entry const& e) noexcept;

    node_core& core_;
    std::string name_;
    queue_options options_;
    bool lasting_;
    bool removed_ = false;
    bool dispatching_ = false;
    std::uint64_t next_sequence_ = 1;
    std::uint64_t length_ = 0;
    std::uint64_t bytes_ = 0;
    clock_time next_expiry_ = clock_time::max();
    std::deque<entry> fresh_;                  // never taken yet, in order
    std::map<std::uint64_t, entry> returned_;  // given back: older than all of those
    std::vector<queue_reader*> readers_;
    std::deque<queue_reader*> line_;  // readers with room, in turn
    std::vector<queue_writer*> writers_;
    std::size_t next_writer_ = 0;
};

}  // namespace sluice::node::detail
