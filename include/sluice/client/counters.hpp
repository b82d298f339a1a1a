// Counters of a session as a value that was true at one moment.
#pragma once

#include <sluice/engine/connection.hpp>

namespace sluice::client {

using engine::connection_counters;
using engine::session_counters;

/// What the auditor of a connection has found (see connection_options::audit).
struct audit_counters {
    std::uint64_t violations = 0;
    std::uint64_t suspicious = 0;
    std::uint64_t untold = 0;  ///< of these, the ones that found no room on their way to the user
};

}  // namespace sluice::client
