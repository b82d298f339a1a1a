// What the guides in docs/ show, piece by piece, run against a node of its own: guides
#include <sluice/client/client.hpp>
#include <sluice/client/requester.hpp>
#include <sluice/client/responder.hpp>
#include <sluice/client/source_filters.hpp>
#include <sluice/client/trace_context.hpp>
#include <sluice/dispatch/transacted_session.hpp>
#include <sluice/node/node.hpp>
#include <sluice/test/fake_peer.hpp>
#include <sluice/test/memory_network.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <fstream>
#include <future>
#include <iostream>

namespace client = sluice::client;
namespace dispatch = sluice::dispatch;
using namespace std::chrono_literals;

namespace {

void expect(bool holds, char const* what)
{
    if (!holds)
        throw std::runtime_error{std::string{"not so: "} + what};
}

void send_one(client::session const& session)
{
    // [send]
    auto sender = session.open_sender("orders");
    sluice::message m{"two teas"};
    m.header.durable = true;
    m.properties.subject = "tea";
    m.application_properties["table"] = 7;
    client::outcome const outcome = sender.send(m);
    if (!outcome.accepted())
        std::cerr << "not taken: " << outcome.to_string() << '\n';
    // [send]
    expect(outcome.accepted(), "accepted");
}

void send_many(client::session const& session)
{
    auto const sender = session.open_sender("orders");
    // [pipeline]
    std::vector<std::future<client::outcome>> outcomes;
    for (int i = 0; i < 1000; ++i)
        outcomes.push_back(
            sender.async_send("order " + std::to_string(i), boost::asio::use_future));
    for (auto& o : outcomes) o.get().or_throw();  // throws unless accepted
    // [pipeline]
    // [presettled]
    sender.send("may get lost", {.settled = true});
    // [presettled]
    // [try send]
    try {
        sender.try_send("now or never");
    } catch (boost::system::system_error const& e) {
        if (e.code() != sluice::error::no_credit)
            throw;
    }
    // [try send]
}

void receive(client::session const& session)
{
    // [receive]
    auto receiver = session.open_receiver("orders");
    auto delivery = receiver.receive(10s);
    auto const m = delivery.message();
    std::cout << m.body_text().value_or("(no text)") << '\n';
    delivery.accept();  // or release(), reject(why), modify(how)
    // [receive]
    receiver.close();
}

void credit_by_hand(client::session const& session)
{
    // [credit]
    client::receiver_options options;
    options.credit_window = 0;  // nothing comes until credit is given
    auto receiver = session.open_receiver("orders", options);
    receiver.add_credit(10);
    auto const first = receiver.receive(10s);
    receiver.drain();  // what has not come by now does not come any more
    while (auto const d = receiver.try_receive()) d.accept();
    // [credit]
    first.accept();
    receiver.close();
}

void handler(client::session const& session)
{
    // [handler]
    std::promise<void> done;
    auto receiver = session.open_receiver("orders");
    receiver.on_message([&](client::delivery d) {
        d.accept();
        done.set_value();
        receiver.on_message({});
    });
    done.get_future().wait();
    // [handler]
    receiver.close();
}

void deadline(client::session const& session)
{
    auto const receiver = session.open_receiver("empty");
    // [deadline]
    try {
        auto const d = receiver.receive(20ms);
        d.accept();
    } catch (boost::system::system_error const& e) {
        if (e.code() != sluice::error::timed_out)
            throw;
        std::cout << "nothing within 20 ms\n";
    }
    // [deadline]
}

void cancel(client::session const& session)
{
    auto const receiver = session.open_receiver("empty");
    // [cancel]
    std::promise<client::error_code> ended;
    boost::asio::cancellation_signal stop;
    receiver.async_receive(boost::asio::bind_cancellation_slot(
        stop.slot(), [&](client::error_code code, client::delivery d) {
            if (!code)
                d.accept();
            ended.set_value(code);  // error::operation_aborted: no delivery was lost
        }));
    stop.emit(boost::asio::cancellation_type::terminal);
    // [cancel]
    expect(ended.get_future().get() == sluice::error::operation_aborted, "cancelled");
}

void recovering(client::container& container, std::string const& url)
{
    // [recovery]
    client::connection_options options;
    options.reconnect =
        client::reconnect_options{.urls = {"amqp://standby.example:5672"}, .give_up_after = 5min};
    auto connection = container.connect(url, options);
    auto const changes = connection.state_changes();
    // ... elsewhere:
    while (auto const change = changes.next(20ms))
        if (change->state == client::connection_state::recovering)
            std::cerr << "away: " << change->why->text << '\n';
    // [recovery]
    connection.close();
}

void transaction(client::session const& session)
{
    // [transaction]
    auto const done = session.open_sender("done");
    auto const receiver = session.open_receiver("orders");
    auto const delivery = receiver.receive(10s);

    auto tx = session.begin_transaction();
    done.send(delivery.message(), tx.posting());
    tx.accept(delivery);
    tx.commit();  // both or neither; without it both are undone
    // [transaction]
    receiver.close();
}

void dispatched(client::session const& session)
{
    session.open_sender("orders").send("one more").or_throw();
    // [transacted session]
    auto const invoices = session.open_sender("invoices");
    client::receiver_options from;
    from.credit_window = 0;  // the dispatcher gives the credit
    dispatch::transacted_session work{session};
    auto const orders = work.incoming().register_consumer(session.open_receiver("orders", from));
    work.incoming().start();

    auto const order = orders.receive();
    invoices.send("invoice for " + order.message().body_text().value_or("?"), work.posting());
    work.commit();  // or work.rollback()
    // [transacted session]
    work.incoming().close();
}

void requests(client::session const& session)
{
    // [responder]
    auto const serving = client::responder::open(session, "prices", [](sluice::message const& m) {
        // An exception rejects the request.
        return sluice::message{m.body_text().value_or("") == "tea" ? 3 : 5};
    });
    // [responder]
    // [requester]
    auto const prices = client::requester::open(session, "prices");
    sluice::message const reply = prices.request(sluice::message{"tea"}, 5s);
    // [requester]
    expect(*reply.body_value() == sluice::value{3}, "the price of tea");
}

void relay(client::session const& session)
{
    // [relay]
    auto const relay = session.open_sender("");  // no target: each message says where it goes
    sluice::message m{"hello"};
    m.properties.to = "orders";
    relay.send(m).or_throw();
    // [relay]
}

// [server]
struct storage {
    std::mutex mutex;
    std::vector<std::string> lines;
};

client::listener serve(client::container& container, storage& kept)
{
    client::server_handlers handlers;
    handlers.on_link = [&kept](client::link_request asked) {
        if (!asked.peer_sends() || asked.target().address != "log")
            return asked.refuse({.condition = sluice::condition::not_found,
                                 .description = "there is only a target 'log' here"});
        auto const receiver = asked.accept_receiver();
        // The handler holds the receiver, and so keeps it open until the peer detaches.
        receiver.on_message([&kept, receiver](client::delivery d) {
            std::lock_guard const lock{kept.mutex};
            kept.lines.push_back(d.message().body_text().value_or(""));
            d.accept();
        });
    };
    return container.listen("127.0.0.1", 0, {}, handlers);
}
// [server]

void server(client::container& container)
{
    storage kept;
    auto const listener = serve(container, kept);
    auto const connection = container.connect("amqp://" + listener.address());
    connection.open_sender("log").send("a line").or_throw();
    connection.close();
    listener.stop();
    expect(kept.lines.size() == 1, "the server has the line");
}

// [traced send]
/// A message that belongs to a span goes out with its context.
void traced_send(client::sender const& to, sluice::message m, client::trace_context const& span)
{
    span.inject(m);
    to.send(m).or_throw();
}
// [traced send]

void traced(client::session const& session)
{
    auto const context =
        client::trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    traced_send(session.open_sender("traced"), sluice::message{"x"}, *context);
    auto const receiver = session.open_receiver("traced");
    auto const delivery = receiver.receive(10s);
    // [traced receive]
    auto const parent = client::trace_context::extract(delivery.message());
    if (parent && parent->sampled)
        std::cout << "goes on: " << parent->traceparent() << '\n';
    // [traced receive]
    expect(parent == context, "the context has come through");
    delivery.accept();
}

void embedded(client::container& container)
{
    // [embed]
    sluice::node::node node;  // or node{options}: sluice/node/options.hpp
    node.declare("orders");
    auto const port = node.listen("127.0.0.1", 0).value();
    auto const connection = container.connect("amqp://127.0.0.1:" + std::to_string(port));
    // [embed]
    expect(node.read("orders").has_value(), "the queue is there");
    connection.close();
}

void in_memory(client::container& container)
{
    // [in memory]
    sluice::test::memory_network const network;
    client::server_handlers handlers;
    handlers.on_link = [](client::link_request asked) {
        auto const receiver = asked.accept_receiver();
        receiver.on_message([receiver](client::delivery d) { d.accept(); });
    };
    auto const listener = container.listen("memory", 0, network.server(), handlers);
    auto const connection =
        container.connect("amqp://memory:" + std::to_string(listener.port()), network.client());
    auto const outcome = connection.open_sender("q").send("hello");  // accepted
    // [in memory]
    expect(outcome.accepted(), "accepted in memory");
    connection.close();
    listener.stop();
}

void played(client::container& container)
{
    client::error_code told;
    // [played]
    sluice::test::memory_network const network;
    sluice::test::fake_peer peer{network};
    auto connecting = std::async(std::launch::async,
                                 [&] { return container.connect(peer.url(), network.client()); });
    peer.open_connection();
    auto const connection = connecting.get();
    auto sending =
        std::async(std::launch::async, [&] { return connection.open_sender("q").send("hello"); });
    peer.begin_session();
    peer.attach_link();
    peer.grant(1, 0);
    peer.expect<sluice::transfer>();
    peer.shut();  // and no outcome
    try {
        sending.get();
    } catch (boost::system::system_error const& e) {
        told = e.code();  // error::outcome_unknown
    }
    // [played]
    expect(told == sluice::error::outcome_unknown, "nobody knows the outcome");
}

void audited(client::container& container, std::string const& url)
{
    std::ofstream log{"/dev/null"};
    // [audit]
    sluice::client::connection_options o;
    o.audit = sluice::client::audit_mode::fatal;  // off, on, fatal
    o.on_finding = [&log](sluice::audit::finding const& f) { log << f.text() << '\n'; };
    auto connection = container.connect(url, o);
    // [audit]
    connection.close();
}

}  // namespace

int main()
try {
    sluice::node::node node;
    auto const url = "amqp://127.0.0.1:" + std::to_string(node.listen("127.0.0.1", 0).value());
    client::container container;
    auto const connection = container.connect(url);
    auto const session = connection.begin();
    send_one(session);
    send_many(session);
    receive(session);
    credit_by_hand(session);
    handler(session);
    deadline(session);
    cancel(session);
    recovering(container, url);
    transaction(session);
    dispatched(connection.begin());
    requests(session);
    relay(session);
    server(container);
    traced(session);
    audited(container, url);
    embedded(container);
    in_memory(container);
    played(container);
    connection.close();
    std::cout << "all guides hold\n";
} catch (std::exception const& e) {
    std::cerr << "guides: " << e.what() << '\n';
    return 1;
}
