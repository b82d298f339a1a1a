// The receiving end of a link.
#include <sluice/engine/connection.hpp>
#include <sluice/engine/receiver.hpp>

#include <algorithm>

namespace sluice::engine {

receiver::receiver(engine::session& s, link_options options)
    : link{s, role::receiver, std::move(options)}
{
    set_window(options_.credit_window);
    credit_ = window_;
}

receiver::~receiver() = default;

void receiver::set_window(std::uint32_t window) noexcept
{
    window_ = window;
    top_up_at_ = window - std::min(window, std::max(1u, window / 2));
}

void receiver::set_credit(std::uint32_t credit)
{
    set_window(0);
    credit_ = credit;
    request_flow();
}

void receiver::add_credit(std::uint32_t more)
{
    auto const sum = static_cast<std::uint64_t>(credit_) + more;
    set_credit(static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, 0xffff'ffff)));
}

void receiver::set_credit_window(std::uint32_t window)
{
    set_window(window);
    credit_ = window > held_ ? window - held_ : 0;
    request_flow();
}

void receiver::drain()
{
    if (credit_ == 0 && granted_ == 0) {
        session_->emit({.kind = event_kind::drained, .session = session_, .link = this});
        return;
    }
    set_window(0);
    drain_ = true;
    request_flow();
}

void receiver::stop_drain()
{
    if (!drain_)
        return;
    drain_ = false;
    gave_back_ = false;
    request_flow();
}

/// The credit is gone and all that it paid for is here.
void receiver::check_drained()
{
    if (!drain_ || (granted_ != 0 && !gave_back_) || partial_ || waiting_frames_ != 0)
        return;
    drain_ = false;
    gave_back_ = false;
    credit_ = 0;
    session_->emit({.kind = event_kind::drained, .session = session_, .link = this});
}

void receiver::request_flow(bool echo) { session_->queue_.request_flow(this, echo); }

/// Called when the peer's attach is here: its count is where ours starts. [2.6.7]
void receiver::on_attached()
{
    delivery_count_ = remote_.initial_delivery_count.value_or(sequence_number{0});
    knows_count_ = true;
    // A flow written before had no delivery-count: it counted from the sender's first one.
    written_limit_ = delivery_count_ + granted_;
    if (credit_ > 0 && granted_ == 0)
        request_flow();
}

/// The sender goes by our latest limit: what was granted beyond it before is void. That is, unless
/// the same limit was written before a higher one as well, which may still be on its way then.
void receiver::on_limit_known(flow const& peer) noexcept
{
    if (hides_limit_ && distance(written_limit_, hidden_limit_) >= 0) {
        gave_back_ = drain_ && peer.drain && *peer.link_credit == 0;
        return;
    }
    // Its count is ours, unless it is behind what it has sent; its credit may have all of 32 bits.
    auto const behind = std::max(0, distance(*peer.delivery_count, delivery_count_));
    granted_ = *peer.link_credit - std::min(*peer.link_credit, static_cast<std::uint32_t>(behind));
    hides_limit_ = false;
}

/// The peer's view of the link: its count may run ahead of ours when it gave credit back. [2.6.7]
void receiver::on_flow(flow const& peer)
{
    if (!peer.delivery_count && session_->options_.policy == flow_policy::strict)
        return session_->fail_link(*this, error::missing_mandatory_field, condition::invalid_field,
                                   "flow from the sender of '" + name()
                                       + "' without delivery-count [2.7.4]");
    if (peer.available)
        available_ = *peer.available;
    if (peer.delivery_count) {
        auto const lost = peer.delivery_count->value() - delivery_count_.value();
        // As serial numbers go it is ahead, or it has given more than half of the circle back.
        auto const ahead = distance(delivery_count_, *peer.delivery_count) > 0;
        if (ahead || (lost != 0 && lost <= granted_)) {
            delivery_count_ = *peer.delivery_count;
            credit_ -= std::min(credit_, lost);
            granted_ -= std::min(granted_, lost);
        }
        if (peer.link_credit && *peer.delivery_count + *peer.link_credit == written_limit_)
            on_limit_known(peer);
    }
    check_drained();
    if (peer.echo)
        request_flow();
    top_up();
}

/// Automatic credit: grants anew when half of the window is free, so that one flow serves many
/// deliveries.
void receiver::top_up()
{
    if (held_ + credit_ > top_up_at_) [[likely]]
        return;
    if (window_ == 0 || drain_ || !attached())
        return;
    credit_ = window_ - held_;
    request_flow();
}

std::uint32_t receiver::credit_to_write() noexcept
{
    if (window_ != 0 && !drain_)
        credit_ = window_ > held_ ? window_ - held_ : 0;
    auto const limit = delivery_count_ + credit_;
    if (distance(written_limit_, limit) > 0) {
        auto const highest = delivery_count_ + granted_;
        if (!hides_limit_ || distance(hidden_limit_, highest) > 0)
            hidden_limit_ = highest;
        hides_limit_ = true;
    }
    granted_ = std::max(granted_, credit_);
    written_limit_ = limit;
    gave_back_ = false;
    return credit_;
}

/// The owner holds it no longer: its place in the credit window is free.
void receiver::let_go(incoming_delivery& d)
{
    if (d.noted_) [[unlikely]]
        session_->connection_.purge(d);
    part_with(d);
    session_->release(d);
}

/// As let_go(), but for the final event, which tells of it and gives it back.
void receiver::part_with(incoming_delivery& d)
{
    discard_body(d);
    if (held_ > 0)
        --held_;
    here_.remove(d);
    top_up();
}

namespace {

bool says_outcome(raw_value state) noexcept
{
    return !state.empty() && kind_of(state) != outcome_kind::received;
}

}  // namespace

/// A disposition is one frame.
bool receiver::fits(raw_value state) const noexcept
{
    return state.encoded.size() + 64 <= session_->connection_.outgoing_frame_max_;
}

std::error_code receiver::update(incoming_delivery& d, raw_value state)
{
    if (d.remotely_settled_ || d.state_ == incoming_state::settled
        || d.state_ == incoming_state::aborted)
        return make_error_code(error::already_settled);
    if (!fits(state))
        return make_error_code(error::too_large);
    session_->queue_.push_disposition(role::receiver, d.id_, false, state);
    if (!says_outcome(state))
        return {};  // `received` leaves everything to be said
    if (auto const next = incoming_table.next(d.state_, incoming_event::answer))
        d.state_ = *next;
    return {};
}

std::error_code receiver::settle(incoming_delivery& d, raw_value state)
{
    if (d.remotely_settled_
        && d.state_ == incoming_state::complete) {  // the sender settled it: nothing to say
        let_go(d);
        return {};
    }
    auto const gone = d.state_ == incoming_state::settled || d.state_ == incoming_state::aborted;
    auto const second = !gone && !d.remotely_settled_ && d.mode_ == receiver_settle_mode::second
                        && says_outcome(state);
    if (second && d.complete_) {
        if (d.state_ == incoming_state::answered)
            return make_error_code(error::already_settled);
        return update(d, state);  // held and in the index until the sender settles [2.6.12]
    }
    if (!fits(state))
        return make_error_code(error::too_large);
    if (!gone && !d.remotely_settled_)
        session_->queue_.push_disposition(role::receiver, d.id_, !second, state);
    if (!gone && !d.complete_) {
        if (d.noted_)
            session_->connection_.purge(d);
        d.dropped_ = true;  // the rest is still to come and is thrown away as it does
        if (!second)
            d.remotely_settled_ = true;  // else the sender has the last word [2.6.12]
        discard_body(d);                 // last: what waited comes in now, and may be the end of it
        return {};
    }
    if (d.indexed_)
        session_->incoming_.remove(d.id_);
    let_go(d);
    return gone ? make_error_code(error::already_settled) : std::error_code{};
}

bytes receiver::take_body(incoming_delivery& d)
{
    auto const size = d.body_.size() - d.consumed_;
    if (d.consumed_ > 0)
        d.body_.erase(d.body_.begin(), d.body_.begin() + static_cast<std::ptrdiff_t>(d.consumed_));
    d.consumed_ = 0;
    bytes out = std::move(d.body_);
    d.body_.clear();
    unread_ -= size;
    session_->inbox_.buffered_ -= size;
    if (size > 0)
        session_->inbox_.on_room(*this);
    return out;
}

void receiver::consume(incoming_delivery& d, std::size_t count)
{
    count = std::min(count, d.body_.size() - d.consumed_);
    d.consumed_ += count;
    d.announced_ = false;
    unread_ -= count;
    session_->inbox_.buffered_ -= count;
    // Moves the rest to the front only when that is cheaper than what was consumed: linear in all.
    if (d.consumed_ == d.body_.size()) {
        d.body_.clear();
        d.consumed_ = 0;
    } else if (d.consumed_ > d.body_.size() / 2) {
        d.body_.erase(d.body_.begin(), d.body_.begin() + static_cast<std::ptrdiff_t>(d.consumed_));
        d.consumed_ = 0;
    }
    if (count > 0)
        session_->inbox_.on_room(*this);
}

}  // namespace sluice::engine
