// Frames that wait in the inbox for room in their link's reassembly buffer or body stream.
#include <sluice/engine/connection.hpp>
#include <sluice/engine/delivery_inbox.hpp>

#include <algorithm>

namespace sluice::engine {

void delivery_inbox::wait(receiver& link, transfer const& t, bytes_view payload, bool first)
{
    waiting_frame f{.link = &link,
                    .first = first,
                    .more = t.more,
                    .aborted = t.aborted,
                    .settled = t.settled.value_or(false),
                    .resume = t.resume,
                    .mode = t.rcv_settle_mode.value_or(link.rcv_settle_mode_),
                    .message_format = t.message_format.value_or(0)};
    if (first) {
        f.id = *t.delivery_id;
        f.tag.assign(*t.delivery_tag);
        link.half_id_ = f.id;
    }
    f.state.assign(t.state.encoded.begin(), t.state.encoded.end());
    f.payload.assign(payload.begin(), payload.end());
    waiting_.push_back(std::move(f));
    if (link.waiting_frames_++ == 0)
        ++links_waiting_;
    link.half_waits_ = t.more && !t.aborted;
    if (waiting_.size() >= capacity_ && partial_ > 0)
        admit_oldest();
}

std::size_t delivery_inbox::held_bytes() const noexcept
{
    auto held = buffered_;
    for (auto i = waiting_.size(); i != 0;) held += waiting_[--i].payload.size();
    return held;
}

/// Whether a frame that waits would have to wait now.
bool delivery_inbox::over(waiting_frame const& f) const noexcept
{
    if (f.first)
        return buffered_ + f.payload.size() > buffered_max_ && f.link->unread_ > 0;
    auto const* const half = f.link->partial_;
    return f.link->options_.streamed && f.link->unread_ >= f.link->options_.stream_buffer_max
           && !(half && half->dropped_);
}

/// The window is shut and begun deliveries need it: the oldest that is not held by its own reader
/// goes in, with what continues it.
void delivery_inbox::admit_oldest()
{
    std::size_t i = 0;
    for (++pass_; i < waiting_.size(); ++i) {
        auto const& f = waiting_[i];
        if (f.first && f.link->blocked_in_pass_ != pass_)
            break;
        f.link->blocked_in_pass_ = pass_;  // its reader holds an older delivery: that goes first
    }
    if (i == waiting_.size())
        return;
    auto const* const link = waiting_[i].link;
    admit_waiting(i);
    while (i < waiting_.size()) {
        auto const& f = waiting_[i];
        if (f.link != link) {
            ++i;
            continue;
        }
        if (f.first || over(f))
            return;
        admit_waiting(
            i);  // if it ends its link, whose frames are gone then, the search just finds nothing
    }
}

void delivery_inbox::admit_waiting(std::size_t at)
{
    waiting_frame f = std::move(waiting_[at]);
    for (auto i = at; i > 0; --i) waiting_[i] = std::move(waiting_[i - 1]);
    waiting_.pop_front();
    auto& link = *f.link;
    if (--link.waiting_frames_ == 0)
        --links_waiting_;
    transfer t{.handle = link.remote_handle_,
               .settled = f.settled,
               .more = f.more,
               .state = {f.state},
               .resume = f.resume,
               .aborted = f.aborted};
    t.rcv_settle_mode = f.mode;
    t.message_format = f.message_format;
    if (f.first) {
        t.delivery_id = f.id;
        t.delivery_tag = f.tag.view();
    }
    if (link.waiting_frames_ == 0)
        link.half_waits_ = false;
    admit(link, t, f.payload, f.first);
    if (f.settled_since) [[unlikely]]
        session_.settle_incoming({.role = role::sender, .first = f.id, .settled = true});
}

void delivery_inbox::on_room_while_waiting(receiver& link)
{
    if (moving_)
        return;
    moving_ = true;  // admit() can end a link, which frees room again
    move_waiting();
    moving_ = false;
    if (link.session_->state_ == session_state::mapped)
        request_window_if_due();
}

/// Oldest first; frames of a link that must still wait are passed over, so that no link waits
/// behind another.
void delivery_inbox::move_waiting()
{
    ++pass_;
    std::size_t blocked = 0;
    for (std::size_t i = 0; i < waiting_.size() && blocked < links_waiting_;) {
        auto const& f = waiting_[i];
        auto& link = *f.link;
        if (link.blocked_in_pass_ == pass_) {
            ++i;
            continue;
        }
        if (over(f)) {
            link.blocked_in_pass_ = pass_;
            ++blocked;
            ++i;
            continue;
        }
        auto const expected = waiting_.size() - 1;
        admit_waiting(i);
        if (waiting_.size() != expected)
            i = 0;  // it ended its link, whose frames are gone
    }
}

/// The sender settles deliveries whose first frames wait here: they come in settled.
void delivery_inbox::settle_waiting(disposition const& what)
{
    auto const count = distance(what.first, what.last.value_or(what.first));
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
        auto& f = waiting_[i];
        auto const at = distance(what.first, f.id);
        if (!f.first || at < 0 || at > count)
            continue;
        f.settled_since = true;
        if (!what.state.empty())
            f.state.assign(what.state.encoded.begin(), what.state.encoded.end());
    }
}

void delivery_inbox::drop(receiver& link) noexcept
{
    for (std::size_t i = 0; i < waiting_.size();) {
        if (waiting_[i].link != &link) {
            ++i;
            continue;
        }
        for (auto k = i; k > 0; --k) waiting_[k] = std::move(waiting_[k - 1]);
        waiting_.pop_front();
    }
    link.half_waits_ = false;
    if (link.waiting_frames_ == 0)
        return;
    --links_waiting_;
    link.waiting_frames_ = 0;
    if (session_.state_ == session_state::mapped && !session_.reported_)
        request_window_if_due();  // the room that they took is free
}

}  // namespace sluice::engine
