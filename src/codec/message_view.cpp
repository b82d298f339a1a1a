// Sections of a message, found and checked in place. [3.2]
#include "detail/composite.hpp"

#include <sluice/codec/message_view.hpp>

namespace sluice {
namespace {

using namespace detail;

/// The low octet of the sections' descriptors, which grows in the order of the sections.
enum section_code : std::uint8_t {
    section_header = 0x70,
    section_delivery_annotations = 0x71,
    section_message_annotations = 0x72,
    section_properties = 0x73,
    section_application_properties = 0x74,
    section_data = 0x75,
    section_sequence = 0x76,
    section_value = 0x77,
    section_footer = 0x78
};

constexpr std::array<std::string_view, 9> section_names{
    "header", "delivery-annotations", "message-annotations", "properties", "application-properties",
    "data",   "amqp-sequence",        "amqp-value",          "footer"};

class message_decoder {
public:
    message_decoder(bytes_view in, message_view& out) noexcept
        : in_{in.data(), in.data() + in.size()}, out_{out}
    {
    }

    /// Moves over the next section; code_ is its descriptor, at_ where it starts.
    error next() noexcept
    {
        at_ = in_.at;
        code_ = 0;
        auto const before = last_;
        if (auto const e = read_descriptor(); e != error::none)
            return e;
        bool const repeats =
            before == code_ && (code_ == section_data || code_ == section_sequence);
        bool const body_after_body = before >= section_data && code_ <= section_value;
        if (!repeats && (code_ <= before || body_after_body))
            return error::invalid_section_order;
        last_ = code_;
        return read_content();
    }

    bool done() const noexcept { return in_.at == in_.end; }
    cursor where() const noexcept { return in_; }
    std::byte const* section_start() const noexcept { return at_; }
    std::uint8_t section() const noexcept { return code_; }

private:
    error read_descriptor() noexcept
    {
        if (in_.left() >= 3 && octet(in_.at) == code::described
            && octet(in_.at + 1) == code::smallulong) [[likely]] {
            code_ = octet(in_.at + 2);
            in_.at += 3;
        } else {
            auto const descriptor = peek_descriptor({in_.at, in_.left()});
            if (auto const c = octet(in_.at); c != code::described)
                return refuse(c);
            ++in_.at;
            if (auto const e = skip(in_, decode_depth_max); e != error::none)
                return e;
            if (descriptor > section_footer)
                return error::invalid_descriptor;
            code_ = static_cast<std::uint8_t>(descriptor);
        }
        bool const known = code_ >= section_header && code_ <= section_footer;
        return known ? error::none : error::invalid_descriptor;
    }

    error read_content() noexcept
    {
        switch (code_) {
        case section_header: return read_composite(out_.header);
        case section_delivery_annotations: return read_map(out_.delivery_annotations);
        case section_message_annotations: return read_map(out_.message_annotations);
        case section_properties: return read_composite(out_.properties);
        case section_application_properties: return read_map(out_.application_properties);
        case section_footer: return read_map(out_.footer);
        default: return read_body();
        }
    }

    template <class T>
    error read_composite(T& section) noexcept
    {
        in_.at = at_;
        return decode_composite(in_, section);
    }

    error read_map(raw_value& section) noexcept
    {
        if (in_.at == in_.end)
            return error::truncated;
        auto const c = octet(in_.at++);
        return field_codec<raw_value>::read_map(in_, c, section);
    }

    error read_body() noexcept
    {
        if (in_.at == in_.end)
            return error::truncated;
        auto const c = octet(in_.at++);
        auto e = error::none;
        if (code_ == section_data) {
            bytes_view octets;
            e = scalar_codec<bytes_view>::read(in_, c, octets);
            if (out_.body_sections == 0)
                out_.first_data = octets;
        } else if (code_ == section_sequence && c != code::list0 && c != code::list8
                   && c != code::list32) {
            e = refuse(c);
        } else {
            e = skip_rest(in_, c, decode_depth_max);
        }
        if (out_.body == body_kind::none)
            out_.encoded_body = {at_, 0};
        out_.body = code_ == section_data       ? body_kind::data
                    : code_ == section_sequence ? body_kind::sequence
                                                : body_kind::value;
        ++out_.body_sections;
        auto const* const start = out_.encoded_body.data();
        out_.encoded_body = {start, static_cast<std::size_t>(in_.at - start)};
        return e;
    }

    cursor in_;
    message_view& out_;
    std::byte const* at_ = nullptr;
    std::uint8_t code_ = 0;
    std::uint8_t last_ = 0;
};

/// Names the section, and the field if it is one of a composite.
[[gnu::noinline, gnu::cold]] void describe_fault(bytes_view encoded, message_decoder const& decoder,
                                                 error e, decode_fault& fault) noexcept
{
    auto const* const start = decoder.section_start();
    auto const offset = static_cast<std::size_t>(start - encoded.data());
    auto const code = decoder.section();
    auto rest = encoded.subspan(offset);
    fault = {make_error_code(e), "message", {}, offset};
    if (e == error::invalid_section_order || code < section_header || code > section_footer)
        return;
    if (code == section_header || code == section_properties) {
        header h;
        properties p;
        (void)(code == section_header ? decode(rest, h, &fault) : decode(rest, p, &fault));
        fault.offset += offset;
    } else {
        fault.composite = section_names[code - section_header];
        fault.offset = static_cast<std::size_t>(decoder.where().at - encoded.data());
    }
}

}  // namespace

std::error_code decode(bytes_view encoded, message_view& out, decode_fault* fault) noexcept
{
    out = {};
    message_decoder decoder{encoded, out};
    while (!decoder.done()) {
        if (auto const e = decoder.next(); e != error::none) {
            if (fault)
                describe_fault(encoded, decoder, e, *fault);
            return make_error_code(e);
        }
    }
    return {};
}

std::optional<raw_value> body_reader::next() noexcept
{
    if (rest_.empty())
        return std::nullopt;
    // Sections have been checked: a descriptor and its value.
    cursor in{rest_.data() + 1, rest_.data() + rest_.size()};
    (void)skip(in, decode_depth_max);
    auto const* const start = in.at;
    if (skip(in, decode_depth_max) != error::none)
        return std::nullopt;
    rest_ = {in.at, in.left()};
    return raw_value{{start, static_cast<std::size_t>(in.at - start)}};
}

raw_value message_view::section(body_kind kind, std::size_t i) const noexcept
{
    if (body != kind || i >= body_sections)
        return {};
    body_reader sections{*this};
    for (; i != 0; --i) (void)sections.next();
    return sections.next().value_or(raw_value{});
}

bytes_view message_view::later(std::size_t i) const noexcept
{
    return as<bytes_view>(section(body_kind::data, i)).value_or(bytes_view{});
}

std::size_t message_view::data_size() const noexcept
{
    if (body != body_kind::data)
        return 0;
    std::size_t size = 0;
    body_reader sections{*this};
    while (auto const s = sections.next()) size += as<bytes_view>(*s).value_or(bytes_view{}).size();
    return size;
}

void message_view::append_data(bytes& to) const
{
    if (body != body_kind::data)
        return;
    to.reserve(to.size() + data_size());
    body_reader sections{*this};
    while (auto const s = sections.next()) {
        auto const octets = as<bytes_view>(*s).value_or(bytes_view{});
        to.insert(to.end(), octets.begin(), octets.end());
    }
}

}  // namespace sluice
