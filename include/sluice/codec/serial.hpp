// Serial numbers that wrap: transfer-ids, delivery-ids, delivery-counts. [2.8.10, RFC 1982]
#pragma once

#include <cstdint>

namespace sluice {

/// A 32-bit RFC 1982 serial number. Has no `operator<`: ask `precedes`, which is not transitive.
template <class Tag>
class serial {
public:
    constexpr serial() noexcept = default;
    constexpr explicit serial(std::uint32_t value) noexcept : value_{value} {}

    constexpr std::uint32_t value() const noexcept { return value_; }

    constexpr serial& operator++() noexcept
    {
        ++value_;  // unsigned: wraps to 0 after 2^32 - 1, as the standard wants
        return *this;
    }
    constexpr serial& operator+=(std::uint32_t n) noexcept
    {
        value_ += n;
        return *this;
    }
    friend constexpr serial operator+(serial a, std::uint32_t n) noexcept
    {
        return serial{a.value_ + n};
    }
    friend constexpr serial operator-(serial a, std::uint32_t n) noexcept
    {
        return serial{a.value_ - n};
    }

    /// How far `a` is ahead of `b`; negative if it is behind. Exact within half the circle.
    friend constexpr std::int32_t distance(serial b, serial a) noexcept
    {
        return static_cast<std::int32_t>(a.value_ - b.value_);
    }
    /// Serially before: 2^32 - 1 precedes 0.
    friend constexpr bool precedes(serial a, serial b) noexcept { return distance(a, b) > 0; }

    friend constexpr bool operator==(serial, serial) noexcept = default;

private:
    std::uint32_t value_ = 0;
};

using transfer_id = serial<struct transfer_id_tag>;      ///< One a transfer frame. [2.5.6]
using delivery_number = serial<struct delivery_id_tag>;  ///< The delivery-id. [2.7.5]
using sequence_number = serial<struct sequence_tag>;     ///< A delivery-count. [2.6.7]

}  // namespace sluice
