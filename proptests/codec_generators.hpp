// Random values, composites and messages, and other legal encodings of the same.
#pragma once

#include <sluice/codec/fields.hpp>
#include <sluice/codec/message.hpp>

#include <rapidcheck.h>

#include <deque>
#include <string>

namespace sluice::prop {

// ---- values ------------------------------------------------------------------------------------

/// Any of [from, to), whatever the size of the case: RapidCheck's small cases know only the start.
template <class T>
T codec_pick(T from, T to)
{
    return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(from, to));
}

/// Mostly small; sometimes around the size at which one octet is too few.
inline rc::Gen<std::size_t> codec_size()
{
    return rc::gen::resize(rc::kNominalSize, rc::gen::weightedOneOf<std::size_t>(
                                                 {{4, rc::gen::inRange<std::size_t>(0, 12)},
                                                  {1, rc::gen::inRange<std::size_t>(245, 262)}}));
}

inline std::string codec_text()
{
    std::string text;
    auto const size = *codec_size();
    while (text.size() < size)
        text +=
            *rc::gen::elementOf(std::vector<std::string>{"a", "Z", "0", "é", "€", "😀", "\x01"});
    return text;
}

inline std::string codec_ascii()
{
    std::string text(*codec_size(), 'x');
    for (auto& c : text) c = codec_pick<char>(0x20, 0x7f);
    return text;
}

inline bytes codec_binary()
{
    bytes octets(*codec_size());
    for (auto& o : octets) o = static_cast<std::byte>(codec_pick(0, 256));
    return octets;
}

/// Any number, and those at which the width of an encoding changes.
template <class T>
T codec_number()
{
    auto const at = [](long long v) { return static_cast<T>(v); };
    return *rc::gen::oneOf(
        rc::gen::arbitrary<T>(), rc::gen::inRange<T>(0, 100),
        rc::gen::elementOf(std::vector<T>{at(0), at(1), at(-1), at(127), at(128), at(-128),
                                          at(-129), at(255), at(256), std::numeric_limits<T>::min(),
                                          std::numeric_limits<T>::max()}));
}

template <class T>
T codec_octets()
{
    T v;
    for (auto& o : v.octets) o = static_cast<std::byte>(codec_pick(0, 256));
    return v;
}

inline char32_t codec_char()
{
    return *rc::gen::oneOf(rc::gen::inRange<char32_t>(0, 0xd800),
                           rc::gen::inRange<char32_t>(0xe000, 0x110000));
}

value codec_value_of(value_type type, int depth);

inline value codec_value(int depth)
{
    // The last four hold other values: half of all, where there is depth for them.
    auto const holds_others = depth > 0 && *rc::gen::arbitrary<bool>();
    auto const type = holds_others ? codec_pick(21, 25) : codec_pick(0, 21);
    return codec_value_of(static_cast<value_type>(type), depth);
}

inline std::vector<value> codec_values(int depth)
{
    std::vector<value> values(codec_pick<std::size_t>(0, 5));
    for (auto& v : values) v = codec_value(depth);
    return values;
}

inline value codec_map(int depth)
{
    value_map map;
    auto const size = codec_pick(0, 4);
    for (int i = 0; i < size; ++i) map.add(codec_value(0), codec_value(depth));
    return map;
}

inline value codec_array(int depth)
{
    value_array a;
    // An array's elements are not described values: that is said by its descriptors.
    a.element = static_cast<value_type>(codec_pick(0, depth > 0 ? 24 : 21));
    if (codec_pick(0, 4) == 0)
        a.descriptors.push_back(codec_value(0));
    a.items.resize(codec_pick<std::size_t>(0, 5));
    for (auto& item : a.items) item = codec_value_of(a.element, depth);
    return a;
}

inline value codec_value_of(value_type type, int depth)
{
    switch (type) {
    case value_type::null: return nullptr;
    case value_type::boolean: return *rc::gen::arbitrary<bool>();
    case value_type::ubyte: return codec_number<std::uint8_t>();
    case value_type::ushort: return codec_number<std::uint16_t>();
    case value_type::uint: return codec_number<std::uint32_t>();
    case value_type::ulong: return codec_number<std::uint64_t>();
    case value_type::byte: return codec_number<std::int8_t>();
    case value_type::short_: return codec_number<std::int16_t>();
    case value_type::int_: return codec_number<std::int32_t>();
    case value_type::long_: return codec_number<std::int64_t>();
    case value_type::float_: return std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
    case value_type::double_: return std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
    case value_type::decimal32: return codec_octets<decimal32>();
    case value_type::decimal64: return codec_octets<decimal64>();
    case value_type::decimal128: return codec_octets<decimal128>();
    case value_type::char_: return codec_char();
    case value_type::timestamp: return timestamp{codec_number<std::int64_t>()};
    case value_type::uuid: return codec_octets<uuid>();
    case value_type::binary: return codec_binary();
    case value_type::string: return codec_text();
    case value_type::symbol: return symbol_string{codec_ascii()};
    case value_type::list: return codec_values(depth - 1);
    case value_type::map: return codec_map(depth - 1);
    case value_type::array: return codec_array(depth - 1);
    case value_type::described: return described_value{codec_value(0), codec_value(depth - 1)};
    }
    return nullptr;
}

// ---- other encodings of the same ---------------------------------------------------------------

/// Rewrites a well-formed encoding with randomly wider, but legal, encodings of the same value.
class codec_widener {
public:
    static bytes widen(bytes_view in)
    {
        codec_widener w{in};
        w.one();
        return std::move(w.out_);
    }

private:
    explicit codec_widener(bytes_view in) : at_{in.data()} {}

    static bool coin() { return *rc::gen::arbitrary<bool>(); }
    void put(unsigned octet) { out_.push_back(static_cast<std::byte>(octet)); }
    void put32(std::size_t v)
    {
        for (int shift = 24; shift >= 0; shift -= 8) put(static_cast<unsigned>(v >> shift & 0xff));
    }
    void copy(std::size_t n)
    {
        out_.insert(out_.end(), at_, at_ + n);
        at_ += n;
    }

    /// The small form of a number of `width` octets, as that many octets.
    void number(unsigned full_code, std::size_t width, unsigned octet, bool is_signed)
    {
        put(full_code);
        for (std::size_t i = 1; i != width; ++i) put(is_signed && octet >= 0x80 ? 0xff : 0);
        put(octet);
    }

    void one()
    {
        using namespace detail;
        auto const c = octet(at_++);
        switch (c) {
        case code::true_:
        case code::false_:
            if (coin())
                put(c);
            else
                put(code::boolean), put(c == code::true_);
            return;
        case code::uint0: zero(c, code::smalluint, code::uint, 4); return;
        case code::ulong0: zero(c, code::smallulong, code::ulong, 8); return;
        case code::smalluint: small(c, code::uint, 4, false); return;
        case code::smallulong: small(c, code::ulong, 8, false); return;
        case code::smallint: small(c, code::int_, 4, true); return;
        case code::smalllong: small(c, code::long_, 8, true); return;
        case code::vbin8:
        case code::str8:
        case code::sym8: {
            auto const size = octet(at_++);
            if (coin())
                put(c), put(size);
            else
                put(c + 0x10u), put32(size);
            copy(size);
            return;
        }
        case code::described:
            put(c);
            one();
            one();
            return;
        case code::list0:
            if (coin())
                put(c);
            else if (coin())
                put(code::list8), put(1), put(0);
            else
                put(code::list32), put32(4), put32(0);
            return;
        case code::list8:
        case code::map8:
        case code::list32:
        case code::map32: compound(c); return;
        default: {
            bytes_view rest{at_ - 1, 1 << 20};
            auto const before = rest.size();
            (void)skip_value(rest);  // arrays too: their elements share one constructor
            --at_;
            copy(before - rest.size());
        }
        }
    }

    void zero(unsigned zero_code, unsigned small_code, unsigned full_code, std::size_t width)
    {
        if (coin())
            put(zero_code);
        else if (coin())
            put(small_code), put(0);
        else
            number(full_code, width, 0, false);
    }

    void small(unsigned small_code, unsigned full_code, std::size_t width, bool is_signed)
    {
        auto const octet = detail::octet(at_++);
        if (coin())
            put(small_code), put(octet);
        else
            number(full_code, width, octet, is_signed);
    }

    void compound(unsigned c)
    {
        using namespace detail;
        bool const is_short = c == code::list8 || c == code::map8;
        auto const count = is_short ? octet(at_ + 1) : load<std::uint32_t>(at_ + 4);
        at_ += is_short ? 2 : 8;
        codec_widener inner{{at_, 0}};
        for (std::uint32_t i = 0; i != count; ++i) inner.one();
        at_ = inner.at_;
        auto const fits = inner.out_.size() + 1 <= 255 && count <= 255;
        auto const code32 = is_short ? c + 0x10u : c;
        if (fits && coin()) {
            put(code32 - 0x10u);
            put(static_cast<unsigned>(inner.out_.size() + 1));
            put(count);
        } else {
            put(code32);
            put32(inner.out_.size() + 4);
            put32(count);
        }
        out_.insert(out_.end(), inner.out_.begin(), inner.out_.end());
    }

    std::byte const* at_;
    bytes out_;
};

// ---- composites --------------------------------------------------------------------------------

/// Keeps what the views of a random composite refer to.
struct codec_storage {
    std::deque<std::string> texts;
    std::deque<bytes> octets;
    std::deque<std::vector<symbol>> names;
};

template <class M>
struct codec_member;

template <class M>
struct codec_member<std::optional<M>> {
    static std::optional<M> make(codec_storage& keep, std::string_view type)
    {
        if (codec_pick(0, 2) == 0)
            return std::nullopt;
        return codec_member<M>::make(keep, type);
    }
};

template <class M>
struct codec_member {
    static M make(codec_storage& keep, std::string_view type)
    {
        (void)keep;
        (void)type;
        if constexpr (std::is_same_v<M, bool>)
            return *rc::gen::arbitrary<bool>();
        else if constexpr (std::is_same_v<M, role>)
            return role{*rc::gen::arbitrary<bool>()};
        else if constexpr (std::is_same_v<M, sender_settle_mode>)
            return static_cast<M>(codec_pick(0, 3));
        else if constexpr (std::is_same_v<M, receiver_settle_mode>)
            return static_cast<M>(codec_pick(0, 2));
        else if constexpr (std::is_same_v<M, sasl_code>)
            return static_cast<M>(codec_pick(0, 5));
        else if constexpr (std::is_same_v<M, terminus_durability>)
            return static_cast<M>(codec_pick(0, 3));
        else if constexpr (std::is_same_v<M, timestamp>)
            return timestamp{codec_number<std::int64_t>()};
        else if constexpr (std::is_integral_v<M>)
            return codec_number<M>();
        else if constexpr (std::is_same_v<M, std::string_view>)
            return keep.texts.emplace_back(codec_text());
        else if constexpr (std::is_same_v<M, symbol>)
            // An empty one is not sent where there is a default; the default is what is read then.
            return symbol{std::string_view{keep.texts.emplace_back(
                (type == "terminus-expiry-policy" ? "x" : "") + codec_ascii())}};
        else if constexpr (std::is_same_v<M, bytes_view>) {
            auto& kept = keep.octets.emplace_back(codec_binary());
            if (type == "delivery-tag" && kept.size() > 32)
                kept.resize(32);
            return kept;
        } else if constexpr (std::is_same_v<M, raw_value>) {
            bool const any = type == "*";
            if (codec_pick(0, 3) == 0)
                return {};
            auto& kept = keep.octets.emplace_back(encoded(any ? codec_value(2) : codec_map(2)));
            // A null stands for no value at all, which is what it is read as.
            return kept.size() == 1 && kept[0] == std::byte{0x40} ? raw_value{}
                                                                  : raw_value{bytes_view{kept}};
        } else if constexpr (std::is_same_v<M, symbols>) {
            auto& list = keep.names.emplace_back(codec_pick<std::size_t>(0, 4));
            for (auto& s : list) s = codec_member<symbol>::make(keep, {});
            return symbols{std::span<symbol const>{list}};
        } else if constexpr (std::is_same_v<M, error_view>) {
            return {.condition = codec_member<symbol>::make(keep, {}),
                    .description = codec_member<std::optional<std::string_view>>::make(keep, {}),
                    .info = codec_member<raw_value>::make(keep, "fields")};
        } else {
            return M{codec_number<std::uint32_t>()};
        }
    }
};

template <class T>
T codec_composite(codec_storage& keep)
{
    T v;
    std::apply(
        [&]<class... M>(field<T, M> const&... f) {
            ((v.*(f.member) = codec_member<M>::make(keep, f.type)), ...);
        },
        composite_traits<T>::fields);
    return v;
}

template <class M>
bool codec_same(M const& a, M const& b)
{
    if constexpr (std::is_same_v<M, raw_value>)
        return same_bytes(a.encoded, b.encoded);
    else if constexpr (std::is_same_v<M, bytes_view>)
        return same_bytes(a, b);
    else if constexpr (std::is_same_v<M, symbols>) {
        bool same = a.size() == b.size();
        for (std::size_t i = 0; same && i != a.size(); ++i) same = a.at(i) == b.at(i);
        return same;
    } else if constexpr (std::is_same_v<M, error_view>)
        return a.condition == b.condition && a.description == b.description
               && codec_same(a.info, b.info);
    else if constexpr (requires { a.has_value(); })
        return a.has_value() == b.has_value() && (!a || codec_same(*a, *b));
    else
        return a == b;
}

/// Field by field.
template <class T>
bool codec_same_fields(T const& a, T const& b)
{
    return std::apply(
        [&](auto const&... f) { return (codec_same(a.*(f.member), b.*(f.member)) && ...); },
        composite_traits<T>::fields);
}

// ---- messages ----------------------------------------------------------------------------------

inline value_map codec_annotations()
{
    value_map map;
    auto const size = codec_pick(0, 3);
    for (int i = 0; i < size; ++i) map.add(symbol_string{codec_ascii()}, codec_value(1));
    return map;
}

inline value codec_message_id()
{
    auto const type = *rc::gen::elementOf(
        std::vector<value_type>{value_type::null, value_type::ulong, value_type::uuid,
                                value_type::binary, value_type::string});
    return codec_value_of(type, 0);
}

template <class T, class Make>
std::optional<T> codec_maybe(Make make)
{
    if (*rc::gen::arbitrary<bool>())
        return std::nullopt;
    return make();
}

/// Empty symbols are not sent, so they are not made.
inline symbol_string codec_media_type() { return {"t" + codec_ascii()}; }

inline message codec_message()
{
    message m;
    codec_storage keep;
    m.header = codec_composite<header>(keep);
    m.delivery_annotations = codec_annotations();
    m.message_annotations = codec_annotations();
    m.properties = {
        .message_id = codec_message_id(),
        .user_id = codec_maybe<bytes>([] { return codec_binary(); }),
        .to = codec_maybe<std::string>([] { return codec_text(); }),
        .subject = codec_maybe<std::string>([] { return codec_text(); }),
        .reply_to = codec_maybe<std::string>([] { return codec_text(); }),
        .correlation_id = codec_message_id(),
        .content_type = codec_maybe<symbol_string>([] { return codec_media_type(); }),
        .content_encoding = codec_maybe<symbol_string>([] { return codec_media_type(); }),
        .absolute_expiry_time =
            codec_maybe<timestamp>([] { return timestamp{codec_number<std::int64_t>()}; }),
        .creation_time =
            codec_maybe<timestamp>([] { return timestamp{codec_number<std::int64_t>()}; }),
        .group_id = codec_maybe<std::string>([] { return codec_text(); }),
        .group_sequence = codec_maybe<std::uint32_t>([] { return codec_number<std::uint32_t>(); }),
        .reply_to_group_id = codec_maybe<std::string>([] { return codec_text(); })};
    auto const properties = codec_pick(0, 4);
    for (int i = 0; i < properties; ++i) m.application_properties.add(codec_text(), codec_value(1));
    auto const sections = codec_pick(1, 4);
    switch (codec_pick(0, 3)) {
    case 0: m.body = codec_value(2); break;
    case 1:
        m.body = data_body{};
        for (int i = 0; i < sections; ++i)
            std::get<data_body>(m.body).sections.push_back(codec_binary());
        break;
    default:
        m.body = sequence_body{};
        for (int i = 0; i < sections; ++i)
            std::get<sequence_body>(m.body).sections.push_back(codec_values(1));
    }
    m.footer = codec_annotations();
    return m;
}

/// The encoding with a few octets changed, removed or put in.
inline bytes codec_mutated(bytes wire)
{
    auto const changes = codec_pick(1, 5);
    for (int i = 0; i < changes; ++i) {
        auto const octet = static_cast<std::byte>(codec_pick(0, 256));
        auto const at = codec_pick<std::size_t>(0, wire.size() + 1);
        auto const where = wire.begin() + static_cast<std::ptrdiff_t>(at);
        switch (codec_pick(0, 4)) {
        case 0: wire.insert(where, octet); break;
        case 1:
            if (where != wire.end())
                wire.erase(where);
            break;
        case 2: wire.resize(at); break;
        default:
            if (where != wire.end())
                *where = octet;
        }
    }
    return wire;
}

}  // namespace sluice::prop
