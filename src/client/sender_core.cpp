// Sends: queued, answered, given up.
#include "client/sender_core.hpp"

#include "client/stream_core.hpp"
#include "client/transaction_posts.hpp"

#include <sluice/codec/reader.hpp>

namespace sluice::client::detail {

// ---- opening

class sender_core::open_request final : public attach_request {
public:
    open_request(std::shared_ptr<sender_core> l, std::shared_ptr<sender_core> user,
                 reply_ptr<client::sender> r)
        : attach_request{l, l->timeout()}, user_{std::move(user)}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, link_->connection());
    }
    ~open_request() override = default;

    void finish(std::error_code code, failure_ptr why) override
    {
        auto const l = link_;
        auto reply = std::move(reply_);
        auto user = std::move(user_);
        delete this;
        l->connection()->answer(*l->completions(), std::move(reply), code, std::move(why),
                                wrap(std::move(user)));
    }

private:
    std::shared_ptr<sender_core> user_;
    reply_ptr<client::sender> reply_;
};

sender_core::sender_core(std::shared_ptr<session_core> session, std::shared_ptr<session_core> user,
                         std::shared_ptr<connection_core> connection_user, sender_options options)
    : link_core{std::move(session), std::move(user), std::move(connection_user), options, "sender"},
      options_{std::move(options)}
{
}

sender_core::~sender_core() = default;

void sender_core::start_open(std::shared_ptr<sender_core> user, reply_ptr<client::sender> r)
{
    auto self = std::static_pointer_cast<sender_core>(shared_from_this());
    start_attach(new open_request{std::move(self), std::move(user), std::move(r)});
}

engine::link_options sender_core::to_engine() const
{
    engine::link_options o;
    o.name = name();
    o.source = encode_source(kept(options_.source));
    o.target = options_.encoded_target.empty() ? encode_target(kept(options_.target))
                                               : options_.encoded_target;
    if (tells_unsettled())
        o.unsettled = unsettled(o.incomplete_unsettled);
    o.snd_settle_mode = options_.snd_settle_mode;
    o.rcv_settle_mode = options_.rcv_settle_mode;
    o.max_message_size = options_.max_message_size;
    o.offered_capabilities = options_.offered_capabilities;
    o.desired_capabilities = options_.desired_capabilities;
    o.properties = options_.properties;
    return o;
}

result<engine::link*> sender_core::attach(engine::session& on)
{
    auto made = on.attach_sender(to_engine());
    if (!made)
        return unexpected{made.error()};
    return *made;
}

std::string sender_core::remote_address(engine::link const& l) const
{
    auto in = l.remote_attach().target.encoded;
    target t;
    if (in.empty() || decode(in, t))
        return {};
    return std::string{as_text(t.address).value_or(std::string_view{})};
}

// ---- any thread

void sender_core::start_send(encoded_message m, send_options const& options, bool only_with_credit,
                             reply_ptr<outcome> r)
{
    auto* const s = new send_request{*this, std::move(r)};
    s->octets = std::move(m.octets);
    s->take(options, timeout());
    s->only_with_credit = only_with_credit;
    s->accept_cancellation(*s->reply, connection());
    start(*s);
}

void sender_core::start_command(encoded_message m, reply_ptr<outcome> r,
                                std::shared_ptr<transaction_posts> waits_for)
{
    auto* const s = new send_request{*this, std::move(r)};
    s->octets = std::move(m.octets);
    s->take({}, timeout());
    s->time_runs = true;
    s->waits_for = std::move(waits_for);
    s->accept_cancellation(*s->reply, connection());
    start(*s);
}

void sender_core::start(send_request& s)
{
    if (s.posts)
        s.posts->begin();
    if (core().observed())
        s.started = std::chrono::steady_clock::now();
    if (outstanding_.fetch_add(1, std::memory_order_relaxed) >= options_.outstanding_max) {
        auto const why =
            make_failure(make_error_code(sluice::error::queue_full),
                         refers_to() + ": " + std::to_string(options_.outstanding_max)
                             + " sends (outstanding_max) have no outcome yet; wait for some");
        answer_send(s, why->code, why);
        delete &s;
        return;
    }
    if (!connection()->push(s))
        s.refuse();
}

body_stream sender_core::start_stream(send_options const& options, std::size_t buffer_max)
{
    auto self = std::static_pointer_cast<sender_core>(shared_from_this());
    auto made = std::make_shared<stream_core>(std::move(self), buffer_max);
    auto* const s = new send_request{*this, nullptr};
    s->stream = made;
    s->take(options, no_timeout);
    start(*s);
    return body_stream{make_user_pointer(std::move(made))};
}

// ---- strand

void sender_core::queue(send_request& s)
{
    if (ended() || (!engine() && !away())) {
        auto const why = failure();
        answer_send(s, why ? why->code : make_error_code(sluice::error::link_not_attached), why);
        delete &s;
        return;
    }
    if (!s.begin())
        return drop(s, make_error_code(sluice::error::operation_aborted),
                    refers_to() + ": send cancelled");
    if (closes()) {
        auto const why = closed_locally();
        return drop(s, why->code, why->text);
    }
    if (s.only_with_credit && (away() || engine()->free_credit() == 0))
        return drop(s, make_error_code(sluice::error::no_credit), refers_to());
    if (core().away() && engine::kind_of({s.state}) == outcome_kind::transactional)
        return drop(s, make_error_code(sluice::error::transaction_rolled_back),
                    refers_to() + ": the connection was lost, and the transaction with it");
    if (away() || reason_is_late())
        return keep(s);
    if (!hold(s))
        hand_over(s);
}

void sender_core::hand_over(send_request& s)
{
    if (engine()->over())
        return keep(s);
    if (auto const failed = put(s, false))
        return drop(s, failed, refers_to());
    sends_.push_back(s);
    start_time(s);
}

/// Of one that the engine has. It goes on where it runs already.
void sender_core::start_time(send_request& s)
{
    if ((s.has_credit || s.time_runs) && !s.armed())
        core().deadlines().arm(s, s.timeout, core().now());
    if (!s.has_credit && without_credit_count_++ == 0) {
        without_credit_ = &s;
        blocked_.start(core().now());
    }
}

/// To the engine. Where the link may come back, tags are those of the link's whole life.
std::error_code sender_core::put(send_request& s, bool resume)
{
    auto const has_credit = engine()->free_credit() > 0 && without_credit_count_ == 0;
    std::array<std::byte, 4> made_tag;
    bytes_view tag{s.tag};
    if (tag.empty() && core().recovers()) {
        auto const n = next_tag_++;
        for (unsigned i = 0; i < 4; ++i) made_tag[i] = static_cast<std::byte>(n >> 8 * (3 - i));
        tag = made_tag;
        s.own_tag = true;
    }
    auto const presettled = s.settled || engine()->snd_settle_mode() == sender_settle_mode::settled;
    engine::send_options const o{.settled = s.settled,
                                 .notify_sent = presettled,
                                 .resume = resume,
                                 .message_format = s.message_format,
                                 .tag = tag,
                                 .state = {s.state},
                                 .context = &s};
    auto const made =
        s.stream ? engine()->send(*s.stream, o) : engine()->send(engine::payload{s.octets}, o);
    if (!made)
        return made.error();
    s.delivery = *made;
    if (s.stream)
        s.stream->set_send(&s);
    s.has_credit = has_credit;
    return {};
}

void sender_core::drop(send_request& s, std::error_code code, std::string what)
{
    answer_send(s, code, make_failure(code, std::move(what)));
    delete &s;
}

/// The time of a send runs from the moment that there is credit for it.
void sender_core::give_deadlines()
{
    auto const unbegun = engine()->unbegun();
    auto const credit = std::size_t{engine()->credit()};
    auto const left = unbegun > credit ? unbegun - credit : 0;
    while (without_credit_count_ > left) {
        auto& s = *without_credit_;
        s.has_credit = true;
        without_credit_ = static_cast<send_request*>(s.next_waiting);
        --without_credit_count_;
        if (s.open && !s.armed())
            core().deadlines().arm(s, s.timeout, core().now());
    }
    if (without_credit_count_ == 0)
        blocked_.stop(core().now());
}

void sender_core::cancel(send_request& s, std::error_code why)
{
    auto const text =
        refers_to() + (why == sluice::error::timed_out ? ": send given up" : ": send cancelled");
    if (!s.delivery || reason_is_late()) {
        if (s.held)
            return forget_held(s);
        if (s.was_whole)
            why = make_error_code(sluice::error::outcome_unknown);
        answer_send(s, why, make_failure(why, text));
        if (!s.delivery)
            forget(s);
        return;
    }
    if (engine()->cancel(*s.delivery))  // whole already: the peer may have it
        why = make_error_code(sluice::error::outcome_unknown);
    answer_send(s, why, make_failure(why, text));
}

void sender_core::answer_send(send_request& s, std::error_code code, failure_ptr why, outcome o)
{
    if (!std::exchange(s.open, false))
        return;
    if (s.armed())
        core().deadlines().disarm(s);
    s.unbind();
    o.set_possible_duplicate(s.possible_duplicate);
    if (s.posts)
        s.posts->end(code, why, o);
    count(s, code, o);
    if (results_.wanted())
        results_.publish({.code = code, .outcome = o});
    auto const left = outstanding_.fetch_sub(1, std::memory_order_relaxed) - 1;
    if (s.stream)
        s.stream->on_done(code, std::move(why), std::move(o));
    else
        core().answer(*completions(), std::move(s.reply), code, std::move(why), std::move(o));
    if (left == 0 && abandoned())
        close_when_idle();
}

void sender_core::forget(send_request& s) noexcept
{
    if (!s.has_credit && without_credit_count_ > 0 && s.delivery) {
        if (without_credit_ == &s)
            without_credit_ = static_cast<send_request*>(s.next_waiting);
        if (--without_credit_count_ == 0)
            blocked_.stop(core().now());
    }
    sends_.remove(s);
    if (s.stream)
        s.stream->set_send(nullptr);
    delete &s;
}

void sender_core::on_event(engine::event const& e)
{
    if (e.kind == engine::event_kind::credit) {
        if (without_credit_count_ > 0)
            give_deadlines();
        return;
    }
    auto* const s = e.outgoing ? static_cast<send_request*>(e.outgoing->context) : nullptr;
    if (!s)
        return;
    switch (e.kind) {
    case engine::event_kind::outcome:
    case engine::event_kind::sent: on_outcome(e, *s); break;
    case engine::event_kind::aborted:
        if (s->open && e.outgoing->sent_bytes() > 0)
            tally_.add(tally::sent_aborted);
        answer_send(*s, e.code,
                    e.code == sluice::error::closed_locally ? closed_locally()
                                                            : make_failure(e.code, refers_to()));
        break;
    default: return;
    }
    if (e.final)
        forget(*s);
}

void sender_core::on_outcome(engine::event const& e, send_request& s)
{
    auto const kind = e.outgoing->outcome();
    if (s.stream)
        s.streamed_octets = e.outgoing->sent_bytes();
    // What is not known here may be no outcome: its settlement tells.
    auto const provisional = kind == outcome_kind::received || kind == outcome_kind::unknown;
    if (!e.final && (e.kind == engine::event_kind::sent || provisional))
        return;
    if (!e.final && kind == outcome_kind::transactional) {
        // Provisional, and ours to settle: what comes of it the discharge tells. [4.4.1]
        auto o = outcome::from(kind, true, e.outgoing->remote_state());
        std::ignore = engine()->settle(*e.outgoing);
        s.delivery = nullptr;
        answer_send(s, {}, nullptr, std::move(o));
        return forget(s);
    }
    if (kind == outcome_kind::accepted)
        answer_send(s, {}, nullptr, outcome{kind, e.final});
    else
        answer_send(s, {}, nullptr, outcome::from(kind, e.final, e.outgoing->remote_state()));
}

void sender_core::on_detached(failure_ptr const& why)
{
    failure_ptr unknown;
    for (; auto* const r = static_cast<send_request*>(held_.pop_front()); sends_.push_back(*r))
        r->held = false;
    for (auto* r = sends_.front(); r;) {
        auto& s = static_cast<send_request&>(*r);
        r = r->next_waiting;
        using state = engine::outgoing_state;
        auto const at = s.delivery ? s.delivery->state() : state::queued;
        auto const whole =
            s.was_whole || at == state::unsettled || at == state::answered || at == state::settled;
        if (whole && !unknown)
            unknown = std::make_shared<client::failure const>(
                client::failure{.code = make_error_code(sluice::error::outcome_unknown),
                                .error = why ? why->error : amqp_error{},
                                .text = why ? why->text : std::string{}});
        auto const& cause = whole ? unknown : why;
        answer_send(s, cause ? cause->code : make_error_code(sluice::error::link_not_attached),
                    cause);
        if (!s.delivery)
            forget(s);
    }
    results_.close(why);
}

void sender_core::on_released()
{
    without_credit_ = nullptr;
    without_credit_count_ = 0;
    blocked_.stop(core().now());
    while (auto* const r = static_cast<send_request*>(sends_.pop_front())) {
        if (r->stream)
            r->stream->set_send(nullptr);
        delete r;
    }
}

void sender_core::on_abandoned() { close_when_idle(); }

void sender_core::close_when_idle()
{
    if (outstanding() == 0)
        close_abandoned();
}

}  // namespace sluice::client::detail
