// Encoding a message section by section straight into a buffer. [3.2]
#pragma once

#include <sluice/codec/writer.hpp>
#include <sluice/export.hpp>

#include <cassert>

namespace sluice {

namespace detail {

/// Fills in the header of a map whose short form has been left free, and moves the content if it
/// needs the long one. @returns the end of the map.
SLUICE_EXPORT std::byte* finish_map(std::byte* header, std::byte* end, std::size_t count) noexcept;

}  // namespace detail

/// Appends an encoded message to a buffer: the fast way, without a `message`.
///
/// The buffer holds the message when the writer is finished or gone; until then it is the writer's.
/// Call what is needed in the order of the declarations; data() and sequence() may be called again.
/// A message needs a body: at least one data or sequence section, or one value.
///
///     message_writer{to}.header({.durable = true}).application_property("n", 5).data(payload);
class SLUICE_EXPORT message_writer {
public:
    explicit message_writer(bytes& to) noexcept : to_{&to}, at_{to.data() + to.size()}, end_{at_} {}
    message_writer(message_writer const&) = delete;
    message_writer& operator=(message_writer const&) = delete;
    ~message_writer() { finish(); }

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
    /// Completes the message. The destructor does so, too.
    void finish() noexcept
    {
        close_map();
        to_->resize(static_cast<std::size_t>(at_ - to_->data()));  // shrinks
        end_ = at_;
    }

private:
    message_writer& composite(std::uint8_t code, auto const& v)
    {
        start(code);
        write(v);
        return *this;
    }

    message_writer& section(std::uint8_t code, auto const& v)
    {
        start(code);
        describe(code);
        write(v);
        return *this;
    }

    message_writer& entry(std::uint8_t code, auto const& key, auto const& v)
    {
        if (code != last_) {
            start(code);
            describe(code);
            need(long_header);
            map_at_ = static_cast<std::size_t>(at_ - to_->data());
            at_ += short_header;  // the usual one
            count_ = 0;
        }
        write(key);
        write(v);
        count_ += 2;
        return *this;
    }

    void start(std::uint8_t code)
    {
        assert((code > last_ || (code == last_ && (code == 0x75 || code == 0x76)))
               && "sections are written in the standard's order");
        close_map();
        last_ = code;
    }

    void describe(std::uint8_t code)
    {
        need(3);
        using detail::put;
        at_ = put(put(put(at_, detail::code::described), detail::code::smallulong), code);
    }

    void write(auto const& v)
    {
        need(encoded_size_bound(v));
        at_ = encode(v, at_);
    }

    /// Makes room for `size` octets and, so that there always is, for a longer header of the map.
    void need(std::size_t size)
    {
        size += long_header;
        if (static_cast<std::size_t>(end_ - at_) < size)
            grow(size);
    }
    void grow(std::size_t size);

    /// Fills in the header of the map that is open, if one is.
    void close_map() noexcept
    {
        if (count_ == 0)
            return;
        at_ = detail::finish_map(to_->data() + map_at_, at_, count_);
        count_ = 0;
    }

    static constexpr std::size_t short_header = 3;
    static constexpr std::size_t long_header = 9;

    bytes* to_;
    std::byte* at_;
    std::byte* end_;          // of the buffer
    std::size_t map_at_ = 0;  // of the header of the map that is open
    std::size_t count_ = 0;   // of its elements; 0: none is open
    std::uint8_t last_ = 0;   // the section written last
};

}  // namespace sluice
