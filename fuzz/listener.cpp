// Any bytes over a socket, in either role: to a node and a listener as a whole, threads and all,
// and from a server to a client as a whole. Nothing crashes, and every connection comes to its end.
#include <sluice/client/client.hpp>
#include <sluice/client/listener.hpp>
#include <sluice/node/node.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

using namespace sluice;

void check(bool ok, char const* what)
{
    if (ok)
        return;
    std::fprintf(stderr, "listener: %s\n", what);
    std::abort();
}

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(port);
    return a;
}

/// libFuzzer's alarm, every few seconds, is no answer.
template <class F>
auto uninterrupted(F call)
{
    while (true) {
        auto const result = call();
        if (result >= 0 || errno != EINTR)
            return result;
    }
}

/// Says `octets` and that there are no more, reads until the other side has ended too.
void converse(int socket, bytes_view octets)
{
    while (!octets.empty()) {
        auto const n = uninterrupted(
            [&] { return ::send(socket, octets.data(), octets.size(), MSG_NOSIGNAL); });
        if (n <= 0)
            break;
        octets = octets.subspan(static_cast<std::size_t>(n));
    }
    ::shutdown(socket, SHUT_WR);
    char buffer[65536];
    while (true) {
        pollfd p{.fd = socket, .events = POLLIN, .revents = 0};
        check(uninterrupted([&] { return ::poll(&p, 1, 60'000); }) == 1,
              "a connection does not come to its end");
        if (uninterrupted([&] { return ::recv(socket, buffer, sizeof buffer, 0); }) <= 0)
            break;
    }
    linger const hard{.l_onoff = 1, .l_linger = 0};  // so that ports come back at once
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    ::close(socket);
}

void speak_to(std::uint16_t port, bytes_view octets)
{
    auto const s = ::socket(AF_INET, SOCK_STREAM, 0);
    auto const a = loopback(port);
    // On loopback it is done at once, or refused.
    if (::connect(s, reinterpret_cast<sockaddr const*>(&a), sizeof a) != 0) {
        ::close(s);
        return;
    }
    converse(s, octets);
}

node::node& some_node()
{
    static node::node n{[] {
        node::node_options o;
        o.queues_max = 100;
        o.suspended_max = 10;
        o.stored_max = 1u << 20;
        o.transaction_timeout = node::milliseconds{100};
        return o;
    }()};
    return n;
}

client::container& some_container()
{
    static client::container c{"fuzz"};
    return c;
}

std::uint16_t node_port()
{
    static auto const port = some_node().listen("127.0.0.1", 0).value();
    return port;
}

/// One that takes every session and link and holds what comes.
std::uint16_t listener_port()
{
    static auto const listener =
        some_container().listen("127.0.0.1", 0, {}, {.on_link = [](client::link_request r) {
                                    if (r.name().size() % 5 == 4)
                                        return;  // without an answer
                                    if (r.peer_sends())
                                        std::ignore = r.accept_receiver();
                                    else
                                        std::ignore = r.accept_sender();
                                }});
    return listener.port();
}

/// The client's side: a server that says these octets.
void answer_client(bytes_view octets, bool sasl)
{
    static auto const server = [] {
        auto const s = ::socket(AF_INET, SOCK_STREAM, 0);
        auto const a = loopback(0);
        check(::bind(s, reinterpret_cast<sockaddr const*>(&a), sizeof a) == 0, "cannot bind");
        check(::listen(s, 16) == 0, "cannot listen");
        return s;
    }();
    sockaddr_in a{};
    socklen_t size = sizeof a;
    ::getsockname(server, reinterpret_cast<sockaddr*>(&a), &size);
    auto const url = "amqp://user:pencil@127.0.0.1:" + std::to_string(ntohs(a.sin_port))
                     + (sasl ? "" : "?sasl=none");
    std::thread user{[&] {
        try {
            auto const c = some_container().connect(url);
            auto const r = c.open_receiver("q");
            std::ignore = r.receive();
        } catch (boost::system::system_error const&) {
        }
    }};
    auto const s = uninterrupted([&] { return ::accept(server, nullptr, nullptr); });
    converse(s, octets);
    user.join();
}

}  // namespace

/// What OpenSSL makes for itself in threads that are still there at the end.
extern "C" char const* __lsan_default_suppressions();
extern "C" char const* __lsan_default_suppressions() { return "leak:libcrypto"; }

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    if (size < 1)
        return 0;
    auto const flags = data[0];
    bytes_view const in{reinterpret_cast<std::byte const*>(data + 1), size - 1};
    bytes octets;
    auto const sasl = (flags & 4) != 0;
    if ((flags & 8) == 0) {  // straight past the header
        auto const header = protocol_header(sasl ? protocol_id::sasl : protocol_id::amqp);
        octets.assign(header.begin(), header.end());
    }
    octets.insert(octets.end(), in.begin(), in.end());
    switch (flags & 3) {
    case 0: speak_to(node_port(), octets); break;
    case 1: speak_to(listener_port(), octets); break;
    default: answer_client(octets, sasl);
    }
    return 0;
}
