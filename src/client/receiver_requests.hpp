// The calls on a receiver, and what moves between its inbox and the strand.
#pragma once

#include "client/receiver_core.hpp"

namespace sluice::client::detail {

class receiver_core::open_request final : public attach_request {
public:
    open_request(std::shared_ptr<receiver_core> l, std::shared_ptr<receiver_core> user,
                 reply_ptr<client::receiver> r)
        : attach_request{l, l->timeout()}, user_{std::move(user)}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, link_->connection());
    }
    ~open_request() override = default;
    void finish(std::error_code code, failure_ptr why) override;

private:
    std::shared_ptr<receiver_core> user_;
    reply_ptr<client::receiver> reply_;
};

/// Waits for a delivery. Without deadline and cancellation it joins the queue where it is made;
/// else on the strand.
class receiver_core::receive_request final : public request {
public:
    receive_request(std::shared_ptr<receiver_core> l, milliseconds timeout,
                    reply_ptr<client::delivery> r)
        : link_{std::move(l)}, timeout_{timeout}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, link_->connection());
    }
    ~receive_request() override = default;
    void execute(connection_core& on) override;
    void refuse() noexcept override;
    void give_up(std::error_code why) override;
    /// Answers the caller and frees this, which is in no list.
    void finish(std::error_code code, failure_ptr why, client::delivery d);

private:
    std::shared_ptr<receiver_core> link_;
    milliseconds timeout_;
    reply_ptr<client::delivery> reply_;
};

class receiver_core::drain_request final : public request {
public:
    drain_request(std::shared_ptr<receiver_core> l, reply_ptr<> r)
        : link_{std::move(l)}, reply_{std::move(r)}
    {
        link_->drains_.fetch_add(1, std::memory_order_acq_rel);
        accept_cancellation(*reply_, link_->connection());
    }
    ~drain_request() override = default;
    void execute(connection_core& on) override;
    void refuse() noexcept override;
    void give_up(std::error_code why) override;
    void finish(std::error_code code, failure_ptr why);

private:
    std::shared_ptr<receiver_core> link_;
    reply_ptr<> reply_;
};

/// Credit that must not overtake a drain.
class receiver_core::credit_command final : public command {
public:
    credit_command(std::shared_ptr<receiver_core> l, std::uint64_t what)
        : link_{std::move(l)}, what_{what}
    {
    }
    void execute(connection_core&) override
    {
        link_->apply_credit(what_);
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    ~credit_command() override = default;
    std::shared_ptr<receiver_core> link_;
    std::uint64_t what_;
};

/// Tells the strand that the inbox has room again; part of its receiver.
class receiver_core::room_command final : public command {
public:
    explicit room_command(receiver_core& l) : link_{l} {}
    ~room_command() override = default;
    void push(std::shared_ptr<receiver_core> keep);
    void execute(connection_core& on) override;
    void refuse() noexcept override { keep_.reset(); }

private:
    receiver_core& link_;
    std::shared_ptr<receiver_core> keep_;  // while queued
    std::atomic<bool> queued_{false};
};

/// Hands deliveries to the handler, in the place of an answer on the session's executor; part of
/// its receiver.
class receiver_core::message_pump final : public reply_base {
public:
    explicit message_pump(receiver_core& l) : reply_base{true}, link_{l} {}
    ~message_pump() = default;
    void keep(std::shared_ptr<receiver_core> l) noexcept { keep_ = std::move(l); }
    void run() override;
    void deliver() noexcept override {}
    void discard() noexcept override { keep_.reset(); }

private:
    receiver_core& link_;
    std::shared_ptr<receiver_core> keep_;  // while queued
};

}  // namespace sluice::client::detail
