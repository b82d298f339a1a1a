// Durations, counted by size, for percentiles.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace sluice::tools {

/// Counts values of up to 2^40 in buckets that are at most 1/32 of their value wide, so that a
/// percentile is right within 3 %. Allocates nothing. Not thread-safe.
class histogram {
public:
    void add(std::uint64_t value) noexcept
    {
        ++buckets_[index(value)];
        ++count_;
        max_ = value > max_ ? value : max_;
    }
    void add(histogram const& other) noexcept;

    std::uint64_t count() const noexcept { return count_; }
    std::uint64_t max() const noexcept { return max_; }
    /// The value that `fraction` of all values do not exceed; 0 without any.
    std::uint64_t percentile(double fraction) const noexcept;

private:
    static constexpr unsigned sub_bits = 5;
    static constexpr unsigned value_bits = 40;
    static constexpr std::size_t size = (value_bits - sub_bits + 1) << sub_bits;

    /// Values below 32 each have a bucket; above, the leading six bits say which.
    static constexpr std::size_t index(std::uint64_t value) noexcept
    {
        constexpr auto value_max = (std::uint64_t{1} << value_bits) - 1;
        value = value < value_max ? value : value_max;
        if (value < (1u << sub_bits))
            return static_cast<std::size_t>(value);
        auto const shift = static_cast<unsigned>(std::bit_width(value)) - sub_bits - 1;
        return (std::size_t{shift} << sub_bits) + static_cast<std::size_t>(value >> shift);
    }
    /// The greatest value of a bucket.
    static constexpr std::uint64_t upper(std::size_t i) noexcept
    {
        if (i < (1u << sub_bits))
            return i;
        auto const shift = (i >> sub_bits) - 1;
        return (((i & ((1u << sub_bits) - 1)) + (1u << sub_bits) + 1) << shift) - 1;
    }

    std::array<std::uint64_t, size> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace sluice::tools
