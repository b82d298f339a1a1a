// A file that is there once all of it has come, and not before.
#pragma once

#include <sluice/client/delivery.hpp>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace sluice::tools {

/// Written as NAME.part and given its name by keep(). What exists and is no regular file (a pipe, a
/// device) is written to as it is. Not thread-safe.
class received_file {
public:
    /// "{}" in a pattern is the message's number, from 1.
    static std::string name_of(std::string const& pattern, std::uint64_t number);

    /// @param name empty: standard output @throws std::system_error that names it
    explicit received_file(std::string name);
    ~received_file();  ///< removes what keep() was not called for
    received_file(received_file const&) = delete;
    received_file& operator=(received_file const&) = delete;

    void write(bytes_view octets);
    void keep();

private:
    std::string name_;
    std::string part_;    // empty: written in place
    int descriptor_ = 1;  // standard output
};

/// A message without a body of octets.
struct unwanted_body : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads a streamed delivery to its end and writes its body.
/// @param seen called now and then with the octets so far
/// @returns how many octets
/// @throws boost::system::system_error if the delivery ends early, std::system_error if writing
///     fails, unwanted_body
std::uint64_t copy_body(client::delivery const& from, received_file& to,
                        std::function<void(std::uint64_t)> const& seen);

}  // namespace sluice::tools
