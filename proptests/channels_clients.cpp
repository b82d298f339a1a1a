// How clients ask, hear and are lost.
#include "channels_clients.hpp"

namespace sluice::test {
namespace {

bool sends(channel_call const& c)
{
    return std::ranges::count(c.cases, true, &channel_call::one_case::sends) != 0;
}

}  // namespace

channel_clients::channel_clients(std::array<protocol::channel_options, 2> const& options,
                                 std::uint64_t seed)
    : hub_{outside_, seed, {}}
{
    history.options = options;
    for (unsigned i = 0; i != clients_max; ++i) {
        clients_[i].all = this;
        clients_[i].number = i;
        connect(clients_[i]);
    }
}

// ---- what is asked for

std::size_t channel_clients::record(channel_call c)
{
    history.calls.push_back(std::move(c));
    history.times.push_back({.called = tick(), .hint = call_times::never});
    return history.calls.size() - 1;
}

void channel_clients::came(std::size_t i, outcome o, std::size_t index)
{
    if (history.times[i].answered != call_times::never)
        wrong("call " + std::to_string(i) + " is answered twice");
    history.times[i].answered = tick();
    call(i).came = o;
    call(i).index = index;
}

void channel_clients::never_known(std::size_t i) { call(i).came = outcome::unknown; }

void channel_clients::ask(std::size_t i, protocol::request r)
{
    auto& c = clients_[call(i).client];
    c.open.emplace(i, r);
    c.on_the_way.push_back({.what = std::move(r), .call = i});
}

void channel_clients::select(std::vector<channel_call::one_case> cases, bool tries)
{
    auto const client = cases.front().handle % clients_max;
    if (!has_room(client))
        return;
    auto const i = record({.client = client, .cases = cases, .otherwise = tries});
    protocol::select s{.id = i + first_id, .otherwise = tries};
    for (std::size_t k = 0; k != cases.size(); ++k) {
        auto const h = cases[k].handle;
        if (cases[k].sends) {
            auto const& text = texts_.emplace_back(std::to_string(i) + "." + std::to_string(k));
            s.cases.push_back(protocol::send_case{id_of(h), channel_rig::id_of(h), ++sequences_[h],
                                                  channel_octets(text)});
        } else {
            s.cases.push_back(protocol::recv_case{id_of(h), cases[k].max, channel_rig::id_of(h)});
        }
    }
    ask(i, s);
}

void channel_clients::cancel(unsigned client, unsigned which)
{
    auto& c = clients_[client];
    if (c.open.empty())
        return;
    auto it = c.open.begin();
    std::advance(it, which % c.open.size());
    if (call(it->first).what != kind::select || std::exchange(call(it->first).cancelled, true))
        return;
    c.on_the_way.push_back(
        {.what = protocol::cancel{it->first + first_id}, .call = it->first, .is_cancel = true});
}

void channel_clients::answer(unsigned client, unsigned which, unsigned how)
{
    auto& c = clients_[client];
    if (c.values.empty() || !has_room(client))
        return;
    auto const at = c.values.begin() + static_cast<std::ptrdiff_t>(which % c.values.size());
    auto const v = *at;
    channel_call made{.what = kind::settle,
                      .client = client,
                      .of = v.call,
                      .position = v.position,
                      .came = outcome::unknown};
    if (how == 0)
        made.what = kind::pickup;
    else
        c.values.erase(at);
    if (how < 2) {
        auto const i = record(made);
        protocol::request r = protocol::pickup{{{v.token, v.token}}};
        if (how == 1)
            r = protocol::ack{{{v.token, v.token}}};
        return c.on_the_way.push_back({.what = std::move(r), .call = i});
    }
    made.came = outcome::none;
    made.verdict = static_cast<protocol::verdict>(how % 4);
    auto const i = record(made);
    ask(i, protocol::settle{i + first_id, v.token, made.verdict, {}});
}

void channel_clients::end(unsigned handle, protocol::ending how)
{
    auto const client = handle % clients_max;
    if (!has_room(client) || ((stopped_ >> handle) & 1) != 0)
        return;
    auto const what = how == protocol::ending::close     ? kind::close
                      : how == protocol::ending::destroy ? kind::destroy
                                                         : kind::stop;
    if (what == kind::stop)
        stopped_ |= 1u << handle;
    auto const i = record({.what = what, .client = client, .handle = handle});
    ask(i, protocol::end{i + first_id, how, id_of(handle), channel_rig::id_of(handle)});
}

void channel_clients::size(unsigned handle)
{
    auto const client = handle % clients_max;
    if (!has_room(client))
        return;
    auto const i = record({.what = kind::size, .client = client, .handle = handle});
    ask(i, protocol::stat{i + first_id, id_of(handle)});
}

// ---- what happens

void channel_clients::arrive(unsigned client)
{
    auto& c = clients_[client];
    if (c.on_the_way.empty())
        return;
    auto const r = std::move(c.on_the_way.front());
    c.on_the_way.pop_front();
    tick();
    hub_.on_request(*c.port, r.what);
    hub_.flush();
    if (!r.is_cancel && call(r.call).came == outcome::unknown) {  // nothing is told of it
        history.times[r.call].hint = clock_;
        history.times[r.call].answered = tick();
    }
}

void channel_clients::client::send(protocol::reply const& r)
{
    if (auto const* const o = std::get_if<protocol::opened>(&r)) {
        opened = o->channel;
        return;
    }
    if (auto const* const d = std::get_if<protocol::done>(&r); d && d->id == 1) {
        refused = d->status == protocol::status::destroyed ? "destroyed" : "refused: " + d->text;
        return;
    }
    all->tick();
    std::string text;
    if (auto const* const d = std::get_if<protocol::delivered>(&r)) {
        text = channel_text(d->octets);
        all->hint(d->id);
    } else if (auto const* const d = std::get_if<protocol::done>(&r)) {
        all->hint(d->id);
    } else if (auto const* const s = std::get_if<protocol::state>(&r)) {
        all->hint(s->id);
    } else {
        for (auto const& [first, last] : std::get<protocol::accepted>(r).ranges)
            for (auto id = first; id <= last; ++id) all->hint(id);
    }
    inbox.emplace_back(r, std::move(text));
}

void channel_clients::hear(unsigned client)
{
    auto& c = clients_[client];
    if (c.inbox.empty())
        return;
    auto const [r, text] = std::move(c.inbox.front());
    c.inbox.pop_front();
    if (auto const* const d = std::get_if<protocol::delivered>(&r)) {
        on(c, *d, text);
    } else if (auto const* const d = std::get_if<protocol::done>(&r)) {
        on(c, *d);
    } else if (auto const* const s = std::get_if<protocol::state>(&r)) {
        call(s->id - first_id).number = s->size;
        on(c, protocol::done{.id = s->id});
    } else {
        for (auto const& [first, last] : std::get<protocol::accepted>(r).ranges)
            for (auto id = first; id <= last; ++id) on(c, protocol::done{.id = id});
    }
}

void channel_clients::on(client& c, protocol::done const& r)
{
    using protocol::status;
    auto const i = r.id - first_id;
    if (c.open.erase(i) == 0)
        return wrong("an answer to call " + std::to_string(i) + ", which has one");
    switch (r.status) {
    case status::ok: return came(i, outcome::done, r.index);
    case status::otherwise: return came(i, outcome::otherwise);
    case status::withdrawn: return came(i, outcome::withdrawn);
    case status::closed: return came(i, outcome::closed, r.index);
    case status::destroyed:  // and its memory with it
        return call(i).repeated && sends(call(i)) ? never_known(i)
                                                  : came(i, outcome::destroyed, r.index);
    case status::stopped: return came(i, outcome::stopped, r.index);
    case status::expired: return came(i, outcome::expired);
    default: wrong("call " + std::to_string(i) + " is refused: " + r.text);
    }
}

void channel_clients::on(client& c, protocol::delivered const& r, std::string const& text)
{
    auto const i = r.id - first_id;
    if (!c.open.contains(i) || call(i).what != kind::select)
        return wrong("a value for call " + std::to_string(i) + ", which asks for none");
    auto const dot = text.find('.');
    auto& values = call(i).values;
    if (r.token != 0)
        c.values.push_back({.token = r.token, .call = i, .position = values.size()});
    values.push_back({.sent_by = std::stoul(text),
                      .sent_case = std::stoul(text.substr(dot + 1)),
                      .tries = r.tries,
                      .wants_pickup = r.wants_pickup});
    if (r.more)
        return;
    c.open.erase(i);
    came(i, outcome::values, r.index);
}

void channel_clients::pass(unsigned milliseconds)
{
    if (history.calls.size() >= calls_max)
        return;
    now_ += clock_time{milliseconds};
    auto const at = static_cast<std::uint64_t>(now_.count());
    // What is late goes back at one channel, and what follows from it is done, and then at another.
    auto const first = record({.what = kind::pass, .handle = 0, .number = at});
    auto const second = record({.what = kind::pass, .handle = clients_max, .number = at});
    history.times[first].hint = history.times[second].hint = clock_;
    hub_.on_time(now_);
    hub_.flush();
    came(first, outcome::done);
    came(second, outcome::done);
}

// ---- losses

void channel_clients::connect(client& c)
{
    c.port = &hub_.add_port(c);
    for (auto h = c.number; h < handles_max; h += clients_max)
        if (((stopped_ >> h) & 1) == 0)
            reopen(c, h);
}

void channel_clients::reopen(client& c, unsigned handle)
{
    auto const channel = channel_history::channel_of(handle);
    auto& id = ids_[channel];
    c.refused.clear();
    hub_.on_request(*c.port,
                    protocol::open{1, channel == 0 ? "a" : "b", channel_rig::id_of(handle),
                                   id == 0 || c.port == nullptr, id, history.options[channel]});
    if (c.refused.empty()) {
        if (id != 0 && id != c.opened)
            wrong("another incarnation");
        id = c.opened;
        return;
    }
    if (c.refused != "destroyed")
        return wrong("opening again is " + c.refused);
    for (auto it = c.open.begin(); it != c.open.end();) {
        auto const i = it->first;
        auto const& cases = call(i).cases;
        auto const mine = std::ranges::find(cases, handle, &channel_call::one_case::handle);
        if (mine == cases.end() || call(i).came != outcome::none) {
            ++it;
            continue;
        }
        it = c.open.erase(it);
        // What it sent may have been taken before.
        if (sends(call(i)))
            never_known(i);
        else
            came(i, outcome::destroyed, static_cast<std::size_t>(mine - cases.begin()));
    }
}

bool channel_clients::cannot_be_repeated(channel_call const& c) const
{
    if (c.what == kind::settle || c.what == kind::stop)
        return true;
    if (c.what != kind::select)
        return ((stopped_ >> c.handle) & 1) != 0;
    return std::ranges::any_of(c.cases, [this](channel_call::one_case const& one) {
        auto const& o = history.options[channel_history::channel_of(one.handle)];
        return ((stopped_ >> one.handle) & 1) != 0
               || (one.sends && o.delivery == protocol::guarantee::at_most_once);
    });
}

/// What was on its way.
void channel_clients::leave_behind(client& c)
{
    auto const inbox = std::exchange(c.inbox, {});
    for (auto const& [r, text] : inbox)  // answers are lost, values are heard
        if (auto const* const d = std::get_if<protocol::delivered>(&r))
            on(c, *d, text);
    c.on_the_way.clear();
    for (auto it = c.open.begin(); it != c.open.end();)
        if (cannot_be_repeated(call(it->first))) {
            never_known(it->first);
            it = c.open.erase(it);
        } else {
            ++it;
        }
}

void channel_clients::lose(unsigned client)
{
    if (history.calls.size() >= calls_max)
        return;
    auto& c = clients_[client];
    leave_behind(c);
    c.values.clear();
    auto const i = record({.what = kind::lose, .client = client});
    history.times[i].hint = clock_;
    hub_.on_port_lost(*std::exchange(c.port, nullptr));
    hub_.flush();
    came(i, outcome::done);
    connect(c);
    for (auto const& [again, r] : c.open) {
        call(again).repeated = true;
        c.on_the_way.push_back({.what = r, .call = again});
        if (call(again).cancelled)
            c.on_the_way.push_back(
                {.what = protocol::cancel{again + first_id}, .call = again, .is_cancel = true});
    }
}

void channel_clients::rest()
{
    auto const busy = [this] {
        return std::ranges::any_of(
            clients_, [](client const& c) { return !c.on_the_way.empty() || !c.inbox.empty(); });
    };
    while (busy() && fault.empty())
        for (unsigned i = 0; i != clients_max; ++i) {
            arrive(i);
            hear(i);
        }
}

std::string channel_clients::text() const
{
    static constexpr char const* kinds[] = {"select", "pickup", "settle", "close", "destroy",
                                            "stop",   "size",   "pass",   "lose"};
    static constexpr char const* outcomes[] = {"waits",     "unknown",   "done",    "values",
                                               "closed",    "destroyed", "stopped", "withdrawn",
                                               "otherwise", "expired"};
    std::string out;
    for (std::size_t i = 0; i != history.calls.size(); ++i) {
        auto const& c = history.calls[i];
        auto const& t = history.times[i];
        out += std::to_string(i) + " [" + std::to_string(t.called) + ","
               + (t.answered == call_times::never ? "-" : std::to_string(t.answered)) + "] client "
               + std::to_string(c.client) + " " + kinds[static_cast<int>(c.what)];
        for (auto const& one : c.cases)
            out += std::string{one.sends ? " send@" : " recv@"} + std::to_string(one.handle);
        if (c.what == kind::settle || c.what == kind::pickup)
            out += " of " + std::to_string(c.of) + "." + std::to_string(c.position) + " verdict "
                   + std::to_string(static_cast<int>(c.verdict));
        out += " handle " + std::to_string(c.handle) + " number " + std::to_string(c.number)
               + (c.otherwise ? " try" : "") + (c.cancelled ? " cancelled" : "") + ": "
               + outcomes[static_cast<int>(c.came)] + " " + std::to_string(c.index);
        for (auto const& v : c.values)
            out += " " + std::to_string(v.sent_by) + "." + std::to_string(v.sent_case) + "*"
                   + std::to_string(v.tries) + (v.wants_pickup ? "?" : "");
        out += "\n";
    }
    return out;
}

}  // namespace sluice::test
