// Percentiles.
#include "tools/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::tools {

void histogram::add(histogram const& other) noexcept
{
    for (std::size_t i = 0; i != size; ++i) buckets_[i] += other.buckets_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
}

std::uint64_t histogram::percentile(double fraction) const noexcept
{
    auto const wanted =
        static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != size; ++i) {
        seen += buckets_[i];
        if (seen >= wanted && seen != 0)
            return std::min(upper(i), max_);
    }
    return max_;
}

}  // namespace sluice::tools
