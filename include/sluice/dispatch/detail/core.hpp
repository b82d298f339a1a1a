// What a dispatcher decides: which message is delivered next, and what becomes of all others.
#pragma once

#include <sluice/dispatch/states.hpp>
#include <sluice/export.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <system_error>
#include <vector>

namespace sluice::dispatch::detail {

using consumer_id = std::uint64_t;

struct seat;

/// A message that the dispatcher is answerable for. Its owner adds what it needs.
struct SLUICE_EXPORT item {
    item() = default;
    item(item const&) = delete;
    item& operator=(item const&) = delete;
    virtual ~item() = default;

    std::uint64_t arrival = 0;  ///< its place in the order over the session; none has the same
    bool settled = false;       ///< by its sender: no answer is possible

    // ---- the core's
    enum class stage : std::uint8_t { waiting, in_hand, delivered };
    stage at = stage::waiting;
    bool modified_offered = false;
    bool browsed = false;
    bool failed = false;   // its listener threw
    bool over = false;     // answered while in hand
    bool awaited = false;  // by barriers: a listener is to see it
    consumer_id to = 0;
    std::uint64_t number = 0;
    item* before = nullptr;
    item* after = nullptr;
};

enum class answer : std::uint8_t {
    accept,
    release,
    fail,           ///< modified(delivery-failed)
    clear,          ///< settled without an outcome
    retire,         ///< accepted, in the transaction
    retire_failed,  ///< modified(delivery-failed) or released, in the transaction
};

/// What the core does to the world. Each call returns at once and calls nothing of the core.
class SLUICE_EXPORT links {
public:
    virtual void set_credit(consumer_id of, std::uint32_t credit) = 0;
    virtual void stop(consumer_id of) = 0;  ///< for good: a drain that nobody waits for
    virtual void add_credit(consumer_id of, std::uint32_t more) = 0;
    virtual void drain(consumer_id of) = 0;     ///< then core::drained()
    virtual void discharge(bool fail) = 0;      ///< then core::discharged()
    virtual void declare() = 0;                 ///< then core::declared()
    virtual void tell(item& it, answer a) = 0;  ///< unless its user has answered it
    virtual bool answered(item const& it) const = 0;
    virtual void end_session() = 0;
    virtual void dispose(item& it) { delete &it; }  ///< nothing refers to it any more

protected:
    ~links() = default;
};

enum class request_kind : std::uint8_t { rollback, commit, close, barrier };

/// A call that waits. Lives until leave().
struct request {
    explicit request(request_kind k) noexcept : kind{k} {}
    request_kind const kind;
    enum class phase : std::uint8_t { made, queued, running, done };
    phase at = phase::made;
    std::error_code result{};

    // ---- the core's
    bool holds = false;
    std::uint64_t number = 0;
    std::size_t left = 0;  // of a barrier: messages before it
};

struct settings {
    std::uint32_t prefetch = 100;
    std::uint32_t held = 0;  ///< messages that are here already and come without using credit
    bool listens = true;     ///< else: takes messages by itself, with peek() and take()
    bool browser = false;
    bool modified_offered = true;
    bool waits = false;  ///< no credit before ready(): a stop() of its link is still on its way
};

/// Messages that wait for one consumer, and the credit of its link.
struct seat {
    consumer_id id = 0;
    settings how{};
    std::deque<item*> waiting{};
    std::uint32_t on_its_way = 0;  // credit that the peer has
    bool quiet = true;             // drained
    bool listed = false;           // in ready_
};

/// Pure state machine: no thread, no clock, no link. The same calls in the same order do the same.
/// One object: unsafe to use concurrently.
///
/// Invariants, tested in proptests/dispatcher.cpp and tests/dispatch/interleavings_test.cpp:
///  1. Each message that arrived is answered once, is still held, or was settled by its sender.
///  2. Messages of one consumer are delivered in their order of arrival.
///  3. What a rollback releases, it releases in the order of arrival over all consumers.
///  4. Nothing is delivered while a rollback, commit or close is queued or under way.
///  5. Credit at the peer and messages that wait never exceed a consumer's prefetch.
class SLUICE_EXPORT core {
public:
    struct options {
        bool automatic = true;  ///< accepts when a listener returns, or with take()
        bool transacted = false;
        std::size_t delivered_max = 100'000;
    };
    core(links& world, options how) noexcept : world_{world}, how_{how} {}
    core(core const&) = delete;
    core& operator=(core const&) = delete;
    ~core();

    // ---- commands

    /// Events close and lost are not given here: see request and session_lost().
    void change(lifecycle_event e);
    /// @pre not closed, `id` is new
    void add(consumer_id id, settings how);
    /// What waits for it is released, at once or in its place in a rollback under way. What was
    /// delivered to it stays. @returns false if it is not known
    bool remove(consumer_id id);
    /// Removes all. @returns their ids, in order
    std::vector<consumer_id> clear();
    /// A message has arrived. For a consumer that is not known it is released.
    void arrived(std::unique_ptr<item> owned, consumer_id to);
    /// Accepts all that was delivered and not answered.
    void acknowledge();

    /// Queues a request; a barrier may be done at once. Past the end it is done, with the reason.
    void ask(request& r);
    /// Its time is over. Queued: withdrawn. Under way: the session ends. @pre not left
    void late(request& r);
    /// The call returns, and delivery may go on. @pre done
    void leave(request& r);

    // ---- the thread of control

    /// Begins the next request if none is under way and no message is in hand.
    bool serve();
    /// The same for `r`, made by the listener that has the message in hand, or without a thread.
    void serve_now(request& r);
    /// The next message for a listener, now in hand; null if nothing may be delivered.
    item* next();
    /// The listener has returned, or thrown.
    void returned(bool threw);

    // ---- consumers that take by themselves

    /// What take() would hand out.
    item* peek(consumer_id id) const;
    /// @pre peek(id). The item may be gone afterwards.
    void take(consumer_id id);

    // ---- what happened

    void drained(consumer_id id);
    void ready(consumer_id id);
    void discharged(std::error_code why);
    void declared(std::error_code why);
    void session_lost(std::error_code why);

    // ---- getters

    lifecycle state() const noexcept { return lifecycle_; }
    service at() const noexcept { return service_; }
    bool closed() const noexcept { return lifecycle_ == lifecycle::closed; }
    std::error_code reason() const noexcept { return reason_; }  ///< of closed()
    bool deliverable() const noexcept
    {
        return lifecycle_ == lifecycle::running && service_ == service::idle && holds_ == 0;
    }
    bool in_hand() const noexcept { return hand_ != nullptr; }
    std::size_t held() const noexcept { return held_; }
    std::size_t delivered() const noexcept { return delivered_; }
    bool knows(consumer_id id) const { return seats_.contains(id); }
    bool quiet_link(consumer_id id) const;  ///< drained, or not known
    std::size_t waiting(consumer_id id) const;
    std::uint32_t credit(consumer_id id) const;

private:
    void advance(service_event e);
    void begin(request& r);
    void begin_draining();
    void retire_all();
    void quiet();
    void release_all();
    void complete();
    void done(request& r, std::error_code why);
    void end(std::error_code why);
    void forget_all();
    void drop(seat& s);
    bool goes_back() const noexcept;  // what is held will be released in its order
    std::size_t room(seat const& s) const noexcept;
    void grant(seat& s, bool all);
    void hand_over(item& it);  // delivered: who answers it?
    void finish(item& it);     // forgets it
    void awaited_no_more(item& it);
    void give_back(item& it);
    void sweep();
    void insert(item& it) noexcept;
    void unlink(item& it) noexcept;
    void list(seat& s);

    links& world_;
    options const how_;
    lifecycle lifecycle_ = lifecycle::created;
    service service_ = service::idle;
    std::error_code reason_{};

    std::map<consumer_id, seat> seats_;
    std::deque<consumer_id> ready_;  // who has messages for a listener, in turn
    item* first_ = nullptr;          // all that is held, in order of arrival
    item* last_ = nullptr;
    std::size_t held_ = 0;
    std::size_t delivered_ = 0;
    std::size_t sweep_at_ = 64;
    item* hand_ = nullptr;

    std::uint64_t numbers_ = 0;
    std::size_t awaited_ = 0;
    std::vector<request*> barriers_;
    std::deque<request*> queue_;
    request* running_ = nullptr;
    std::error_code outcome_{};  // of what is under way
    std::size_t holds_ = 0;
};

}  // namespace sluice::dispatch::detail
