// Fields that may hold several values: null, one bare value, an array. [1.4]
#include "support/codec_hex.hpp"

#include <sluice/codec/codec.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

/// Reads `field_hex` where `select` says, after `before` nulls or mandatory fields.
template <class T>
std::pair<std::error_code, std::vector<std::string>> read(char const* descriptor_and_before,
                                                          unsigned count, char const* field_hex,
                                                          symbols T::*select)
{
    auto content = codec_from_hex(std::string{descriptor_and_before}.substr(6) + field_hex);
    bytes wire = codec_from_hex(std::string{descriptor_and_before}.substr(0, 6));
    wire.push_back(std::byte{0xc0});
    wire.push_back(static_cast<std::byte>(content.size() + 1));
    wire.push_back(static_cast<std::byte>(count));
    wire.insert(wire.end(), content.begin(), content.end());
    bytes_view in{wire};
    T out;
    auto const code = decode(in, out);
    std::vector<std::string> names;
    if (!code)
        for (std::size_t i = 0; i != (out.*select).size(); ++i)
            names.emplace_back((out.*select).at(i).text);
    return {code, names};
}

struct form {
    char const* hex;
    std::vector<std::string> names;
};

template <class T>
void expect_all_forms(char const* descriptor_and_before, unsigned count, symbols T::*select)
{
    for (auto const& [hex, names] : {
             form{"a3057175657565", {"queue"}},
             form{"b3000000057175657565", {"queue"}},
             form{"e00801a3057175657565", {"queue"}},
             form{"f00000000b00000001a3057175657565", {"queue"}},
             form{"e00b01b3000000057175657565", {"queue"}},
             form{"e00602a301610162", {"a", "b"}},
             form{"40", {}},
             form{"e00200a3", {}},
             form{"f00000000500000000b3", {}},
         }) {
        auto const [code, read_names] = read(descriptor_and_before, count, hex, select);
        EXPECT_FALSE(code) << hex << " " << code.message();
        EXPECT_EQ(read_names, names) << hex;
    }
    for (auto const* const hex : {"a1057175657565", "e00801a1057175657565", "e00901a3057175657565",
                                  "e00802a3057175657565", "45", "e00401a301ff"})
        EXPECT_TRUE(read(descriptor_and_before, count, hex, select).first) << hex;
}

TEST(MultipleValues, EveryFormIsReadInEveryFieldThatMayHoldThem)
{
    expect_all_forms("005310a1016340404040", 6, &open::outgoing_locales);
    expect_all_forms("005310a101634040404040", 7, &open::incoming_locales);
    expect_all_forms("005310a10163404040404040", 8, &open::offered_capabilities);
    expect_all_forms("005310a1016340404040404040", 9, &open::desired_capabilities);
    expect_all_forms("0053114043434340", 6, &begin::offered_capabilities);
    expect_all_forms("005311404343434040", 7, &begin::desired_capabilities);
    expect_all_forms("005312a1016c43424040404040404040", 12, &attach::offered_capabilities);
    expect_all_forms("005312a1016c4342404040404040404040", 13, &attach::desired_capabilities);
    expect_all_forms("005328404040404040404040", 10, &source::outcomes);
    expect_all_forms("00532840404040404040404040", 11, &source::capabilities);
    expect_all_forms("005329404040404040", 7, &target::capabilities);
    expect_all_forms("005330", 1, &coordinator::capabilities);
    expect_all_forms("005340", 1, &sasl_mechanisms::sasl_server_mechanisms);
}

TEST(MultipleValues, OneBareMechanismIsUnderstood)
{
    auto const wire = codec_from_hex("005340 c00801 a305504c41494e");
    bytes_view in{wire};
    sasl_mechanisms m;
    ASSERT_FALSE(decode(in, m));
    EXPECT_EQ(m.sasl_server_mechanisms.size(), 1u);
    EXPECT_TRUE(m.sasl_server_mechanisms.contains("PLAIN"));
    EXPECT_FALSE(m.sasl_server_mechanisms.contains("ANONYMOUS"));
    EXPECT_EQ(m.sasl_server_mechanisms.at(1), symbol{});
}

TEST(MultipleValues, MechanismsThatAreLeftOutAreAMissingField)
{
    auto const wire = codec_from_hex("00534045");
    bytes_view in{wire};
    sasl_mechanisms m;
    EXPECT_EQ(decode(in, m), error::missing_mandatory_field);
}

TEST(MultipleValues, TheyAreWrittenAsAnArrayAndNoneAsNull)
{
    symbol const one[] = {"queue"};
    symbol const two[] = {"a", "bc"};
    EXPECT_EQ(codec_encoded_hex(coordinator{.capabilities = symbols{one}}),
              "005330c00b01e00801a3057175657565");
    EXPECT_EQ(codec_encoded_hex(coordinator{.capabilities = symbols{two}}),
              "005330c00a01e00702a30161026263");
    EXPECT_EQ(codec_encoded_hex(coordinator{}), "00533045");
    EXPECT_EQ(codec_encoded_hex(sasl_mechanisms{}), "005340c00501e00200a3")
        << "a mandatory field is there even if it is empty";
    auto const received = encoded(symbol{"queue"});
    EXPECT_EQ(codec_encoded_hex(coordinator{.capabilities = symbols{codec_raw(received)}}),
              "005330c00801a3057175657565")
        << "what was received is passed on as it is";
}

TEST(MultipleValues, LongOnesAreWrittenInTheLongForms)
{
    std::string const text(300, 's');
    symbol const long_symbol[] = {symbol{std::string_view{text}}, "x"};
    auto const wide = encoded(coordinator{.capabilities = symbols{long_symbol}});
    std::vector<symbol> many(300, symbol{"y"});
    auto const crowd = encoded(coordinator{.capabilities = symbols{many}});
    for (auto const& [wire, size] : {std::pair{wide, 2u}, std::pair{crowd, 300u}}) {
        bytes_view in{wire};
        coordinator c;
        ASSERT_FALSE(decode(in, c));
        EXPECT_EQ(c.capabilities.size(), size);
    }
    bytes_view in{wide};
    coordinator c;
    ASSERT_FALSE(decode(in, c));
    EXPECT_EQ(c.capabilities.at(0).text, text);
    EXPECT_EQ(c.capabilities.at(1), symbol{"x"});
}

TEST(MultipleValues, EverySizeAroundTheWidthOfASizeRoundTrips)
{
    for (std::size_t size = 120; size <= 130; ++size) {
        std::string const text(size, 's');
        symbol const two[] = {symbol{std::string_view{text}}, symbol{std::string_view{text}}};
        auto const wire = encoded(coordinator{.capabilities = symbols{two}});
        bytes_view in{wire};
        coordinator c;
        ASSERT_FALSE(decode(in, c)) << size;
        EXPECT_EQ(c.capabilities.size(), 2u) << size;
        EXPECT_EQ(c.capabilities.at(1).text, text);
        EXPECT_TRUE(in.empty());
    }
}

TEST(MultipleValues, OnesThatAreToBeSentCanBeAskedToo)
{
    symbol const two[] = {"a", "b"};
    symbols const s{two};
    EXPECT_EQ(s.size(), 2u);
    EXPECT_TRUE(s.contains("b"));
    EXPECT_EQ(s.at(0), symbol{"a"});
    EXPECT_EQ(symbols{}.size(), 0u);
}

}  // namespace
}  // namespace sluice::test
