// A value of any AMQP type that owns what it holds. [1.6]
#pragma once

#include <sluice/codec/codec.hpp>
#include <sluice/codec/reader.hpp>
#include <sluice/export.hpp>

#include <memory>
#include <variant>

namespace sluice {

class value;

/// A symbol that owns its text; `symbol` is the view of it.
struct symbol_string {
    std::string text{};
    operator symbol() const noexcept { return symbol{std::string_view{text}}; }  // NOLINT: implicit
    friend auto operator<=>(symbol_string const&, symbol_string const&) noexcept = default;
};

using value_list = std::vector<value>;

/// A map that keeps the order of its entries, as the standard wants. [1.6.23]
///
/// Lookups walk over the entries: maps on the wire are short.
class SLUICE_EXPORT value_map {
public:
    using entry = std::pair<value, value>;

    value_map() noexcept = default;
    value_map(std::initializer_list<entry> entries);

    std::size_t size() const noexcept;
    bool empty() const noexcept { return size() == 0; }
    entry const* begin() const noexcept;
    entry const* end() const noexcept;
    void clear() noexcept;
    void reserve(std::size_t entries);

    /// The value of the entry whose key is this string or symbol, made (null, with a string as its
    /// key) if there is none.
    value& operator[](std::string_view key);
    /// The same; the key that is made is a symbol.
    value& operator[](symbol key);
    value& operator[](char const* key);

    /// The value of the first entry whose key is this string or symbol; nullptr if there is none.
    value const* find(std::string_view key) const noexcept;
    /// The same for a key of any type, which must be equal.
    value const* find_key(value const& key) const noexcept;
    bool contains(std::string_view key) const noexcept { return find(key) != nullptr; }

    /// Appends an entry, whether or not its key is there already.
    void add(value key, value content);

    /// Appends an entry of two nulls, to be filled in.
    entry& add_null();

    /// Same entries in the same order.
    friend SLUICE_EXPORT bool operator==(value_map const& a, value_map const& b) noexcept;

private:
    std::vector<entry> entries_;
};

struct value_array;
struct described_value;

namespace detail {

/// A T on the heap that copies like a T.
template <class T>
class box {
public:
    explicit box(T v) : held_{std::make_unique<T>(std::move(v))} {}
    box(box const& other) : held_{std::make_unique<T>(*other.held_)} {}
    box(box&&) noexcept = default;
    box& operator=(box other) noexcept
    {
        held_.swap(other.held_);
        return *this;
    }
    ~box() = default;

    T& operator*() noexcept { return *held_; }
    T const& operator*() const noexcept { return *held_; }

private:
    std::unique_ptr<T> held_;
};

template <class T>
struct storage_of;  // the alternative of value's variant that holds a T

}  // namespace detail

/// One value of any type of part 1. Null unless it is given something.
///
/// Distinct objects: safe to use concurrently. Shared object: unsafe.
class SLUICE_EXPORT value {
public:
    value() noexcept = default;
    // NOLINTBEGIN(google-explicit-constructor): what a value can hold is a value
    value(std::nullptr_t) noexcept {}
    template <scalar T>
        requires(!std::same_as<T, bytes_view> && !std::same_as<T, std::string_view>
                 && !std::same_as<T, symbol>)
    value(T v) noexcept : held_{v}
    {
    }
    value(std::string v) noexcept : held_{std::move(v)} {}
    value(std::string_view v) : held_{std::string{v}} {}
    value(char const* v) : held_{std::string{v}} {}
    value(symbol_string v) noexcept : held_{std::move(v)} {}
    value(symbol v) : held_{symbol_string{std::string{v.text}}} {}
    value(bytes v) noexcept : held_{std::move(v)} {}
    value(bytes_view v) : held_{bytes(v.begin(), v.end())} {}
    value(value_list v) noexcept;
    value(value_map v) noexcept;
    value(value_array v);
    value(described_value v);
    // NOLINTEND(google-explicit-constructor)

    value(value const&);
    value(value&&) noexcept;
    value& operator=(value const&);
    value& operator=(value&&) noexcept;
    ~value();

    value_type type() const noexcept { return static_cast<value_type>(held_.index()); }
    bool is_null() const noexcept { return held_.index() == 0; }

    /// The held object if it is a T: bool, the integers, float, double, decimals, char32_t,
    /// timestamp, uuid, bytes, std::string, symbol_string, value_list, value_map, value_array,
    /// described_value. Otherwise nullptr.
    template <class T>
    T const* get_if() const noexcept
    {
        if constexpr (std::same_as<T, value_array> || std::same_as<T, described_value>) {
            auto const* const b = std::get_if<detail::box<T>>(&held_);
            return b ? &**b : nullptr;
        } else {
            return std::get_if<T>(&held_);
        }
    }
    template <class T>
    T* get_if() noexcept
    {
        return const_cast<T*>(static_cast<value const*>(this)->get_if<T>());
    }

    /// The text of a string or a symbol; nullopt for any other type.
    std::optional<std::string_view> text() const noexcept;
    /// An integer of any width, signed or not, if it fits.
    std::optional<std::int64_t> integer() const noexcept;

    /// Same type and same content; floating-point numbers are the same if their bits are.
    friend SLUICE_EXPORT bool operator==(value const& a, value const& b) noexcept;

private:
    // In the order of value_type.
    std::variant<std::monostate, bool, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                 std::int8_t, std::int16_t, std::int32_t, std::int64_t, float, double, decimal32,
                 decimal64, decimal128, char32_t, timestamp, uuid, bytes, std::string,
                 symbol_string, value_list, value_map, detail::box<value_array>,
                 detail::box<described_value>>
        held_;

    friend struct value_access;
};

/// An array: elements of one type, which may be described by one or more descriptors. [1.6.24]
struct value_array {
    value_type element = value_type::null;  ///< the type of all items; not `described`
    std::vector<value> descriptors{};       ///< of every item, the outermost first
    std::vector<value> items{};
    friend bool operator==(value_array const&, value_array const&) noexcept = default;
};

/// A value with a descriptor in front. [1.2]
struct described_value {
    value descriptor{};
    value content{};
    friend bool operator==(described_value const&, described_value const&) noexcept = default;
};

inline value::value(value_list v) noexcept : held_{std::move(v)} {}
inline value::value(value_map v) noexcept : held_{std::move(v)} {}
inline value::value(value_array v) : held_{detail::box<value_array>{std::move(v)}} {}
inline value::value(described_value v) : held_{detail::box<described_value>{std::move(v)}} {}
inline value::value(value const&) = default;
inline value::value(value&&) noexcept = default;
inline value& value::operator=(value const&) = default;
inline value& value::operator=(value&&) noexcept = default;
inline value::~value() = default;

inline value_map::value_map(std::initializer_list<entry> entries) : entries_{entries} {}
inline std::size_t value_map::size() const noexcept { return entries_.size(); }
inline value_map::entry const* value_map::begin() const noexcept { return entries_.data(); }
inline value_map::entry const* value_map::end() const noexcept { return begin() + size(); }
inline void value_map::clear() noexcept { entries_.clear(); }
inline void value_map::reserve(std::size_t entries) { entries_.reserve(entries); }
inline value_map::entry& value_map::add_null()
{
    if (entries_.capacity() == 0)
        entries_.reserve(6);  // maps on the wire are short, but not of one
    return entries_.emplace_back();
}
inline value& value_map::operator[](char const* key) { return (*this)[std::string_view{key}]; }
inline void value_map::add(value key, value content)
{
    entries_.emplace_back(std::move(key), std::move(content));
}

/// Decodes the value at the start of `in` and moves `in` past it. Sizes, counts and depth are
/// checked before anything is allocated: memory stays in proportion to the input.
/// @returns a codec error of error.hpp; then `in` is unchanged and `out` null. Arrays of elements
///     without octets may hold `zero_width_elements_max` elements, or as many as the input has
///     octets, in all; more are too_many_elements.
SLUICE_EXPORT std::error_code decode(bytes_view& in, value& out);

/// An upper bound of what encode(v, out) writes.
SLUICE_EXPORT std::size_t encoded_size_bound(value const& v) noexcept;

/// Writes the shortest encoding. An array's elements have one constructor: the shortest that fits
/// all of them. An item of another type than the array's is written as that type's zero.
/// @pre `out` has encoded_size_bound(v) bytes of room; nesting is at most decode_depth_max.
/// @returns the end of what was written.
SLUICE_EXPORT std::byte* encode(value const& v, std::byte* out) noexcept;

// The same for a list or a map alone.
SLUICE_EXPORT std::size_t encoded_size_bound(value_list const& v) noexcept;
SLUICE_EXPORT std::byte* encode(value_list const& v, std::byte* out) noexcept;
SLUICE_EXPORT std::size_t encoded_size_bound(value_map const& v) noexcept;
SLUICE_EXPORT std::byte* encode(value_map const& v, std::byte* out) noexcept;
/// A map of annotations: keys that are strings are written as symbols, which they have to be
/// [3.2.10]; one with other than ASCII, which no symbol can have [1.6.21], stays a string.
SLUICE_EXPORT std::byte* encode_annotations(value_map const& v, std::byte* out) noexcept;

/// Readable text for traces, such as `{"a": 1, :b: [true, 0x00ff]}`.
SLUICE_EXPORT std::string to_string(value const& v);
/// The same for an encoded value; says so if it is malformed.
SLUICE_EXPORT std::string to_string(raw_value raw);

}  // namespace sluice
