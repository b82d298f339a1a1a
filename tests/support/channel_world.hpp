// Clients of a hub whose requests take their time, and a model of Go's channels that says at each
// step what the hub may answer, in which order, and who may still wait.
#pragma once

#include "support/channel_rig.hpp"

#include <deque>
#include <set>

namespace sluice::test {

class channel_world;

/// One client: requests on their way, what waits at the node, what it holds.
struct world_client final : node::detail::port_sink {
    channel_world* world = nullptr;
    unsigned number = 0;
    channel_port* port = nullptr;
    std::deque<protocol::request> on_the_way;
    std::map<protocol::request_id, protocol::select> unanswered;  // asked, in order
    std::set<protocol::token> held;                               // not acknowledged
    protocol::request_id last_id = 1;
    protocol::channel_id opened = 0;

    void send(protocol::reply const& r) override;
};

class channel_world {
public:
    static constexpr unsigned clients_max = 3;
    static constexpr unsigned handles_max = 6;
    static constexpr unsigned channels_max = 2;

    std::string fault;  // the first thing that was wrong
    unsigned rendezvous = 0;
    unsigned crossed_cancels = 0;
    unsigned lost_pickups = 0;
    unsigned parked_closes = 0;
    unsigned selects_met = 0;
    unsigned returned = 0;

    channel_world(std::uint32_t capacity_0, std::uint32_t capacity_1, std::uint64_t seed)
        : hub_{outside_, seed, {}}
    {
        model_[0].capacity = capacity_0;
        model_[1].capacity = capacity_1;
        for (unsigned i = 0; i != clients_max; ++i) {
            clients_[i].world = this;
            clients_[i].number = i;
            connect(i);
        }
    }

    // ---- what a client does

    void send(unsigned handle, bool tries) { ask(handle, tries, {send_of(handle)}); }
    void receive(unsigned handle, bool tries, std::uint32_t max)
    {
        ask(handle, tries, {recv_of(handle, max)});
    }
    void select(unsigned handle, bool tries, unsigned shape)
    {
        auto const other = (handle + clients_max) % handles_max;  // the same client's other one
        std::vector<protocol::select_case> cases;
        for (auto const h : {handle, other})
            cases.push_back(((shape >>= 1) & 1) != 0 ? send_of(h) : recv_of(h, 1));
        if ((shape & 2) != 0)
            cases.push_back((shape & 4) != 0 ? send_of(handle) : recv_of(handle, 1));
        ask(handle, tries, std::move(cases));
    }
    void cancel(unsigned client, unsigned which)
    {
        auto& c = clients_[client];
        if (c.unanswered.empty())
            return;
        auto it = c.unanswered.begin();
        std::advance(it, which % c.unanswered.size());
        c.on_the_way.push_back(protocol::cancel{it->first});
    }
    void answer(unsigned client, unsigned which, unsigned how)
    {
        auto& c = clients_[client];
        if (c.held.empty())
            return;
        auto it = c.held.begin();
        std::advance(it, which % c.held.size());
        auto const t = *it;
        if (how % 4 == 0)
            return c.on_the_way.push_back(protocol::pickup{{{t, t}}});
        c.held.erase(it);
        if (how % 4 == 1)
            c.on_the_way.push_back(protocol::settle{
                0, t, how % 8 == 1 ? protocol::verdict::released : protocol::verdict::failed, {}});
        else
            c.on_the_way.push_back(protocol::ack{{{t, t}}});
    }
    void close(unsigned handle)
    {
        auto& c = clients_[handle % clients_max];
        c.on_the_way.push_back(protocol::end{++c.last_id, protocol::ending::close,
                                             model_[channel_of(handle)].id,
                                             channel_rig::id_of(handle)});
    }
    /// The oldest request of a client arrives.
    void arrive(unsigned client)
    {
        auto& c = clients_[client];
        if (c.on_the_way.empty())
            return;
        auto const r = std::move(c.on_the_way.front());
        c.on_the_way.pop_front();
        before(c, r);
        hub_.on_request(*c.port, r);
        hub_.flush();
        judge();
    }
    /// Its connection is lost, it comes back at once and repeats what has no answer.
    void lose(unsigned client)
    {
        auto& c = clients_[client];
        c.on_the_way.clear();
        for (auto& [key, w] : waiting_)
            if (key.first == client)
                w.lost = true;
        std::vector<std::string> back;
        for (auto const& [key, v] : holders_)
            if (key.first == client)
                back.push_back(v);
        for (auto const& v : back) go_back(v, true);
        std::erase_if(holders_, [&](auto const& each) { return each.first.first == client; });
        std::erase_if(waiting_, [&](auto const& each) { return each.first.first == client; });
        c.held.clear();
        hub_.on_port_lost(*std::exchange(c.port, nullptr));
        hub_.flush();
        judge();
        connect(client);
        for (auto& [id, s] : c.unanswered) c.on_the_way.push_back(s);
    }
    /// Everybody is gone, and what they left is forgotten.
    std::string left()
    {
        for (auto& c : clients_) {
            c.unanswered.clear();
            lose_for_good(c);
        }
        hub_.on_time(clock_time{1'000'000});
        auto const& n = hub_.count();
        auto buffered = std::size_t{0};
        for (auto const& m : model_) buffered += m.ready.size();
        // What was accepted and never received is in its channel, which stays for its sake.
        if (n.values != buffered || n.waiting != 0 || n.ports != 0 || n.handles != 0)
            return std::to_string(n.values) + " values and not " + std::to_string(buffered) + ", "
                   + std::to_string(n.waiting) + " requests, " + std::to_string(n.handles)
                   + " handles";
        return {};
    }
    std::uint64_t delivered() const { return hub_.count().delivered; }

private:
    friend struct world_client;
    struct channel {
        protocol::channel_id id = 0;
        std::uint32_t capacity = 0;
        bool closed = false;
        std::map<std::uint64_t, std::string> ready;  // by order
        std::set<std::string> held;                  // accepted, at a receiver
        std::set<std::string> unpicked;
        std::uint64_t used() const { return ready.size() + held.size(); }
        bool drained() const { return ready.empty() && held.empty() && unpicked.empty(); }
    };
    struct value {
        unsigned channel = 0;
        std::uint64_t order = 0;
        std::uint32_t tries = 0;
        bool accepted = false;
        bool gone = false;
        std::pair<unsigned, protocol::request_id> asked{};
    };
    struct wait {
        protocol::select what;
        bool pending = false;
        bool lost = false;
        bool given_up = false;
    };
    using event = std::pair<world_client*, protocol::reply>;

    static unsigned channel_of(unsigned handle) { return handle / clients_max; }

    void wrong(std::string text)
    {
        if (fault.empty())
            fault = std::move(text);
    }
    protocol::select_case send_of(unsigned handle)
    {
        auto const name = "v" + std::to_string(values_.size());
        auto& [text, v] = *values_.emplace(name, value{.channel = channel_of(handle)}).first;
        return protocol::send_case{model_[v.channel].id, channel_rig::id_of(handle),
                                   ++sequences_[handle], channel_octets(text)};
    }
    protocol::select_case recv_of(unsigned handle, std::uint32_t max)
    {
        return protocol::recv_case{model_[channel_of(handle)].id, max, channel_rig::id_of(handle)};
    }
    void ask(unsigned handle, bool tries, std::vector<protocol::select_case> cases)
    {
        auto& c = clients_[handle % clients_max];
        if (c.unanswered.size() >= 8)
            return;
        protocol::select const s{++c.last_id, tries, std::move(cases)};
        for (auto const& each : s.cases)
            if (auto const* const sent = std::get_if<protocol::send_case>(&each))
                values_.at(channel_text(sent->octets)).asked = {c.number, s.id};
        c.unanswered.emplace(s.id, s);
        c.on_the_way.push_back(s);
    }
    void connect(unsigned client)
    {
        auto& c = clients_[client];
        c.port = &hub_.add_port(c);
        for (auto h = client; h < handles_max; h += clients_max) {
            auto& m = model_[channel_of(h)];
            hub_.on_request(
                *c.port, protocol::open{
                             1,
                             channel_of(h) == 0 ? "a" : "b",
                             channel_rig::id_of(h),
                             true,
                             0,
                             {.capacity = m.capacity, .visibility_timeout_ms = 0, .tries_max = 0}});
            if (m.id != 0 && m.id != c.opened)
                wrong("another incarnation");
            m.id = c.opened;
        }
        judge();
    }
    void lose_for_good(world_client& c)
    {
        std::vector<std::string> back;
        for (auto const& [key, v] : holders_)
            if (key.first == c.number)
                back.push_back(v);
        for (auto const& v : back) go_back(v, true);
        std::erase_if(holders_, [&](auto const& each) { return each.first.first == c.number; });
        std::erase_if(waiting_, [&](auto const& each) { return each.first.first == c.number; });
        hub_.on_port_lost(*std::exchange(c.port, nullptr));
        hub_.flush();
        judge();
    }

    void before(world_client& c, protocol::request const& r);
    void go_back(std::string const& v, bool count_try);
    void picked(std::string const& name);
    void judge();
    void accepted(world_client& c, protocol::request_id id, std::uint32_t index);
    void on_value(world_client& c, protocol::delivered const& d, std::string const& text);
    void on_done(world_client& c, protocol::done const& d);
    bool is_ready(std::pair<unsigned, protocol::request_id> const& key,
                  protocol::select_case const& c) const;
    channel& of(protocol::channel_id id) { return model_[id == model_[0].id ? 0 : 1]; }
    channel const& of(protocol::channel_id id) const { return model_[id == model_[0].id ? 0 : 1]; }

    channel_surroundings outside_;
    channel_hub hub_;
    std::array<world_client, clients_max> clients_;
    std::array<channel, channels_max> model_;
    std::map<std::string, value> values_;
    std::map<unsigned, std::uint64_t> sequences_;
    std::map<std::pair<unsigned, protocol::request_id>, wait> waiting_;  // at the node
    std::map<std::pair<unsigned, protocol::token>, std::string> holders_;
    std::vector<std::pair<event, std::string>> events_;
    std::uint64_t last_order_ = 0;
};

inline void world_client::send(protocol::reply const& r)
{
    if (auto const* const o = std::get_if<protocol::opened>(&r)) {
        opened = o->channel;
        return;
    }
    auto const* const d = std::get_if<protocol::delivered>(&r);
    world->events_.push_back({{this, r}, d ? channel_text(d->octets) : std::string{}});
}

/// What a request changes before it is answered.
inline void channel_world::before(world_client& c, protocol::request const& r)
{
    auto const for_ranges = [&](auto const& ranges, auto f) {
        for (auto const& [first, last] : ranges)
            if (auto const it = holders_.find({c.number, first}); it != holders_.end())
                f(it);
    };
    if (auto const* const s = std::get_if<protocol::select>(&r)) {
        waiting_[{c.number, s->id}] = {.what = *s};
        for (auto const& each : s->cases)  // one whose value is at a receiver since before
            if (auto const* const sent = std::get_if<protocol::send_case>(&each))
                if (of(sent->channel).unpicked.contains(channel_text(sent->octets)))
                    waiting_[{c.number, s->id}].pending = true;
    } else if (auto const* const a = std::get_if<protocol::ack>(&r)) {
        for_ranges(a->ranges, [&](auto it) {
            auto& m = model_[values_.at(it->second).channel];
            picked(it->second);
            m.held.erase(it->second);
            values_.at(it->second).gone = true;
            holders_.erase(it);
        });
    } else if (auto const* const p = std::get_if<protocol::pickup>(&r)) {
        for_ranges(p->ranges, [&](auto it) { picked(it->second); });
    } else if (auto const* const s = std::get_if<protocol::settle>(&r)) {
        auto const it = holders_.find({c.number, s->token});
        if (it == holders_.end())
            return;
        auto const released = s->verdict == protocol::verdict::released;
        if (!released)
            picked(it->second);
        go_back(it->second, !released);
        holders_.erase(it);
    } else if (auto const* const e = std::get_if<protocol::end>(&r)) {
        auto& m = of(e->channel);
        for (auto const& [key, w] : waiting_)
            for (auto const& each : w.what.cases)
                if (std::holds_alternative<protocol::send_case>(each))
                    parked_closes += m.closed ? 0 : 1;
        m.closed = true;
    } else if (auto const* const x = std::get_if<protocol::cancel>(&r)) {
        auto const it = waiting_.find({c.number, x->id});
        if (it == waiting_.end() || it->second.pending)
            ++crossed_cancels;
        if (it != waiting_.end())
            it->second.given_up = true;
    }
}

inline void channel_world::picked(std::string const& name)
{
    auto& v = values_.at(name);
    auto& m = model_[v.channel];
    if (m.unpicked.erase(name) == 0)
        return;
    m.held.insert(name);
    v.accepted = true;
    ++rendezvous;
}

inline void channel_world::go_back(std::string const& name, bool count_try)
{
    auto& v = values_.at(name);
    auto& m = model_[v.channel];
    ++returned;
    if (m.unpicked.erase(name) != 0) {  // its sender's again
        ++lost_pickups;
        if (auto const it = waiting_.find(v.asked); it != waiting_.end())
            it->second.pending = false;
        return;
    }
    m.held.erase(name);
    v.tries += count_try ? 1 : 0;
    m.ready.emplace(v.order, name);
}

inline void channel_world::judge()
{
    auto const all = std::exchange(events_, {});
    // Acceptances are told in batches: they come first in the order of what was decided.
    for (auto const& [e, text] : all) {
        if (auto const* const a = std::get_if<protocol::accepted>(&e.second))
            for (auto const& [first, last] : a->ranges)
                for (auto id = first; id <= last; ++id) accepted(*e.first, id, 0);
        if (auto const* const d = std::get_if<protocol::done>(&e.second);
            d && d->status == protocol::status::ok)
            accepted(*e.first, d->id, d->index);
    }
    for (auto const& [e, text] : all) {
        if (auto const* const v = std::get_if<protocol::delivered>(&e.second))
            on_value(*e.first, *v, text);
        if (auto const* const d = std::get_if<protocol::done>(&e.second))
            on_done(*e.first, *d);
    }
    for (auto const& m : model_)
        if (m.capacity != 0 && m.used() > m.capacity)
            wrong("more values than slots");
    for (auto const& [key, w] : waiting_) {
        if (w.pending)
            continue;
        if (w.what.otherwise)
            wrong("a try waits");
        for (auto const& c : w.what.cases)
            if (is_ready(key, c))
                wrong("request " + std::to_string(key.second) + " waits for what is ready");
    }
}

inline void channel_world::accepted(world_client& c, protocol::request_id id, std::uint32_t index)
{
    auto const asked = c.unanswered.find(id);
    if (asked == c.unanswered.end())
        return;  // a close
    auto const* const s = index < asked->second.cases.size()
                              ? std::get_if<protocol::send_case>(&asked->second.cases[index])
                              : nullptr;
    if (!s)
        return wrong("accepted, and is no send");
    auto const name = channel_text(s->octets);
    auto& v = values_.at(name);
    auto& m = model_[v.channel];
    if (!v.accepted) {  // else it was before, and is repeated
        if (m.capacity == 0)
            wrong(name + " is accepted without a pickup");
        if (m.closed)
            wrong(name + " is accepted after the close");
        v.accepted = true;
        v.order = ++last_order_;
        m.ready.emplace(v.order, name);
    }
    waiting_.erase({c.number, id});
    c.unanswered.erase(asked);
}

inline void channel_world::on_value(world_client& c, protocol::delivered const& d,
                                    std::string const& text)
{
    auto const asked = c.unanswered.find(d.id);
    if (asked == c.unanswered.end() || d.index >= asked->second.cases.size())
        return wrong("a value that nobody asked for");
    auto const& r = std::get<protocol::recv_case>(asked->second.cases[d.index]);
    auto& v = values_.at(text);
    auto& m = model_[v.channel];
    if (m.id != r.channel || d.tries != v.tries || v.gone)
        wrong(text + ": of another channel, with other tries, or for the second time");
    if (d.wants_pickup) {
        auto const sender = waiting_.find(v.asked);
        if (m.capacity != 0 || sender == waiting_.end() || sender->second.pending || v.accepted)
            wrong(text + " does not wait to be sent");
        else
            sender->second.pending = true;
        if (sender != waiting_.end() && sender->second.what.cases.size() > 1
            && asked->second.cases.size() > 1)
            ++selects_met;
        if (sender != waiting_.end() && sender->first == std::pair{c.number, d.id})
            wrong("a select met itself");
        v.order = ++last_order_;
        m.unpicked.insert(text);
    } else {
        if (m.ready.empty() || m.ready.begin()->second != text)
            wrong(text + " is not the first");
        m.ready.erase(v.order);
        m.held.insert(text);
    }
    holders_[{c.number, d.token}] = text;
    c.held.insert(d.token);
    waiting_.erase({c.number, d.id});
    if (!d.more)
        c.unanswered.erase(asked);
}

inline void channel_world::on_done(world_client& c, protocol::done const& d)
{
    using protocol::status;
    auto const asked = c.unanswered.find(d.id);
    if (asked == c.unanswered.end() || d.status == status::ok)
        return;
    auto const at = waiting_.find({c.number, d.id});
    if (at == waiting_.end() || at->second.pending)
        return wrong("an answer to what is not there or not known yet");
    auto const& w = at->second;
    if (d.status == status::closed) {
        auto const& one = w.what.cases.at(d.index);
        auto const* const r = std::get_if<protocol::recv_case>(&one);
        auto const& m = of(r ? r->channel : std::get<protocol::send_case>(one).channel);
        if (!m.closed || (r && !m.drained()))
            wrong("closed, and is not");
    } else if (d.status == status::otherwise) {
        for (auto const& one : w.what.cases)
            if (!w.what.otherwise || is_ready(at->first, one))
                wrong("otherwise, and one was ready");
    } else if (d.status != status::withdrawn || !w.given_up) {
        wrong("answered with status " + std::to_string(static_cast<int>(d.status)) + ": " + d.text);
    }
    waiting_.erase(at);
    c.unanswered.erase(asked);
}

inline bool channel_world::is_ready(std::pair<unsigned, protocol::request_id> const& key,
                                    protocol::select_case const& c) const
{
    auto const* const r = std::get_if<protocol::recv_case>(&c);
    auto const& m = of(r ? r->channel : std::get<protocol::send_case>(c).channel);
    auto const met = [&] {
        for (auto const& [other, w] : waiting_)
            for (auto const& each : w.what.cases) {
                auto const* const in = std::get_if<protocol::recv_case>(&each);
                auto const id = in ? in->channel : std::get<protocol::send_case>(each).channel;
                if (other != key && !w.pending && !w.what.otherwise && id == m.id
                    && (in != nullptr) != (r != nullptr))
                    return true;
            }
        return false;
    };
    if (!r)
        return m.closed || (m.capacity == 0 ? met() : m.used() < m.capacity);
    return !m.ready.empty() || (m.closed && m.drained()) || (m.capacity == 0 && met());
}

}  // namespace sluice::test
