// Six handles of three clients, whose requests and answers take their time: what they recorded has
// to be what channels of one process could have done, a whole step at a time. The search that says
// so has tests of its own here, for it must be able to say no.
#include "channels_clients.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sluice::test {
namespace {

using steps = std::vector<std::pair<std::uint8_t, std::uint8_t>>;
using kind = channel_call::kind;
using outcome = channel_call::outcome;

void select_two(channel_clients& w, unsigned handle, bool tries, unsigned shape)
{
    auto const other = (handle + channel_clients::clients_max) % channel_clients::handles_max;
    std::vector<channel_call::one_case> cases{{handle, (shape & 1) != 0, 1},
                                              {other, (shape & 2) != 0, 1}};
    if ((shape & 4) != 0)
        cases.push_back({handle, (shape & 8) != 0, 1});
    w.select(std::move(cases), tries);
}

void do_step(channel_clients& w, std::uint8_t what, std::uint8_t which)
{
    auto const handle = which % channel_clients::handles_max;
    auto const client = which % channel_clients::clients_max;
    auto const more = which / channel_clients::handles_max;
    switch (what % 40) {
    case 0:
    case 1:
    case 2:
    case 3: return w.send(handle, false);
    case 4: return w.send(handle, true);
    case 5:
    case 6:
    case 7: return w.receive(handle, false, 1);
    case 8: return w.receive(handle, true, 1);
    case 9: return w.receive(handle, false, 1 + more % 4u);
    case 10:
    case 11:
    case 12: return select_two(w, handle, false, more);
    case 13: return select_two(w, handle, true, more);
    case 14: return w.cancel(client, more);
    case 15:
    case 16:
    case 17:
    case 18:
    case 19: return w.answer(client, more / 8u, more % 8u);
    case 20: return more % 8 == 0 ? w.end(handle, protocol::ending::close) : w.arrive(client);
    case 21: return more % 16 == 0 ? w.end(handle, protocol::ending::destroy) : w.hear(client);
    case 22: return more % 4 == 0 ? w.end(handle, protocol::ending::stop) : w.arrive(client);
    case 23: return more % 4 == 0 ? w.lose(client) : w.hear(client);
    case 24: return w.size(handle);
    case 25: return w.pass(20u + more);
    default: return what % 2 == 0 ? w.arrive(client) : w.hear(client);
    }
}

protocol::channel_options any_options()
{
    protocol::channel_options o;
    o.capacity = *rc::gen::inRange(0u, 4u);
    if (o.capacity != 0 && *rc::gen::inRange(0, 3) == 0)
        o.delivery = protocol::guarantee::at_most_once;
    o.visibility_timeout_ms = *rc::gen::element(0u, 50u, 100u);
    o.tries_max = *rc::gen::element(0u, 1u, 2u);
    return o;
}

bool any_call(channel_history const& h, auto is) { return std::ranges::any_of(h.calls, is); }

void classify(channel_history const& h)
{
    using call = channel_call;
    auto const came = [&](outcome o) {
        return any_call(h, [o](call const& c) { return c.came == o; });
    };
    RC_CLASSIFY(came(outcome::destroyed), "destroyed");
    RC_CLASSIFY(came(outcome::stopped), "stopped");
    RC_CLASSIFY(came(outcome::expired), "expired");
    RC_CLASSIFY(any_call(h, [](call const& c) { return c.what == kind::lose; }), "lost");
    RC_CLASSIFY(any_call(h,
                         [&h](call const& c) {
                             return c.cases.size() > 1
                                    && std::ranges::any_of(c.values, [&h](call::value const& v) {
                                           return h.calls[v.sent_by].cases.size() > 1;
                                       });
                         }),
                "two selects met");
}

RC_GTEST_PROP(ChannelsHistory, OfAnyInterleavingIsLinearizable,
              (steps const& first, steps const& second, steps const& third))
{
    channel_clients w{{any_options(), any_options()}, *rc::gen::arbitrary<std::uint64_t>()};
    for (auto const* const part : {&first, &second, &third})
        for (auto const& [what, which] : *part) do_step(w, what, which);
    w.rest();
    RC_ASSERT(w.fault == "");
    auto const found = linearizable(channel_model{w.history}, w.history.times);
    if (found.verdict != linear::yes)
        RC_LOG() << w.text() << "explained, at best: " << found.furthest << ", after "
                 << found.states << " states\n";
    RC_ASSERT(found.verdict == linear::yes);
    classify(w.history);
}

// ---- the search

/// One number that is written and read.
struct number_model {
    struct call {
        bool writes;
        int number;
    };
    std::vector<call> const* calls;
    int is = 0;

    std::string key() const { return std::to_string(is); }
    template <class F>
    void steps(std::size_t i, call_set, call_set, F f) const
    {
        auto const& c = (*calls)[i];
        if (c.writes || c.number == is)
            f(number_model{calls, c.number}, only(i));
    }
    static bool rests(call_set) { return true; }
};

linear of_numbers(std::vector<number_model::call> const& calls,
                  std::vector<call_times> const& times)
{
    return linearizable(number_model{&calls}, times).verdict;
}

TEST(ChannelsLinear, TakesCallsThatOverlapInAnyOrder)
{
    std::vector<number_model::call> const c{{true, 1}, {false, 0}, {true, 2}, {false, 1}};
    EXPECT_EQ(of_numbers(c, {{1, 8}, {2, 3}, {4, 7}, {5, 6}}), linear::yes);
    EXPECT_EQ(of_numbers(c, {{1, 8}, {2, 3}, {4, call_times::never}, {5, 6}}), linear::yes)
        << "what has no answer may have had its effect";
}

TEST(ChannelsLinear, RefusesAnOldNumberThatWasReadAfterANewOne)
{
    std::vector<number_model::call> const c{{true, 1}, {false, 1}, {false, 0}};
    EXPECT_EQ(of_numbers(c, {{1, 6}, {2, 3}, {4, 5}}), linear::no);
    EXPECT_EQ(of_numbers(c, {{1, 6}, {2, 5}, {3, 4}}), linear::yes);
    EXPECT_EQ(of_numbers(c, {{1, call_times::never}, {2, 3}, {4, 5}}), linear::no);
}

TEST(ChannelsLinear, SaysThatItHasNotLookedEverywhere)
{
    std::vector<number_model::call> c;
    std::vector<call_times> t;
    for (unsigned i = 0; i != 12; ++i) {
        c.push_back({true, static_cast<int>(i)});
        t.push_back({i, 100});
    }
    c.push_back({false, 99});
    t.push_back({50, 100});
    EXPECT_EQ(linearizable(number_model{&c}, t, 50).verdict, linear::undecided);
    EXPECT_EQ(linearizable(number_model{&c}, t, 1'000'000).verdict, linear::no);
}

/// Histories of channels that are written by hand; handles 0 and 1 are of the first channel.
struct ChannelsModel : testing::Test {
    channel_history h{.options = {{{.capacity = 1, .visibility_timeout_ms = 0}, {}}}};
    std::uint64_t clock = 0;

    std::size_t begin(channel_call c)
    {
        h.calls.push_back(std::move(c));
        h.times.push_back({.called = ++clock});
        return h.calls.size() - 1;
    }
    void end(std::size_t i, outcome o)
    {
        h.calls[i].came = o;
        h.times[i].answered = ++clock;
    }
    void end(std::size_t i, std::vector<channel_call::value> values)
    {
        h.calls[i].values = std::move(values);
        end(i, outcome::values);
    }
    std::size_t sends(unsigned handle, bool tries = false)
    {
        return begin({.cases = {{handle, true, 1}}, .otherwise = tries});
    }
    std::size_t receives(unsigned handle, bool tries = false)
    {
        return begin({.cases = {{handle, false, 1}}, .otherwise = tries});
    }
    std::size_t acknowledges(std::size_t of)
    {
        auto const i = begin({.what = kind::settle, .of = of});
        end(i, outcome::unknown);
        return i;
    }
    void whole(kind k, unsigned handle, std::uint64_t number = 0)
    {
        end(begin({.what = k, .client = handle % 3, .handle = handle, .number = number}),
            outcome::done);
    }
    linear verdict() const { return linearizable(channel_model{h}, h.times).verdict; }
};

TEST_F(ChannelsModel, TakesAValueThatGoesThrough)
{
    auto const s = sends(0);
    auto const r = receives(1);
    end(r, {{s, 0, 0, false}});
    end(s, outcome::done);
    acknowledges(r);
    whole(kind::size, 0, 0);
    EXPECT_EQ(verdict(), linear::yes);
}

TEST_F(ChannelsModel, RefusesAValueBeforeItsSend)
{
    auto const r = receives(1);
    end(r, {{1, 0, 0, false}});
    end(sends(0), outcome::done);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesAValueThatComesTwice)
{
    auto const s = sends(0);
    end(s, outcome::done);
    auto const first = receives(1);
    end(first, {{s, 0, 0, false}});
    acknowledges(first);
    end(receives(1), {{s, 0, 0, false}});
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesAnotherOrderThanThatOfTheSends)
{
    h.options[0].capacity = 2;
    auto const s = sends(0);
    end(s, outcome::done);
    auto const t = sends(0);
    end(t, outcome::done);
    auto const r = receives(1);
    end(r, {{t, 0, 0, false}});
    EXPECT_EQ(verdict(), linear::no);
    h.calls[r].values = {{s, 0, 0, false}};
    EXPECT_EQ(verdict(), linear::yes);
}

TEST_F(ChannelsModel, RefusesASlotThatIsFreeBeforeTheAcknowledgement)
{
    auto const s = sends(0);
    end(s, outcome::done);
    auto const r = receives(1);
    end(r, {{s, 0, 0, false}});
    end(sends(0), outcome::done);
    acknowledges(r);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesATryThatSeesNothingWhereSomethingIs)
{
    end(sends(0), outcome::done);
    end(receives(1, true), outcome::otherwise);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesASendAfterTheClose)
{
    whole(kind::close, 1);
    end(sends(0), outcome::done);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesTheEndBeforeWhatIsBufferedIsDone)
{
    auto const s = sends(0);
    end(s, outcome::done);
    whole(kind::close, 1);
    auto const r = receives(1);
    end(r, {{s, 0, 0, false}});
    auto const last = receives(1);
    end(last, outcome::closed);
    auto const a = acknowledges(r);
    EXPECT_EQ(verdict(), linear::no);
    h.times[a].called = h.times[last].called;
    EXPECT_EQ(verdict(), linear::yes) << "it was acknowledged while the receive waited";
}

TEST_F(ChannelsModel, RefusesARendezvousWithoutAPickup)
{
    h.options[0].capacity = 0;
    auto const s = sends(0);
    auto const r = receives(1);
    end(r, {{s, 0, 0, true}});
    EXPECT_EQ(verdict(), linear::yes);
    end(s, outcome::done);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesWhoWaitsForWhatIsThere)
{
    end(sends(0), outcome::done);
    receives(1);
    EXPECT_EQ(verdict(), linear::no);
}

TEST_F(ChannelsModel, RefusesASelectThatTakesTwoCases)
{
    h.options[0].capacity = 2;
    auto const s = begin({.cases = {{0, true, 1}, {0, true, 1}}});
    end(s, outcome::done);
    auto const r = begin({.cases = {{1, false, 2}}});
    end(r, {{s, 0, 0, false}, {s, 1, 0, false}});
    EXPECT_EQ(verdict(), linear::no);
    h.calls[r].values.pop_back();
    EXPECT_EQ(verdict(), linear::yes);
}

TEST_F(ChannelsModel, RefusesAnAcknowledgementAfterTheTimeout)
{
    h.options[0].visibility_timeout_ms = 50;
    auto const s = sends(0);
    end(s, outcome::done);
    auto const r = receives(1);
    end(r, {{s, 0, 0, false}});
    whole(kind::pass, 0, 50);
    auto const late = begin({.what = kind::settle, .of = r});
    end(late, outcome::expired);
    auto const again = receives(1);
    end(again, {{s, 0, 1, false}});
    EXPECT_EQ(verdict(), linear::yes);
    h.calls[late].came = outcome::done;
    EXPECT_EQ(verdict(), linear::no);
    h.calls[late].came = outcome::expired;
    h.calls[again].values[0].tries = 0;
    EXPECT_EQ(verdict(), linear::no) << "a try that was not counted";
}

}  // namespace
}  // namespace sluice::test
