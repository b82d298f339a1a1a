// A link that comes back: with its connection, or alone.
#include "client/link_core.hpp"

namespace sluice::client::detail {
namespace {

constexpr clock_time lived_long{1'000};  // attached for less counts as one more failed attempt

}  // namespace

bool link_core::is_curable(amqp_error const& why)
{
    auto const& c = *session_->connection();
    if (!c.recovers() || !was_attached_ || !may_come_back() || abandoned()
        || phase() != detail::phase::open || session_->ended()
        || session_->engine()->state() != engine::session_state::mapped)
        return false;
    // Broker-J 10.1 does not resume a link that it still knows: it refuses unsettled maps.
    if (away_ && !without_map_ && why.condition == condition::not_implemented)
        return without_map_ = true;
    return may_cure_link(why, engine_link_->closed_by_peer());
}

void link_core::lose(bool connection_gone)
{
    auto const self = shared_from_this();
    core().deadlines().disarm(late_);
    core().deadlines().disarm(again_);
    held_back_ = nullptr;
    if (ended())
        return on_ended(failure());
    if (phase() == detail::phase::closing)
        return on_ended(closed_locally());
    if (!may_come_back())
        return on_ended(make_failure(make_error_code(sluice::error::connection_lost),
                                     refers_to() + " ended with its connection"));
    if (core().now() - attached_at_ >= lived_long)
        backoff_.reset();
    if (engine_link_ || connection_gone)  // away already: what waits may not outlive both
        on_lost();
    if (engine_link_) {
        auto* const gone = std::exchange(engine_link_, nullptr);
        gone->context = nullptr;
        if (!connection_gone)
            gone->session().forget(*gone);
    }
    away_ = true;
    with_connection_ = connection_gone;
    if (abandoned())
        on_abandoned();
}

void link_core::attach_again()
{
    auto const self = shared_from_this();
    if (ended() || engine_link_ || !session_->engine())
        return;
    away_ = true;
    auto made = attach(*session_->engine());
    if (!made && made.error() == sluice::error::session_not_open)
        return;  // it has ended, and the event that says so comes next
    if (!made && made.error() == sluice::error::link_name_in_use)
        return try_later();  // the detach before is not written yet
    if (!made)
        return on_ended(
            make_failure(made.error(), "no " + refers_to() + core().why_too_large(made.error())));
    engine_link_ = *made;
    engine_link_->context = this;
    if (!attach_)
        core().deadlines().arm(again_, timeout_, core().now());
}

void link_core::try_later()
{
    auto const delay = backoff_.next(*core().options().reconnect, core().now());
    if (delay)
        return core().deadlines().arm(again_, *delay, core().now());
    on_ended(make_failure(make_error_code(sluice::error::link_detached_by_peer),
                          refers_to() + " given up after " + std::to_string(backoff_.attempts())
                              + " attempts to attach it again"));
}

void link_core::on_again()
{
    if (!engine_link_) {
        if (!core().away())
            attach_again();
        return;
    }
    auto const code = make_error_code(sluice::error::timed_out);
    auto const text = "no answer when the " + refers_to() + " was attached again";
    if (with_connection_ && ++unanswered_ < unanswered_most)
        return core().lose(code, text);
    give_up(code, text);
}

terminus link_core::kept(terminus t) const
{
    if (!core().recovers() || t.timeout != 0 || t.expiry_policy == "never" || t.dynamic)
        return t;
    t.timeout = static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(core().options().reconnect->keep_links.count(), 0, 0xffff'ffff));
    return t;
}

/// Half a frame: the rest of the attach has to fit, too.
std::size_t link_core::unsettled_room() const { return core().engine().outgoing_frame_max() / 2; }

}  // namespace sluice::client::detail
