// Bytes <-> the structs of this layer: one pair of functions for each composite type.
//
// Every struct of performatives.hpp, messaging.hpp and transactions.hpp has the three functions
// below (overloads, so that headers stay free of templates). The lists of fields that they run on
// are in fields.hpp.
#pragma once

#include <sluice/codec/messaging.hpp>
#include <sluice/codec/performatives.hpp>
#include <sluice/codec/scalars.hpp>
#include <sluice/codec/transactions.hpp>
#include <sluice/error.hpp>
#include <sluice/export.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Levels of compound and described values that are decoded; deeper ones are `nested_too_deep`.
inline constexpr unsigned decode_depth_max = 32;

/// Elements of an array whose elements take no octets (null, true, uint0, …); more are
/// `too_many_elements`, for five octets could claim four billion of them.
inline constexpr std::uint32_t zero_width_elements_max = 1024;

/// Where decoding failed, for the text of an error. Only filled when decoding fails.
struct SLUICE_EXPORT decode_fault {
    std::error_code code;
    std::string_view composite;   ///< such as "transfer"; static storage
    std::string_view field;       ///< such as "delivery-id"; empty if it was none
    std::size_t offset = 0;       ///< octets from the start of the input
    std::string message() const;  ///< "transfer.delivery-id at octet 7: …"
};

/// The performative or SASL frame that starts `in`, by its descriptor; 0 if there is none.
/// Symbolic descriptors ("amqp:open:list") are recognised as well and give the same number.
SLUICE_EXPORT std::uint64_t peek_descriptor(bytes_view in) noexcept;

// For each composite T (listed by the macro below):
//
// /// Decodes a T at the start of `in` and moves `in` past it. `out` refers to the input.
// /// @returns a codec error of error.hpp; then `in` is unchanged, `out` unspecified, `fault` (if
// /// given) filled.
// std::error_code decode(bytes_view& in, T& out, decode_fault* fault = nullptr) noexcept;
//
// /// An upper bound of what encode(value, out) writes.
// std::size_t encoded_size_bound(T const& value) noexcept;
//
// /// Writes the canonical (shortest) encoding.
// /// @pre `out` has encoded_size_bound(value) bytes of room.
// /// @returns the end of what was written.
// std::byte* encode(T const& value, std::byte* out) noexcept;
#define SLUICE_COMPOSITE(T)                                                                 \
    std::error_code decode(bytes_view& in, T& out, decode_fault* fault = nullptr) noexcept; \
    std::size_t encoded_size_bound(T const& value) noexcept;                                \
    std::byte* encode(T const& value, std::byte* out) noexcept;

SLUICE_COMPOSITE(open)
SLUICE_COMPOSITE(begin)
SLUICE_COMPOSITE(attach)
SLUICE_COMPOSITE(flow)
SLUICE_COMPOSITE(transfer)
SLUICE_COMPOSITE(disposition)
SLUICE_COMPOSITE(detach)
SLUICE_COMPOSITE(end)
SLUICE_COMPOSITE(close)
SLUICE_COMPOSITE(sasl_mechanisms)
SLUICE_COMPOSITE(sasl_init)
SLUICE_COMPOSITE(sasl_challenge)
SLUICE_COMPOSITE(sasl_response)
SLUICE_COMPOSITE(sasl_outcome)
SLUICE_COMPOSITE(error_view)
SLUICE_COMPOSITE(source)
SLUICE_COMPOSITE(target)
SLUICE_COMPOSITE(delete_on_close)
SLUICE_COMPOSITE(delete_on_no_links)
SLUICE_COMPOSITE(delete_on_no_messages)
SLUICE_COMPOSITE(delete_on_no_links_or_messages)
SLUICE_COMPOSITE(coordinator)
SLUICE_COMPOSITE(declare)
SLUICE_COMPOSITE(discharge)
SLUICE_COMPOSITE(header)
SLUICE_COMPOSITE(properties)

/// The state in `raw`: received, accepted, … transactional-state. Absent, null and a described type
/// that is none of them give monostate. [3.4, 4.5]
/// @returns a codec error if it is malformed.
SLUICE_EXPORT std::error_code decode(raw_value raw, delivery_state& out) noexcept;
/// Monostate is written as null.
SLUICE_EXPORT std::size_t encoded_size_bound(delivery_state const& value) noexcept;
SLUICE_EXPORT std::byte* encode(delivery_state const& value, std::byte* out) noexcept;

#undef SLUICE_COMPOSITE

/// Appends the encoding of any of the above, of a scalar, or of a `value`.
template <class T>
void append(bytes& to, T const& value)
{
    auto const before = to.size();
    to.resize(before + encoded_size_bound(value));
    auto* const end = encode(value, to.data() + before);
    to.resize(static_cast<std::size_t>(end - to.data()));
}

/// The encoding of one value, to be referred to by a `raw_value` while it lives.
template <class T>
bytes encoded(T const& value)
{
    bytes out;
    append(out, value);
    return out;
}

/// Moves `in` past one value of any type, checking sizes, counts and depth.
SLUICE_EXPORT std::error_code skip_value(bytes_view& in) noexcept;

}  // namespace sluice
