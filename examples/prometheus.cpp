// Counters of a connection and its session as a page for Prometheus, at
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

std::string page_of(client::connection const& connection, client::session const& session)
{
    std::string page;
    auto const c = connection.counters();
    counter(page, "bytes_received_total", c.bytes_received);
    counter(page, "bytes_written_total", c.bytes_written);
    counter(page, "frames_received_total", c.frames_received);
    counter(page, "frames_written_total", c.frames_written);
    auto const s = session.counters();
    counter(page, "transfers_written_total", s.transfers_written);
    counter(page, "transfers_received_total", s.transfers_received);
    counter(page, "flows_written_total", s.flows_written);
    counter(page, "flow_mismatches_total", s.flow_mismatches);
    counter(page, "reconnects_total", connection.reconnects());
    return page;
}
// [page]

/// One request after the other: enough for a collector that comes every few seconds.
void serve_one(asio::ip::tcp::acceptor& acceptor, std::string const& page)
{
    auto socket = acceptor.accept();
    asio::streambuf request{8192};
    boost::system::error_code ec;
    asio::read_until(socket, request, "\r\n\r\n", ec);
    if (!ec)
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
    client::container container;
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
    do serve_one(acceptor, page_of(connection, session));
    while (argc <= 3 || --pages > 0);
    connection.close();
} catch (std::exception const& e) {
    std::cerr << "prometheus: " << e.what() << '\n';
    return 1;
}
