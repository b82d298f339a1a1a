// What a peer can pile up for one session, and what a session whose handler is blocked does to
// others: nothing.
#include "support/client_rig.hpp"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <mutex>

namespace sluice::test {
namespace {

using std::chrono::milliseconds;

/// Blocks whoever waits on it until it is opened; opened at the latest when it goes.
class gate {
public:
    ~gate() { open(); }
    void open()
    {
        if (!std::exchange(opened_, true))
            promise_.set_value();
    }
    std::shared_future<void> const& future() const { return future_; }

private:
    std::promise<void> promise_;
    std::shared_future<void> future_ = promise_.get_future().share();
    bool opened_ = false;
};

/// A server whose handler of links called "block" waits, and a peer of it that a test plays.
struct server_rig {
    gate closed_gate;
    std::promise<void> reached;
    std::mutex mutex;
    std::vector<client::session> sessions;
    std::vector<client::receiver> receivers;
    std::vector<std::string> asked;
    client::container server{"server"};
    client::listener listening;
    scripted_peer peer;

    explicit server_rig(bool blocks_on_sessions = false)
    {
        client::server_handlers h;
        h.on_session = [this, blocks_on_sessions](client::session_request r) {
            {
                std::lock_guard const lock{mutex};
                sessions.push_back(r.accept());
            }
            if (blocks_on_sessions && sessions.size() == 1) {
                reached.set_value();
                closed_gate.future().wait();
            }
        };
        h.on_link = [this](client::link_request r) {
            {
                std::lock_guard const lock{mutex};
                asked.push_back(r.name());
            }
            if (r.name() == "block") {
                reached.set_value();
                closed_gate.future().wait();
            }
            std::lock_guard const lock{mutex};
            receivers.push_back(r.accept_receiver());
        };
        listening = server.listen("127.0.0.1", 0, {}, std::move(h));
        peer.connect_to(listening.port());
        peer.send_header(protocol_id::amqp);
        peer.send(open{.container_id = "peer"});
        peer.expect_header(protocol_id::amqp);
    }
    ~server_rig()
    {
        closed_gate.open();
        peer.shut();
    }
    void begin(std::uint16_t channel)
    {
        peer.send(sluice::begin{.incoming_window = 100, .outgoing_window = 100}, channel);
    }
    void attach_sender(std::string_view name, std::uint32_t number, std::uint16_t channel = 0)
    {
        bytes const to = encoded(target{});
        peer.send(attach{.name = name,
                         .handle = handle{number},
                         .role = role::sender,
                         .target = {to},
                         .initial_delivery_count = sequence_number{0}},
                  channel);
    }
    /// The peer's own next attach of that name is answered.
    void expect_attached(std::string_view name)
    {
        while (peer.skip_to<attach>()->name != name) {}
    }
};

TEST(Inbox, OverflowEndsItsOwnSessionOnly)
{
    server_rig rig;
    rig.begin(0);
    rig.begin(1);
    rig.attach_sender("block", 0);
    get(rig.reached.get_future());
    for (int i = 0; i < 65; ++i) {  // asked for and taken back again: 64 may wait
        rig.attach_sender("more " + std::to_string(i), 1);
        rig.peer.send(detach{.handle = handle{1}, .closed = true});
    }
    auto const ended = rig.peer.skip_to<end>();
    ASSERT_TRUE(ended->error);
    EXPECT_EQ(ended->error->condition, symbol{condition::resource_limit_exceeded});
    EXPECT_EQ(ended->error->description->find("inbox overflow: 64"), 0u)
        << *ended->error->description;
    rig.peer.send(end{});
    // The other session, and the connection, do not notice.
    rig.attach_sender("fine", 0, 1);
    rig.expect_attached("fine");
    rig.begin(0);
    std::lock_guard const lock{rig.mutex};
    EXPECT_EQ(rig.sessions.at(0).error()->code, make_error_code(error::inbox_overflow));
    EXPECT_EQ(rig.sessions.at(1).error(), nullptr);
    EXPECT_EQ(rig.asked, (std::vector<std::string>{"block", "fine"}));
}

TEST(Inbox, LinksThatWaitForTheirHandlerAreNoOverflow)
{
    server_rig rig;
    rig.begin(0);
    rig.attach_sender("block", 0);
    get(rig.reached.get_future());
    for (std::uint32_t i = 1; i <= 300; ++i) rig.attach_sender(std::to_string(i), i);
    rig.closed_gate.open();
    rig.expect_attached("300");
    std::lock_guard const lock{rig.mutex};
    EXPECT_EQ(rig.receivers.size(), 301u);
    EXPECT_EQ(rig.sessions.at(0).error(), nullptr);
}

TEST(Inbox, SessionsThatAreTakenBackAgainAreBoundedToo)
{
    server_rig rig{true};
    rig.begin(0);
    get(rig.reached.get_future());
    for (int i = 0; i < 64; ++i) {
        rig.begin(1);
        rig.peer.send(end{}, 1);
    }
    rig.begin(1);
    while (true) {
        auto const ended = rig.peer.skip_to<end>();
        if (!ended->error)
            continue;
        EXPECT_EQ(ended->error->description->find("inbox overflow: 64"), 0u);
        break;
    }
    rig.attach_sender("fine", 0);  // on the first session
    rig.expect_attached("fine");
}

TEST(Inbox, AHundredLinksDetachedAtOnceEndNothing)
{
    client_rig rig;
    std::vector<client::receiver> links;
    std::vector<client::notifications<client::detach_notice>> notices;
    for (int i = 0; i < 100; ++i) {
        links.push_back(rig.receiver());
        notices.push_back(links.back().detached());
    }
    gate closed;
    std::promise<void> reached;
    boost::asio::post(rig.session.get_executor(), [&reached, until = closed.future()] {
        reached.set_value();
        until.wait();
    });
    get(reached.get_future());
    for (std::uint32_t i = 0; i < 100; ++i)
        rig.peer.send(detach{.handle = handle{i},
                             .closed = true,
                             .error = error_view{.condition = "amqp:resource-deleted"}});
    for (int i = 0; i < 100; ++i) rig.peer.skip_to<detach>();
    for (auto const& n : notices)
        EXPECT_EQ(n.next(milliseconds{10'000})->why->error.condition, "amqp:resource-deleted");
    for (auto const& l : links)
        EXPECT_EQ(l.error()->code, make_error_code(error::link_detached_by_peer));
    EXPECT_EQ(rig.session.error(), nullptr);
    closed.open();
    rig.receiver();
}

/// `count` presettled deliveries on that channel, from delivery-id `first` on.
bytes deliveries(std::uint32_t first, std::uint32_t count, std::uint16_t channel)
{
    bytes all;
    auto const body = data_message("x");
    for (std::uint32_t i = first; i < first + count; ++i) {
        std::array<std::byte, 4> tag;
        for (unsigned k = 0; k < 4; ++k) tag[k] = static_cast<std::byte>(i >> 8 * k);
        auto const one = scripted_peer::encoded(transfer{.handle = handle{0},
                                                         .delivery_id = delivery_number{i},
                                                         .delivery_tag = bytes_view{tag},
                                                         .message_format = 0,
                                                         .settled = true},
                                                channel, body);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

// Counts are asserted; the rates are printed, for a busy machine has no rate to promise.
TEST(Inbox, ABlockedHandlerStallsItsSessionOnly)
{
    constexpr int blocked_sessions = 16;
    constexpr std::uint32_t many = 20'000;
    client_rig rig;
    client::session_options wide;
    wide.incoming_window = 5 * many;
    client::receiver_options with_credit;
    with_credit.credit_window = 2 * many;
    std::vector<client::session> sessions;
    std::vector<client::receiver> receivers;
    for (int i = 0; i <= blocked_sessions; ++i) {
        auto begun = in_background([&] { return rig.connection.begin(wide); });
        auto const theirs = rig.peer.skip_to<begin>();
        rig.peer.send(begin{.remote_channel = theirs.from.header.channel,
                            .incoming_window = 100,
                            .outgoing_window = 100},
                      theirs.from.header.channel);
        sessions.push_back(get(begun).value.value());
        auto opened =
            in_background([&] { return sessions.back().open_receiver("q", with_credit); });
        rig.peer.attach_link();
        receivers.push_back(get(opened).value.value());
    }
    auto const channel_of = [](int i) { return static_cast<std::uint16_t>(i + 1); };
    std::atomic<std::uint32_t> left{0};
    std::promise<void> all;
    receivers.back().on_message([&](client::delivery const&) {
        if (--left == 0)
            all.set_value();
    });
    auto const rate = [&](std::uint32_t first) {
        auto const octets = deliveries(first, many, channel_of(blocked_sessions));
        left = many;
        all = {};
        auto const begun = std::chrono::steady_clock::now();
        rig.peer.send_octets(octets);
        get(all.get_future());
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begun;
        return many / took.count();
    };
    std::ignore = rate(0);  // threads begin, memory is there
    auto const before = rate(many);
    gate closed;
    std::atomic<int> blocked{0};
    std::promise<void> all_blocked;
    for (int i = 0; i < blocked_sessions; ++i)
        receivers[static_cast<std::size_t>(i)].on_message(
            [&, until = closed.future()](client::delivery const&) {
                if (++blocked == blocked_sessions)
                    all_blocked.set_value();
                until.wait();
            });
    for (int i = 0; i < blocked_sessions; ++i)
        rig.peer.send_octets(deliveries(0, 2, channel_of(i)));
    get(all_blocked.get_future());
    std::ignore = rate(2 * many);
    auto const beside = rate(3 * many);
    std::printf("one session's handler: %.0f messages/s alone, %.0f beside %d blocked ones\n",
                before, beside, blocked_sessions);
    EXPECT_EQ(blocked, blocked_sessions);  // their second messages wait
    closed.open();
    for (auto const& r : receivers) r.on_message({});
}

/// A peer that reads nothing writes all that its window admits: were the client's reader to wait
/// for its writer, both sockets would be full for ever.
TEST(Inbox, SocketsFullInBothDirectionsAtOnceDoNotDeadlock)
{
    constexpr int count = 1'000;
    client::session_options wide{.next_outgoing_id = transfer_id{0},
                                 .next_delivery_id = delivery_number{0}};
    wide.incoming_window = 2 * count;
    wide.buffered_bytes_max = 64u << 20;
    client_rig rig{wide};
    auto const sender = rig.sender();
    client::receiver_options in;
    in.credit_window = count;
    in.inbox_max = count;
    in.inbox_bytes_max = 64u << 20;
    auto const receiver = rig.receiver(in);
    auto const held_up = rig.connection.blocked();
    rig.peer.grant(count, 0, count);
    std::atomic<int> left{count};
    std::promise<void> all;
    bytes const large = data_message(std::string(60'000, 'x'));
    for (int i = 0; i < count; ++i)
        sender.async_send(client::encoded_message{large}, {.settled = true},
                          [&](error_code ec, client::outcome) {
                              EXPECT_FALSE(ec);
                              if (--left == 0)
                                  all.set_value();
                          });
    EXPECT_TRUE(held_up.next(milliseconds{10'000}).value().blocked);
    auto const some = data_message(std::string(16'000, 'y'));
    auto writing = in_background([&] {
        for (std::uint32_t i = 0; i < count; ++i) rig.peer.deliver(i, some, true, handle{1});
    });
    auto receiving = in_background([&] {
        for (int i = 0; i < count; ++i) receiver.receive();
    });
    EXPECT_TRUE(get(writing).value);
    EXPECT_TRUE(get(receiving).value);
    EXPECT_LT(rig.session.counters().transfers_written, std::uint64_t{count});
    for (int i = 0; i < count; ++i) rig.peer.skip_to<transfer>();
    get(all.get_future());
}

/// Refusals are answers, too, and wait for a peer that reads: one that never does is not waited
/// for.
TEST(Inbox, APeerThatAsksForEverAndReadsNothingIsGivenUp)
{
    client_rig rig;
    auto const ended = rig.connection.closed();
    bytes const from = encoded(source{});
    bytes const to = encoded(target{});
    std::string const padding(1'000, 'n');
    auto flood = in_background([&] {
        for (int i = 0; i < 300'000 && !ended.closed(); ++i) {
            bytes all;
            for (int k = 0; k < 20; ++k) {
                auto const name = padding + std::to_string(20 * i + k);
                auto const both = {
                    scripted_peer::encoded(attach{.name = name,
                                                  .handle = handle{0},
                                                  .role = role::receiver,
                                                  .source = {from},
                                                  .target = {to}}),
                    scripted_peer::encoded(detach{.handle = handle{0}, .closed = true})};
                for (auto const& one : both) all.insert(all.end(), one.begin(), one.end());
            }
            rig.peer.send_octets(all);  // throws when the client has gone
        }
    });
    auto const why = ended.next(milliseconds{60'000});
    ASSERT_TRUE(why);
    EXPECT_EQ((*why)->code, make_error_code(error::resource_limit_exceeded)) << (*why)->text;
    EXPECT_NE((*why)->text.find("read none of the answers"), std::string::npos) << (*why)->text;
    flood.wait();
}

}  // namespace
}  // namespace sluice::test
