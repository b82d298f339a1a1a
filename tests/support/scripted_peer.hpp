// A peer that a test plays frame by frame over a real socket: what it says may break every rule.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <poll.h>

#include <stdexcept>
#include <string>

namespace sluice::test {

namespace asio = boost::asio;

template <class T>
inline constexpr std::uint64_t descriptor_of = 0;
template <>
inline constexpr std::uint64_t descriptor_of<open> = 0x10;
template <>
inline constexpr std::uint64_t descriptor_of<begin> = 0x11;
template <>
inline constexpr std::uint64_t descriptor_of<attach> = 0x12;
template <>
inline constexpr std::uint64_t descriptor_of<flow> = 0x13;
template <>
inline constexpr std::uint64_t descriptor_of<transfer> = 0x14;
template <>
inline constexpr std::uint64_t descriptor_of<disposition> = 0x15;
template <>
inline constexpr std::uint64_t descriptor_of<detach> = 0x16;
template <>
inline constexpr std::uint64_t descriptor_of<end> = 0x17;
template <>
inline constexpr std::uint64_t descriptor_of<close> = 0x18;
template <>
inline constexpr std::uint64_t descriptor_of<struct sasl_init> = 0x41;

/// One frame as it came.
struct frame {
    frame_header header;
    bytes octets;  // of the body
    std::uint64_t descriptor() const { return peek_descriptor(octets); }
};

/// A frame taken apart; the views lie in `from`.
template <class T>
struct got {
    frame from;
    T value;
    bytes_view payload;
    T const* operator->() const { return &value; }
};

/// Blocking; gives up with an exception after ten seconds, so that a test fails instead of hanging.
class scripted_peer {
public:
    scripted_peer() : acceptor_{context_, {asio::ip::address_v4::loopback(), 0}}, socket_{context_}
    {
    }

    std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
    /// `credentials` such as "user:password@".
    std::string url(std::string const& credentials = "",
                    std::string const& query = "?sasl=none") const
    {
        return "amqp://" + credentials + "127.0.0.1:" + std::to_string(port()) + query;
    }

    void accept()
    {
        wait_for(acceptor_.native_handle());
        acceptor_.accept(socket_);
        socket_.set_option(asio::ip::tcp::no_delay{true});
    }

    /// Plays the client instead.
    void connect_to(std::uint16_t server)
    {
        socket_.connect({asio::ip::address_v4::loopback(), server});
        socket_.set_option(asio::ip::tcp::no_delay{true});
    }

    void send_octets(bytes_view octets)
    {
        asio::write(socket_, asio::buffer(octets.data(), octets.size()));
    }
    void send_header(protocol_id id) { send_octets(protocol_header(id)); }
    void expect_header(protocol_id id)
    {
        auto const got = read(8);
        EXPECT_TRUE(same_bytes(got, protocol_header(id)));
    }

    template <class T>
    static bytes encoded(T const& performative, std::uint16_t channel = 0, bytes_view payload = {},
                         frame_type type = frame_type::amqp)
    {
        bytes out(frame_header_size);
        append(out, performative);
        out.insert(out.end(), payload.begin(), payload.end());
        write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
        return out;
    }
    template <class T>
    void send(T const& performative, std::uint16_t channel = 0, bytes_view payload = {})
    {
        send_octets(encoded(performative, channel, payload));
    }

    /// The next frame that is no heartbeat.
    frame next()
    {
        while (true) {
            auto const head = read(frame_header_size);
            frame f{.header = read_frame_header(head.data()), .octets = {}};
            f.octets = read(f.header.size - frame_header_size);
            if (!f.octets.empty())
                return f;
        }
    }

    /// The next frame, which is a T.
    template <class T>
    got<T> expect()
    {
        got<T> out{.from = next(), .value = {}, .payload = {}};
        if (out.from.descriptor() != descriptor_of<T>)
            throw std::runtime_error{"expected descriptor " + std::to_string(descriptor_of<T>)
                                     + ", got " + std::to_string(out.from.descriptor())};
        return taken_apart(std::move(out));
    }
    /// The next T; frames of other kinds on the way are passed over.
    template <class T>
    got<T> skip_to()
    {
        while (true) {
            got<T> out{.from = next(), .value = {}, .payload = {}};
            if (out.from.descriptor() == descriptor_of<T>)
                return taken_apart(std::move(out));
        }
    }

    // ---- usual conversations

    /// Accepts, without a SASL layer, up to the open.
    void open_connection(sluice::open const& ours = {.container_id = "peer"})
    {
        accept();
        expect_header(protocol_id::amqp);
        send_header(protocol_id::amqp);
        expect<sluice::open>();
        send(ours);
    }
    got<begin> begin_session(std::uint32_t next_outgoing_id = 0, std::uint32_t window = 2048)
    {
        auto theirs = expect<begin>();
        send(begin{.remote_channel = theirs.from.header.channel,
                   .next_outgoing_id = transfer_id{next_outgoing_id},
                   .incoming_window = window,
                   .outgoing_window = window},
             theirs.from.header.channel);
        return theirs;
    }
    /// Answers an attach in kind, with the same handle.
    got<attach> attach_link()
    {
        auto theirs = skip_to<attach>();
        attach ours = theirs.value;
        ours.role = theirs->role == role::sender ? role::receiver : role::sender;
        if (ours.role == role::sender)
            ours.initial_delivery_count = sequence_number{0};
        send(ours, theirs.from.header.channel);
        return theirs;
    }
    void grant(std::uint32_t credit, std::uint32_t next_incoming_id, std::uint32_t window = 2048,
               std::uint32_t delivery_count = 0, handle h = {})
    {
        send(flow{.next_incoming_id = transfer_id{next_incoming_id},
                  .incoming_window = window,
                  .next_outgoing_id = transfer_id{sent_},
                  .outgoing_window = 2048,
                  .handle = h,
                  .delivery_count = sequence_number{delivery_count},
                  .link_credit = credit});
    }
    void deliver(std::uint32_t id, bytes_view payload, bool settled = false, handle h = {},
                 bool more = false)
    {
        std::array<std::byte, 1> const tag{static_cast<std::byte>(id)};
        send(transfer{.handle = h,
                      .delivery_id = delivery_number{id},
                      .delivery_tag = bytes_view{tag},
                      .message_format = 0,
                      .settled = settled,
                      .more = more},
             0, payload);
        ++sent_;
    }
    void settle(std::uint32_t first, std::uint32_t last, bytes_view state = encoded_accepted)
    {
        send(disposition{.role = role::receiver,
                         .first = delivery_number{first},
                         .last = delivery_number{last},
                         .settled = true,
                         .state = {state}});
    }

    // ---- the end

    /// RST instead of a clean end.
    void reset()
    {
        socket_.set_option(asio::socket_base::linger{true, 0});
        socket_.close();
    }
    void shut() { socket_.close(); }
    /// Whether the other side says nothing more and ends.
    bool at_end()
    {
        std::byte one{};
        boost::system::error_code ec;
        wait_for(socket_.native_handle());
        auto const n = socket_.read_some(asio::buffer(&one, 1), ec);
        return n == 0 && ec;
    }
    /// All octets until the other side ends.
    bytes read_to_end()
    {
        bytes out;
        boost::system::error_code ec;
        while (!ec) {
            std::byte some[1024];
            wait_for(socket_.native_handle());
            auto const n = socket_.read_some(asio::buffer(some), ec);
            out.insert(out.end(), some, some + n);
        }
        return out;
    }
    /// Octets that are there already.
    std::size_t available() { return socket_.available(); }

private:
    static void wait_for(int descriptor)
    {
        pollfd p{.fd = descriptor, .events = POLLIN, .revents = 0};
        if (::poll(&p, 1, 10'000) != 1)
            throw std::runtime_error{"the other side says nothing for ten seconds"};
    }

    bytes read(std::size_t size)
    {
        bytes out(size);
        for (std::size_t done = 0; done < size;) {
            wait_for(socket_.native_handle());
            done += socket_.read_some(asio::buffer(out.data() + done, size - done));
        }
        return out;
    }

    template <class T>
    static got<T> taken_apart(got<T> g)
    {
        bytes_view in{g.from.octets};
        if (auto const failed = decode(in, g.value))
            throw std::runtime_error{"undecodable frame: " + failed.message()};
        g.payload = in;
        return g;
    }

    asio::io_context context_;
    asio::ip::tcp::acceptor acceptor_;
    asio::ip::tcp::socket socket_;
    std::uint32_t sent_ = 0;
};

}  // namespace sluice::test
