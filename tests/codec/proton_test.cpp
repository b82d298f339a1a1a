// Proton-C, another implementation, decodes what we encode to the same value, and the other way.
#ifdef SLUICE_HAVE_PROTON

#include "support/codec_hex.hpp"
#include "support/codec_proton.hpp"

#include <sluice/codec/message.hpp>

#include <gtest/gtest.h>
#include <proton/message.h>

namespace sluice::test {
namespace {

std::vector<value> samples()
{
    std::vector<value> v{value{},
                         value{true},
                         value{false},
                         value{std::uint8_t{200}},
                         value{std::uint16_t{40000}},
                         value{std::uint32_t{0}},
                         value{std::uint32_t{255}},
                         value{std::uint32_t{256}},
                         value{UINT32_MAX},
                         value{std::uint64_t{0}},
                         value{std::uint64_t{255}},
                         value{UINT64_MAX},
                         value{std::int8_t{-128}},
                         value{std::int16_t{-32768}},
                         value{-129},
                         value{-128},
                         value{127},
                         value{128},
                         value{INT64_MIN},
                         value{std::int64_t{-1}},
                         value{1.25f},
                         value{-2.5},
                         value{decimal32{{std::byte{1}, std::byte{2}}}},
                         value{decimal64{{std::byte{3}}}},
                         value{decimal128{{std::byte{4}}}},
                         value{U'€'},
                         value{timestamp{-1}},
                         value{uuid{{std::byte{5}}}},
                         value{bytes{}},
                         value{bytes(255)},
                         value{bytes(256)},
                         value{""},
                         value{"é"},
                         value{std::string(300, 's')},
                         value{symbol{"sym"}},
                         value{value_list{}},
                         value{value_list{1, "two", value_list{nullptr}}},
                         value{value_list{bytes(252)}},
                         value{value_list{bytes(253)}},
                         value{value_map{}},
                         value{value_map{{"k", 1}, {symbol{"s"}, value_map{{1, 2}}}}},
                         value{value_map{{"k", bytes(300)}}},
                         value{described_value{std::uint64_t{0x24}, value_list{}}},
                         value{described_value{symbol{"d"}, "content"}}};
    return v;
}

void expect_agreement(value const& v)
{
    auto const ours = encoded(v);
    auto const theirs_of_ours = codec_proton_decode(ours);
    ASSERT_TRUE(theirs_of_ours) << "Proton refuses " << codec_to_hex(ours) << " " << to_string(v);
    EXPECT_EQ(*theirs_of_ours, v) << to_string(*theirs_of_ours) << " " << to_string(v);

    auto const theirs = codec_proton_encode(v);
    bytes_view in{theirs};
    value ours_of_theirs;
    auto const code = decode(in, ours_of_theirs);
    EXPECT_FALSE(code) << code.message() << codec_to_hex(theirs) << " " << to_string(v);
    EXPECT_EQ(ours_of_theirs, v) << codec_to_hex(theirs);
    EXPECT_LE(ours.size(), theirs.size()) << to_string(v);
}

TEST(Proton, AgreesOnValuesOfEveryType)
{
    for (auto const& v : samples()) expect_agreement(v);
}

TEST(Proton, AgreesOnArraysOfEveryTypeThatItCanEncode)
{
    for (auto const& v : samples()) {
        if (v.type() == value_type::described)
            continue;
        expect_agreement(value{value_array{v.type(), {}, {v, v}}});
        expect_agreement(value{value_array{v.type(), {symbol{"d"}}, {v}}});
    }
}

class proton_message {
public:
    proton_message() : m_{pn_message()} {}
    ~proton_message() { pn_message_free(m_); }
    proton_message(proton_message const&) = delete;
    proton_message& operator=(proton_message const&) = delete;
    pn_message_t* operator*() const { return m_; }

    bytes encode() const
    {
        bytes out(4096);
        auto size = out.size();
        EXPECT_EQ(pn_message_encode(m_, reinterpret_cast<char*>(out.data()), &size), 0);
        out.resize(size);
        return out;
    }

private:
    pn_message_t* m_;
};

TEST(Proton, ReadsOurMessage)
{
    message m{codec_from_hex("0102")};
    m.header = {.durable = true, .priority = std::uint8_t{7}, .ttl = 5000, .delivery_count = 2};
    m.properties.message_id = "id-1";
    m.properties.to = "queue";
    m.properties.subject = "subject";
    m.properties.content_type = symbol_string{"text/plain"};
    m.properties.creation_time = timestamp{1234};
    m.properties.group_sequence = 9;
    m.application_properties["k"] = 5;
    m.message_annotations["x-opt"] = true;
    auto const wire = encoded(m);

    proton_message theirs;
    ASSERT_EQ(pn_message_decode(*theirs, reinterpret_cast<char const*>(wire.data()), wire.size()),
              0);
    EXPECT_TRUE(pn_message_is_durable(*theirs));
    EXPECT_EQ(pn_message_get_priority(*theirs), 7);
    EXPECT_EQ(pn_message_get_ttl(*theirs), 5000u);
    EXPECT_EQ(pn_message_get_delivery_count(*theirs), 2u);
    EXPECT_STREQ(pn_message_get_address(*theirs), "queue");
    EXPECT_STREQ(pn_message_get_subject(*theirs), "subject");
    EXPECT_STREQ(pn_message_get_content_type(*theirs), "text/plain");
    EXPECT_EQ(pn_message_get_creation_time(*theirs), 1234);
    EXPECT_EQ(pn_message_get_group_sequence(*theirs), 9);
    auto const get = [](pn_data_t* d) {
        pn_data_rewind(d);
        pn_data_next(d);
        return codec_get(d);
    };
    EXPECT_EQ(get(pn_message_properties(*theirs)), value{m.application_properties});
    EXPECT_EQ(get(pn_message_annotations(*theirs)), (value{value_map{{symbol{"x-opt"}, true}}}));
    EXPECT_EQ(get(pn_message_body(*theirs)), (value{codec_from_hex("0102")}));
}

TEST(Proton, WritesAMessageThatWeRead)
{
    proton_message theirs;
    pn_message_set_durable(*theirs, true);
    pn_message_set_priority(*theirs, 3);
    pn_message_set_ttl(*theirs, 77);
    pn_message_set_address(*theirs, "queue");
    pn_message_set_subject(*theirs, "subject");
    pn_message_set_reply_to(*theirs, "reply");
    pn_message_set_content_type(*theirs, "text/plain");
    pn_message_set_creation_time(*theirs, 99);
    pn_message_set_inferred(*theirs, true);
    codec_put(pn_message_id(*theirs), "id-2");
    codec_put(pn_message_correlation_id(*theirs), std::uint64_t{6});
    codec_put(pn_message_properties(*theirs), value_map{{"k", 5}, {"l", "text"}});
    codec_put(pn_message_body(*theirs), bytes{std::byte{1}});

    message m;
    decode_fault fault;
    ASSERT_FALSE(decode(theirs.encode(), m, &fault)) << fault.message();
    EXPECT_TRUE(m.header.is_durable());
    EXPECT_EQ(m.header.effective_priority(), 3);
    EXPECT_EQ(m.header.ttl, 77u);
    EXPECT_EQ(m.properties.message_id, value{"id-2"});
    EXPECT_EQ(m.properties.correlation_id, value{std::uint64_t{6}});
    EXPECT_EQ(m.properties.to, "queue");
    EXPECT_EQ(m.properties.subject, "subject");
    EXPECT_EQ(m.properties.reply_to, "reply");
    EXPECT_EQ(m.properties.content_type, symbol_string{"text/plain"});
    EXPECT_EQ(m.properties.creation_time, timestamp{99});
    EXPECT_EQ(m.application_properties, (value_map{{"k", 5}, {"l", "text"}}));
    EXPECT_EQ(m.kind(), body_kind::data);
    EXPECT_EQ(codec_to_hex(*m.body_bytes()), "01");

    pn_message_set_inferred(*theirs, false);
    ASSERT_FALSE(decode(theirs.encode(), m));
    EXPECT_EQ(m.kind(), body_kind::value);
}

}  // namespace
}  // namespace sluice::test

#endif
