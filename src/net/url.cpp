// Reads AMQP URLs. Faults name a position and never repeat the text, which may hold a password.
#include <sluice/net/url.hpp>

#include <charconv>
#include <tuple>

namespace sluice::net {
namespace {

struct failed_at {
    std::size_t position = 0;  // of the character, from 0
    std::string what;
};

int hex_digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

struct scheme_of {
    std::string_view name;
    bool tls;
    bool websocket;
    std::uint16_t port;
};
/// The first two of WebSocket are standard; the others are what some clients have users write.
constexpr scheme_of schemes[] = {
    {"amqp", false, false, 5672}, {"amqps", true, false, 5671}, {"ws", false, true, 80},
    {"wss", true, true, 443},     {"amqp+ws", false, true, 80}, {"amqp+wss", true, true, 443},
    {"amqpws", false, true, 80},  {"amqpwss", true, true, 443},
};

class parser {
public:
    explicit parser(std::string_view text) : text_{text} {}

    url run()
    {
        url out;
        auto const authority_at = scheme(out);
        auto const authority_end = std::min(text_.find_first_of("/?#", authority_at), text_.size());
        if (auto const at = text_.find('#', authority_at); at != text_.npos)
            throw failed_at{
                at, "a '#', which an AMQP URL has no use for; write %23 for the character itself"};
        auto host_at = authority_at;
        auto const authority = text_.substr(authority_at, authority_end - authority_at);
        if (auto const at = authority.rfind('@'); at != authority.npos) {
            user_info(authority_at, authority_at + at, out);
            host_at = authority_at + at + 1;
        } else {
            no_slash_in_password(authority, authority_end);
        }
        host_and_port(host_at, authority_end, out);
        path_and_options(authority_end, out);
        return out;
    }

private:
    std::size_t scheme(url& out)
    {
        auto const end = text_.find("://");
        out.has_scheme = end != text_.npos;
        if (!out.has_scheme)
            return 0;
        std::string name{text_.substr(0, end)};
        for (auto& c : name)  // RFC 3986, 3.1: either case
            if (c >= 'A' && c <= 'Z')
                c = static_cast<char>(c - 'A' + 'a');
        for (auto const& s : schemes) {
            if (name != s.name)
                continue;
            out.tls = s.tls;
            out.websocket = s.websocket;
            out.port = s.port;
            return end + 3;
        }
        throw failed_at{0, "an unknown scheme; begin with amqp://, amqps://, ws:// or wss://"};
    }

    void no_slash_in_password(std::string_view authority, std::size_t end) const
    {
        if (authority.find(':') == authority.npos)
            return;
        auto const at = text_.find('@', end);
        if (at != text_.npos)
            throw failed_at{end, "a '/', '?' or '#' with an '@' after it; in a user or password "
                                 "write these characters "
                                 "as %2F, %3F and %23, and in a path write %40 for the '@'"};
    }

    void user_info(std::size_t from, std::size_t to, url& out) const
    {
        auto const part = text_.substr(from, to - from);
        auto const colon = part.find(':');
        out.user = decode(from, colon == part.npos ? to : from + colon);
        if (colon != part.npos)
            out.password = decode(from + colon + 1, to);
        if (out.user->empty())
            throw failed_at{
                from, "an empty user before '@'; write user:password@host, or the host alone"};
    }

    void host_and_port(std::size_t from, std::size_t to, url& out) const
    {
        auto port_at = to;
        if (from < to && text_[from] == '[') {
            auto const end = text_.substr(0, to).find(']', from);
            if (end == text_.npos)
                throw failed_at{from, "a '[' without its ']'; write an IPv6 address as [::1]"};
            out.host = text_.substr(from + 1, end - from - 1);
            if (end + 1 < to && text_[end + 1] != ':')
                throw failed_at{
                    end + 1,
                    "something other than ':' after the ']' of an address; write [::1]:5672"};
            port_at = end + 1;
        } else {
            auto const colon = text_.substr(0, to).find(':', from);
            port_at = colon == text_.npos ? to : colon;
            out.host = decode(from, port_at);
            if (port_at < to && text_.substr(0, to).find(':', port_at + 1) != text_.npos)
                throw failed_at{
                    port_at,
                    "a second ':' in host:port; write an IPv6 address in brackets, as [::1]:5672"};
        }
        if (out.host.empty())
            throw failed_at{from, "no host; write amqp://host:port"};
        if (port_at < to)
            out.port = port(port_at + 1, to);
    }

    std::uint16_t port(std::size_t from, std::size_t to) const
    {
        std::uint16_t value = 0;
        auto const* const end = text_.data() + to;
        auto const [stop, code] = std::from_chars(text_.data() + from, end, value);
        if (code != std::errc{} || stop != end || value == 0)
            throw failed_at{from, "a port that is no number from 1 to 65535; write host:5672, or "
                                  "leave ':' and port out"};
        return value;
    }

    void path_and_options(std::size_t from, url& out) const
    {
        auto const query = std::min(text_.find('?', from), text_.size());
        if (out.websocket) {
            std::ignore = decode(from, query);  // for its checks
            out.websocket_path = from < query ? std::string{text_.substr(from, query - from)} : "/";
        } else if (from < query) {
            out.path = decode(from + 1, query);
        }
        for (auto at = query; at < text_.size();) {
            auto const begin = at + 1;
            auto const end = std::min(text_.find('&', begin), text_.size());
            auto const equals = text_.substr(0, end).find('=', begin);
            if (equals == text_.npos || equals == begin)
                throw failed_at{begin,
                                "an option that is not name=value; write ?name=value&name=value"};
            out.options.emplace_back(decode(begin, equals), decode(equals + 1, end));
            at = end;
        }
    }

    std::string decode(std::size_t from, std::size_t to) const
    {
        std::string out;
        out.reserve(to - from);
        for (auto at = from; at < to; ++at) {
            auto const c = text_[at];
            if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
                throw failed_at{
                    at, "a blank or control character; write it as % and two hexadecimal digits"};
            if (c != '%') {
                out += c;
                continue;
            }
            auto const high = at + 2 < to ? hex_digit(text_[at + 1]) : -1;
            auto const low = at + 2 < to ? hex_digit(text_[at + 2]) : -1;
            if (high < 0 || low < 0)
                throw failed_at{
                    at, "a '%' without two hexadecimal digits; write %25 for the character itself"};
            out += static_cast<char>(high * 16 + low);
            at += 2;
        }
        return out;
    }

    std::string_view text_;
};

}  // namespace

std::optional<std::string_view> url::option(std::string_view name) const noexcept
{
    for (auto const& [key, value] : options)
        if (key == name)
            return value;
    return std::nullopt;
}

std::string url::to_string() const
{
    auto const six = host.find(':') != host.npos;
    auto const* const scheme =
        websocket ? (tls ? "wss://" : "ws://") : (tls ? "amqps://" : "amqp://");
    return scheme + (six ? "[" + host + "]" : host) + ":" + std::to_string(port) + websocket_path;
}

result<url> parse_url(std::string_view text, std::string* fault)
{
    try {
        return parser{text}.run();
    } catch (failed_at const& f) {
        if (fault)
            *fault = "invalid URL at character " + std::to_string(f.position + 1) + ": " + f.what;
        return unexpected{error::invalid_url};
    }
}

}  // namespace sluice::net
