// What both engines are asked to do in engine_bench, so that they do the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::bench {

struct engine_work {
    std::size_t message_size = 64;  ///< octets of the encoded message
    bool presettled = true;         ///< else the receiver accepts and settles each delivery
};

inline constexpr std::uint32_t credit = 1000;          ///< topped up when half of it is used
inline constexpr std::size_t batch_max = 150;          ///< messages queued before octets move
inline constexpr std::size_t buffer_size = 64 * 1024;  ///< and largest frame

/// An encoded message: one data section that is filled up to `size` octets in all.
inline std::vector<std::byte> encoded_message(std::size_t size)
{
    auto const long_form = size > 5 + 255;  // vbin32 from 256 octets on
    auto const head = std::size_t{long_form ? 8u : 5u};
    auto const data = size - head;
    std::vector<unsigned> start{0x00, 0x53, 0x75, long_form ? 0xb0u : 0xa0u};
    for (auto shift = long_form ? 24 : 0; shift >= 0; shift -= 8)
        start.push_back((data >> shift) & 0xff);
    std::vector<std::byte> out;
    for (auto const octet : start) out.push_back(static_cast<std::byte>(octet));
    for (std::size_t i = 0; i < data; ++i) out.push_back(static_cast<std::byte>(i));
    return out;
}

/// What arrived, told by what a receiver has in hand: an engine that drops or cuts a message is
/// found out.
struct engine_tally {
    std::uint64_t received = 0;
    std::uint64_t octets = 0;
    std::uint64_t last_octets = 0;  ///< sum of each message's last octet
    std::uint64_t outcomes = 0;     ///< deliveries whose accepted outcome came back to the sender
};

inline void check(engine_tally const& tally, engine_work const& work, std::uint64_t messages)
{
    auto const last = std::to_integer<std::uint64_t>(encoded_message(work.message_size).back());
    auto const fail = [](char const* what, std::uint64_t actual, std::uint64_t expected) {
        throw std::runtime_error{std::string{what} + ": " + std::to_string(actual) + " instead of "
                                 + std::to_string(expected)};
    };
    if (tally.received != messages)
        fail("messages received", tally.received, messages);
    if (tally.octets != messages * work.message_size)
        fail("octets received", tally.octets, messages * work.message_size);
    if (tally.last_octets != messages * last)
        fail("sum of last octets", tally.last_octets, messages * last);
    auto const outcomes = work.presettled ? 0 : messages;
    if (tally.outcomes != outcomes)
        fail("outcomes", tally.outcomes, outcomes);
}

}  // namespace sluice::bench
