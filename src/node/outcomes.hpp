// Delivery states as this node says them, encoded. [3.4]
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/engine/condition.hpp>
#include <sluice/engine/receiver.hpp>

#include <tuple>

namespace sluice::node::detail {

inline bytes encoded_rejected(amqp_error const& why)
{
    return encoded(delivery_state{rejected{.error = why.view()}});
}

/// With the condition alone where the rest fits no frame of the peer's.
inline void reject(engine::receiver& r, engine::incoming_delivery& d, amqp_error const& why)
{
    if (r.settle(d, {encoded_rejected(why)}) == error::too_large)
        std::ignore = r.settle(
            d, {encoded_rejected({.condition = why.condition, .description = {}, .info = {}})});
}

inline bytes encoded_released() { return encoded(delivery_state{released{}}); }

}  // namespace sluice::node::detail
