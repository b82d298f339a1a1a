// One end's user: what it does by itself, and what it makes of events.
#include "support_world.hpp"

namespace sluice::prop {

namespace {

/// Errors that a user of this world gives; every other one is an engine's complaint about a peer
/// that keeps all rules.
constexpr char wanted_error[] = "test:wanted";

amqp_error some_error(unsigned n)
{
    if (n % 3 != 0)
        return {};
    return {.condition = wanted_error, .description = "as the script says", .info = {}};
}

bytes state_of(unsigned n)
{
    switch (n % 6) {
    case 0: return encoded(delivery_state{rejected{}});
    case 1: return encoded(delivery_state{released{}});
    case 2: return encoded(delivery_state{modified{.delivery_failed = true}});
    default: return {encoded_accepted.begin(), encoded_accepted.end()};
    }
}

/// The context of a delivery that was settled in its middle: it must not be used again.
void* const done_with = reinterpret_cast<void*>(~std::uintptr_t{0});

template <class T>
void erase(std::vector<T*>& from, void const* what)
{
    std::erase_if(from, [&](T* x) { return static_cast<void const*>(x) == what; });
}

std::size_t number_of(e::outgoing_delivery const& d)
{
    return reinterpret_cast<std::uintptr_t>(d.context);
}

e::connection_options connection_options_of(world_options const& o, std::size_t side)
{
    return {.container_id = side == 0 ? "left" : "right",
            .listener = side == 1,
            .max_frame_size = o.max_frame_size,
            .outgoing_frame_max = o.max_frame_size,
            .channel_max = 9,
            .idle_timeout_ms = o.idle_timeout_ms};
}

e::session_options session_options_of(world_options const& o, unsigned n)
{
    return {.next_outgoing_id = transfer_id{o.first_id},
            .next_delivery_id = delivery_number{o.first_id},
            .incoming_window = 1 + n % 9,
            .handle_max = 31,
            .buffered_bytes_max = n % 3 == 0 ? 1500u : 1u << 20,
            .policy = e::flow_policy::strict};
}

}  // namespace

world_end::world_end(world& w, std::size_t side)
    : engine{connection_options_of(w.options, side)}, world_{w}, side_{side}
{
}

void world_end::act_on(act what, unsigned n)
{
    switch (what) {
    case act::send: return send(n, false);
    case act::send_settled: return send(n, true);
    case act::stream: return start_stream(n);
    case act::body_ready: return wake_sources();
    case act::cancel: return cancel(n);
    case act::sender_settle: return settle_first(n);
    case act::credit:
        if (auto* const r = pick_receiver(n)) {
            n /= 16;
            n % 3 == 0 ? r->set_credit(n % 5) : r->add_credit(1 + n % 3);
        }
        return;
    case act::credit_window:
        if (auto* const r = pick_receiver(n))
            r->set_credit_window(n / 16 % 6);
        return;
    case act::drain:
        if (auto* const r = pick_receiver(n))
            r->drain();
        return poll();
    case act::flow_link:
        if (auto* const l = pick_receiver(n))
            ask_flow(l, &l->session(), false, n / 16 % 2 == 0);
        return;
    case act::flow_session:
        if (!sessions.empty())
            ask_flow(nullptr, sessions[n % sessions.size()], false, n / 16 % 2 == 0);
        return;
    case act::settle: return settle(n);
    case act::update: return update(n);
    case act::read_body: return read_body(n);
    case act::begin: return begin_one(n);
    case act::end: return end_one(n);
    case act::attach: return attach_one(n);
    case act::detach: return detach_one(n);
    case act::close: return close_one(n);
    default: return;
    }
}

e::sender* world_end::pick_sender(unsigned n)
{
    return senders.empty() ? nullptr : senders[n % 16 % senders.size()];
}
e::receiver* world_end::pick_receiver(unsigned n)
{
    return receivers.empty() ? nullptr : receivers[n % 16 % receivers.size()];
}

void world_end::ask_flow(e::link* l, e::session* s, bool within_frame, bool echo)
{
    if (s->state() == e::session_state::mapped && (!l || l->attached()))
        world_.books.ask(side_, s->local_channel(), l ? l->name() : "",
                         static_cast<std::size_t>(s->counters().transfers_written), within_frame);
    if (l)
        static_cast<e::receiver*>(l)->request_flow(echo);
    else
        s->request_flow(echo);
}

void world_end::send(unsigned n, bool settled)
{
    auto* const s = pick_sender(n);
    if (!s)
        return;
    n /= 16;
    auto const number = world_.next_parcel_++;
    auto const size = parcel_size_min + (n % 3 == 0 ? n * 37 % 2500 : n % 60);
    parcel p{.number = number, .link = s->name(), .size = size, .settled = settled};
    for (std::size_t i = 0; i < size; ++i) p.body.push_back(parcel_octet(number, i));
    auto& kept = world_.parcels[number] = std::move(p);
    auto const split = n % (size + 1);
    auto const sent = s->send(
        {.head = bytes_view{kept.body}.first(split), .tail = bytes_view{kept.body}.subspan(split)},
        {.settled = settled,
         .notify_sent = true,
         .context = reinterpret_cast<void*>(std::uintptr_t{number})});
    if (!sent)
        world_.parcels.erase(number);
}

void world_end::start_stream(unsigned n)
{
    auto* const s = pick_sender(n);
    if (!s)
        return;
    n /= 16;
    auto const number = world_.next_parcel_++;
    auto source = std::make_unique<parcel_source>(number);
    for (unsigned i = 0; i < n % 7; ++i) {
        auto const next = world_.random();
        source->script.push_back(world_.options.streams_fail || next % 17 != 16 ? next : next + 1);
    }
    source->meanwhile = [this, n, s] {
        ++world_.pulls_;
        if (world_.random() % 4 != 0)
            return;
        auto& session = s->session();
        auto const ours = [&](auto* l) { return &l->session() == &session; };
        auto const r = std::find_if(receivers.begin(), receivers.end(), ours);
        auto const mine = std::find(sessions.begin(), sessions.end(), &session) != sessions.end();
        if (n % 2 == 0 && r != receivers.end())
            ask_flow(*r, &session, true, false);
        else if (mine)
            ask_flow(nullptr, &session, true, false);
    };
    world_.parcels[number] = {.number = number, .link = s->name(), .settled = n % 4 == 0};
    auto const sent =
        s->send(*source, {.settled = n % 4 == 0,
                          .notify_sent = true,
                          .context = reinterpret_cast<void*>(std::uintptr_t{number})});
    if (sent)
        world_.sources[number] = std::move(source);
    else
        world_.parcels.erase(number);
}

void world_end::wake_sources()
{
    for (auto const& all : {senders, leaving})
        for (auto* s : all) s->for_each_delivery([&](auto& d) { s->body_ready(d); });
}

void world_end::cancel(unsigned n)
{
    auto* const s = pick_sender(n);
    if (!s)
        return;
    e::outgoing_delivery* chosen = nullptr;
    auto left = n / 16 % 3;
    s->for_each_delivery([&](auto& d) {
        auto const may =
            d.state() == e::outgoing_state::queued || d.state() == e::outgoing_state::begun;
        if (may && (!chosen || left-- > 0))
            chosen = &d;
    });
    if (chosen && s->cancel(*chosen))
        world_.object("a delivery that has not ended cannot be cancelled");
    poll();
}

/// The sender settles before, or after, its receiver has stated an outcome.
void world_end::settle_first(unsigned n)
{
    auto* const s = pick_sender(n);
    if (!s)
        return;
    e::outgoing_delivery* chosen = nullptr;
    s->for_each_delivery([&](auto& d) {
        if (d.state() == e::outgoing_state::answered || d.state() == e::outgoing_state::unsettled)
            chosen = &d;
    });
    if (!chosen)
        return;
    if (chosen->state() == e::outgoing_state::unsettled && n / 16 % 4 != 0)
        return;
    finish(*chosen, "settled by its sender");
    if (s->settle(*chosen))
        world_.object("a delivery that was sent cannot be settled");
}

void world_end::settle(unsigned n)
{
    auto* const r = pick_receiver(n);
    if (!r)
        return;
    n /= 16;
    e::incoming_delivery* chosen = nullptr;
    auto left = n % 4;
    r->for_each_delivery([&](auto& d) {
        auto const half = d.state() == e::incoming_state::partial && r->options().streamed
                          && !d.settled() && d.context != done_with && n % 8 == 0
                          && (d.context || d.body().size() >= parcel_size_min);
        if ((d.state() == e::incoming_state::complete || half) && (!chosen || left-- > 0))
            chosen = &d;
    });
    if (chosen)
        settle_one(*chosen, n / 4);
    poll();
}

void world_end::settle_one(e::incoming_delivery& d, unsigned how)
{
    auto const state = state_of(how);
    auto const whole = d.complete();
    note_outcome(d, state, whole);
    if (!whole)
        d.context = done_with;
    std::ignore = d.link().settle(d, {state});
}

/// Reads what is here and writes down what is said of it.
void world_end::note_outcome(e::incoming_delivery& d, bytes const& state, bool whole)
{
    read(d, d.body().size());
    auto const packed = reinterpret_cast<std::uintptr_t>(d.context);
    auto const at = world_.parcels.find(static_cast<std::uint32_t>(packed & 0xffff'ffff));
    if (at == world_.parcels.end())
        return;  // not even its number is here
    auto& p = at->second;
    p.said = e::kind_of({state});
    if (!whole) {
        p.refused_half = true;
        return;
    }
    ++p.arrived;
    auto const source = world_.sources.find(p.number);
    auto const size = source == world_.sources.end() ? p.size.value_or(0) : source->second->size();
    if (packed >> 32 != size)
        world_.object("parcel " + std::to_string(p.number) + " arrived with "
                      + std::to_string(packed >> 32) + " octets of " + std::to_string(size));
}

void world_end::update(unsigned n)
{
    auto* const r = pick_receiver(n);
    if (!r)
        return;
    e::incoming_delivery* chosen = nullptr;
    r->for_each_delivery([&](auto& d) {
        if (d.state() == e::incoming_state::complete && !d.settled())
            chosen = &d;
    });
    if (!chosen)
        return;
    if (n / 16 % 3 == 0) {  // an outcome ahead of time: its sender's settlement is waited for
        auto const state = state_of(n / 64);
        note_outcome(*chosen, state, true);
        std::ignore = r->update(*chosen, {state});
    } else {  // `received` is no outcome: everything may still be said
        auto const state =
            encoded(delivery_state{received{.section_number = 0, .section_offset = 1}});
        std::ignore = r->update(*chosen, {state});
    }
}

void world_end::read_body(unsigned n)
{
    auto* const r = pick_receiver(n);
    if (!r)
        return;
    n /= 16;
    e::incoming_delivery* chosen = nullptr;
    r->for_each_delivery([&](auto& d) {
        auto const here =
            d.context != done_with && (d.complete() || (r->options().streamed && !d.settled()));
        if (here && !d.body().empty())
            chosen = &d;
    });
    if (chosen)
        read(*chosen, 1 + n % 900);
    poll();
}

/// Takes octets of a body and holds them against the pattern. The context keeps the parcel's number
/// and, above it, how many octets were read.
void world_end::read(e::incoming_delivery& d, std::size_t count)
{
    auto const packed = reinterpret_cast<std::uintptr_t>(d.context);
    auto number = static_cast<std::uint32_t>(packed & 0xffff'ffff);
    auto at = static_cast<std::size_t>(packed >> 32);
    auto const body = d.body();
    count = std::min(count, body.size());
    if (at == 0) {
        if (body.size() < parcel_size_min)
            return;  // a stream's first octets: its number is not here yet
        count = std::max(count, parcel_size_min);
        for (std::size_t i = 0; i < parcel_size_min; ++i)
            number = number << 8 | std::to_integer<std::uint32_t>(body[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (body[i] == parcel_octet(number, at + i))
            continue;
        world_.object("octet " + std::to_string(at + i) + " of parcel " + std::to_string(number)
                      + " is another");
        break;
    }
    at += count;
    d.context = reinterpret_cast<void*>(std::uintptr_t{at} << 32 | number);
    d.link().consume(d, count);
}

void world_end::begin_one(unsigned n)
{
    if (sessions.size() >= 3 || closing)
        return;
    auto const made = engine.begin(session_options_of(world_.options, n + world_.random()));
    if (made)
        sessions.push_back(*made);
}

void world_end::attach_one(unsigned n)
{
    if (sessions.empty())
        return;
    auto* const s = sessions[n / 2 % sessions.size()];
    std::size_t links = 0;
    s->for_each_link([&](auto&) { ++links; });
    if (links >= 8)
        return;
    n /= 16;
    e::link_options o{.name = "L" + std::to_string(world_.next_name_++),
                      .source = test::encoded_source("s"),
                      .target = test::encoded_target("t"),
                      .snd_settle_mode = static_cast<sender_settle_mode>(n % 4 % 3),
                      .rcv_settle_mode = n / 4 % 3 == 0 ? receiver_settle_mode::second
                                                        : receiver_settle_mode::first,
                      .initial_delivery_count = sequence_number{world_.options.first_id}};
    if (o.snd_settle_mode == sender_settle_mode::settled && n / 16 % 2 == 0)
        o.snd_settle_mode = sender_settle_mode::mixed;
    if (n / 32 % 2 == 0) {
        o.auto_settle = n / 64 % 3 != 0;
        if (auto const made = s->attach_sender(std::move(o)))
            senders.push_back(*made);
    } else {
        o.streamed = n / 64 % 2 == 0;
        o.stream_buffer_max = n / 128 % 2 == 0 ? 700 : 1 << 20;
        o.credit_window = n / 128 % 3;
        if (auto const made = s->attach_receiver(std::move(o)))
            receivers.push_back(*made);
    }
}

void world_end::detach_one(unsigned n)
{
    auto const all = senders.size() + receivers.size();
    if (all == 0)
        return;
    auto const at = n % all;
    n /= 16;
    e::link* const l =
        at < senders.size() ? static_cast<e::link*>(senders[at]) : receivers[at - senders.size()];
    if (l->state() == e::link_state::attach_received)
        return;  // what it has to do is to answer
    world_.books.excuse(side_, l->session().local_channel(), l->name());
    auto const failed = l->detach(n % 2 == 0, some_error(n), n % 5 == 0);
    if (!failed) {
        if (at < senders.size())
            leaving.push_back(senders[at]);
        erase(senders, l);
        erase(receivers, l);
    }
    poll();
}

void world_end::end_one(unsigned n)
{
    if (sessions.empty())
        return;
    auto* const s = sessions[n % sessions.size()];
    drop(*s);
    std::ignore = s->end(some_error(n / 16), n / 16 % 5 == 0);
    poll();
}

void world_end::close_one(unsigned n)
{
    if (closing)
        return;
    closing = true;
    while (!sessions.empty()) drop(*sessions.back());
    std::ignore = engine.close(some_error(n), n % 5 == 0);
    poll();
}

bool world_end::be_generous()
{
    auto did = false;
    wake_sources();
    for (std::size_t i = 0; i < senders.size(); ++i) {
        std::vector<e::outgoing_delivery*> answered;
        senders[i]->for_each_delivery([&](auto& d) {
            if (d.state() == e::outgoing_state::answered)
                answered.push_back(&d);
        });
        for (auto* d : answered) {
            finish(*d, "settled by its sender");
            std::ignore = senders[i]->settle(*d);
            did = true;
        }
    }
    auto const all = receivers.size() + parting.size();
    for (std::size_t i = 0; i < all; ++i) {
        auto* const r = i < receivers.size() ? receivers[i] : parting[i - receivers.size()];
        std::vector<e::incoming_delivery*> here;
        std::vector<e::incoming_delivery*> halves;
        r->for_each_delivery([&](auto& d) {
            if (d.complete() && d.state() == e::incoming_state::complete)
                here.push_back(&d);
            else if (r->options().streamed && !d.complete() && d.context != done_with
                     && !d.body().empty() && (d.context || d.body().size() >= parcel_size_min))
                halves.push_back(&d);
        });
        for (auto* d : halves) read(*d, d->body().size());
        for (auto* d : here) settle_one(*d, 5);
        did = did || !halves.empty() || !here.empty();
        // In automatic mode, credit comes back by itself.
        if (i < receivers.size() && r->attached() && r->credit() == 0 && r->held() == 0)
            r->set_credit(3);
    }
    poll();
    return did;
}

// ---- what is heard

void world_end::poll()
{
    if (polling_)
        return;  // an event is being looked at: the rest comes after it
    polling_ = true;
    for (e::event ev; engine.poll_event(ev);) on_event(ev);
    polling_ = false;
}

void world_end::note(e::event const& ev)
{
    if (!world_.options.keep_octets)
        return;
    auto& log = world_.log;
    log += std::to_string(side_) + ":" + std::to_string(static_cast<int>(ev.kind)) + ":"
           + std::to_string(ev.code.value());
    if (ev.link)
        log += ":" + ev.link->name();
    if (ev.outgoing)
        log += ":" + std::to_string(number_of(*ev.outgoing));
    if (ev.incoming)
        log += ":" + std::to_string(ev.incoming->id().value()) + "/"
               + std::to_string(ev.incoming->body().size());
    log += '\n';
}

void world_end::on_event(e::event const& ev)
{
    note(ev);
    switch (ev.kind) {
    case e::event_kind::connection_requested:
    case e::event_kind::session_requested:
    case e::event_kind::link_requested: return accept(ev);
    case e::event_kind::connection_closed:
        blame(engine.error(), "the connection");
        closed = closing = true;
        return;
    case e::event_kind::session_ended:
        blame(ev.session->error(), "a session");
        drop(*ev.session);
        std::erase_if(leaving, [&](auto* l) { return &l->session() == ev.session; });
        std::erase_if(parting, [&](auto* l) { return &l->session() == ev.session; });
        ev.session->for_each_link([&](e::link& l) { lose(l); });
        return engine.forget(*ev.session);
    case e::event_kind::link_detached:
        blame(ev.link->error(), "link " + ev.link->name());
        erase(senders, ev.link);
        erase(receivers, ev.link);
        erase(leaving, ev.link);
        erase(parting, ev.link);
        world_.books.excuse(side_, ev.session->local_channel(), ev.link->name());
        lose(*ev.link);
        return ev.session->forget(*ev.link);
    case e::event_kind::sent:
        if (ev.final)
            finish(*ev.outgoing, "sent");
        return;
    case e::event_kind::outcome: return on_outcome(ev);
    case e::event_kind::aborted:
        if (!ev.code)
            world_.object("a delivery was aborted without a cause");
        return finish(*ev.outgoing, "aborted");
    case e::event_kind::delivery_aborted:
        if (!ev.final)
            std::ignore = ev.incoming->link().settle(*ev.incoming);
        return;
    case e::event_kind::delivery_settled:
        if (!ev.final)
            settle_one(*ev.incoming, 5);
        return;
    case e::event_kind::flow_mismatch:
        return world_.object("a flow's next-outgoing-id is not exact");
    default: return;
    }
}

void world_end::on_outcome(e::event const& ev)
{
    auto const at = world_.parcels.find(static_cast<std::uint32_t>(number_of(*ev.outgoing)));
    if (at != world_.parcels.end())
        at->second.heard = ev.outgoing->outcome();
    if (ev.final)
        finish(*ev.outgoing, "outcome");
}

void world_end::accept(e::event const& ev)
{
    auto const refuse = world_.options.refusals && world_.random() % 8 == 0;
    if (ev.kind == e::event_kind::connection_requested) {
        std::ignore = engine.open();
    } else if (ev.kind == e::event_kind::session_requested) {
        if (refuse) {
            std::ignore =
                ev.session->end({.condition = wanted_error, .description = "no", .info = {}});
            return;
        }
        std::ignore = ev.session->begin(session_options_of(world_.options, world_.random()));
        sessions.push_back(ev.session);
    } else if (refuse) {
        std::ignore = ev.link->refuse({.condition = wanted_error, .description = "no", .info = {}});
    } else {
        auto const n = world_.random();
        auto const& theirs = ev.link->remote_attach();
        e::link_options o{.source = test::encoded_source("s"),
                          .target = test::encoded_target("t"),
                          .snd_settle_mode = theirs.snd_settle_mode,
                          .rcv_settle_mode =
                              n % 5 == 0 ? receiver_settle_mode::first : theirs.rcv_settle_mode,
                          .initial_delivery_count = sequence_number{world_.options.first_id},
                          .credit_window = n / 8 % 4,
                          .streamed = n / 32 % 2 == 0,
                          .stream_buffer_max = n / 64 % 2 == 0 ? 700u : 1u << 20,
                          .auto_settle = n / 128 % 3 != 0};
        std::ignore = ev.link->attach(std::move(o));
        if (ev.link->role() == role::sender)
            senders.push_back(static_cast<e::sender*>(ev.link));
        else
            receivers.push_back(static_cast<e::receiver*>(ev.link));
    }
}

void world_end::finish(e::outgoing_delivery& d, std::string how)
{
    auto const at = world_.parcels.find(static_cast<std::uint32_t>(number_of(d)));
    if (at == world_.parcels.end())
        return world_.object("a delivery that nobody sent has ended: " + how);
    ++at->second.ends;
    at->second.how = std::move(how);
}

/// The link has ended: so have its deliveries, as their states say.
void world_end::lose(e::link& l)
{
    if (l.role() != role::sender)
        return;
    static_cast<e::sender&>(l).for_each_delivery([&](e::outgoing_delivery& d) {
        if (d.state() != e::outgoing_state::settled && d.state() != e::outgoing_state::aborted
            && d.state() != e::outgoing_state::withdrawn)
            world_.object("a delivery goes on without its link");
        finish(d, "lost with its link");
    });
}

/// Nothing more is asked of the session and its links.
void world_end::drop(e::session& s)
{
    for (auto* l : senders)
        if (&l->session() == &s)
            leaving.push_back(l);
    for (auto* l : receivers)
        if (&l->session() == &s)
            parting.push_back(l);
    std::erase_if(senders, [&](auto* l) { return &l->session() == &s; });
    std::erase_if(receivers, [&](auto* l) { return &l->session() == &s; });
    std::erase(sessions, &s);
    s.for_each_link([&](e::link& l) { world_.books.excuse(side_, s.local_channel(), l.name()); });
    world_.books.excuse(side_, s.local_channel(), "");
}

void world_end::blame(amqp_error const& why, std::string const& what)
{
    if (!why.empty() && why.condition != wanted_error && !world_.options.faults)
        world_.object(what + " at end " + std::to_string(side_) + " ended with " + why.to_string());
}

}  // namespace sluice::prop
