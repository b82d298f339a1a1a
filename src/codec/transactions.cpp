// Encoding and decoding of what is said to the coordinator. [4.5]
#include "detail/composite.hpp"

namespace sluice {

SLUICE_DEFINE_COMPOSITE(coordinator)
SLUICE_DEFINE_COMPOSITE(declare)
SLUICE_DEFINE_COMPOSITE(discharge)

}  // namespace sluice
