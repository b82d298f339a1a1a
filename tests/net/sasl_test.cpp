// SASL mechanisms and the choice between them.
#include <sluice/net/sasl.hpp>

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

std::string text(bytes_view b) { return {reinterpret_cast<char const*>(b.data()), b.size()}; }

TEST(Sasl, PlainSaysIdentityUserAndPassword)
{
    auto made = sasl_plain({.user = "u", .password = "p", .authorize_as = "z"});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->mechanism(), "PLAIN");
    EXPECT_EQ(text(*(*made)->initial_response()), std::string("z\0u\0p", 5));
}

TEST(Sasl, PlainRefusesANulWhichWouldMoveTheBorders)
{
    EXPECT_EQ(
        sasl_plain({.user = std::string("a\0b", 3), .password = "p", .authorize_as = {}}).error(),
        make_error_code(error::invalid_argument));
    EXPECT_FALSE(sasl_plain({.user = "a", .password = std::string("\0", 1), .authorize_as = {}}));
}

TEST(Sasl, NeitherMechanismAnswersAChallenge)
{
    auto const anonymous = sasl_anonymous("me");
    EXPECT_EQ(text(*anonymous->initial_response()), "me");
    EXPECT_EQ(anonymous->respond({}).error(), make_error_code(error::sasl_auth_failed));
}

TEST(Sasl, ChoosesTheFirstWantedThatIsOffered)
{
    std::vector<std::string> const wanted{"A", "B"};
    EXPECT_EQ(sasl_choose(wanted, std::vector<std::string>{"B", "A"}), "A");
    EXPECT_EQ(sasl_choose(wanted, std::vector<std::string>{"B"}), "B");
}

TEST(Sasl, WithoutACommonMechanismBothListsAreNamed)
{
    std::string fault;
    EXPECT_EQ(
        sasl_choose(sasl_wanted(true), std::vector<std::string>{"ANONYMOUS", "EXTERNAL"}, &fault),
        "");
    EXPECT_NE(fault.find("offers ANONYMOUS, EXTERNAL"), std::string::npos) << fault;
    EXPECT_NE(fault.find("may use PLAIN"), std::string::npos) << fault;
    EXPECT_EQ(sasl_choose(sasl_wanted(false), std::vector<std::string>{"PLAIN"}, &fault), "");
    EXPECT_NE(fault.find("give a user and a password"), std::string::npos) << fault;
    EXPECT_EQ(sasl_choose(sasl_wanted(false), {}, &fault), "");
    EXPECT_NE(fault.find("offers none"), std::string::npos) << fault;
}

TEST(Sasl, NamesAreComparedExactly)
{
    EXPECT_EQ(sasl_choose(sasl_wanted(true), std::vector<std::string>{"plain", "PLAIN2"}), "");
}

}  // namespace
}  // namespace sluice::net
