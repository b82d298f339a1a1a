// What brokers offer beyond queues: a durable subscription that outlives its connection, a shared
// one, a selector, the anonymous relay, and requests with a reply address of the broker's choice.
//   broker_features amqp://user:password@host:port TOPIC QUEUE
// ActiveMQ Artemis: any topic. Broker-J: an exchange, such as amq.topic; QUEUE has to be there.
#include <sluice/client/client.hpp>
#include <sluice/client/requester.hpp>
#include <sluice/client/responder.hpp>
#include <sluice/client/source_filters.hpp>

#include <iostream>

namespace client = sluice::client;
using namespace std::chrono_literals;

namespace {

void expect(bool holds, std::string const& what)
{
    if (!holds)
        throw std::runtime_error{"not so: " + what};
    std::cout << what << '\n';
}

std::string text_of(client::delivery const& d) { return d.message().body_text().value_or(""); }

void durable(client::container& container, std::string const& url, std::string const& topic)
{
    // [durable]
    auto const options = client::subscribe({.name = "audit", .durable = true});
    {
        auto const connection = container.connect(url);
        auto const receiver = connection.open_receiver(topic, options);
        connection.close();  // the subscription stays
    }
    auto const connection = container.connect(url);
    connection.open_sender(topic).send("while nobody listened").or_throw();
    auto const receiver = connection.open_receiver(topic, options);
    auto const kept = receiver.receive(10s);
    kept.accept();
    receiver.close();  // this ends it
    // [durable]
    expect(text_of(kept) == "while nobody listened", "a durable subscription keeps messages");
    connection.close();
}

void shared(client::session const& session, std::string const& topic)
{
    // [shared]
    client::subscription workers{.name = "workers", .shared = true};
    auto const first = session.open_receiver(topic, client::subscribe(workers));
    workers.receiver_number = 1;
    auto const second = session.open_receiver(topic, client::subscribe(workers));
    // [shared]
    auto const sender = session.open_sender(topic);
    constexpr int count = 10;
    for (int i = 0; i < count; ++i) sender.send(std::to_string(i)).or_throw();
    auto left = count;
    auto const until = std::chrono::steady_clock::now() + 10s;
    while (left > 0 && std::chrono::steady_clock::now() < until)
        for (auto const& r : {first, second})
            if (auto const d = r.try_receive()) {
                d.accept();
                --left;
            }
    expect(left == 0 && !first.try_receive() && !second.try_receive(),
           "receivers of a shared subscription have each message once");
    first.close();
    second.close();
}

void selected(client::session const& session, std::string const& queue)
{
    auto const sender = session.open_sender(queue);
    for (auto const* const colour : {"red", "green", "red"}) {
        sluice::message m{colour};
        m.application_properties["colour"] = colour;
        sender.send(m).or_throw();
    }
    // [selector]
    client::receiver_options options;
    options.source.filter = client::source_filters{.selector = "colour = 'green'"}.encoded();
    auto const receiver = session.open_receiver(queue, options);
    // [selector]
    auto const d = receiver.receive(10s);
    d.accept();
    expect(text_of(d) == "green", "a selector chooses");
    receiver.close();
    auto const rest = session.open_receiver(queue);
    for (int i = 0; i < 2; ++i) rest.receive(10s).accept();
    rest.close();
}

void relayed(client::session const& session, std::string const& queue)
{
    sluice::message m{"by relay"};
    m.properties.to = queue;
    session.open_sender("").send(m).or_throw();
    auto const receiver = session.open_receiver(queue);
    auto const d = receiver.receive(10s);
    d.accept();
    expect(text_of(d) == "by relay", "the anonymous relay delivers");
    receiver.close();
}

void requested(client::session const& session, std::string const& queue)
{
    auto const serving = client::responder::open(session, queue, [](sluice::message const& asked) {
        return sluice::message{"re: " + asked.body_text().value_or("")};
    });
    auto const service = client::requester::open(session, queue);
    expect(service.request(sluice::message{"x"}, 10s).body_text() == "re: x",
           "a request has its reply");
    service.close();
    serving.close();
}

}  // namespace

int main(int argc, char** argv)
try {
    if (argc != 4) {
        std::cerr << "usage: broker_features URL TOPIC QUEUE\n";
        return 2;
    }
    client::container container{"broker_features"};
    durable(container, argv[1], argv[2]);
    auto const connection = container.connect(argv[1]);
    auto const session = connection.begin();
    shared(session, argv[2]);
    selected(session, argv[3]);
    relayed(session, argv[3]);
    requested(session, argv[3]);
    connection.close();
} catch (std::exception const& e) {
    std::cerr << "broker_features: " << e.what() << '\n';
    return 1;
}
