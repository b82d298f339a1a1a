// A client that a test plays frame by frame against the node: the project's codec and a blocking
// socket, no engine. What it says may break every rule.
#pragma once

#include "frame_text.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>

namespace sluice::test {

template <class P>
bytes raw_frame(P const& performative, bytes_view payload = {}, std::uint16_t channel = 0,
                frame_type type = frame_type::amqp)
{
    bytes out(frame_header_size);
    append(out, performative);
    out.insert(out.end(), payload.begin(), payload.end());
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
    return out;
}

/// A frame around a body given in hexadecimal digits.
inline bytes raw_hex_frame(std::string_view body, std::uint16_t channel = 0,
                           frame_type type = frame_type::amqp)
{
    bytes out(frame_header_size);
    auto const octets = octets_of_hex(body);
    out.insert(out.end(), octets.begin(), octets.end());
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
    return out;
}

/// An encoded message whose body is one string.
inline bytes text_message(std::string_view text, header const& h = {})
{
    message m{text};
    m.header = h;
    return encoded(m);
}

/// Blocking; gives up with an exception after ten seconds, so that a test fails instead of hanging.
///
/// Beside the session on channel 0 that a test uses there is a witness, a session on channel 9 that
/// nobody breaks a rule on: wire() asks it for an answer, which shows that this session and the
/// connection go on, and that everything that was caused before has been written.
class raw_client {
public:
    static constexpr std::uint16_t witness = 9;
    using change_attach = std::function<void(attach&, source&, target&)>;
    using change_transfer = std::function<void(transfer&)>;

    /// @param receive_buffer octets of the socket's buffer; 0: the system's default
    explicit raw_client(std::uint16_t port, int receive_buffer = 0);
    ~raw_client();
    raw_client(raw_client const&) = delete;
    raw_client& operator=(raw_client const&) = delete;

    // ---- out

    /// What is sent goes out in one write once something is read, or with flush(): how the octets
    /// are cut is up to the test.
    void send_octets(bytes_view octets)
    {
        unsent_.insert(unsent_.end(), octets.begin(), octets.end());
    }
    void flush();
    /// False once the node takes nothing for a moment, or has gone.
    bool try_send(bytes_view octets, int wait_ms = 500);
    void send_hex(std::string_view digits) { send_octets(octets_of_hex(digits)); }
    void send_header(protocol_id id = protocol_id::amqp) { send_octets(protocol_header(id)); }
    template <class P>
    void send(P const& performative, bytes_view payload = {}, std::uint16_t channel = 0)
    {
        count(performative, channel);
        send_octets(raw_frame(performative, payload, channel));
    }
    template <class P>
    void send_sasl(P const& frame)
    {
        send_octets(raw_frame(frame, {}, 0, frame_type::sasl));
    }
    // ---- usual conversations

    static sluice::open usual_open(std::string_view container = "peer")
    {
        return {.container_id = container, .hostname = "localhost"};
    }
    static sluice::begin usual_begin()
    {
        return {.incoming_window = 2048, .outgoing_window = 2048};
    }

    /// Header, open, a session on channel 0 and the witness.
    void hello(sluice::open const& o = usual_open());
    void start_sessions();
    void attach_link(role r, std::string const& name, std::string const& address,
                     change_attach const& change = {}, std::uint16_t channel = 0);
    void sender(std::string const& name, std::string const& address = "q",
                change_attach const& change = {}, std::uint16_t channel = 0)
    {
        attach_link(role::sender, name, address, change, channel);
    }
    void receiver(std::string const& name, std::string const& address = "q",
                  change_attach const& change = {}, std::uint16_t channel = 0)
    {
        attach_link(role::receiver, name, address, change, channel);
    }
    /// A delivery of one frame, with the next delivery-id and a tag of its own.
    void deliver(std::string const& link, bytes_view payload, change_transfer const& change = {});
    void deliver(std::string const& link, std::string_view text, change_transfer const& change = {})
    {
        deliver(link, text_message(text), change);
    }
    void deliver(std::string const& link, char const* text, change_transfer const& change = {})
    {
        deliver(link, text_message(text), change);
    }
    /// A flow of the session with what is true.
    flow exact_flow(std::uint16_t channel = 0);
    void credit(std::string const& link, std::uint32_t credit, bool drain = false,
                bool echo = false);
    void settle(std::uint32_t first, std::uint32_t last, delivery_state const& state,
                std::uint16_t channel = 0);
    void detach_link(std::string const& link, bool closed = true);
    handle handle_of(std::string const& link) const { return links_.at(link).handle; }

    // ---- in

    /// @pre nothing else is on its way
    void wait_for_heartbeat();
    /// The next frame or protocol header that is no heartbeat; nothing at the end of the stream.
    std::optional<seen_frame> next_frame();
    /// The next frame that is not the witness's, as text.
    std::string next();
    /// Everything up to the frame whose text begins so, that one included.
    std::string until(std::string_view beginning);
    /// All that the node has said because of what was sent so far; the witness has answered then,
    /// or the connection is over and "close(...)" or "EOF" ends the text.
    std::string wire();
    /// wire() without flows, which tests of other things need not tell.
    std::string wire_without_flows();

    /// The last T that was read; refers to this object's memory.
    template <class T>
    T last() const
    {
        for (auto i = seen_.rbegin(); i != seen_.rend(); ++i) {
            if (i->is_header())
                continue;
            T out;
            auto in = i->body();
            if (!decode(in, out))
                return out;
        }
        throw std::runtime_error{"no such frame was seen"};
    }
    /// The description of the error in the last close, end or detach.
    template <class T>
    std::string description() const
    {
        auto const frame = last<T>();
        return std::string{frame.error->description.value_or("")};
    }

    // ---- the end

    /// Our close; the node answers and ends the stream.
    void bye();
    /// RST instead of a clean end.
    void reset();
    void shut();
    /// The socket, which is the caller's to close from now on.
    int release_socket() { return std::exchange(socket_, -1); }
    /// All octets until the stream ends.
    bytes read_to_end();
    std::size_t available() const;

    int heartbeats = 0;
    int patience_ms = 10'000;

    struct channel_state {
        std::uint32_t sent = 0;      // the next transfer-id of ours
        std::uint32_t received = 0;  // the next one of the node's
        std::uint32_t next_delivery = 0;
        std::uint32_t next_handle = 0;
    };
    channel_state& state_of(std::uint16_t channel) { return channels_[channel]; }

private:
    struct link_state {
        std::uint16_t channel = 0;
        sluice::handle handle{};
        std::uint32_t count = 0;  // deliveries that the node began
    };

    template <class P>
    void count([[maybe_unused]] P const& p, [[maybe_unused]] std::uint16_t channel)
    {
        if constexpr (std::is_same_v<P, transfer>)
            ++channels_[channel].sent;
        if constexpr (std::is_same_v<P, sluice::begin>)
            channels_[channel].sent = p.next_outgoing_id.value();
    }
    bool of_witness(seen_frame const& f) const;
    void note(seen_frame const& f);
    bool ask_witness(std::string& text);
    bytes read(std::size_t size);
    bool fill();

    int socket_ = -1;
    bytes unsent_;
    bytes incoming_;
    std::size_t taken_ = 0;  // of them
    std::vector<seen_frame> seen_;
    std::map<std::uint16_t, channel_state> channels_;
    std::map<std::uint16_t, std::uint16_t> ours_;  // our channel, by the node's
    std::map<std::string, link_state> links_;
    std::map<std::pair<std::uint16_t, std::uint32_t>, std::string> names_;
    bool knows_witness_ = false;
    std::uint16_t witness_channel_ = 0;
};

}  // namespace sluice::test
