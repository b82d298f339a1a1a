// Readers of encoded lists, maps and described values.
#include <sluice/codec/codec.hpp>
#include <sluice/codec/reader.hpp>

namespace sluice {
namespace {

constexpr std::array<std::string_view, 25> type_names{
    "null",       "boolean", "ubyte",     "ushort",   "uint",   "ulong",     "byte",
    "short",      "int",     "long",      "float",    "double", "decimal32", "decimal64",
    "decimal128", "char",    "timestamp", "uuid",     "binary", "string",    "symbol",
    "list",       "map",     "array",     "described"};

constexpr std::uint8_t no_type = 0xff;

/// The value_type of each format code.
std::array<std::uint8_t, 256> make_types() noexcept
{
    std::array<std::uint8_t, 256> types{};
    types.fill(no_type);
    for (unsigned c = 0; c != 256; ++c)
        for (std::uint8_t i = 0; i != type_names.size(); ++i)
            if (detail::type_name(static_cast<std::uint8_t>(c)) == type_names[i])
                types[c] = i;
    return types;
}

template <scalar T>
std::optional<std::int64_t> integer(raw_value raw) noexcept
{
    auto const v = as<T>(raw);
    if (!v)
        return std::nullopt;
    if constexpr (std::is_same_v<T, std::uint64_t>)
        if (*v > static_cast<std::uint64_t>(INT64_MAX))
            return std::nullopt;
    return static_cast<std::int64_t>(*v);
}

}  // namespace

std::string_view to_string(value_type type) noexcept
{
    return type_names[static_cast<std::size_t>(type)];
}

std::optional<value_type> type_of(raw_value raw) noexcept
{
    static auto const types = make_types();
    if (raw.empty())
        return std::nullopt;
    auto const type = types[detail::octet(raw.encoded.data())];
    return type == no_type ? std::nullopt : std::optional{static_cast<value_type>(type)};
}

std::optional<std::int64_t> as_integer(raw_value raw) noexcept
{
    switch (type_of(raw).value_or(value_type::null)) {
    case value_type::ubyte: return integer<std::uint8_t>(raw);
    case value_type::ushort: return integer<std::uint16_t>(raw);
    case value_type::uint: return integer<std::uint32_t>(raw);
    case value_type::ulong: return integer<std::uint64_t>(raw);
    case value_type::byte: return integer<std::int8_t>(raw);
    case value_type::short_: return integer<std::int16_t>(raw);
    case value_type::int_: return integer<std::int32_t>(raw);
    case value_type::long_: return integer<std::int64_t>(raw);
    default: return std::nullopt;
    }
}

bool described_view::is(std::uint64_t number, symbol name) const noexcept
{
    return as<std::uint64_t>(descriptor) == number || as<symbol>(descriptor) == name;
}

std::optional<described_view> as_described(raw_value raw) noexcept
{
    using namespace detail;
    if (raw.empty() || octet(raw.encoded.data()) != code::described)
        return std::nullopt;
    cursor in{raw.encoded.data() + 1, raw.encoded.data() + raw.encoded.size()};
    auto const* const start = in.at;
    if (skip(in, decode_depth_max) != error::none)
        return std::nullopt;
    described_view v;
    v.descriptor.encoded = {start, static_cast<std::size_t>(in.at - start)};
    v.content.encoded = {in.at, in.left()};
    if (skip(in, decode_depth_max) != error::none || in.at != in.end)
        return std::nullopt;
    return v;
}

namespace detail {

void element_reader::open(raw_value raw, shape expected) noexcept
{
    if (is_null(raw))
        return;
    auto const* const p = raw.encoded.data();
    auto const c = octet(p);
    bool const is_map = c == code::map8 || c == code::map32;
    bool const is_list = c == code::list0 || c == code::list8 || c == code::list32;
    cursor in{p + 1, p + raw.encoded.size()};
    compound header;
    if (expected == shape::map ? !is_map : !is_list)
        error_ = refuse(c);
    else
        error_ = read_compound(in, c, header);
    if (error_ != error::none)
        return;
    in_ = {in.at, header.end};
    left_ = header.count;
}

bool element_reader::next_of_any_type(raw_value& out) noexcept
{
    if (left_ == 0) {
        if (in_.at != in_.end && error_ == error::none)
            error_ = error::size_mismatch;
        return false;
    }
    auto const* const start = in_.at;
    if (auto const e = skip(in_, decode_depth_max); e != error::none) {
        error_ = e == error::truncated ? error::size_mismatch : e;
        left_ = 0;
        in_.at = in_.end;
        return false;
    }
    --left_;
    out.encoded = {start, static_cast<std::size_t>(in_.at - start)};
    return true;
}

}  // namespace detail

raw_value map_reader::find(std::string_view key) const noexcept
{
    auto copy = *this;
    while (auto const e = copy.next())
        if (as_text(e->key) == key)
            return e->value;
    return {};
}

}  // namespace sluice
