// Clients, listeners and scripted peers that meet in memory.
#include <sluice/client/client.hpp>
#include <sluice/test/fake_peer.hpp>
#include <sluice/test/memory_network.hpp>

#include <gtest/gtest.h>

#include <future>

namespace sluice::test {
namespace {

using std::chrono::seconds;

/// A server that sends back what it gets on "in" to whoever receives from "out".
struct echo_server {
    client::container container;
    std::mutex mutex;
    std::condition_variable changed;
    client::sender out;
    client::listener listener;

    explicit echo_server(memory_network const& network)
    {
        client::server_handlers handlers;
        handlers.on_link = [this](client::link_request const& asked) {
            if (!asked.peer_sends()) {
                std::lock_guard const lock{mutex};
                out = asked.accept_sender();
                changed.notify_all();
                return;
            }
            auto const in = asked.accept_receiver();
            in.on_message([this, in](client::delivery const& d) {
                client::sender to;
                {
                    std::unique_lock lock{mutex};
                    changed.wait_for(lock, seconds{10}, [this] { return out.valid(); });
                    to = out;
                }
                to.async_send(d.message(), [](client::error_code, client::outcome const&) {});
                d.accept();
            });
        };
        listener = container.listen("memory", 0, network.server(), handlers);
    }
    std::string url() const
    {
        return "amqp://memory:" + std::to_string(listener.port()) + "?sasl=none";
    }
};

TEST(MemoryNetwork, JoinsAClientAndAListenerWithoutASocket)
{
    memory_network const network;
    echo_server const server{network};
    client::container container;
    auto const connection = container.connect(server.url(), network.client());
    auto const receiver = connection.open_receiver("out");
    auto const sender = connection.open_sender("in");
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(sender.send("message " + std::to_string(i)).accepted());
        auto const d = receiver.receive(seconds{10});
        EXPECT_EQ(d.message().body_text(), "message " + std::to_string(i));
        d.accept();
    }
    EXPECT_EQ(connection.peer(), "memory:" + std::to_string(server.listener.port()));
    connection.close();
}

TEST(MemoryNetwork, CarriesWhatIsLargerThanItsBuffer)
{
    memory_network const network{1024};
    echo_server const server{network};
    client::container container;
    auto const connection = container.connect(server.url(), network.client());
    auto const receiver = connection.open_receiver("out");
    auto const sender = connection.open_sender("in");
    std::string const big(200'000, 'x');
    EXPECT_TRUE(sender.send(big).accepted());
    EXPECT_EQ(receiver.receive(seconds{10}).message().body_text(), big);
}

TEST(MemoryNetwork, SaysThatNobodyListens)
{
    memory_network const network;
    client::container container;
    try {
        container.connect("amqp://memory:7", network.client());
        FAIL() << "connected to nobody";
    } catch (boost::system::system_error const& e) {
        EXPECT_EQ(e.code(), error::connect_failed);
        EXPECT_NE(std::string{e.what()}.find("nobody listens at memory:7"), std::string::npos)
            << e.what();
    }
}

TEST(MemoryNetwork, RefusesAPortThatIsInUse)
{
    memory_network const network;
    client::container container;
    auto const first = container.listen("memory", 9, network.server());
    EXPECT_EQ(first.port(), 9);
    EXPECT_THROW(container.listen("memory", 9, network.server()), boost::system::system_error);
    first.close();
}

TEST(MemoryNetwork, RefusesAPortThatItHasGivenToSomebodyElse)
{
    memory_network const network;
    client::container container;
    auto const first = container.listen("memory", 0, network.server());
    EXPECT_THROW(container.listen("memory", first.port(), network.server()),
                 boost::system::system_error);
}

TEST(MemoryNetwork, GivesNobodyAPortThatSomebodyHasAskedFor)
{
    memory_network const network;
    client::container container;
    auto const asked = container.listen("memory", 1, network.server());
    auto const given = container.listen("memory", 0, network.server());
    EXPECT_EQ(asked.port(), 1);
    EXPECT_EQ(given.port(), 2);
}

// [receives a scripted delivery]
TEST(FakePeer, PlaysABrokerFrameByFrame)
{
    memory_network const network;
    client::container container;
    fake_peer peer{network};

    auto connecting = std::async(std::launch::async,
                                 [&] { return container.connect(peer.url(), network.client()); });
    peer.open_connection();
    auto const connection = connecting.get();

    auto opening = std::async(std::launch::async, [&] { return connection.open_receiver("news"); });
    peer.begin_session();
    peer.attach_link();
    auto const receiver = opening.get();

    bytes message;
    message_writer{message}.data("hello");
    peer.deliver(0, message);
    receiver.receive(seconds{10}).accept();
    auto const said = peer.skip_to<disposition>();
    EXPECT_EQ(said->first, delivery_number{0});
    EXPECT_TRUE(said->settled);
    peer.shut();
}
// [receives a scripted delivery]

TEST(FakePeer, ALostConnectionReachesTheClient)
{
    memory_network const network;
    client::container container;
    fake_peer peer{network};
    auto connecting = std::async(std::launch::async,
                                 [&] { return container.connect(peer.url(), network.client()); });
    peer.open_connection();
    auto const connection = connecting.get();
    auto const closed = connection.closed();
    peer.shut();
    auto const why = closed.next(seconds{10});
    ASSERT_TRUE(why && *why);
    EXPECT_EQ((*why)->code, error::connection_lost);
}

TEST(FakePeer, PlaysAClientOfTheListener)
{
    memory_network const network;
    echo_server const server{network};
    fake_peer peer{network};
    peer.connect_to(server.listener.port());
    peer.send_header(protocol_id::amqp);
    peer.expect_header(protocol_id::amqp);
    peer.send(open{.container_id = "me"});
    peer.expect<open>();
    peer.send(close{});
    peer.expect<close>();
    EXPECT_TRUE(peer.at_end());
}

TEST(FakePeer, GivesUpWithASentence)
{
    memory_network const network;
    fake_peer peer{network, std::chrono::milliseconds{1}};
    try {
        peer.accept();
        FAIL() << "nobody came";
    } catch (std::runtime_error const& e) {
        EXPECT_STREQ(e.what(), "nobody has connected to the peer in time");
    }
    EXPECT_THROW(peer.next(), std::runtime_error);
    EXPECT_THROW(peer.connect_to(99), std::runtime_error);
}

}  // namespace
}  // namespace sluice::test
