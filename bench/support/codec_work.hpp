// What the codec's benchmark encodes and decodes, the same for every implementation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::bench {

/// A message with header, properties, five application properties and 64 octets of data.
struct codec_message {
    static constexpr std::string_view message_id = "order-00004711";
    static constexpr std::string_view to = "orders.incoming";
    static constexpr std::string_view subject = "order";
    static constexpr std::string_view reply_to = "orders.replies";
    static constexpr std::string_view correlation_id = "session-17";
    static constexpr std::string_view content_type = "application/octet-stream";
    static constexpr std::int64_t creation_time = 1'700'000'000'123;
    static constexpr std::uint8_t priority = 5;
    static constexpr std::uint32_t ttl = 60'000;
    static constexpr std::string_view customer = "Ada Lovelace";
    static constexpr std::int32_t items = 1234;
    static constexpr std::int64_t total = 99'999'999'999;
    static constexpr bool express = true;
    static constexpr double weight = 12.5;
    static constexpr std::array<char, 64> data{'d', 'a', 't', 'a'};

    static std::string_view payload() noexcept { return {data.data(), data.size()}; }
};

/// What a reader adds up from all that it has read, so that no reading can be left out, and so that
/// all of them can be seen to have read the same.
struct codec_sum {
    std::uint64_t value = 0;

    // Cheap, for it is the reading that is measured.
    void add(std::uint64_t v) noexcept { value += v; }
    void add(std::string_view v) noexcept
    {
        value += v.size() + static_cast<unsigned char>(v.back());
    }
};

/// The transfer of a small presettled delivery.
struct codec_transfer {
    static constexpr std::uint32_t handle = 1;
    static constexpr std::uint32_t delivery_id = 300;
    static constexpr std::array<char, 4> tag{0, 0, 1, 44};
    static constexpr std::uint32_t message_format = 0;
};

}  // namespace sluice::bench
