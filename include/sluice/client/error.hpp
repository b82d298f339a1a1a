// Why something ended: a code, the peer's condition, and a sentence for people.
#pragma once

#include <sluice/engine/condition.hpp>
#include <sluice/net/error.hpp>

#include <memory>

namespace sluice::client {

using error_code = net::error_code;

/// Why a connection, session or link ended or a call failed. Immutable once made.
struct failure {
    std::error_code code;  ///< none after a clean end by ourselves
    amqp_error error;      ///< the peer's condition, or ours; empty if there is none
    std::string text;  ///< what failed, such as "session ended: amqp:session:window-violation: ..."
};

/// Shared, since one cause ends many calls. Null: nothing has failed.
using failure_ptr = std::shared_ptr<failure const>;

}  // namespace sluice::client
