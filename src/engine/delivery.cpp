// What encoded delivery states say.
#include <sluice/codec/codec.hpp>
#include <sluice/engine/delivery.hpp>

namespace sluice::engine {

outcome_kind kind_of(raw_value state) noexcept
{
    if (state.empty())
        return outcome_kind::none;
    switch (peek_descriptor(state.encoded)) {
    case 0x23: return outcome_kind::received;
    case 0x24: return outcome_kind::accepted;
    case 0x25: return outcome_kind::rejected;
    case 0x26: return outcome_kind::released;
    case 0x27: return outcome_kind::modified;
    case 0x33: return outcome_kind::declared;
    case 0x34: return outcome_kind::transactional;
    default: return outcome_kind::unknown;
    }
}

raw_value outgoing_delivery::remote_state() const noexcept
{
    if (remote_state_.empty() && outcome_ == outcome_kind::accepted)
        return {encoded_accepted};
    return {remote_state_};
}

}  // namespace sluice::engine
