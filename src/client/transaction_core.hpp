// Transactions over a controller link: one for each session, opened with the first of them. [4.2]
#pragma once

#include "client/sender_core.hpp"
#include "client/transaction_posts.hpp"

#include <sluice/client/transaction.hpp>

namespace sluice::client::detail {

/// The user's cancellation of a call that takes several steps: reaches the step at hand, and the
/// next one if it came between two. The user's slot is connected once, where the call is made.
class step_canceller final : public canceller {
public:
    /// @returns null if the caller cannot cancel
    static std::shared_ptr<step_canceller> of(reply_base* whose)
    {
        if (!whose || !whose->cancellable())
            return nullptr;
        auto made = std::make_shared<step_canceller>();
        whose->connect(made);
        return made;
    }
    void cancel() noexcept override;
    void on_step(std::shared_ptr<canceller> next);

private:
    std::mutex mutex_;
    std::shared_ptr<canceller> step_;  // guarded
    bool cancelled_ = false;           // guarded
};

/// A reply whose answer goes to the library itself, at once, on whichever thread has it.
template <class F, class... Results>
class library_reply final : public reply<Results...> {
public:
    static reply_ptr<Results...> make(F f, std::shared_ptr<step_canceller> cancelling = nullptr)
    {
        return reply_ptr<Results...>{new library_reply{std::move(f), std::move(cancelling)}};
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
    bool cancellable() const noexcept override { return cancelling_ != nullptr; }
    void connect(std::shared_ptr<canceller> what) override
    {
        cancelling_->on_step(std::move(what));
    }

private:
    library_reply(F f, std::shared_ptr<step_canceller> cancelling)
        : reply<Results...>{false}, f_{std::move(f)}, cancelling_{std::move(cancelling)}
    {
    }
    ~library_reply() = default;
    F f_;
    std::shared_ptr<step_canceller> cancelling_;
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
    void open(std::shared_ptr<session_core> const& session, reply_ptr<transaction> r,
              std::shared_ptr<step_canceller> cancelling);
    void declare(std::shared_ptr<session_core> const& session, client::sender const& link,
                 reply_ptr<transaction> r, std::shared_ptr<step_canceller> cancelling);
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
