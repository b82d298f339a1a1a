// Looking into encoded values without building anything: types, lists, maps, arrays, described.
//
// A reader refers to the bytes that it reads, and allocates nothing. It works on any bytes: what is
// malformed ends the reading, and error() says so.
#pragma once

#include <sluice/codec/scalars.hpp>
#include <sluice/export.hpp>

namespace sluice {

/// The types of part 1; `described` is one with a descriptor in front. [1.2, 1.6]
enum class value_type : std::uint8_t {
    null,
    boolean,
    ubyte,
    ushort,
    uint,
    ulong,
    byte,
    short_,
    int_,
    long_,
    float_,
    double_,
    decimal32,
    decimal64,
    decimal128,
    char_,
    timestamp,
    uuid,
    binary,
    string,
    symbol,
    list,
    map,
    array,
    described
};

/// The standard's name of the type, such as "ulong".
SLUICE_EXPORT std::string_view to_string(value_type type) noexcept;

/// The type of an encoded value; nullopt if there is none or its format code is unknown.
SLUICE_EXPORT std::optional<value_type> type_of(raw_value raw) noexcept;

inline bool is_null(raw_value raw) noexcept
{
    return raw.empty() || detail::octet(raw.encoded.data()) == detail::code::null;
}

/// A string or a symbol, whichever it is: what map keys are, and addresses nearly always.
inline std::optional<std::string_view> as_text(raw_value raw) noexcept
{
    if (detail::is_short_text(raw.encoded)) {
        auto const c = detail::octet(raw.encoded.data());
        if (c == detail::code::str8 || c == detail::code::sym8)
            return detail::as_chars(raw.encoded.subspan(2));
    }
    if (auto const text = detail::as_any<std::string_view>(raw))
        return text;
    if (auto const name = detail::as_any<symbol>(raw))
        return name->text;
    return std::nullopt;
}

/// An integer of any width, signed or not, that fits into 64 bits with a sign.
SLUICE_EXPORT std::optional<std::int64_t> as_integer(raw_value raw) noexcept;

/// A described value taken apart. [1.2]
struct SLUICE_EXPORT described_view {
    raw_value descriptor{};
    raw_value content{};

    /// Whether the descriptor is this number or this symbol; the standard gives types both.
    bool is(std::uint64_t number, symbol name) const noexcept;
};
SLUICE_EXPORT std::optional<described_view> as_described(raw_value raw) noexcept;

namespace detail {

/// What list_reader and map_reader share: elements one after the other.
class SLUICE_EXPORT element_reader {
public:
    /// Elements that have not been read yet.
    std::size_t left() const noexcept { return left_; }
    /// No error while what was read is well-formed.
    std::error_code error() const noexcept
    {
        return error_ == error::none ? std::error_code{} : make_error_code(error_);
    }

protected:
    enum class shape : std::uint8_t { list, map };

    element_reader() = default;
    element_reader(raw_value raw, shape expected) noexcept
    {
        // The short form of what is asked for, if it is sound; anything else is looked at closely.
        auto const* const p = raw.encoded.data();
        auto const size = raw.encoded.size();
        auto const code8 = expected == shape::map ? code::map8 : code::list8;
        bool const usual = size >= 3 && octet(p) == code8 && octet(p + 1) == size - 2
                           && octet(p + 2) <= size - 3
                           && (expected == shape::list || octet(p + 2) % 2 == 0);
        if (usual) {
            in_ = {p + 3, p + size};
            left_ = octet(p + 2);
        } else {
            open(raw, expected);
        }
    }
    void open(raw_value raw, shape expected) noexcept;

    [[gnu::always_inline]] bool next_element(raw_value& out) noexcept
    {
        auto const* p = in_.at;
        if (left_ == 0 || !skip_scalar(p, in_.end))
            return next_of_any_type(out);
        --left_;
        out.encoded = {in_.at, static_cast<std::size_t>(p - in_.at)};
        in_.at = p;
        return true;
    }
    bool next_of_any_type(raw_value& out) noexcept;

    cursor in_;
    std::uint32_t left_ = 0;
    sluice::error error_ = error::none;
};

}  // namespace detail

/// Reads a list from its first element to its last. Absent and null are read as an empty list.
///
///     for (list_reader list{raw}; auto const element = list.next();) use(*element);
class list_reader : public detail::element_reader {
public:
    list_reader() = default;
    explicit list_reader(raw_value raw) noexcept : element_reader{raw, shape::list} {}

    /// The next element; nullopt after the last, or at an error.
    [[gnu::always_inline]] std::optional<raw_value> next() noexcept
    {
        raw_value element;
        return next_element(element) ? std::optional{element} : std::nullopt;
    }
};

/// Reads a map in the order of the wire. Absent and null are read as an empty map.
///
///     for (map_reader map{raw}; auto const entry = map.next();) use(entry->key, entry->value);
class SLUICE_EXPORT map_reader : public detail::element_reader {
public:
    struct entry {
        raw_value key{};
        raw_value value{};
        /// The key, if it is a string or a symbol.
        std::string_view name() const noexcept { return as_text(key).value_or(std::string_view{}); }
    };

    map_reader() = default;
    explicit map_reader(raw_value raw) noexcept : element_reader{raw, shape::map} {}

    /// The next entry; nullopt after the last, or at an error.
    [[gnu::always_inline]] std::optional<entry> next() noexcept
    {
        entry e;
        if (!next_element(e.key) || !next_element(e.value))
            return std::nullopt;
        return e;
    }

    /// The value of the first entry, of those not read yet, whose key is this string or symbol; an
    /// absent value if there is none. Does not move the reader.
    raw_value find(std::string_view key) const noexcept;
};

/// Reads an array whose elements are scalars of type T (any encoding); nested arrays and the like
/// are read with `value`.
template <scalar T>
class array_reader {
public:
    explicit array_reader(raw_value raw) noexcept
    {
        if (raw.empty())
            return;
        auto const* const p = raw.encoded.data();
        in_ = {p + 1, p + raw.encoded.size()};
        detail::array_header header;
        if (detail::read_array_header(in_, detail::octet(p), header, 0) != error::none)
            return;
        element_ = header.element;
        left_ = header.count;
        in_.end = header.end;
    }

    std::size_t left() const noexcept { return left_; }

    /// The next element; nullopt after the last, or if it is not a valid T.
    std::optional<T> next() noexcept
    {
        T v{};
        if (left_ == 0 || detail::scalar_codec<T>::read(in_, element_, v) != error::none)
            return std::nullopt;
        --left_;
        return v;
    }

private:
    detail::cursor in_;
    std::uint32_t left_ = 0;
    std::uint8_t element_ = 0;
};

}  // namespace sluice
