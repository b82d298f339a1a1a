// Coroutines: a producer and a consumer on one session, with a deadline and a way to stop.
//   send_receive_awaitable [amqp://user:password@host:port] [address] [count]
#include <sluice/client/client.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>

namespace asio = boost::asio;
namespace client = sluice::client;
using asio::use_awaitable;

namespace {

using namespace asio::experimental::awaitable_operators;

asio::awaitable<void> produce(client::sender sender, int count)
{
    for (int i = 0; i < count; ++i) {
        sluice::message m{"message " + std::to_string(i)};
        m.application_properties["number"] = i;
        auto const outcome = co_await sender.async_send(m, use_awaitable);
        outcome.or_throw();  // for this program anything but accepted is an error
    }
    std::cout << count << " sent\n";
}

asio::awaitable<void> consume(client::receiver receiver, int count)
{
    for (int i = 0; i < count; ++i) {
        auto const delivery =
            co_await receiver.async_receive(std::chrono::seconds{10}, use_awaitable);
        if (i == 0)
            std::cout << "first: " << delivery.message().body_text().value_or("") << '\n';
        delivery.accept();
    }
    std::cout << count << " received\n";
}

asio::awaitable<void> run(client::container& container, std::string url, std::string address,
                          int count)
{
    auto connection = co_await container.async_connect(url, use_awaitable);
    auto session = co_await connection.async_begin(use_awaitable);

    // An error code says what failed; the handle that comes with it says why, in the peer's words.
    auto [failed, sender] =
        co_await session.async_open_sender(address, asio::as_tuple(use_awaitable));
    if (failed)
        throw std::runtime_error{sender.error()->text};

    auto receiver = co_await session.async_open_receiver(address, use_awaitable);

    // Both at once; when one fails, the other is cancelled.
    co_await (produce(sender, count) && consume(receiver, count));
    co_await connection.async_close(use_awaitable);
}

}  // namespace

int main(int argc, char** argv)
{
    client::container container;
    asio::io_context io;  // where this program's coroutines run
    auto failed = false;
    asio::co_spawn(io,
                   run(container, argc > 1 ? argv[1] : "amqp://localhost", argc > 2 ? argv[2] : "q",
                       argc > 3 ? std::stoi(argv[3]) : 100),
                   [&](std::exception_ptr e) {
                       if (!e)
                           return;
                       try {
                           std::rethrow_exception(e);
                       } catch (std::exception const& x) {
                           std::cerr << "send_receive_awaitable: " << x.what() << '\n';
                           failed = true;
                       }
                   });
    io.run();
    return failed ? 1 : 0;
}
