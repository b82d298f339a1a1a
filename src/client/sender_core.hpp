// A sender on its strand: its sends in order, and who of them has credit.
#pragma once

#include "client/link_core.hpp"

#include <sluice/client/sender.hpp>

namespace sluice::client::detail {

class send_request;
class stream_core;
class transaction_posts;

class sender_core final : public link_core {
public:
    sender_core(std::shared_ptr<session_core> session, std::shared_ptr<session_core> user,
                std::shared_ptr<connection_core> connection_user, sender_options options);
    ~sender_core() override;

    // ---- any thread

    void start_open(std::shared_ptr<sender_core> user, reply_ptr<client::sender> r);
    void start_send(encoded_message m, send_options const& options, bool only_with_credit,
                    reply_ptr<outcome> r);
    /// Of a message to a coordinator: its time runs from now on, credit or not.
    /// It is held back while sends of `waits_for`, if given, have no outcome.
    void start_command(encoded_message m, reply_ptr<outcome> r,
                       std::shared_ptr<transaction_posts> waits_for = nullptr);
    body_stream start_stream(send_options const& options, std::size_t buffer_max);
    std::uint32_t credit() const noexcept { return credit_.load(std::memory_order_relaxed); }
    sender_counters counters() const noexcept;
    std::size_t outstanding() const noexcept
    {
        return outstanding_.load(std::memory_order_relaxed);
    }

    // ---- strand

    engine::sender* engine() const noexcept { return static_cast<engine::sender*>(engine_link_); }
    /// Of a send that begins now.
    void queue(send_request& s);
    void cancel(send_request& s, std::error_code why);
    /// Answers once; the request itself stays while the engine refers to it.
    void answer_send(send_request& s, std::error_code code, failure_ptr why, outcome o = {});
    void publish() noexcept override;

private:
    class open_request;
    class release_command;
    static client::sender wrap(std::shared_ptr<sender_core> user)
    {
        return client::sender{std::move(user)};
    }

    std::string refers_to() const override
    {
        return "sender to " + quoted_address(options_.target);
    }
    sluice::role side() const noexcept override { return role::sender; }
    result<engine::link*> attach(engine::session& on) override;
    engine::link_options to_engine() const override;
    std::string remote_address(engine::link const& l) const override;
    void on_event(engine::event const& e) override;
    void on_attached() override;
    bool may_come_back() const override { return options_.encoded_target.empty(); }
    void on_lost() override;
    bool is_lost(send_request& s);
    bool conclude(send_request& s, raw_value state);
    bytes unsettled(bool& incomplete) const;
    static bool keeps(sluice::attach const& theirs);
    std::error_code put(send_request& s, bool resume);
    void on_detached(failure_ptr const& why) override;
    void on_abandoned() override;
    void on_released() override;

    void start(send_request& s);
    bool hold(send_request& s);
    void release_held();
    void forget_held(send_request& s);
    void hand_over(send_request& s);
    void keep(send_request& s);
    void start_time(send_request& s);
    void drop(send_request& s, std::error_code code, std::string what);
    void forget(send_request& s) noexcept;
    /// Any thread, if `code` is set.
    void count(send_request const& s, std::error_code code, outcome const& o);
    void on_outcome(engine::event const& e, send_request& s);
    void give_deadlines();
    void close_when_idle();

    sender_options options_;
    std::atomic<std::uint32_t> credit_{0};
    std::atomic<std::size_t> outstanding_{0};  // taken by start_send, given back with the answer
    request_list sends_;                       // until the engine is done with them
    request_list held_;                        // commits that wait for what they commit
    send_request* without_credit_ =
        nullptr;  // the first of sends_ that has none, with all after it
    std::size_t without_credit_count_ = 0;
    stopwatch blocked_;           // runs while there are such
    bool peer_keeps_ = false;     // the link, once it is away: so its last attach has said
    std::uint32_t next_tag_ = 0;  // of a link that may come back: none twice
    notice_board<send_result> results_;

public:
    std::shared_ptr<notice_channel<send_result>> results();
};

/// One send. Holds the octets until the engine has them sent.
class send_request final : public request {
public:
    send_request(sender_core& l, reply_ptr<outcome> r) : link{&l}, reply{std::move(r)} {}
    ~send_request() override = default;
    void execute(connection_core& on) override;
    void refuse() noexcept override;
    void give_up(std::error_code why) override;
    void take(send_options const& options, milliseconds otherwise);
    using request::unbind;

    sender_core* link;  // which stays as long as there are sends
    reply_ptr<outcome> reply;
    bytes octets;
    std::shared_ptr<stream_core> stream;  // instead of octets and reply
    bytes tag;
    bytes state;
    std::shared_ptr<transaction_posts> posts;      // it is one of them
    std::shared_ptr<transaction_posts> waits_for;  // before it may go
    milliseconds timeout{0};
    std::chrono::steady_clock::time_point started{};  // of the call, where somebody observes
    std::uint64_t streamed_octets = 0;
    engine::outgoing_delivery* delivery = nullptr;
    std::uint32_t message_format = 0;
    bool settled = false;
    bool only_with_credit = false;
    bool has_credit = false;
    bool time_runs = false;  // also while there is no credit
    bool open = true;        // not answered
    bool held = false;
    bool own_tag = false;
    bool was_whole = false;  // on a link that was lost
    bool possible_duplicate = false;
};

}  // namespace sluice::client::detail
