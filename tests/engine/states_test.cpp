// The tables that the engine runs on: no contradiction, nothing out of reach, no state without a
// way out.
#include <sluice/engine/states.hpp>

#include <gtest/gtest.h>

#include <set>

namespace sluice::engine {
namespace {

template <class State, class Event, std::size_t N>
std::set<State> reached_from(state_table<State, Event, N> const& table, State start)
{
    std::set<State> seen{start};
    for (auto grown = true; grown;) {
        grown = false;
        for (auto const& row : table.rows())
            if (seen.contains(row.from))
                grown = seen.insert(row.to).second || grown;
    }
    return seen;
}

template <class State, class Event, std::size_t N>
void expect_sound(state_table<State, Event, N> const& table, State start,
                  std::set<State> const& finals)
{
    EXPECT_TRUE(table.deterministic());
    auto const states = static_cast<std::size_t>(State::count_);
    EXPECT_EQ(reached_from(table, start).size(), states) << "a state that is never reached";
    for (std::size_t i = 0; i < states; ++i) {
        auto const state = static_cast<State>(i);
        auto const reached = reached_from(table, state);
        if (finals.contains(state)) {
            EXPECT_EQ(reached.size(), 1u) << "final state " << i << " goes on";
            continue;
        }
        auto ends = false;
        for (auto const final : finals) ends = ends || reached.contains(final);
        EXPECT_TRUE(ends) << "state " << i << " has no way to an end";
    }
    std::set<Event> used;
    for (auto const& row : table.rows()) {
        used.insert(row.on);
        EXPECT_EQ(table.next(row.from, row.on), row.to);
        EXPECT_TRUE(table.allows(row.from, row.on));
        EXPECT_NE(row.from, State::count_);
        EXPECT_NE(row.to, State::count_);
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(Event::count_))
        << "an event that never matters";
}

TEST(StateTables, OfAConnectionAreSound)
{
    expect_sound(connection_table, connection_state::start, {connection_state::ended});
}

TEST(StateTables, OfASessionAreSound)
{
    expect_sound(session_table, session_state::unmapped, {session_state::ended});
}

TEST(StateTables, OfALinkAreSound)
{
    expect_sound(link_table, link_state::detached, {link_state::ended});
}

TEST(StateTables, OfAnOutgoingDeliveryAreSound)
{
    expect_sound(outgoing_table, outgoing_state::queued,
                 {outgoing_state::settled, outgoing_state::aborted, outgoing_state::withdrawn});
}

TEST(StateTables, OfAnIncomingDeliveryAreSound)
{
    expect_sound(incoming_table, incoming_state::none,
                 {incoming_state::settled, incoming_state::aborted});
}

TEST(StateTables, EndEverythingWithTheTransport)
{
    for (std::size_t i = 0; i < static_cast<std::size_t>(connection_state::count_); ++i) {
        auto const state = static_cast<connection_state>(i);
        if (state == connection_state::ended)
            continue;
        EXPECT_EQ(connection_table.next(state, connection_event::transport_lost),
                  connection_state::ended)
            << i;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(session_state::count_); ++i) {
        auto const state = static_cast<session_state>(i);
        if (state == session_state::ended)
            continue;
        EXPECT_EQ(session_table.next(state, session_event::connection_lost), session_state::ended)
            << i;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(link_state::count_); ++i) {
        auto const state = static_cast<link_state>(i);
        if (state == link_state::ended)
            continue;
        EXPECT_EQ(link_table.next(state, link_event::session_lost), link_state::ended) << i;
    }
}

TEST(StateTables, LeaveNoDeliveryWithALinkThatIsGone)
{
    for (std::size_t i = 0; i < static_cast<std::size_t>(outgoing_state::count_); ++i) {
        auto const state = static_cast<outgoing_state>(i);
        auto const final = state == outgoing_state::settled || state == outgoing_state::aborted
                           || state == outgoing_state::withdrawn;
        EXPECT_EQ(outgoing_table.allows(state, outgoing_event::link_lost), !final) << i;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(incoming_state::count_); ++i) {
        auto const state = static_cast<incoming_state>(i);
        auto const here = state != incoming_state::none && state != incoming_state::settled
                          && state != incoming_state::aborted;
        EXPECT_EQ(incoming_table.allows(state, incoming_event::link_lost), here) << i;
    }
}

TEST(StateTables, RefuseWhatTheyDoNotName)
{
    EXPECT_EQ(session_table.next(session_state::ended, session_event::send_begin), std::nullopt);
    EXPECT_FALSE(connection_table.allows(connection_state::opened, connection_event::receive_open));
    EXPECT_FALSE(link_table.allows(link_state::ended, link_event::receive_detach));
}

}  // namespace
}  // namespace sluice::engine
