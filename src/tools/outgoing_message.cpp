// Encoding what is sent: the sections that all messages share, then a body.
#include "tools/outgoing_message.hpp"

#include "tools/json_text.hpp"

#include <sluice/codec/message_writer.hpp>

namespace sluice::tools {
namespace {

constexpr std::string_view number_mark = "{}";

void append_section(bytes& to, std::uint8_t code, auto const& content)
{
    for (auto const octet : {std::uint8_t{0x00}, std::uint8_t{0x53}, code})
        to.push_back(std::byte{octet});
    append(to, content);
}

}  // namespace

outgoing_encoder::outgoing_encoder(outgoing_sections sections) : sections_{std::move(sections)}
{
    if (sections_.message_id.find(number_mark) == std::string::npos)
        same_ = encode(0);
}

bytes outgoing_encoder::encode(std::uint64_t number) const
{
    message m;
    m.header = sections_.head;
    m.properties = sections_.properties;
    if (!sections_.message_id.empty()) {
        auto id = sections_.message_id;
        if (auto const at = id.find(number_mark); at != id.npos)
            id.replace(at, number_mark.size(), std::to_string(number));
        m.properties.message_id = std::move(id);
    }
    for (auto const& [name, content] : sections_.application_properties)
        m.application_properties[name] = content;
    m.body = value{};  // the shortest, which is cut off again
    bytes out;
    sluice::encode(m, out);
    constexpr std::size_t null_body_size = 4;  // descriptor and 0x40
    out.resize(out.size() - null_body_size);
    return out;
}

bytes outgoing_encoder::head(std::uint64_t number) const
{
    return sections_.message_id.find(number_mark) == std::string::npos ? same_ : encode(number);
}

bytes outgoing_encoder::with_text(std::uint64_t number, std::string_view text) const
{
    if (!is_utf8(text))
        return with_data(number, std::as_bytes(std::span{text}));
    auto out = head(number);
    append_section(out, 0x77, text);
    return out;
}

bytes outgoing_encoder::with_data(std::uint64_t number, bytes_view data) const
{
    auto out = head(number);
    append_section(out, 0x75, data);
    return out;
}

bytes outgoing_encoder::data_section_header(std::uint64_t size)
{
    bytes out;
    for (auto const octet : {0x00u, 0x53u, 0x75u, 0xb0u}) out.push_back(std::byte(octet));
    for (auto shift = 32u; shift != 0;) {
        shift -= 8;
        out.push_back(std::byte(size >> shift & 0xff));
    }
    return out;
}

}  // namespace sluice::tools
