// A message that owns what it holds: easy to fill, easy to read. [3.2]
#pragma once

#include <sluice/codec/message_view.hpp>
#include <sluice/codec/value.hpp>
#include <sluice/export.hpp>

namespace sluice {

/// Section `properties`, owning. What is unset is not sent. [3.2.4]
struct message_properties {
    value message_id{};  ///< a ulong, uuid, binary or string; null if unset
    std::optional<bytes> user_id{};
    std::optional<std::string> to{};
    std::optional<std::string> subject{};
    std::optional<std::string> reply_to{};
    value correlation_id{};  ///< as message_id
    std::optional<symbol_string> content_type{};
    std::optional<symbol_string> content_encoding{};
    std::optional<timestamp> absolute_expiry_time{};
    std::optional<timestamp> creation_time{};
    std::optional<std::string> group_id{};
    std::optional<std::uint32_t> group_sequence{};
    std::optional<std::string> reply_to_group_id{};

    friend bool operator==(message_properties const&, message_properties const&) = default;
};

/// The content of data sections, each kept apart. [3.2.6]
struct data_body {
    std::vector<bytes> sections{};
    friend bool operator==(data_body const&, data_body const&) = default;
};

/// The lists of amqp-sequence sections, each kept apart. [3.2.7]
struct sequence_body {
    std::vector<value_list> sections{};
    friend bool operator==(sequence_body const&, sequence_body const&) = default;
};

/// A message. Distinct objects: safe to use concurrently. Shared object: unsafe.
///
///     message m{"hello"};
///     m.properties.subject = "greeting";
///     m.application_properties["k"] = 5;
///
/// Where every nanosecond counts, write with message_writer and read with message_view.
struct SLUICE_EXPORT message {
    sluice::header header{};
    value_map delivery_annotations{};
    value_map message_annotations{};
    message_properties properties{};
    value_map application_properties{};
    /// Data, sequences, one value, or (monostate) none yet, which is sent as the value null.
    std::variant<std::monostate, data_body, sequence_body, value> body{};
    value_map footer{};

    message() = default;
    /// The body is one value: a string, a number, a map, …
    explicit message(value v) : body{std::move(v)} {}
    explicit message(std::nullptr_t) : body{value{}} {}
    explicit message(char const* text) : body{value{text}} {}
    explicit message(std::string text) : body{value{std::move(text)}} {}
    explicit message(std::string_view text) : body{value{text}} {}
    /// The body is one data section.
    explicit message(bytes data) { body.emplace<data_body>().sections.push_back(std::move(data)); }
    explicit message(bytes_view data) : message{bytes(data.begin(), data.end())} {}

    body_kind kind() const noexcept { return static_cast<body_kind>(body.index()); }
    /// The body if it is one string, or the octets of its data sections if they are UTF-8 together.
    std::optional<std::string> body_text() const;
    /// The octets of all data sections together, or the body if it is one binary.
    std::optional<bytes> body_bytes() const;
    /// The body if it is one value; nullptr if it is of another kind.
    value const* body_value() const noexcept { return std::get_if<value>(&body); }

    friend SLUICE_EXPORT bool operator==(message const& a, message const& b);
};

/// Decodes all of `encoded` as one message. Memory stays in proportion to the input.
/// @returns a codec error of error.hpp as for message_view, also for a content that its type does
///     not allow; then `out` is unspecified, and `fault` (if given) says where.
SLUICE_EXPORT std::error_code decode(bytes_view encoded, message& out,
                                     decode_fault* fault = nullptr);

/// An upper bound of what encode(m, out) writes.
SLUICE_EXPORT std::size_t encoded_size_bound(message const& m) noexcept;

/// Writes the shortest encoding; sections in which nothing is set are left out. Annotations whose
/// keys are strings are written with symbols as keys.
/// @pre `out` has encoded_size_bound(m) bytes of room.
/// @returns the end of what was written.
SLUICE_EXPORT std::byte* encode(message const& m, std::byte* out) noexcept;

/// Appends the encoding to a buffer.
inline void encode(message const& m, bytes& to) { append(to, m); }

/// Readable text for traces: sections that are set, one after the other.
SLUICE_EXPORT std::string to_string(message const& m);

}  // namespace sluice
