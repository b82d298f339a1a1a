// Messages: sections and their order, kinds of bodies, defaults of the header. [3.2]
#include "support/codec_hex.hpp"

#include <sluice/codec/message.hpp>
#include <sluice/codec/message_writer.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

message decode_hex(std::string_view hex)
{
    message m;
    decode_fault fault;
    auto const code = decode(codec_from_hex(hex), m, &fault);
    EXPECT_FALSE(code) << hex << " " << fault.message();
    return m;
}

std::error_code error_of(std::string_view hex)
{
    auto const wire = codec_from_hex(hex);
    message_view view;
    message m;
    auto const code = decode(wire, view);
    EXPECT_EQ(decode(wire, m), code) << hex;
    return code;
}

TEST(Header, WhatIsNotThereMeansWhatTheStandardSays)
{
    for (auto const* const hex : {"00537745",
                                  "00537045"
                                  "00537745",
                                  "005370c00605"
                                  "4040404040"
                                  "00537745"}) {
        auto const m = decode_hex(hex);
        EXPECT_FALSE(m.header.is_durable()) << hex;
        EXPECT_EQ(m.header.effective_priority(), 4) << hex;
        EXPECT_EQ(m.header.ttl, std::nullopt) << hex;
        EXPECT_FALSE(m.header.is_first_acquirer()) << hex;
        EXPECT_EQ(m.header.prior_deliveries(), 0u) << hex;
        EXPECT_EQ(m.header.durable, std::nullopt) << hex;
    }
}

TEST(Header, WhatIsSetOnPurposeGoesOutEvenIfItIsTheDefault)
{
    message m{nullptr};
    m.header.durable = false;
    EXPECT_EQ(codec_encoded_hex(m), "005370c0020142"
                                    "00537740");
    m.header = {.ttl = 5};
    EXPECT_EQ(codec_encoded_hex(m), "005370c00503"
                                    "40405205"
                                    "00537740");
    m.header = {};
    EXPECT_EQ(codec_encoded_hex(m), "00537740");
}

TEST(MessageBody, SeveralDataSectionsStayApart)
{
    auto const wire = codec_from_hex("005375a0026162 005375a0026364");
    message_view view;
    ASSERT_FALSE(decode(wire, view));
    EXPECT_EQ(view.body, body_kind::data);
    EXPECT_EQ(view.body_sections, 2u);
    EXPECT_EQ(codec_to_hex(view.data(0)), "6162");
    EXPECT_EQ(codec_to_hex(view.data(1)), "6364");
    EXPECT_TRUE(view.data(2).empty());
    EXPECT_EQ(view.data_size(), 4u);
    bytes joined;
    view.append_data(joined);
    EXPECT_EQ(codec_to_hex(joined), "61626364");
    EXPECT_FALSE(view.value());

    auto const m = decode_hex("005375a0026162 005375a0026364");
    EXPECT_EQ(m.kind(), body_kind::data);
    EXPECT_EQ(codec_to_hex(*m.body_bytes()), "61626364");
    EXPECT_EQ(m.body_text(), "abcd");
    EXPECT_EQ(encoded(m), wire);
}

TEST(MessageBody, SequencesStayApart)
{
    auto const wire = codec_from_hex("005376c0030154"
                                     "01"
                                     "00537645");
    message_view view;
    ASSERT_FALSE(decode(wire, view));
    EXPECT_EQ(view.body, body_kind::sequence);
    EXPECT_EQ(to_string(view.sequence(0)), "[1]");
    EXPECT_EQ(to_string(view.sequence(1)), "[]");
    EXPECT_FALSE(view.sequence(2));
    EXPECT_EQ(view.data_size(), 0u);

    message m;
    ASSERT_FALSE(decode(wire, m));
    ASSERT_EQ(m.kind(), body_kind::sequence);
    EXPECT_EQ(std::get<sequence_body>(m.body).sections,
              (std::vector<value_list>{value_list{1}, value_list{}}));
    EXPECT_EQ(encoded(m), wire);
    EXPECT_EQ(m.body_text(), std::nullopt);
}

TEST(MessageBody, AValueOfAnyTypeIsOneBody)
{
    auto const m = decode_hex("005377c0030154"
                              "01");
    EXPECT_EQ(m.kind(), body_kind::value);
    EXPECT_EQ(*m.body_value(), (value{value_list{1}}));
    message_view view;
    auto const wire = encoded(m);
    ASSERT_FALSE(decode(wire, view));
    EXPECT_EQ(to_string(view.value()), "[1]");
}

TEST(MessageBody, AMixOfKindsIsAnError)
{
    EXPECT_EQ(error_of("005375a00161"
                       "00537740"),
              error::invalid_section_order);
    EXPECT_EQ(error_of("005375a00161"
                       "00537645"),
              error::invalid_section_order);
    EXPECT_EQ(error_of("00537645"
                       "005375a00161"),
              error::invalid_section_order);
    EXPECT_EQ(error_of("00537740"
                       "00537740"),
              error::invalid_section_order);
    EXPECT_EQ(error_of("00537740"
                       "005375a00161"),
              error::invalid_section_order);
}

TEST(MessageBody, TextAndBytesAreGivenWhereTheyMakeSense)
{
    EXPECT_EQ(message{"hello"}.body_text(), "hello");
    EXPECT_EQ(message{std::string{"hello"}}.body_text(), "hello");
    EXPECT_EQ(message{std::string_view{"hello"}}.body_text(), "hello");
    EXPECT_EQ(message{"hello"}.body_bytes(), std::nullopt);
    EXPECT_EQ(message{value{5}}.body_text(), std::nullopt);
    EXPECT_EQ(message{codec_from_hex("ff")}.body_text(), std::nullopt) << "not UTF-8";
    EXPECT_EQ(message{codec_from_hex("ff")}.body_bytes(), codec_from_hex("ff"));
    EXPECT_EQ(message{value{codec_from_hex("ff")}}.body_bytes(), codec_from_hex("ff"));
    EXPECT_EQ(message{}.kind(), body_kind::none);
    EXPECT_EQ(message{}.body_text(), std::nullopt);
    EXPECT_EQ(message{}.body_value(), nullptr);
}

TEST(MessageBody, AnEmptyOneStillHasASection)
{
    message m;
    EXPECT_EQ(codec_encoded_hex(m), "00537740");
    m.body = data_body{};
    EXPECT_EQ(codec_encoded_hex(m), "005375a000");
    m.body = sequence_body{};
    EXPECT_EQ(codec_encoded_hex(m), "00537645");
    EXPECT_EQ(decode_hex("").kind(), body_kind::none);
}

TEST(MessageSections, MustBeInOrderAndThereOnce)
{
    // header, delivery annotations, message annotations, properties, application properties, body,
    // footer
    std::string const sections[] = {"00537045",     "005371c10100", "005372c10100", "00537345",
                                    "005374c10100", "00537740",     "005378c10100"};
    std::string all;
    for (auto const& s : sections) all += s;
    EXPECT_FALSE(error_of(all));
    for (std::size_t i = 0; i != std::size(sections); ++i) {
        EXPECT_EQ(error_of(sections[i] + sections[i]), error::invalid_section_order) << i;
        for (std::size_t j = 0; j != i; ++j) {
            EXPECT_FALSE(error_of(sections[j] + sections[i]));
            EXPECT_EQ(error_of(sections[i] + sections[j]), error::invalid_section_order);
        }
    }
}

TEST(MessageSections, HaveTheirOwnTypes)
{
    EXPECT_EQ(error_of("005371"
                       "45"),
              error::wrong_type);
    EXPECT_EQ(error_of("005372"
                       "a10161"),
              error::wrong_type);
    EXPECT_EQ(error_of("005374"
                       "45"),
              error::wrong_type);
    EXPECT_EQ(error_of("005375"
                       "a10161"),
              error::wrong_type);
    EXPECT_EQ(error_of("005376"
                       "c10100"),
              error::wrong_type);
    EXPECT_EQ(error_of("005378"
                       "45"),
              error::wrong_type);
    EXPECT_EQ(error_of("005370"
                       "c10100"),
              error::wrong_type);
    EXPECT_EQ(error_of("005379"
                       "45"),
              error::invalid_descriptor);
    EXPECT_EQ(error_of("00536f"
                       "45"),
              error::invalid_descriptor);
    EXPECT_EQ(error_of("00800000000000000170"
                       "45"),
              error::invalid_descriptor);
    EXPECT_EQ(error_of("45"), error::wrong_type);
    for (auto const* const hex : {"00", "0053", "005375", "005374", "005370", "005377", "005376"})
        EXPECT_EQ(error_of(hex), error::truncated) << hex;
}

TEST(MessageSections, MayHaveSymbolicDescriptors)
{
    auto const m = decode_hex("00a310616d71703a6865616465723a6c697374c0020141"
                              "00a310616d71703a646174613a62696e617279a00161");
    EXPECT_TRUE(m.header.is_durable());
    EXPECT_EQ(m.body_text(), "a");
    EXPECT_EQ(decode_hex("008000000000000000"
                         "75a00162"
                         "00800000000000000075a00163")
                  .body_text(),
              "bc");
}

TEST(MessageSections, AFaultNamesTheSectionAndTheField)
{
    decode_fault fault;
    message_view view;
    EXPECT_TRUE(decode(codec_from_hex("00537045"
                                      "005373c003024043"),
                       view, &fault));
    EXPECT_EQ(fault.message().substr(0, 31), "properties.user-id at octet 11:");
    EXPECT_TRUE(decode(codec_from_hex("005370c0020143"), view, &fault));
    EXPECT_EQ(fault.message().substr(0, 27), "header.durable at octet 6: ");
    EXPECT_TRUE(decode(codec_from_hex("00537740"
                                      "00537045"),
                       view, &fault));
    EXPECT_EQ(fault.message().substr(0, 20), "message at octet 4: ");
    EXPECT_TRUE(decode(codec_from_hex("005374c10100"
                                      "005375a005"),
                       view, &fault));
    EXPECT_EQ(fault.composite, "data");
    message m;
    EXPECT_TRUE(decode(codec_from_hex("005373c0040340"
                                      "4043"
                                      "00537740"),
                       m, &fault));
    EXPECT_EQ(fault.message().substr(0, 14), "properties.to ");
    EXPECT_TRUE(decode(codec_from_hex("005377a10180"), m, &fault));
    EXPECT_EQ(fault.composite, "body");
    EXPECT_EQ(fault.code, error::invalid_utf8);
}

message filled()
{
    message m{value_map{{"k", value_list{1, 2}}}};
    m.header = {.durable = true,
                .priority = std::uint8_t{9},
                .ttl = 60000,
                .first_acquirer = true,
                .delivery_count = 3};
    m.delivery_annotations[symbol{"x-opt-d"}] = 1;
    m.message_annotations[symbol{"x-opt-m"}] = "two";
    m.properties = {.message_id = uuid{},
                    .user_id = codec_from_hex("01"),
                    .to = "to",
                    .subject = "subject",
                    .reply_to = "reply",
                    .correlation_id = std::uint64_t{5},
                    .content_type = symbol_string{"text/plain"},
                    .content_encoding = symbol_string{"gzip"},
                    .absolute_expiry_time = timestamp{2000},
                    .creation_time = timestamp{1000},
                    .group_id = "group",
                    .group_sequence = 4294967295u,
                    .reply_to_group_id = "reply-group"};
    m.application_properties["text"] = "value";
    m.application_properties["number"] = 5;
    m.footer[symbol{"x-opt-f"}] = codec_from_hex("ff");
    return m;
}

TEST(Message, EverythingSurvivesARoundTrip)
{
    auto const m = filled();
    auto const wire = encoded(m);
    EXPECT_LE(wire.size(), encoded_size_bound(m));
    message back;
    ASSERT_FALSE(decode(wire, back));
    EXPECT_EQ(back, m) << to_string(back);
    EXPECT_EQ(encoded(back), wire);

    bytes appended = codec_from_hex("aa");
    encode(m, appended);
    EXPECT_EQ(codec_to_hex(appended), "aa" + codec_to_hex(wire));
}

TEST(Message, EachPartMakesADifference)
{
    auto const m = filled();
    auto other = m;
    other.header.ttl = std::nullopt;
    EXPECT_NE(other, m);
    other = m;
    other.properties.group_sequence = 0;
    EXPECT_NE(other, m);
    other = m;
    other.footer.clear();
    EXPECT_NE(other, m);
    EXPECT_EQ(message{m}, m);
}

TEST(Message, LongTextsGoIntoTheLongForms)
{
    for (std::size_t n = 200; n != 270; ++n) {
        message m{std::string(n, 'b')};
        m.properties.message_id = std::string(n, 'i');
        m.properties.to = std::string(n, 't');
        m.properties.subject = std::string(n, 's');
        m.application_properties[std::string(n, 'k')] = std::string(n, 'v');
        auto const wire = encoded(m);
        EXPECT_LE(wire.size(), encoded_size_bound(m));
        message back;
        ASSERT_FALSE(decode(wire, back)) << n;
        EXPECT_EQ(back, m) << n;
    }
}

TEST(Message, AnnotationKeysGoOutAsSymbols)
{
    message m{nullptr};
    m.message_annotations["x-opt-to"] = true;
    m.message_annotations.add(std::uint64_t{5}, 1);
    EXPECT_EQ(codec_encoded_hex(m), "005372c11004"
                                    "a308782d6f70742d746f41"
                                    "53055401"
                                    "00537740");
}

// [1.6.21] A symbol is ASCII.
TEST(Message, AnAnnotationKeyThatNoSymbolCanHaveStaysAString)
{
    message m{nullptr};
    m.footer["\xc3\xbc"] = true;
    message back;
    ASSERT_FALSE(decode(encoded(m), back));
    EXPECT_EQ(back, m);
}

TEST(Message, ItsTextShowsWhatIsSet)
{
    message m{"hi"};
    m.properties.subject = "s";
    m.header.priority = std::uint8_t{7};
    EXPECT_EQ(to_string(m), R"(header {:priority: 7} properties {:subject: "s"} amqp-value "hi")");
    EXPECT_EQ(to_string(message{}), "");
    EXPECT_EQ(to_string(message{codec_from_hex("0a")}), "data 0x0a");
    message s;
    s.body = sequence_body{{value_list{1}}};
    EXPECT_EQ(to_string(s), "amqp-sequence [1]");
    EXPECT_NE(to_string(filled()).find(":group-sequence: 4294967295"), std::string::npos);
}

TEST(MessageWriter, WritesWhatAMessageWouldWrite)
{
    auto const m = filled();
    auto const body = encoded(*m.body_value());
    auto const to = encoded("to");
    auto const reply_to = encoded("reply");
    auto const message_id = encoded(uuid{});
    auto const correlation_id = encoded(std::uint64_t{5});
    auto const user_id = codec_from_hex("01");
    bytes direct;
    message_writer{direct}
        .header(m.header)
        .delivery_annotation("x-opt-d", 1)
        .message_annotation("x-opt-m", "two")
        .properties({.message_id = codec_raw(message_id),
                     .user_id = user_id,
                     .to = codec_raw(to),
                     .subject = "subject",
                     .reply_to = codec_raw(reply_to),
                     .correlation_id = codec_raw(correlation_id),
                     .content_type = "text/plain",
                     .content_encoding = "gzip",
                     .absolute_expiry_time = timestamp{2000},
                     .creation_time = timestamp{1000},
                     .group_id = "group",
                     .group_sequence = 4294967295u,
                     .reply_to_group_id = "reply-group"})
        .application_property("text", "value")
        .application_property("number", 5)
        .value(codec_raw(body))
        .footer("x-opt-f", codec_from_hex("ff"))
        .finish();
    EXPECT_EQ(codec_to_hex(direct), codec_to_hex(encoded(m)));
}

TEST(MessageWriter, WritesSeveralBodySections)
{
    bytes data;
    message_writer{data}.data(codec_octets("ab")).data("cd");
    EXPECT_EQ(codec_to_hex(data), "005375a0026162"
                                  "005375a0026364");
    bytes sequences;
    auto const list = encoded(value_list{1});
    message_writer{sequences}.sequence(codec_raw(list)).sequence(codec_raw(list));
    EXPECT_EQ(codec_to_hex(sequences), "005376c003015401"
                                       "005376c003015401");
}

}  // namespace
}  // namespace sluice::test
