// A peer of the engine that follows a script: it sends the frames that a test names and shows what
// the engine wrote.
#pragma once

#include "engine_text.hpp"

#include <functional>

namespace sluice::test {

/// Termini named "q", encoded.
inline bytes some_source()
{
    auto const address = encoded(std::string_view{"q"});
    return encoded(source{.address = {address}});
}
inline bytes some_target()
{
    auto const address = encoded(std::string_view{"q"});
    return encoded(target{.address = {address}});
}

/// Link options with both termini set, as a client has them.
inline e::link_options link_named(std::string name, std::uint32_t credit_window = 0)
{
    e::link_options o;
    o.name = std::move(name);
    o.source = some_source();
    o.target = some_target();
    o.credit_window = credit_window;
    return o;
}

template <class P>
bytes frame_of(P const& performative, std::string_view payload = {}, std::uint16_t channel = 0,
               frame_type type = frame_type::amqp)
{
    bytes out(frame_header_size);
    append(out, performative);
    auto const tail = octets_of(payload);
    out.insert(out.end(), tail.begin(), tail.end());
    write_frame_header(out.data(), static_cast<std::uint32_t>(out.size()), type, channel);
    return out;
}

/// The engine under test, and the other end of its connection, played by the test.
///
/// wire() answers what the engine has written since the last call, events() what it has reported,
/// both as text.
class engine_peer {
public:
    explicit engine_peer(e::connection_options options = {}) : engine{std::move(options)} {}

    e::connection engine;
    e::time_point now{0};
    std::vector<e::incoming_delivery*>
        deliveries;                  // of `delivery` events, oldest first; not all still alive
    transfer_id next_outgoing_id{};  // the peer's, counted by send()
    e::session* session = nullptr;   // the latest: begun by open_session, or by the peer
    e::link* link = nullptr;         // the latest that the peer attached
    std::function<void(e::event const&)> on_event = [](e::event const&) {};

    // ---- the peer's voice

    void send_octets(bytes_view octets)
    {
        while (!octets.empty()) {
            auto const taken = engine.receive(octets, now);
            octets = octets.subspan(taken);
            poll();
        }
    }
    template <class P>
    void send(P const& performative, std::string_view payload = {}, std::uint16_t channel = 0)
    {
        if constexpr (std::is_same_v<P, transfer>)
            ++next_outgoing_id;
        send_octets(frame_of(performative, payload, channel));
    }
    /// A flow of the session that opens its window: exact, as of what the engine has written.
    void window(std::uint32_t frames, bool echo = false)
    {
        send(flow{.next_incoming_id = session->next_outgoing_id(),
                  .incoming_window = frames,
                  .next_outgoing_id = next_outgoing_id,
                  .outgoing_window = 2048,
                  .echo = echo});
    }
    template <class P>
    void send_sasl(P const& frame)
    {
        send_octets(frame_of(frame, {}, 0, frame_type::sasl));
    }
    void send_hex(std::string_view digits) { send_octets(octets_of_hex(digits)); }
    void send_header(protocol_id id = protocol_id::amqp) { send_octets(protocol_header(id)); }

    // ---- the engine's answers

    /// Frames written since the last call. Whoever waits for wants_write() must neither miss a
    /// frame nor ask for one in vain.
    std::vector<seen_frame> frames()
    {
        while (true) {
            auto const wanted = engine.wants_write();
            auto const n = engine.write(buffer_, now);
            if (wanted != (n > 0))
                throw std::logic_error{wanted ? "nothing to write after all" : "written unasked"};
            if (n == 0)
                return std::exchange(seen_, {});
            cut({buffer_.data(), n});
        }
    }
    /// The same as text.
    std::string wire()
    {
        std::string text;
        for (auto const& f : frames()) text += (text.empty() ? "" : " ") + f.text();
        return text;
    }
    /// One call of write() with room for `room` octets.
    std::string wire_once(std::size_t room)
    {
        std::vector<std::byte> out(room);
        cut({out.data(), engine.write(out, now)});
        std::string text;
        for (auto const& f : std::exchange(seen_, {})) text += (text.empty() ? "" : " ") + f.text();
        return text;
    }
    /// Events reported since the last call, as text.
    std::string events()
    {
        poll();
        return std::exchange(heard_, {});
    }
    /// Nothing written and nothing reported is of interest any more.
    void forget_so_far()
    {
        std::ignore = frames();
        std::ignore = events();
    }

    // ---- usual beginnings: the engine asks, or (listener) the peer does

    /// Headers and opens, both ways.
    void open(sluice::open const& theirs = {.container_id = "peer"})
    {
        if (engine.options().listener) {
            send_header();
            send(theirs);
            poll();
            std::ignore = engine.open();
        } else {
            std::ignore = engine.open();
            std::ignore = frames();
            send_header();
            send(theirs);
        }
        forget_so_far();
    }

    static begin usual_begin() { return {.incoming_window = 2048, .outgoing_window = 2048}; }

    /// A session on channel 0, both ways, of an open connection.
    e::session& open_session(e::session_options options = {}, begin theirs = usual_begin())
    {
        if (engine.state() == e::connection_state::start)
            open();
        next_outgoing_id = theirs.next_outgoing_id;
        if (engine.options().listener) {
            send(theirs);
            poll();
            std::ignore = session->begin(std::move(options));
        } else {
            session = *engine.begin(std::move(options));
            std::ignore = frames();
            theirs.remote_channel = std::uint16_t{0};
            send(theirs);
        }
        forget_so_far();
        return *session;
    }

    /// A link of the engine's, answered by the peer with the same handle. @pre a session
    e::sender& open_sender(e::link_options options = link_named("S"), attach theirs = {})
    {
        auto* const s = *session->attach_sender(std::move(options));
        std::ignore = frames();
        answer(*s, theirs);
        return *s;
    }
    e::receiver& open_receiver(e::link_options options = link_named("R"), attach theirs = {})
    {
        auto* const r = *session->attach_receiver(std::move(options));
        std::ignore = frames();
        if (!theirs.initial_delivery_count)
            theirs.initial_delivery_count = sequence_number{0};
        answer(*r, theirs);
        return *r;
    }
    /// The peer's attach in answer to the engine's.
    void answer(e::link& l, attach theirs = {})
    {
        auto const source = some_source();
        auto const target = some_target();
        theirs.name = l.name();
        theirs.handle = l.local_handle();
        theirs.role = l.role() == role::sender ? role::receiver : role::sender;
        theirs.snd_settle_mode = l.options().snd_settle_mode;
        if (theirs.source.empty())
            theirs.source = {source};
        if (theirs.target.empty())
            theirs.target = {target};
        send(theirs);
        forget_so_far();
    }

    /// A flow for one of the engine's senders.
    void grant(std::uint32_t credit, e::link const& l, std::uint32_t delivery_count = 0,
               bool drain = false)
    {
        send(flow{.next_incoming_id = session->next_outgoing_id(),
                  .incoming_window = 2048,
                  .next_outgoing_id = next_outgoing_id,
                  .outgoing_window = 2048,
                  .handle = l.local_handle(),
                  .delivery_count = sequence_number{delivery_count},
                  .link_credit = credit,
                  .drain = drain});
    }

    /// A transfer of a delivery on handle 0 whose tag is its id.
    static transfer first_frame(std::uint32_t id, bool more = false)
    {
        static constexpr std::array<std::byte, 1> tag{std::byte{1}};
        return {.delivery_id = delivery_number{id},
                .delivery_tag = bytes_view{tag},
                .message_format = 0u,
                .more = more};
    }

private:
    void poll()
    {
        for (e::event v; engine.poll_event(v);) {
            if (v.kind == e::event_kind::delivery)
                deliveries.push_back(v.incoming);
            if (v.kind == e::event_kind::session_requested)
                session = v.session;
            if (v.kind == e::event_kind::link_requested)
                link = v.link;
            heard_ += (heard_.empty() ? "" : " ") + text_of(v);
            if (v.kind == e::event_kind::connection_closed && !engine.error().empty())
                heard_.insert(heard_.size() - 1, " " + engine.error().condition);
            on_event(v);
        }
    }

    void cut(bytes_view octets)
    {
        while (!octets.empty()) {
            auto const is_header = octets[0] == std::byte{'A'};
            auto const size = is_header ? std::size_t{8} : read_frame_header(octets.data()).size;
            if (size < 8 || size > octets.size())
                throw std::logic_error{"the engine wrote half a frame"};
            seen_.push_back(
                {bytes(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(size))});
            octets = octets.subspan(size);
        }
    }

    std::vector<std::byte> buffer_ = std::vector<std::byte>(128 * 1024);
    std::vector<seen_frame> seen_;
    std::string heard_;
};

}  // namespace sluice::test
