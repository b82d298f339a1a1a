// The owning message: decoding, encoding, its body as text or octets.
#include "detail/value_access.hpp"

#include <sluice/codec/message.hpp>

namespace sluice {
namespace {

using namespace detail;

enum section_code : std::uint8_t {
    delivery_annotations_code = 0x71,
    message_annotations_code = 0x72,
    application_properties_code = 0x74,
    data_code = 0x75,
    sequence_code = 0x76,
    value_code = 0x77,
    footer_code = 0x78
};

constexpr std::size_t descriptor_size = 3;

std::byte* write_descriptor(std::byte* p, section_code section) noexcept
{
    return put(put(put(p, code::described), code::smallulong), section);
}

bool is_set(header const& h) noexcept
{
    return h.durable || h.priority || h.ttl || h.first_acquirer || h.delivery_count;
}

bool is_set(properties const& p) noexcept
{
    return p.message_id || p.user_id || p.to || p.subject || p.reply_to || p.correlation_id
           || !p.content_type.text.empty() || !p.content_encoding.text.empty()
           || p.absolute_expiry_time || p.creation_time || p.group_id || p.group_sequence
           || p.reply_to_group_id;
}

// ---- properties between owning and view --------------------------------------------------------

/// The view of owning properties. Fields of any type are encoded into `scratch`, which must have
/// room for them.
class properties_view {
public:
    properties_view(message_properties const& p, std::byte* scratch) noexcept : at_{scratch}
    {
        if (!p.message_id.is_null())
            view.message_id = encoded_any(p.message_id);
        if (p.user_id)
            view.user_id = *p.user_id;
        if (p.to)
            view.to = encoded_any(*p.to);
        if (p.subject)
            view.subject = *p.subject;
        if (p.reply_to)
            view.reply_to = encoded_any(*p.reply_to);
        if (!p.correlation_id.is_null())
            view.correlation_id = encoded_any(p.correlation_id);
        if (p.content_type)
            view.content_type = *p.content_type;
        if (p.content_encoding)
            view.content_encoding = *p.content_encoding;
        view.absolute_expiry_time = p.absolute_expiry_time;
        view.creation_time = p.creation_time;
        if (p.group_id)
            view.group_id = *p.group_id;
        view.group_sequence = p.group_sequence;
        if (p.reply_to_group_id)
            view.reply_to_group_id = *p.reply_to_group_id;
    }

    static std::size_t scratch_size(message_properties const& p) noexcept
    {
        return encoded_size_bound(p.message_id) + encoded_size_bound(p.correlation_id)
               + (p.to ? encoded_size_bound(*p.to) : 0)
               + (p.reply_to ? encoded_size_bound(*p.reply_to) : 0);
    }

    properties view;

private:
    template <class T>
    raw_value encoded_any(T const& v) noexcept
    {
        auto* const start = at_;
        at_ = encode(v, at_);
        return {{start, static_cast<std::size_t>(at_ - start)}};
    }

    std::byte* at_;
};

std::size_t text_bound(auto const& text) noexcept { return text ? 5 + std::size(*text) : 1; }

std::size_t bound_of(message_properties const& p) noexcept
{
    std::size_t const symbols = (p.content_type ? p.content_type->text.size() : 0)
                                + (p.content_encoding ? p.content_encoding->text.size() : 0);
    // The fields of any type are there twice: in the list, and before that as scratch behind it.
    return 64 + text_bound(p.user_id) + text_bound(p.subject) + text_bound(p.group_id)
           + text_bound(p.reply_to_group_id) + symbols + 2 * properties_view::scratch_size(p);
}

template <class Owned, class View>
void own(std::optional<Owned>& to, std::optional<View> const& from)
{
    if (from)
        to.emplace(from->begin(), from->end());
    else
        to.reset();
}

error own(value& to, raw_value from)
{
    if (!from.empty())
        return decode_checked(from, to);
    to = nullptr;
    return error::none;
}

error own(std::optional<std::string>& to, raw_value address)
{
    to.reset();
    if (address.empty())
        return error::none;
    auto const text = as<std::string_view>(address);
    if (!text)
        return error::wrong_type;
    to.emplace(*text);
    return error::none;
}

void own(std::optional<symbol_string>& to, symbol from)
{
    to.reset();
    if (!from.text.empty())
        to.emplace().text = from.text;
}

/// @returns an error with the name of its field
std::pair<error, std::string_view> own(message_properties& to, properties const& from)
{
    own(to.user_id, from.user_id);
    own(to.subject, from.subject);
    own(to.content_type, from.content_type);
    own(to.content_encoding, from.content_encoding);
    to.absolute_expiry_time = from.absolute_expiry_time;
    to.creation_time = from.creation_time;
    own(to.group_id, from.group_id);
    to.group_sequence = from.group_sequence;
    own(to.reply_to_group_id, from.reply_to_group_id);
    if (auto const e = own(to.message_id, from.message_id); e != error::none)
        return {e, "message-id"};
    if (auto const e = own(to.to, from.to); e != error::none)
        return {e, "to"};
    if (auto const e = own(to.reply_to, from.reply_to); e != error::none)
        return {e, "reply-to"};
    if (auto const e = own(to.correlation_id, from.correlation_id); e != error::none)
        return {e, "correlation-id"};
    return {error::none, {}};
}

error own_body(message& to, message_view const& from)
{
    body_reader contents{from};
    switch (from.body) {
    case body_kind::none: to.body = std::monostate{}; return error::none;
    case body_kind::value: return own(to.body.emplace<value>(), from.value());
    case body_kind::data: {
        auto& sections = to.body.emplace<data_body>().sections;
        sections.reserve(from.body_sections);
        while (auto const content = contents.next()) {
            auto const octets = as<bytes_view>(*content).value_or(bytes_view{});
            sections.emplace_back(octets.begin(), octets.end());
        }
        return error::none;
    }
    case body_kind::sequence: {
        auto& sections = to.body.emplace<sequence_body>().sections;
        while (auto const content = contents.next())
            if (auto const e = decode_checked(*content, sections.emplace_back()); e != error::none)
                return e;
        return error::none;
    }
    }
    return error::none;
}

/// Which section could not be decoded, why, and which of its fields.
struct section_fault {
    std::string_view section = {};
    error code = error::none;
    std::string_view field = {};
};

section_fault own(message& to, message_view const& from)
{
    to.header = from.header;
    if (auto const e = decode_checked(from.delivery_annotations, to.delivery_annotations);
        e != error::none)
        return {"delivery-annotations", e};
    if (auto const e = decode_checked(from.message_annotations, to.message_annotations);
        e != error::none)
        return {"message-annotations", e};
    if (auto const [e, field] = own(to.properties, from.properties); e != error::none)
        return {"properties", e, field};
    if (auto const e = decode_checked(from.application_properties, to.application_properties);
        e != error::none)
        return {"application-properties", e};
    if (auto const e = own_body(to, from); e != error::none)
        return {"body", e};
    return {"footer", decode_checked(from.footer, to.footer)};
}

// ---- encoding of sections ----------------------------------------------------------------------

std::size_t bound_of_map(value_map const& map) noexcept
{
    return map.empty() ? 0 : descriptor_size + encoded_size_bound(map);
}

std::byte* write_annotations(std::byte* p, section_code section, value_map const& map) noexcept
{
    return map.empty() ? p : encode_annotations(map, write_descriptor(p, section));
}

std::byte* write_body(std::byte* p, message const& m) noexcept
{
    if (auto const* const data = std::get_if<data_body>(&m.body)) {
        for (auto const& section : data->sections)
            p = encode(section, write_descriptor(p, data_code));
        if (!data->sections.empty())
            return p;
        return encode(bytes_view{}, write_descriptor(p, data_code));
    }
    if (auto const* const sequence = std::get_if<sequence_body>(&m.body)) {
        for (auto const& section : sequence->sections)
            p = encode(section, write_descriptor(p, sequence_code));
        if (!sequence->sections.empty())
            return p;
        return put(write_descriptor(p, sequence_code), code::list0);
    }
    p = write_descriptor(p, value_code);
    auto const* const v = m.body_value();
    return v ? encode(*v, p) : put(p, code::null);
}

}  // namespace

std::error_code decode(bytes_view encoded, message& out, decode_fault* fault)
{
    message_view view;
    if (auto const ec = decode(encoded, view, fault))
        return ec;
    auto const [section, e, field] = own(out, view);
    if (e == error::none)
        return {};
    if (fault)
        *fault = {make_error_code(e), section, field, 0};
    return make_error_code(e);
}

std::size_t encoded_size_bound(message const& m) noexcept
{
    std::size_t bound = encoded_size_bound(m.header) + bound_of_map(m.delivery_annotations)
                        + bound_of_map(m.message_annotations) + bound_of(m.properties)
                        + bound_of_map(m.application_properties) + bound_of_map(m.footer) + 16;
    if (auto const* const data = std::get_if<data_body>(&m.body))
        for (auto const& section : data->sections) bound += section.size() + 5 + descriptor_size;
    if (auto const* const sequence = std::get_if<sequence_body>(&m.body))
        for (auto const& section : sequence->sections)
            bound += encoded_size_bound(section) + descriptor_size;
    if (auto const* const v = m.body_value())
        bound += encoded_size_bound(*v);
    return bound;
}

std::byte* encode(message const& m, std::byte* out) noexcept
{
    auto* p = out;
    if (is_set(m.header))
        p = encode(m.header, p);
    p = write_annotations(p, delivery_annotations_code, m.delivery_annotations);
    p = write_annotations(p, message_annotations_code, m.message_annotations);
    // The scratch lies behind the room that the list can take.
    auto* const scratch = p + bound_of(m.properties) - properties_view::scratch_size(m.properties);
    properties_view const fields{m.properties, scratch};
    if (is_set(fields.view))
        p = encode(fields.view, p);
    if (!m.application_properties.empty())
        p = encode(m.application_properties, write_descriptor(p, application_properties_code));
    p = write_body(p, m);
    return write_annotations(p, footer_code, m.footer);
}

std::optional<bytes> message::body_bytes() const
{
    if (auto const* const data = std::get_if<data_body>(&body)) {
        bytes joined;
        for (auto const& section : data->sections)
            joined.insert(joined.end(), section.begin(), section.end());
        return joined;
    }
    if (auto const* const v = body_value())
        if (auto const* const octets = v->get_if<bytes>())
            return *octets;
    return std::nullopt;
}

std::optional<std::string> message::body_text() const
{
    if (auto const* const v = body_value()) {
        auto const* const text = v->get_if<std::string>();
        return text ? std::optional{*text} : std::nullopt;
    }
    auto const octets = body_bytes();
    if (!octets || !is_utf8(octets->data(), octets->size()))
        return std::nullopt;
    return std::string{as_chars(*octets)};
}

bool operator==(message const& a, message const& b)
{
    auto const tie = [](header const& h) {
        return std::tie(h.durable, h.priority, h.ttl, h.first_acquirer, h.delivery_count);
    };
    return tie(a.header) == tie(b.header) && a.delivery_annotations == b.delivery_annotations
           && a.message_annotations == b.message_annotations && a.properties == b.properties
           && a.application_properties == b.application_properties && a.body == b.body
           && a.footer == b.footer;
}

}  // namespace sluice
