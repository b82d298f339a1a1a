// A port's links, against a server that says what the test wants.
#include "channel_rig.hpp"
#include "scripted_hub.hpp"

#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>

namespace sluice::channels {
namespace {

using namespace std::chrono_literals;
namespace protocol = channel_protocol;

/// Opens every channel that it is asked for, as number 7, and keeps all other requests.
struct scripted_node {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> requests;
    client::connection connection;
    client::receiver in;
    client::sender out;
    int ports = 0;
    std::atomic<bool> refuses = false;
    client::container container{"scripted"};
    client::listener listener = container.listen("127.0.0.1", 0, {}, handlers());

    ~scripted_node()
    {
        std::lock_guard const lock{mutex};
        in = {};
        out = {};
        connection = {};
    }

    client::server_handlers handlers()
    {
        client::server_handlers h;
        h.on_connection = [this](client::connection_request const& r) {
            std::lock_guard const lock{mutex};
            connection = r.accept();
        };
        h.on_link = [this](client::link_request const& r) { attach(r); };
        return h;
    }
    void attach(client::link_request const& r)
    {
        if (refuses)
            return r.refuse({.condition = "amqp:not-found", .description = "no channels here"});
        std::lock_guard const lock{mutex};
        if (!r.peer_sends()) {
            out = r.accept_sender();
            return;
        }
        ++ports;
        in = r.accept_receiver();
        in.on_message([this](client::delivery const& d) { take(d); });
    }
    void take(client::delivery const& d)
    {
        protocol::request r;
        std::string fault;
        ASSERT_FALSE(decode(d.body(), r, fault)) << fault;
        std::lock_guard const lock{mutex};
        if (auto const* const o = std::get_if<protocol::open>(&r)) {
            protocol::opened answer;
            answer.id = o->id;
            answer.channel = 7;
            answer.options = o->options;
            reply(answer);
            return;
        }
        requests.push_back(std::visit(detail::request_text{}, r));
        changed.notify_all();
    }
    void reply(protocol::reply const& r)
    {
        client::encoded_message m;
        encode(m.octets, r);
        out.async_send(std::move(m), {.settled = true}, boost::asio::detached);
    }
    std::string next()
    {
        std::unique_lock lock{mutex};
        changed.wait(lock, [&] { return !requests.empty(); });
        auto text = std::move(requests.front());
        requests.pop_front();
        return text;
    }
    std::string url() const { return "amqp://127.0.0.1:" + std::to_string(listener.port()); }
};

struct Port : testing::Test {
    scripted_node peer;
    client::container container{"user"};

    client::connection connect(bool comes_back = false)
    {
        client::connection_options o;
        if (comes_back)
            o.reconnect = client::reconnect_options{.initial_delay = 1ms, .max_delay = 10ms};
        return container.connect(peer.url(), o);
    }
    static auto open(client::connection const& c, std::string name = "c")
    {
        return sluice::channel<int>::open(c, std::move(name), {.capacity = 4});
    }
    void accept(std::string const& request)
    {
        auto const id = std::stoull(request.substr(request.find('#') + 1));
        std::lock_guard const lock{peer.mutex};
        peer.reply(protocol::accepted{.ranges = {{id, id}}});
    }
    static std::string after_number(std::string const& request)
    {
        return request.substr(request.find(' '));
    }
};

TEST_F(Port, IsSharedByTheChannelsOfAConnection)
{
    auto const c = connect();
    auto const a = open(c, "a");
    auto const b = open(c, "b");
    auto sent = b.async_send(5, boost::asio::use_future);
    accept(peer.next());
    sent.get();
    std::lock_guard const lock{peer.mutex};
    EXPECT_EQ(peer.ports, 1);
}

TEST_F(Port, EndsWithItsLastChannel)
{
    auto const c = connect();
    {
        auto const a = open(c);
    }
    EXPECT_EQ(peer.next(), "stop(7)");
    auto const ports = [&] {
        std::lock_guard const lock{peer.mutex};
        return peer.ports;
    };
    while (ports() < 2) auto const again = open(c);  // it may be on its way to its end
    EXPECT_EQ(ports(), 2);
}

TEST_F(Port, ANameOrATimeThatTheNodeCouldNotReadIsRefusedAtOnce)
{
    auto const c = connect();
    auto const refused = [&](std::string const& name, options o) {
        auto const open = [&] { channel<int>::open(c, name, o); };
        EXPECT_EQ(error_of(open), sluice::error::invalid_argument);
        return what_of(open);
    };
    EXPECT_NE(refused("\xff", {}).find("name is not UTF-8"), std::string::npos);
    EXPECT_NE(refused("x", {.dead_letter = "\xc3"}).find("dead_letter"), std::string::npos);
    EXPECT_NE(refused("x", {.visibility_timeout = -1ms}).find("visibility_timeout"),
              std::string::npos);
    open(c);  // the connection is as it was
}

TEST_F(Port, ComesBackWithItsConnectionAndRepeatsWhatHasNoAnswer)
{
    auto const c = connect(true);
    auto const a = open(c);
    auto sent = a.async_send(5, boost::asio::use_future);
    auto const first = peer.next();
    {
        std::lock_guard const lock{peer.mutex};
        peer.in = {};
        peer.out = {};
        std::exchange(peer.connection, {}).close({.condition = "amqp:connection:forced"});
    }
    auto const second = peer.next();
    EXPECT_EQ(after_number(first), " send(7,1,5)");
    EXPECT_EQ(after_number(second), " send(7,1,5)");
    accept(second);
    sent.get();
    EXPECT_EQ(c.reconnects(), 1U);
}

TEST_F(Port, ComesBackWhenItsLinkAloneIsLost)
{
    auto const c = connect();
    auto const a = open(c);
    auto sent = a.async_send(5, boost::asio::use_future);
    peer.next();
    {
        std::unique_lock lock{peer.mutex};
        auto const in = std::exchange(peer.in, {});
        lock.unlock();
        in.close({.condition = "amqp:link:detach-forced"});
    }
    accept(peer.next());
    sent.get();
    EXPECT_EQ(c.reconnects(), 0U);
}

TEST_F(Port, EndsWithAConnectionThatDoesNotComeBack)
{
    auto const c = connect();
    auto const a = open(c);
    auto sent = a.async_send(5, boost::asio::use_future);
    auto got = a.async_recv(boost::asio::use_future);
    peer.next();
    peer.next();
    {
        std::unique_lock lock{peer.mutex};
        auto const gone = std::exchange(peer.connection, {});
        lock.unlock();
        gone.close({.condition = "amqp:connection:forced", .description = "maintenance"});
    }
    EXPECT_EQ(error_of([&] { sent.get(); }), error::connection_closed_by_peer);
    EXPECT_EQ(error_of([&] { got.get(); }), error::connection_closed_by_peer);
    auto const text = what_of([&] { a.recv(); });
    EXPECT_NE(text.find("channel 'c'"), std::string::npos) << text;
    EXPECT_NE(text.find("maintenance"), std::string::npos) << text;
}

TEST_F(Port, SaysThatThePeerHasNoChannels)
{
    peer.refuses = true;
    auto const c = connect();
    EXPECT_EQ(error_of([&] { open(c); }), errc::not_a_node);
    peer.refuses = false;
    open(c);
}

TEST_F(Port, EndsWithTheContainer)
{
    auto c = connect();
    auto a = open(c);
    auto got = a.async_recv(boost::asio::use_future);
    peer.next();
    c.close();
    EXPECT_TRUE(error_of([&] { got.get(); }));
    EXPECT_TRUE(error_of([&] { a.send(1); }));
}

TEST_F(Port, ASelectOverTwoConnectionsIsRefused)
{
    auto const a = open(connect());
    auto const b = open(connect(), "b");
    EXPECT_EQ(error_of([&] { select(on_recv(a), on_send(b, 1)).wait(); }), errc::other_connection);
}

TEST_F(Port, ACallThatIsCancelledBeforeTheNodeAnswersAsksIt)
{
    auto const a = open(connect());
    boost::asio::cancellation_signal signal;
    std::promise<client::error_code> ended;
    a.async_recv(boost::asio::bind_cancellation_slot(
        signal.slot(),
        [&](client::error_code code, std::optional<int>) { ended.set_value(code); }));
    auto const asked = peer.next();
    signal.emit(boost::asio::cancellation_type::terminal);
    auto const id = asked.substr(asked.find('#'), asked.find(' ') - asked.find('#'));
    EXPECT_EQ(peer.next(), "cancel" + id);
    {
        std::lock_guard const lock{peer.mutex};
        peer.reply(protocol::done{
            .id = std::stoull(id.substr(1)), .status = protocol::status::withdrawn, .text = {}});
    }
    EXPECT_EQ(ended.get_future().get(), error::operation_aborted);
}

}  // namespace
}  // namespace sluice::channels
