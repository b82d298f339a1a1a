// What a peer says, and where it goes.
#include "node/peer.hpp"

#include "node/attach.hpp"
#include "node/checks.hpp"
#include "node/management.hpp"
#include "node/node_core.hpp"

namespace sluice::node::detail {

namespace {

/// Octets received between two looks at what is held back: looking costs a walk over the sessions.
constexpr std::uint64_t watch_every = 256 * 1024;

std::uint32_t to_ms(milliseconds t) noexcept
{
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(t.count(), 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

// ---- links

node_link::node_link(peer& p, engine::link& l) : peer_{p}, link_{l}, id_{p.core().next_id()} {}

link_key node_link::key() const
{
    return {.user = peer_.user(),
            .container = peer_.container_id(),
            .name = link_.name(),
            .ours = link_.role()};
}

void node_link::detach(std::string_view condition, std::string text, bool overtake)
{
    amqp_error why{.condition = std::string{condition}, .description = std::move(text), .info = {}};
    std::ignore = link_.detach(true, std::move(why), overtake);
    peer_.touch();
}

peer::peer(node_core& core, std::shared_ptr<client::detail::io_thread> io, settings const& s)
    : engine_stream{std::move(io), s}, core_{core}
{
}

peer::~peer() = default;

void peer::begin(std::unique_ptr<net::byte_stream> stream, clock_time spent)
{
    auto const& o = core_.options();
    engine::connection_options e;
    e.container_id = o.container_id;
    e.listener = true;
    e.writes_between = true;
    login_ = std::make_unique<login>(login{core_.sasl_for(stream->security()), nullptr});
    e.sasl = login_->how.open() ? engine::sasl_mode::accepted : engine::sasl_mode::required;
    e.max_frame_size = o.max_frame_size;
    e.outgoing_frame_max = o.max_frame_size;
    e.channel_max = o.channel_max;
    e.idle_timeout_ms = to_ms(o.idle_timeout);
    e.handshake_timeout_ms =
        to_ms(std::max<clock_time>(o.handshake_timeout - spent, clock_time{1}));
    e.offered_capabilities = {"ANONYMOUS-RELAY"};
    e.properties = core_.connection_properties();
    auto mechanisms = net::sasl_offer(login_->how);
    start(std::move(stream), std::move(e), std::move(mechanisms));
}

void peer::touch() { core_.run_later(*this); }

void peer::call_when_written(node_link& l) { waiting_.push_back(&l); }

void peer::add(engine::link& l, std::unique_ptr<node_link> made)
{
    l.context = made.get();
    made->place = links_.size();
    links_.push_back(std::move(made));
    core_.count_link(1);
}

void peer::add_reply_link(std::string const& address, reply_link& l) { reply_links_[address] = &l; }

void peer::remove_reply_link(std::string const& address, reply_link const& l) noexcept
{
    auto const it = reply_links_.find(address);
    if (it != reply_links_.end() && it->second == &l)
        reply_links_.erase(it);
}

amqp_error peer::cannot_reply(std::string const& to) const
{
    if (auto const it = reply_links_.find(to); it != reply_links_.end()) {
        if (it->second->has_room())
            return {};
        return {condition::resource_limit_exceeded, "'" + to + "' does not take its replies", {}};
    }
    if (!core_.find(to))
        return {condition::not_found,
                "no link of this connection has the target '" + to
                    + "', and no queue is called so: the reply has nowhere to go",
                {}};
    return denied(net::access::write, to);
}

amqp_error peer::reply(std::string const& to, bytes octets)
{
    if (auto no = cannot_reply(to); !no.empty())
        return no;
    if (auto const it = reply_links_.find(to); it != reply_links_.end()) {
        if (it->second->send(std::move(octets)))
            return {};
        return {condition::resource_limit_exceeded, "'" + to + "' does not take its replies", {}};
    }
    auto const made = message::make(std::move(octets), 0, core_.now(), core_.wall_clock());
    return core_.push_to(*core_.find(to), *made);
}

void peer::close(std::string_view condition, std::string text)
{
    std::ignore = engine().close(
        {.condition = std::string{condition}, .description = std::move(text), .info = {}});
    limit_close();
    touch();
}

bool peer::at_rest()
{
    if (!connected() || !engine().opened())
        return true;
    if (output_blocked() || engine().wants_write())
        return false;
    auto rest = true;
    engine().for_each_session([&](engine::session& s) {
        s.for_each_link([&](engine::link& l) {
            if (l.role() == role::sender) {
                auto const& out = static_cast<engine::sender&>(l);
                rest = rest && out.queued() == 0 && out.unsettled() == 0;
            }
        });
    });
    return rest;
}

// ---- events

void peer::on_event(engine::event const& e)
{
    using kind = engine::event_kind;
    switch (e.kind) {
    case kind::sasl_init: return on_sasl(true);
    case kind::sasl_response: return on_sasl(false);
    case kind::connection_requested: return on_open();
    case kind::connection_closed:
        while (!links_.empty()) end_link(links_.back()->engine_link(), ending::connection);
        return core_.on_connection_closed(*this);
    case kind::session_requested: return on_session(*e.session);
    case kind::session_ended: {
        auto const lost = engine().state() == engine::connection_state::ended;
        return end_session(*e.session, lost ? ending::connection : ending::session);
    }
    case kind::link_requested:
        if (are_fields(e.link->remote_attach().properties, "attach"))
            attach_link(*this, *e.link);
        return;
    case kind::link_detached: {
        auto const closed = e.link->closed_by_peer() || !e.link->error().empty();
        end_link(*e.link, closed ? ending::closed : ending::detached);
        return e.session->forget(*e.link);
    }
    default: break;
    }
    auto* const l = e.link ? static_cast<node_link*>(e.link->context) : nullptr;
    if (!l)
        return;
    if (e.kind == kind::link_attached)
        l->on_attached();
    else
        l->on_event(e);
}

void peer::end_link(engine::link& l, ending how)
{
    auto* const gone = static_cast<node_link*>(std::exchange(l.context, nullptr));
    if (!gone)
        return;
    gone->on_ended(how);
    std::erase(waiting_, gone);
    std::erase(after_events_, gone);
    core_.forget(*gone);
    core_.count_link(-1);
    auto const place = gone->place;
    auto const held = std::move(links_[place]);
    if (place + 1 != links_.size()) {
        links_[place] = std::move(links_.back());
        links_[place]->place = place;
    }
    links_.pop_back();
}

void peer::end_session(engine::session& s, ending how)
{
    s.for_each_link([&](engine::link& l) { end_link(l, how); });
    core_.on_session_ended(s);
    engine().forget(s);
}

void peer::on_open()
{
    login_.reset();
    container_id_ = std::string{engine().remote_open().container_id};
    if (core_.stopping())
        return close(condition::connection_forced, "the node is stopping");
    if (core_.users() && !core_.users()->find(user_))  // the users may have changed since SASL
        return close(condition::unauthorized_access,
                     "user '" + user_ + "' is not a user of this node any more");
    if (are_fields(engine().remote_open().properties, "open"))
        std::ignore = engine().open();
}

bool peer::are_fields(raw_value properties, char const* whose)
{
    auto const good = has_symbols_as_keys(properties);
    if (!good)
        close(condition::decode_error,
              std::string{whose} + ".properties has a key that is no symbol [2.8.13]");
    return good;
}

void peer::on_session(engine::session& s)
{
    if (!are_fields(s.remote_begin().properties, "begin"))
        return;
    auto const& o = core_.options();
    engine::session_options e;
    e.incoming_window = o.incoming_window;
    e.handle_max = o.handle_max;
    e.policy = o.policy;
    if (s.begin(std::move(e)) == error::channel_max_exceeded)
        close(condition::not_allowed, "more sessions than the peer's own channel-max of "
                                          + std::to_string(engine().remote_open().channel_max)
                                          + " lets us answer [2.7.1]");
}

bool peer::call_after_events(node_link& l)
{
    if (!in_events())
        return false;
    if (after_events_.empty() || after_events_.back() != &l)
        after_events_.push_back(&l);
    return true;
}

void peer::on_events_done()
{
    for (auto* const l : after_events_) l->get_in_line();
    while (!after_events_.empty()) {
        auto* const l = after_events_.front();
        std::erase(after_events_, l);
        l->on_events_done();
    }
}

void peer::on_written()
{
    if (waiting_.empty())
        return;
    for (auto* const l : std::exchange(waiting_, {})) l->on_written();
}

bool peer::has_room() noexcept
{
    auto const room = unsettled_ < core_.options().connection_unsettled_max;
    starved_ = starved_ || !room;
    return room;
}

client::detail::clock_time peer::on_turn_end()
{
    if (starved_ && unsettled_ <= core_.options().connection_unsettled_max / 4 * 3) {
        starved_ = false;
        for (std::size_t i = 0; i < links_.size(); ++i) links_[i]->on_room();
    }
    if (connected() && engine().counters().bytes_received - watched_at_ >= watch_every)
        watch_buffers();
    return client::detail::clock_time::max();
}

/// Bodies that are half here are bounded for each link and session; of many sessions, here.
void peer::watch_buffers()
{
    watched_at_ = engine().counters().bytes_received;
    std::size_t held = 0;
    engine().for_each_session([&](engine::session& s) { held += s.buffered_bytes(); });
    auto const in_all = core_.on_buffered(buffered_, held);
    buffered_ = held;
    auto const& o = core_.options();
    if (held > o.connection_buffered_max)
        close(condition::resource_limit_exceeded,
              std::to_string(held) + " octets of unfinished messages on this connection, more than "
                  + std::to_string(o.connection_buffered_max));
    else if (in_all > o.buffered_max && held > watch_every)
        close(condition::resource_limit_exceeded, "the node holds " + std::to_string(in_all)
                                                      + " octets of unfinished messages, more than "
                                                      + std::to_string(o.buffered_max));
}

void peer::on_gone()
{
    while (!links_.empty()) end_link(links_.back()->engine_link(), ending::connection);
    core_.on_buffered(buffered_, 0);
    core_.remove(*this);
}

}  // namespace sluice::node::detail
