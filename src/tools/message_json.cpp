// Messages and AMQP values as JSON.
#include "tools/message_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

namespace sluice::tools {
namespace {

std::string hex(bytes_view octets)
{
    std::string out;
    for (auto const o : octets) out += fmt::format("{:02x}", std::to_integer<unsigned>(o));
    return out;
}

std::string utf8(char32_t c)
{
    auto const v = static_cast<std::uint32_t>(c);
    auto const tail = [v](unsigned shift) { return static_cast<char>(0x80 | ((v >> shift) & 63)); };
    if (v < 0x80)
        return {static_cast<char>(v)};
    if (v < 0x800)
        return {static_cast<char>(0xc0 | (v >> 6)), tail(0)};
    if (v < 0x10000)
        return {static_cast<char>(0xe0 | (v >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | (v >> 18)), tail(12), tail(6), tail(0)};
}

std::string uuid_text(uuid const& id)
{
    auto out = hex(id.octets);
    for (std::size_t const at : {8u, 13u, 18u, 23u}) out.insert(at, "-");
    return out;
}

void append_tagged(std::string& to, std::string_view tag, std::string_view text)
{
    json_object o;
    o.add(tag, text);
    to += o.text();
}

void append_items(std::string& to, std::vector<value> const& items)
{
    to += '[';
    for (auto const& item : items) {
        if (&item != items.data())
            to += ',';
        append_json(to, item);
    }
    to += ']';
}

void append_map(std::string& to, value_map const& map)
{
    std::set<std::string_view> keys;
    for (auto const& [key, content] : map)
        if (auto const text = key.text(); !text || !keys.insert(*text).second)
            break;
    if (keys.size() == map.size()) {
        json_object o;
        for (auto const& [key, content] : map) {
            std::string json;
            append_json(json, content);
            o.add_json(*key.text(), json);
        }
        to += o.text();
        return;
    }
    to += "{\"@map\":[";
    bool first = true;
    for (auto const& [key, content] : map) {
        to += std::exchange(first, false) ? "[" : ",[";
        append_json(to, key);
        to += ',';
        append_json(to, content);
        to += ']';
    }
    to += "]}";
}

/// The descriptors of an array belong to each of its items.
void append_array(std::string& to, value_array const& array)
{
    if (array.descriptors.empty())
        return append_items(to, array.items);
    value_list items;
    for (auto const& item : array.items) {
        value v = item;
        for (auto i = array.descriptors.size(); i-- > 0;)
            v = described_value{.descriptor = array.descriptors[i], .content = std::move(v)};
        items.push_back(std::move(v));
    }
    append_items(to, items);
}

struct appender {
    std::string& to;

    void operator()(bool v) const { to += v ? "true" : "false"; }
    template <class T>
        requires(std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char32_t>)
    void operator()(T v) const
    {
        to += std::to_string(v);
    }
    void operator()(float v) const
    {
        // Its own shortest digits, not those of the double of the same value.
        std::isfinite(v) ? to += fmt::format("{}", v)
                         : (append_json(to, static_cast<double>(v)), to);
    }
    void operator()(double v) const { append_json(to, v); }
    template <std::size_t Octets>
    void operator()(decimal<Octets> const& v) const
    {
        append_tagged(to, "@decimal", hex(v.octets));
    }
    void operator()(char32_t v) const { append_tagged(to, "@char", utf8(v)); }
    void operator()(timestamp v) const
    {
        to += json_object{}.add("@timestamp", v.milliseconds).text();
    }
    void operator()(uuid const& v) const { append_tagged(to, "@uuid", uuid_text(v)); }
    void operator()(bytes const& v) const { append_tagged(to, "@binary", base64(v)); }
    void operator()(std::string const& v) const { append_json(to, std::string_view{v}); }
    void operator()(symbol_string const& v) const { append_tagged(to, "@symbol", v.text); }
    void operator()(value_list const& v) const { append_items(to, v); }
    void operator()(value_map const& v) const { append_map(to, v); }
    void operator()(value_array const& v) const { append_array(to, v); }
    void operator()(described_value const& v) const
    {
        to += "{\"@described\":[";
        append_json(to, v.descriptor);
        to += ',';
        append_json(to, v.content);
        to += "]}";
    }
};

template <class... T>
void append_first_of(std::string& to, value const& v)
{
    auto const one = [&]<class U>(U const* held) {
        if (held)
            appender{to}(*held);
        return held != nullptr;
    };
    if (!(one(v.get_if<T>()) || ...))
        to += "null";
}

std::string header_json(header const& h)
{
    json_object o;
    if (h.durable)
        o.add("durable", *h.durable);
    if (h.priority)
        o.add("priority", std::uint64_t{*h.priority});
    if (h.ttl)
        o.add("ttl", std::uint64_t{*h.ttl});
    if (h.first_acquirer)
        o.add("first_acquirer", *h.first_acquirer);
    if (h.delivery_count)
        o.add("delivery_count", std::uint64_t{*h.delivery_count});
    return o.empty() ? "" : o.text();
}

std::string properties_json(message_properties const& p)
{
    json_object o;
    auto const any = [&](std::string_view name, value const& v) {
        if (v.is_null())
            return;
        std::string json;
        append_json(json, v);
        o.add_json(name, json);
    };
    auto const optional = [&](std::string_view name, auto const& v) {
        if (v)
            any(name, value{*v});
    };
    auto const symbolic = [&](std::string_view name, std::optional<symbol_string> const& v) {
        if (v)
            o.add(name, v->text);  // cannot be anything but a symbol
    };
    any("message_id", p.message_id);
    optional("user_id", p.user_id);
    optional("to", p.to);
    optional("subject", p.subject);
    optional("reply_to", p.reply_to);
    any("correlation_id", p.correlation_id);
    symbolic("content_type", p.content_type);
    symbolic("content_encoding", p.content_encoding);
    optional("absolute_expiry_time", p.absolute_expiry_time);
    optional("creation_time", p.creation_time);
    optional("group_id", p.group_id);
    optional("group_sequence", p.group_sequence);
    optional("reply_to_group_id", p.reply_to_group_id);
    return o.empty() ? "" : o.text();
}

void add_body(json_object& o, message const& m)
{
    std::string json;
    if (auto const* const v = m.body_value()) {
        append_json(json, *v);
        o.add_json("value", json);
    } else if (auto const* const data = std::get_if<data_body>(&m.body)) {
        bytes all;
        for (auto const& section : data->sections)
            all.insert(all.end(), section.begin(), section.end());
        o.add("data", base64(all));
    } else if (auto const* const sequence = std::get_if<sequence_body>(&m.body)) {
        json += '[';
        for (auto const& list : sequence->sections) {
            if (&list != sequence->sections.data())
                json += ',';
            append_items(json, list);
        }
        json += ']';
        o.add_json("sequence", json);
    }
}

}  // namespace

void append_json(std::string& to, value const& v)
{
    append_first_of<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t,
                    std::int16_t, std::int32_t, std::int64_t, float, double, decimal32, decimal64,
                    decimal128, char32_t, timestamp, uuid, bytes, std::string, symbol_string,
                    value_list, value_map, value_array, described_value>(to, v);
}

std::string to_json(message const& m, json_object o)
{
    auto const section = [&](std::string_view name, std::string const& json) {
        if (!json.empty())
            o.add_json(name, json);
    };
    auto const map = [&](std::string_view name, value_map const& content) {
        std::string json;
        if (!content.empty())
            append_map(json, content);
        section(name, json);
    };
    section("header", header_json(m.header));
    map("delivery_annotations", m.delivery_annotations);
    map("message_annotations", m.message_annotations);
    section("properties", properties_json(m.properties));
    map("application_properties", m.application_properties);
    add_body(o, m);
    map("footer", m.footer);
    return o.text();
}

}  // namespace sluice::tools
