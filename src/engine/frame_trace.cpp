// Frames as readable text.
#include <sluice/engine/frame_trace.hpp>

#include <sluice/codec/codec.hpp>
#include <sluice/codec/frame.hpp>

namespace sluice::engine {

frame_trace::frame_trace(std::string prefix) : prefix_{std::move(prefix)} {}

}  // namespace sluice::engine
