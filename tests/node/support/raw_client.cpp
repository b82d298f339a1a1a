// A blocking socket, the usual conversations, and the counts that exact flows need.
#include "raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sluice::test {
namespace {

void check(bool good, char const* what)
{
    if (!good)
        throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
}

}  // namespace

raw_client::raw_client(std::uint16_t port, int receive_buffer)
{
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(socket_ >= 0, "socket");
    if (receive_buffer > 0)
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::connect(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "connect");
    int const on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

raw_client::~raw_client() { shut(); }

// ---- out

void raw_client::flush()
{
    auto const octets = std::exchange(unsent_, {});
    if (!try_send(octets, patience_ms))
        throw std::runtime_error{"the node takes no more octets"};
}

bool raw_client::try_send(bytes_view octets, int wait_ms)
{
    while (!octets.empty()) {
        pollfd p{.fd = socket_, .events = POLLOUT, .revents = 0};
        if (::poll(&p, 1, wait_ms) != 1)
            return false;
        auto const n = ::send(socket_, octets.data(), octets.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            return false;
        octets = octets.subspan(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    return true;
}

// ---- usual conversations

void raw_client::hello(sluice::open const& o)
{
    send_header();
    send(o);
    start_sessions();
}

void raw_client::start_sessions()
{
    send(usual_begin(), {}, 0);
    send(usual_begin(), {}, witness);
    std::ignore = wire();
}

void raw_client::attach_link(role r, std::string const& name, std::string const& address,
                             change_attach const& change, std::uint16_t channel)
{
    auto const text = encoded(std::string_view{address});
    attach a{.name = name, .role = r};
    source s;
    target t;
    (r == role::sender ? t.address : s.address) = {text};
    if (r == role::sender)
        a.initial_delivery_count = sequence_number{0};
    a.handle = handle{channels_[channel].next_handle++};
    if (change)
        change(a, s, t);
    auto const from = encoded(s);
    auto const to = encoded(t);
    if (a.source.empty())
        a.source = {from};
    if (a.target.empty())
        a.target = {to};
    links_[name] = {.channel = channel, .handle = a.handle, .count = 0};
    send(a, {}, channel);
}

void raw_client::deliver(std::string const& link, bytes_view payload, change_transfer const& change)
{
    auto& l = links_.at(link);
    auto& c = channels_[l.channel];
    auto const tag = octets_of(link + std::to_string(c.next_delivery));
    transfer t{.handle = l.handle,
               .delivery_id = delivery_number{c.next_delivery},
               .delivery_tag = bytes_view{tag},
               .message_format = 0};
    if (change)
        change(t);
    if (t.delivery_id)
        c.next_delivery = t.delivery_id->value() + 1;
    send(t, payload, l.channel);
}

flow raw_client::exact_flow(std::uint16_t channel)
{
    auto const& c = channels_[channel];
    return {.next_incoming_id = transfer_id{c.received},
            .incoming_window = 2048,
            .next_outgoing_id = transfer_id{c.sent},
            .outgoing_window = 2048};
}

void raw_client::credit(std::string const& link, std::uint32_t credit, bool drain, bool echo)
{
    auto const& l = links_.at(link);
    auto f = exact_flow(l.channel);
    f.handle = l.handle;
    f.delivery_count = sequence_number{l.count};
    f.link_credit = credit;
    f.drain = drain;
    f.echo = echo;
    send(f, {}, l.channel);
}

void raw_client::settle(std::uint32_t first, std::uint32_t last, delivery_state const& state,
                        std::uint16_t channel)
{
    auto const octets = encoded(state);
    send(disposition{.role = role::receiver,
                     .first = delivery_number{first},
                     .last = delivery_number{last},
                     .settled = true,
                     .state = {octets}},
         {}, channel);
}

void raw_client::detach_link(std::string const& link, bool closed)
{
    auto const& l = links_.at(link);
    send(detach{.handle = l.handle, .closed = closed, .error = std::nullopt}, {}, l.channel);
}

// ---- in

std::optional<seen_frame> raw_client::next_frame()
{
    while (true) {
        auto head = read(frame_header_size);
        if (head.size() < frame_header_size)
            return std::nullopt;
        seen_frame f{.octets = std::move(head)};
        if (f.is_header())
            return f;
        auto const size = read_frame_header(f.octets.data()).size;
        auto const rest = read(size - frame_header_size);
        f.octets.insert(f.octets.end(), rest.begin(), rest.end());
        if (f.octets.size() < size)
            return std::nullopt;
        if (size > frame_header_size) {
            note(f);
            return f;
        }
        ++heartbeats;
    }
}

void raw_client::wait_for_heartbeat()
{
    auto const head = read(frame_header_size);
    if (head.size() < frame_header_size || read_frame_header(head.data()).size != frame_header_size)
        throw std::runtime_error{"that was no heartbeat"};
    ++heartbeats;
}

bool raw_client::of_witness(seen_frame const& f) const
{
    if (f.is_header() || !knows_witness_)
        return false;
    auto const kind = f.descriptor();
    return kind > 0x10 && kind < 0x18 && f.channel() == witness_channel_;
}

void raw_client::note(seen_frame const& f)
{
    auto const kind = f.descriptor();
    if (kind == 0x11) {
        auto const b = f.as<begin>();
        auto const ours = b.remote_channel.value_or(0);
        ours_[f.channel()] = ours;
        channels_[ours].received = b.next_outgoing_id.value();
        if (ours == witness) {
            knows_witness_ = true;
            witness_channel_ = f.channel();
        }
    } else if (kind == 0x12) {
        auto const a = f.as<attach>();
        names_[{f.channel(), a.handle.value}] = std::string{a.name};
    } else if (kind == 0x14) {
        auto const t = f.as<transfer>();
        ++channels_[ours_[f.channel()]].received;
        if (t.delivery_id)
            ++links_[names_[{f.channel(), t.handle.value}]].count;
    }
}

std::string raw_client::next()
{
    while (true) {
        auto f = next_frame();
        if (!f)
            return "EOF";
        if (of_witness(*f))
            continue;
        seen_.push_back(*f);
        return node_text(*f);
    }
}

std::string raw_client::until(std::string_view beginning)
{
    std::string text;
    while (true) {
        auto const one = next();
        text += (text.empty() ? "" : " ") + one;
        if (one.starts_with(beginning))
            return text;
        if (one == "EOF")
            throw std::runtime_error{"no " + std::string{beginning} + " in " + text};
    }
}

/// False: the connection is over.
bool raw_client::ask_witness(std::string& text)
{
    auto f = exact_flow(witness);
    f.echo = true;
    send_octets(raw_frame(f, {}, witness));
    std::ignore = try_send(std::exchange(unsent_, {}));  // the node may have gone
    while (true) {
        auto got = next_frame();
        if (got && of_witness(*got)) {
            if (got->descriptor() == 0x13)
                return true;
            continue;
        }
        text += (text.empty() ? "" : " ") + (got ? node_text(*got) : "EOF");
        if (!got)
            return false;
        seen_.push_back(*got);
        if (got->descriptor() == 0x18)
            return false;
    }
}

std::string raw_client::wire()
{
    std::string text;
    if (ask_witness(text))  // what one session says may overtake another's: the second answer does
        ask_witness(text);  // not overtake what was there before the first
    return text;
}

std::string raw_client::wire_without_flows()
{
    auto const before = seen_.size();
    auto const ended = wire().ends_with("EOF");
    std::string text;
    for (auto i = before; i < seen_.size(); ++i)
        if (seen_[i].is_header() || seen_[i].descriptor() != 0x13)
            text += (text.empty() ? "" : " ") + node_text(seen_[i]);
    return ended ? text + (text.empty() ? "EOF" : " EOF") : text;
}

/// False: the stream has ended.
bool raw_client::fill()
{
    std::ignore = try_send(std::exchange(unsent_, {}));
    pollfd p{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&p, 1, patience_ms) != 1)
        throw std::runtime_error{"the node says nothing for too long"};
    incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    auto const had = incoming_.size();
    incoming_.resize(had + 65536);
    auto const n = ::recv(socket_, incoming_.data() + had, 65536, 0);
    incoming_.resize(had + (n > 0 ? static_cast<std::size_t>(n) : 0));
    return n > 0;
}

bytes raw_client::read(std::size_t size)
{
    while (incoming_.size() - taken_ < size && fill()) {}
    auto const n = std::min(size, incoming_.size() - taken_);
    auto const from = incoming_.begin() + static_cast<std::ptrdiff_t>(taken_);
    taken_ += n;
    return {from, from + static_cast<std::ptrdiff_t>(n)};
}

// ---- the end

void raw_client::bye()
{
    send(sluice::close{});
    EXPECT_EQ(until("close"), "close()");
    EXPECT_EQ(next(), "EOF");
}

void raw_client::reset()
{
    linger const hard{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    shut();
}

void raw_client::shut()
{
    if (socket_ >= 0)
        ::close(std::exchange(socket_, -1));
}

bytes raw_client::read_to_end()
{
    while (fill()) {}
    return read(incoming_.size());
}

std::size_t raw_client::available() const
{
    int n = 0;
    ::ioctl(socket_, FIONREAD, &n);
    return static_cast<std::size_t>(n);
}

}  // namespace sluice::test
