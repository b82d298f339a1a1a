// Reading an address to listen on, and what lies under AMQP there.
#include "tools/listen_address.hpp"

namespace sluice::tools {

std::optional<listen_address> parse_listen_address(std::string_view text, bool tls,
                                                   std::string& fault)
{
    struct known {
        std::string_view scheme;
        node::node_transport under;
        std::uint16_t port;
    };
    constexpr known all[] = {{"amqp://", {.tls = false, .websocket = false}, 5672},
                             {"amqps://", {.tls = true, .websocket = false}, 5671},
                             {"ws://", {.tls = false, .websocket = true}, 80},
                             {"wss://", {.tls = true, .websocket = true}, 443}};
    auto const* chosen = &all[tls ? 1 : 0];
    auto rest = text;
    if (auto const end = text.find("://"); end != text.npos) {
        chosen = nullptr;
        for (auto const& k : all)
            if (text.starts_with(k.scheme))
                chosen = &k;
        if (!chosen) {
            fault = "'" + std::string{text}
                    + "': an unknown scheme; there are amqp://, amqps://, ws:// and wss://";
            return std::nullopt;
        }
        rest.remove_prefix(end + 3);
        if (rest.ends_with('/'))
            rest.remove_suffix(1);
    }
    auto where = parse_address(rest, chosen->port, fault);
    if (!where)
        return std::nullopt;
    return listen_address{std::move(*where), chosen->under, std::string{chosen->scheme}};
}

}  // namespace sluice::tools
