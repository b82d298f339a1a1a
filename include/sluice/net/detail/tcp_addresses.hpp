// Connecting to the first of several addresses that answers. Not public.
#pragma once

#include <sluice/export.hpp>
#include <sluice/net/tcp.hpp>

#include <vector>

namespace sluice::net::detail {

/// As connect_tcp(), once the name is resolved. The addresses are tried one after the other; one
/// that says nothing has its share of the time only.
SLUICE_EXPORT std::shared_ptr<tcp_connect> connect_addresses(
    boost::asio::any_io_executor executor, std::vector<boost::asio::ip::tcp::endpoint> where,
    tcp_options const& options, std::function<void(connect_result)> done);

}  // namespace sluice::net::detail
