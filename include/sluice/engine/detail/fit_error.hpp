// Keeps an error of ours within the frame that will carry it.
#pragma once

#include <sluice/engine/condition.hpp>
#include <sluice/export.hpp>

#include <cstdint>

namespace sluice::engine::detail {

/// Drops `info` and cuts the description (between characters) where the error would not fit a
/// frame.
SLUICE_EXPORT void fit(amqp_error& why, std::uint32_t frame_max);

}  // namespace sluice::engine::detail
