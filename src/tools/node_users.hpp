// Users and passwords of a node, from a file.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sluice::tools {

class node_users {
public:
    /// Reads lines USER:PASSWORD; empty ones and those that begin with '#' say nothing.
    /// @param name of where `text` comes from, for the fault
    /// @throws std::invalid_argument that names the line and no password
    static node_users parse(std::string_view text, std::string_view name);

    /// Takes as long for a wrong password as for the right one.
    bool check(std::string_view user, std::string_view password) const;

private:
    std::map<std::string, std::string, std::less<>> passwords_;
};

/// The same from a file.
/// @throws std::system_error if it cannot be read
node_users read_users(std::string const& file);

}  // namespace sluice::tools
