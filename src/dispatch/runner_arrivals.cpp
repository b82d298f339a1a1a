// Messages that come to a dispatcher: brought one by one, taken in by the batch.
#include "dispatch/runner.hpp"

#include <memory>

namespace sluice::dispatch::detail {
namespace {

constexpr std::size_t spare_max = 1'024;  // messages kept for the next ones

}  // namespace

std::uint64_t runner::order_of(client::delivery const& d) noexcept
{
    // Serial numbers, made longer by the way that they have come: next to the last one.
    auto const ahead =
        static_cast<std::int32_t>(d.id().value() - static_cast<std::uint32_t>(arrivals_));
    return arrivals_ += static_cast<std::uint64_t>(std::int64_t{ahead});
}

void runner::take_in(std::shared_ptr<place> const& p, client::delivery d)
{
    auto m = spare_.empty() ? std::make_unique<message>() : std::move(spare_.back());
    if (!spare_.empty())
        spare_.pop_back();
    m->arrival = order_of(d);
    m->settled = d.settled();
    m->what = std::move(d);
    m->from = p;
    core_.arrived(std::move(m), p ? p->id : 0);
}

void runner::dispose(item& it)
{
    auto& m = static_cast<message&>(it);
    if (spare_.size() >= spare_max)
        return delete &m;
    std::destroy_at(&m);
    spare_.emplace_back(std::construct_at(&m));
}

void runner::dispatch(consumer_id to, client::delivery d)
{
    {
        std::lock_guard const l{come_mutex_};
        come_.push_back({to, std::move(d)});
        has_come_.store(true, std::memory_order_seq_cst);
    }
    if (thread_is_.load(std::memory_order_seq_cst) == thread_state::works
        && callers_.load(std::memory_order_seq_cst) == 0)
        return;  // who begins to wait looks once more
    auto const l = hold();
    wake();
    changed_.notify_all();
}

runner::lock runner::hold()
{
    lock l{mutex_};
    take_in_all();
    return l;
}

bool runner::take_in_all()
{
    if (!has_come_.load(std::memory_order_seq_cst))
        return false;
    {
        std::lock_guard const l{come_mutex_};
        taking_.swap(come_);
        has_come_.store(false, std::memory_order_seq_cst);
    }
    for (auto& m : taking_) {
        auto const at = places_.find(m.to);
        take_in(at == places_.end() ? nullptr : at->second, std::move(m.what));
    }
    taking_.clear();
    return true;
}

}  // namespace sluice::dispatch::detail
