// Encoding lists, maps and described values piece by piece, without building a `value` first.
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/export.hpp>

namespace sluice {

namespace detail {

/// Reserves the header of a list or map at the end of `to`. @returns where it is.
SLUICE_EXPORT std::size_t begin_compound(bytes& to);
/// Fills it in, in its short form if that is possible. `code8` is list8's or map8's format code.
SLUICE_EXPORT void end_compound(bytes& to, std::size_t at, std::uint8_t code8, std::size_t count);

}  // namespace detail

/// Appends a list to a buffer. While it is open, only it and writers opened later may append there.
///
/// Elements are anything that `append` takes: scalars, texts, raw values, `value`, composites.
class SLUICE_EXPORT list_writer {
public:
    explicit list_writer(bytes& to) : to_{&to}, at_{detail::begin_compound(to)} {}

    template <class T>
    list_writer& add(T const& element)
    {
        append(*to_, element);
        ++count_;
        return *this;
    }
    /// Counts an element that the caller appended to the buffer, such as a nested list.
    void added() noexcept { ++count_; }

    /// Completes the list. @pre not called before
    void finish() { detail::end_compound(*to_, at_, detail::code::list8, count_); }

private:
    bytes* to_;
    std::size_t at_;
    std::size_t count_ = 0;
};

/// Appends a map to a buffer; the order of the entries is kept. See list_writer.
///
///     bytes filter;
///     map_writer{filter}.add(symbol{"copy"}, true).add("limit", 5).finish();
class SLUICE_EXPORT map_writer {
public:
    explicit map_writer(bytes& to) : to_{&to}, at_{detail::begin_compound(to)} {}

    template <class Key, class T>
    map_writer& add(Key const& key, T const& element)
    {
        append(*to_, key);
        append(*to_, element);
        count_ += 2;
        return *this;
    }
    /// Writes a key whose value the caller appends to the buffer next.
    template <class Key>
    void add_key(Key const& key)
    {
        append(*to_, key);
        count_ += 2;
    }

    /// Completes the map. @pre not called before
    void finish() { detail::end_compound(*to_, at_, detail::code::map8, count_); }

private:
    bytes* to_;
    std::size_t at_;
    std::size_t count_ = 0;
};

/// Appends a descriptor, a ulong or a symbol; the value that it describes is to be appended next.
SLUICE_EXPORT void append_descriptor(bytes& to, std::uint64_t number);
SLUICE_EXPORT void append_descriptor(bytes& to, symbol name);

}  // namespace sluice
