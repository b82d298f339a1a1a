// The messages that interop pairings send: every kind of body, every type, and seeded octets.
#pragma once

#include <sluice/codec/message.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace interop {

struct sample {
    std::string name;  ///< what the table calls it
    sluice::message message;
};

/// Reproducible octets and sizes: xorshift64*, which any language writes in three lines.
class seeded {
public:
    explicit seeded(std::uint64_t seed) noexcept : state_{seed * 0x9e37'79b9'7f4a'7c15u + 1} {}

    std::uint64_t next() noexcept
    {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545'f491'4f6c'dd1du;
    }

    sluice::bytes octets(std::size_t size)
    {
        sluice::bytes out(size);
        for (std::size_t i = 0; i < size; i += 8) {
            auto word = next();
            for (auto j = i; j < std::min(i + 8, size); ++j, word >>= 8)
                out[j] = static_cast<std::byte>(word);
        }
        return out;
    }

private:
    std::uint64_t state_;
};

/// The size of message `number`: both ends of the range first, then each power of two alike.
inline std::size_t seeded_size(std::uint64_t seed, std::uint32_t number)
{
    constexpr std::size_t first[] = {0, 65536, 1, 65535, 255, 256};
    constexpr std::size_t size_max = 65536;
    if (number < std::size(first))
        return first[number];
    seeded draw{seed + number};
    auto const share = static_cast<double>(draw.next() >> 11) * 0x1p-53;
    return static_cast<std::size_t>(std::exp(share * std::log(double{size_max} + 1)) - 1);
}

inline sluice::bytes seeded_body(std::uint64_t seed, std::uint32_t number)
{
    return seeded{seed ^ (std::uint64_t{number} << 32)}.octets(seeded_size(seed, number));
}

/// Types that an application property may have, with their least, greatest and usual values.
/// [3.2.5]
inline std::vector<std::pair<std::string, sluice::value>> simple_values()
{
    using sluice::value;
    auto const filled = [](auto v) {
        auto n = std::uint8_t{0x30};
        for (auto& octet : v.octets) octet = static_cast<std::byte>(n++);
        return value{v};
    };
    return {
        {"null", value{}},
        {"boolean", value{true}},
        {"boolean, false", value{false}},
        {"ubyte", value{std::uint8_t{255}}},
        {"ushort", value{std::uint16_t{65535}}},
        {"uint", value{std::uint32_t{0xffff'ffff}}},
        {"uint, 0", value{std::uint32_t{0}}},
        {"ulong", value{std::uint64_t{0xffff'ffff'ffff'ffff}}},
        {"ulong, 200", value{std::uint64_t{200}}},
        {"byte", value{std::int8_t{-128}}},
        {"short", value{std::int16_t{-32768}}},
        {"int", value{std::numeric_limits<std::int32_t>::min()}},
        {"int, -1", value{std::int32_t{-1}}},
        {"long", value{std::numeric_limits<std::int64_t>::min()}},
        {"long, 5", value{std::int64_t{5}}},
        {"float", value{1.5f}},
        {"double", value{-2.25e100}},
        {"double, infinite", value{std::numeric_limits<double>::infinity()}},
        {"double, 1", value{1.0}},
        {"decimal32", filled(sluice::decimal32{})},
        {"decimal64", filled(sluice::decimal64{})},
        {"decimal128", filled(sluice::decimal128{})},
        {"char", value{U'\u20ac'}},
        {"timestamp", value{sluice::timestamp{1'700'000'000'123}}},
        {"timestamp, before 1970", value{sluice::timestamp{-1}}},
        {"uuid", filled(sluice::uuid{})},
        {"binary", value{seeded{1}.octets(20)}},
        {"binary, empty", value{sluice::bytes{}}},
        {"binary, 300 octets", value{seeded{2}.octets(300)}},
        {"string", value{"gr\u00fc\u00dfe \u2713 \U0001F600"}},
        {"string, empty", value{""}},
        {"string, 300 octets", value{std::string(300, 's')}},
        {"symbol", value{sluice::symbol_string{"a-symbol"}}},
    };
}

inline std::vector<sample> body_samples()
{
    using sluice::value;
    using sluice::value_list;
    std::vector<sample> out;
    auto const data = [&](std::string name, std::vector<sluice::bytes> sections) {
        sluice::message m;
        m.body.emplace<sluice::data_body>().sections = std::move(sections);
        out.push_back({std::move(name), std::move(m)});
    };
    auto const sequence = [&](std::string name, std::vector<value_list> sections) {
        sluice::message m;
        m.body.emplace<sluice::sequence_body>().sections = std::move(sections);
        out.push_back({std::move(name), std::move(m)});
    };
    data("data", {seeded{3}.octets(1000)});
    data("data, empty", {sluice::bytes{}});
    data("data, several sections", {seeded{4}.octets(3), sluice::bytes{}, seeded{5}.octets(300)});
    sequence("sequence", {{value{1}, value{"two"}, value{}}});
    sequence("sequence, several sections",
             {{value{1}, value{2}}, {}, {value{"three"}, value{seeded{6}.octets(5)}}});
    for (auto& [name, v] : simple_values()) out.push_back({"value " + name, sluice::message{v}});
    sluice::value_map map;
    map["k"] = value{std::int32_t{7}};
    map.add(value{std::int64_t{1}}, value{value_list{value{true}, value{}}});
    sluice::value_map nested;
    nested["inner"] = value{map};
    out.push_back({"value list", sluice::message{value{value_list{value{1}, value{"x"}}}}});
    out.push_back({"value list, empty", sluice::message{value{value_list{}}}});
    out.push_back({"value map", sluice::message{value{map}}});
    out.push_back({"value map, nested", sluice::message{value{nested}}});
    out.push_back({"value array", sluice::message{value{sluice::value_array{
                                      sluice::value_type::int_, {}, {value{1}, value{2000}}}}}});
    out.push_back({"value described", sluice::message{value{sluice::described_value{
                                          value{sluice::symbol_string{"a:b"}}, value{"c"}}}}});
    return out;
}

/// An application property of each type, and each field of the properties.
inline std::vector<sample> property_samples()
{
    using sluice::value;
    std::vector<sample> out;
    auto const add = [&](std::string name, auto fill) {
        sluice::message m{"body"};
        fill(m);
        out.push_back({std::move(name), std::move(m)});
    };
    for (auto const& [name, v] : simple_values())
        add(name, [&](auto& m) { m.application_properties["p"] = v; });
    add("twenty at once", [](auto& m) {
        for (auto i = 0; i < 20; ++i)
            m.application_properties[std::string_view{"p" + std::to_string(i)}] = value{i};
    });
    add("message-id ulong",
        [](auto& m) { m.properties.message_id = value{std::uint64_t{1} << 60}; });
    add("message-id uuid", [](auto& m) { m.properties.message_id = value{sluice::uuid{}}; });
    add("message-id binary", [](auto& m) { m.properties.message_id = value{seeded{7}.octets(9)}; });
    add("message-id string", [](auto& m) { m.properties.message_id = value{"id"}; });
    add("all other properties", [](auto& m) {
        auto& p = m.properties;
        p.user_id = seeded{8}.octets(4);
        p.subject = "subject";
        p.reply_to = "reply";
        p.correlation_id = value{"correlated"};
        p.content_type = sluice::symbol_string{"text/plain"};
        p.content_encoding = sluice::symbol_string{"identity"};
        p.creation_time = sluice::timestamp{1'700'000'000'000};
        p.group_id = "group";
        p.group_sequence = 0xffff'fff0u;
        p.reply_to_group_id = "other";
    });
    add("message annotations", [](auto& m) {
        m.message_annotations[sluice::symbol{std::string_view{"x-opt-pairing"}}] = value{"note"};
    });
    add("footer", [](auto& m) {
        m.footer[sluice::symbol{std::string_view{"x-opt-foot"}}] = value{std::int32_t{9}};
    });
    return out;
}

}  // namespace interop
