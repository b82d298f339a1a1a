// The idioms of docs/guides/proton.md as they are here; examples/proton/idioms.cpp has Proton's.
//   from_proton HOST:PORT
#include <sluice/client/client.hpp>
#include <sluice/client/requester.hpp>

#include <iostream>

namespace client = sluice::client;

namespace {

// [send and receive]
void hello(std::string const& url)
{
    client::container container;
    auto connection = container.connect(url);
    connection.open_sender("q").send("hello");
    auto d = connection.open_receiver("q").receive();
    std::cout << d.message().body_text().value_or("") << '\n';
    d.accept();
    connection.close();
}
// [send and receive]

// [outcome]
void outcomes(client::sender const& sender, int& accepted)
{
    auto const outcome = sender.send("x");
    if (outcome.accepted())
        ++accepted;
    else
        std::cerr << outcome.to_string() << '\n';
}
// [outcome]

// [credit]
client::receiver by_hand(client::connection const& c)
{
    client::receiver_options options;
    options.credit_window = 0;
    auto r = c.open_receiver("q", options);
    r.add_credit(10);
    return r;
}
// [credit]

// [other thread]
void send_from_elsewhere(client::sender const& s, sluice::message const& m)
{
    s.send(m);  // from any thread
}
// [other thread]

// [reconnect]
client::connection_options reconnecting()
{
    client::connection_options o;
    o.reconnect = client::reconnect_options{.max_attempts = 10};
    return o;
}
// [reconnect]

// [reply address]
sluice::message ask(client::session const& session, sluice::message question)
{
    auto const service = client::requester::open(session, "q");
    return service.request(std::move(question));
}
// [reply address]

}  // namespace

int main(int argc, char** argv)
try {
    std::ignore = &outcomes;
    std::ignore = &by_hand;
    std::ignore = &send_from_elsewhere;
    std::ignore = &reconnecting;
    std::ignore = &ask;
    if (argc != 2) {
        std::cerr << "usage: from_proton HOST:PORT\n";
        return 2;
    }
    hello("amqp://" + std::string{argv[1]});
} catch (std::exception const& e) {
    std::cerr << "from_proton: " << e.what() << '\n';
    return 1;
}
