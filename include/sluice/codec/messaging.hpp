// Source, target, delivery states and the message sections that have fields. [3.2, 3.4, 3.5]
#pragma once

#include <sluice/codec/performatives.hpp>

#include <variant>

namespace sluice {

enum class terminus_durability : std::uint32_t { none = 0, configuration = 1, unsettled_state = 2 };

struct source {           // [3.5.3]
    raw_value address{};  ///< usually a string; absent together with dynamic = true
    terminus_durability durable = terminus_durability::none;
    symbol expiry_policy = "session-end";
    std::uint32_t timeout = 0;  ///< seconds
    bool dynamic = false;
    raw_value dynamic_node_properties{};
    symbol distribution_mode{};  ///< "move", "copy" or absent
    raw_value filter{};
    raw_value default_outcome{};
    symbols outcomes{};
    symbols capabilities{};
};

struct target {  // [3.5.4]
    raw_value address{};
    terminus_durability durable = terminus_durability::none;
    symbol expiry_policy = "session-end";
    std::uint32_t timeout = 0;  ///< seconds
    bool dynamic = false;
    raw_value dynamic_node_properties{};
    symbols capabilities{};
};

// When a dynamic node goes away: the values of the node property "lifetime-policy". [3.5.10-13]
struct delete_on_close {};
struct delete_on_no_links {};
struct delete_on_no_messages {};
struct delete_on_no_links_or_messages {};

struct received {  // [3.4.1]
    std::uint32_t section_number = 0;
    std::uint64_t section_offset = 0;
};
struct accepted {};  // [3.4.2]
struct rejected {    // [3.4.3]
    std::optional<error_view> error{};
};
struct released {};  // [3.4.4]
struct modified {    // [3.4.5]
    std::optional<bool> delivery_failed{};
    std::optional<bool> undeliverable_here{};
    raw_value message_annotations{};
};
struct declared {  // [4.5.7]
    bytes_view txn_id{};
};
struct transactional_state {  // [4.5.8]
    bytes_view txn_id{};
    raw_value outcome{};
};

/// The state of a delivery at one end; monostate where there is none, or one of another standard.
using delivery_state = std::variant<std::monostate, received, accepted, rejected, released,
                                    modified, declared, transactional_state>;

/// `accepted` as encoded: what nearly every disposition carries.
inline constexpr std::array<std::byte, 4> encoded_accepted{std::byte{0x00}, std::byte{0x53},
                                                           std::byte{0x24}, std::byte{0x45}};

/// Section `header`. Unset fields are not sent; the accessors give what the standard says they
/// mean. [3.2.1]
struct header {
    std::optional<bool> durable{};
    std::optional<std::uint8_t> priority{};
    std::optional<std::uint32_t> ttl{};  ///< milliseconds
    std::optional<bool> first_acquirer{};
    std::optional<std::uint32_t> delivery_count{};

    bool is_durable() const noexcept { return durable.value_or(false); }
    std::uint8_t effective_priority() const noexcept { return priority.value_or(4); }
    bool is_first_acquirer() const noexcept { return first_acquirer.value_or(false); }
    std::uint32_t prior_deliveries() const noexcept { return delivery_count.value_or(0); }
};

/// Section `properties`. [3.2.4]
struct properties {
    raw_value message_id{};  ///< ulong, uuid, binary or string
    std::optional<bytes_view> user_id{};
    raw_value to{};
    std::optional<std::string_view> subject{};
    raw_value reply_to{};
    raw_value correlation_id{};
    symbol content_type{};
    symbol content_encoding{};
    std::optional<timestamp> absolute_expiry_time{};
    std::optional<timestamp> creation_time{};
    std::optional<std::string_view> group_id{};
    std::optional<std::uint32_t> group_sequence{};
    std::optional<std::string_view> reply_to_group_id{};
};

}  // namespace sluice
