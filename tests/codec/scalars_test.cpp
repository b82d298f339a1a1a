// Every encoding of every primitive type, both ways. [1.6]
#include "support/codec_hex.hpp"

#include <sluice/codec/reader.hpp>
#include <sluice/codec/value.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

template <scalar T>
std::optional<T> read(std::string_view hex)
{
    static bytes storage;  // views refer to it until the next call
    storage = codec_from_hex(hex);
    return as<T>(codec_raw(storage));
}

TEST(Scalars, BooleansAreReadFromAllThreeEncodings)
{
    EXPECT_EQ(read<bool>("41"), true);
    EXPECT_EQ(read<bool>("42"), false);
    EXPECT_EQ(read<bool>("5601"), true);
    EXPECT_EQ(read<bool>("5600"), false);
    EXPECT_EQ(read<bool>("5602"), std::nullopt);
    EXPECT_EQ(codec_encoded_hex(true), "41");
    EXPECT_EQ(codec_encoded_hex(false), "42");
}

TEST(Scalars, UnsignedIntegersAreReadFromEveryWidth)
{
    EXPECT_EQ(read<std::uint8_t>("50ff"), 255);
    EXPECT_EQ(read<std::uint16_t>("60fffe"), 65534);
    EXPECT_EQ(read<std::uint32_t>("43"), 0u);
    EXPECT_EQ(read<std::uint32_t>("52ff"), 255u);
    EXPECT_EQ(read<std::uint32_t>("70fffffffe"), 4294967294u);
    EXPECT_EQ(read<std::uint32_t>("7000000001"), 1u) << "a longer encoding than needed is legal";
    EXPECT_EQ(read<std::uint64_t>("44"), 0u);
    EXPECT_EQ(read<std::uint64_t>("5380"), 128u);
    EXPECT_EQ(read<std::uint64_t>("80ffffffffffffffff"), UINT64_MAX);
}

TEST(Scalars, SignedIntegersAreReadFromEveryWidth)
{
    EXPECT_EQ(read<std::int8_t>("5180"), -128);
    EXPECT_EQ(read<std::int16_t>("618000"), -32768);
    EXPECT_EQ(read<std::int32_t>("54ff"), -1);
    EXPECT_EQ(read<std::int32_t>("7180000000"), INT32_MIN);
    EXPECT_EQ(read<std::int64_t>("557f"), 127);
    EXPECT_EQ(read<std::int64_t>("818000000000000000"), INT64_MIN);
}

TEST(Scalars, IntegersAreWrittenInTheirShortestEncoding)
{
    EXPECT_EQ(codec_encoded_hex(std::uint8_t{0}), "5000");
    EXPECT_EQ(codec_encoded_hex(std::uint16_t{1}), "600001");
    EXPECT_EQ(codec_encoded_hex(std::uint32_t{0}), "43");
    EXPECT_EQ(codec_encoded_hex(std::uint32_t{255}), "52ff");
    EXPECT_EQ(codec_encoded_hex(std::uint32_t{256}), "7000000100");
    EXPECT_EQ(codec_encoded_hex(std::uint64_t{0}), "44");
    EXPECT_EQ(codec_encoded_hex(std::uint64_t{255}), "53ff");
    EXPECT_EQ(codec_encoded_hex(std::uint64_t{256}), "800000000000000100");
    EXPECT_EQ(codec_encoded_hex(std::int8_t{-1}), "51ff");
    EXPECT_EQ(codec_encoded_hex(std::int16_t{-2}), "61fffe");
    EXPECT_EQ(codec_encoded_hex(std::int32_t{-128}), "5480");
    EXPECT_EQ(codec_encoded_hex(std::int32_t{-129}), "71ffffff7f");
    EXPECT_EQ(codec_encoded_hex(std::int32_t{127}), "547f");
    EXPECT_EQ(codec_encoded_hex(std::int32_t{128}), "7100000080");
    EXPECT_EQ(codec_encoded_hex(std::int64_t{-128}), "5580");
    EXPECT_EQ(codec_encoded_hex(std::int64_t{128}), "810000000000000080");
}

TEST(Scalars, FloatsAndDoublesCarryTheirBits)
{
    EXPECT_EQ(codec_encoded_hex(1.5f), "723fc00000");
    EXPECT_EQ(read<float>("723fc00000"), 1.5f);
    EXPECT_EQ(codec_encoded_hex(-2.0), "82c000000000000000");
    EXPECT_EQ(read<double>("82c000000000000000"), -2.0);
}

TEST(Scalars, DecimalsAreCarriedOpaque)
{
    EXPECT_EQ(codec_encoded_hex(*read<decimal32>("7401020304")), "7401020304");
    EXPECT_EQ(codec_encoded_hex(*read<decimal64>("840102030405060708")), "840102030405060708");
    EXPECT_EQ(codec_encoded_hex(*read<decimal128>("940102030405060708090a0b0c0d0e0f10")),
              "940102030405060708090a0b0c0d0e0f10");
}

TEST(Scalars, CharsAreUnicodeScalarValues)
{
    EXPECT_EQ(codec_encoded_hex(U'€'), "73000020ac");
    EXPECT_EQ(read<char32_t>("730010ffff"), char32_t{0x10ffff});
    EXPECT_EQ(read<char32_t>("7300110000"), std::nullopt);
    EXPECT_EQ(read<char32_t>("730000d800"), std::nullopt);
}

TEST(Scalars, TimestampsAndUuidsHaveOneEncoding)
{
    EXPECT_EQ(codec_encoded_hex(timestamp{-1}), "83ffffffffffffffff");
    EXPECT_EQ(read<timestamp>("830000000000000400"), timestamp{1024});
    EXPECT_EQ(codec_encoded_hex(*read<uuid>("98000102030405060708090a0b0c0d0e0f")),
              "98000102030405060708090a0b0c0d0e0f");
}

TEST(Scalars, VariableTypesAreReadFromBothWidths)
{
    EXPECT_EQ(read<std::string_view>("a1026869"), "hi");
    EXPECT_EQ(read<std::string_view>("b1000000026869"), "hi");
    EXPECT_EQ(read<symbol>("a3026869"), symbol{"hi"});
    EXPECT_EQ(read<symbol>("b3000000026869"), symbol{"hi"});
    EXPECT_TRUE(same_bytes(*read<bytes_view>("a0020001"), codec_from_hex("0001")));
    EXPECT_TRUE(same_bytes(*read<bytes_view>("b0000000020001"), codec_from_hex("0001")));
}

TEST(Scalars, AStringsWidthIsChosenByOctetsAndNotByCharacters)
{
    std::string e_acutes;
    for (int i = 0; i != 200; ++i) e_acutes += "é";
    EXPECT_EQ(codec_encoded_hex(e_acutes).substr(0, 10), "b100000190");
}

TEST(Scalars, AStringMustBeUtf8)
{
    EXPECT_EQ(read<std::string_view>("a10180"), std::nullopt) << "a continuation alone";
    EXPECT_EQ(read<std::string_view>("a102c0af"), std::nullopt) << "overlong";
    EXPECT_EQ(read<std::string_view>("a103e08080"), std::nullopt) << "overlong";
    EXPECT_EQ(read<std::string_view>("a103eda080"), std::nullopt) << "a surrogate";
    EXPECT_EQ(read<std::string_view>("a104f4908080"), std::nullopt) << "above U+10FFFF";
    EXPECT_EQ(read<std::string_view>("a102e282"), std::nullopt) << "cut off";
    EXPECT_EQ(read<std::string_view>("a103e282ac"), "€");
    EXPECT_EQ(read<std::string_view>("a104f09f9880"), "😀");
    EXPECT_EQ(read<std::string_view>("a10c616263646566676869e282ac"), "abcdefghi€");
    EXPECT_EQ(read<std::string_view>("a10c6162636465666768696a6b80"), std::nullopt);
}

TEST(Scalars, ASymbolMustBeAscii)
{
    EXPECT_EQ(read<symbol>("a302c3a9"), std::nullopt);
    for (std::size_t length = 1; length != 40; ++length) {
        for (std::size_t at = 0; at != length; ++at) {
            bytes text(length, std::byte{'a'});
            EXPECT_TRUE(detail::is_ascii(text.data(), length));
            text[at] = std::byte{0x80};
            EXPECT_FALSE(detail::is_ascii(text.data(), length)) << length << " " << at;
        }
    }
}

TEST(Scalars, AValueOfAnotherTypeIsNotConverted)
{
    EXPECT_EQ(read<std::uint32_t>("5005"), std::nullopt);
    EXPECT_EQ(read<std::int64_t>("5405"), std::nullopt);
    EXPECT_EQ(read<std::string_view>("a30161"), std::nullopt);
    EXPECT_EQ(read<bool>("40"), std::nullopt);
    EXPECT_EQ(read<std::uint64_t>(""), std::nullopt);
}

TEST(Scalars, AValueThatIsCutOffOrHasMoreBehindItIsNone)
{
    EXPECT_EQ(read<std::uint32_t>("700000"), std::nullopt);
    EXPECT_EQ(read<std::uint32_t>("52"), std::nullopt);
    EXPECT_EQ(read<std::string_view>("a10561"), std::nullopt);
    EXPECT_EQ(read<std::string_view>("b10000"), std::nullopt);
    EXPECT_EQ(read<uuid>("9800"), std::nullopt);
    EXPECT_EQ(read<std::uint32_t>("520101"), std::nullopt);
}

TEST(Scalars, TextsAndIntegersOfAnyWidthCanBeAskedForAtOnce)
{
    auto const string = encoded("text");
    auto const name = encoded(symbol{"name"});
    EXPECT_EQ(as_text(codec_raw(string)), "text");
    EXPECT_EQ(as_text(codec_raw(name)), "name");
    for (auto const* const hex :
         {"5007", "600007", "5207", "5307", "5107", "610007", "5407", "5507"}) {
        auto const b = codec_from_hex(hex);
        EXPECT_EQ(as_integer(codec_raw(b)), 7) << hex;
    }
    auto const huge = encoded(UINT64_MAX);
    EXPECT_EQ(as_integer(codec_raw(huge)), std::nullopt);
    EXPECT_EQ(as_integer(codec_raw(string)), std::nullopt);
}

// Copies at every size, for the short ones are made of overlapping moves.
TEST(Scalars, BinariesOfEverySizeRoundTrip)
{
    for (std::size_t size = 0; size != 300; ++size) {
        bytes content(size);
        for (std::size_t i = 0; i != size; ++i) content[i] = static_cast<std::byte>(i * 7 + 1);
        auto const wire = encoded(content);
        EXPECT_EQ(wire.size(), size + (size < 256 ? 2 : 5));
        EXPECT_TRUE(same_bytes(*as<bytes_view>(codec_raw(wire)), content)) << size;
    }
}

}  // namespace
}  // namespace sluice::test
