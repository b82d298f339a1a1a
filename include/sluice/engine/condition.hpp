// The standard's error conditions by name, and an error that owns its text. [2.8.14-18]
#pragma once

#include <sluice/codec/performatives.hpp>
#include <sluice/export.hpp>

#include <string>

namespace sluice {

/// The composite `error` with memory of its own. An empty condition is "no error".
struct SLUICE_EXPORT amqp_error {
    std::string condition{};
    std::string description{};
    bytes info{};  ///< an encoded map, or empty

    bool empty() const noexcept { return condition.empty(); }
    /// "amqp:not-found: no such queue"
    std::string to_string() const;

    static amqp_error from(std::optional<error_view> const& view);
    /// Refers to this object's memory.
    std::optional<error_view> view() const noexcept;
};

namespace condition {
// [2.8.15]
inline constexpr char internal_error[] = "amqp:internal-error";
inline constexpr char not_found[] = "amqp:not-found";
inline constexpr char unauthorized_access[] = "amqp:unauthorized-access";
inline constexpr char decode_error[] = "amqp:decode-error";
inline constexpr char resource_limit_exceeded[] = "amqp:resource-limit-exceeded";
inline constexpr char not_allowed[] = "amqp:not-allowed";
inline constexpr char invalid_field[] = "amqp:invalid-field";
inline constexpr char not_implemented[] = "amqp:not-implemented";
inline constexpr char resource_locked[] = "amqp:resource-locked";
inline constexpr char precondition_failed[] = "amqp:precondition-failed";
inline constexpr char resource_deleted[] = "amqp:resource-deleted";
inline constexpr char illegal_state[] = "amqp:illegal-state";
inline constexpr char frame_size_too_small[] = "amqp:frame-size-too-small";
// [2.8.16]
inline constexpr char connection_forced[] = "amqp:connection:forced";
inline constexpr char framing_error[] = "amqp:connection:framing-error";
inline constexpr char connection_redirect[] = "amqp:connection:redirect";
// [2.8.17]
inline constexpr char window_violation[] = "amqp:session:window-violation";
inline constexpr char errant_link[] = "amqp:session:errant-link";
inline constexpr char handle_in_use[] = "amqp:session:handle-in-use";
inline constexpr char unattached_handle[] = "amqp:session:unattached-handle";
// [2.8.18]
inline constexpr char detach_forced[] = "amqp:link:detach-forced";
inline constexpr char transfer_limit_exceeded[] = "amqp:link:transfer-limit-exceeded";
inline constexpr char message_size_exceeded[] = "amqp:link:message-size-exceeded";
inline constexpr char link_redirect[] = "amqp:link:redirect";
inline constexpr char link_stolen[] = "amqp:link:stolen";
// [4.5.9]
inline constexpr char transaction_unknown_id[] = "amqp:transaction:unknown-id";
inline constexpr char transaction_rollback[] = "amqp:transaction:rollback";
inline constexpr char transaction_timeout[] = "amqp:transaction:timeout";
}  // namespace condition

}  // namespace sluice
