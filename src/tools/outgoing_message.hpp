// The messages that `sluice send` sends: everything but where their bodies come from.
#pragma once

#include <sluice/codec/message.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tools {

/// What each message has beside its body. "{}" in the message id is replaced by the message's
/// number, from 1.
struct outgoing_sections {
    header head{};
    message_properties properties{};
    std::string message_id{};
    std::vector<std::pair<std::string, value>> application_properties{};
};

/// Encodes messages with the same sections. Not thread-safe.
class outgoing_encoder {
public:
    explicit outgoing_encoder(outgoing_sections sections);

    /// The sections before the body of message `number`, encoded.
    bytes head(std::uint64_t number) const;
    /// A message whose body is a string, or one data section if `text` is not UTF-8.
    bytes with_text(std::uint64_t number, std::string_view text) const;
    bytes with_data(std::uint64_t number, bytes_view data) const;
    /// What stands before `size` octets of a data section that is written in parts. @pre it is less
    /// than 2^32
    static bytes data_section_header(std::uint64_t size);

private:
    bytes encode(std::uint64_t number) const;

    outgoing_sections sections_;
    bytes same_;  // the head, if it is the same for all
};

}  // namespace sluice::tools
