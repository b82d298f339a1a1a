// Encoding a message section by section straight into a buffer. [3.2]
#pragma once

#include <sluice/codec/writer.hpp>

#include <cassert>

namespace sluice {

/// Appends an encoded message to a buffer: the fast way, without a `message`.
///
/// Call what is needed in the order of the declarations; data() and sequence() may be called again.
/// A message needs a body: at least one data or sequence section, or one value.
///
///     message_writer{to}.header({.durable = true}).application_property("n", 5).data(payload);
class message_writer {
public:
    explicit message_writer(bytes& to) : to_{&to} {}
    message_writer(message_writer const&) = delete;
    message_writer& operator=(message_writer const&) = delete;
    ~message_writer() { assert(!in_map_ && "a message without a body"); }

    message_writer& header(sluice::header const& h) { return composite(0x70, h); }
    message_writer& delivery_annotation(symbol key, auto const& v) { return entry(0x71, key, v); }
    message_writer& message_annotation(symbol key, auto const& v) { return entry(0x72, key, v); }
    message_writer& properties(sluice::properties const& p) { return composite(0x73, p); }
    message_writer& application_property(std::string_view key, auto const& v)
    {
        return entry(0x74, key, v);
    }
    message_writer& data(bytes_view octets) { return section(0x75, octets); }
    message_writer& data(std::string_view text)
    {
        return section(0x75, std::as_bytes(std::span{text}));
    }
    /// @pre `list` is an encoded list
    message_writer& sequence(raw_value list) { return section(0x76, list); }
    message_writer& value(auto const& v) { return section(0x77, v); }
    message_writer& footer(symbol key, auto const& v)
    {
        entry(0x78, key, v);
        return *this;
    }
    /// Completes the footer; only needed if there is one.
    void finish() { close_map(); }

private:
    message_writer& composite(std::uint8_t code, auto const& v)
    {
        start(code);
        append(*to_, v);
        return *this;
    }

    message_writer& section(std::uint8_t code, auto const& v)
    {
        start(code);
        describe(code);
        append(*to_, v);
        return *this;
    }

    message_writer& entry(std::uint8_t code, auto const& key, auto const& v)
    {
        if (code != last_) {
            start(code);
            describe(code);
            map_at_ = detail::begin_compound(*to_);
            in_map_ = true;
            count_ = 0;
        }
        append(*to_, key);
        append(*to_, v);
        count_ += 2;
        return *this;
    }

    void start(std::uint8_t code)
    {
        assert((code > last_ || (code == last_ && (code == 0x75 || code == 0x76))) &&
               "sections are written in the standard's order");
        close_map();
        last_ = code;
    }

    void describe(std::uint8_t code)
    {
        auto const at = to_->size();
        to_->resize(at + 3);
        using detail::put;
        put(put(put(to_->data() + at, detail::code::described), detail::code::smallulong), code);
    }

    void close_map()
    {
        if (!in_map_) return;
        in_map_ = false;
        detail::end_compound(*to_, map_at_, detail::code::map8, count_);
    }

    bytes* to_;
    std::size_t map_at_ = 0;
    std::size_t count_ = 0;
    std::uint8_t last_ = 0;
    bool in_map_ = false;
};

}  // namespace sluice
