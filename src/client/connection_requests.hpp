// The calls on a connection itself: connect and close.
#pragma once

#include "client/connection_core.hpp"

namespace sluice::client::detail {

/// Marks that this thread is in a turn: answers are gathered until its end.
class connection_core::turn_guard {
public:
    explicit turn_guard(connection_core const& whose) noexcept;
    ~turn_guard();
    turn_guard(turn_guard const&) = delete;
    turn_guard& operator=(turn_guard const&) = delete;

private:
    connection_core const* before_;
};

class connection_core::connect_request final : public request {
public:
    connect_request(std::shared_ptr<connection_core> core, reply_ptr<client::connection> r)
        : core_{core}, user_{make_user_pointer(std::move(core))}, reply_{std::move(r)}
    {
    }
    ~connect_request() override = default;
    void accept_cancellation() { request::accept_cancellation(*reply_, core_); }
    void execute(connection_core& on) override;
    void refuse() noexcept override;
    void give_up(std::error_code why) override;
    /// Answers the caller and frees this.
    void finish(std::error_code code, failure_ptr why);

private:
    std::shared_ptr<connection_core> core_;
    std::shared_ptr<connection_core> user_;
    reply_ptr<client::connection> reply_;
};

/// Without a reply when the last handle went.
class connection_core::close_request final : public request {
public:
    close_request(std::shared_ptr<connection_core> core, amqp_error why, reply_ptr<> r)
        : core_{std::move(core)}, why_{std::move(why)}, reply_{std::move(r)}
    {
        if (reply_)
            accept_cancellation(*reply_, core_);
    }
    ~close_request() override = default;
    void execute(connection_core& on) override;
    void refuse() noexcept override { finish({}, nullptr); }
    void give_up(std::error_code why) override;
    void finish(std::error_code code, failure_ptr why);

private:
    std::shared_ptr<connection_core> core_;
    amqp_error why_;
    reply_ptr<> reply_;
};

}  // namespace sluice::client::detail
