// Frames as readable text: one line each, its fields by name.
#include <sluice/codec/codec.hpp>
#include <sluice/codec/fields.hpp>
#include <sluice/codec/frame.hpp>
#include <sluice/codec/value.hpp>
#include <sluice/engine/frame_trace.hpp>

#include <algorithm>

namespace sluice::engine {
namespace {

constexpr auto kept_max = std::size_t{64} * 1024;

template <class T>
std::string number(T v)
{
    return std::to_string(static_cast<std::uint64_t>(v));
}

std::string hex(bytes_view octets)
{
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (auto const o : octets) {
        text += digits[std::to_integer<unsigned>(o) >> 4];
        text += digits[std::to_integer<unsigned>(o) & 15];
    }
    return text;
}

template <class T>
void append_fields(std::string& to, T const& value, std::string_view between);

template <class T>
void append_composite(std::string& to, T const& value)
{
    to += composite_traits<T>::short_name;
    std::string fields;
    append_fields(fields, value, "");
    if (!fields.empty())
        to.append("{").append(fields).append("}");
}

template <class T>
bool append_terminus(std::string& to, raw_value raw)
{
    T value;
    auto in = raw.encoded;
    if (peek_descriptor(in) != composite_traits<T>::descriptor || decode(in, value))
        return false;
    append_composite(to, value);
    return true;
}

/// Termini and delivery states by the names of their fields, anything else as a value.
std::string text_of(raw_value raw)
{
    std::string text;
    if (append_terminus<source>(text, raw) || append_terminus<target>(text, raw)
        || append_terminus<coordinator>(text, raw))
        return text;
    delivery_state state;
    if (decode(raw, state) || std::holds_alternative<std::monostate>(state))
        return to_string(raw);
    std::visit(
        [&]<class S>(S const& s) {
            if constexpr (!std::is_same_v<S, std::monostate>)
                append_composite(text, s);
        },
        state);
    return text;
}

std::string text_of(std::string_view v) { return to_string(value{v}); }
std::string text_of(symbol v) { return std::string{v.text}; }
std::string text_of(bytes_view v) { return hex(v); }
std::string text_of(bool v) { return v ? "true" : "false"; }
std::string text_of(role v) { return v == role::sender ? "sender" : "receiver"; }
std::string text_of(handle v) { return number(v.value); }
template <class Tag>
std::string text_of(serial<Tag> v)
{
    return number(v.value());
}
std::string text_of(receiver_settle_mode v)
{
    return v == receiver_settle_mode::first ? "first" : "second";
}
std::string text_of(sender_settle_mode v)
{
    return v == sender_settle_mode::mixed     ? "mixed"
           : v == sender_settle_mode::settled ? "settled"
                                              : "unsettled";
}
std::string text_of(sasl_code v)
{
    constexpr char const* names[] = {"ok", "auth", "sys", "sys-perm", "sys-temp"};
    auto const i = static_cast<std::size_t>(v);
    return i < std::size(names) ? names[i] : number(i);
}
std::string text_of(error_view const& v)
{
    auto text = std::string{v.condition.text};
    if (v.description)
        text += " " + text_of(*v.description);
    if (v.info)
        text += " " + to_string(v.info);
    return text;
}
std::string text_of(symbols const& v)
{
    std::string text = "[";
    for (std::size_t i = 0; i < v.size(); ++i) text.append(i == 0 ? "" : ", ").append(v.at(i).text);
    return text + "]";
}
template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
std::string text_of(T v)
{
    return number(v);
}

template <class T>
bool is_absent(std::optional<T> const& v)
{
    return !v;
}
bool is_absent(raw_value v) { return v.empty(); }
bool is_absent(symbols const& v) { return v.size() == 0; }
bool is_absent(symbol v) { return v.text.empty(); }
template <class T>
bool is_absent(T const&)
{
    return false;
}

template <class T>
std::string text_of_present(std::optional<T> const& v)
{
    return text_of(*v);
}
template <class T>
std::string text_of_present(T const& v)
{
    return text_of(v);
}

/// What proves who the peer is: not even its length is shown, which may be a password's. [5.3.3]
constexpr bool is_secret(std::string_view field)
{
    return field == "initial-response" || field == "response" || field == "challenge"
           || field == "additional-data";
}

template <class T, class Field>
void append_field(std::string& to, T const& of, Field const& f, std::string_view between)
{
    auto const& v = of.*f.member;
    if (!f.mandatory && is_absent(v))
        return;
    if (!f.default_text.empty() && text_of_present(v) == text_of_present(T{}.*f.member))
        return;
    to += to.empty() ? between : std::string_view{" "};
    to += f.name == "delivery-tag" ? std::string_view{"tag"} : f.name;
    to += '=';
    to += is_secret(f.name) ? "<hidden>" : text_of_present(v);
}

template <class T>
void append_fields(std::string& to, T const& value, std::string_view between)
{
    std::string fields;
    std::apply([&](auto const&... f) { (append_field(fields, value, f, between), ...); },
               composite_traits<T>::fields);
    to += fields;
}

/// The first octets of what cannot be read, unless they may prove who the peer is.
std::string start_of(bytes_view octets, frame_type type)
{
    if (type == frame_type::sasl)
        return "<hidden>";
    return hex(octets.first(std::min<std::size_t>(octets.size(), 32)));
}

/// The performative's line without its prefix; `left` becomes what follows it, the payload.
template <class T>
std::string text_of_performative(bytes_view& left, frame_type type)
{
    T value;
    decode_fault fault;
    std::string text{composite_traits<T>::short_name};
    if (decode(left, value, &fault)) {
        text = "undecodable " + text + " (" + fault.message() + "): " + start_of(left, type);
        left = {};
        return text;
    }
    append_fields(text, value, " ");
    return text;
}

std::string text_of_body(bytes_view& left, frame_type type)
{
    switch (auto const descriptor = peek_descriptor(left)) {
    case 0x10: return text_of_performative<open>(left, type);
    case 0x11: return text_of_performative<begin>(left, type);
    case 0x12: return text_of_performative<attach>(left, type);
    case 0x13: return text_of_performative<flow>(left, type);
    case 0x14: return text_of_performative<transfer>(left, type);
    case 0x15: return text_of_performative<disposition>(left, type);
    case 0x16: return text_of_performative<detach>(left, type);
    case 0x17: return text_of_performative<end>(left, type);
    case 0x18: return text_of_performative<close>(left, type);
    case 0x40: return text_of_performative<sasl_mechanisms>(left, type);
    case 0x41: return text_of_performative<sasl_init>(left, type);
    case 0x42: return text_of_performative<sasl_challenge>(left, type);
    case 0x43: return text_of_performative<sasl_response>(left, type);
    case 0x44: return text_of_performative<sasl_outcome>(left, type);
    default: {
        auto text =
            "unknown frame body, descriptor " + number(descriptor) + ": " + start_of(left, type);
        left = {};
        return text;
    }
    }
}

bool is_protocol_header(bytes_view start)
{
    constexpr std::string_view name = "AMQP";
    return std::equal(name.begin(), name.end(), start.begin(),
                      [](char c, std::byte o) { return static_cast<std::byte>(c) == o; });
}

std::string text_of_header(bytes_view header)
{
    auto const at = [&](std::size_t i) { return std::to_integer<unsigned>(header[i]); };
    auto const layer = at(4) == 0   ? "AMQP"
                       : at(4) == 2 ? "TLS"
                       : at(4) == 3 ? "SASL"
                                    : "unknown protocol";
    return std::string{"header "} + layer + " " + number(at(5)) + "." + number(at(6)) + "."
           + number(at(7));
}

}  // namespace

frame_trace::frame_trace(std::string prefix) : prefix_{std::move(prefix)} {}

void frame_trace::feed(bytes_view octets, std::string& out)
{
    while (!octets.empty() && !unreadable_) octets = octets.subspan(take(octets, out));
}

/// Takes what belongs to the frame header or frame that is being collected.
std::size_t frame_trace::take(bytes_view octets, std::string& out)
{
    auto const count = static_cast<std::size_t>(std::min<std::uint64_t>(missing_, octets.size()));
    auto const kept = std::min(count, kept_max - std::min(kept_max, pending_.size()));
    pending_.insert(pending_.end(), octets.begin(),
                    octets.begin() + static_cast<std::ptrdiff_t>(kept));
    missing_ -= count;
    if (missing_ > 0)
        return count;
    if (size_ == 0 && !is_protocol_header(pending_)) {
        size_ = read_frame_header(pending_.data()).size;
        if (size_ < frame_header_size) {
            unreadable_ = true;
            out += prefix_ + "unreadable from here on: frame of " + number(size_)
                   + " octets: " + hex(pending_) + "\n";
            return count;
        }
        missing_ = size_ - frame_header_size;
        if (missing_ > 0)
            return count;
    }
    line(pending_, out);
    pending_.clear();
    missing_ = frame_header_size;
    size_ = 0;
    return count;
}

void frame_trace::line(bytes_view frame, std::string& out)
{
    out += prefix_;
    if (size_ == 0) {
        out += text_of_header(frame) + "\n";
        return;
    }
    auto const h = read_frame_header(frame.data());
    auto const body_at = std::size_t{h.data_offset} * 4;
    auto const type = static_cast<frame_type>(h.type);
    out += type == frame_type::sasl ? std::string{"[sasl] "} : "[" + number(h.channel) + "] ";
    if (body_at < frame_header_size || body_at > frame.size()) {
        out += "data offset " + number(h.data_offset) + " in a frame of " + number(size_)
               + " octets\n";
        return;
    }
    auto left = frame.subspan(body_at);
    if (left.empty()) {
        out += "heartbeat\n";
        return;
    }
    out += text_of_body(left, type);
    auto const payload = left.empty() ? 0 : left.size() + (size_ - frame.size());
    if (payload > 0)
        out += " (" + number(payload) + " octets)";
    out += "\n";
}

}  // namespace sluice::engine
