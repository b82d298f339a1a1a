// The codec benchmark's work done by our codec: typed access in place, and the owning message.
#pragma once

#include "codec_work.hpp"

#include <sluice/codec/message.hpp>
#include <sluice/codec/message_writer.hpp>

namespace sluice::bench {

inline bytes_view codec_as_bytes(std::string_view text) { return std::as_bytes(std::span{text}); }

class sluice_transfer_codec {
public:
    sluice_transfer_codec() { encode(); }

    void encode()
    {
        size_ = static_cast<std::size_t>(
            sluice::encode(transfer{.handle = handle{codec_transfer::handle},
                                    .delivery_id = delivery_number{codec_transfer::delivery_id},
                                    .delivery_tag = std::as_bytes(std::span{codec_transfer::tag}),
                                    .message_format = codec_transfer::message_format,
                                    .settled = true},
                           buffer_.data())
            - buffer_.data());
    }

    std::uint64_t decode()
    {
        bytes_view in{buffer_.data(), size_};
        transfer t;
        codec_sum sum;
        if (sluice::decode(in, t))
            return 0;
        sum.add(t.handle.value);
        sum.add(t.delivery_id->value());
        sum.add(detail::as_chars(*t.delivery_tag));
        sum.add(*t.message_format);
        sum.add(*t.settled);
        return sum.value;
    }

private:
    std::array<std::byte, 128> buffer_{};
    std::size_t size_ = 0;
};

/// Written section by section, read in place.
class sluice_view_codec {
public:
    sluice_view_codec() { encode(); }

    void encode()
    {
        using m = codec_message;
        std::byte id[32], to[32], reply_to[32], correlation[32];
        buffer_.clear();
        message_writer{buffer_}
            .header({.durable = true, .priority = m::priority, .ttl = m::ttl})
            .properties({.message_id = encode_at(id, m::message_id),
                         .to = encode_at(to, m::to),
                         .subject = m::subject,
                         .reply_to = encode_at(reply_to, m::reply_to),
                         .correlation_id = encode_at(correlation, m::correlation_id),
                         .content_type = m::content_type,
                         .creation_time = timestamp{m::creation_time}})
            .application_property("customer", m::customer)
            .application_property("items", m::items)
            .application_property("total", m::total)
            .application_property("express", m::express)
            .application_property("weight", m::weight)
            .data(m::payload());
    }

    std::uint64_t decode() const
    {
        message_view m;
        if (sluice::decode(buffer_, m))
            return 0;
        codec_sum sum;
        sum.add(m.header.is_durable());
        sum.add(m.header.effective_priority());
        sum.add(*m.header.ttl);
        auto const text = [](raw_value raw) { return *as<std::string_view>(raw); };
        sum.add(text(m.properties.message_id));
        sum.add(text(m.properties.to));
        sum.add(*m.properties.subject);
        sum.add(text(m.properties.reply_to));
        sum.add(text(m.properties.correlation_id));
        sum.add(m.properties.content_type.text);
        sum.add(static_cast<std::uint64_t>(m.properties.creation_time->milliseconds));
        map_reader map{m.application_properties};
        auto const next = [&]() __attribute__((always_inline))
        {
            auto const entry = map.next();
            sum.add(entry->name());
            return entry->value;
        };
        sum.add(text(next()));
        sum.add(static_cast<std::uint64_t>(*as<std::int32_t>(next())));
        sum.add(static_cast<std::uint64_t>(*as<std::int64_t>(next())));
        sum.add(*as<bool>(next()));
        sum.add(static_cast<std::uint64_t>(*as<double>(next())));
        sum.add(detail::as_chars(m.data()));
        return sum.value;
    }

private:
    bytes buffer_;
};

/// Filled into, and read from, a message that owns what it holds.
class sluice_message_codec {
public:
    sluice_message_codec() { encode(); }

    void encode()
    {
        using m = codec_message;
        message out{codec_as_bytes(m::payload())};
        out.header = {.durable = true, .priority = m::priority, .ttl = m::ttl};
        out.properties.message_id = m::message_id;
        out.properties.to = m::to;
        out.properties.subject = m::subject;
        out.properties.reply_to = m::reply_to;
        out.properties.correlation_id = m::correlation_id;
        out.properties.content_type = symbol_string{std::string{m::content_type}};
        out.properties.creation_time = timestamp{m::creation_time};
        out.application_properties["customer"] = m::customer;
        out.application_properties["items"] = m::items;
        out.application_properties["total"] = m::total;
        out.application_properties["express"] = m::express;
        out.application_properties["weight"] = m::weight;
        buffer_.clear();
        sluice::encode(out, buffer_);
    }

    std::uint64_t decode() const
    {
        message m;
        if (sluice::decode(buffer_, m))
            return 0;
        codec_sum sum;
        sum.add(m.header.is_durable());
        sum.add(m.header.effective_priority());
        sum.add(*m.header.ttl);
        sum.add(*m.properties.message_id.text());
        sum.add(*m.properties.to);
        sum.add(*m.properties.subject);
        sum.add(*m.properties.reply_to);
        sum.add(*m.properties.correlation_id.text());
        sum.add(m.properties.content_type->text);
        sum.add(static_cast<std::uint64_t>(m.properties.creation_time->milliseconds));
        for (auto const& [key, content] : m.application_properties) {
            sum.add(*key.text());
            if (auto const t = content.text())
                sum.add(*t);
            else if (auto const i = content.integer())
                sum.add(static_cast<std::uint64_t>(*i));
            else if (auto const* const b = content.get_if<bool>())
                sum.add(*b);
            else
                sum.add(static_cast<std::uint64_t>(*content.get_if<double>()));
        }
        sum.add(detail::as_chars(std::get<data_body>(m.body).sections.front()));
        return sum.value;
    }

private:
    bytes buffer_;
};

}  // namespace sluice::bench
