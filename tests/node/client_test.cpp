// The node with the client of this project: many messages, large ones, lost connections.
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>

namespace sluice::test {
namespace {

constexpr client::milliseconds patience{60'000};

struct rig {
    node::node node;
    std::string url;
    explicit rig(node::node_options o = {}) : node{std::move(o)}
    {
        url = "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    }
};

client::encoded_message numbered(std::uint64_t n, std::size_t size)
{
    bytes body(size, static_cast<std::byte>(n));
    bytes out;
    message_writer{out}.application_property("n", n).data(bytes_view{body});
    return {std::move(out)};
}
std::uint64_t number_of(client::delivery const& d)
{
    auto const view = d.view();
    return as<std::uint64_t>(map_reader{view.application_properties}.find("n")).value();
}
std::size_t size_of(std::uint64_t n) { return n % 97 == 0 ? 64 * 1024 : n * 37 % 3'000; }

/// `count` messages sent and received in their order, each with its octets.
void round_trip(client::sender_options out, client::receiver_options in, std::uint64_t count,
                bool settled = false)
{
    rig r;
    client::container container;
    auto const connection = container.connect(r.url);
    auto receiver = connection.open_receiver("q", std::move(in));
    auto sending = std::async(std::launch::async, [&] {
        auto const other = container.connect(r.url);
        auto const sender = other.open_sender("q", std::move(out));
        std::vector<std::future<client::outcome>> outcomes;
        for (std::uint64_t n = 0; n < count; ++n)
            outcomes.push_back(sender.async_send(numbered(n, size_of(n)), {.settled = settled},
                                                 boost::asio::use_future));
        std::uint64_t good = 0;
        for (auto& o : outcomes) {
            auto const kind = o.get().kind();
            good += kind == client::outcome_kind::accepted || kind == client::outcome_kind::none;
        }
        other.close();
        return good;
    });
    for (std::uint64_t n = 0; n < count; ++n) {
        auto const d = receiver.receive(patience);
        ASSERT_EQ(number_of(d), n);
        ASSERT_EQ(d.view().first_data.size(), size_of(n));
        if (!d.settled())
            d.accept();
    }
    EXPECT_EQ(sending.get(), count);
    connection.close();
    EXPECT_EQ(r.node.stats().messages, 0u);
    EXPECT_EQ(r.node.stats().received, count);
}

TEST(NodeAndClient, PassTenThousandMessagesOfMixedSizes) { round_trip({}, {}, 10'000); }

TEST(NodeAndClient, PassMessagesInEverySettleMode)
{
    for (auto const snd :
         {sender_settle_mode::mixed, sender_settle_mode::unsettled, sender_settle_mode::settled})
        for (auto const rcv : {receiver_settle_mode::first, receiver_settle_mode::second}) {
            client::sender_options out;
            out.snd_settle_mode = snd;
            out.rcv_settle_mode = rcv;
            client::receiver_options in;
            in.snd_settle_mode = snd;
            in.rcv_settle_mode = rcv;
            round_trip(out, in, 300);
        }
}

TEST(NodeAndClient, PassPresettledMessages) { round_trip({}, {}, 2'000, true); }

TEST(NodeAndClient, PassMessagesWithACreditOfOne)
{
    client::receiver_options in;
    in.credit_window = 1;
    round_trip({}, in, 500);
}

// 20 MiB, made while they are sent and read while they come.
TEST(NodeAndClient, PassAStreamedMessageOfTwentyMebibytes)
{
    rig r;
    client::container container;
    auto const connection = container.connect(r.url);
    client::receiver_options in;
    in.streamed = true;
    auto const receiver = connection.open_receiver("q", in);
    auto const sender = connection.open_sender("q");
    constexpr std::size_t part_size = 64 * 1024;
    constexpr std::size_t parts = 320;
    auto sending = std::async(std::launch::async, [&] {
        auto const stream = sender.stream();
        for (std::size_t i = 0; i < parts; ++i)
            stream.write_data(bytes(part_size, static_cast<std::byte>(i)));
        return stream.finish();
    });
    auto const d = receiver.receive(patience);
    bytes whole;
    bytes some(1 << 20);
    try {
        while (true) {
            auto const n = d.read_some(some);
            whole.insert(whole.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
        }
    } catch (boost::system::system_error const& e) {
        ASSERT_EQ(e.code(), boost::asio::error::eof);
    }
    d.accept();
    EXPECT_TRUE(sending.get().accepted());
    message_view view;
    ASSERT_FALSE(decode(whole, view));
    EXPECT_EQ(view.data_size(), parts * part_size);
    EXPECT_EQ(view.body_sections, parts);
    std::size_t i = 0;
    for (body_reader body{view}; auto const section = body.next(); ++i)
        ASSERT_EQ(as<bytes_view>(*section)->back(), static_cast<std::byte>(i));
    connection.close();
}

// Each message comes to exactly one of them.
TEST(NodeAndClient, ShareMessagesBetweenManyConsumers)
{
    constexpr std::uint64_t count = 3'000;
    rig r;
    client::container container;
    auto const connection = container.connect(r.url);
    std::mutex mutex;
    std::set<std::uint64_t> seen;
    std::map<int, std::uint64_t> shares;
    std::promise<void> all;
    std::vector<client::receiver> receivers;
    for (int i = 0; i < 20; ++i) {
        client::receiver_options in;
        in.credit_window = 10;
        receivers.push_back(connection.begin().open_receiver("q", in));
        receivers.back().on_message([&, i](client::delivery d) {
            d.accept();
            std::lock_guard const lock{mutex};
            EXPECT_TRUE(seen.insert(number_of(d)).second);
            ++shares[i];
            if (seen.size() == count)
                all.set_value();
        });
    }
    auto const sender = connection.open_sender("q");
    std::vector<std::future<client::outcome>> outcomes;
    for (std::uint64_t n = 0; n < count; ++n)
        outcomes.push_back(sender.async_send(numbered(n, 10), {}, boost::asio::use_future));
    for (auto& o : outcomes) EXPECT_TRUE(o.get().accepted());
    ASSERT_EQ(all.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_EQ(shares.size(), 20u);  // everybody had their turn
    connection.close();
}

// The receiver's side dies again and again with deliveries unanswered: nothing is lost, and what
// comes back comes in its order. What was settled just before a death may not have been written
// any more, and so may come once more.
TEST(NodeAndClient, LoseNothingWhenReceiversDieInTheMiddle)
{
    constexpr std::uint64_t count = 500;
    rig r;
    {
        client::container container;
        auto const connection = container.connect(r.url);
        auto const sender = connection.open_sender("q");
        std::vector<std::future<client::outcome>> outcomes;
        for (std::uint64_t n = 0; n < count; ++n)
            outcomes.push_back(sender.async_send(numbered(n, 2'000), {}, boost::asio::use_future));
        for (auto& o : outcomes) ASSERT_TRUE(o.get().accepted());
        connection.close();
    }
    std::uint64_t settled = 0;  // by every life so far: a later one may start here or before
    for (int lives = 0; settled < count; ++lives) {
        ASSERT_LT(lives, 500) << "nothing that was settled stays settled";
        client::container mortal;
        auto const receiver = mortal.connect(r.url).open_receiver("q");
        auto d = receiver.receive(patience);
        auto next = number_of(d);
        ASSERT_LE(next, settled);
        for (int i = 0;; ++i) {
            ASSERT_EQ(number_of(d), next);
            if (i == 80)
                break;  // this one and those behind it are not answered
            d.settle();
            if (++next == count)
                break;
            d = receiver.receive(patience);
        }
        settled = std::max(settled, next);
    }  // the container's end closes the sockets at once
}

// The sender's side dies in the middle: what it has an outcome for is here, in its order, and
// nothing is here by halves.
TEST(NodeAndClient, KeepWhatASenderWasToldOfWhenItDiesInTheMiddle)
{
    rig r;
    std::uint64_t told = 0;
    {
        client::container mortal;
        auto const sender = mortal.connect(r.url).open_sender("q");
        std::vector<std::future<client::outcome>> outcomes;
        for (std::uint64_t n = 0; n < 400; ++n)
            outcomes.push_back(sender.async_send(numbered(n, 20'000), {}, boost::asio::use_future));
        for (; told < 100; ++told) ASSERT_TRUE(outcomes[told].get().accepted());
    }
    client::container container;
    auto const connection = container.connect(r.url);
    auto const receiver = connection.open_receiver("q");
    for (std::uint64_t n = 0; n < told; ++n) {
        auto const d = receiver.receive(patience);
        ASSERT_EQ(number_of(d), n);
        ASSERT_EQ(d.view().first_data.size(), 20'000u);
        d.accept();
    }
    connection.close();
}

// The node itself goes: every call ends with an error.
TEST(NodeAndClient, EndEveryCallWhenTheNodeGoes)
{
    auto r = std::make_unique<rig>();
    client::container container;
    auto const connection = container.connect(r->url);
    auto const receiver = connection.open_receiver("q");
    auto waiting = receiver.async_receive(boost::asio::use_future);
    r.reset();
    EXPECT_THROW(waiting.get(), boost::system::system_error);
}

TEST(NodeAndClient, DrainReleaseRejectAndModify)
{
    rig r;
    client::container container;
    auto const connection = container.connect(r.url);
    auto const sender = connection.open_sender("q");
    client::receiver_options in;
    in.credit_window = 0;
    auto const receiver = connection.open_receiver("q", in);
    for (std::uint64_t n = 0; n < 4; ++n) ASSERT_TRUE(sender.send(numbered(n, 5)).accepted());
    receiver.add_credit(10);
    std::vector<client::delivery> got;
    for (int i = 0; i < 4; ++i) got.push_back(receiver.receive(patience));
    receiver.drain();
    EXPECT_EQ(receiver.credit(), 0u);
    got[0].release();
    got[1].reject({.condition = "amqp:not-allowed", .description = "no"});
    got[2].modify({.delivery_failed = true});
    got[3].accept();
    receiver.add_credit(10);
    auto const first = receiver.receive(patience);
    EXPECT_EQ(number_of(first), 0u);
    EXPECT_EQ(first.view().header.prior_deliveries(), 0u);
    auto const second = receiver.receive(patience);
    EXPECT_EQ(number_of(second), 2u);
    EXPECT_EQ(second.view().header.prior_deliveries(), 1u);
    first.accept();
    second.settle();
    receiver.drain();
    EXPECT_EQ(r.node.read("q")->length, 0u);
    connection.close();
}

}  // namespace
}  // namespace sluice::test
