// What `send`, `recv` and `bench` have in common: whom they talk to, and as whom.
#pragma once

#include <sluice/client/client.hpp>

#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace sluice::tools {

/// As it stands on the command line.
struct peer_options {
    std::string url;
    std::string address;  ///< instead of the URL's path
    std::string user;
    std::string password;
    std::string sasl;
    std::vector<std::string> mechanisms;
    bool allow_plain_unencrypted = false;
    net::tls_client_options tls;
    bool tls_insecure = false;
    std::string container_id;
    std::string link_name;
    bool trace = false;

    void add_to(CLI::App& app);
    /// What to send to or receive from: --address, else the path of the URL.
    /// @throws std::invalid_argument with what is wrong with the URL, or if there is neither
    std::string target() const;
    /// The path of the URL. @throws std::invalid_argument with what is wrong with the URL
    std::string path() const;
    client::connection_options connection() const;
    /// Turns the trace on if asked to, which has to come before the first thread.
    std::unique_ptr<client::container> container() const;
};

}  // namespace sluice::tools
