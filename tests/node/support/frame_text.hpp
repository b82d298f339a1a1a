// Frames of the node as text that says more than the engine's tests need: termini, messages, error
// conditions.
#pragma once

#include "support/engine_text.hpp"

#include <sluice/codec/message.hpp>
#include <sluice/codec/message_view.hpp>

namespace sluice::test {

/// "value(q)" of an encoded string, or what else it is.
inline std::string text_of_address(raw_value v)
{
    if (v.empty() || is_null(v))
        return "";
    auto const text = as<std::string_view>(v);
    return text ? std::string{*text} : "?";
}

inline std::string text_of_terminus(char const* which, raw_value raw)
{
    if (raw.empty() || is_null(raw))
        return std::string{which} + "=null";
    if (peek_descriptor(raw.encoded) == 0x28) {
        source s;
        auto in = raw.encoded;
        if (!decode(in, s))
            return std::string{which} + "=" + text_of_address(s.address);
    }
    target t;
    auto in = raw.encoded;
    if (!decode(in, t))
        return std::string{which} + "=" + text_of_address(t.address);
    return std::string{which} + "=?";
}

/// What a delivery state says, with the condition of a rejected one.
inline std::string text_of_outcome(raw_value state)
{
    auto text = text_of_state(state);
    delivery_state decoded;
    if (text != "rejected" || decode(state, decoded))
        return text;
    auto const* const r = std::get_if<rejected>(&decoded);
    return r && r->error ? text + ":" + std::string{r->error->condition.text} : text;
}

/// A message: its body, then what its header says, then its annotations.
inline std::string text_of_message(bytes_view octets)
{
    message m;
    if (decode(octets, m))
        return text_of_payload(octets);
    auto const body = m.body_text().value_or("?");
    std::string text =
        body.size() > 40 ? std::to_string(body.size()) + " octets of body" : "'" + body + "'";
    auto const& h = m.header;
    if (h.durable)
        text += *h.durable ? " durable" : " transient";
    if (h.priority)
        text += " priority=" + std::to_string(*h.priority);
    if (h.ttl)
        text += " ttl";
    if (h.first_acquirer)
        text += *h.first_acquirer ? " first" : " not-first";
    if (h.delivery_count)
        text += " count=" + std::to_string(*h.delivery_count);
    for (auto const& [key, content] : m.message_annotations)
        text += " " + std::string{key.text().value_or("?")} + "="
                + std::string{content.text().value_or("?")};
    return text;
}

/// One frame.
inline std::string node_text(seen_frame const& f)
{
    if (f.is_header() || f.body().empty())
        return f.text();
    switch (f.descriptor()) {
    case 0x12: {
        auto const a = f.as<attach>();
        return call_text("attach", {std::string{a.name}, "h" + std::to_string(a.handle.value),
                                    a.role == role::sender ? "sender" : "receiver",
                                    text_of_terminus("source", a.source),
                                    text_of_terminus("target", a.target)});
    }
    case 0x14: {
        transfer t;
        auto in = f.body();
        if (decode(in, t))
            break;
        auto const whole = t.delivery_id && !t.more;
        return call_text("transfer",
                         {"h" + std::to_string(t.handle.value),
                          t.delivery_id ? field_text("id", t.delivery_id->value()) : "",
                          when(t.settled.value_or(false), "settled"), when(t.more, "more"),
                          when(t.resume, "resume"), text_of_state(t.state),
                          when(t.aborted, "aborted"),
                          in.empty() ? "" : (whole ? text_of_message(in) : text_of_payload(in))});
    }
    case 0x15: {
        auto const d = f.as<disposition>();
        auto const first = std::to_string(d.first.value());
        return call_text("disposition",
                         {d.role == role::sender ? "sender" : "receiver",
                          d.last ? first + ".." + std::to_string(d.last->value()) : first,
                          when(d.settled, "settled"), text_of_outcome(d.state)});
    }
    default: break;
    }
    auto const text = f.text();
    return text.starts_with('#') ? text.substr(text.find(' ') + 1) : text;
}

}  // namespace sluice::test
