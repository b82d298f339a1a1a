// A channel with 4 slots between two terminals: the 5th send waits until something was received.
//
//     sluice node
//     channel_produce_consume produce amqp://localhost      in one terminal
//     channel_produce_consume consume amqp://localhost      in another
//
// Without arguments it is both, with a node in this process.
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <functional>
#include <iostream>
#include <syncstream>
#include <thread>

namespace client = sluice::client;
using namespace std::chrono_literals;

namespace {

constexpr int values = 8;
constexpr int slots = 4;

auto say() { return std::osyncstream{std::cout}; }

void produce(std::string const& url, std::atomic_flag& waits)
{
    client::container container;
    auto const connection = container.connect(url);
    auto const numbers = sluice::channel<int>::open(connection, "numbers", {.capacity = slots});
    for (int i = 1; i <= values; ++i) {
        auto sent = numbers.async_send(i, boost::asio::use_future);
        if (sent.wait_for(200ms) != std::future_status::ready) {
            say() << "send " << i << " waits: the channel is full\n";
            if (i > slots) {
                waits.test_and_set();
                waits.notify_all();
            }
        }
        sent.get();
        say() << "sent " << i << '\n';
    }
    numbers.close();
    connection.close();
}

void consume(std::string const& url)
{
    client::container container;
    auto const connection = container.connect(url);
    auto const numbers = sluice::channel<int>::open(connection, "numbers", {.capacity = slots});
    for (auto const n : numbers) say() << "            received " << n << '\n';
    say() << "            closed and drained\n";
    connection.close();
}

}  // namespace

int main(int argc, char** argv)
{
    std::atomic_flag waits;
    if (argc == 3) {
        if (std::string{argv[1]} == "produce")
            produce(argv[2], waits);
        else
            consume(argv[2]);
        return 0;
    }
    sluice::node::node node;
    auto const url = "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    std::jthread const producer{produce, url, std::ref(waits)};
    waits.wait(false);  // until it is full
    consume(url);
}
