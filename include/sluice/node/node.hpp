// An in-memory message node: queues that anyone's AMQP 1.0 client can send to and receive from.
#pragma once

#include <sluice/export.hpp>
#include <sluice/node/options.hpp>
#include <sluice/result.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace sluice::node {

namespace detail {
class node_core;
}

/// Runs on a thread of its own. Nothing is stored on disk: what is sent as durable is kept in
/// memory like everything else, and the node's offered capabilities do not say otherwise.
///
///     sluice::node::node node;
///     auto const port = node.listen("127.0.0.1", 0).value();
///
/// Thread-safe. Its end is stop() with a time-out of 0.
class SLUICE_EXPORT node {
public:
    /// @throws boost::system::system_error that says what and where if users_file cannot be read
    explicit node(node_options options = {});
    ~node();
    node(node const&) = delete;
    node& operator=(node const&) = delete;

    /// Takes connections in, with or without a SASL layer. May be called again for more addresses.
    /// With TLS if node_options::tls is set, unless `under` says otherwise.
    /// @param port 0: any that is free @returns the port; error::resolve_failed,
    /// error::listen_failed, error::tls_setup_failed
    ///     (`fault` then says what and what to do), error::operation_aborted after stop().
    result<std::uint16_t> listen(std::string const& host, std::uint16_t port,
                                 std::string* fault = nullptr);
    result<std::uint16_t> listen(std::string const& host, std::uint16_t port, node_transport under,
                                 std::string* fault = nullptr);

    /// Reads the files of node_options::tls again, for connections from here on; those that are
    /// open stay. @returns error::tls_setup_failed (all stays as it was; `fault`, if given, says
    /// why), error::invalid_state without TLS, error::operation_aborted after stop()
    std::error_code reload_tls(std::string* fault = nullptr);
    /// The same with other files or texts.
    std::error_code reload_tls(net::tls_server_options const& options,
                               std::string* fault = nullptr);

    /// Makes a queue, or does nothing if there is one with these options.
    /// @returns error::invalid_argument: no name or one of more than 1024 octets, '$' in front,
    /// dead letters that come back to it,
    ///     error::precondition_failed if there is one with other options,
    ///     error::resource_limit_exceeded beyond queues_max, error::operation_aborted after stop().
    std::error_code declare(std::string const& name, queue_options options);
    std::error_code declare(std::string const& name);
    /// Removes a queue with its messages; links on it are detached with amqp:resource-deleted.
    /// @returns error::not_found
    std::error_code remove(std::string const& name);
    /// Drops the messages that no consumer has. @returns how many; error::not_found
    result<std::uint64_t> purge(std::string const& name);
    std::optional<queue_info> read(std::string const& name) const;
    std::vector<queue_info> list() const;

    /// Reads node_options::users_file again; if that fails, everything stays as it was. Whoever is
    /// not in it any more is closed with amqp:unauthorized-access, links that are no longer allowed
    /// are detached with it, and other changes count from the next login, link or message on.
    /// @returns error::invalid_state without a file, error::invalid_argument or what the system
    ///     says (`fault` then names file, line and what is wrong), error::operation_aborted after
    ///     stop().
    std::error_code reload_users(std::string* fault = nullptr);
    /// The same with users from elsewhere; null: everybody, from now on.
    std::error_code set_users(std::shared_ptr<net::sasl_users const> users);

    node_stats stats() const;

    /// Takes no more connections, finishes what is in flight for at most
    /// node_options::stop_timeout, closes each connection with amqp:connection:forced and waits for
    /// that. Harmless when called again.
    void stop();

private:
    std::unique_ptr<detail::node_core> core_;
};

}  // namespace sluice::node
