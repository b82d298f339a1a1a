// Connections without sockets: clients, listeners and scripted peers of one process that meet in
// memory.
#pragma once

#include <sluice/client/listener.hpp>
#include <sluice/client/options.hpp>
#include <sluice/export.hpp>

#include <memory>
#include <string>

namespace sluice::test {

namespace detail {
class memory_hub;
}

/// A network of its own, with ports of its own, on which nothing is lost and nothing comes from
/// elsewhere. A handle; copies refer to the same one. Thread-safe.
///
///     sluice::test::memory_network network;
///     auto listener = server.listen("memory", 0, network.server(), handlers);
///     auto connection = client.connect("amqp://memory:" + std::to_string(listener.port()),
///                                      network.client());
///
/// Names of hosts mean nothing: the port alone says who is called.
class SLUICE_EXPORT memory_network {
public:
    /// @param buffer_max octets on their way, each way of each connection; then writers wait
    explicit memory_network(std::size_t buffer_max = std::size_t{256} * 1024);

    /// `options` for container::connect(), over this network.
    client::connection_options client(client::connection_options options = {}) const;
    /// `options` for container::listen(), on this network.
    client::listener_options server(client::listener_options options = {}) const;

    client::connector connector() const;
    client::acceptor acceptor() const;

private:
    friend class fake_peer;
    std::shared_ptr<detail::memory_hub> hub_;
};

}  // namespace sluice::test
