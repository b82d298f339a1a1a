// The dynamic value: every type, every constructor of an array, sizes around the width of a size.
#include "support/codec_hex.hpp"

#include <sluice/codec/value.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace sluice::test {
namespace {

value decode_hex(std::string_view hex)
{
    auto const wire = codec_from_hex(hex);
    bytes_view in{wire};
    value v{"not decoded"};
    auto const code = decode(in, v);
    EXPECT_FALSE(code) << hex << " " << code.message();
    EXPECT_TRUE(in.empty()) << hex;
    return v;
}

void expect_round_trip(value const& v)
{
    auto const wire = encoded(v);
    EXPECT_LE(wire.size(), encoded_size_bound(v));
    bytes_view in{wire};
    value back;
    auto const code = decode(in, back);
    EXPECT_FALSE(code) << code.message() << " " << to_string(v);
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(back, v) << to_string(back) << " instead of " << to_string(v);
    EXPECT_EQ(codec_to_hex(encoded(back)), codec_to_hex(wire));
}

std::vector<value> one_of_each()
{
    return {value{},
            value{true},
            value{std::uint8_t{1}},
            value{std::uint16_t{2}},
            value{std::uint32_t{3}},
            value{std::uint64_t{4}},
            value{std::int8_t{-1}},
            value{std::int16_t{-2}},
            value{std::int32_t{-3}},
            value{std::int64_t{-4}},
            value{1.5f},
            value{2.5},
            value{decimal32{}},
            value{decimal64{}},
            value{decimal128{}},
            value{U'x'},
            value{timestamp{1000}},
            value{uuid{}},
            value{bytes{std::byte{1}}},
            value{"string"},
            value{symbol{"symbol"}},
            value{value_list{1, "two"}},
            value{value_map{{"key", 1}, {symbol{"other"}, nullptr}}},
            value{value_array{value_type::int_, {}, {1, 2}}},
            value{described_value{std::uint64_t{0x24}, value_list{}}}};
}

TEST(Value, EachTypeKnowsItsTypeAndRoundTrips)
{
    auto const values = one_of_each();
    ASSERT_EQ(values.size(), 25u);
    for (std::size_t i = 0; i != values.size(); ++i) {
        EXPECT_EQ(values[i].type(), static_cast<value_type>(i));
        expect_round_trip(values[i]);
        for (std::size_t j = 0; j != values.size(); ++j)
            EXPECT_EQ(values[i] == values[j], i == j) << i << " " << j;
        auto const wire = encoded(values[i]);
        EXPECT_EQ(type_of(codec_raw(wire)), values[i].type());
    }
}

TEST(Value, EveryEncodingOfATypeIsTheSameValue)
{
    EXPECT_EQ(decode_hex("5601"), value{true});
    EXPECT_EQ(decode_hex("7000000000"), value{std::uint32_t{0}});
    EXPECT_EQ(decode_hex("800000000000000005"), value{std::uint64_t{5}});
    EXPECT_EQ(decode_hex("7100000005"), value{5});
    EXPECT_EQ(decode_hex("810000000000000005"), value{std::int64_t{5}});
    EXPECT_EQ(decode_hex("b00000000101"), value{bytes{std::byte{1}}});
    EXPECT_EQ(decode_hex("b10000000161"), value{"a"});
    EXPECT_EQ(decode_hex("b30000000161"), value{symbol{"a"}});
    EXPECT_EQ(decode_hex("c00100"), value{value_list{}});
    EXPECT_EQ(decode_hex("d00000000400000000"), value{value_list{}});
    EXPECT_EQ(decode_hex("d10000000400000000"), value{value_map{}});
    EXPECT_EQ(decode_hex("f00000000500000000"
                         "71"),
              (value{value_array{value_type::int_, {}, {}}}));
}

TEST(Value, SpecialFloatingPointNumbersAreTheSameByTheirBits)
{
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(value{nan}, value{nan});
    EXPECT_NE(value{0.0}, value{-0.0});
    EXPECT_NE(value{0.0f}, value{-0.0f});
    expect_round_trip(value{nan});
    expect_round_trip(value{-std::numeric_limits<float>::infinity()});
}

TEST(Value, AListGoesIntoTheLongFormAtTwoHundredAndFiftySixOctets)
{
    auto const list_of_binary = [](std::size_t n) {
        return codec_encoded_hex(value{value_list{bytes(n)}});
    };
    EXPECT_EQ(list_of_binary(252).substr(0, 10), "c0ff01a0fc");
    EXPECT_EQ(list_of_binary(253).substr(0, 22), "d00000010300000001a0fd");
}

TEST(Value, EverySizeAroundTheWidthOfASizeRoundTrips)
{
    for (std::size_t n = 240; n != 270; ++n) {
        expect_round_trip(value{bytes(n)});
        expect_round_trip(value{std::string(n, 's')});
        expect_round_trip(value{symbol{std::string(n, 'y')}});
        expect_round_trip(value{value_list{bytes(n)}});
        expect_round_trip(value{value_list(n)});
        expect_round_trip(value{value_map{{"k", bytes(n)}}});
        value_map many;
        for (std::size_t i = 0; i != n / 2; ++i) many.add(nullptr, true);
        expect_round_trip(value{many});
        expect_round_trip(value{value_array{value_type::binary, {}, {bytes(n), bytes(1)}}});
        expect_round_trip(value{value_array{value_type::string, {}, {std::string(n, 'a')}}});
        expect_round_trip(
            value{value_array{value_type::symbol, {}, {symbol{std::string(n, 'a')}}}});
        expect_round_trip(
            value{value_array{value_type::boolean, {}, std::vector<value>(n, value{true})}});
        expect_round_trip(value{value_array{value_type::null, {}, std::vector<value>(n)}});
        expect_round_trip(value{value_array{value_type::list, {}, {value{value_list{bytes(n)}}}}});
        expect_round_trip(value{described_value{symbol{"d"}, bytes(n)}});
    }
}

TEST(Value, ArraysOfEveryTypeRoundTrip)
{
    for (auto const& item : one_of_each()) {
        if (item.type() == value_type::described)
            continue;
        expect_round_trip(value{value_array{item.type(), {}, {}}});
        expect_round_trip(value{value_array{item.type(), {}, {item}}});
        expect_round_trip(value{value_array{item.type(), {}, {item, item, item}}});
        expect_round_trip(value{value_array{item.type(), {symbol{"d"}}, {item, item}}});
        expect_round_trip(
            value{value_array{item.type(), {symbol{"outer"}, std::uint64_t{7}}, {item}}});
    }
}

TEST(Value, AnArrayHasTheShortestConstructorThatFitsAllItems)
{
    auto const of = [](value_type type, std::vector<value> items) {
        return codec_encoded_hex(value{value_array{type, {}, std::move(items)}});
    };
    EXPECT_EQ(of(value_type::uint, {std::uint32_t{1}, std::uint32_t{255}}), "e00402"
                                                                            "5201ff");
    EXPECT_EQ(of(value_type::uint, {std::uint32_t{1}, std::uint32_t{256}}), "e00a02"
                                                                            "70"
                                                                            "00000001"
                                                                            "00000100");
    EXPECT_EQ(of(value_type::int_, {-128, 127}), "e00402"
                                                 "54807f");
    EXPECT_EQ(of(value_type::int_, {-129}), "e00601"
                                            "71"
                                            "ffffff7f");
    EXPECT_EQ(of(value_type::long_, {std::int64_t{-1}}), "e00301"
                                                         "55ff");
    EXPECT_EQ(of(value_type::ulong, {std::uint64_t{0}}), "e00301"
                                                         "5300");
    EXPECT_EQ(of(value_type::boolean, {true, false}), "e00402"
                                                      "560100");
    EXPECT_EQ(of(value_type::null, {nullptr, nullptr}), "e00202"
                                                        "40");
    EXPECT_EQ(of(value_type::list, {value_list{}, value_list{true}}), "e00702"
                                                                      "c0"
                                                                      "0100"
                                                                      "020141");
    EXPECT_EQ(of(value_type::array, {value_array{value_type::ubyte, {}, {}}}), "e00501"
                                                                               "e0"
                                                                               "020050");
    EXPECT_EQ(of(value_type::map, {value_map{}}), "e00401"
                                                  "c1"
                                                  "0100");
}

TEST(Value, NestedArraysRoundTrip)
{
    value_array const small{value_type::int_, {}, {1, 2, 3}};
    value_array const large{value_type::string, {}, {std::string(300, 'x'), "y"}};
    expect_round_trip(value{value_array{value_type::array, {}, {small, small}}});
    expect_round_trip(value{value_array{value_type::array, {}, {small, large}}});
    expect_round_trip(value{
        value_array{value_type::array, {}, {value_array{value_type::array, {}, {small}}, small}}});
    expect_round_trip(value{value_array{
        value_type::map, {}, {value_map{{"a", small}}, value_map{{"b", value_list{large}}}}}});
    expect_round_trip(value{value_array{value_type::list, {}, {value_list{}, value_list{large}}}});
}

TEST(Value, AnItemOfAnotherTypeThanItsArrayIsWrittenAsZero)
{
    auto const wire = encoded(value{value_array{value_type::int_, {}, {1, "text"}}});
    EXPECT_EQ(codec_to_hex(wire), "e00402"
                                  "540100");
}

TEST(Value, ContentIsCheckedWhileItIsDecoded)
{
    for (auto const& [hex, expected] :
         {std::pair{"a10180", error::invalid_utf8}, std::pair{"a30180", error::invalid_value},
          std::pair{"7300110000", error::invalid_value}, std::pair{"5602", error::invalid_value},
          std::pair{"c00401"
                    "a10180",
                    error::invalid_utf8},
          std::pair{"e0030156"
                    "02",
                    error::invalid_value},
          std::pair{"c10601"
                    "a101614041",
                    error::invalid_value}}) {
        auto const wire = codec_from_hex(hex);
        bytes_view in{wire};
        value v{5};
        EXPECT_EQ(decode(in, v), expected) << hex;
        EXPECT_TRUE(v.is_null()) << hex;
        EXPECT_EQ(in.size(), wire.size()) << hex;
    }
}

TEST(Value, ReadsTextAndIntegersOfAnyWidth)
{
    EXPECT_EQ(value{"s"}.text(), "s");
    EXPECT_EQ(value{symbol{"y"}}.text(), "y");
    EXPECT_EQ(value{5}.text(), std::nullopt);
    EXPECT_EQ(value{std::uint8_t{5}}.integer(), 5);
    EXPECT_EQ(value{std::int64_t{-5}}.integer(), -5);
    EXPECT_EQ(value{UINT64_MAX}.integer(), std::nullopt);
    EXPECT_EQ(value{true}.integer(), std::nullopt);
    EXPECT_EQ(value{U'5'}.integer(), std::nullopt);
}

TEST(Value, CopiesAreIndependent)
{
    value a{value_array{value_type::int_, {}, {1}}};
    value b = a;
    b.get_if<value_array>()->items.push_back(2);
    EXPECT_EQ(a.get_if<value_array>()->items.size(), 1u);
    a = b;
    EXPECT_EQ(a, b);
    value const c = std::move(b);
    EXPECT_EQ(c, a);
}

TEST(ValueMap, KeepsOrderAndFindsStringsAndSymbols)
{
    value_map m;
    m["z"] = 1;
    m["a"] = "two";
    m[symbol{"y"}] = 3;
    m["z"] = 4;
    EXPECT_EQ(m.size(), 3u);
    EXPECT_EQ(to_string(value{m}), R"({"z": 4, "a": "two", :y: 3})");
    EXPECT_EQ(m["y"], value{3}) << "a string finds a symbol";
    EXPECT_TRUE(m.contains("a"));
    EXPECT_EQ(m.find("b"), nullptr);
    EXPECT_EQ(m.find_key(value{"y"}), nullptr) << "the whole key is compared";
    EXPECT_NE(m.find_key(value{symbol{"y"}}), nullptr);
    EXPECT_EQ(codec_encoded_hex(value{m}), "c11306"
                                           "a1017a5404"
                                           "a10161a10374776f"
                                           "a301795403");
}

TEST(ValueText, IsReadableAndOneLine)
{
    value_map m{{"s", "quote \" and \n"}, {symbol{"sym"}, symbol{"x"}}};
    EXPECT_EQ(to_string(value{m}), R"({"s": "quote \" and \n", :sym: :x})");
    EXPECT_EQ(to_string(value{}), "null");
    EXPECT_EQ(to_string(value{value_list{true, -5, std::uint64_t{7}, 1.5, bytes{std::byte{255}}}}),
              "[true, -5, 7, 1.5, 0xff]");
    EXPECT_EQ(to_string(value{described_value{symbol{"amqp:accepted:list"}, value_list{}}}),
              "@:amqp:accepted:list []");
    EXPECT_EQ(to_string(value{value_array{value_type::int_, {symbol{"d"}}, {1, 2}}}),
              "@:d int[1, 2]");
    EXPECT_EQ(to_string(value{U'é'}), "U+00E9");
    EXPECT_EQ(to_string(value{timestamp{-5}}), "t-5");
    EXPECT_EQ(to_string(decode_hex("98000102030405060708090a0b0c0d0e0f")),
              "00010203-0405-0607-0809-0a0b0c0d0e0f");
    EXPECT_EQ(to_string(value{decimal32{}}), "decimal:00000000");
    EXPECT_EQ(to_string(value{std::string{"\x01"}}), R"("\x01")");
    EXPECT_EQ(to_string(value{0.1f}), "0.100000001");

    auto const good = codec_from_hex("c00401"
                                     "5405");
    EXPECT_EQ(to_string(codec_raw(codec_from_hex("c00301"
                                                 "5405"))),
              "[5]");
    EXPECT_EQ(to_string(codec_raw(good)).substr(0, 11), "malformed (");
    EXPECT_EQ(to_string(raw_value{}), "absent");
}

}  // namespace
}  // namespace sluice::test
