// Tells an observer what has happened.
#include "client/observing.hpp"

namespace sluice::client {

observer::~observer() = default;
void observer::on_connection_state(observed_connection const&, state_change const&) {}
void observer::on_session_ended(observed_connection const&, failure_ptr const&) {}
void observer::on_link_attached(observed_link const&) {}
void observer::on_link_detached(observed_link const&, detach_notice const&) {}
void observer::on_send_completed(observed_link const&, send_result const&, std::chrono::nanoseconds)
{
}
void observer::on_delivery(observed_link const&, std::size_t) {}

namespace detail {
namespace {

template <class... Fs>
struct overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

}  // namespace

void observer_feed::tell(fact f)
{
    auto const frequent =
        std::holds_alternative<observed_send>(f) || std::holds_alternative<observed_delivery>(f);
    {
        std::lock_guard const lock{mutex_};
        if (waiting_.size() >= (frequent ? waiting_max : waiting_max + reserved)) {
            dropped_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        waiting_.push_back(std::move(f));
        if (std::exchange(queued_, true))
            return;
    }
    again(shared_from_this());
}

void observer_feed::again(std::shared_ptr<observer_feed> self)
{
    auto const queue = queue_.lock();
    if (!queue)
        return discard();
    {
        std::lock_guard const lock{mutex_};
        keep_ = std::move(self);
    }
    queue->push(*this);
}

void observer_feed::run()
{
    std::shared_ptr<observer_feed> keep;
    {
        std::lock_guard const lock{mutex_};
        keep.swap(keep_);
    }
    for (int i = 0; i < told_at_once; ++i) {
        fact f;
        {
            std::lock_guard const lock{mutex_};
            if (waiting_.empty()) {
                queued_ = false;
                return;
            }
            f = std::move(waiting_.front());
            waiting_.pop_front();
        }
        try {
            call(f);
        } catch (...) {
            again(std::move(keep));
            throw;  // to container_options::on_exception
        }
    }
    again(std::move(keep));
}

/// The executor is gone, and with it whoever would have been told.
void observer_feed::discard() noexcept
{
    std::shared_ptr<observer_feed> keep;
    std::deque<fact> gone;
    std::lock_guard const lock{mutex_};
    keep.swap(keep_);
    gone.swap(waiting_);
    queued_ = false;
    dropped_.fetch_add(gone.size(), std::memory_order_relaxed);
}

void observer_feed::call(fact const& f) const
{
    auto& to = *observer_;
    std::visit(
        overloaded{[&](observed_state const& e) {
                       to.on_connection_state({e.where, identity_}, e.to);
                   },
                   [&](observed_end const& e) {
                       to.on_session_ended({e.where, identity_}, e.why);
                   },
                   [&](observed_attach const& e) { to.on_link_attached(*e.at); },
                   [&](observed_detach const& e) { to.on_link_detached(*e.at, e.what); },
                   [&](observed_send const& e) { to.on_send_completed(*e.at, e.what, e.latency); },
                   [&](observed_delivery const& e) { to.on_delivery(*e.at, e.octets); }},
        f);
}

}  // namespace detail
}  // namespace sluice::client
