// What both ends of a link do when they attach and detach.
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fit_error.hpp>
#include <sluice/engine/link.hpp>

#include <cassert>

namespace sluice::engine {

link::link(engine::session& s, sluice::role r, link_options options)
    : session_{&s},
      role_{r},
      options_{std::move(options)},
      snd_settle_mode_{options_.snd_settle_mode},
      rcv_settle_mode_{options_.rcv_settle_mode}
{
}

bool link::step(link_event on) noexcept
{
    auto const next = link_table.next(state_, on);
    if (next)
        state_ = *next;
    return next.has_value();
}

void link::adopt_remote(bytes_view encoded_attach)
{
    remote_bytes_.assign(encoded_attach.begin(), encoded_attach.end());
    bytes_view in{remote_bytes_};
    [[maybe_unused]] auto const failed = decode(in, remote_);
    assert(!failed);  // it was decoded from the frame already
}

/// The peer that decides on a mode has the last word: the sender on snd-settle-mode, the receiver
/// on the other. [2.6.12]
void link::settle_modes() noexcept
{
    snd_settle_mode_ = role_ == role::receiver ? remote_.snd_settle_mode : options_.snd_settle_mode;
    rcv_settle_mode_ = role_ == role::sender ? remote_.rcv_settle_mode : options_.rcv_settle_mode;
    // A receiver that cannot do what was asked answers with what it does; the weaker of both is in
    // force.
    if (role_ == role::receiver && remote_.rcv_settle_mode == receiver_settle_mode::first)
        rcv_settle_mode_ = receiver_settle_mode::first;
    if (role_ == role::sender && remote_.snd_settle_mode != options_.snd_settle_mode
        && options_.snd_settle_mode == sender_settle_mode::mixed)
        snd_settle_mode_ = remote_.snd_settle_mode;
    if (role_ == role::receiver)
        static_cast<receiver*>(this)->minds_settled_ =
            session_->options_.policy == flow_policy::strict
            && snd_settle_mode_ != sender_settle_mode::mixed;
}

/// Nobody has had credit on a link that is not answered yet. [2.6.7]
void link::on_early_transfer()
{
    if (refused_ || detach_queued_ || reported_)
        return;
    session_->fail_link(*this, error::transfer_limit_exceeded, condition::transfer_limit_exceeded,
                        "a transfer on '" + name() + "' before it was given credit [2.6.7]");
}

std::error_code link::attach(link_options options)
{
    if (state_ != link_state::attach_received || attach_queued_ || detach_queued_)
        return make_error_code(error::invalid_state);
    options.name = std::move(options_.name);
    options_ = std::move(options);
    settle_modes();
    if (role_ == role::sender)
        static_cast<sender*>(this)->delivery_count_ = options_.initial_delivery_count;
    if (!session_->bind_local(*this))
        return make_error_code(error::handle_max_exceeded);
    if (session_->queue_.attach_frame(*this).size() > session_->connection_.frame_size_max()) {
        session_->release_local(*this);
        return make_error_code(error::too_large);
    }
    session_->queue_.push_attach(*this);
    if (role_ == role::receiver && options_.credit_window > 0)
        static_cast<receiver*>(this)->set_credit_window(options_.credit_window);
    if (auto const why = error_; !why.empty())
        session_->fail_link(*this, early_code_, why.condition, why.description);
    return {};
}

std::error_code link::refuse(amqp_error why)
{
    if (state_ != link_state::attach_received || attach_queued_ || detach_queued_)
        return make_error_code(error::invalid_state);
    error_ = {};  // what was wrong before does not matter any more
    link_options answer;
    // The terminus that this side decides on stays null; the peer's own is given back. [2.6.3]
    auto const& own = role_ == role::sender ? remote_.target : remote_.source;
    (role_ == role::sender ? answer.target : answer.source)
        .assign(own.encoded.begin(), own.encoded.end());
    answer.snd_settle_mode = remote_.snd_settle_mode;
    answer.rcv_settle_mode = remote_.rcv_settle_mode;
    link_options bare;  // the peer's own terminus may be larger than what it takes itself
    bare.snd_settle_mode = answer.snd_settle_mode;
    bare.rcv_settle_mode = answer.rcv_settle_mode;
    auto failed = attach(std::move(answer));
    if (failed == error::too_large)
        failed = attach(std::move(bare));
    if (failed)
        return failed;
    refused_ = true;
    return detach(true, std::move(why));
}

std::error_code link::detach(bool closed, amqp_error why, bool overtake)
{
    auto const open =
        state_ == link_state::attached || state_ == link_state::attach_sent || attach_queued_;
    if (!open || state_ == link_state::detach_received || state_ == link_state::ended)
        return make_error_code(error::invalid_state);
    if (detach_queued_) {
        if (!overtake && why.empty())
            return make_error_code(error::invalid_state);
        overtake_ = true;  // gives up waiting for what a first call wanted finished
        session_->wake();
        return {};
    }
    detach_closed_ = closed;
    overtake_ = overtake || !why.empty();
    detail::fit(why, session_->connection_.outgoing_frame_max_);
    detach_error_ = std::move(why);
    if (role_ == role::sender)
        static_cast<sender*>(this)->withdraw_unbegun(make_error_code(error::closed_locally));
    session_->queue_.push_detach(*this);
    return {};
}

}  // namespace sluice::engine
