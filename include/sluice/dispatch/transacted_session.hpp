// A session whose received and sent messages count together, transaction after transaction.
#pragma once

#include <sluice/client/transaction.hpp>
#include <sluice/dispatch/dispatcher.hpp>
#include <sluice/export.hpp>

namespace sluice::dispatch {

/// A dispatcher and the transaction that is open at the moment.
///
///     dispatch::transacted_session work{session};
///     auto const orders = work.incoming().register_consumer(receiver);
///     work.incoming().start();
///     auto const order = orders.receive();
///     invoices.send(invoice_for(order), work.posting());
///     work.commit();
///
/// Thread-safe. An exception is boost::system::system_error.
class SLUICE_EXPORT transacted_session {
public:
    /// Declares the first transaction. `options.mode` is not looked at.
    /// @throws as client::session::begin_transaction()
    explicit transacted_session(client::session session, dispatcher_options options = {});

    dispatcher& incoming() noexcept { return dispatcher_; }
    dispatcher const& incoming() const noexcept { return dispatcher_; }

    /// Options of a send in the transaction of the moment. @throws error::invalid_state if there is
    /// none: rollback() declares one
    client::send_options posting(client::send_options options = {}) const;
    /// The transaction of the moment; an invalid one if the last declaration failed.
    client::transaction transaction() const;

    /// Retires, in order, what was delivered since the last one (to consumers removed since, too),
    /// commits and declares the next transaction. What waits here stays.
    /// @throws error::transaction_rolled_back or error::transaction_in_doubt: then everything that
    ///     was held went back as by rollback(), and the next transaction is declared; the error of
    ///     that declaration, the commit being done; error::timed_out
    void commit();
    void commit(milliseconds timeout);
    /// As dispatcher::rollback(); then declares the next transaction.
    void rollback();
    void rollback(milliseconds timeout);

private:
    dispatcher dispatcher_;
};

}  // namespace sluice::dispatch
