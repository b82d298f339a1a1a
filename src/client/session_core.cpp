// Sessions: begin, end, and what ends with them.
#include "client/session_core.hpp"

#include "client/link_core.hpp"
#include "client/transaction_core.hpp"

#include <cstring>

namespace sluice::client::detail {
namespace {

/// In a build with assertions every program crosses the wrap soon after it begins.
#ifdef NDEBUG
constexpr std::uint32_t first_id = 0;
#else
constexpr std::uint32_t first_id = 4294967040;
#endif

}  // namespace

engine::session_options session_core::to_engine() const
{
    auto const& o = options_;
    engine::session_options out;
    out.next_outgoing_id = o.next_outgoing_id.value_or(transfer_id{first_id});
    out.next_delivery_id = o.next_delivery_id.value_or(delivery_number{first_id});
    out.incoming_window = o.incoming_window;
    out.handle_max = o.handle_max;
    out.buffered_bytes_max = o.buffered_bytes_max;
    out.policy = o.policy;
    out.offered_capabilities = o.offered_capabilities;
    out.desired_capabilities = o.desired_capabilities;
    out.properties = o.properties;
    return out;
}

// ---- calls

class session_core::begin_request final : public request {
public:
    begin_request(std::shared_ptr<session_core> s, std::shared_ptr<session_core> user,
                  reply_ptr<client::session> r)
        : session_{std::move(s)}, user_{std::move(user)}, reply_{std::move(r)}
    {
        if (reply_)
            accept_cancellation(*reply_, session_->connection_);
    }
    ~begin_request() override = default;

    void execute(connection_core& on) override
    {
        auto& s = *session_;
        s.begin_ = this;
        if (!begin())
            return s.on_ended(make_failure(make_error_code(sluice::error::operation_aborted),
                                           "begin was cancelled"));
        if (s.unfit_)
            return s.on_ended(s.unfit_);
        if (on.ended())  // by a command that was taken along with this one
            return s.on_ended(on.failure());
        if (on.phase() == detail::phase::closing)
            return s.on_ended(make_failure(make_error_code(sluice::error::closed_locally),
                                           "connection to " + on.where() + " closed by this side"));
        if (on.away()) {  // begun with the others, when the connection is back
            on.add(session_);
            return on.deadlines().arm(*this, s.timeout_, on.now());
        }
        auto made = on.engine().begin(s.to_engine());
        if (!made)
            return s.on_ended(make_failure(made.error(), "no session on the connection to "
                                                             + on.where()
                                                             + on.why_too_large(made.error())));
        s.engine_ = *made;
        s.engine_->context = &s;
        on.add(session_);
        on.deadlines().arm(*this, s.timeout_, on.now());
    }
    void refuse() noexcept override
    {
        auto const why = session_->connection_->failure();
        session_->set_ended(why);
        finish(why ? why->code : make_error_code(sluice::error::connection_not_open), why);
    }
    void give_up(std::error_code why) override { session_->give_up(why, "begin"); }

    /// Answers the caller and frees this.
    void finish(std::error_code code, failure_ptr why)
    {
        auto const s = session_;
        auto& core = *s->connection_;
        if (armed())
            core.deadlines().disarm(*this);
        auto reply = std::move(reply_);
        auto user = std::move(user_);
        delete this;
        core.answer(*s->completions_, std::move(reply), code, std::move(why),
                    client::session{std::move(user)});
    }

private:
    std::shared_ptr<session_core> session_;
    std::shared_ptr<session_core> user_;
    reply_ptr<client::session> reply_;
};

class session_core::end_request final : public request {
public:
    end_request(std::shared_ptr<session_core> s, amqp_error why, reply_ptr<> r)
        : session_{std::move(s)}, why_{std::move(why)}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, session_->connection_);
    }
    ~end_request() override = default;

    void execute(connection_core& on) override
    {
        auto& s = *session_;
        if (s.ended())
            return finish({}, nullptr);
        s.ending_.push_back(*this);
        on.deadlines().arm(*this, s.timeout_, on.now());
        if (!begin())
            return give_up(make_error_code(sluice::error::operation_aborted));
        auto const overtake = !why_.empty();
        s.begin_end(std::move(why_), overtake);
    }
    void refuse() noexcept override { finish({}, nullptr); }
    void give_up(std::error_code why) override
    {
        auto const s = session_;
        s->ending_.remove(*this);
        s->give_up(make_error_code(sluice::error::closed_locally), "end");
        finish(why, make_failure(why, "the peer did not answer the end in time"));
    }
    void finish(std::error_code code, failure_ptr why)
    {
        auto const s = session_;
        auto& core = *s->connection_;
        if (armed())
            core.deadlines().disarm(*this);
        auto reply = std::move(reply_);
        delete this;
        core.answer(*s->completions_, std::move(reply), code, std::move(why));
    }

private:
    std::shared_ptr<session_core> session_;
    amqp_error why_;
    reply_ptr<> reply_;
};

class session_core::abandon_command final : public command {
public:
    explicit abandon_command(std::shared_ptr<session_core> self) : self_{std::move(self)} {}
    void execute(connection_core&) override
    {
        self_->begin_end({}, false);
        self_->user_.reset();
        delete this;
    }
    void refuse() noexcept override { delete this; }

private:
    ~abandon_command() override = default;
    std::shared_ptr<session_core> self_;
};

// ---- any thread

session_core::session_core(std::shared_ptr<connection_core> connection,
                           std::shared_ptr<connection_core> const& user, bool holds,
                           session_options options)
    : connection_{std::move(connection)},
      weak_user_{user},
      user_{holds ? user : nullptr},
      completions_{connection_->container().make_completions()},
      options_{std::move(options)},
      timeout_{options_.timeout.count() == 0 ? connection_->options().timeout : options_.timeout},
      transactions_{std::make_shared<transaction_controller>()},
      tally_{&connection_->counted()}
{
}

session_core::~session_core() = default;

void session_core::start_begin(std::shared_ptr<session_core> user, reply_ptr<client::session> r)
{
    auto* const request = new begin_request{shared_from_this(), std::move(user), std::move(r)};
    if (!connection_->push(*request))
        request->refuse();
}

void session_core::start_end(amqp_error why, reply_ptr<> r)
{
    auto* const request = new end_request{shared_from_this(), std::move(why), std::move(r)};
    if (!connection_->push(*request))
        request->refuse();
}

void session_core::abandon(std::shared_ptr<session_core> self)
{
    auto* const c = new abandon_command{self};
    if (connection_->push(*c))
        return;
    c->refuse();
    connection_->release_later(std::move(self));
}

void session_core::request_flow(bool with_echo)
{
    if (ended() || connection_->ended())
        return;
    if (merge(with_echo ? flow | echo : flow, 0))
        connection_->push_flow(*this);
}

// ---- strand

void session_core::publish() noexcept
{
    if (!engine_)
        return;
    std::uint64_t values[counter_count];
    std::memcpy(values, &engine_->counters(), sizeof values);
    for (std::size_t i = 0; i < counter_count; ++i) values[i] += counted_before_[i];
    for (std::size_t i = 0; i < counter_count; ++i) {
        auto const before = published_[i].load(std::memory_order_relaxed);
        if (before == values[i])
            continue;
        published_[i].store(values[i], std::memory_order_relaxed);
        connection_->count_session(i, values[i] - before);
    }
    for (auto const& l : links_) l->publish();
}

void session_core::apply(std::uint64_t what)
{
    if (engine_ && !ended() && (what & flow))
        engine_->request_flow((what & echo) != 0);
}

void session_core::remove(link_core& l) noexcept
{
    std::erase_if(links_, [&](auto const& held) { return held.get() == &l; });
}

void session_core::handle(engine::event const& e)
{
    switch (e.kind) {
    case engine::event_kind::session_begun:
        if (ended())
            return;
        connection_->deadlines().disarm(again_);
        unanswered_ = 0;
        if (phase() == detail::phase::opening)
            set_phase(detail::phase::open);
        if (auto* const request = std::exchange(begin_, nullptr))
            request->finish({}, nullptr);
        return;
    case engine::event_kind::session_ended: {
        auto const self = shared_from_this();
        publish();
        if (!ended() && is_by_connection(e.code) && connection_->is_curable(e.code))
            return;  // it waits for the connection: see lose()
        on_ended(why_ended(e.code));
        return;
    }
    default: return;  // a mismatch is counted
    }
}

/// Ended without a word of its own, and all at once: that is what the end of the connection does to
/// it.
bool session_core::is_by_connection(std::error_code code) const
{
    return code && code != sluice::error::session_ended_by_peer
           && code != sluice::error::channel_max_exceeded
           && engine_->state() == engine::session_state::ended;
}

failure_ptr session_core::why_ended(std::error_code code) const
{
    auto error = engine_->error();
    auto const by_peer = code == sluice::error::session_ended_by_peer;
    if (is_by_connection(code))
        return connection_->why_closed(code);
    if (by_peer)
        return make_failure(code, "session ended by the peer", std::move(error));
    if (!code || code == sluice::error::closed_locally)
        return make_failure(make_error_code(sluice::error::closed_locally),
                            "session ended by this side");
    return make_failure(code, "session ended", std::move(error));
}

void session_core::adopt(engine::session& s)
{
    engine_ = &s;
    s.context = this;
    connection_->add(shared_from_this());
    if (s.begin(to_engine()) == sluice::error::too_large)
        std::ignore = s.end({.condition = std::string{condition::frame_size_too_small}});
}

void session_core::begin_end(amqp_error why, bool overtake)
{
    if (!ended() && !engine_ && connection_->away())
        return on_ended(make_failure(make_error_code(sluice::error::closed_locally),
                                     "session ended by this side"));
    if (ended() || !engine_)
        return;
    set_phase(detail::phase::closing);
    std::ignore = engine_->end(std::move(why), overtake);
}

/// The peer's state of the session is not known: it is ended at once, and what the peer may still
/// say is dropped.
void session_core::give_up(std::error_code why, char const* what)
{
    if (ended())
        return;
    if (engine_)
        std::ignore = engine_->end({}, true);
    auto const failure = make_failure(why, std::string{"session given up: no answer to "} + what
                                               + " from " + connection_->where());
    auto const self = shared_from_this();
    end_as(failure);
    for (auto const& l : std::vector{links_}) l->fail(failure);
    settle_calls(failure);
}

void session_core::overflow(amqp_error why)
{
    if (ended() || !engine_)
        return;
    auto const self = shared_from_this();
    std::ignore = engine_->end(why, true);
    auto const failure = make_failure(make_error_code(sluice::error::inbox_overflow),
                                      "session ended by this side", std::move(why));
    end_as(failure);
    for (auto const& l : std::vector{links_}) l->fail(failure);
    settle_calls(failure);
}

void session_core::on_ended(failure_ptr why)
{
    auto const self = shared_from_this();
    publish();
    if (!ended())
        end_as(why);
    connection_->deadlines().disarm(again_);
    for (auto const& l : std::vector{links_}) l->on_ended(why);
    if (auto* const gone = std::exchange(engine_, nullptr)) {
        gone->context = nullptr;
        connection_->engine().forget(*gone);
    }
    settle_calls(why);
    transactions_->forget();
    connection_->remove(*this);
    user_.reset();
}

void session_core::settle_calls(failure_ptr const& why)
{
    if (auto* const request = std::exchange(begin_, nullptr))
        request->finish(why ? why->code : make_error_code(sluice::error::connection_not_open), why);
    while (auto* const r = static_cast<end_request*>(ending_.pop_front())) r->finish({}, nullptr);
}

}  // namespace sluice::client::detail
