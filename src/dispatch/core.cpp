// The dispatcher's messages: arriving, waiting, in hand, delivered, answered; and the credit.
#include <sluice/dispatch/detail/core.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::dispatch::detail {

core::~core()
{
    forget_all();
    delete hand_;  // forgotten, and kept for its listener
}

void core::change(lifecycle_event e)
{
    if (auto const to = lifecycle_table.next(lifecycle_, e))
        lifecycle_ = *to;
}

// ---- consumers

void core::add(consumer_id id, settings how)
{
    assert(!closed() && !knows(id));
    how.prefetch = std::max(how.prefetch, 1u);
    auto& s = seats_[id];
    s.id = id;
    s.how = how;
    if (how.waits)
        return;
    if (service_ != service::idle)  // it gets its credit with the others
        return world_.set_credit(id, 0);
    s.on_its_way = how.prefetch - std::min(how.prefetch, how.held);
    world_.set_credit(id, s.on_its_way);
}

/// Between the drain and the release: what is not wanted goes back in its place, not before.
bool core::goes_back() const noexcept
{
    return service_ == service::draining || service_ == service::discharging;
}

bool core::remove(consumer_id id)
{
    auto const at = seats_.find(id);
    if (at == seats_.end())
        return false;
    drop(at->second);
    seats_.erase(at);
    if (service_ == service::draining)
        quiet();
    return true;
}

std::vector<consumer_id> core::clear()
{
    std::vector<consumer_id> out;
    for (auto& [id, s] : seats_) {
        out.push_back(id);
        drop(s);
    }
    seats_.clear();
    ready_.clear();
    if (service_ == service::draining)
        quiet();
    return out;
}

void core::drop(seat& s)
{
    world_.stop(s.id);
    if (goes_back())
        return;
    for (auto* const it : s.waiting) {
        give_back(*it);
        finish(*it);
    }
}

void core::ready(consumer_id id)
{
    auto const at = seats_.find(id);
    if (at == seats_.end())
        return;
    at->second.how.waits = false;
    grant(at->second, true);
}

void core::list(seat& s)
{
    if (!s.how.listens || s.listed || s.waiting.empty())
        return;
    s.listed = true;
    ready_.push_back(s.id);
}

std::size_t core::room(seat const& s) const noexcept
{
    auto const taken = std::size_t{s.on_its_way} + s.how.held + s.waiting.size();
    return s.how.prefetch - std::min<std::size_t>(taken, s.how.prefetch);
}

/// In halves, so that not each message costs a flow.
void core::grant(seat& s, bool all)
{
    if (s.how.waits || service_ != service::idle || closed()
        || (how_.transacted && delivered_ >= how_.delivered_max))
        return;
    auto const more = static_cast<std::uint32_t>(room(s));
    if (more == 0 || (!all && more < (s.how.prefetch + 1) / 2))
        return;
    s.on_its_way += more;
    world_.add_credit(s.id, more);
}

// ---- messages

void core::arrived(std::unique_ptr<item> owned, consumer_id to)
{
    auto const at = seats_.find(to);
    auto const known = at != seats_.end();
    if (closed() || (!known && !goes_back())) {
        world_.tell(*owned, answer::release);
        return;
    }
    auto& it = *owned.release();
    it.to = to;
    it.number = ++numbers_;
    insert(it);
    ++held_;
    if (!known)
        return;
    auto& s = at->second;
    it.browsed = s.how.browser;
    it.modified_offered = s.how.modified_offered;
    if (s.how.held > 0)
        --s.how.held;
    else if (s.on_its_way > 0)
        --s.on_its_way;
    it.awaited = s.how.listens;
    awaited_ += it.awaited;
    s.waiting.push_back(&it);
    list(s);
}

item* core::next()
{
    if (!deliverable() || hand_)
        return nullptr;
    while (!ready_.empty()) {
        auto const at = seats_.find(ready_.front());
        ready_.pop_front();
        if (at == seats_.end())
            continue;
        auto& s = at->second;
        s.listed = false;
        if (s.waiting.empty())
            continue;
        hand_ = s.waiting.front();
        s.waiting.pop_front();
        hand_->at = item::stage::in_hand;
        list(s);  // behind the others
        grant(s, false);
        return hand_;
    }
    return nullptr;
}

void core::returned(bool threw)
{
    assert(hand_);
    auto& it = *hand_;
    hand_ = nullptr;
    awaited_no_more(it);
    if (it.over) {
        world_.dispose(it);
        return;
    }
    it.failed = threw;
    if (threw && !how_.transacted) {
        world_.tell(it, it.modified_offered ? answer::fail : answer::release);
        return finish(it);
    }
    hand_over(it);
}

item* core::peek(consumer_id id) const
{
    auto const at = seats_.find(id);
    if (!deliverable() || at == seats_.end() || at->second.how.listens
        || at->second.waiting.empty())
        return nullptr;
    return at->second.waiting.front();
}

void core::take(consumer_id id)
{
    assert(peek(id));
    auto& s = seats_.find(id)->second;
    auto& it = *s.waiting.front();
    s.waiting.pop_front();
    hand_over(it);
    grant(s, false);
}

/// The user has it now.
void core::hand_over(item& it)
{
    if (how_.automatic)
        world_.tell(it, answer::accept);
    if (how_.automatic || it.settled || (!how_.transacted && world_.answered(it)))
        return finish(it);
    it.at = item::stage::delivered;
    if (++delivered_ >= sweep_at_)
        sweep();
}

/// Forgets what its user has answered by himself.
void core::sweep()
{
    for (auto* it = first_; it;) {
        auto* const after = it->after;
        if (it->at == item::stage::delivered && world_.answered(*it))
            finish(*it);
        it = after;
    }
    sweep_at_ = std::max<std::size_t>(64, 2 * delivered_);
}

void core::acknowledge()
{
    for (auto* it = first_; it;) {
        auto* const after = it->after;
        if (it->at != item::stage::waiting) {
            world_.tell(*it, answer::accept);
            finish(*it);
        }
        it = after;
    }
}

void core::give_back(item& it)
{
    auto const seen = it.at != item::stage::waiting;
    world_.tell(it, it.browsed                    ? answer::clear
                    : seen && it.modified_offered ? answer::fail
                                                  : answer::release);
}

void core::finish(item& it)
{
    unlink(it);
    --held_;
    if (it.at == item::stage::delivered)
        --delivered_;
    if (&it == hand_) {
        it.over = true;  // goes when its listener returns
        return;
    }
    awaited_no_more(it);
    world_.dispose(it);
}

void core::awaited_no_more(item& it)
{
    if (!std::exchange(it.awaited, false))
        return;
    --awaited_;
    std::erase_if(barriers_, [&](request* b) {
        if (it.number > b->number || --b->left > 0)
            return false;
        done(*b, {});
        return true;
    });
}

/// Nearly always at the end: links take turns within a session, and so do their inboxes.
void core::insert(item& it) noexcept
{
    auto* before = last_;
    while (before && before->arrival > it.arrival) before = before->before;
    it.before = before;
    it.after = before ? before->after : first_;
    (it.before ? it.before->after : first_) = &it;
    (it.after ? it.after->before : last_) = &it;
}

void core::unlink(item& it) noexcept
{
    (it.before ? it.before->after : first_) = it.after;
    (it.after ? it.after->before : last_) = it.before;
    it.before = it.after = nullptr;
}

bool core::quiet_link(consumer_id id) const
{
    auto const at = seats_.find(id);
    return at == seats_.end() || at->second.quiet;
}

std::size_t core::waiting(consumer_id id) const
{
    auto const at = seats_.find(id);
    return at == seats_.end() ? 0 : at->second.waiting.size();
}

std::uint32_t core::credit(consumer_id id) const
{
    auto const at = seats_.find(id);
    return at == seats_.end() ? 0 : at->second.on_its_way;
}

}  // namespace sluice::dispatch::detail
