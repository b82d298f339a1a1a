// Counters of a connection, and how long its sends take, as a page for Prometheus, at
// http://127.0.0.1:PORT/metrics:
//   prometheus [amqp://user:password@host:port] [port] [pages]
// Without a URL it talks to a node of its own; it ends after so many pages, if that is given.
#include <sluice/client/client.hpp>
#include <sluice/node/node.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>

#include <atomic>
#include <iostream>
#include <optional>

namespace asio = boost::asio;
namespace client = sluice::client;

namespace {

// [page]
void counter(std::string& page, std::string const& name, std::uint64_t value)
{
    page +=
        "# TYPE sluice_" + name + " counter\nsluice_" + name + ' ' + std::to_string(value) + '\n';
}

std::string page_of(client::connection const& connection)
{
    std::string page;
    auto const c = connection.counters();
    counter(page, "bytes_received_total", c.bytes_received);
    counter(page, "bytes_written_total", c.bytes_written);
    counter(page, "transfers_written_total", c.sessions.transfers_written);
    counter(page, "transfers_received_total", c.sessions.transfers_received);
    counter(page, "flows_written_total", c.sessions.flows_written);
    counter(page, "flows_deferred_total", c.sessions.flows_deferred);
    counter(page, "flow_mismatches_total", c.sessions.flow_mismatches);
    counter(page, "messages_sent_total", c.sent.messages());
    counter(page, "message_octets_sent_total", c.sent.octets);
    counter(page, "sends_accepted_total", c.sent.accepted);
    counter(page, "sends_rejected_total", c.sent.rejected);
    counter(page, "sends_failed_total", c.sent.failed);
    counter(page, "messages_received_total", c.received.messages);
    counter(page, "message_octets_received_total", c.received.octets);
    counter(page, "reconnects_total", c.reconnects);
    return page;
}
// [page]

// [observer]
/// How long sends take: sum and count, as a summary of Prometheus has them.
class send_times final : public client::observer {
public:
    void on_send_completed(client::observed_link const&, client::send_result const& what,
                           std::chrono::nanoseconds latency) override
    {
        if (what.code)
            return;
        auto const us = std::chrono::duration_cast<std::chrono::microseconds>(latency).count();
        sum_us_ += static_cast<std::uint64_t>(us);
        ++count_;
    }
    void add_to(std::string& page) const
    {
        counter(page, "send_microseconds_sum", sum_us_);
        counter(page, "send_microseconds_count", count_);
    }

private:
    std::atomic<std::uint64_t> sum_us_{0};  // told on one thread, read on another
    std::atomic<std::uint64_t> count_{0};
};
// [observer]

/// One request after the other: enough for a collector that comes every few seconds.
template <class MakePage>
void serve_one(asio::ip::tcp::acceptor& acceptor, MakePage make_page)
{
    auto socket = acceptor.accept();
    asio::streambuf request{8192};
    boost::system::error_code ec;
    asio::read_until(socket, request, "\r\n\r\n", ec);
    if (ec)
        return;
    std::string const page = make_page();
    asio::write(socket,
                asio::buffer("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                             "Connection: close\r\nContent-Length: "
                             + std::to_string(page.size()) + "\r\n\r\n" + page),
                ec);
}

}  // namespace

int main(int argc, char** argv)
try {
    std::optional<sluice::node::node> own;
    auto url = std::string{argc > 1 ? argv[1] : ""};
    if (url.empty())
        url = "amqp://127.0.0.1:" + std::to_string(own.emplace().listen("127.0.0.1", 0).value());
    auto const times = std::make_shared<send_times>();
    client::container container{client::container_options{.observer = times}};
    auto const connection = container.connect(url);
    auto const session = connection.begin();
    session.open_sender("q").send("hello").or_throw();
    auto const receiver = session.open_receiver("q");
    receiver.receive().accept();

    auto const port = static_cast<std::uint16_t>(argc > 2 ? std::stoi(argv[2]) : 0);
    asio::io_context io;
    asio::ip::tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), port}};
    std::cout << "http://127.0.0.1:" << acceptor.local_endpoint().port() << "/metrics" << std::endl;
    auto pages = argc > 3 ? std::stoi(argv[3]) : 0;
    do {
        serve_one(acceptor, [&] {
            auto page = page_of(connection);
            times->add_to(page);
            return page;
        });
    } while (argc <= 3 || --pages > 0);
    connection.close();
} catch (std::exception const& e) {
    std::cerr << "prometheus: " << e.what() << '\n';
    return 1;
}
