// A receiver on its strand and the inbox between it and its users.
#pragma once

#include "client/delivery_core.hpp"
#include "client/link_core.hpp"

#include <sluice/client/receiver.hpp>

#include <deque>
#include <functional>

namespace sluice::client::detail {

class receiver_core final : public link_core, private flow_request {
public:
    receiver_core(std::shared_ptr<session_core> session, std::shared_ptr<session_core> user,
                  std::shared_ptr<connection_core> connection_user, receiver_options options);
    ~receiver_core() override;

    // ---- any thread

    void start_open(std::shared_ptr<receiver_core> user, reply_ptr<client::receiver> r);
    void start_receive(milliseconds timeout, reply_ptr<client::delivery> r);
    client::delivery try_receive();
    void set_handler(std::function<void(client::delivery)> handler);
    void start_drain(reply_ptr<> r);
    void credit_request(std::uint64_t what, std::uint32_t value);
    std::uint32_t credit() const noexcept { return credit_.load(std::memory_order_relaxed); }
    receiver_counters counters() const noexcept;

    // ---- strand

    engine::receiver* engine() const noexcept
    {
        return static_cast<engine::receiver*>(engine_link_);
    }
    bool streamed() const noexcept { return options_.streamed; }
    void settle(delivery_core& d);
    /// It refers to the engine no longer.
    void remove_record(delivery_core& d) noexcept;
    void publish() noexcept override;
    void on_stirred() override;

private:
    class open_request;
    class receive_request;
    class drain_request;
    class credit_command;
    class room_command;
    class message_pump;

    std::string refers_to() const override
    {
        return "receiver from " + quoted_address(options_.source);
    }
    sluice::role side() const noexcept override { return role::receiver; }
    result<engine::link*> attach(engine::session& on) override;
    engine::link_options to_engine() const override;
    std::string remote_address(engine::link const& l) const override;
    void on_attached() override;
    std::string left_out(engine::link const& l) const override;
    void on_event(engine::event const& e) override;
    bool may_come_back() const override { return options_.encoded_target.empty(); }
    bool outlives_link() const override
    {
        return options_.source.durable != terminus_durability::none
               && options_.source.expiry_policy == "never";
    }
    void on_lost() override;
    bytes unsettled();
    void forget_away(bytes_view tag);
    void keep_or_stale(delivery_core& d, bool stale);
    std::uint32_t drop_untaken();
    void come_back();
    void resume(engine::incoming_delivery& d);
    void on_detached(failure_ptr const& why) override;
    void on_abandoned() override;
    void on_released() override;
    void on_orphaned() override;
    void apply(std::uint64_t what) override;
    void apply_credit(std::uint64_t what);
    void apply_after_drain();

    std::shared_ptr<receiver_core> self()
    {
        return std::static_pointer_cast<receiver_core>(shared_from_this());
    }
    void on_delivery(engine::incoming_delivery& d);
    void on_aborted(engine::incoming_delivery& d, bool unknown);
    void tell(engine::incoming_delivery& d, raw_value state);
    delivery_core* make_record(engine::incoming_delivery& d);
    void count_arrival(delivery_core const& d);
    void count_gone() noexcept;
    void count_answer(delivery_core& d) noexcept;
    void move_to_inbox(bool all = false);
    void serve();
    void close_when_idle();
    delivery_core* pop(bool& wants_room) noexcept;
    void hand_out(delivery_core& d, bool wants_room);
    void dispose_later(std::shared_ptr<void> handler);

    receiver_options options_;
    std::atomic<std::uint32_t> credit_{0};
    std::atomic<std::uint64_t> held_{0};    // all records
    std::atomic<std::uint32_t> drains_{0};  // under way: credit waits its turn behind them

    std::mutex mutex_;  // of what follows
    delivery_core* first_ = nullptr;
    delivery_core* last_ = nullptr;
    std::size_t inbox_size_ = 0;
    std::size_t inbox_bytes_ = 0;
    bool full_ = false;  // more waits in the engine
    bool detached_ = false;
    request_list receivers_;
    std::shared_ptr<std::function<void(client::delivery)>> handler_;
    std::unique_ptr<message_pump> pump_;
    bool pump_queued_ = false;

    // strand
    std::unique_ptr<room_command> room_;
    std::deque<engine::incoming_delivery*> backlog_;
    delivery_core* records_ = nullptr;  // all that refer to the engine
    request_list drainers_;
    std::uint32_t window_ = 0;       // automatic credit, as the user wants it; 0: by hand
    std::uint32_t by_hand_ = 0;      // what was left of it when the link was lost
    bool by_hand_is_due_ = false;    // and has not been granted again
    std::uint64_t after_drain_ = 0;  // credit asked for while a drain is on, as a flow_request's
};

}  // namespace sluice::client::detail
