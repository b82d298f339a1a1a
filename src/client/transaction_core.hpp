// Transactions over a controller link: one for each session, opened with the first of them. [4.2]
#pragma once

#include "client/sender_core.hpp"
#include "client/transaction_posts.hpp"

#include <sluice/client/transaction.hpp>

namespace sluice::client::detail {

/// A reply whose answer goes to the library itself, at once, on whichever thread has it. Lets the
/// user's cancellation of `whose` through.
template <class F, class... Results>
class library_reply final : public reply<Results...> {
public:
    static reply_ptr<Results...> make(F f, reply_base* whose = nullptr)
    {
        return reply_ptr<Results...>{new library_reply{std::move(f), whose}};
    }
    void run() override { deliver(); }
    void deliver() noexcept override
    {
        auto f = std::move(f_);
        auto code = this->code_;
        auto why = std::move(this->why_);
        auto results = std::move(this->results_);
        delete this;
        std::apply([&](Results&... r) { f(code, std::move(why), std::move(r)...); }, results);
    }
    void discard() noexcept override
    {
        this->code_ = make_error_code(sluice::error::operation_aborted);
        deliver();
    }
    bool cancellable() const noexcept override { return whose_ && whose_->cancellable(); }
    void connect(std::shared_ptr<canceller> what) override { whose_->connect(std::move(what)); }

private:
    library_reply(F f, reply_base* whose)
        : reply<Results...>{false}, f_{std::move(f)}, whose_{whose}
    {
    }
    ~library_reply() = default;
    F f_;
    reply_base* whose_;
};

/// A session's link to the coordinator. Thread-safe.
class transaction_controller : public std::enable_shared_from_this<transaction_controller> {
public:
    /// What a transaction keeps open.
    struct place {
        std::shared_ptr<session_core> session;
        client::sender link;
    };
    /// `session` is a user's handle: what waits here keeps the session open.
    void begin(std::shared_ptr<session_core> const& session, reply_ptr<transaction> r);
    void discharge(std::shared_ptr<transaction_core> const& of, bool fail, reply_ptr<> r);
    /// The link is given up, so that the peer rolls back what is open on it.
    void close();
    /// The session has ended.
    void forget() noexcept;

private:
    void open(std::shared_ptr<session_core> const& session, reply_ptr<transaction> r);
    void declare(std::shared_ptr<session_core> const& session, client::sender const& link,
                 reply_ptr<transaction> r);
    void on_declared(place const& at, std::error_code code, failure_ptr why, outcome const& o,
                     reply_ptr<transaction> r);

    std::mutex mutex_;
    client::sender link_;  // guarded; invalid before the first and after close()
};

class transaction_core : public std::enable_shared_from_this<transaction_core> {
public:
    enum class state : std::uint8_t { active, discharging, over };

    transaction_core(std::shared_ptr<transaction_controller> controller,
                     transaction_controller::place at, bytes id);
    static transaction wrap(std::shared_ptr<transaction_core> user)
    {
        return transaction{std::move(user)};
    }

    bytes const& id() const noexcept { return id_; }
    client::sender const& link() const noexcept { return link_; }
    std::shared_ptr<transaction_posts> const& posts() const noexcept { return posts_; }
    state now() const noexcept { return state_.load(std::memory_order_acquire); }
    failure_ptr failure() const;
    void start_discharge(bool fail, reply_ptr<> r);
    void abandon(std::shared_ptr<transaction_core> self);
    /// The peer has answered, or will not any more.
    void on_discharged(bool fail, std::error_code code, failure_ptr why, outcome const& o,
                       reply_ptr<> r);

private:
    void answer(reply_ptr<> r, std::error_code code, failure_ptr why) const;

    std::shared_ptr<transaction_controller> controller_;
    std::shared_ptr<session_core> user_;
    client::sender link_;
    bytes const id_;
    std::shared_ptr<transaction_posts> const posts_ = std::make_shared<transaction_posts>();
    std::atomic<state> state_{state::active};
    mutable std::mutex mutex_;
    failure_ptr failure_;  // guarded
};

}  // namespace sluice::client::detail
