// The owning message: text for traces.
#include <sluice/codec/message.hpp>

namespace sluice {
namespace {

class message_text {
public:
    explicit message_text(message const& m)
    {
        add_header(m.header);
        add_map("delivery-annotations", m.delivery_annotations);
        add_map("message-annotations", m.message_annotations);
        add_properties(m.properties);
        add_map("application-properties", m.application_properties);
        add_body(m);
        add_map("footer", m.footer);
    }

    std::string take() noexcept { return std::move(text_); }

private:
    void section(std::string_view name)
    {
        if (!text_.empty())
            text_ += ' ';
        text_.append(name) += ' ';
    }

    template <class T>
    void field(std::string_view name, std::optional<T> const& v)
    {
        if (v)
            field_value(name, value{*v});
    }

    void field_value(std::string_view name, value const& v)
    {
        if (v.is_null())
            return;
        fields_.add(symbol{name}, v);
    }

    /// Writes what was gathered by field(), as `name {:field: value, …}`.
    void finish_fields(std::string_view name)
    {
        add_map(name, fields_);
        fields_.clear();
    }

    void add_map(std::string_view name, value_map const& map)
    {
        if (map.empty())
            return;
        section(name);
        text_ += to_string(value{map});
    }

    void add_header(header const& h)
    {
        field("durable", h.durable);
        field("priority", h.priority);
        field("ttl", h.ttl);
        field("first-acquirer", h.first_acquirer);
        field("delivery-count", h.delivery_count);
        finish_fields("header");
    }

    void add_properties(message_properties const& p)
    {
        field_value("message-id", p.message_id);
        field("user-id", p.user_id);
        field("to", p.to);
        field("subject", p.subject);
        field("reply-to", p.reply_to);
        field_value("correlation-id", p.correlation_id);
        field("content-type", p.content_type);
        field("content-encoding", p.content_encoding);
        field("absolute-expiry-time", p.absolute_expiry_time);
        field("creation-time", p.creation_time);
        field("group-id", p.group_id);
        field("group-sequence", p.group_sequence);
        field("reply-to-group-id", p.reply_to_group_id);
        finish_fields("properties");
    }

    void add_body(message const& m)
    {
        if (auto const* const data = std::get_if<data_body>(&m.body)) {
            for (auto const& octets : data->sections) {
                section("data");
                text_ += to_string(value{octets});
            }
        } else if (auto const* const sequence = std::get_if<sequence_body>(&m.body)) {
            for (auto const& list : sequence->sections) {
                section("amqp-sequence");
                text_ += to_string(value{list});
            }
        } else if (auto const* const v = m.body_value()) {
            section("amqp-value");
            text_ += to_string(*v);
        }
    }

    std::string text_;
    value_map fields_;
};

}  // namespace

std::string to_string(message const& m) { return message_text{m}.take(); }

}  // namespace sluice
