// What every user does in the first hour, against a real broker: send, receive, every outcome,
// credit, and the usual mistakes, whose error texts have to say what is wrong and where. Written
// for Broker-J; ports as its script prints.
#include <sluice/client/client.hpp>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <random>
#include <stdexcept>

namespace {

using namespace std::chrono_literals;
namespace client = sluice::client;

void require(bool holds, std::string const& text)
{
    if (!holds)
        throw std::runtime_error(text);
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

/// `call` has to fail with `code` (none: with any), and with a text that has all of `parts`.
template <class Call>
void fails(sluice::error code, std::vector<std::string> const& parts, Call call)
{
    try {
        call();
    } catch (boost::system::system_error const& e) {
        require(code == sluice::error::none || e.code() == sluice::make_error_code(code),
                fmt::format("failed otherwise: {} ({})", e.what(), e.code().message()));
        for (auto const& part : parts)
            require(contains(e.what(), part), fmt::format("no '{}' in: {}", part, e.what()));
        fmt::print("       says: {}\n", e.what());
        return;
    }
    throw std::runtime_error("it did not fail");
}

class checks {
public:
    template <class Body>
    void operator()(std::string_view name, Body body)
    {
        try {
            body();
            fmt::print("  ok   {}\n", name);
        } catch (std::exception const& e) {
            fmt::print("FAILED {}: {}\n", name, e.what());
            ++failed;
        }
        std::fflush(stdout);
    }
    int failed = 0;
};

std::string fresh_address()
{
    return fmt::format("test.{:08x}{:08x}", std::random_device{}(), std::random_device{}());
}

std::string text_of(client::delivery const& d)
{
    return d.message().body_text().value_or("(no text)");
}

std::uint32_t delivery_count_of(client::delivery const& d)
{
    return d.message().header.delivery_count.value_or(0);
}

void nothing_comes(client::receiver& r)
{
    try {
        auto const d = r.receive(300ms);
        require(false, "a message came: " + text_of(d));
    } catch (boost::system::system_error const& e) {
        require(e.code() == sluice::make_error_code(sluice::error::timed_out), e.what());
    }
}

void round_trip(client::session& s)
{
    auto const address = fresh_address();
    auto sender = s.open_sender(address);
    auto receiver = s.open_receiver(address);
    sluice::message m{"hello"};
    m.header.durable = false;
    m.properties.subject = "greeting";
    m.properties.message_id = sluice::value{"id-1"};
    m.application_properties["n"] = 5;
    require(sender.send(m).accepted(), "not accepted");
    auto d = receiver.receive(10s);
    auto const got = d.message();
    require(got.body == m.body, "another body");
    require(got.properties == m.properties, "other properties");
    require(got.application_properties == m.application_properties, "other application properties");
    d.accept();
    client::send_options presettled;
    presettled.settled = true;
    sender.send("presettled", presettled);
    auto second = receiver.receive(10s);
    require(text_of(second) == "presettled", "another message");
    second.accept();
    require(sender.try_send("tried").accepted(), "not accepted");
    receiver.receive(10s).accept();
    nothing_comes(receiver);
}

void outcomes(client::session& s)
{
    auto const address = fresh_address();
    auto sender = s.open_sender(address);
    auto receiver = s.open_receiver(address);
    sender.send("released");
    auto d = receiver.receive(10s);
    d.release();
    d = receiver.receive(10s);
    require(text_of(d) == "released", "the released message did not come back");
    auto const before = delivery_count_of(d);
    d.modify({.delivery_failed = true});
    d = receiver.receive(10s);
    require(text_of(d) == "released", "the modified message did not come back");
    require(delivery_count_of(d) == before + 1, "delivery-count did not rise by one");
    d.reject({.condition = sluice::condition::not_allowed, .description = "by the test"});
    fails(sluice::error::already_settled, {}, [&] { d.accept(); });
    d = receiver.receive(10s);  // a queue of Broker-J without a place for rejected messages
    require(text_of(d) == "released", "another message came after the rejected one");
    d.accept();
    nothing_comes(receiver);
    sender.send("last");
    receiver.receive(10s).accept();
}

void dropped_delivery_is_released(client::session& s)
{
    auto const address = fresh_address();
    auto sender = s.open_sender(address);
    auto receiver = s.open_receiver(address);
    sender.send("dropped");
    {
        auto const d = receiver.receive(10s);
    }
    auto d = receiver.receive(10s);
    require(text_of(d) == "dropped", "it did not come back");
    d.accept();
}

void credit_by_hand(client::session& s)
{
    auto const address = fresh_address();
    auto sender = s.open_sender(address);
    client::receiver_options options;
    options.credit_window = 0;
    auto receiver = s.open_receiver(address, options);
    for (int i = 0; i < 5; ++i) sender.send(fmt::format("m{}", i));
    nothing_comes(receiver);
    receiver.add_credit(2);
    for (int i = 0; i < 2; ++i) {
        auto d = receiver.receive(10s);
        require(text_of(d) == fmt::format("m{}", i), "out of order");
        d.accept();
    }
    nothing_comes(receiver);
    receiver.add_credit(10);
    receiver.drain();
    for (int i = 2; i < 5; ++i) receiver.receive(10s).accept();
    sender.send("after the drain");
    nothing_comes(receiver);
    receiver.add_credit(1);
    receiver.receive(10s).accept();
}

void refused_links(client::session& s)
{
    auto const nowhere = fmt::format("nowhere-{:08x}", std::random_device{}());
    fails(sluice::error::link_refused, {"amqp:not-found", nowhere},
          [&] { s.open_sender(nowhere); });
    fails(sluice::error::link_refused, {"amqp:not-found", nowhere},
          [&] { s.open_receiver(nowhere); });
    round_trip(s);  // the session goes on
}

std::uint16_t closed_port()
{
    boost::asio::io_context io;
    using tcp = boost::asio::ip::tcp;
    tcp::acceptor a{io, tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0}};
    return a.local_endpoint().port();
}

void connect_errors(checks& check, client::container& c, unsigned port)
{
    auto const here = fmt::format("127.0.0.1:{}", port);
    check("a wrong password is refused, and not repeated in the text", [&] {
        fails(sluice::error::sasl_auth_failed, {"SCRAM-SHA-256", here}, [&] {
            try {
                c.connect(fmt::format("amqp://guest:hunter2@{}", here));
            } catch (boost::system::system_error const& e) {
                require(!contains(e.what(), "hunter2"), "the text holds the password");
                throw;
            }
        });
    });
    check("no credentials where the broker wants some", [&] {
        fails(sluice::error::sasl_no_common_mechanism, {"ANONYMOUS", "PLAIN", here},
              [&] { c.connect("amqp://" + here); });
    });
    check("no SASL layer where the broker wants one", [&] {
        fails(sluice::error::sasl_required, {here},
              [&] { c.connect(fmt::format("amqp://{}?sasl=none", here)); });
    });
    // Before it closes, Broker-J opens with a max-frame-size of 0, which is an error of its own.
    // [2.7.1]
    check("a virtual host that is not there", [&] {
        fails(sluice::error::none, {"amqp:not-found", "elsewhere"},
              [&] { c.connect(fmt::format("amqp://guest:guest@{}?hostname=elsewhere", here)); });
    });
    check("a port that nobody listens on", [&] {
        auto const there = fmt::format("127.0.0.1:{}", closed_port());
        fails(sluice::error::connect_failed, {there}, [&] { c.connect("amqp://" + there); });
    });
    check("a URL that cannot be read", [&] {
        fails(sluice::error::invalid_url, {"character 18", "a port"},
              [&] { c.connect("amqp://127.0.0.1:99999"); });
        fails(sluice::error::invalid_url, {"amqp://"}, [&] { c.connect("http://127.0.0.1"); });
    });
}

int run(unsigned port, unsigned anonymous_port)
{
    checks check;
    client::container container{"sluice-basics"};
    check("PLAIN: send and receive", [&] {
        auto connection = container.connect(fmt::format("amqp://guest:guest@127.0.0.1:{}", port));
        require(!connection.remote_container_id().empty(), "the peer has no name");
        auto session = connection.begin();
        round_trip(session);
        check("accepted, released, modified, rejected", [&] { outcomes(session); });
        check("a delivery dropped without an answer comes back",
              [&] { dropped_delivery_is_released(session); });
        check("credit by hand, and drain", [&] { credit_by_hand(session); });
        check("an unknown address", [&] { refused_links(session); });
        session.end();
        connection.close();
    });
    for (auto const* how : {"?sasl=anonymous", "?sasl=none", ""}) {
        check(fmt::format("the port without users, {}", *how ? how : "by default"), [&] {
            auto connection =
                container.connect(fmt::format("amqp://127.0.0.1:{}{}", anonymous_port, how));
            auto session = connection.begin();
            round_trip(session);
            connection.close();
        });
    }
    connect_errors(check, container, port);
    fmt::print("{}\n", check.failed == 0 ? "all checks passed"
                                         : fmt::format("{} checks FAILED", check.failed));
    return check.failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv)
{
    unsigned port = 0;
    unsigned anonymous_port = 0;
    CLI::App app{"Sends, receives and makes the usual mistakes against Broker-J."};
    app.add_option("--port", port, "with SASL PLAIN, guest/guest")->required();
    app.add_option("--anonymous-port", anonymous_port, "with SASL ANONYMOUS or no SASL layer")
        ->required();
    CLI11_PARSE(app, argc, argv);
    try {
        return run(port, anonymous_port);
    } catch (std::exception const& e) {
        fmt::print(stderr, "broker_basics: {}\n", e.what());
        return EXIT_FAILURE;
    }
}
