// Sends a message and receives it: hello [amqp://user:password@host:port] [address]
#include <sluice/client/client.hpp>

#include <iostream>

int main(int argc, char** argv)
try {
    sluice::client::container container;
    auto connection = container.connect(argc > 1 ? argv[1] : "amqp://localhost");
    std::string const address = argc > 2 ? argv[2] : "q";

    auto sender = connection.open_sender(address);
    std::cout << sender.send("hello, world").to_string() << '\n';

    auto receiver = connection.open_receiver(address);
    auto delivery = receiver.receive();
    std::cout << delivery.message().body_text().value_or("(no text)") << '\n';
    delivery.accept();

    connection.close();
} catch (std::exception const& e) {
    std::cerr << "hello: " << e.what() << '\n';
    return 1;
}
