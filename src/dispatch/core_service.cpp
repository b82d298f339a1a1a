// The dispatcher's requests: rollback, commit, close, barrier, one after the other.
#include <sluice/dispatch/detail/core.hpp>
#include <sluice/error.hpp>

#include <algorithm>
#include <cassert>
#include <utility>

namespace sluice::dispatch::detail {

void core::ask(request& r)
{
    if (closed())
        return done(r, r.kind == request_kind::close && reason_ == error::closed_locally
                           ? std::error_code{}
                           : reason_);
    r.at = request::phase::queued;
    if (r.kind == request_kind::barrier) {
        r.number = numbers_;
        r.left = awaited_;
        if (r.left == 0)
            return done(r, {});
        barriers_.push_back(&r);
        return;
    }
    r.holds = true;
    ++holds_;
    queue_.push_back(&r);
}

void core::late(request& r)
{
    if (r.at == request::phase::running) {
        world_.end_session();
        advance(service_event::late);
        return end(make_error_code(error::timed_out));
    }
    if (r.at != request::phase::queued)
        return;
    std::erase(queue_, &r);
    std::erase(barriers_, &r);
    done(r, make_error_code(error::timed_out));
}

void core::leave(request& r)
{
    assert(r.at == request::phase::done);
    if (std::exchange(r.holds, false))
        --holds_;
}

void core::done(request& r, std::error_code why)
{
    r.at = request::phase::done;
    r.result = why;
}

void core::advance(service_event e)
{
    auto const to = service_table.next(service_, e);
    assert(to);
    service_ = to.value_or(service_);
}

bool core::serve()
{
    if (hand_ || running_ || queue_.empty() || closed())
        return false;
    auto* const r = queue_.front();
    queue_.pop_front();
    begin(*r);
    return true;
}

void core::serve_now(request& r)
{
    if (running_ || r.at != request::phase::queued)
        return;
    std::erase(queue_, &r);
    begin(r);
}

void core::begin(request& r)
{
    r.at = request::phase::running;
    running_ = &r;
    outcome_ = {};
    if (r.kind == request_kind::commit) {
        advance(service_event::commit);
        retire_all();
        return world_.discharge(false);
    }
    advance(service_event::rollback);
    begin_draining();
}

void core::begin_draining()
{
    for (auto& [id, s] : seats_) {
        s.quiet = false;
        world_.drain(id);
    }
    quiet();
}

void core::retire_all()
{
    for (auto* it = first_; it;) {
        auto* const after = it->after;
        if (it->at != item::stage::waiting) {
            world_.tell(*it, it->failed ? answer::retire_failed : answer::retire);
            finish(*it);
        }
        it = after;
    }
}

void core::drained(consumer_id id)
{
    auto const at = seats_.find(id);
    if (at == seats_.end() || at->second.quiet)
        return;
    at->second.quiet = true;
    at->second.on_its_way = 0;
    if (service_ == service::draining)
        quiet();
}

void core::quiet()
{
    if (!std::all_of(seats_.begin(), seats_.end(), [](auto const& s) { return s.second.quiet; }))
        return;
    advance(service_event::quiet);
    if (how_.transacted)
        world_.discharge(true);
    else
        discharged({});
}

void core::discharged(std::error_code why)
{
    if (service_ == service::committing) {
        if (!why) {
            advance(service_event::committed);
            return world_.declare();
        }
        outcome_ = why;
        advance(service_event::refused);
        return begin_draining();
    }
    // What the peer says of a rollback changes nothing: it is over either way.
    if (service_ != service::discharging)
        return;
    advance(service_event::discharged);
    release_all();
    if (running_->kind == request_kind::close) {
        advance(service_event::released_for_good);
        return end({});
    }
    advance(service_event::released);
    if (how_.transacted)
        world_.declare();
    else
        declared({});
}

/// In the order of arrival over all consumers, those removed since included. What its sender has
/// settled cannot go back: it stays, unless nobody will ever take it.
void core::release_all()
{
    auto const for_good = running_->kind == request_kind::close;
    for (auto& [id, s] : seats_) {
        s.waiting.clear();
        s.listed = false;
    }
    ready_.clear();
    for (auto* it = first_; it;) {
        auto* const after = it->after;
        auto const at = seats_.find(it->to);
        if (it->settled && it->at == item::stage::waiting && at != seats_.end() && !for_good) {
            at->second.waiting.push_back(it);
            list(at->second);
        } else {
            give_back(*it);
            finish(*it);
        }
        it = after;
    }
}

void core::declared(std::error_code why)
{
    if (service_ != service::declaring)
        return;
    advance(service_event::declared);
    if (!outcome_)
        outcome_ = why;
    complete();
}

void core::complete()
{
    for (auto& [id, s] : seats_) grant(s, true);
    done(*std::exchange(running_, nullptr), outcome_);
}

void core::session_lost(std::error_code why)
{
    if (closed())
        return;
    advance(service_event::lost);
    end(why);
}

/// `why` none: closed by request, everything was released.
void core::end(std::error_code why)
{
    change(why ? lifecycle_event::lost : lifecycle_event::close);
    reason_ = why ? why : make_error_code(error::closed_locally);
    if (running_)
        done(*std::exchange(running_, nullptr), outcome_ && why ? outcome_ : why);
    for (auto* const r : std::exchange(queue_, {}))
        done(*r, r->kind == request_kind::close ? why : reason_);
    forget_all();
    for (auto* const b : std::exchange(barriers_, {})) done(*b, reason_);
    seats_.clear();
    ready_.clear();
}

/// The session is gone, and with it every answer that could be given.
void core::forget_all()
{
    while (first_) finish(*first_);
}

}  // namespace sluice::dispatch::detail
