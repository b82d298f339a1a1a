// The README's first program: to be compiled, and run by hand where a broker listens on 5672.
// [all]
#include <sluice/client/client.hpp>

#include <iostream>

int main()
{
    sluice::client::container container;
    auto connection = container.connect("amqp://guest:guest@localhost");
    connection.open_sender("q").send("hello, world");
    auto delivery = connection.open_receiver("q").receive();
    std::cout << delivery.message().body_text().value_or("(no text)") << '\n';
    delivery.accept();
    connection.close();
}
// [all]
