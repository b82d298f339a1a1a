// The dynamic value: text for traces.
#include <sluice/codec/value.hpp>

#include <charconv>

namespace sluice {
namespace {

constexpr char digits[] = "0123456789abcdef";

void append_hex(std::string& to, bytes_view octets)
{
    for (auto const o : octets) {
        to += digits[std::to_integer<unsigned>(o) >> 4];
        to += digits[std::to_integer<unsigned>(o) & 15];
    }
}

/// Control characters and quotes are escaped, so that a trace stays one line.
void append_quoted(std::string& to, std::string_view text)
{
    to += '"';
    for (auto const ch : text) {
        auto const octet = static_cast<std::byte>(ch);
        if (ch == '"' || ch == '\\')
            (to += '\\') += ch;
        else if (ch == '\n')
            to += "\\n";
        else if (std::to_integer<unsigned>(octet) < 0x20 || ch == 0x7f) {
            to += "\\x";
            append_hex(to, {&octet, 1});
        } else
            to += ch;
    }
    to += '"';
}

void append_float(std::string& to, double v, int precision)
{
    char text[40];
    auto const end =
        std::to_chars(text, text + sizeof text, v, std::chars_format::general, precision).ptr;
    to.append(text, end);
}

void append_uuid(std::string& to, uuid const& v)
{
    bytes_view const octets{v.octets};
    append_hex(to, octets.first(4));
    for (std::size_t const at : {4u, 6u, 8u}) {
        to += '-';
        append_hex(to, octets.subspan(at, 2));
    }
    to += '-';
    append_hex(to, octets.subspan(10));
}

void append_text(std::string& to, value const& v);

void append_items(std::string& to, std::vector<value> const& items)
{
    to += '[';
    for (auto const& item : items) {
        if (&item != items.data())
            to += ", ";
        append_text(to, item);
    }
    to += ']';
}

void append_entries(std::string& to, value_map const& map)
{
    to += '{';
    bool first = true;
    for (auto const& [key, content] : map) {
        if (!first)
            to += ", ";
        first = false;
        append_text(to, key);
        to += ": ";
        append_text(to, content);
    }
    to += '}';
}

void append_array(std::string& to, value_array const& array)
{
    for (auto const& descriptor : array.descriptors) {
        to += '@';
        append_text(to, descriptor);
        to += ' ';
    }
    to += to_string(array.element);
    append_items(to, array.items);
}

void append_described(std::string& to, described_value const& v)
{
    to += '@';
    append_text(to, v.descriptor);
    to += ' ';
    append_text(to, v.content);
}

template <class T>
void append_scalar(std::string& to, T const& v)
{
    if constexpr (std::is_same_v<T, bool>)
        to += v ? "true" : "false";
    else if constexpr (std::is_same_v<T, char32_t>) {
        to += "U+";
        for (auto i = v <= 0xffff ? 4u : 6u; i-- > 0;) to += "0123456789ABCDEF"[v >> 4 * i & 15];
    } else if constexpr (std::is_integral_v<T>)
        to += std::to_string(v);
    else if constexpr (std::is_same_v<T, float>)
        append_float(to, static_cast<double>(v), 9);
    else if constexpr (std::is_same_v<T, double>)
        append_float(to, v, 17);
    else if constexpr (std::is_same_v<T, timestamp>)
        to.append("t").append(std::to_string(v.milliseconds));
    else if constexpr (std::is_same_v<T, uuid>)
        append_uuid(to, v);
    else {
        to += "decimal:";
        append_hex(to, v.octets);
    }
}

template <class... T>
bool append_if_scalar(std::string& to, value const& v)
{
    auto const try_one = [&]<class U>(U const* held) {
        if (held)
            append_scalar(to, *held);
        return held != nullptr;
    };
    return (try_one(v.get_if<T>()) || ...);
}

void append_text(std::string& to, value const& v)
{
    if (append_if_scalar<bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                         std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double,
                         char32_t, timestamp, uuid, decimal32, decimal64, decimal128>(to, v))
        return;
    if (auto const* const text = v.get_if<std::string>())
        append_quoted(to, *text);
    else if (auto const* const name = v.get_if<symbol_string>())
        to.append(":").append(name->text);
    else if (auto const* const octets = v.get_if<bytes>())
        append_hex(to += "0x", *octets);
    else if (auto const* const list = v.get_if<value_list>())
        append_items(to, *list);
    else if (auto const* const map = v.get_if<value_map>())
        append_entries(to, *map);
    else if (auto const* const array = v.get_if<value_array>())
        append_array(to, *array);
    else if (auto const* const pair = v.get_if<described_value>())
        append_described(to, *pair);
    else
        to += "null";
}

}  // namespace

std::string to_string(value const& v)
{
    std::string text;
    append_text(text, v);
    return text;
}

std::string to_string(raw_value raw)
{
    if (raw.empty())
        return "absent";
    value v;
    auto in = raw.encoded;
    if (auto const ec = decode(in, v))
        return "malformed (" + ec.message() + ")";
    return to_string(v);
}

}  // namespace sluice
