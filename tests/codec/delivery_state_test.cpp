// Delivery states: the known ones, those of other standards, malformed ones. [3.4, 4.5]
#include "support/codec_hex.hpp"

#include <sluice/codec/codec.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

std::error_code read(std::string_view hex, delivery_state& out)
{
    static bytes storage;
    storage = codec_from_hex(hex);
    return decode(codec_raw(storage), out);
}

template <class T>
T read_as(std::string_view hex)
{
    delivery_state state;
    EXPECT_FALSE(read(hex, state)) << hex;
    auto const* const held = std::get_if<T>(&state);
    EXPECT_NE(held, nullptr) << hex;
    return held ? *held : T{};
}

TEST(DeliveryState, EveryStateIsRead)
{
    auto const r = read_as<received>("005323c0050252015302");
    EXPECT_EQ(r.section_number, 1u);
    EXPECT_EQ(r.section_offset, 2u);
    read_as<accepted>("00532445");
    read_as<accepted>("005324c00100");
    read_as<accepted>("00a312616d71703a61636365707465643a6c69737445");
    EXPECT_EQ(read_as<rejected>("00532545").error, std::nullopt);
    EXPECT_EQ(read_as<rejected>("005325c00b0100531dc00501a302613a").error->condition, symbol{"a:"});
    read_as<released>("00532645");
    auto const m = read_as<modified>("005327c0030241"
                                     "42");
    EXPECT_EQ(m.delivery_failed, true);
    EXPECT_EQ(m.undeliverable_here, false);
    EXPECT_FALSE(m.message_annotations);
    EXPECT_EQ(codec_to_hex(read_as<declared>("005333c00401a00107").txn_id), "07");
    auto const t = read_as<transactional_state>("005334c00802a0010700532445");
    EXPECT_EQ(codec_to_hex(t.txn_id), "07");
    delivery_state outcome;
    EXPECT_FALSE(decode(t.outcome, outcome));
    EXPECT_TRUE(std::holds_alternative<accepted>(outcome));
}

TEST(DeliveryState, WhatIsAbsentOrOfAnotherStandardIsNone)
{
    read_as<std::monostate>("");
    read_as<std::monostate>("40");
    read_as<std::monostate>("00"
                            "80"
                            "0000468c00000099"
                            "c0030154"
                            "05");
    read_as<std::monostate>("00a30378797a"
                            "45");
}

TEST(DeliveryState, WhatIsMalformedIsAnError)
{
    delivery_state state;
    EXPECT_EQ(read("005323c0030252015302", state), error::size_mismatch);
    EXPECT_EQ(read("00532345", state), error::missing_mandatory_field);
    EXPECT_EQ(read("005324c0020140", state), error::too_many_fields);
    EXPECT_EQ(read("a10161", state), error::wrong_type);
    EXPECT_EQ(read("3f", state), error::unknown_constructor);
    EXPECT_EQ(read("005324", state), error::truncated);
    EXPECT_EQ(read("0053244545", state), error::trailing_bytes);
    EXPECT_EQ(read("005333c00301a301", state), error::wrong_type);
    EXPECT_EQ(read("00a30378797a"
                   "c005",
                   state),
              error::truncated);
}

TEST(DeliveryState, EveryStateIsWritten)
{
    EXPECT_EQ(codec_encoded_hex(delivery_state{}), "40");
    EXPECT_EQ(codec_encoded_hex(delivery_state{accepted{}}), "00532445");
    EXPECT_EQ(codec_encoded_hex(delivery_state{released{}}), "00532645");
    EXPECT_EQ(codec_encoded_hex(delivery_state{received{1, 2}}), "005323c0050252015302");
    EXPECT_EQ(codec_encoded_hex(delivery_state{rejected{error_view{.condition = "a:"}}}),
              "005325c00b0100531dc00501a302613a");
    EXPECT_EQ(codec_encoded_hex(delivery_state{modified{.undeliverable_here = true}}),
              "005327c003024041");
    auto const id = codec_from_hex("07");
    EXPECT_EQ(codec_encoded_hex(delivery_state{declared{id}}), "005333c00401a00107");
    EXPECT_EQ(codec_encoded_hex(delivery_state{
                  transactional_state{.txn_id = id, .outcome = raw_value{encoded_accepted}}}),
              "005334c00802a0010700532445");
}

}  // namespace
}  // namespace sluice::test
