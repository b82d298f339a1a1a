// "amqps://HOST:PORT" for those who listen.
#pragma once

#include "tools/address.hpp"

#include <sluice/node/options.hpp>

namespace sluice::tools {

struct listen_address {
    address where;
    node::node_transport under;
    std::string scheme;  ///< "amqps://"
};

/// Reads "127.0.0.1:5671", or the same behind amqp://, amqps://, ws:// or wss://. Without a scheme
/// it is amqps:// if `tls`, else amqp://. Without a port it is that of the scheme.
/// @returns nullopt, and says in `fault` what was wrong and what is expected.
std::optional<listen_address> parse_listen_address(std::string_view text, bool tls,
                                                   std::string& fault);

}  // namespace sluice::tools
