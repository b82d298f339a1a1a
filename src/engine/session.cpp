// Commands of a session, its tables of links, and how it ends.
#include <sluice/codec/codec.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/detail/fit_error.hpp>
#include <sluice/engine/session.hpp>

#include <algorithm>
#include <cassert>

namespace sluice::engine {

session::session(engine::connection& owner, session_options options)
    : connection_{owner},
      options_{std::move(options)},
      queue_{*this, options_},
      inbox_{*this, options_}
{
    options_.incoming_window = inbox_.capacity_;
}

session::~session() = default;

bool session::step(session_event on) noexcept
{
    auto const next = session_table.next(state_, on);
    if (next)
        state_ = *next;
    return next.has_value();
}

std::error_code session::begin(session_options options)
{
    if (state_ != session_state::begin_received || begin_queued_ || queue_.end_queued_)
        return make_error_code(error::invalid_state);
    // The peer cannot have sent a transfer before it knew our window: what it may send is set up
    // here. [2.5.1]
    auto const first = inbox_.next_incoming_id_;
    options_ = std::move(options);
    options_.incoming_window = std::clamp(options_.incoming_window, 1u, 0x7fff'ffffu);
    inbox_.capacity_ = options_.incoming_window;
    inbox_.buffered_max_ = options_.buffered_bytes_max;
    inbox_.on_begin(first);
    queue_.restart(options_);
    if (!connection_.bind_channel(*this))
        return make_error_code(error::channel_max_exceeded);
    if (queue_.begin_frame().size() > connection_.frame_size_max()) {
        connection_.release_local_channel(*this);
        options_.offered_capabilities.clear();  // so that it can be refused
        options_.desired_capabilities.clear();
        options_.properties.clear();
        return make_error_code(error::too_large);
    }
    begin_queued_ = true;
    wake();
    return {};
}

std::error_code session::end(amqp_error why, bool overtake)
{
    auto const open = state_ == session_state::mapped || state_ == session_state::begin_sent
                      || begin_queued_ || state_ == session_state::begin_received;
    if (!open)
        return make_error_code(error::invalid_state);
    if (queue_.end_queued_) {
        if (!overtake && why.empty())
            return make_error_code(error::invalid_state);
        queue_.push_end(true);
        return {};
    }
    if (state_ == session_state::begin_received
        && !begin_queued_) {  // refused: begin, then end [2.5.1]
        if (!connection_.bind_channel(*this))
            return make_error_code(error::channel_max_exceeded);
        begin_queued_ = true;
    }
    overtake = overtake || !why.empty();
    detail::fit(why, connection_.outgoing_frame_max_);
    end_error_ = std::move(why);
    if (error_.empty())
        error_ = end_error_;
    end_code_ = make_error_code(error::closed_locally);
    for (auto& l : links_)
        if (l->role_ == role::sender)
            static_cast<sender&>(*l).withdraw_unbegun(end_code_);
    queue_.push_end(overtake);
    return {};
}

template <class Link>
result<Link*> session::attach_link(link_options options)
{
    constexpr auto r = std::is_same_v<Link, sender> ? role::sender : role::receiver;
    auto const ended =
        state_ != session_state::mapped && state_ != session_state::begin_sent && !begin_queued_;
    if (ended || queue_.end_queued_)
        return unexpected{error::session_not_open};
    for (auto const& l : links_)
        if (l->role_ == r && l->name() == options.name && l->state_ != link_state::ended
            && !l->reported_)
            return unexpected{error::link_name_in_use};
    std::unique_ptr<Link> made{new Link{*this, std::move(options)}};
    if (!bind_local(*made))
        return unexpected{error::handle_max_exceeded};
    if (queue_.attach_frame(*made).size() > connection_.frame_size_max()) {
        release_local(*made);
        return unexpected{error::too_large};
    }
    auto* const l = made.get();
    keep(std::move(made));
    l->half_attached_ = true;
    ++half_attached_;
    queue_.push_attach(*l);
    if constexpr (r == role::receiver)
        if (l->window_ > 0)
            l->request_flow();
    return l;
}

link& session::keep(std::unique_ptr<link> made)
{
    made->place_ = links_.size();
    links_.push_back(std::move(made));
    return *links_.back();
}

void session::no_more_half_attached(link& l) noexcept
{
    if (std::exchange(l.half_attached_, false))
        --half_attached_;
}

result<sender*> session::attach_sender(link_options options)
{
    return attach_link<sender>(std::move(options));
}
result<receiver*> session::attach_receiver(link_options options)
{
    return attach_link<receiver>(std::move(options));
}

/// The lowest free handle, so that tables stay small. False beyond the smaller of both handle-max.
/// [2.7.2]
bool session::bind_local(link& l)
{
    auto max = std::size_t{options_.handle_max};
    if (!remote_bytes_.empty())
        max = std::min(max, std::size_t{remote_.handle_max.value});
    auto i = lowest_free_handle_;
    while (i < local_handles_.size() && local_handles_[i]) ++i;
    lowest_free_handle_ = i;
    if (i > max)
        return false;
    if (i == local_handles_.size())
        local_handles_.push_back(nullptr);
    local_handles_[i] = &l;
    lowest_free_handle_ = i + 1;
    l.local_handle_ = handle{static_cast<std::uint32_t>(i)};
    l.has_local_handle_ = true;
    return true;
}

void session::bind_remote(link& l, handle h)
{
    auto const i = std::size_t{h.value};
    if (i >= remote_handles_.size())
        remote_handles_.resize(i + 1);
    remote_handles_[i] = &l;
    l.remote_handle_ = h;
    l.has_remote_handle_ = true;
}

void session::release_local(link& l) noexcept
{
    if (!l.has_local_handle_)
        return;
    local_handles_[l.local_handle_.value] = nullptr;
    lowest_free_handle_ = std::min(lowest_free_handle_, std::size_t{l.local_handle_.value});
    l.has_local_handle_ = false;
}

/// Both detaches are through: the handles may be used again.
void session::unbind(link& l) noexcept
{
    release_local(l);
    if (l.has_remote_handle_) {
        remote_handles_[l.remote_handle_.value] = nullptr;
        l.has_remote_handle_ = false;
    }
    if (l.forgotten_)
        free(l);
}

link* session::find_half_attached(std::string_view name, role of) const noexcept
{
    if (half_attached_ == 0)
        return nullptr;
    for (auto* l : local_handles_)
        if (l && l->role_ == of && !l->has_remote_attach() && l->name() == name
            && (l->attach_queued_ || l->state_ == link_state::attach_sent
                || l->state_ == link_state::detach_sent))
            return l;
    return nullptr;
}

void session::forget(link& l)
{
    assert(l.reported_ || reported_);
    connection_.recycle_final();
    release_deliveries(l);
    l.forgotten_ = true;
    connection_.unsure_ = true;
    if (l.state_ == link_state::ended)
        free(l);
}

void session::release_deliveries(link& l)
{
    lose_deliveries(l);
    if (l.role_ == role::sender) {
        auto& s = static_cast<sender&>(l);
        while (auto* d = s.queue_.pop_front()) release(*d);
        while (auto* d = s.sent_.pop_front()) release(*d);
    } else {
        auto& r = static_cast<receiver&>(l);
        while (auto* d = r.here_.pop_front()) release(*d);
        inbox_.buffered_ -= r.unread_;
        r.unread_ = 0;
        inbox_.on_room(r);
    }
}

void session::free(link& l)
{
    no_more_half_attached(l);
    queue_.forget(l);
    connection_.free(l);
}

void session::erase(link& l)
{
    auto const at = l.place_;
    std::swap(links_[at], links_.back());
    links_[at]->place_ = at;
    links_.pop_back();
}

/// The link is gone: late dispositions find nothing, and its deliveries end as the tables say.
void session::lose_deliveries(link& l)
{
    if (l.role_ == role::sender) {
        auto& s = static_cast<sender&>(l);
        queue_.unschedule(s);
        s.for_each_delivery([&](outgoing_delivery& d) {
            if (d.indexed_)
                outgoing_.remove(d.id_);
            d.indexed_ = false;
            if (auto const next = outgoing_table.next(d.state_, outgoing_event::link_lost))
                d.state_ = *next;
        });
        return;
    }
    auto& r = static_cast<receiver&>(l);
    inbox_.drop(r);
    r.for_each_delivery([&](incoming_delivery& d) {
        if (d.indexed_)
            incoming_.remove(d.id_);
        d.indexed_ = false;
        if (auto const next = incoming_table.next(d.state_, incoming_event::link_lost))
            d.state_ = *next;
        if (d.dropped_) {
            r.here_.remove(d);
            release(d);
        }
    });
    if (r.partial_)
        --inbox_.partial_;
    r.partial_ = nullptr;
    r.streamed_begun_ = nullptr;
}

void session::report_link_end(link& l, std::error_code code)
{
    if (l.reported_)
        return;
    l.reported_ = true;
    lose_deliveries(l);
    emit({.kind = event_kind::link_detached, .code = code, .session = this, .link = &l});
}

void session::fail_link(link& l, sluice::error code, std::string_view condition, std::string text)
{
    amqp_error why{.condition = std::string{condition}, .description = std::move(text), .info = {}};
    if (l.state_ == link_state::attach_received && !l.attach_queued_) {
        if (l.error_.empty()) {  // told once it is answered: a detach follows an attach [2.6.3]
            l.error_ = std::move(why);
            l.early_code_ = code;
        }
        return;
    }
    l.error_ = why;
    report_link_end(
        l, make_error_code(code));  // first, so that no waiting delivery is told another cause
    l.detach(true, std::move(why));
}

void session::fail(sluice::error code, std::string_view condition, std::string text)
{
    if (reported_)
        return;
    amqp_error why{.condition = std::string{condition}, .description = std::move(text), .info = {}};
    if (error_.empty())
        error_ = why;
    finish(make_error_code(code));  // first, so that no waiting delivery is told another cause
    end(std::move(why), true);
}

/// The session is over for its owner; its channel is free when the peer has answered.
void session::finish(std::error_code code)
{
    if (!reported_) {
        reported_ = true;
        for (auto& l : links_) {
            lose_deliveries(*l);
            if (l->error_.empty())
                l->error_ = error_;
            l->reported_ = true;
        }
        emit({.kind = event_kind::session_ended, .code = code, .session = this});
    }
    if (state_ != session_state::ended)
        return;
    for (auto& l : links_) l->step(link_event::session_lost);
    connection_.unmap(*this);
    if (forgotten_)
        connection_.free(*this);
}

void session::on_connection_lost(std::error_code code, amqp_error const& why)
{
    if (error_.empty())
        error_ = why;
    step(session_event::connection_lost);
    begin_queued_ = false;
    queue_.end_queued_ = false;  // a session that was never begun has no end
    finish(code);
}

/// What was asked for before the peer had said how large its frames may be, and is larger, ends
/// unsent. [2.7.1]
void session::drop_too_large()
{
    auto const max = connection_.outgoing_frame_max_;
    if (begin_queued_ && queue_.begin_frame().size() > max)
        return on_connection_lost(make_error_code(error::too_large), {});
    for (auto& l : links_)
        if (l->attach_queued_ && !l->reported_ && queue_.attach_frame(*l).size() > max)
            drop_unsent(*l, error::too_large);
}

void session::drop_unsent(link& l, sluice::error why)
{
    queue_.forget(l);
    l.step(link_event::session_lost);
    unbind(l);
    report_link_end(l, make_error_code(why));
}

}  // namespace sluice::engine
