// The engine in an event loop of your own: poll(2), one socket, no Boost, no thread. Sends messages
// to an address and receives them again.
//   poll_loop HOST PORT [address] [count]
#include <sluice/codec/codec.hpp>
#include <sluice/codec/message.hpp>
#include <sluice/engine/connection.hpp>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <iostream>
#include <stdexcept>

namespace engine = sluice::engine;

namespace {

// [time]
engine::time_point now()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
}
// [time]

class descriptor {
public:
    descriptor(char const* host, char const* port)
    {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        addrinfo* found = nullptr;
        if (auto const failed = ::getaddrinfo(host, port, &hints, &found))
            throw std::runtime_error{std::string{host} + ": " + ::gai_strerror(failed)};
        for (auto* a = found; a && fd_ < 0; a = a->ai_next) {
            fd_ = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
            if (fd_ >= 0 && ::connect(fd_, a->ai_addr, a->ai_addrlen) != 0) {
                ::close(fd_);
                fd_ = -1;
            }
        }
        ::freeaddrinfo(found);
        if (fd_ < 0)
            throw std::runtime_error{"cannot connect to " + std::string{host} + ":" + port};
    }
    ~descriptor() { ::close(fd_); }
    descriptor(descriptor const&) = delete;
    descriptor& operator=(descriptor const&) = delete;
    int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

template <class Terminus>
sluice::bytes terminus(std::string_view address)
{
    sluice::bytes name;
    sluice::append(name, address);
    sluice::bytes out;
    sluice::append(out, Terminus{.address = {name}});
    return out;
}

/// What the program does with the connection: events in, commands out.
class work {
public:
    work(engine::connection& c, std::string address, int count)
        : connection_{c}, address_{std::move(address)}, count_{count}
    {
    }

    // [events]
    void handle(engine::event const& e)
    {
        switch (e.kind) {
        case engine::event_kind::sasl_mechanisms:
            check(connection_.sasl_init("ANONYMOUS", std::nullopt));
            break;
        case engine::event_kind::connection_opened: attach(); break;
        case engine::event_kind::credit: send_some(); break;
        case engine::event_kind::outcome: settled_ += e.final ? 1 : 0; break;
        case engine::event_kind::delivery: receive(*e.incoming); break;
        case engine::event_kind::connection_closed:
            if (e.code)
                throw std::runtime_error{e.code.message() + " " + connection_.error().condition
                                         + " " + connection_.error().description};
            break;
        default: break;
        }
        if (received_ == count_ && settled_ == count_)
            std::ignore = connection_.close();
    }
    // [events]

private:
    static void check(std::error_code failed)
    {
        if (failed)
            throw std::system_error{failed};
    }

    void attach()
    {
        auto* const session = connection_.begin().value();
        sender_ = session
                      ->attach_sender({.name = "out",
                                       .source = terminus<sluice::source>(address_),
                                       .target = terminus<sluice::target>(address_)})
                      .value();
        receiver_ = session
                        ->attach_receiver({.name = "in",
                                           .source = terminus<sluice::source>(address_),
                                           .target = terminus<sluice::target>(address_),
                                           .credit_window = 100})
                        .value();
    }

    // [send]
    void send_some()
    {
        while (sent_ < count_ && sender_->free_credit() > 0) {
            // The engine does not copy: the octets stay here until the outcome.
            auto& octets = bodies_.emplace_back();
            encode(sluice::message{"message " + std::to_string(sent_)}, octets);
            check(sender_->send(engine::payload{octets}).error());
            ++sent_;
        }
    }
    // [send]

    void receive(engine::incoming_delivery& d)
    {
        sluice::message m;
        check(decode(d.body(), m));
        if (received_++ == 0)
            std::cout << "first: " << m.body_text().value_or("") << '\n';
        check(receiver_->settle(d));
    }

    engine::connection& connection_;
    std::string address_;
    int count_;
    engine::sender* sender_ = nullptr;
    engine::receiver* receiver_ = nullptr;
    std::deque<sluice::bytes> bodies_;
    int sent_ = 0;
    int settled_ = 0;
    int received_ = 0;
};

// [loop]
/// Until the connection is closed: events, octets out, then wait for the socket or the time.
void run(engine::connection& c, int fd, work& w)
{
    std::vector<std::byte> in(64 * 1024);
    std::vector<std::byte> out(c.options().outgoing_frame_max);
    sluice::bytes_view unsent{};
    while (!c.output_done() || !unsent.empty()) {
        auto const wake_at = c.tick(now());
        for (engine::event e; c.poll_event(e);) w.handle(e);

        while (true) {
            if (unsent.empty())
                unsent = {out.data(), c.write(out, now())};
            if (unsent.empty())
                break;
            auto const n = ::send(fd, unsent.data(), unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0)
                break;  // the socket is full, or gone, which reading will tell
            unsent = unsent.subspan(static_cast<std::size_t>(n));
        }
        if (c.output_done() && unsent.empty())
            break;

        auto const never = wake_at == engine::time_point::max();
        auto const left = never ? -1 : std::clamp<long>((wake_at - now()).count(), 0, 60'000);
        pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
        if (!unsent.empty())
            p.events = static_cast<short>(p.events | POLLOUT);
        ::poll(&p, 1, static_cast<int>(left));

        auto const n = ::recv(fd, in.data(), in.size(), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            c.transport_closed();
        for (sluice::bytes_view got{in.data(), static_cast<std::size_t>(std::max(n, ssize_t{0}))};
             !got.empty();) {
            got = got.subspan(c.receive(got, now()));
            for (engine::event e; c.poll_event(e);) w.handle(e);  // it pauses while many wait
        }
    }
}
// [loop]

}  // namespace

int main(int argc, char** argv)
try {
    if (argc < 3) {
        std::cerr << "usage: poll_loop HOST PORT [address] [count]\n";
        return 2;
    }
    auto const count = argc > 4 ? std::stoi(argv[4]) : 100;
    descriptor const socket{argv[1], argv[2]};
    engine::connection connection{
        {.container_id = "poll_loop", .hostname = argv[1], .sasl = engine::sasl_mode::required}};
    work w{connection, argc > 3 ? argv[3] : "q", count};
    std::ignore = connection.open();
    run(connection, socket.get(), w);
    std::cout << count << " sent, accepted and received\n";
} catch (std::exception const& e) {
    std::cerr << "poll_loop: " << e.what() << '\n';
    return 1;
}
