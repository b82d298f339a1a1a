// Values of every type and messages of every kind as JSON.
#include "tools/message_json.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sluice::tools {
namespace {

std::string json(value const& v)
{
    std::string out;
    append_json(out, v);
    return out;
}

bytes octets(std::initializer_list<unsigned> list)
{
    bytes out;
    for (auto const o : list) out.push_back(std::byte(o));
    return out;
}

TEST(MessageJson, WhatJsonHasIsWhatItIs)
{
    EXPECT_EQ(json(nullptr), "null");
    EXPECT_EQ(json(true), "true");
    EXPECT_EQ(json(std::uint8_t{255}), "255");
    EXPECT_EQ(json(std::int8_t{-128}), "-128");
    EXPECT_EQ(json(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
    EXPECT_EQ(json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(json(0.1f), "0.1");
    EXPECT_EQ(json(0.1), "0.1");
    EXPECT_EQ(json(std::numeric_limits<float>::infinity()), "\"Infinity\"");
    EXPECT_EQ(json("a\"b"), R"("a\"b")");
    EXPECT_EQ(json(value_list{1, "x", value_list{}}), R"([1,"x",[]])");
    EXPECT_EQ(json(value_map{{"a", 1}, {symbol{"b"}, nullptr}}), R"({"a":1,"b":null})");
}

TEST(MessageJson, OtherTypesAreObjectsThatNameThem)
{
    EXPECT_EQ(json(octets({0x00, 0xff})), R"({"@binary":"AP8="})");
    EXPECT_EQ(json(symbol{"s"}), R"({"@symbol":"s"})");
    EXPECT_EQ(json(timestamp{-1}), R"({"@timestamp":-1})");
    EXPECT_EQ(json(U'\u20ac'), "{\"@char\":\"\xe2\x82\xac\"}");
    EXPECT_EQ(json(U'\U0001f600'), "{\"@char\":\"\xf0\x9f\x98\x80\"}");
    uuid id;
    for (unsigned i = 0; i != 16; ++i) id.octets[i] = std::byte(i);
    EXPECT_EQ(json(id), R"({"@uuid":"00010203-0405-0607-0809-0a0b0c0d0e0f"})");
    EXPECT_EQ(json(decimal32{{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0xff}}}),
              R"({"@decimal":"010203ff"})");
    EXPECT_EQ(json(described_value{.descriptor = symbol{"d"}, .content = 5}),
              R"({"@described":[{"@symbol":"d"},5]})");
}

TEST(MessageJson, ArraysAreListsAndTheirDescriptorsBelongToTheItems)
{
    EXPECT_EQ(json(value_array{.element = value_type::int_, .descriptors = {}, .items = {1, 2}}),
              "[1,2]");
    EXPECT_EQ(json(value_array{.element = value_type::int_, .descriptors = {"d"}, .items = {1}}),
              R"([{"@described":["d",1]}])");
}

TEST(MessageJson, MapsThatAreNoObjectsAreListsOfPairs)
{
    EXPECT_EQ(json(value_map{{1, "a"}, {"b", 2}}), R"({"@map":[[1,"a"],["b",2]]})");
    EXPECT_EQ(json(value_map{{"a", 1}, {symbol{"a"}, 2}}),
              R"({"@map":[["a",1],[{"@symbol":"a"},2]]})");
}

TEST(MessageJson, AMessageHasTheSectionsThatAreSet)
{
    message m{"body"};
    EXPECT_EQ(to_json(m), R"({"value":"body"})");
    m.header.durable = true;
    m.header.delivery_count = 2;
    m.message_annotations[symbol{"x-a"}] = 1;
    m.properties.message_id = std::uint64_t{7};
    m.properties.user_id = octets({0});
    m.properties.content_type = symbol_string{"text/plain"};
    m.properties.creation_time = timestamp{5};
    m.application_properties["k"] = 2.5;
    m.footer[symbol{"f"}] = false;
    EXPECT_EQ(
        to_json(m, json_object{}.add("delivery_tag", "AA==")),
        R"({"delivery_tag":"AA==","header":{"durable":true,"delivery_count":2},)"
        R"("message_annotations":{"x-a":1},"properties":{"message_id":7,"user_id":{"@binary":"AA=="},)"
        R"("content_type":"text/plain","creation_time":{"@timestamp":5}},)"
        R"("application_properties":{"k":2.5},"value":"body","footer":{"f":false}})");
}

TEST(MessageJson, BodiesSayOfWhatKindTheyAre)
{
    message data;
    data.body = data_body{.sections = {octets({0x66}), octets({0x6f, 0x6f})}};
    EXPECT_EQ(to_json(data), R"({"data":"Zm9v"})");
    message sequence;
    sequence.body = sequence_body{.sections = {{1, "x"}, {}}};
    EXPECT_EQ(to_json(sequence), R"({"sequence":[[1,"x"],[]]})");
    EXPECT_EQ(to_json(message{nullptr}), R"({"value":null})");
}

}  // namespace
}  // namespace sluice::tools
