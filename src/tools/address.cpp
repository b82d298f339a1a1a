// Reading "HOST:PORT".
#include "tools/address.hpp"

#include <charconv>

namespace sluice::tools {

std::optional<address> parse_address(std::string_view text,
                                     std::optional<std::uint16_t> port_default, std::string& fault)
{
    auto const wrong = [&](std::string_view what) -> std::optional<address> {
        fault = "'" + std::string{text} + "': " + std::string{what}
                + "; expected HOST:PORT, such as 127.0.0.1:5672 or [::1]:5672";
        return std::nullopt;
    };
    std::string_view host = text;
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        auto const end = text.find(']');
        if (end == std::string_view::npos)
            return wrong("no ']' after '['");
        host = text.substr(1, end - 1);
        auto const rest = text.substr(end + 1);
        has_port = rest.starts_with(':');
        if (!has_port && !rest.empty())
            return wrong("something other than a port after ']'");
        port = has_port ? rest.substr(1) : rest;
    } else if (auto const colon = text.rfind(':'); colon != std::string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon + 1);
        has_port = true;
        if (host.find(':') != std::string_view::npos)
            return wrong("an IPv6 address stands in brackets");
    }
    if (host.empty())
        return wrong("no host");
    if (!has_port) {
        if (!port_default)
            return wrong("no port");
        return address{std::string{host}, *port_default};
    }
    std::uint16_t number = 0;
    auto const [end, ec] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (ec != std::errc{} || end != port.data() + port.size())
        return wrong("the port is no number from 0 to 65535");
    return address{std::string{host}, number};
}

}  // namespace sluice::tools
