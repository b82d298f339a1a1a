// What can go wrong with a channel, beside what can go wrong with its connection.
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>
#include <sluice/net/error.hpp>

#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sluice::channels {

/// Append-only: values are stable ABI. The connection's own errors come as sluice::error.
enum class errc {
    channel_closed = 1,         ///< A send to a channel that is closed.
    channel_destroyed = 2,      ///< The channel is gone, with what was in it.
    channel_stopped = 3,        ///< This handle was stopped, by whoever holds a copy of it.
    expired = 4,                ///< An acknowledgement that comes too late: the value went back.
    mismatch = 5,               ///< The channel exists with other options; the text has both.
    not_found = 6,              ///< There is no such channel, and `create` is false.
    not_allowed = 7,            ///< The node does not let this user do so.
    limit = 8,                  ///< A limit of the node; the text says which.
    malformed = 9,              ///< The node did not understand the request; the text says what.
    undecodable = 10,           ///< A value that the codec does not take; it was rejected.
    other_connection = 11,      ///< A select over channels of several connections.
    at_most_once_refused = 12,  ///< at_most_once with what needs acknowledgements.
    not_a_node = 13,            ///< The peer has no channels.
    protocol_broken = 14,       ///< The node sent what no node should.
    handler_failed = 15,        ///< A handler of a select threw.
};

/// The category named "sluice.channel". Messages say what was wrong and what to do.
SLUICE_EXPORT std::error_category const& category() noexcept;

inline std::error_code make_error_code(errc e) noexcept
{
    return {static_cast<int>(e), category()};
}

/// Thrown by blocking receives for a value that the codec does not take. The value was rejected: it
/// is with the dead letters, if the channel has a queue for them, and does not come again.
class SLUICE_EXPORT undecodable_value : public boost::system::system_error {
public:
    undecodable_value(bytes octets, std::string const& what);
    ~undecodable_value() override;
    /// As they were sent.
    bytes const& octets() const noexcept { return octets_; }

private:
    bytes octets_;
};

}  // namespace sluice::channels

template <>
struct std::is_error_code_enum<sluice::channels::errc> : std::true_type {};
