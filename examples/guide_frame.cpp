// What stands around the blocks of the guides; needs a peer on this machine, such as `sluice node`.
// [all]
#include <sluice/client/client.hpp>

#include <future>
#include <iostream>

namespace client = sluice::client;
using namespace std::chrono_literals;

int main()
try {
    client::container container;
    auto const connection = container.connect("amqp://localhost");
    auto const session = connection.begin();

    // a block of the guides

    connection.close();
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
// [all]
