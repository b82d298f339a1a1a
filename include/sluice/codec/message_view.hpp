// An encoded message looked at in place. [3.2]
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/reader.hpp>
#include <sluice/export.hpp>

namespace sluice {

/// What the body of a message consists of. [3.2.6-8]
enum class body_kind : std::uint8_t { none, data, sequence, value };

/// All sections of an encoded message; refers to the bytes that it was decoded from.
///
/// Sections that the message does not have are as if all their fields were unset.
struct SLUICE_EXPORT message_view {
    sluice::header header{};
    raw_value delivery_annotations{};  ///< a map; read it with map_reader
    raw_value message_annotations{};   ///< a map
    sluice::properties properties{};
    raw_value application_properties{};  ///< a map
    raw_value footer{};                  ///< a map

    body_kind body = body_kind::none;
    std::uint32_t body_sections = 0;  ///< one, or for data and sequence one or more
    bytes_view encoded_body{};        ///< all body sections, one after the other
    bytes_view first_data{};          ///< the content of the first data section

    /// The octets of the data sections together.
    std::size_t data_size() const noexcept;
    /// Appends the content of all data sections.
    void append_data(bytes& to) const;
    /// The content of the i-th data section; empty if there is none. To visit many sections, use a
    /// body_reader: this one starts at the first each time.
    bytes_view data(std::size_t i = 0) const noexcept { return i == 0 ? first_data : later(i); }
    /// The i-th amqp-sequence; absent if there is none.
    raw_value sequence(std::size_t i = 0) const noexcept { return section(body_kind::sequence, i); }
    /// The amqp-value; absent if the body is none.
    raw_value value() const noexcept { return section(body_kind::value, 0); }

private:
    bytes_view later(std::size_t i) const noexcept;
    raw_value section(body_kind kind, std::size_t i) const noexcept;
};

/// Reads the contents of the body's sections one after the other: binaries, lists, or one value.
///
///     for (body_reader body{message}; auto const section = body.next();) use(*section);
class SLUICE_EXPORT body_reader {
public:
    explicit body_reader(message_view const& m) noexcept : rest_{m.encoded_body} {}

    /// The next section's content; nullopt after the last.
    std::optional<raw_value> next() noexcept;

private:
    bytes_view rest_;
};

/// Decodes all of `encoded` as one message. Zero-copy, allocates nothing.
/// @returns a codec error of error.hpp, among them invalid_section_order for sections that are out
///     of order, there twice, or for a body of several kinds; then `out` is unspecified, and
///     `fault` (if given) says where.
SLUICE_EXPORT std::error_code decode(bytes_view encoded, message_view& out,
                                     decode_fault* fault = nullptr) noexcept;

}  // namespace sluice
