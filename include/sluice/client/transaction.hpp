// Transactions: sends and answers that count together or not at all. [4]
#pragma once

#include <sluice/client/delivery.hpp>
#include <sluice/client/sender.hpp>
#include <sluice/export.hpp>

namespace sluice::client {

class session;

namespace detail {
class transaction_core;
}

/// A handle on a transaction; copies refer to the same one. Made by session::begin_transaction().
/// Thread-safe. When the last handle goes before commit() was called, it is rolled back.
///
///     auto tx = session.begin_transaction();
///     orders.send(message, tx.posting());
///     tx.accept(delivery);
///     tx.commit();
///
/// What is sent and answered in it has its effect at the peer with commit(), all at once. Sends in
/// a transaction complete with the provisional outcome. [4.4]
///
/// The end of the session or connection, and the peer's time-out, roll it back: commit() then fails
/// with error::transaction_rolled_back, or with error::transaction_in_doubt when it was on its way
/// already and no answer came.
///
/// @pre of all members but valid(): valid(). One that is default-constructed is not.
class SLUICE_EXPORT transaction {
public:
    transaction() noexcept = default;
    bool valid() const noexcept { return core_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// The peer's name for it. [4.5.7]
    bytes const& id() const noexcept;
    /// Neither committed nor rolled back, as far as is known.
    bool active() const noexcept;

    /// Options of a send that belongs to it: `options` with the state set. [4.4.1] For a send at
    /// once: once the connection was lost, the peer may give the same id to another transaction.
    /// @throws boost::system::system_error with error::transaction_rolled_back if it was lost
    send_options posting(send_options options = {}) const;
    /// An encoded transactional-state with this outcome, for delivery::answer(). [4.4.2]
    bytes state(bytes_view encoded_outcome) const;
    /// Answers a delivery in it. Errors as delivery::accept(), delivery::reject() and so on.
    void accept(delivery const& d) const;
    void release(delivery const& d) const;
    void reject(delivery const& d, amqp_error why = {}) const;
    void modify(delivery const& d, modification how = {}) const;

    /// Completes when the peer has done it. It waits for the outcomes of the sends in it that were
    /// begun before, credit or not; if one of these comes to nothing, or they take too long, the
    /// transaction is rolled back. Errors: error::transaction_rolled_back (the peer's condition in
    /// error()), error::transaction_in_doubt, error::invalid_state if it is over.
    /// While it waits for sends, the deadline (the session's time-out) and cancelling roll it back;
    /// once it is sent, they close the controller link, so that the peer rolls back what it has not
    /// committed, and the result is in doubt.
    template <class Token>
    auto async_commit(Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<> r) { self.start_discharge(false, std::move(r)); });
    }
    void commit() const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_discharge(false, std::move(r)); });
    }
    /// Completes when the peer has undone it; harmless once it is over.
    template <class Token>
    auto async_rollback(Token&& token) const
    {
        return detail::initiate<>(
            get_executor(), std::forward<Token>(token),
            [self = *this](detail::reply_ptr<> r) { self.start_discharge(true, std::move(r)); });
    }
    void rollback() const
    {
        detail::wait_for<>([&](detail::reply_ptr<> r) { start_discharge(true, std::move(r)); });
    }

    /// Why it was rolled back or is in doubt; null before.
    failure_ptr error() const;
    executor get_executor() const;

private:
    friend class detail::transaction_core;
    explicit transaction(std::shared_ptr<detail::transaction_core> core) noexcept
        : core_{std::move(core)}
    {
    }
    void start_discharge(bool fail, detail::reply_ptr<> r) const;

    std::shared_ptr<detail::transaction_core> core_;
};

}  // namespace sluice::client
