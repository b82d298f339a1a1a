// The way of facts from a connection to the user's observer.
#pragma once

#include "client/completion_queue.hpp"

#include <sluice/client/observer.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <variant>

namespace sluice::client::detail {

using link_facts = std::shared_ptr<observed_link const>;

struct observed_state {
    std::string where;
    state_change to;
};
struct observed_end {
    std::string where;
    failure_ptr why;
};
struct observed_attach {
    link_facts at;
};
struct observed_detach {
    link_facts at;
    detach_notice what;
};
struct observed_send {
    link_facts at;
    send_result what;
    std::chrono::nanoseconds latency;
};
struct observed_delivery {
    link_facts at;
    std::size_t octets;
};

/// Of one connection. Bounded: what finds no room is counted. Any thread tells; the observer is
/// called where the queue's handlers run. What waits refers to no object of the library, so that
/// nothing is kept alive by an executor that does not run any more.
class observer_feed final : public reply_base, public std::enable_shared_from_this<observer_feed> {
public:
    using fact = std::variant<observed_state, observed_end, observed_attach, observed_detach,
                              observed_send, observed_delivery>;
    static constexpr std::size_t waiting_max = 4'096;
    static constexpr std::size_t reserved = 256;  // beyond, for what is neither send nor delivery
    static constexpr int told_at_once = 64;  // before other handlers of the queue have their turn

    observer_feed(std::shared_ptr<client::observer> observer, void const* identity,
                  std::weak_ptr<completion_queue> queue)
        : reply_base{true},
          observer_{std::move(observer)},
          identity_{identity},
          queue_{std::move(queue)}
    {
    }
    ~observer_feed() = default;

    void tell(fact f);
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

    void run() override;
    void deliver() noexcept override { discard(); }
    void discard() noexcept override;

private:
    void call(fact const& f) const;
    void again(std::shared_ptr<observer_feed> self);

    std::shared_ptr<client::observer> const observer_;
    void const* const identity_;
    std::weak_ptr<completion_queue> const queue_;
    std::atomic<std::uint64_t> dropped_{0};

    std::mutex mutex_;  // of what follows
    std::deque<fact> waiting_;
    bool queued_ = false;
    std::shared_ptr<observer_feed> keep_;  // while it is in the queue
};

}  // namespace sluice::client::detail
