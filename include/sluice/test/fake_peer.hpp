// A peer that a test plays frame by frame: what it says may break every rule.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/fields.hpp>
#include <sluice/codec/frame.hpp>
#include <sluice/test/memory_network.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace sluice::test {

namespace detail {
class raw_end;
class raw_listener;
}  // namespace detail

/// One frame as it came.
struct peer_frame {
    frame_header header{};
    bytes octets{};  ///< of the body
    std::uint64_t descriptor() const { return peek_descriptor(octets); }
};

/// A frame taken apart; the views lie in `frame`.
template <class T>
struct received_frame {
    peer_frame frame{};
    T value{};
    bytes_view payload{};
    T const* operator->() const { return &value; }
};

/// The other end of a connection of the library's client or listener on a memory_network. Each call
/// that waits gives up after `patience` with a std::runtime_error that says what it waited for, so
/// that a test fails instead of hanging. For one thread.
///
///     memory_network network;
///     fake_peer peer{network};
///     auto connecting = std::async([&] {
///         return container.connect(peer.url(), network.client());
///     });
///     peer.open_connection();
///     auto connection = connecting.get();
///     // peer.begin_session(); peer.attach_link(); peer.deliver(0, message); ...
class SLUICE_EXPORT fake_peer {
public:
    explicit fake_peer(memory_network const& on,
                       std::chrono::milliseconds patience = std::chrono::seconds{10});
    ~fake_peer();
    fake_peer(fake_peer const&) = delete;
    fake_peer& operator=(fake_peer const&) = delete;

    std::uint16_t port() const noexcept;
    /// For container::connect(); without a SASL layer, as open_connection() expects.
    std::string url(std::string const& query = "?sasl=none") const;

    /// Waits for a client to connect.
    void accept();
    /// Plays the client instead. @throws std::runtime_error if nobody listens there
    void connect_to(std::uint16_t port);

    void send_octets(bytes_view octets);
    void send_header(protocol_id id) { send_octets(protocol_header(id)); }
    /// @throws std::runtime_error if another one comes
    void expect_header(protocol_id id);

    template <class T>
    void send(T const& performative, std::uint16_t channel = 0, bytes_view payload = {},
              frame_type type = frame_type::amqp)
    {
        bytes out(frame_header_size);
        append(out, performative);
        out.insert(out.end(), payload.begin(), payload.end());
        write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
        send_octets(out);
    }

    /// The next frame that is no heartbeat.
    peer_frame next();

    /// The next frame, which is a T. @throws std::runtime_error if it is not
    template <class T>
    received_frame<T> expect()
    {
        received_frame<T> out;
        out.frame = next();
        if (out.frame.descriptor() != composite_traits<T>::descriptor)
            throw std::runtime_error{"expected descriptor "
                                     + std::to_string(composite_traits<T>::descriptor) + ", got "
                                     + std::to_string(out.frame.descriptor())};
        return take_apart(std::move(out));
    }
    /// The next T; frames of other kinds on the way are passed over.
    template <class T>
    received_frame<T> skip_to()
    {
        while (true) {
            received_frame<T> out;
            out.frame = next();
            if (out.frame.descriptor() == composite_traits<T>::descriptor)
                return take_apart(std::move(out));
        }
    }

    // ---- usual conversations

    /// Accepts, without a SASL layer, up to the open.
    void open_connection(open const& ours = {.container_id = "peer"});
    received_frame<begin> begin_session(std::uint32_t window = 2048);
    /// Answers an attach in kind, with the same handle.
    received_frame<attach> attach_link();
    void grant(std::uint32_t credit, std::uint32_t next_incoming_id, handle h = {});
    /// One delivery in one frame. `id` is also its tag.
    void deliver(std::uint32_t id, bytes_view payload, bool settled = false, handle h = {});
    void settle(std::uint32_t first, std::uint32_t last, bytes_view state = encoded_accepted);

    // ---- the end

    /// No close frame: the connection is lost.
    void shut();
    /// Whether the other side says nothing more and ends.
    bool at_end();

private:
    bytes read(std::size_t size);

    template <class T>
    static received_frame<T> take_apart(received_frame<T> g)
    {
        bytes_view in{g.frame.octets};
        if (auto const failed = decode(in, g.value))
            throw std::runtime_error{"undecodable frame: " + failed.message()};
        g.payload = in;
        return g;
    }

    memory_network network_;
    std::chrono::milliseconds patience_;
    std::shared_ptr<detail::raw_listener> listener_;
    std::unique_ptr<detail::raw_end> end_;
    std::uint32_t sent_ = 0;
};

}  // namespace sluice::test
