// Rendezvous and select: a desk takes orders or hands out results, whichever somebody waits for.
//
//     channel_select [amqp://host]      without a URL: a node in this process
#include <sluice/channel/select.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <iostream>
#include <thread>

namespace client = sluice::client;

namespace {

/// Another process, if you like: it shares nothing with the desk but the node.
void customer(std::string const& url)
{
    client::container container;
    auto const connection = container.connect(url);
    auto const orders = sluice::channel<int>::open(connection, "orders");
    auto const results = sluice::channel<std::string>::open(connection, "results");
    for (int i = 1; i <= 3; ++i) orders.send(i);  // returns when the desk has picked it up
    for (int i = 1; i <= 3; ++i) std::cout << results.recv().value() << '\n';
    orders.close();
}

}  // namespace

int main(int argc, char** argv)
{
    sluice::node::node node;
    auto const url =
        argc > 1 ? std::string{argv[1]}
                 : "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    client::container container;
    auto const connection = container.connect(url);
    auto const orders = sluice::channel<int>::open(connection, "orders");
    auto const results = sluice::channel<std::string>::open(connection, "results");

    auto const idle = sluice::select(sluice::on_recv(orders), sluice::otherwise()).wait();
    std::cout << (idle.index == 1 ? "nobody has ordered yet\n" : "an order\n");

    std::jthread const other{customer, url};
    std::vector<std::string> ready;
    auto open = true;
    auto const take = [&](std::optional<int> order) {
        open = order.has_value();
        if (order)
            ready.push_back("order " + std::to_string(*order) + " is done");
    };
    while (open) {
        if (ready.empty())
            sluice::select(sluice::on_recv(orders, take)).wait();
        else
            sluice::select(
                sluice::on_recv(orders, take),
                sluice::on_send(results, ready.front(), [&] { ready.erase(ready.begin()); }))
                .wait();
    }
    std::cout << "closed\n";
}
