// The coordinator and what is said to it. [4.5]
#pragma once

#include <sluice/codec/performatives.hpp>

namespace sluice {

struct coordinator {  // [4.5.1]
    symbols capabilities{};
};
struct declare {  // [4.5.2]
    raw_value global_id{};
};
struct discharge {  // [4.5.3]
    bytes_view txn_id{};
    /// Unset is as good as false by the standard; ActiveMQ Artemis 2.40.0 refuses a discharge
    /// without.
    std::optional<bool> fail{};
};

}  // namespace sluice
