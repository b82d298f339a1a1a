// A session that comes back with its connection.
#include "client/connection_core.hpp"
#include "client/link_core.hpp"
#include "client/session_core.hpp"
#include "client/transaction_core.hpp"

namespace sluice::client::detail {

void session_core::lose()
{
    auto const self = shared_from_this();
    if (ended())
        return on_ended(failure());
    if (phase() == detail::phase::closing)
        return on_ended(make_failure(make_error_code(sluice::error::closed_locally),
                                     "session ended by this side"));
    publish();
    for (std::size_t i = 0; i < counter_count; ++i)
        counted_before_[i] = published_[i].load(std::memory_order_relaxed);
    transactions_->forget();
    connection_->deadlines().disarm(again_);
    for (auto const& l : std::vector{links_}) l->lose(true);
    if (auto* const gone = std::exchange(engine_, nullptr))
        gone->context = nullptr;
}

void session_core::begin_again()
{
    auto const self = shared_from_this();
    auto made = connection_->engine().begin(to_engine());
    if (!made && made.error() == sluice::error::connection_not_open)
        return;  // it has ended again, and the event that says so comes next
    if (!made)
        return on_ended(make_failure(made.error(), "no session on the connection that came back"
                                                       + connection_->why_too_large(made.error())));
    engine_ = *made;
    engine_->context = this;
    if (!begin_)
        connection_->deadlines().arm(again_, timeout_, connection_->now());
    for (auto const& l : std::vector{links_}) l->attach_again();
}

void session_core::on_unanswered()
{
    auto const code = make_error_code(sluice::error::timed_out);
    if (++unanswered_ < unanswered_most)
        return connection_->lose(code, "no answer when a session was begun again");
    give_up(code, "begin");
}

}  // namespace sluice::client::detail
