// A large body sent while it is being made and read while it comes: neither end holds the whole of
// it.
//   streaming [amqp://user:password@host:port] [address] [mebibytes]
#include <sluice/client/client.hpp>

#include <future>
#include <iostream>

namespace client = sluice::client;

namespace {

constexpr std::size_t part_size = 64 * 1024;

void send(client::sender sender, std::size_t parts)
{
    auto const stream = sender.stream();
    sluice::bytes part(part_size);
    for (std::size_t i = 0; i < parts; ++i) {
        std::fill(part.begin(), part.end(), static_cast<std::byte>(i));
        stream.write_data(part);  // waits while the buffer, the credit or the peer's window is full
    }
    std::cout << "outcome: " << stream.finish().to_string() << '\n';
}

std::size_t receive(client::receiver receiver)
{
    auto const delivery = receiver.receive(std::chrono::seconds{30});
    sluice::bytes some(part_size);
    std::size_t size = 0;
    try {
        while (true) size += delivery.read_some(some);
    } catch (boost::system::system_error const& e) {
        if (e.code() != boost::asio::error::eof)
            throw;
    }
    delivery.accept();
    return size;
}

}  // namespace

int main(int argc, char** argv)
try {
    client::container container;
    auto connection = container.connect(argc > 1 ? argv[1] : "amqp://localhost");
    std::string const address = argc > 2 ? argv[2] : "q";
    auto const parts =
        static_cast<std::size_t>(argc > 3 ? std::stoi(argv[3]) : 20) * 1024 * 1024 / part_size;

    auto sender = connection.open_sender(address);
    client::receiver_options options;
    options.streamed = true;
    auto receiver = connection.open_receiver(address, options);

    auto sending = std::async(std::launch::async, [&] { send(sender, parts); });
    std::cout << receive(receiver) << " octets received, section headers included\n";
    sending.get();
    connection.close();
} catch (std::exception const& e) {
    std::cerr << "streaming: " << e.what() << '\n';
    return 1;
}
