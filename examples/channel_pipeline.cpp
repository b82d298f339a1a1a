// A pipeline of coroutines: one source, fan-out to three workers, fan-in to one sum.
//
//     channel_pipeline [amqp://host]      without a URL: a node in this process
#include <sluice/channel/channel.hpp>
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <iostream>
#include <vector>

namespace asio = boost::asio;
namespace client = sluice::client;

namespace {

asio::awaitable<void> count(sluice::channel<int> to)
{
    for (int i = 1; i <= 100; ++i) co_await to.async_send(i, asio::use_awaitable);
    co_await to.async_close(asio::use_awaitable);
}

asio::awaitable<void> square(sluice::channel<int> from, sluice::channel<int> to)
{
    while (auto const v = co_await from.next())
        co_await to.async_send(*v * *v, asio::use_awaitable);
}

asio::awaitable<long> add_up(sluice::channel<int> from)
{
    long sum = 0;
    while (auto const v = co_await from.next()) sum += *v;
    co_return sum;
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
    auto const numbers = sluice::channel<int>::open(connection, "numbers", {.capacity = 8});
    auto const squares = sluice::channel<int>::open(connection, "squares", {.capacity = 8});
    auto const on = connection.get_executor();

    auto source = asio::co_spawn(on, count(numbers), asio::use_future);
    std::vector<std::future<void>> workers;
    for (int i = 0; i < 3; ++i)
        workers.push_back(asio::co_spawn(on, square(numbers, squares), asio::use_future));
    auto sum = asio::co_spawn(on, add_up(squares), asio::use_future);
    source.get();
    for (auto& w : workers) w.get();
    squares.close();
    auto const total = sum.get();
    std::cout << "the squares of 1 to 100 add up to " << total << '\n';
    return total == 338'350 ? 0 : 1;
}
