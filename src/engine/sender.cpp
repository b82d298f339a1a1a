// The sending end of a link.
#include <sluice/engine/connection.hpp>
#include <sluice/engine/sender.hpp>

#include <algorithm>

namespace sluice::engine {

namespace {

/// The performative has to fit the smallest frame that a peer may ask for, 512 octets.
constexpr std::size_t state_size_max = 256;

}  // namespace

sender::sender(engine::session& s, link_options options) : link{s, role::sender, std::move(options)}
{
    delivery_count_ = options_.initial_delivery_count;
}

sender::~sender() = default;

inline std::error_code sender::check(std::size_t size, send_options const& options) const noexcept
{
    auto const closing = state_ >= link_state::detach_sent || detach_queued_ || refused_
                         || reported_ || session_->queue_.end_queued_;
    if (closing)
        return make_error_code(error::link_not_attached);
    if (options.tag.size() > 32 || (options.resume && options.tag.empty()))
        return make_error_code(error::invalid_argument);
    if (options.state.encoded.size() > state_size_max)
        return make_error_code(error::too_large);
    auto const limit = remote_.max_message_size.value_or(0);  // absent and 0: no limit [2.7.3]
    if (limit != 0 && size > limit)
        return make_error_code(error::message_size_exceeded);
    return {};
}

/// 4 octets, and 8 when those are used up.
inline void number_tag(std::uint64_t n, delivery_tag& tag) noexcept
{
    auto* const at = tag.octets.data();
    if (n >> 32 == 0) [[likely]] {  // without a loop, so that it is one store
        at[0] = static_cast<std::byte>(n >> 24);
        at[1] = static_cast<std::byte>(n >> 16);
        at[2] = static_cast<std::byte>(n >> 8);
        at[3] = static_cast<std::byte>(n);
        tag.size = 4;
        return;
    }
    for (unsigned i = 0; i < 8; ++i) at[i] = static_cast<std::byte>(n >> 8 * (7 - i));
    tag.size = 8;
}

inline result<outgoing_delivery*> sender::enqueue(payload const& body, body_source* source,
                                                  send_options const& options)
{
    if (auto const failed = check(body.size(), options)) [[unlikely]]
        return unexpected{failed};
    auto& d = session_->connection_.outgoing_pool_.acquire();
    d.context = options.context;
    d.link_ = this;
    d.payload_ = body;
    d.source_ = source;
    d.settled_ = snd_settle_mode_ == sender_settle_mode::settled
                 || (options.settled && snd_settle_mode_ == sender_settle_mode::mixed);
    d.notify_sent_ = options.notify_sent;
    d.resume_ = options.resume;
    d.usual_ = options.state.empty() && !options.resume;
    d.message_format_ = options.message_format;
    if (options.tag.empty())
        number_tag(next_tag_++, d.tag_);
    else
        d.tag_.assign(options.tag);
    if (!options.state.empty()) [[unlikely]]
        d.local_state_.assign(options.state.encoded.begin(), options.state.encoded.end());
    queue_.push_back(d);
    ++unbegun_;
    if (queue_.size() == 1)
        wake();
    return &d;
}

result<outgoing_delivery*> sender::send(payload const& body, send_options const& options)
{
    return enqueue(body, nullptr, options);
}

result<outgoing_delivery*> sender::send(body_source& source, send_options const& options)
{
    return enqueue({}, &source, options);
}

void sender::body_ready(outgoing_delivery& delivery)
{
    delivery.source_ready_ = true;
    wake();
}

std::error_code sender::cancel(outgoing_delivery& d)
{
    auto const next = outgoing_table.next(d.state_, outgoing_event::cancel);
    if (!next)
        return make_error_code(error::invalid_state);
    if (session_->queue_.writing_transfer_ && session_->queue_.ready_.front() == this
        && queue_.front() == &d)
        return make_error_code(
            error::invalid_state);  // asked by its own source, which can answer `failed`
    if (*next == outgoing_state::withdrawn) {
        queue_.remove(d);
        --unbegun_;
        d.state_ = *next;
        session_->emit({.kind = event_kind::aborted,
                        .final = true,
                        .code = make_error_code(error::operation_aborted),
                        .session = session_,
                        .link = this,
                        .outgoing = &d});
        if (drain_)
            session_->queue_.answer_drain(*this);
        if (!sendable())
            session_->queue_.unschedule(*this);
    } else {
        d.state_ = *next;
        wake();
    }
    return {};
}

std::error_code sender::settle(outgoing_delivery& d)
{
    if (d.state_ == outgoing_state::settled)
        return make_error_code(error::already_settled);
    auto const next = outgoing_table.next(d.state_, outgoing_event::settle);
    if (!next)
        return make_error_code(error::invalid_state);
    d.state_ = *next;
    session_->queue_.push_disposition(role::sender, d.id_, true, d.remote_state());
    if (d.indexed_)
        session_->outgoing_.remove(d.id_);
    sent_.remove(d);
    session_->release(d);
    return {};
}

/// The peer's credit, as the formula of [2.6.7] has it; 64 bits, for a limit may lie behind what
/// was sent.
void sender::on_flow(flow const& peer)
{
    if (peer.link_credit) {
        auto const count = peer.delivery_count.value_or(options_.initial_delivery_count);
        auto const ahead = static_cast<std::int64_t>(distance(delivery_count_, count))
                           + static_cast<std::int64_t>(*peer.link_credit);
        auto const before = credit_;
        credit_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(ahead, 0, 0xffff'ffff));
        if (credit_ > before)
            session_->emit({.kind = event_kind::credit, .session = session_, .link = this});
    }
    drain_ = peer.drain;
    drain_answered_ = false;
    drain_waits_ = drain_ && options_.manual_drain;
    if (drain_waits_)
        session_->emit({.kind = event_kind::drain_requested, .session = session_, .link = this});
    if (peer.echo)
        session_->queue_.request_flow(this, false);
    if (scheduled_ && !sendable())
        session_->queue_.unschedule(*this);  // credit was taken back
    wake();
    if (drain_)
        session_->queue_.answer_drain(*this);
}

void sender::drained()
{
    drain_waits_ = false;
    session_->queue_.answer_drain(*this);
}

void sender::withdraw_unbegun(std::error_code why)
{
    auto* d = queue_.front();
    while (d) {
        auto* const after = outgoing_delivery::list::after(d);
        if (d->state_ == outgoing_state::queued) {
            queue_.remove(*d);
            d->state_ = outgoing_state::withdrawn;
            session_->emit({.kind = event_kind::aborted,
                            .final = true,
                            .code = why,
                            .session = session_,
                            .link = this,
                            .outgoing = d});
        }
        d = after;
    }
    unbegun_ = 0;
    if (!sendable())
        session_->queue_.unschedule(*this);
}

void sender::wake() noexcept
{
    if (!scheduled_ && sendable())
        session_->queue_.schedule(*this);
}

}  // namespace sluice::engine
