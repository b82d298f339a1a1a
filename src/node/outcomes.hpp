// Delivery states as this node says them, encoded. [3.4]
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/engine/condition.hpp>

namespace sluice::node::detail {

inline bytes encoded_rejected(amqp_error const& why)
{
    return encoded(delivery_state{rejected{.error = why.view()}});
}

inline bytes encoded_released() { return encoded(delivery_state{released{}}); }

}  // namespace sluice::node::detail
