// Links: attach, detach, and why a link ended.
#include "client/link_core.hpp"

#include <sluice/codec/codec.hpp>
#include <sluice/codec/scalars.hpp>

namespace sluice::client::detail {
namespace {

constexpr std::chrono::milliseconds late_reason_max{100};

/// Views of texts, for fields of symbols.
struct symbol_list {
    explicit symbol_list(std::vector<std::string> const& texts) : items(texts.begin(), texts.end())
    {
    }
    symbols view() const noexcept { return std::span<symbol const>{items}; }
    std::vector<symbol> items;
};

bytes encoded_address(terminus const& t)
{
    bytes out;
    if (!t.address.empty())
        append(out, t.address);
    return out;
}

}  // namespace

std::string quoted_address(terminus const& t)
{
    if (t.dynamic)
        return "a dynamic node";
    return t.address.empty() ? "no address" : "'" + t.address + "'";
}

bytes encode_source(terminus const& t)
{
    auto const address = encoded_address(t);
    symbol_list const outcomes{t.outcomes};
    symbol_list const capabilities{t.capabilities};
    bytes out;
    append(out, source{.address = {address},
                       .durable = t.durable,
                       .expiry_policy = symbol{std::string_view{t.expiry_policy}},
                       .timeout = t.timeout,
                       .dynamic = t.dynamic,
                       .dynamic_node_properties = {t.dynamic_node_properties},
                       .distribution_mode = symbol{std::string_view{t.distribution_mode}},
                       .filter = {t.filter},
                       .default_outcome = {t.default_outcome},
                       .outcomes = outcomes.view(),
                       .capabilities = capabilities.view()});
    return out;
}

bytes encode_target(terminus const& t)
{
    auto const address = encoded_address(t);
    symbol_list const capabilities{t.capabilities};
    bytes out;
    append(out, target{.address = {address},
                       .durable = t.durable,
                       .expiry_policy = symbol{std::string_view{t.expiry_policy}},
                       .timeout = t.timeout,
                       .dynamic = t.dynamic,
                       .dynamic_node_properties = {t.dynamic_node_properties},
                       .capabilities = capabilities.view()});
    return out;
}

// ---- calls

void link_core::attach_request::execute(connection_core& on)
{
    auto& l = *link_;
    auto& s = *l.session_;
    l.attach_ = this;
    if (!begin())
        return l.on_ended(make_failure(make_error_code(sluice::error::operation_aborted),
                                       "attach was cancelled"));
    if (l.unfit_)
        return l.on_ended(l.unfit_);
    if (on.away() && !s.ended()) {  // attached with the others, when the connection is back
        l.away_ = true;
        s.add(link_);
        return on.deadlines().arm(*this, timeout_, on.now());
    }
    if (!s.engine() || s.ended())
        return l.on_ended(s.failure());
    if (l.closes())
        return l.on_ended(l.closed_locally());
    auto made = l.attach(*s.engine());
    if (!made)
        return l.on_ended(
            make_failure(made.error(), "no " + l.refers_to() + on.why_too_large(made.error())));
    l.engine_link_ = *made;
    l.engine_link_->context = &l;
    s.add(link_);
    on.deadlines().arm(*this, timeout_, on.now());
}

void link_core::attach_request::refuse() noexcept
{
    auto const l = link_;
    auto const why = l->connection()->failure();
    l->set_ended(why);
    l->detaches_.close(why);
    finish(why ? why->code : make_error_code(sluice::error::connection_not_open), why);
}

void link_core::attach_request::give_up(std::error_code why)
{
    link_->give_up(why, "no answer to the attach of the " + link_->refers_to());
}

class link_core::close_request final : public request {
public:
    close_request(std::shared_ptr<link_core> l, amqp_error why, reply_ptr<> r)
        : link_{std::move(l)}, why_{std::move(why)}, reply_{std::move(r)}
    {
        accept_cancellation(*reply_, link_->connection());
    }
    ~close_request() override = default;

    void execute(connection_core& on) override
    {
        auto& l = *link_;
        if (l.ended())
            return finish({}, nullptr);
        l.closing_.push_back(*this);
        on.deadlines().arm(*this, l.timeout_, on.now());
        if (!begin())
            return give_up(make_error_code(sluice::error::operation_aborted));
        auto const overtake = !why_.empty();
        l.begin_close(std::move(why_), overtake);
    }
    void refuse() noexcept override { finish({}, nullptr); }
    void give_up(std::error_code why) override
    {
        auto const l = link_;
        l->closing_.remove(*this);
        auto const text = "no answer to the detach of the " + l->refers_to();
        l->give_up(make_error_code(sluice::error::closed_locally), text);
        finish(why, make_failure(why, text));  // last: whoever it wakes finds the cause in place
    }
    void finish(std::error_code code, failure_ptr why)
    {
        auto const l = link_;
        if (armed())
            l->core().deadlines().disarm(*this);
        auto reply = std::move(reply_);
        delete this;
        l->core().answer(*l->completions(), std::move(reply), code, std::move(why));
    }

private:
    std::shared_ptr<link_core> link_;
    amqp_error why_;
    reply_ptr<> reply_;
};

class link_core::abandon_command final : public command {
public:
    explicit abandon_command(std::shared_ptr<link_core> self) : self_{std::move(self)} {}
    void execute(connection_core&) override
    {
        self_->abandoned_ = true;
        self_->on_abandoned();
        delete this;
    }
    void refuse() noexcept override
    {
        self_->on_orphaned();
        delete this;
    }

private:
    ~abandon_command() override = default;
    std::shared_ptr<link_core> self_;
};

// ---- any thread

link_core::link_core(std::shared_ptr<session_core> session, std::shared_ptr<session_core> user,
                     std::shared_ptr<connection_core> connection_user, link_options const& options,
                     char const* kind)
    : tally_{&session->counted()},
      session_{std::move(session)},
      session_user_{std::move(user)},
      connection_user_{std::move(connection_user)},
      name_{options.name.empty() ? session_->connection()->container().unique_name(kind)
                                 : options.name},
      timeout_{options.timeout.count() == 0 ? session_->timeout() : options.timeout}
{
}

link_core::~link_core() = default;

void link_core::start_attach(attach_request* a)
{
    if (!connection()->push(*a))
        a->refuse();
}

void link_core::start_close(amqp_error why, reply_ptr<> r)
{
    auto* const request = new close_request{shared_from_this(), std::move(why), std::move(r)};
    if (!connection()->push(*request))
        request->refuse();
}

void link_core::abandon(std::shared_ptr<link_core> self)
{
    auto* const c = new abandon_command{self};
    if (connection()->push(*c))
        return;
    c->refuse();
    connection()->release_later(std::move(self));
}

std::shared_ptr<notice_channel<detach_notice>> link_core::detaches()
{
    constexpr std::size_t kept = 64;
    auto made = detaches_.subscribe(completions(), kept);
    if (!ended() && connection()->ended())  // never attached, and never will be
        made->close(connection()->failure());
    return made;
}

// ---- strand

failure_ptr link_core::closed_locally() const
{
    if (auto why = core().why_closing())
        return why;
    return make_failure(make_error_code(sluice::error::closed_locally),
                        refers_to() + " closed by this side");
}

void link_core::handle(engine::event const& e)
{
    switch (e.kind) {
    case engine::event_kind::link_attached:
        if (ended())
            return;
        if (auto const lacking = left_out(*e.link); !lacking.empty())
            return give_up(make_error_code(sluice::error::precondition_failed),
                           refers_to() + ": " + lacking);
        if (phase() == detail::phase::opening)
            set_phase(detail::phase::open);
        set_text(address_, remote_address(*e.link));
        if (core().observed())
            tell_attached();
        core().deadlines().disarm(again_);
        attached_at_ = core().now();
        away_ = false;
        unanswered_ = 0;
        if (!e.link->over())  // else the next event says why, and what waits is its matter
            on_attached();
        was_attached_ = true;
        without_map_ = false;
        if (auto* const request = std::exchange(attach_, nullptr)) {
            core().deadlines().disarm(*request);
            request->finish({}, nullptr);
        }
        return;
    case engine::event_kind::link_detached: return on_detach(e.code);
    default: return on_event(e);
    }
}

void link_core::on_detach(std::error_code code)
{
    if (ended())  // given up before: nobody waits any more
        return on_ended(failure());
    auto error = engine_link_->error();
    if (is_curable(error)) {
        if (detaches_.wanted() || core().observed())
            tell_detached({.why = make_failure(
                               code ? code : make_error_code(sluice::error::link_detached_by_peer),
                               refers_to() + " detached by the peer", error),
                           .comes_back = true});
        lose(false);
        return try_later();
    }
    if (phase() == detail::phase::closing && error.empty())
        return on_ended(closed_locally());
    auto text = code == sluice::error::link_refused || attach_
                    ? refers_to() + " refused by the peer"
                    : refers_to() + " detached by the peer";
    if (code != sluice::error::link_detached_by_peer && code != sluice::error::link_refused && code)
        text = refers_to() + " ended";
    // Where the end came in the same octets, its event follows.
    auto const nameless =
        error.empty() || engine_link_->session().state() != engine::session_state::mapped;
    held_back_ = make_failure(code ? code : make_error_code(sluice::error::link_detached_by_peer),
                              std::move(text), std::move(error));
    if (!nameless)
        return on_ended(held_back_);
    core().deadlines().arm(late_, late_reason_max, core().now());
}

void link_core::adopt(engine::link& l)
{
    engine_link_ = &l;
    l.context = this;
    session_->add(shared_from_this());
    auto const failed = l.attach(to_engine());
    if (failed == sluice::error::too_large)
        std::ignore = l.refuse({.condition = std::string{condition::frame_size_too_small}});
    if (failed)
        fail(make_failure(failed, "no " + refers_to()));
}

void link_core::begin_close(amqp_error why, bool overtake)
{
    if (!ended() && (!engine_link_ || away_) && core().recovers()) {
        if (engine_link_)
            std::ignore = engine_link_->detach(true, std::move(why), true);
        return fail(closed_locally());
    }
    if (ended() || !engine_link_)
        return;
    if (reason_is_late())
        return on_ended(held_back_);
    set_phase(detail::phase::closing);
    auto const closed = !(abandoned() && outlives_link());
    std::ignore = engine_link_->detach(closed, std::move(why), overtake);
}

/// The detach goes out; its answer is nobody's business, so the session need not wait for it
/// either.
void link_core::close_abandoned()
{
    begin_close({}, false);
    session_user_.reset();
    connection_user_.reset();
}

/// The peer's state of the link is not known: it is detached at once, and what the peer may still
/// say is dropped.
void link_core::give_up(std::error_code why, std::string what)
{
    if (ended())
        return;
    if (engine_link_)
        std::ignore = engine_link_->detach(true, {}, true);
    fail(make_failure(why, std::move(what)));
}

void link_core::fail(failure_ptr why)
{
    if (ended())
        return;
    auto const self = shared_from_this();
    set_ended(why);
    tell_detached({.why = why, .comes_back = false});
    detaches_.close(why);
    on_detached(why);
    settle_calls(why);
}

void link_core::on_ended(failure_ptr why)
{
    auto const self = shared_from_this();
    core().deadlines().disarm(late_);
    core().deadlines().disarm(again_);
    fail(std::move(why));
    auto* const gone = std::exchange(engine_link_, nullptr);
    if (gone)
        gone->context = nullptr;
    on_released();
    if (gone)
        gone->session().forget(*gone);
    session_->remove(*this);
    session_user_.reset();
    connection_user_.reset();
}

void link_core::settle_calls(failure_ptr const& why)
{
    if (auto* const request = std::exchange(attach_, nullptr)) {
        core().deadlines().disarm(*request);
        request->finish(why ? why->code : make_error_code(sluice::error::link_not_attached), why);
    }
    while (auto* const r = static_cast<close_request*>(closing_.pop_front()))
        r->finish({}, nullptr);
}

}  // namespace sluice::client::detail
