// Typed access to encoded values: lists, maps, arrays and described values in place.
#include "support/codec_hex.hpp"

#include <sluice/codec/reader.hpp>
#include <sluice/codec/value.hpp>
#include <sluice/codec/writer.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(MapWriter, WritesWhatAValueWouldWrite)
{
    bytes direct;
    map_writer{direct}.add("k", 5).add(symbol{"s"}, true).add("t", "text").finish();
    EXPECT_EQ(direct, encoded(value_map{{"k", 5}, {symbol{"s"}, true}, {"t", "text"}}));

    bytes empty;
    map_writer{empty}.finish();
    EXPECT_EQ(codec_to_hex(empty), "c10100");
}

TEST(MapWriter, GoesIntoTheLongFormWhenItHasTo)
{
    for (std::size_t n = 240; n != 260; ++n) {
        bytes direct = codec_from_hex("aa");  // what was there stays
        map_writer{direct}.add("k", std::string(n, 'x')).finish();
        bytes expected = codec_from_hex("aa");
        append(expected, value_map{{"k", std::string(n, 'x')}});
        EXPECT_EQ(direct, expected) << n;
    }
}

TEST(ListWriter, WritesNestedValues)
{
    bytes direct;
    list_writer outer{direct};
    outer.add(1);
    {
        list_writer inner{direct};
        inner.add("a").finish();
        outer.added();
    }
    outer.finish();
    EXPECT_EQ(direct, encoded(value_list{1, value_list{"a"}}));
    bytes empty;
    list_writer{empty}.finish();
    EXPECT_EQ(codec_to_hex(empty), "45");
}

TEST(ListWriter, CountsMoreThanAnOctetHolds)
{
    bytes direct;
    list_writer list{direct};
    for (int i = 0; i != 256; ++i) list.add(nullptr == nullptr);
    list.finish();
    EXPECT_EQ(codec_to_hex(direct).substr(0, 18), "d00000010400000100");
}

TEST(Writers, BuildAFilterWithADescribedValue)
{
    bytes filter;
    map_writer map{filter};
    map.add_key(symbol{"jms-selector"});
    append_descriptor(filter, symbol{"apache.org:selector-filter:string"});
    append(filter, "colour = 'red'");
    map.finish();

    map_reader reader{codec_raw(filter)};
    auto const entry = reader.next();
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->name(), "jms-selector");
    auto const described = as_described(entry->value);
    ASSERT_TRUE(described);
    EXPECT_TRUE(described->is(0x0000468c'00000004, "apache.org:selector-filter:string"));
    EXPECT_FALSE(described->is(0x24, "amqp:accepted:list"));
    EXPECT_EQ(as<std::string_view>(described->content), "colour = 'red'");
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.error());
}

TEST(Writers, WriteADescriptorThatIsANumber)
{
    bytes wire;
    append_descriptor(wire, 0x24);
    append(wire, value_list{});
    EXPECT_TRUE(same_bytes(wire, bytes_view{encoded_accepted}));
    EXPECT_TRUE(as_described(codec_raw(wire))->is(0x24, "amqp:accepted:list"));
}

TEST(MapReader, FindsEntriesWithoutMoving)
{
    auto const wire = encoded(value_map{{"a", 1}, {symbol{"b"}, "two"}, {3, 4}});
    map_reader const map{codec_raw(wire)};
    EXPECT_EQ(map.left(), 6u);
    EXPECT_EQ(as<std::int32_t>(map.find("a")), 1);
    EXPECT_EQ(as_text(map.find("b")), "two");
    EXPECT_TRUE(map.find("c").empty());
    EXPECT_EQ(map.left(), 6u);
}

TEST(Readers, TakeNothingForAnEmptyOne)
{
    EXPECT_FALSE(map_reader{raw_value{}}.next());
    auto const null = codec_from_hex("40");
    list_reader list{codec_raw(null)};
    EXPECT_FALSE(list.next());
    EXPECT_FALSE(list.error());
    EXPECT_TRUE(is_null(codec_raw(null)));
    EXPECT_TRUE(is_null({}));
}

TEST(Readers, SayWhyTheyCannotGoOn)
{
    for (auto const& [hex, expected] :
         {std::pair{"c10201", error::truncated}, std::pair{"45", error::wrong_type},
          std::pair{"c10302"
                    "40a1",
                    error::size_mismatch},
          std::pair{"c1050143434343", error::invalid_value},
          std::pair{"c10402"
                    "a10161",
                    error::size_mismatch},
          std::pair{"c10402"
                    "43"
                    "4343",
                    error::size_mismatch},
          std::pair{"c10302"
                    "3f43",
                    error::unknown_constructor}}) {
        auto const wire = codec_from_hex(hex);
        map_reader map{codec_raw(wire)};
        while (map.next()) {}
        EXPECT_EQ(map.error(), expected) << hex;
        EXPECT_EQ(map.left(), 0u);
    }
    auto const map = codec_from_hex("c10100");
    list_reader list{codec_raw(map)};
    EXPECT_FALSE(list.next());
    EXPECT_EQ(list.error(), error::wrong_type);
}

TEST(Readers, ReadAListInOrder)
{
    auto const wire = encoded(value_list{1, "two", value_list{3}});
    std::string seen;
    list_reader list{codec_raw(wire)};
    while (auto const element = list.next()) seen += to_string(*element) + ";";
    EXPECT_EQ(seen, "1;\"two\";[3];");
    EXPECT_FALSE(list.error());
}

TEST(ArrayReader, ReadsScalarsOfOneType)
{
    auto const wire =
        encoded(value_array{value_type::uint, {}, {std::uint32_t{1}, std::uint32_t{500}}});
    array_reader<std::uint32_t> array{codec_raw(wire)};
    EXPECT_EQ(array.left(), 2u);
    EXPECT_EQ(array.next(), 1u);
    EXPECT_EQ(array.next(), 500u);
    EXPECT_EQ(array.next(), std::nullopt);
    EXPECT_EQ(array_reader<bool>{codec_raw(wire)}.next(), std::nullopt);
    EXPECT_EQ(array_reader<bool>{raw_value{}}.next(), std::nullopt);
    auto const list = codec_from_hex("45");
    EXPECT_EQ(array_reader<bool>{codec_raw(list)}.left(), 0u);
}

TEST(Readers, TakeADescribedValueApartOnlyIfItIsOne)
{
    for (auto const* const hex : {"", "45", "00", "0043", "00434343"}) {
        auto const wire = codec_from_hex(hex);
        EXPECT_FALSE(as_described(codec_raw(wire))) << hex;
    }
    EXPECT_EQ(type_of({}), std::nullopt);
    auto const unknown = codec_from_hex("3f");
    EXPECT_EQ(type_of(codec_raw(unknown)), std::nullopt);
    EXPECT_EQ(to_string(value_type::short_), "short");
}

}  // namespace
}  // namespace sluice::test
