// select between connections to one node: what is picked, what is handed over, what meets.
#include "channel_rig.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

namespace sluice::channels {
namespace {

using namespace std::chrono_literals;

struct Select : testing::Test, channel_rig {
    client::connection left = connect();
    client::connection right = connect();

    auto open(client::connection const& on, std::string name, std::uint32_t capacity)
    {
        return sluice::channel<int>::open(on, std::move(name), {.capacity = capacity});
    }
};

TEST_F(Select, TakesTheCaseThatIsReady)
{
    auto const a = open(left, "a", 2);
    auto const b = open(left, "b", 2);
    b.send(7);
    auto picked = sluice::select(on_recv(a), on_recv(b), otherwise()).wait();
    EXPECT_EQ(picked.index, 1U);
    EXPECT_EQ(picked.get<1>(), 7);
    EXPECT_EQ(picked.get<0>(), std::nullopt);
}

TEST_F(Select, TakesOtherwiseIfNothingIsReady)
{
    auto const a = open(left, "a", 0);
    auto called = 0;
    auto const picked =
        sluice::select(otherwise([&] { called += 100; }), on_recv(a, [&](auto) { ++called; }),
                       on_send(a, 1, [&] { ++called; }))
            .wait();
    EXPECT_EQ(picked.index, 0U);
    EXPECT_EQ(called, 100);
}

TEST_F(Select, CallsTheHandlerOfItsCase)
{
    auto const a = open(left, "a", 1);
    std::vector<std::string> said;
    auto const once = [&] {
        return sluice::select(on_recv(a,
                                      [&](std::optional<int> v) {
                                          said.push_back(v ? "got " + std::to_string(*v) : "end");
                                      }),
                              on_send(a, 3, [&] { said.emplace_back("sent"); }))
            .wait()
            .index;
    };
    EXPECT_EQ(once(), 1U);
    EXPECT_EQ(once(), 0U);
    EXPECT_EQ(said, (std::vector<std::string>{"sent", "got 3"}));
    a.close();
    EXPECT_EQ(error_of([&] {
                  for (;;) once();
              }),
              errc::channel_closed)
        << "sooner or later it picks the send";
    for (auto at = said.begin() + 2; at != said.end(); ++at) EXPECT_EQ(*at, "end");
}

TEST_F(Select, NamesTheCaseWhoseChannelIsClosed)
{
    auto const a = open(left, "a", 0);
    auto const b = open(left, "b", 1);
    b.close();
    auto const text = what_of([&] { sluice::select(on_recv(a), on_send(b, 1)).wait(); });
    EXPECT_NE(text.find("channel 'b' (case 1)"), std::string::npos) << text;
}

TEST_F(Select, AHandlerThatThrowsThrowsAtTheCaller)
{
    auto const a = open(left, "a", 1);
    auto const broken = [](std::optional<int>) { throw std::logic_error{"broken"}; };
    a.send(1);
    EXPECT_THROW(sluice::select(on_recv(a, broken)).wait(), std::logic_error);
    a.send(2);
    std::promise<client::error_code> code;
    sluice::select(on_recv(a, broken))([&](client::error_code c, auto const& picked) {
        EXPECT_TRUE(picked.thrown);
        code.set_value(c);
    });
    EXPECT_EQ(code.get_future().get(), errc::handler_failed);
}

TEST_F(Select, WaitsUntilItsTime)
{
    auto const a = open(left, "a", 0);
    EXPECT_EQ(error_of([&] { sluice::select(on_recv(a)).within(5ms).wait(); }), error::timed_out);
    EXPECT_EQ(a.state().waiting_receivers, 0U);
}

TEST_F(Select, NamesAllItsChannelsWhenItsTimeIsOver)
{
    auto const a = open(left, "a", 0);
    auto const b = open(left, "b", 0);
    auto const text =
        what_of([&] { sluice::select(on_recv(a), on_send(b, 1)).within(5ms).wait(); });
    EXPECT_NE(text.find("select of channels 'a', 'b'"), std::string::npos) << text;
    EXPECT_EQ(text.find("case"), std::string::npos) << text;
}

TEST_F(Select, TakesAListOfCases)
{
    std::vector<sluice::channel<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(open(left, "c" + std::to_string(i), 1));
    all[3].send(9);
    auto got = 0;
    std::vector<any_case> cases;
    for (auto const& c : all)
        cases.emplace_back(on_recv(c, [&](std::optional<int> v) { got = v.value_or(-1); }));
    EXPECT_EQ(sluice::select(std::move(cases)).wait(), 3U);
    EXPECT_EQ(got, 9);
    EXPECT_EQ(error_of([] { sluice::select(std::vector<any_case>{}); }), error::invalid_argument);
}

TEST_F(Select, IsAwaitable)
{
    auto const a = open(left, "a", 1);
    auto const b = open(right, "a", 1);
    auto const work = [&]() -> boost::asio::awaitable<int> {
        auto sum = 0;
        auto picked = co_await sluice::select(on_send(a, 20), on_recv(a));
        EXPECT_EQ(picked.index, 0U);
        sum += (co_await b.async_recv(boost::asio::use_awaitable)).value();
        co_await b.async_send(1, boost::asio::use_awaitable);
        co_await b.async_close(boost::asio::use_awaitable);
        while (auto const v = co_await a.next()) sum += *v;
        co_return sum;
    };
    EXPECT_EQ(boost::asio::co_spawn(left.get_executor(), work(), boost::asio::use_future).get(),
              21);
}

TEST_F(Select, TwoThatFaceEachOtherAtCapacityZeroMeetOnce)
{
    auto const rounds = wanted("SLUICE_SELECT_ROUNDS", 200);
    auto const run = [&](client::connection const& on, int mine) {
        auto const there = open(on, "there", 0);
        auto const back = open(on, "back", 0);
        std::vector<std::pair<bool, int>> done;  // sent or received, and what
        for (int i = 0; i < rounds; ++i) {
            auto const value = mine * rounds + i;
            auto const& out = mine ? back : there;
            auto const& in = mine ? there : back;
            auto picked = sluice::select(on_send(out, value), on_recv(in)).wait();
            if (picked.index == 0)
                done.emplace_back(true, value);
            else
                done.emplace_back(false, picked.template get<1>().value());
        }
        return done;
    };
    auto other = std::async(std::launch::async, run, right, 1);
    auto const first = run(left, 0);
    auto const second = other.get();
    std::multiset<int> sent;
    std::multiset<int> received;
    for (auto const* const side : {&first, &second})
        for (auto const& [is_sent, v] : *side) (is_sent ? sent : received).insert(v);
    EXPECT_EQ(sent, received);
    EXPECT_EQ(sent.size(), static_cast<std::size_t>(rounds));
    EXPECT_EQ(std::set<int>(sent.begin(), sent.end()).size(), sent.size());
}

TEST_F(Select, ExactlyOneCaseOfManyThatRace)
{
    auto const rounds = wanted("SLUICE_SELECT_ROUNDS", 200);
    auto const a = open(left, "a", 1);
    auto const b = open(left, "b", 1);
    std::jthread const feeder{[&] {
        auto const fa = open(right, "a", 1);
        auto const fb = open(right, "b", 1);
        for (int i = 0; i < rounds; ++i) sluice::select(on_send(fa, i), on_send(fb, i)).wait();
        fa.close();
        fb.close();
    }};
    std::vector<int> got;
    auto const take = [&](std::optional<int> v) {
        if (v)
            got.push_back(*v);
    };
    while (static_cast<int>(got.size()) < rounds)
        sluice::select(on_recv(a, take), on_recv(b, take)).wait();
    std::ranges::sort(got);
    std::vector<int> expected(static_cast<std::size_t>(rounds));
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace sluice::channels
