// Encoding and decoding of the performatives and SASL frames. [2.7, 5.3.3]
#include "detail/composite.hpp"

namespace sluice {

SLUICE_DEFINE_COMPOSITE(open)
SLUICE_DEFINE_COMPOSITE(begin)
SLUICE_DEFINE_COMPOSITE(attach)
SLUICE_DEFINE_COMPOSITE(flow)
SLUICE_DEFINE_COMPOSITE(transfer)
SLUICE_DEFINE_COMPOSITE(disposition)
SLUICE_DEFINE_COMPOSITE(detach)
SLUICE_DEFINE_COMPOSITE(end)
SLUICE_DEFINE_COMPOSITE(close)
SLUICE_DEFINE_COMPOSITE(error_view)
SLUICE_DEFINE_COMPOSITE(sasl_mechanisms)
SLUICE_DEFINE_COMPOSITE(sasl_init)
SLUICE_DEFINE_COMPOSITE(sasl_challenge)
SLUICE_DEFINE_COMPOSITE(sasl_response)
SLUICE_DEFINE_COMPOSITE(sasl_outcome)

}  // namespace sluice
