// Takes the messages of one session's receivers and gives them to consumers, one at a time, so that
// a rollback can give back everything in its order.
#pragma once

#include <sluice/client/session.hpp>
#include <sluice/dispatch/options.hpp>
#include <sluice/export.hpp>

#include <memory>
#include <vector>

namespace sluice::dispatch {

class dispatcher;

namespace detail {
class runner;
struct place;
}  // namespace detail

/// A handle on a consumer; copies refer to the same one. It outlives its registration and can be
/// registered again. Thread-safe.
class SLUICE_EXPORT consumer {
public:
    consumer() noexcept = default;
    bool valid() const noexcept { return place_ != nullptr; }
    explicit operator bool() const noexcept { return valid(); }

    /// Without a listener: the next message. Waits while there is none and while the dispatcher is
    /// stopped.
    /// @throws boost::system::system_error with error::timed_out, error::closed_locally,
    ///     error::invalid_state (it has a listener, or is not registered), the link's or session's
    ///     end
    client::delivery receive(milliseconds timeout = client::no_timeout) const;
    /// The next message if one is here and the dispatcher runs, else an invalid delivery.
    /// @throws as receive()
    client::delivery receive_now() const;

    /// @pre valid()
    client::receiver receiver() const;
    /// Messages that wait for it here. 0 if it is not registered.
    std::size_t waiting() const;
    /// Messages that the peer may still send. 0 if it is not registered.
    std::uint32_t credit() const;

private:
    friend class dispatcher;
    explicit consumer(std::shared_ptr<detail::place> p) noexcept : place_{std::move(p)} {}
    std::shared_ptr<detail::place> place_;
};

/// Delivers the messages of one session to its consumers on a thread of its own: to listeners one
/// after the other, consumers in turn; to others when they call receive(). docs/dispatcher.md tells
/// when to use it and what rollback guarantees.
///
///     dispatch::dispatcher d{session, {.mode = dispatch::acknowledge::by_user}};
///     d.register_consumer(session.open_receiver("orders", {.credit_window = 0}), {},
///     handle_order); d.start();
///
/// Requests (rollback, recover, commit, close) are served before any message, also while it is
/// stopped, but not while a listener is running; called by a listener they are done at once. While
/// one is asked for or under way nothing is delivered. Each has a deadline: see
/// dispatcher_options::timeout.
///
/// Thread-safe; a listener may call anything, but barrier() of its own dispatcher. Its end is
/// close(), waiting for the listener. An exception is boost::system::system_error.
class SLUICE_EXPORT dispatcher {
public:
    /// @throws error::invalid_argument for acknowledge::transacted: use transacted_session
    explicit dispatcher(client::session session, dispatcher_options options = {});
    ~dispatcher();
    dispatcher(dispatcher&&) noexcept = default;
    dispatcher& operator=(dispatcher&&) = delete;

    /// Begins, if necessary: stopped, or at once delivering. Changes nothing once it has begun.
    void start(bool initially_stopped);
    /// Delivers (again).
    /// @throws error::closed_locally or the session's end, as each call after the end
    void start();
    /// No message is delivered any more. Does not wait for a listener that is running.
    void stop();
    bool running() const;
    /// Final: takes nothing in any more, gives back everything that was not answered, in its order;
    /// the receivers stay attached, without credit. Harmless when called again. @throws
    /// error::timed_out
    void close();
    void close(milliseconds timeout);
    bool closed() const;

    /// From now on the dispatcher handles the credit and the messages of `from`, which should be
    /// opened with credit_window 0 so that nothing comes before.
    /// @param on_message empty: the consumer takes messages with receive()
    /// @pre `from` is of the dispatcher's session
    /// @throws error::invalid_argument for an invalid one
    consumer register_consumer(client::receiver from, consumer_options options = {},
                               listener on_message = {});
    /// Registers one again, on its receiver or, after a loss, on a new one.
    /// @throws error::invalid_state if it is registered
    void register_consumer(consumer const& again);
    void register_consumer(consumer const& again, client::receiver from);
    /// What waits for it and what is still on its way is released; what was delivered to it stays
    /// until commit, rollback or recover. Its receiver stays attached, without credit.
    /// @throws error::not_found
    consumer unregister_consumer(consumer const& c);
    /// Unregisters all, in the order in which they came: the first step of a recovery.
    std::vector<consumer> clear_consumers();

    /// Takes a message in as if it had come from that consumer's receiver. Released if the consumer
    /// is not registered here.
    void dispatch(consumer const& to, client::delivery d);

    /// Waits until every message that is here now was seen by its listener or went back; those of
    /// consumers without a listener need no waiting for.
    /// @throws error::timed_out; error::invalid_state in a listener
    void barrier();
    void barrier(milliseconds timeout);

    /// Gives back, in order of arrival over all consumers, what was delivered and not acknowledged
    /// (in a transacted_session: in this transaction, which is rolled back), what waits here and
    /// what is on its way; then it comes again. @throws error::timed_out, the session's end
    void rollback();
    void rollback(milliseconds timeout);
    /// The same, for dispatchers without a transaction. @throws error::invalid_state with one
    void recover();
    void recover(milliseconds timeout);
    /// Accepts what was delivered so far, the message that a listener has in hand included.
    /// @throws error::invalid_state unless acknowledge::by_user
    void acknowledge();

    /// Messages held: waiting, in hand, delivered and not acknowledged.
    std::size_t held() const;
    client::session const& session() const noexcept;

private:
    friend class transacted_session;
    explicit dispatcher(std::shared_ptr<detail::runner> r) noexcept : runner_{std::move(r)} {}
    std::shared_ptr<detail::runner> runner_;
};

}  // namespace sluice::dispatch
