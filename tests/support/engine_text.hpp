// Frames and events of the engine as short text, so that a test reads like a trace.
//
// Names are cut short as people say them: nii next-incoming-id, iw incoming-window, noi
// next-outgoing-id (begin, flow), dc delivery-count, lc link-credit (flow), h0 handle 0. What is
// absent or has its default is left out.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>
#include <sluice/engine/connection.hpp>

#include <string>
#include <vector>

namespace sluice::test {

namespace e = sluice::engine;

inline bytes octets_of(std::string_view text)
{
    bytes out;
    for (auto const c : text) out.push_back(static_cast<std::byte>(c));
    return out;
}

/// From hexadecimal digits; blanks are for reading.
inline bytes octets_of_hex(std::string_view digits)
{
    bytes out;
    int high = -1;
    for (auto const c : digits) {
        if (c == ' ')
            continue;
        auto const digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<std::byte>(high * 16 + digit));
            high = -1;
        }
    }
    return out;
}

inline std::string text_of_payload(bytes_view octets)
{
    if (octets.size() > 40)
        return std::to_string(octets.size()) + " octets";
    std::string text = "'";
    for (auto const o : octets) text += static_cast<char>(o);
    return text + "'";
}

inline std::string text_of_error(std::optional<error_view> const& v)
{
    return v ? std::string{v->condition.text} : std::string{};
}

inline std::string text_of_state(raw_value state)
{
    constexpr char const* names[] = {"",         "received",      "accepted",
                                     "rejected", "released",      "modified",
                                     "declared", "transactional", "unknown"};
    return names[static_cast<std::size_t>(e::kind_of(state))];
}

/// "name(a b c)" from parts, of which empty ones are left out.
inline std::string call_text(std::string_view name, std::vector<std::string> const& parts)
{
    std::string text{name};
    char before = '(';
    for (auto const& part : parts) {
        if (part.empty())
            continue;
        text += before + part;
        before = ' ';
    }
    return text + (before == '(' ? "()" : ")");
}

template <class T>
std::string field_text(std::string_view name, T const& v)
{
    return std::string{name} + "=" + std::to_string(v);
}
inline std::string when(bool condition, std::string_view text)
{
    return std::string{condition ? text : ""};
}

inline std::string text_of(open const& o, bytes_view)
{
    return call_text("open", {std::string{o.container_id}});
}
inline std::string text_of(begin const& b, bytes_view)
{
    return call_text("begin", {b.remote_channel ? field_text("rc", *b.remote_channel) : "",
                               field_text("noi", b.next_outgoing_id.value()),
                               field_text("iw", b.incoming_window)});
}
inline std::string text_of(attach const& a, bytes_view)
{
    return call_text("attach", {std::string{a.name}, "h" + std::to_string(a.handle.value),
                                a.role == role::sender ? "sender" : "receiver"});
}
inline std::string text_of(flow const& f, bytes_view)
{
    return call_text(
        "flow", {"nii="
                     + (f.next_incoming_id ? std::to_string(f.next_incoming_id->value())
                                           : std::string{"-"}),
                 field_text("iw", f.incoming_window), field_text("noi", f.next_outgoing_id.value()),
                 f.handle ? "h" + std::to_string(f.handle->value) : "",
                 f.delivery_count ? field_text("dc", f.delivery_count->value()) : "",
                 f.link_credit ? field_text("lc", *f.link_credit) : "",
                 f.available.value_or(0) ? field_text("av", *f.available) : "",
                 when(f.drain, "drain"), when(f.echo, "echo")});
}
inline std::string text_of(transfer const& t, bytes_view payload)
{
    return call_text("transfer",
                     {"h" + std::to_string(t.handle.value),
                      t.delivery_id ? field_text("id", t.delivery_id->value()) : "",
                      when(t.settled.value_or(false), "settled"), when(t.more, "more"),
                      when(t.resume, "resume"), text_of_state(t.state), when(t.aborted, "aborted"),
                      payload.empty() ? "" : text_of_payload(payload)});
}
inline std::string text_of(disposition const& d, bytes_view)
{
    auto const first = std::to_string(d.first.value());
    return call_text("disposition",
                     {d.role == role::sender ? "sender" : "receiver",
                      d.last ? first + ".." + std::to_string(d.last->value()) : first,
                      when(d.settled, "settled"), text_of_state(d.state)});
}
inline std::string text_of(detach const& d, bytes_view)
{
    return call_text("detach", {"h" + std::to_string(d.handle.value), when(d.closed, "closed"),
                                text_of_error(d.error)});
}
inline std::string text_of(end const& x, bytes_view)
{
    return call_text("end", {text_of_error(x.error)});
}
inline std::string text_of(close const& x, bytes_view)
{
    return call_text("close", {text_of_error(x.error)});
}
inline std::string text_of(sasl_mechanisms const& m, bytes_view)
{
    std::vector<std::string> names;
    for (std::size_t i = 0; i < m.sasl_server_mechanisms.size(); ++i)
        names.emplace_back(m.sasl_server_mechanisms.at(i).text);
    return call_text("mechanisms", names);
}
inline std::string text_of(sasl_init const& i, bytes_view)
{
    return call_text("init", {std::string{i.mechanism.text},
                              i.initial_response ? text_of_payload(*i.initial_response) : ""});
}
inline std::string text_of(sasl_challenge const& c, bytes_view)
{
    return call_text("challenge", {text_of_payload(c.challenge)});
}
inline std::string text_of(sasl_response const& r, bytes_view)
{
    return call_text("response", {text_of_payload(r.response)});
}
inline std::string text_of(struct sasl_outcome const& o, bytes_view)
{
    return call_text("outcome", {std::to_string(static_cast<int>(o.code))});
}

/// One frame, or protocol header, that the engine wrote.
struct seen_frame {
    bytes octets;

    bool is_header() const { return octets.size() == 8 && octets[0] == std::byte{'A'}; }
    std::uint16_t channel() const { return read_frame_header(octets.data()).channel; }
    bytes_view body() const { return bytes_view{octets}.subspan(8); }
    std::uint64_t descriptor() const { return is_header() ? 0 : peek_descriptor(body()); }

    /// The performative; it refers to this object's memory. @pre it is a T
    template <class T>
    T as() const
    {
        T out;
        auto in = body();
        if (decode(in, out))
            throw std::logic_error{"not such a frame: " + text()};
        return out;
    }

    std::string text() const
    {
        if (is_header())
            return octets[4] == std::byte{3} ? "SASL" : "AMQP";
        auto const on = channel() == 0 ? std::string{} : "#" + std::to_string(channel()) + " ";
        return on + text_of_body();
    }

private:
    template <class T>
    std::string decoded() const
    {
        T out;
        auto in = body();
        if (decode(in, out))
            return "undecodable";
        return text_of(out, in);
    }

    std::string text_of_body() const
    {
        if (body().empty())
            return "heartbeat";
        switch (descriptor()) {
        case 0x10: return decoded<open>();
        case 0x11: return decoded<begin>();
        case 0x12: return decoded<attach>();
        case 0x13: return decoded<flow>();
        case 0x14: return decoded<transfer>();
        case 0x15: return decoded<disposition>();
        case 0x16: return decoded<detach>();
        case 0x17: return decoded<end>();
        case 0x18: return decoded<close>();
        case 0x40: return decoded<sasl_mechanisms>();
        case 0x41: return decoded<sasl_init>();
        case 0x42: return decoded<sasl_challenge>();
        case 0x43: return decoded<sasl_response>();
        case 0x44: return decoded<struct sasl_outcome>();
        default: return "unknown";
        }
    }
};

/// Error codes that tests name; others by their number.
inline std::string text_of(std::error_code code)
{
    if (!code)
        return "";
    switch (static_cast<error>(code.value())) {
    case error::connection_lost: return "connection_lost";
    case error::connection_closed_by_peer: return "closed_by_peer";
    case error::session_ended_by_peer: return "ended_by_peer";
    case error::link_detached_by_peer: return "detached_by_peer";
    case error::link_refused: return "refused";
    case error::closed_locally: return "closed_locally";
    case error::operation_aborted: return "cancelled";
    case error::body_source_failed: return "source_failed";
    case error::delivery_aborted: return "delivery_aborted";
    case error::handle_max_exceeded: return "handle_max";
    case error::channel_max_exceeded: return "channel_max";
    case error::idle_timeout_expired: return "idle_timeout";
    case error::handshake_timeout: return "handshake_timeout";
    case error::invalid_protocol_header: return "header";
    case error::window_violation: return "window_violation";
    case error::invalid_delivery_id: return "delivery_id";
    case error::transfer_limit_exceeded: return "limit";
    case error::message_size_exceeded: return "size";
    case error::sasl_auth_failed: return "auth_failed";
    case error::sasl_system_error: return "sasl_system";
    case error::sasl_temporary_error: return "sasl_temporary";
    case error::frame_out_of_state: return "out_of_state";
    default: return "error" + std::to_string(code.value());
    }
}

/// An event with what it says; the link by its name, the reason by its code and condition.
inline std::string text_of(e::event const& v)
{
    static constexpr char const* names[] = {
        "sasl_mechanisms",   "sasl_init",         "sasl_challenge",
        "sasl_response",     "sasl_outcome",      "connection_requested",
        "connection_opened", "connection_closed", "session_requested",
        "session_begun",     "session_ended",     "link_requested",
        "link_attached",     "link_detached",     "credit",
        "drain_requested",   "drained",           "sent",
        "outcome",           "aborted",           "delivery",
        "delivery_part",     "delivery_aborted",  "delivery_settled",
        "flow_mismatch"};
    using kind = e::event_kind;
    std::vector<std::string> parts{v.link ? v.link->name() : "", text_of(v.code)};
    if (v.kind == kind::session_ended)
        parts.push_back(v.session->error().condition);
    if (v.kind == kind::link_detached)
        parts.push_back(v.link->error().condition);
    if (v.kind == kind::credit)
        parts.push_back(std::to_string(static_cast<e::sender*>(v.link)->credit()));
    if (v.outgoing && (v.kind == kind::outcome || v.kind == kind::sent)) {
        parts.push_back(std::to_string(v.outgoing->id().value()));
        parts.push_back(text_of_state(v.outgoing->remote_state()));
        parts.push_back(when(v.outgoing->remotely_settled(), "settled"));
    }
    if (v.incoming) {
        parts.push_back(std::to_string(v.incoming->id().value()));
        parts.push_back(when(v.incoming->settled() && v.kind == kind::delivery, "settled"));
        if (v.kind == kind::delivery || v.kind == kind::delivery_part)
            parts.push_back(text_of_payload(v.incoming->body()));
    }
    if (v.kind == kind::flow_mismatch) {
        parts.push_back(field_text("expected", v.expected));
        parts.push_back(field_text("actual", v.actual));
    }
    return call_text(names[static_cast<std::size_t>(v.kind)], parts);
}

}  // namespace sluice::test
