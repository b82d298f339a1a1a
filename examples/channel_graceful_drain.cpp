// Shutting down without losing anything: the source closes the channel, the workers go on until it
// is drained, and the last one to finish is the end.
//
//     channel_graceful_drain [amqp://host]      without a URL: a node in this process
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <atomic>
#include <iostream>
#include <thread>
#include <vector>

namespace client = sluice::client;

int main(int argc, char** argv)
{
    sluice::node::node node;
    auto const url =
        argc > 1 ? std::string{argv[1]}
                 : "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    client::container container;
    auto const connection = container.connect(url);
    auto const requests = sluice::channel<int>::open(connection, "requests", {.capacity = 64});
    std::atomic<int> answered{0};
    std::vector<std::jthread> workers;
    for (int i = 0; i < 4; ++i)
        workers.emplace_back([&] {
            for ([[maybe_unused]] auto const r : requests) ++answered;
        });

    int accepted = 0;
    std::jthread source{[&] {
        try {
            for (;; ++accepted) requests.send(accepted);
        } catch (boost::system::system_error const& e) {
            if (e.code() != sluice::channels::errc::channel_closed)
                throw;
        }
    }};
    while (answered < 100) std::this_thread::yield();
    requests.close();  // from here on no request is taken in; those that were are answered
    workers.clear();
    source.join();
    std::cout << "accepted " << accepted << ", answered " << answered << '\n';
    return accepted == answered ? 0 : 1;
}
