// Clients that come back to the node after their connections broke: nothing lost, nothing twice
// where both ends remember the link, order kept.
#include "node/support/node_rig.hpp"
#include "support/chaos_proxy.hpp"

#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <map>
#include <set>

namespace sluice::test {
namespace {

using client::milliseconds;
constexpr milliseconds patience{60'000};

client::connection_options recovering()
{
    client::connection_options o;
    o.audit = client::audit_mode::off;  // a connection that is cut ends in the middle of anything
    o.reconnect =
        client::reconnect_options{.initial_delay = milliseconds{2}, .max_delay = milliseconds{20}};
    return o;
}

struct rig {
    node::node node;
    std::uint16_t port;
    chaos_proxy proxy;
    std::string url;

    explicit rig(chaos_plan plan = {})
        : port{node.listen("127.0.0.1", 0).value()},
          proxy{port, plan},
          url{"amqp://127.0.0.1:" + std::to_string(proxy.port())}
    {
    }
};

/// Until "q" has that many messages; without any, and of no use to anybody, it is gone.
bool comes_to_length(node::node& n, std::uint64_t length)
{
    auto const until = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < until) {
        auto const q = n.read("q");
        if ((q ? q->length : 0) == length)
            return true;
        std::this_thread::yield();
    }
    return false;
}

std::string body_of(client::delivery const& d) { return *d.message().body_text(); }

/// `count` messages through a proxy that breaks connections. @returns how often each came, in the
/// order of their first coming
std::vector<std::pair<int, int>> carry(rig& r, int count, receiver_settle_mode mode,
                                       int& duplicates_told)
{
    client::container container;
    client::sender_options out;
    out.rcv_settle_mode = mode;
    client::receiver_options in;
    in.rcv_settle_mode = mode;
    in.credit_window = 50;
    auto const sending = container.connect(r.url, recovering());
    auto const receiving = container.connect(r.url, recovering());
    auto const sender = sending.open_sender("q", out);
    auto const receiver = receiving.open_receiver("q", in);
    auto sends = std::async(std::launch::async, [&] {
        auto duplicates = 0;
        std::deque<std::future<client::outcome>> outcomes;
        for (int i = 0; i < count; ++i) {
            outcomes.push_back(sender.async_send(std::to_string(i), boost::asio::use_future));
            while (outcomes.size() > (i + 1 == count ? 0u : 40u)) {
                auto const o = outcomes.front().get();
                EXPECT_TRUE(o.accepted());
                duplicates += o.possible_duplicate() ? 1 : 0;
                outcomes.pop_front();
            }
        }
        return duplicates;
    });
    std::vector<std::pair<int, int>> seen;
    std::map<int, std::size_t> at;
    auto const all_sent = [&] {
        return sends.wait_for(milliseconds{0}) == std::future_status::ready;
    };
    while (true) {
        auto const done = seen.size() == static_cast<std::size_t>(count) && all_sent();
        if (done)
            r.proxy.set_faults(false);
        client::delivery d;
        try {
            d = receiver.receive(done ? milliseconds{300} : patience);
        } catch (boost::system::system_error const& e) {
            EXPECT_TRUE(done) << e.what() << " after " << seen.size();
            break;
        }
        auto const n = std::stoi(body_of(d));
        auto const [where, first] = at.try_emplace(n, seen.size());
        if (first)
            seen.emplace_back(n, 0);
        ++seen[where->second].second;
        try {
            d.accept();
        } catch (boost::system::system_error const& e) {
            EXPECT_EQ(e.code(), error::stale_delivery) << e.what();
        }
    }
    duplicates_told = sends.get();
    EXPECT_EQ(sender.error(), nullptr);
    EXPECT_EQ(receiver.error(), nullptr);
    EXPECT_GT(sending.reconnects() + receiving.reconnects(), 0u);
    return seen;
}

void expect_all_in_order(std::vector<std::pair<int, int>> const& seen, int count)
{
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)].first, i);
}

// Granted by hand, and used by messages that were lost on their way to the user.
TEST(NodeRecovery, CreditByHandThatNobodyHasHadAMessageForIsGrantedAgain)
{
    rig r;
    client::container container;
    auto const direct = container.connect("amqp://127.0.0.1:" + std::to_string(r.port));
    auto const sender = direct.open_sender("q");
    for (int i = 0; i < 5; ++i) sender.send(std::to_string(i)).or_throw();
    auto const connection = container.connect(r.url, recovering());
    auto const changes = connection.state_changes();
    client::receiver_options by_hand;
    by_hand.credit_window = 0;
    auto const receiver = connection.open_receiver("q", by_hand);
    receiver.add_credit(5);
    auto const first = receiver.receive(patience);
    EXPECT_EQ(body_of(first), "0");
    while (receiver.counters().messages < 5) std::this_thread::yield();
    r.proxy.reset_all();
    for (int i = 1; i < 5; ++i) EXPECT_EQ(body_of(receiver.receive(patience)), std::to_string(i));
    first.accept();
    connection.close();
}

TEST(NodeRecovery, BothEndsInModeSecondCarryEachMessageExactlyOnce)
{
    for (std::uint64_t const seed : {1u, 2u, 3u}) {
        rig r{{.seed = seed, .octets_min = 200, .octets_max = 8'000}};
        auto told = 0;
        auto const seen = carry(r, 1'000, receiver_settle_mode::second, told);
        expect_all_in_order(seen, 1'000);
        for (auto const& [n, times] : seen) EXPECT_EQ(times, 1) << n << ", seed " << seed;
        EXPECT_EQ(told, 0) << "seed " << seed;
        EXPECT_GT(r.proxy.counts().broken(), 5u);
        EXPECT_TRUE(comes_to_length(r.node, 0)) << "seed " << seed;
    }
}

TEST(NodeRecovery, InModeFirstNothingIsLostAndWhatMayBeTwiceIsTold)
{
    for (std::uint64_t const seed : {1u, 2u, 3u}) {
        rig r{{.seed = seed, .octets_min = 200, .octets_max = 8'000}};
        auto told = 0;
        expect_all_in_order(carry(r, 1'000, receiver_settle_mode::first, told), 1'000);
        EXPECT_GT(r.proxy.counts().broken(), 5u);
    }
}

TEST(NodeRecovery, ADeliveryThatIsHeldStaysValidAndIsNotHandedOutTwice)
{
    rig r;
    client::container container;
    auto const connection = container.connect(r.url, recovering());
    auto const changes = connection.state_changes();
    auto const sender = connection.open_sender("q");
    for (auto const* text : {"1", "2", "3"}) ASSERT_TRUE(sender.send(text).accepted());
    auto const receiver = connection.open_receiver("q");
    auto const held = receiver.receive(patience);
    r.proxy.reset_all();
    while (changes.next(patience).value().state != client::connection_state::open) {}
    EXPECT_EQ(body_of(receiver.receive(patience)), "2");
    held.settle();
    EXPECT_EQ(body_of(receiver.receive(patience)), "3");
    EXPECT_TRUE(comes_to_length(r.node, 2));
}

TEST(NodeRecovery, ANodeThatIsStartedAgainIsServedAndWhatWasHeldIsStale)
{
    client::container container;
    auto first = std::make_unique<node::node>();
    auto const port = first->listen("127.0.0.1", 0).value();
    auto const connection =
        container.connect("amqp://127.0.0.1:" + std::to_string(port), recovering());
    auto const changes = connection.state_changes();
    auto const sender = connection.open_sender("q");
    auto const receiver = connection.open_receiver("q");
    ASSERT_TRUE(sender.send("1").accepted());
    auto const held = receiver.receive(patience);
    first.reset();
    node::node second;
    while (!second.listen("127.0.0.1", port)) {}
    while (changes.next(patience).value().state != client::connection_state::open) {}
    ASSERT_TRUE(sender.send("2").accepted());
    EXPECT_EQ(body_of(receiver.receive(patience)), "2");
    try {
        held.accept();
        ADD_FAILURE() << "an answer to a delivery that nobody knows";
    } catch (boost::system::system_error const& e) {
        EXPECT_EQ(e.code(), error::stale_delivery);
    }
}

// ---- frame by frame

bytes map_of(bytes_view tag, bytes_view state)
{
    bytes out;
    map_writer map{out};
    map.add(tag, raw_value{state});
    map.finish();
    return out;
}
constexpr std::byte nothing[]{std::byte{0x40}};

// "The receiver MUST ignore resumed deliveries that are not in its local unsettled map." [2.7.5]
TEST(NodeRecovery, AResumedTransferThatIsUnknownIsNoNewMessage)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    c->deliver("s", "unknown", [](transfer& t) { t.resume = true; });
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 settled released)");
    c->deliver("s", "new");
    EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 1 settled accepted)");
    EXPECT_EQ(n.node.read("q")->length, 1u);
}

/// A sender "s" in mode second whose delivery was accepted, and that has not settled it.
struct accepted_rig {
    node_rig n;
    std::unique_ptr<raw_client> c;
    bytes tag;

    explicit accepted_rig(std::uint32_t timeout) : c{n.client()}
    {
        attach(*c, timeout, {});
        std::ignore = c->wire();
        c->deliver("s", "1", [this](transfer& t) {
            tag.assign(t.delivery_tag->begin(), t.delivery_tag->end());
        });
        EXPECT_EQ(c->wire_without_flows(), "disposition(receiver 0 accepted)");
    }
    static void attach(raw_client& c, std::uint32_t timeout, bytes_view map)
    {
        c.sender("s", "q", [&](sluice::attach& a, source&, target& t) {
            a.rcv_settle_mode = receiver_settle_mode::second;
            t.timeout = timeout;
            a.unsettled = {map};
        });
    }
    std::size_t told(raw_client& again)
    {
        std::ignore = again.wire();
        auto const answer = again.last<sluice::attach>();
        std::size_t count = 0;
        for (map_reader entries{answer.unsettled}; entries.next(); ++count) {}
        return count;
    }
};

TEST(NodeRecovery, TellsASenderThatIsBackWhatItHasAccepted)
{
    accepted_rig r{60};
    r.c->reset();
    auto again = r.n.client();
    auto const map = map_of(r.tag, nothing);
    r.attach(*again, 60, map);
    EXPECT_EQ(r.told(*again), 1u);
}

// An empty map, which says that it never had the delivery, and not none, which says nothing.
TEST(NodeRecovery, TellsASenderThatIsBackThatItHasAcceptedNothing)
{
    node_rig n;
    auto c = n.client();
    accepted_rig::attach(*c, 60, {});
    std::ignore = c->wire();
    c->reset();
    auto again = n.client();
    auto const map = map_of(bytes{std::byte{99}}, nothing);
    accepted_rig::attach(*again, 60, map);
    std::ignore = again->wire();
    EXPECT_FALSE(is_null(again->last<attach>().unsettled));
}

TEST(NodeRecovery, ForgetsWhatASenderThatIsBackDoesNotList)
{
    accepted_rig r{60};
    r.c->reset();
    auto const other = map_of(bytes{std::byte{99}}, nothing);
    for (int i = 0; i < 2; ++i) {  // the second time nothing is left to be forgotten
        auto again = r.n.client();
        r.attach(*again, 60, other);
        EXPECT_EQ(r.told(*again), 0u);
        again->deliver("s", "unknown", [&](transfer& t) {
            t.resume = true;
            t.delivery_tag = bytes_view{r.tag};
        });
        EXPECT_EQ(again->wire_without_flows(), "disposition(receiver 0 released)");
        again->reset();
    }
    EXPECT_EQ(r.n.node.read("q")->length, 1u);
}

// Its peer may tell an outcome by a tag of before: were it another message's by now, that one would
// be lost.
TEST(NodeRecovery, AReceiverThatIsBackGetsNoTagTwice)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    auto const attach = [&](bytes_view map) {
        c->receiver("r", "q", [&](sluice::attach& a, source& s, target&) {
            s.expiry_policy = "never";
            a.unsettled = {map};
        });
    };
    attach({});
    std::ignore = c->wire();
    c->credit("r", 10);
    std::set<bytes> tags;
    for (int i = 0; i < 3; ++i) {
        c->deliver("s", std::to_string(i));
        std::ignore = c->wire();
        auto const tag = c->last<transfer>().delivery_tag.value();
        bytes const copy(tag.begin(), tag.end());
        EXPECT_TRUE(tags.insert(copy).second) << i;
        c->detach_link("r", false);
        std::ignore = c->wire();
        attach(map_of(copy, encoded_accepted));
        c->credit("r", 10);
        std::ignore = c->wire();
    }
    EXPECT_EQ(n.node.read("q")->length, 0u);
}

// "On receipt of an incomplete unsettled map a sending endpoint MUST NOT send any new deliveries."
// [2.7.3]
TEST(NodeRecovery, AMapThatIsIncompleteProvesNothingOfWhatItLacksAndNothingNewIsSent)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    auto const attach = [&](bytes_view map, bool incomplete) {
        c->receiver("r", "q", [&](sluice::attach& a, source& s, target&) {
            s.expiry_policy = "never";
            a.unsettled = {map};
            a.incomplete_unsettled = incomplete;
        });
    };
    attach({}, false);
    std::ignore = c->wire();
    c->credit("r", 10);
    std::vector<bytes> tags;
    for (auto const* const text : {"one", "two"}) {
        c->deliver("s", text);
        std::ignore = c->wire();
        auto const tag = c->last<transfer>().delivery_tag.value();
        tags.emplace_back(tag.begin(), tag.end());
    }
    c->detach_link("r", false);
    c->deliver("s", "new");
    std::ignore = c->wire();
    attach(map_of(tags[0], encoded_accepted), true);
    c->credit("r", 10);
    auto const first = c->wire();
    EXPECT_EQ(first.find("'two'"), std::string::npos) << first;
    EXPECT_EQ(first.find("'new'"), std::string::npos) << first;
    EXPECT_EQ(n.node.read("q")->length, 2u);
    c->detach_link("r", false);
    std::ignore = c->wire();
    attach(map_of(tags[1], encoded_accepted), false);
    c->credit("r", 10);
    auto const second = c->wire();
    EXPECT_EQ(second.find("'two'"), std::string::npos) << second;
    EXPECT_NE(second.find("'new'"), std::string::npos) << second;
    EXPECT_EQ(n.node.read("q")->length, 1u);
}

// Detached first, and then the connection is cut: the session-end that its time-out runs from is
// never said.
TEST(NodeRecovery, ALinkThatIsAwayExpiresAfterItsConnectionWasCut)
{
    for (auto const detached_before : {false, true}) {
        node_rig n;
        auto c = n.client();
        c->sender("s");
        c->receiver("r", "q", [](attach&, source& s, target&) { s.timeout = 1; });
        std::ignore = c->wire();
        c->credit("r", 10);
        c->deliver("s", "1");
        std::ignore = c->wire();
        if (detached_before) {
            c->detach_link("r", false);
            std::ignore = c->wire();
        }
        EXPECT_EQ(n.node.read("q")->ready, 0u);
        c->reset();
        EXPECT_TRUE(n.comes_to([&] { return n.node.read("q")->ready == 1; })) << detached_before;
    }
}

}  // namespace
}  // namespace sluice::test
