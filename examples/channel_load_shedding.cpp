// Load shedding: what does not fit is refused at once instead of waiting in a line that grows.
//
//     channel_load_shedding [amqp://host]      without a URL: a node in this process
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <iostream>

namespace client = sluice::client;

int main(int argc, char** argv)
{
    sluice::node::node node;
    auto const url =
        argc > 1 ? std::string{argv[1]}
                 : "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    client::container container;
    auto const connection = container.connect(url);
    auto const requests =
        sluice::channel<std::string>::open(connection, "requests", {.capacity = 3});

    int taken = 0;
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        // One round trip: the node's word at the time of asking, never a guess.
        if (requests.try_send("request " + std::to_string(i)))
            ++taken;
        else
            ++refused;
    }
    std::cout << "taken " << taken << ", refused " << refused << '\n';
    requests.close();
    for (auto const& r : requests) std::cout << r << '\n';
    return taken == 3 && refused == 7 ? 0 : 1;
}
