// Composite types on the wire: what is written, and every encoding that is read. [1.4, 2.7]
#include "support/codec_hex.hpp"

#include <sluice/codec/codec.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

template <class T>
struct decoded {
    T value{};
    std::error_code code{};
    decode_fault fault{};
    std::size_t rest = 0;
    bytes storage{};

    explicit decoded(bytes wire) : storage{std::move(wire)}
    {
        bytes_view in{storage};
        code = decode(in, value, &fault);
        rest = in.size();
        // Without a fault to fill it has to be the same.
        T again{};
        bytes_view in_again{storage};
        EXPECT_EQ(decode(in_again, again), code);
        EXPECT_EQ(in_again.size(), rest);
    }
    explicit decoded(std::string_view hex) : decoded{codec_from_hex(hex)} {}
};

TEST(Performatives, ATransferIsWrittenInItsShortestForm)
{
    auto const tag = codec_from_hex("00000007");
    EXPECT_EQ(codec_encoded_hex(transfer{.handle = handle{1},
                                         .delivery_id = delivery_number{300},
                                         .delivery_tag = tag,
                                         .message_format = 0,
                                         .settled = true}),
              "005314c01005"
              "5201"
              "700000012c"
              "a00400000007"
              "43"
              "41");
}

TEST(Performatives, FieldsEqualToTheirDefaultAndTrailingNullsAreNotWritten)
{
    EXPECT_EQ(codec_encoded_hex(transfer{.handle = handle{0}}), "005314c0020143");
    EXPECT_EQ(codec_encoded_hex(transfer{.handle = handle{0}, .more = true}),
              "005314c007064340404040"
              "41");
    EXPECT_EQ(codec_encoded_hex(open{.container_id = "c"}), "005310c00401a10163");
    EXPECT_EQ(codec_encoded_hex(open{.container_id = "c", .channel_max = 7}),
              "005310c00904a10163404060"
              "0007");
    EXPECT_EQ(codec_encoded_hex(close{}), "00531845");
    EXPECT_EQ(codec_encoded_hex(end{}), "00531745");
}

TEST(Performatives, AnOptionalFieldThatIsSetIsWrittenWhateverItsValue)
{
    EXPECT_EQ(codec_encoded_hex(header{.durable = false}), "005370c0020142");
    EXPECT_EQ(codec_encoded_hex(header{.ttl = 1000}), "005370c008034040"
                                                      "70000003e8");
    EXPECT_EQ(codec_encoded_hex(transfer{.settled = false}), "005314c006054340404042");
    EXPECT_EQ(codec_encoded_hex(flow{.link_credit = 0}), "005313c008074043434340404"
                                                         "3");
    EXPECT_EQ(codec_encoded_hex(sasl_outcome{}), "005344c003015000");
}

TEST(Performatives, AListOverTheShortSizeIsWrittenInTheLongForm)
{
    std::string const name(249, 'n');  // a1 f9 …: 251 octets of content, a size of 252
    EXPECT_EQ(codec_encoded_hex(open{.container_id = name}).substr(0, 12), "005310c0fc01");
    std::string const longest(252, 'n');
    EXPECT_EQ(codec_encoded_hex(open{.container_id = longest}).substr(0, 12), "005310c0ff01");
    std::string const longer(253, 'n');
    EXPECT_EQ(codec_encoded_hex(open{.container_id = longer}).substr(0, 26),
              "005310d00000010300000001a1");
    for (std::size_t size = 240; size != 270; ++size) {
        std::string const id(size, 'x');
        decoded<open> const d{encoded(open{.container_id = id, .channel_max = 9})};
        EXPECT_FALSE(d.code) << size;
        EXPECT_EQ(d.value.container_id, id);
        EXPECT_EQ(d.value.channel_max, 9);
    }
}

TEST(Performatives, EveryEncodingOfADescriptorIsRead)
{
    for (auto const* const wire : {"005316c0020143", "00800000000000000016c0020143",
                                   "00a310616d71703a6465746163683a6c697374c0020143",
                                   "00b300000010616d71703a6465746163683a6c697374c0020143"}) {
        decoded<detach> const d{wire};
        EXPECT_FALSE(d.code) << wire << " " << d.fault.message();
        EXPECT_EQ(peek_descriptor(d.storage), 0x16u) << wire;
    }
    EXPECT_EQ(peek_descriptor(codec_from_hex("4345")), 0u);
    EXPECT_EQ(peek_descriptor(codec_from_hex("00")), 0u);
    EXPECT_EQ(peek_descriptor(codec_from_hex("00a3036e6f7645")), 0u);
    EXPECT_EQ(peek_descriptor(codec_from_hex("00"
                                             "80"
                                             "0000468c00000004"
                                             "45")),
              0x0000468c'00000004u);
    EXPECT_EQ(peek_descriptor(codec_from_hex("00a310616d71703a646174613a62696e617279")), 0x75u);
}

TEST(Performatives, EveryEncodingOfAListIsRead)
{
    EXPECT_FALSE(decoded<close>{"00531845"}.code);
    EXPECT_FALSE(decoded<close>{"005318c00100"}.code);
    EXPECT_FALSE(decoded<close>{"005318d00000000400000000"}.code);
    EXPECT_FALSE(decoded<close>{"005318c0020140"}.code);
    decoded<detach> const d{"005316d000000006000000015205"};
    EXPECT_FALSE(d.code);
    EXPECT_EQ(d.value.handle, handle{5});
}

TEST(Performatives, EveryEncodingOfAFieldIsRead)
{
    // handle as uint0, smalluint, uint; settled as 41, 42, 5601, 5600; nulls in between
    EXPECT_EQ(decoded<transfer>{"005314c0020143"}.value.handle, handle{0});
    EXPECT_EQ(decoded<transfer>{"005314c003015207"}.value.handle, handle{7});
    EXPECT_EQ(decoded<transfer>{"005314c006017000000007"}.value.handle, handle{7});
    EXPECT_EQ(decoded<transfer>{"005314c0060543404040"
                                "41"}
                  .value.settled,
              true);
    EXPECT_EQ(decoded<transfer>{"005314c0060543404040"
                                "42"}
                  .value.settled,
              false);
    EXPECT_EQ(decoded<transfer>{"005314c0070543404040"
                                "5601"}
                  .value.settled,
              true);
    EXPECT_EQ(decoded<transfer>{"005314c0070543404040"
                                "5600"}
                  .value.settled,
              false);
    EXPECT_EQ(decoded<transfer>{"005314c0060543404040"
                                "40"}
                  .value.settled,
              std::nullopt);
    EXPECT_FALSE(decoded<open>{"005310c00701b10000000163"}.code);
    auto const tag = decoded<transfer>{"005314c0090343"
                                       "40"
                                       "b000000001ff"};
    EXPECT_FALSE(tag.code);
    EXPECT_EQ(codec_to_hex(*tag.value.delivery_tag), "ff");
}

TEST(Performatives, AnAbsentFieldHasTheStandardsDefault)
{
    decoded<attach> const d{"005312c00603a1016c4341"};
    ASSERT_FALSE(d.code);
    EXPECT_EQ(d.value.role, role::receiver);
    EXPECT_EQ(d.value.snd_settle_mode, sender_settle_mode::mixed);
    EXPECT_EQ(d.value.rcv_settle_mode, receiver_settle_mode::first);
    EXPECT_FALSE(d.value.source);
    EXPECT_EQ(d.value.initial_delivery_count, std::nullopt);
    decoded<open> const o{"005310c00401a10163"};
    EXPECT_EQ(o.value.max_frame_size, 4294967295u);
    EXPECT_EQ(o.value.channel_max, 65535);
    decoded<source> const s{"00532845"};
    EXPECT_EQ(s.value.expiry_policy, symbol{"session-end"});
    EXPECT_EQ(s.value.durable, terminus_durability::none);
}

TEST(Performatives, DecodingMovesPastThePerformativeAndNoFurther)
{
    decoded<transfer> const d{"005314c0020143 aabbcc"};
    EXPECT_FALSE(d.code);
    EXPECT_EQ(d.rest, 3u);
}

TEST(Performatives, WhatWasDecodedBeforeIsNotMixedIn)
{
    transfer t{.handle = handle{1}, .delivery_id = delivery_number{5}, .settled = true};
    auto const wire = codec_from_hex("005314c0020143");
    bytes_view in{wire};
    ASSERT_FALSE(decode(in, t));
    EXPECT_EQ(t.delivery_id, std::nullopt);
    EXPECT_EQ(t.settled, std::nullopt);
}

TEST(Performatives, AFaultNamesTheFieldAndTheOctet)
{
    decoded<transfer> const wrong{"005314c0050243a10161"};
    EXPECT_EQ(wrong.code, error::wrong_type);
    EXPECT_EQ(wrong.rest, 10u) << "the input stays where it was";
    EXPECT_EQ(wrong.fault.composite, "transfer");
    EXPECT_EQ(wrong.fault.field, "delivery-id");
    EXPECT_EQ(wrong.fault.offset, 7u);
    EXPECT_EQ(wrong.fault.message().substr(0, 34), "transfer.delivery-id at octet 7: a");
    EXPECT_EQ(decode_fault{}.message().substr(0, 16), "value at octet 0");
}

struct bad_wire {
    char const* what;
    char const* hex;
    error expected;
    std::string_view field;
};

TEST(Performatives, WhatIsWrongWithATransferIsTold)
{
    for (auto const& [what, hex, expected, field] : {
             bad_wire{"no handle", "00531445", error::missing_mandatory_field, "handle"},
             bad_wire{"null handle", "005314c0020140", error::missing_mandatory_field, "handle"},
             bad_wire{"other descriptor", "005315c0020143", error::invalid_descriptor, ""},
             bad_wire{"descriptor not a number", "0041c0020143", error::invalid_descriptor, ""},
             bad_wire{"not described", "c0020143", error::wrong_type, ""},
             bad_wire{"a map", "005314c1050243434343", error::wrong_type, ""},
             bad_wire{"twelve fields",
                      "005314c00d0c43404040404040404040404"
                      "0",
                      error::too_many_fields, ""},
             bad_wire{"size beyond the input", "005314c0ff0143", error::truncated, ""},
             bad_wire{"size of 0", "005314c000", error::size_mismatch, ""},
             bad_wire{"count beyond the size", "005314c0020243", error::too_many_elements, ""},
             bad_wire{"count below the elements", "005314c003014343", error::size_mismatch, ""},
             bad_wire{"unknown format code", "005314c003025443", error::wrong_type, "handle"},
             bad_wire{"no format code at all", "005314c003023f43", error::unknown_constructor,
                      "handle"},
             bad_wire{"uint beyond the list", "005314c003017000", error::size_mismatch, "handle"},
             bad_wire{"tag beyond the list",
                      "005314c0050343"
                      "40"
                      "a0ff",
                      error::size_mismatch, "delivery-tag"},
             bad_wire{"boolean of 2", "005314c00705434040405602", error::invalid_value, "settled"},
             bad_wire{"unknown settle mode",
                      "005314c0090743404040404050"
                      "02",
                      error::invalid_value, "rcv-settle-mode"},
             bad_wire{"tag of 33 octets",
                      "005314c026034340a021"
                      "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
                      error::invalid_value, "delivery-tag"},
             bad_wire{"malformed state",
                      "005314c0090843404040404040"
                      "1f",
                      error::unknown_constructor, "state"},
             bad_wire{"nothing", "", error::truncated, ""},
             bad_wire{"half a descriptor", "0053", error::truncated, ""},
             bad_wire{"no list", "005314", error::truncated, ""},
         }) {
        decoded<transfer> const d{hex};
        EXPECT_EQ(d.code, expected) << what << ": " << d.code.message();
        EXPECT_EQ(d.fault.code, d.code) << what;
        EXPECT_EQ(d.fault.field, field) << what;
        EXPECT_EQ(d.rest, d.storage.size()) << what;
    }
}

TEST(Performatives, AFieldOfStringsOrSymbolsIsChecked)
{
    EXPECT_EQ(decoded<open>{"005310c00401a10180"}.code, error::invalid_utf8);
    EXPECT_EQ(decoded<sasl_init>{"005341c00401a30180"}.code, error::invalid_value);
    EXPECT_EQ(decoded<open>{"005310c0050ba1016340"}.code, error::too_many_elements);
    EXPECT_EQ(decoded<sasl_outcome>{"005344c003015005"}.code, error::invalid_value);
}

TEST(Performatives, AMapFieldMustBeAWellFormedMap)
{
    auto const begin_with = [](char const* properties) {
        auto fields = "4043434340404" + std::string{"0"} + properties;
        auto content = codec_from_hex(fields);
        bytes wire = codec_from_hex("005311c0");
        wire.push_back(static_cast<std::byte>(content.size() + 1));
        wire.push_back(std::byte{8});
        wire.insert(wire.end(), content.begin(), content.end());
        return decoded<begin>{std::move(wire)}.code;
    };
    EXPECT_EQ(begin_with("c10100"), std::error_code{});
    EXPECT_EQ(begin_with("c10502a3016143"), std::error_code{});
    EXPECT_EQ(begin_with("d10000000400000000"), std::error_code{});
    EXPECT_EQ(begin_with("c1020143"), error::invalid_value) << "a key without a value";
    EXPECT_EQ(begin_with("45"), error::wrong_type);
    EXPECT_EQ(begin_with("c10502a30161"), error::size_mismatch);
}

TEST(Performatives, AnErrorInsideADetachIsRead)
{
    auto const wire = encoded(
        detach{.handle = handle{3},
               .closed = true,
               .error = error_view{.condition = "amqp:not-found", .description = "no such queue"}});
    EXPECT_EQ(codec_to_hex(wire), "005316c0290352034100531dc0200"
                                  "2a30e616d71703a6e6f742d666f756e64"
                                  "a10d6e6f20737563682071756575"
                                  "65");
    decoded<detach> const d{wire};
    ASSERT_FALSE(d.code);
    ASSERT_TRUE(d.value.error);
    EXPECT_EQ(d.value.error->condition, symbol{"amqp:not-found"});
    EXPECT_EQ(d.value.error->description, "no such queue");
    EXPECT_EQ(decoded<detach>{"005316c00703434100531d45"}.code, error::missing_mandatory_field);
    EXPECT_EQ(decoded<detach>{"005316c004034341a1"}.code, error::wrong_type);
}

TEST(Performatives, ALongErrorIsWrittenInTheLongFormInsideItsPerformative)
{
    std::string const text(300, 't');
    auto const wire = encoded(
        close{.error = error_view{.condition = "amqp:internal-error", .description = text}});
    decoded<close> const d{wire};
    ASSERT_FALSE(d.code) << d.fault.message();
    EXPECT_EQ(d.value.error->description, text);
}

TEST(Performatives, ADispositionRoundTrips)
{
    auto const wire = encoded(disposition{.role = role::receiver,
                                          .first = delivery_number{4294967294},
                                          .last = delivery_number{1},
                                          .settled = true,
                                          .state = raw_value{encoded_accepted}});
    EXPECT_EQ(codec_to_hex(wire), "005315c00e054170fffffffe52014100532445");
    decoded<disposition> const d{wire};
    ASSERT_FALSE(d.code);
    EXPECT_EQ(d.value.first, delivery_number{4294967294});
    EXPECT_EQ(d.value.last, delivery_number{1});
    delivery_state state;
    ASSERT_FALSE(decode(d.value.state, state));
    EXPECT_TRUE(std::holds_alternative<accepted>(state));
}

}  // namespace
}  // namespace sluice::test
