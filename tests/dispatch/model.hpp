// A peer and callers around the dispatcher's core, as a model that checks each step: one queue of
// numbered messages, links with credit, octets on their way in both directions, listeners, and
// calls that wait. No thread, no socket: what happens next is what the test says.
#pragma once

#include <sluice/dispatch/detail/core.hpp>
#include <sluice/error.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace sluice::test {

using dispatch::lifecycle;
using dispatch::lifecycle_event;
using dispatch::service;
using dispatch::detail::answer;
using dispatch::detail::consumer_id;
using dispatch::detail::request;
using dispatch::detail::request_kind;

struct dispatch_setting {
    bool automatic = false;
    bool transacted = false;
    std::uint32_t messages = 12;
    std::size_t delivered_max = 100;
};

class dispatch_model : private dispatch::detail::links {
public:
    struct consumer {
        std::uint32_t prefetch = 3;
        bool listens = true;
        bool browser = false;
        bool modified_offered = true;
        bool settled = false;  // its messages come settled
        bool waits = false;
    };

    explicit dispatch_model(dispatch_setting s)
        : setting_{s},
          core_{*this,
                {.automatic = s.automatic,
                 .transacted = s.transacted,
                 .delivered_max = s.delivered_max}}
    {
        for (std::uint32_t n = 1; n <= s.messages; ++n) queue_.insert(n);
    }

    /// What was wrong first; empty if nothing was.
    std::string const& fault() const noexcept { return fault_; }
    dispatch::detail::core& core() noexcept { return core_; }
    std::size_t consumers() const noexcept { return registered_.size(); }

    // ---- steps. Each says whether it was possible.

    bool change(lifecycle_event e)
    {
        if (core_.closed())
            return false;
        core_.change(e);
        return checked();
    }
    bool add(consumer c)
    {
        if (core_.closed())
            return false;
        auto const id = ++ids_;
        links_[id] = {.how = c};
        registered_.push_back(id);
        core_.add(id, {.prefetch = c.prefetch,
                       .listens = c.listens,
                       .browser = c.browser,
                       .modified_offered = c.modified_offered,
                       .waits = c.waits});
        return checked();
    }
    bool remove(std::size_t which)
    {
        if (registered_.empty() || core_.closed())
            return false;
        auto const at = registered_.begin() + static_cast<std::ptrdiff_t>(which % consumers());
        auto const id = *at;
        registered_.erase(at);
        expect(core_.remove(id), "a registered consumer is not known");
        in_order_ = false;
        return checked();
    }
    bool clear()
    {
        if (registered_.empty() || core_.closed())
            return false;
        expect(core_.clear() == registered_, "clear returns other consumers");
        registered_.clear();
        in_order_ = false;
        return checked();
    }
    bool ready(std::size_t which)
    {
        if (registered_.empty() || core_.closed())
            return false;
        core_.ready(registered_[which % consumers()]);
        return checked();
    }

    /// The peer sends one message on a link that has credit.
    bool peer_sends(std::size_t which)
    {
        if (queue_.empty() || links_.empty())
            return false;
        auto at = links_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(which % links_.size()));
        auto& [id, l] = *at;
        if (l.sent >= l.limit_at_peer)
            return false;
        auto const copies = l.how.browser && !l.how.settled;
        auto const next = copies ? queue_.upper_bound(l.browsed) : queue_.begin();
        if (next == queue_.end())
            return false;
        auto const n = *next;
        ++l.sent;
        if (copies) {
            l.browsed = n;
        } else {
            queue_.erase(next);
            ++(l.how.settled ? settled_sent_ : lent_);
        }
        to_us_.push_back([this, &l = l, n] { l.inbox.push_back({n, ++arrived_}); });
        return true;
    }
    /// The peer reads what we have written first.
    bool peer_reads()
    {
        if (to_peer_.empty())
            return false;
        auto const f = std::move(to_peer_.front());
        to_peer_.pop_front();
        f();
        return checked();
    }
    /// We read what the peer has written first.
    bool we_read()
    {
        if (to_us_.empty())
            return false;
        auto const f = std::move(to_us_.front());
        to_us_.pop_front();
        f();
        return checked();
    }

    /// A receiver's handler gets the next message of its link.
    bool handles(std::size_t which)
    {
        if (links_.empty())
            return false;
        auto at = links_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(which % links_.size()));
        if (at->second.inbox.empty())
            return false;
        arrives(at->first);
        return checked();
    }

    /// The thread of control, when no listener has it.
    bool turn()
    {
        if (core_.in_hand() || core_.closed())
            return false;
        if (core_.serve())
            return checked();
        auto* const it = core_.next();
        if (!it)
            return false;
        delivered(static_cast<message&>(*it));
        return checked();
    }
    bool returns(bool threw = false)
    {
        if (!core_.in_hand() || inline_running())
            return false;
        if (threw)
            in_order_ = false;
        core_.returned(threw);
        return checked();
    }
    bool take(std::size_t which)
    {
        if (registered_.empty() || core_.closed())
            return false;
        auto const id = registered_[which % consumers()];
        auto* const it = core_.peek(id);
        if (!it)
            return false;
        delivered(static_cast<message&>(*it));
        core_.take(id);
        return checked();
    }
    bool acknowledge()
    {
        if (setting_.automatic || setting_.transacted)
            return false;
        core_.acknowledge();
        return checked();
    }
    /// The user answers the message delivered first by himself.
    bool user_answers()
    {
        if (setting_.automatic || setting_.transacted)
            return false;
        for (auto* const m : live_)
            if (m->at == dispatch::detail::item::stage::delivered && !m->told) {
                m->told = true;
                settle(*m, answer::accept);
                return checked();
            }
        return false;
    }

    bool ask(request_kind kind)
    {
        if (calls_.size() >= 4 || (kind == request_kind::commit && !setting_.transacted))
            return false;
        calls_.emplace_back(kind);
        calls_.back().after = dispatched_;
        core_.ask(calls_.back().r);
        return checked();
    }
    /// The listener asks, and waits: its thread is the thread of control.
    bool ask_inline(request_kind kind)
    {
        if (!core_.in_hand() || inline_running() || kind == request_kind::barrier)
            return false;
        if (!ask(kind))
            return false;
        calls_.back().by_listener = true;
        core_.serve_now(calls_.back().r);
        return checked();
    }
    bool late(std::size_t which)
    {
        if (calls_.empty())
            return false;
        auto at = calls_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(which % calls_.size()));
        if (at->r.at == request::phase::done)
            return false;
        core_.late(at->r);
        expect(at->r.at == request::phase::done, "a call past its deadline still waits");
        return checked();
    }
    /// The first call that is done returns.
    bool leave()
    {
        auto const at = std::find_if(calls_.begin(), calls_.end(),
                                     [](call const& c) { return c.r.at == request::phase::done; });
        if (at == calls_.end())
            return false;
        core_.leave(at->r);
        calls_.erase(at);
        return checked();
    }
    void refuse_next_commit() noexcept { refuse_ = true; }
    bool lose_session()
    {
        if (core_.closed())
            return false;
        core_.session_lost(make_error_code(error::session_ended_by_peer));
        ended_ = true;
        return checked();
    }

    /// Lets everything that is under way come to its end, and checks that it has one.
    void settle_down()
    {
        for (int i = 0; i < 10'000; ++i)
            if (!peer_reads() && !we_read() && !any_handles() && !leave() && !returns()
                && !(work_is_asked_for() && turn()))
                break;
        expect(core_.at() == service::idle || core_.at() == service::ended,
               "a request has not come to its end");
        balance();
    }
    /// And then everything is delivered.
    void run_dry()
    {
        settle_down();
        if (core_.closed() || registered_.empty() || !fault_.empty())
            return expect(calls_.empty(), "a call does not return");
        change(lifecycle_event::start);
        for (std::size_t i = 0; i < registered_.size(); ++i) ready(i);
        for (int i = 0; i < 10'000; ++i) {
            auto moved =
                peer_reads() || we_read() || any_handles() || leave() || returns() || turn();
            for (std::size_t c = 0; c < links_.size(); ++c) moved = peer_sends(c) || moved;
            for (std::size_t c = 0; c < consumers(); ++c) moved = take(c) || moved;
            if (!moved)
                break;
        }
        if (std::any_of(registered_.begin(), registered_.end(),
                        [&](consumer_id id) { return !links_[id].how.browser; })
            && (!setting_.transacted || core_.delivered() < setting_.delivered_max))
            expect(queue_.empty() || (setting_.transacted && !declared_),
                   "messages are left that nobody gets");
        expect(calls_.empty(), "a call does not return");
        balance();
    }

private:
    struct message final : dispatch::detail::item {
        explicit message(dispatch_model& m) : world{m} { world.live_.push_back(this); }
        ~message() override { std::erase(world.live_, this); }
        dispatch_model& world;
        std::uint32_t n = 0;
        std::uint64_t place = 0;  // in the order of dispatch
        bool copy = false;
        bool told = false;
    };
    struct parcel {
        std::uint32_t n = 0;
        std::uint64_t arrival = 0;
    };
    struct link {
        consumer how{};
        std::uint64_t limit = 0;  // as we have stated it
        std::uint64_t limit_at_peer = 0;
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        std::deque<parcel> inbox{};
        std::uint32_t browsed = 0;       // the last message copied
        std::uint64_t last_arrival = 0;  // delivered to its consumer
    };
    struct call {
        explicit call(request_kind k) : r{k} {}
        request r;
        bool by_listener = false;
        std::uint64_t after = 0;
    };

    // ---- links

    void limit(consumer_id of, std::uint64_t to)
    {
        links_[of].limit = to;
        to_peer_.push_back([this, of, to] {
            // What was sent before it was read counts.
            links_[of].limit_at_peer = std::max(to, links_[of].sent);
        });
    }
    void set_credit(consumer_id of, std::uint32_t credit) override
    {
        limit(of, links_[of].received + credit);
    }
    void add_credit(consumer_id of, std::uint32_t more) override
    {
        limit(of, links_[of].limit + more);
    }
    void gives_back(consumer_id of, bool told)
    {
        to_peer_.push_back([this, of, told] {
            auto& l = links_[of];
            l.sent = l.limit_at_peer;
            to_us_.push_back([this, of, told, to = l.sent] {
                while (!links_[of].inbox.empty()) arrives(of);
                links_[of].received = to;
                if (told)
                    core_.drained(of);
            });
        });
    }
    void drain(consumer_id of) override { gives_back(of, true); }
    void stop(consumer_id of) override { gives_back(of, false); }
    void discharge(bool fail) override
    {
        expect(setting_.transacted, "a discharge without a transaction");
        auto const refused = !fail && std::exchange(refuse_, false);
        to_peer_.push_back([this, fail, refused] {
            for (auto const n : std::exchange(provisional_, {}))
                if (fail || refused) {
                    queue_.insert(n);
                    --lent_;
                } else {
                    accept(n);
                }
            to_us_.push_back([this, refused] {
                core_.discharged(refused ? make_error_code(error::transaction_rolled_back)
                                         : std::error_code{});
            });
        });
    }
    void declare() override
    {
        to_peer_.push_back([this] { to_us_.push_back([this] { core_.declared({}); }); });
    }
    void tell(dispatch::detail::item& it, answer a) override
    {
        auto& m = static_cast<message&>(it);
        if (m.settled
            || (m.told && !setting_.automatic && !setting_.transacted && a != answer::retire))
            return;
        expect(!m.told, "a message is answered twice");
        m.told = true;
        if (in_rollback() && a != answer::accept) {
            expect(m.arrival > last_released_, "a rollback releases out of order");
            last_released_ = m.arrival;
        }
        if (core_.at() == service::releasing)
            expect(a
                       == (m.browsed                                        ? answer::clear
                           : m.at == dispatch::detail::item::stage::waiting ? answer::release
                           : m.modified_offered                             ? answer::fail
                                                                            : answer::release),
                   "a rollback gives the wrong answer");
        settle(m, a);
    }
    void settle(message& m, answer a)
    {
        if (m.copy)
            return;
        to_peer_.push_back([this, n = m.n, a] {
            switch (a) {
            case answer::release:
            case answer::fail:
                queue_.insert(n);
                --lent_;
                return;
            case answer::accept:
            case answer::clear: return accept(n);
            case answer::retire:
            case answer::retire_failed: provisional_.push_back(n); return;
            }
        });
    }
    bool answered(dispatch::detail::item const& it) const override
    {
        return static_cast<message const&>(it).told;
    }
    void end_session() override { ended_ = true; }

    void accept(std::uint32_t n)
    {
        --lent_;
        expect(accepted_.insert(n).second, "a message is accepted twice");
    }

    // ---- what happens

    bool any_handles()
    {
        for (std::size_t i = 0; i < links_.size(); ++i)
            if (handles(i))
                return true;
        return false;
    }
    void arrives(consumer_id id)
    {
        auto& l = links_[id];
        auto const p = l.inbox.front();
        l.inbox.pop_front();
        ++l.received;
        auto m = std::make_unique<message>(*this);
        m->arrival = p.arrival;
        m->n = p.n;
        m->place = ++dispatched_;
        m->copy = l.how.browser && !l.how.settled;
        m->settled = l.how.settled;
        core_.arrived(std::move(m), id);
    }

    void delivered(message& m)
    {
        expect(std::none_of(calls_.begin(), calls_.end(),
                            [](call const& c) { return c.r.kind != request_kind::barrier; }),
               "a message is delivered while a call waits");
        auto& l = links_[m.to];
        expect(m.arrival > l.last_arrival, "a consumer's messages are out of order");
        l.last_arrival = m.arrival;
        // Of one queue with one consumer that never lost its place.
        if (links_.size() == 1 && in_order_ && !l.how.browser) {
            expect(m.n > last_number_, "redelivery is out of order");
            last_number_ = m.n;
        }
    }

    bool in_rollback() const noexcept
    {
        return core_.at() == service::draining || core_.at() == service::discharging
               || core_.at() == service::releasing;
    }
    bool inline_running() const
    {
        return std::any_of(calls_.begin(), calls_.end(),
                           [](call const& c) { return c.by_listener; });
    }
    bool work_is_asked_for() const
    {
        return std::any_of(calls_.begin(), calls_.end(), [](call const& c) {
            return c.r.at == request::phase::queued && c.r.kind != request_kind::barrier;
        });
    }

    bool checked()
    {
        for (auto& c : calls_) {
            if (c.r.at != request::phase::done)
                continue;
            if (c.r.kind == request_kind::rollback && !c.r.result)
                last_number_ = 0;
            if (c.r.kind == request_kind::commit && c.r.result)
                last_number_ = 0;
            if (c.r.kind == request_kind::barrier && !c.r.result)
                for (auto* const m : live_)
                    expect(!m->awaited || m->place > c.after,
                           "a barrier is through before a message that was there");
        }
        if (!in_rollback())
            last_released_ = 0;
        for (auto const id : registered_) {
            if (core_.closed())
                break;
            auto const& l = links_[id];
            expect(core_.credit(id) + core_.waiting(id)
                       <= l.how.prefetch + (l.how.settled ? 99 : 0),
                   "more than the prefetch is granted");
            if (core_.at() == service::idle)
                expect(core_.credit(id) == l.limit - l.received, "the credit is miscounted");
        }
        std::size_t in_stage = 0;
        for (auto* const m : live_)
            in_stage += m->at == dispatch::detail::item::stage::delivered && !m->over;
        expect(in_stage == core_.delivered(), "delivered messages are miscounted");
        return true;
    }

    /// Each message is in the queue, accepted, or lent to us once.
    void balance()
    {
        if (ended_)
            return;
        std::size_t held = 0;
        for (auto* const m : live_) held += !m->copy && !m->settled && !m->told;
        expect(to_us_.empty() && to_peer_.empty(), "octets are left");
        expect(held == lent_, "messages are lost: " + std::to_string(held) + " held, "
                                  + std::to_string(lent_) + " lent");
        expect(queue_.size() + accepted_.size() + lent_ + settled_sent_ == setting_.messages,
               "messages are lost or doubled");
        if (core_.closed())
            expect(held == 0, "messages are held after close");
    }

    void expect(bool holds, std::string const& what)
    {
        if (!holds && fault_.empty())
            fault_ = what;
    }

    dispatch_setting const setting_;
    std::string fault_;
    std::vector<message*> live_;
    std::map<consumer_id, link> links_;
    std::vector<consumer_id> registered_;
    consumer_id ids_ = 0;
    std::set<std::uint32_t> queue_;
    std::set<std::uint32_t> accepted_;
    std::vector<std::uint32_t> provisional_;
    std::size_t lent_ = 0;
    std::size_t settled_sent_ = 0;
    std::deque<std::function<void()>> to_peer_;
    std::deque<std::function<void()>> to_us_;
    std::list<call> calls_;
    std::uint64_t arrived_ = 0;
    std::uint64_t dispatched_ = 0;
    std::uint64_t last_released_ = 0;
    std::uint32_t last_number_ = 0;
    bool in_order_ = true;
    bool refuse_ = false;
    bool declared_ = true;
    bool ended_ = false;
    dispatch::detail::core core_;
};

}  // namespace sluice::test
