// The idioms of docs/guides/proton.md as Proton C++ has them; examples/from_proton.cpp has ours.
#include <proton/connection.hpp>
#include <proton/connection_options.hpp>
#include <proton/container.hpp>
#include <proton/delivery.hpp>
#include <proton/error_condition.hpp>
#include <proton/message.hpp>
#include <proton/messaging_handler.hpp>
#include <proton/receiver.hpp>
#include <proton/receiver_options.hpp>
#include <proton/reconnect_options.hpp>
#include <proton/sender.hpp>
#include <proton/source_options.hpp>
#include <proton/tracker.hpp>
#include <proton/transport.hpp>
#include <proton/work_queue.hpp>

#include <iostream>

namespace {

// [send and receive]
struct hello : proton::messaging_handler {
    std::string url;
    explicit hello(std::string u) : url{std::move(u)} {}

    void on_container_start(proton::container& c) override { c.connect(url); }
    void on_connection_open(proton::connection& c) override
    {
        c.open_sender("q");
        c.open_receiver("q");
    }
    void on_sendable(proton::sender& s) override
    {
        s.send(proton::message{"hello"});
        s.close();
    }
    void on_message(proton::delivery& d, proton::message& m) override
    {
        std::cout << m.body() << '\n';
        d.accept();
        d.connection().close();
    }
    void on_transport_error(proton::transport& t) override
    {
        std::cerr << t.error().what() << '\n';
    }
};
// [send and receive]

// [outcome]
struct outcomes : proton::messaging_handler {
    void on_tracker_accept(proton::tracker&) override { ++accepted; }
    void on_tracker_reject(proton::tracker& t) override { std::cerr << t.state() << '\n'; }
    int accepted = 0;
};
// [outcome]

// [credit]
proton::receiver by_hand(proton::connection& c)
{
    auto r = c.open_receiver("q", proton::receiver_options{}.credit_window(0));
    r.add_credit(10);
    return r;
}
// [credit]

// [other thread]
void send_from_elsewhere(proton::work_queue& queue, proton::sender s, proton::message m)
{
    queue.add([s, m]() mutable { s.send(m); });
}
// [other thread]

// [reconnect]
proton::connection_options reconnecting()
{
    return proton::connection_options{}.reconnect(
        proton::reconnect_options{}.delay(proton::duration{100}).max_attempts(10));
}
// [reconnect]

// [reply address]
proton::receiver reply_link(proton::connection& c)
{
    return c.open_receiver(
        "", proton::receiver_options{}.source(proton::source_options{}.dynamic(true)));
}
// [reply address]

}  // namespace

int main(int argc, char** argv)
{
    std::ignore = &by_hand;
    std::ignore = &send_from_elsewhere;
    std::ignore = &reconnecting;
    std::ignore = &reply_link;
    std::ignore = sizeof(outcomes);
    if (argc != 2) {
        std::cerr << "usage: idioms HOST:PORT\n";
        return 2;
    }
    hello h{argv[1]};
    proton::container{h}.run();
}
