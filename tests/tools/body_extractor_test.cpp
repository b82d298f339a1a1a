// Bodies taken out of messages that come in parts.
#include "tools/body_extractor.hpp"
#include "tools/outgoing_message.hpp"

#include <sluice/codec/message_writer.hpp>

#include <gtest/gtest.h>

namespace sluice::tools {
namespace {

bytes octets(std::string_view text)
{
    auto const view = std::as_bytes(std::span{text});
    return {view.begin(), view.end()};
}

/// The body, or "fault: ..."; fed in parts of `step` octets.
std::string body_of(bytes_view encoded, std::size_t step)
{
    body_extractor e;
    bytes out;
    while (!encoded.empty()) {
        auto const part = encoded.first(std::min(step, encoded.size()));
        if (!e.feed(part, out))
            return "fault: " + e.fault();
        encoded = encoded.subspan(part.size());
    }
    if (!e.finish())
        return "fault: " + e.fault();
    return {reinterpret_cast<char const*>(out.data()), out.size()};
}

void expect_body(message const& m, std::string const& expected)
{
    bytes encoded;
    encode(m, encoded);
    for (std::size_t step = 1; step <= encoded.size(); ++step)
        EXPECT_EQ(body_of(encoded, step), expected) << "in parts of " << step;
}

TEST(BodyExtractor, FindsTheBodyWhateverComesBeforeAndAfterIt)
{
    message m;
    m.header.durable = true;
    m.message_annotations[symbol{"x"}] = std::string(300, 'a');
    m.properties.subject = "s";
    m.application_properties["k"] = 5;
    m.footer[symbol{"f"}] = 1;
    m.body = data_body{.sections = {octets("one"), {}, octets(std::string(300, 'b'))}};
    expect_body(m, "one" + std::string(300, 'b'));
}

TEST(BodyExtractor, TakesTextsAndBinariesAsValues)
{
    expect_body(message{"text"}, "text");
    expect_body(message{std::string(1000, 'x')}, std::string(1000, 'x'));
    expect_body(message{""}, "");
    expect_body(message{value{octets("bin")}}, "bin");
}

TEST(BodyExtractor, TakesDescriptorsOfEightOctets)
{
    bytes const wide{std::byte{0x00},
                     std::byte{0x80},
                     {},
                     {},
                     {},
                     {},
                     {},
                     {},
                     {},
                     std::byte{0x75},
                     std::byte{0xa0},
                     std::byte{1},
                     std::byte{'z'}};
    EXPECT_EQ(body_of(wide, 1), "z");
    EXPECT_EQ(body_of(wide, 100), "z");
}

TEST(BodyExtractor, SaysWhatItCannotTakeOut)
{
    auto const fault = [](message const& m) {
        bytes encoded;
        encode(m, encoded);
        return body_of(encoded, 3);
    };
    EXPECT_NE(fault(message{value{5}}).find("--output json"), std::string::npos);
    EXPECT_NE(fault(message{nullptr}).find("--output json"), std::string::npos);
    message sequence;
    sequence.body = sequence_body{.sections = {{1}}};
    EXPECT_NE(fault(sequence).find("sequence"), std::string::npos);
    EXPECT_NE(body_of({}, 1).find("no body"), std::string::npos);
    EXPECT_NE(body_of(octets("nonsense"), 1).find("malformed"), std::string::npos);
    bytes const unknown{std::byte{0x00}, std::byte{0x53}, std::byte{0x10}, std::byte{0x45}};
    EXPECT_NE(body_of(unknown, 1).find("0x10"), std::string::npos);
    bytes encoded;
    encode(message{"text"}, encoded);
    EXPECT_NE(body_of(bytes_view{encoded}.first(encoded.size() - 1), 2).find("ends in the middle"),
              std::string::npos);
}

TEST(OutgoingMessage, IsWhatAMessageOfTheSameContentIs)
{
    outgoing_sections s;
    s.head.durable = true;
    s.properties.subject = "s";
    s.application_properties.emplace_back("k", value{5});
    outgoing_encoder const encoder{s};
    message m{"text"};
    m.header.durable = true;
    m.properties.subject = "s";
    m.application_properties["k"] = 5;
    message back;
    ASSERT_FALSE(decode(encoder.with_text(1, "text"), back));
    EXPECT_EQ(back, m);
    ASSERT_FALSE(decode(encoder.with_text(1, "\xff"), back));
    EXPECT_EQ(back.body_bytes(), octets("\xff"));
    auto streamed = encoder.head(1);
    auto const header = outgoing_encoder::data_section_header(3);
    streamed.insert(streamed.end(), header.begin(), header.end());
    auto const body = octets("abc");
    streamed.insert(streamed.end(), body.begin(), body.end());
    ASSERT_FALSE(decode(streamed, back));
    EXPECT_EQ(back.body_bytes(), body);
}

TEST(OutgoingMessage, NumbersItsIds)
{
    outgoing_sections s;
    s.message_id = "id-{}";
    outgoing_encoder const encoder{s};
    for (std::uint64_t const number : {1u, 12u}) {
        message m;
        ASSERT_FALSE(decode(encoder.with_text(number, "x"), m));
        EXPECT_EQ(m.properties.message_id, value{"id-" + std::to_string(number)});
    }
}

}  // namespace
}  // namespace sluice::tools
