// The thread of a dispatcher, the calls that wait for it, and its links.
#pragma once

#include <sluice/client/session.hpp>
#include <sluice/dispatch/detail/core.hpp>
#include <sluice/dispatch/options.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace sluice::dispatch::detail {

class runner;

/// Of one consumer. What follows the mutex changes when it is registered again.
struct place {
    consumer_options options{};
    listener on_message{};

    std::mutex mutex;
    client::receiver receiver{};
    std::weak_ptr<runner> owner{};
    consumer_id id = 0;
    bool registered = false;
    std::shared_ptr<bool> stopping{};  // until its link is quiet after an unregistration

    // ---- guarded by its owner's mutex
    std::uint64_t round = 0;  // of drains: an answer to an earlier one says nothing
    bool echo_asked = false;
    std::uint64_t flows_before = 0;
};

struct message final : item {
    client::delivery what{};
    std::shared_ptr<place> from{};
};

class runner final : public std::enable_shared_from_this<runner>, private links {
public:
    using clock = std::chrono::steady_clock;

    runner(client::session session, dispatcher_options options, client::transaction first);

    void change(lifecycle_event e);
    lifecycle state();
    std::shared_ptr<place> add(std::shared_ptr<place> p, client::receiver from);
    void remove(std::shared_ptr<place> const& p);
    std::vector<std::shared_ptr<place>> clear();
    void dispatch(consumer_id to, client::delivery d);
    void acknowledge();
    /// Asks and waits.
    void run(request_kind kind, milliseconds timeout);
    /// The end of its owner.
    void shut() noexcept;
    client::delivery receive(place const& p, consumer_id id, milliseconds timeout, bool wait);

    std::size_t held();
    std::size_t waiting(consumer_id id);
    std::uint32_t credit(consumer_id id);
    bool closed();
    client::transaction transaction();
    client::session const& session() const noexcept { return session_; }
    dispatcher_options const& options() const noexcept { return options_; }

private:
    using lock = std::unique_lock<std::mutex>;

    // links
    void set_credit(consumer_id of, std::uint32_t credit) override;
    void add_credit(consumer_id of, std::uint32_t more) override;
    void stop(consumer_id of) override;
    void drain(consumer_id of) override;
    void discharge(bool fail) override;
    void declare() override;
    void tell(item& it, answer a) override;
    bool answered(item const& it) const override;
    void end_session() override;
    void dispose(item& it) override;

    /// Of all that is guarded, with everything that has come by now taken in: who looks sees no
    /// difference to messages that are taken in as they come.
    lock hold();
    bool take_in_all();
    void thread_main();
    void call_listener(message& m, lock& l);
    void wake() noexcept;
    bool wait(lock& l, std::condition_variable& on, clock::time_point until);
    void look_around();
    void give_up_drains();
    /// Where there is no dispatcher any more.
    static void give_back(client::delivery const& d);
    void on_stopped(std::shared_ptr<place> const& p, std::vector<client::delivery> left);
    void on_drained(std::shared_ptr<place> const& p, std::uint64_t round, std::error_code why);
    void on_discharged(std::uint64_t round, std::error_code why);
    void on_declared(std::uint64_t round, std::error_code why, client::transaction t);
    void listen(place const& p);
    static void dismiss(place& p, bool now);
    void dismiss_all(bool now);
    void take_in(std::shared_ptr<place> const& p, client::delivery d);
    void check_open() const;
    [[noreturn]] void fail(std::error_code why) const;
    bool on_own_thread() const noexcept { return std::this_thread::get_id() == thread_id_; }
    std::uint64_t order_of(client::delivery const& d) noexcept;

    struct come {
        consumer_id to = 0;
        client::delivery what{};
    };

    client::session const session_;
    dispatcher_options const options_;

    // Messages come one by one and are taken in by the batch: whoever brings them does not wait for
    // a thread that works, and wakes one that sleeps once.
    std::mutex come_mutex_;  // nothing is called with it, and no other is taken
    std::vector<come> come_;
    std::atomic<bool> has_come_{false};
    enum class thread_state : std::uint8_t { none, sleeps, works };
    std::atomic<thread_state> thread_is_{thread_state::none};
    std::atomic<std::size_t> callers_{0};

    std::mutex mutex_;  // of all that follows
    std::vector<come> taking_;
    std::vector<std::unique_ptr<message>> spare_;
    std::condition_variable work_;
    std::condition_variable changed_;
    core core_;
    std::unordered_map<consumer_id, std::shared_ptr<place>> places_;
    consumer_id ids_ = 0;
    std::uint64_t arrivals_ = std::uint64_t{1} << 32;
    client::transaction transaction_;
    std::uint64_t exchange_ = 0;  // counts discharges and declarations
    clock::time_point draining_since_{};
    std::string text_;  // what a discharge or the session's end said
    std::thread thread_;
    std::thread::id thread_id_{};
};

}  // namespace sluice::dispatch::detail
