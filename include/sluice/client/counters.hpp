// Counters of a session as a value that was true at one moment.
#pragma once

#include <sluice/engine/connection.hpp>

namespace sluice::client {

using engine::connection_counters;
using engine::session_counters;

}  // namespace sluice::client
