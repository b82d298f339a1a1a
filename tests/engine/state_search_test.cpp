// Every state that two ends can reach together, with frames on their way in both directions: no
// frame arrives where the tables have no answer to it, and from everywhere both can come to an end.
//
// The ends send whatever their tables allow, in every order, and frames arrive whenever they like,
// in the order they were sent. That covers every crossing of open, begin, attach, detach, end and
// close. Frames on their way are bounded, which delays a sender and never stops a receiver.
#include <sluice/engine/states.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::engine {
namespace {

/// The graph of all states that can be reached, breadth first.
class search {
public:
    struct edge {
        std::uint32_t from;
        std::uint32_t to;
        bool must;  // an end does this without being asked again: it takes in, or it answers
    };

    /// @param expand calls visit(next, must) for each successor
    template <class Expand>
    search(std::uint64_t initial, Expand expand)
    {
        add(initial);
        for (std::uint32_t i = 0; i < states.size(); ++i)
            expand(states[i], [&](std::uint64_t next, bool must) {
                auto const to = add(next);
                edges.push_back({i, to, must});
            });
    }

    /// States from which no final one can be reached, by any steps or by those that must come.
    template <class Final>
    std::vector<std::uint64_t> stuck(Final is_final, bool only_must = false) const
    {
        std::vector<std::uint32_t> first(states.size() + 1);
        for (auto const& e : edges) ++first[e.to + 1];
        for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
        std::vector<std::uint32_t> incoming(edges.size());
        auto at = first;
        for (std::uint32_t i = 0; i < edges.size(); ++i) incoming[at[edges[i].to]++] = i;
        std::vector<bool> ends(states.size());
        std::vector<std::uint32_t> queue;
        for (std::uint32_t i = 0; i < states.size(); ++i)
            if (is_final(states[i])) {
                ends[i] = true;
                queue.push_back(i);
            }
        while (!queue.empty()) {
            auto const i = queue.back();
            queue.pop_back();
            for (auto k = first[i]; k < first[i + 1]; ++k) {
                auto const& e = edges[incoming[k]];
                if (ends[e.from] || (only_must && !e.must))
                    continue;
                ends[e.from] = true;
                queue.push_back(e.from);
            }
        }
        std::vector<std::uint64_t> out;
        for (std::uint32_t i = 0; i < states.size(); ++i)
            if (!ends[i])
                out.push_back(states[i]);
        return out;
    }

    std::vector<std::uint64_t> states;
    std::vector<edge> edges;

private:
    std::uint32_t add(std::uint64_t s)
    {
        auto const [at, is_new] = index_.try_emplace(s, static_cast<std::uint32_t>(states.size()));
        if (is_new)
            states.push_back(s);
        return at->second;
    }
    std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

// ---- connection, session and link of two ends

using cs = connection_state;
using ce = connection_event;
using ss = session_state;
using se = session_event;
using ls = link_state;
using le = link_event;

enum class frame : std::uint8_t { none, header, open, begin, attach, detach, end, close };

struct endpoint {
    cs c = cs::start;
    ss s = ss::unmapped;
    ls l = ls::detached;
    bool open_sent = false;
    bool begin_sent = false;
    bool attach_sent = false;
    bool again = false;  // session or link is its second one
};

constexpr unsigned in_flight_max = 5;

struct pair {
    endpoint end[2];
    frame flight[2][in_flight_max]{};  // sent by end i, oldest first

    bool room(int from) const { return flight[from][in_flight_max - 1] == frame::none; }
    void push(int from, frame f)
    {
        for (auto& place : flight[from])
            if (place == frame::none) {
                place = f;
                return;
            }
    }
    frame pop(int from)
    {
        auto const f = flight[from][0];
        for (unsigned i = 1; i < in_flight_max; ++i) flight[from][i - 1] = flight[from][i];
        flight[from][in_flight_max - 1] = frame::none;
        return f;
    }
};

std::uint64_t packed(pair const& p)
{
    std::uint64_t bits = 0;
    auto const put = [&](auto v, unsigned n) { bits = bits << n | static_cast<std::uint64_t>(v); };
    for (auto const& e : p.end) {
        put(e.c, 4), put(e.s, 3), put(e.l, 3);
        put(e.open_sent, 1), put(e.begin_sent, 1), put(e.attach_sent, 1), put(e.again, 1);
    }
    for (auto const& way : p.flight)
        for (auto const f : way) put(f, 3);
    return bits;
}

pair unpacked(std::uint64_t bits)
{
    pair p;
    auto const take = [&](unsigned n) {
        auto const v = bits & ((1u << n) - 1);
        bits >>= n;
        return v;
    };
    for (int way = 1; way >= 0; --way)
        for (unsigned i = in_flight_max; i-- > 0;) p.flight[way][i] = static_cast<frame>(take(3));
    for (int i = 1; i >= 0; --i) {
        auto& e = p.end[i];
        e.again = take(1), e.attach_sent = take(1), e.begin_sent = take(1), e.open_sent = take(1);
        e.l = static_cast<ls>(take(3)), e.s = static_cast<ss>(take(3));
        e.c = static_cast<cs>(take(4));
    }
    return p;
}

std::string text_of(std::uint64_t bits)
{
    static constexpr char const* frames[] = {"",       "header", "open", "begin",
                                             "attach", "detach", "end",  "close"};
    auto const p = unpacked(bits);
    std::string out;
    for (int i : {0, 1}) {
        out += "end " + std::to_string(i) + ": connection "
               + std::to_string(static_cast<int>(p.end[i].c)) + " session "
               + std::to_string(static_cast<int>(p.end[i].s)) + " link "
               + std::to_string(static_cast<int>(p.end[i].l)) + " sent:";
        for (auto const f : p.flight[i])
            if (f != frame::none)
                out += std::string{" "} + frames[static_cast<int>(f)];
        out += "; ";
    }
    return out;
}

/// How far the conversation goes: an open connection, say, that nobody closes.
struct scope {
    bool close = true;
    bool end = true;
    bool detach = true;
    bool second_ones = true;  // a session or link may come again after its end
    int begins = 0;           // the end that begins sessions
};

bool closing(cs c)
{
    return c == cs::open_close_pipe || c == cs::close_pipe || c == cs::close_sent
           || c == cs::close_received || c == cs::discarding || c == cs::ended;
}

class conversation {
public:
    explicit conversation(scope s) : scope_{s} {}

    std::string undefined;  // a frame that a table has no answer to

    template <class Visit>
    void expand(std::uint64_t bits, Visit visit)
    {
        auto const p = unpacked(bits);
        for (int i : {0, 1}) {
            if (p.room(i))
                sends(p, i, visit);
            // The header is answered at once: nothing is taken in before.
            if (p.flight[1 - i][0] != frame::none && p.end[i].c != cs::header_received) {
                auto next = p;
                receive(next, i, next.pop(1 - i), bits);
                visit(packed(next), true);
            }
            begin_again(p, i, visit);
        }
    }

private:
    template <class Table, class State, class Event>
    static bool step(Table const& table, State& state, Event on)
    {
        auto const next = table.next(state, on);
        if (next)
            state = *next;
        return next.has_value();
    }

    static void after(endpoint& e)
    {
        if (e.c == cs::ended && e.s != ss::ended)
            step(session_table, e.s, se::connection_lost);
        if (e.s == ss::ended && e.l != ls::ended)
            step(link_table, e.l, le::session_lost);
    }

    template <class Table, class State, class Event, class Visit>
    void send(pair const& p, int i, State endpoint::*which, Table const& table, Event on, frame f,
              bool must, Visit visit, bool endpoint::*sent = nullptr)
    {
        auto next = p;
        if (!step(table, next.end[i].*which, on))
            return;
        if (sent)
            next.end[i].*sent = true;
        next.push(i, f);
        after(next.end[i]);
        visit(packed(next), must);
    }

    template <class Visit>
    void sends(pair const& p, int i, Visit visit)
    {
        auto const& e = p.end[i];
        send(p, i, &endpoint::c, connection_table, ce::send_header, frame::header, true, visit);
        if (!e.open_sent)
            send(p, i, &endpoint::c, connection_table, ce::send_open, frame::open, true, visit,
                 &endpoint::open_sent);
        auto const answers_close = e.c == cs::close_received;
        if (e.open_sent && (scope_.close || answers_close)) {
            send(p, i, &endpoint::c, connection_table, ce::send_close, frame::close, answers_close,
                 visit);
            send(p, i, &endpoint::c, connection_table, ce::send_close_with_error, frame::close,
                 answers_close, visit);
        }
        if (e.open_sent && !closing(e.c))
            send_session(p, i, visit);
    }

    template <class Visit>
    void send_session(pair const& p, int i, Visit visit)
    {
        auto const& e = p.end[i];
        auto const asked = e.s == ss::begin_received || e.s == ss::end_received;
        if (!e.begin_sent && (asked || i == scope_.begins))
            send(p, i, &endpoint::s, session_table, se::send_begin, frame::begin, asked, visit,
                 &endpoint::begin_sent);
        auto const answers_end = e.s == ss::end_received;
        if (e.begin_sent && (scope_.end || answers_end)) {
            send(p, i, &endpoint::s, session_table, se::send_end, frame::end, answers_end, visit);
            send(p, i, &endpoint::s, session_table, se::send_end_with_error, frame::end,
                 answers_end, visit);
        }
        if (e.s != ss::begin_sent && e.s != ss::mapped)
            return;
        if (!e.attach_sent)
            send(p, i, &endpoint::l, link_table, le::send_attach, frame::attach,
                 e.l != ls::detached, visit, &endpoint::attach_sent);
        auto const answers_detach = e.l == ls::detach_received;
        if (e.attach_sent && (scope_.detach || answers_detach))
            send(p, i, &endpoint::l, link_table, le::send_detach, frame::detach, answers_detach,
                 visit);
    }

    /// What has ended makes room for a new one of its kind, once.
    template <class Visit>
    void begin_again(pair const& p, int i, Visit visit)
    {
        auto const& e = p.end[i];
        if (!scope_.second_ones || e.again || closing(e.c))
            return;
        auto next = p;
        auto& n = next.end[i];
        n.again = true;
        if (e.s == ss::ended && i == scope_.begins) {
            n.s = ss::unmapped, n.l = ls::detached;
            n.begin_sent = n.attach_sent = false;
            visit(packed(next), false);
        } else if (e.s == ss::mapped && e.l == ls::ended) {
            n.l = ls::detached;
            n.attach_sent = false;
            visit(packed(next), false);
        }
    }

    void receive(pair& p, int i, frame f, std::uint64_t before)
    {
        auto& e = p.end[i];
        auto known = true;
        if (e.c == cs::ended) {
            // Nothing is said any more.
        } else if (f == frame::header) {
            known = step(connection_table, e.c, ce::receive_header);
        } else if (f == frame::open) {
            known = step(connection_table, e.c, ce::receive_open);
        } else if (f == frame::close) {
            known = step(connection_table, e.c, ce::receive_close);
        } else if (!closing(e.c)) {  // else dropped until the close [2.4.6]
            known = receive_session(e, f);
        }
        after(e);
        if (!known && undefined.empty())
            undefined = "frame " + std::to_string(static_cast<int>(f)) + " at end "
                        + std::to_string(i) + " in " + text_of(before);
    }

    bool receive_session(endpoint& e, frame f)
    {
        if (f == frame::begin) {
            if (e.s == ss::ended) {  // of a new session
                e.s = ss::unmapped, e.l = ls::detached;
                e.begin_sent = e.attach_sent = false;
            }
            return step(session_table, e.s, se::receive_begin);
        }
        if (f == frame::end)
            return step(session_table, e.s, se::receive_end);
        if (e.s == ss::discarding || e.s == ss::end_received)
            return true;                                                   // dropped [2.5.4]
        if (f == frame::attach && e.l == ls::ended && e.s != ss::ended) {  // of a new link
            e.l = ls::detached;
            e.attach_sent = false;
        }
        return step(link_table, e.l, f == frame::attach ? le::receive_attach : le::receive_detach);
    }

    scope scope_;
};

/// Two ends in an open connection, with or without a session.
pair opened(bool with_session)
{
    pair p;
    for (auto& e : p.end) {
        e.c = cs::opened;
        e.open_sent = true;
        if (with_session) {
            e.s = ss::mapped;
            e.begin_sent = true;
        }
    }
    return p;
}

search explore(pair const& from, scope const& s)
{
    conversation talk{s};
    search all{packed(from), [&](std::uint64_t bits, auto visit) { talk.expand(bits, visit); }};
    EXPECT_EQ(talk.undefined, "");
    std::printf("    %zu states, %zu transitions\n", all.states.size(), all.edges.size());
    return all;
}

void expect_none(std::vector<std::uint64_t> const& stuck)
{
    EXPECT_EQ(stuck.size(), 0u) << "such as " << (stuck.empty() ? "" : text_of(stuck.front()));
}

template <auto Member, class State>
auto both(State wanted)
{
    return [wanted](std::uint64_t bits) {
        auto const p = unpacked(bits);
        return p.end[0].*Member == wanted && p.end[1].*Member == wanted;
    };
}

TEST(StateSearch, TwoConnectionsAlwaysComeToAnEnd)
{
    auto const all = explore({}, {.begins = 2});
    expect_none(all.stuck(both<&endpoint::c>(cs::ended)));
}

TEST(StateSearch, TwoSessionsOfAnOpenConnectionAlwaysComeToAnEnd)
{
    auto const all = explore(opened(false), {.close = false, .detach = false});
    expect_none(all.stuck(both<&endpoint::s>(ss::ended)));
}

TEST(StateSearch, TwoLinksOfASessionAlwaysComeToAnEnd)
{
    auto const all = explore(opened(true), {.close = false, .end = false});
    expect_none(all.stuck(both<&endpoint::l>(ls::ended)));
}

TEST(StateSearch, ConnectionSessionAndLinkTogetherAlwaysComeToAnEnd)
{
    for (int begins : {0, 1}) {
        auto const all = explore({}, {.begins = begins});
        expect_none(all.stuck(both<&endpoint::c>(cs::ended)));
    }
}

TEST(StateSearch, WhatHasEndedCanBeginAgain)
{
    auto const all = explore(opened(false), {.close = false});
    expect_none(all.stuck(both<&endpoint::s>(ss::ended)));
}

/// Once one end has closed, taking in and answering is all that the other needs to do.
TEST(StateSearch, AnAnswerIsAllThatACloseNeeds)
{
    auto const all = explore({}, {.second_ones = false});
    auto const done = both<&endpoint::c>(cs::ended);
    auto stuck = all.stuck(done, true);
    std::erase_if(stuck, [](std::uint64_t bits) {
        auto const p = unpacked(bits);
        return !closing(p.end[0].c) && !closing(p.end[1].c);  // nobody wants it to end
    });
    expect_none(stuck);
}

/// The same for the end of a session, and for the detach of a link.
TEST(StateSearch, AnAnswerIsAllThatAnEndOrADetachNeeds)
{
    auto const sessions = explore(opened(false), {.close = false, .second_ones = false});
    auto stuck = sessions.stuck(both<&endpoint::s>(ss::ended), true);
    std::erase_if(stuck, [](std::uint64_t bits) {
        auto const p = unpacked(bits);
        return p.end[0].s < ss::end_sent && p.end[1].s < ss::end_sent;
    });
    expect_none(stuck);

    auto const links = explore(opened(true), {.close = false, .end = false, .second_ones = false});
    stuck = links.stuck(both<&endpoint::l>(ls::ended), true);
    std::erase_if(stuck, [](std::uint64_t bits) {
        auto const p = unpacked(bits);
        return p.end[0].l < ls::detach_sent && p.end[1].l < ls::detach_sent;
    });
    expect_none(stuck);
}

// ---- a delivery at its two ends

using os = outgoing_state;
using oe = outgoing_event;
using is = incoming_state;
using ie = incoming_event;

enum class word : std::uint8_t { none, more, last, aborted, settled, outcome, gone };

constexpr unsigned words_max = 4;

struct delivery {
    os out = os::queued;
    is in = is::none;
    bool sent_settled = false;       // how it is sent
    bool mode_second = false;        // who settles first
    bool settled_by_peer = false;    // at the sender, before its last frame
    bool settled_by_sender = false;  // at the receiver
    bool said = false;               // the receiver has stated its outcome
    bool answered_half = false;      // and did so before the last frame
    word flight[2][words_max]{};     // of the sender, of the receiver
};

std::uint64_t packed(delivery const& d)
{
    std::uint64_t bits = 0;
    auto const put = [&](auto v, unsigned n) { bits = bits << n | static_cast<std::uint64_t>(v); };
    put(d.out, 4), put(d.in, 4), put(d.sent_settled, 1), put(d.mode_second, 1);
    put(d.settled_by_peer, 1), put(d.settled_by_sender, 1), put(d.said, 1), put(d.answered_half, 1);
    for (auto const& way : d.flight)
        for (auto const w : way) put(w, 3);
    return bits;
}

delivery delivery_of(std::uint64_t bits)
{
    delivery d;
    auto const take = [&](unsigned n) {
        auto const v = bits & ((1u << n) - 1);
        bits >>= n;
        return v;
    };
    for (int way = 1; way >= 0; --way)
        for (unsigned i = words_max; i-- > 0;) d.flight[way][i] = static_cast<word>(take(3));
    d.answered_half = take(1), d.said = take(1);
    d.settled_by_sender = take(1), d.settled_by_peer = take(1);
    d.mode_second = take(1), d.sent_settled = take(1);
    d.in = static_cast<is>(take(4)), d.out = static_cast<os>(take(4));
    return d;
}

bool final(os s) { return s == os::settled || s == os::aborted || s == os::withdrawn; }
bool final(is s) { return s == is::settled || s == is::aborted; }

/// What both ends of a link do with one delivery. A detach is the word `gone`.
class exchange {
public:
    explicit exchange(bool links_end) : links_end_{links_end} {}

    std::string undefined;

    template <class Visit>
    void expand(std::uint64_t bits, Visit visit)
    {
        auto const d = delivery_of(bits);
        auto const room = [&](int way) { return d.flight[way][words_max - 1] == word::none; };
        if (room(0))
            sender_acts(d, visit);
        if (room(1))
            receiver_acts(d, visit);
        for (int way : {0, 1})
            if (d.flight[way][0] != word::none) {
                auto next = d;
                auto const w = next.flight[way][0];
                for (unsigned i = 1; i < words_max; ++i)
                    next.flight[way][i - 1] = next.flight[way][i];
                next.flight[way][words_max - 1] = word::none;
                way == 0 ? receiver_hears(next, w) : sender_hears(next, w);
                visit(packed(next), true);
            }
    }

private:
    static void say(delivery& d, int way, word w)
    {
        for (auto& place : d.flight[way])
            if (place == word::none) {
                place = w;
                return;
            }
    }

    template <class Visit>
    void send(delivery const& d, oe on, word w, Visit visit)
    {
        auto const to = outgoing_table.next(d.out, on);
        if (!to)
            return;
        auto next = d;
        next.out = *to;
        if (w != word::none)
            say(next, 0, w);
        auto const whole = on == oe::last_frame && next.settled_by_peer;
        if (whole)
            next.out = *outgoing_table.next(next.out, oe::settle);
        visit(packed(next), false);
    }

    template <class Visit>
    void sender_acts(delivery const& d, Visit visit)
    {
        send(d, oe::first_frame, word::more, visit);
        if (d.sent_settled)
            send(d, oe::last_frame_settled, word::last, visit);
        else
            send(d, oe::last_frame, word::last, visit);
        send(d, oe::cancel, word::none, visit);
        send(d, oe::abort_frame, word::aborted, visit);
        send(d, oe::settle, word::settled, visit);
        if (links_end_ && !final(d.out))
            send(d, oe::link_lost, word::gone, visit);
    }

    template <class Visit>
    void receive(delivery const& d, ie on, word w, Visit visit)
    {
        auto const to = incoming_table.next(d.in, on);
        if (!to)
            return;
        auto next = d;
        next.in = *to;
        next.said = true;
        next.answered_half = d.in == is::partial;
        if (w != word::none && !d.settled_by_sender)
            say(next, 1, w);
        visit(packed(next), false);
    }

    template <class Visit>
    void receiver_acts(delivery const& d, Visit visit)
    {
        if (links_end_ && incoming_table.allows(d.in, ie::link_lost)) {
            auto next = d;
            next.in = *incoming_table.next(d.in, ie::link_lost);
            say(next, 1, word::gone);
            visit(packed(next), false);
        }
        if (d.said)
            return;
        if (d.settled_by_sender && d.in == is::complete)
            receive(d, ie::settle, word::none, visit);
        else if (d.mode_second && !d.settled_by_sender)
            receive(d, ie::answer, word::outcome, visit);
        else
            receive(d, ie::settle, word::settled, visit);
    }

    void receiver_hears(delivery& d, word w)
    {
        if (final(d.in))
            return;  // settled or dropped already
        switch (w) {
        case word::more: return step(d, ie::frame_more);
        case word::aborted: return step(d, ie::frame_aborted);
        case word::gone:
            if (d.in != is::none)
                step(d, ie::link_lost);
            else
                d.in = is::aborted;  // it never was here
            return;
        case word::settled: d.settled_by_sender = true; return step(d, ie::peer_settles);
        default: break;
        }
        step(d, ie::frame_last);
        d.settled_by_sender = d.settled_by_sender || d.sent_settled;
        if (!d.said)
            return;
        // What was said of a half delivery holds for the whole one.
        auto const settles = d.settled_by_sender || !d.mode_second;
        step(d, settles ? ie::settle : ie::answer);
    }

    void sender_hears(delivery& d, word w)
    {
        if (final(d.out))
            return;
        if (w == word::gone)
            return hear(d, oe::link_lost);
        if (w == word::outcome)
            return hear(d, oe::outcome);
        if (d.out == os::begun || d.out == os::aborting) {  // told at its end
            d.settled_by_peer = true;
            return;
        }
        hear(d, oe::settle);
    }

    void step(delivery& d, ie on)
    {
        auto const to = incoming_table.next(d.in, on);
        if (to)
            d.in = *to;
        else
            undefined = "incoming state " + std::to_string(static_cast<int>(d.in)) + " hears "
                        + std::to_string(static_cast<int>(on));
    }
    void hear(delivery& d, oe on)
    {
        auto const to = outgoing_table.next(d.out, on);
        if (to)
            d.out = *to;
        else
            undefined = "outgoing state " + std::to_string(static_cast<int>(d.out)) + " hears "
                        + std::to_string(static_cast<int>(on));
    }

    bool links_end_;
};

void expect_deliveries_to_end(bool links_end)
{
    for (auto const settled : {false, true})
        for (auto const second : {false, true}) {
            exchange talk{links_end};
            delivery const start{.sent_settled = settled, .mode_second = second};
            search const all{packed(start),
                             [&](std::uint64_t bits, auto visit) { talk.expand(bits, visit); }};
            EXPECT_EQ(talk.undefined, "");
            std::printf("    %zu states, %zu transitions\n", all.states.size(), all.edges.size());
            auto const stuck = all.stuck([](std::uint64_t bits) {
                auto const d = delivery_of(bits);
                auto const never_there = d.out == os::withdrawn && d.in == is::none;
                return final(d.out) && (final(d.in) || never_there);
            });
            EXPECT_EQ(stuck.size(), 0u)
                << "settled " << settled << " second " << second << " such as out "
                << (stuck.empty() ? 0 : static_cast<int>(delivery_of(stuck.front()).out)) << " in "
                << (stuck.empty() ? 0 : static_cast<int>(delivery_of(stuck.front()).in));
        }
}

TEST(StateSearch, ADeliveryAlwaysEndsAtBothEnds) { expect_deliveries_to_end(false); }

TEST(StateSearch, ADeliveryAlwaysEndsAtBothEndsWithItsLinkToo) { expect_deliveries_to_end(true); }

}  // namespace
}  // namespace sluice::engine
