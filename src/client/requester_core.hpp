// The requests that wait: all on one strand of the handlers' executor, which no handler of the
// user's runs on.
#pragma once

#include <sluice/client/requester.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <unordered_map>

namespace sluice::client::detail {

class requester_core : public std::enable_shared_from_this<requester_core> {
public:
    using clock = std::chrono::steady_clock;

    requester_core(session on, receiver from, sender to, requester_options options);
    ~requester_core();

    // ---- any thread

    static void open(session const& on, std::string address, requester_options options,
                     reply_ptr<requester> r);
    void start_listening();
    void start(message m, milliseconds timeout, reply_ptr<message> r);
    void start_close();
    std::string reply_address() const;
    requester_counters counters() const noexcept;
    executor get_executor() const { return on_.get_executor(); }

private:
    class cancel_call;
    class opening;

    struct call {
        clock::time_point deadline;
        reply_ptr<message> reply;
    };
    using calls = std::unordered_map<std::string, call>;  // pointers to keys stay good

    // own strand
    void add(message m, milliseconds timeout, reply_ptr<message> r, cancel_call* cancelling);
    std::error_code refusal(std::string const& key) const;
    void send(std::string const& key, message m);
    void on_sent(std::string const& key, error_code code, outcome const& o);
    void listen();
    void on_received(error_code code, delivery const& d);
    void take(delivery const& d);
    void expire();
    milliseconds until_next() const;
    reply_ptr<message> remove(calls::iterator which);
    void give_up(std::string const& key, std::error_code why, failure_ptr text);
    void fail_all(std::error_code why, failure_ptr const& text);
    void answer(reply_ptr<message> r, std::error_code code, failure_ptr why, message m = {}) const;

    session on_;
    receiver from_;
    sender to_;
    requester_options const options_;
    milliseconds timeout_;
    executor own_;
    /// Shared with the receive that waits, which outlives this.
    std::shared_ptr<boost::asio::cancellation_signal> const wake_ =
        std::make_shared<boost::asio::cancellation_signal>();
    clock::time_point listens_until_{};
    calls calls_;
    std::set<std::pair<clock::time_point, std::string const*>> deadlines_;  // of calls_
    failure_ptr ended_;
    std::uint64_t next_id_ = 0;
    bool rearming_ = false;

    // read anywhere
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<std::uint64_t> replies_{0};
    std::atomic<std::uint64_t> late_{0};
    std::atomic<std::uint64_t> unrelated_{0};
    std::atomic<std::uint64_t> waiting_{0};
};

}  // namespace sluice::client::detail
