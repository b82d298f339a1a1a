// SASL mechanisms of a message or two, and the choice between mechanisms.
#include <sluice/net/sasl_scram.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using names = std::vector<std::string>;

std::string text(bytes_view b) { return {reinterpret_cast<char const*>(b.data()), b.size()}; }
bytes octets(std::string_view t)
{
    auto const* const data = reinterpret_cast<std::byte const*>(t.data());
    return {data, data + t.size()};
}

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

TEST(Sasl, MechanismsOfOneMessageAnswerNoChallenge)
{
    auto const anonymous = sasl_anonymous("me");
    EXPECT_EQ(text(*anonymous->initial_response()), "me");
    EXPECT_EQ(anonymous->respond({}).error(), make_error_code(error::sasl_auth_failed));
    auto const external = sasl_external();
    EXPECT_EQ(external->mechanism(), "EXTERNAL");
    EXPECT_EQ(text(*external->initial_response()), "");
    EXPECT_EQ(external->respond({}).error(), make_error_code(error::sasl_auth_failed));
}

// [RFC 7628, 4.1]
TEST(Sasl, OauthbearerSaysTokenUserAndWhere)
{
    auto made = sasl_oauthbearer(
        {.token = "vF9dft4qmT", .user = "a,b=c", .host = "server.example.com", .port = 143});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->mechanism(), "OAUTHBEARER");
    EXPECT_EQ(text(*(*made)->initial_response()),
              "n,a=a=2Cb=3Dc,\x01host=server.example.com\x01port=143\x01"
              "auth=Bearer vF9dft4qmT\x01\x01");
    auto const bare = sasl_oauthbearer({.token = "t", .user = {}, .host = {}});
    EXPECT_EQ(text(*(*bare)->initial_response()), "n,,\x01"
                                                  "auth=Bearer t\x01\x01");
}

TEST(Sasl, Xoauth2SaysUserAndToken)
{
    auto made = sasl_xoauth2({.token = "tok", .user = "me", .host = "h"});
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->mechanism(), "XOAUTH2");
    EXPECT_EQ(text(*(*made)->initial_response()), "user=me\x01"
                                                  "auth=Bearer tok\x01\x01");
    EXPECT_FALSE(sasl_xoauth2({.token = "tok", .user = "", .host = "h"}));
}

TEST(Sasl, ATokenOrUserWithAControlCharacterIsRefusedForItWouldMoveTheBorders)
{
    EXPECT_FALSE(sasl_oauthbearer({.token = "a\x01host=evil", .user = {}, .host = {}}));
    EXPECT_FALSE(sasl_oauthbearer({.token = "", .user = {}, .host = {}}));
    EXPECT_FALSE(sasl_oauthbearer({.token = "a", .user = "u\n", .host = {}}));
    EXPECT_FALSE(sasl_xoauth2({.token = "a", .user = "u\x01", .host = {}}));
}

// [RFC 7628, 3.2.3] The client has to answer before the server may say no.
TEST(Sasl, ARefusedTokenIsAnsweredAndItsStatusTold)
{
    auto const made = sasl_oauthbearer({.token = "t0ken", .user = {}, .host = {}});
    auto const& m = *made;
    std::ignore = m->initial_response();
    auto const said = m->respond(octets(R"({"status" : "invalid_token","scope":"t0ken"})"));
    ASSERT_TRUE(said);
    EXPECT_EQ(text(*said), "\x01");
    EXPECT_EQ(m->fault(), "the peer does not take the token: invalid_token");
    EXPECT_FALSE(m->respond({}));
    auto const other = sasl_xoauth2({.token = "t0ken", .user = "me", .host = {}});
    auto const answer = (*other)->respond(octets(R"({"status":"400 <b>t0ken"})"));
    EXPECT_EQ(text(*answer), "");
    EXPECT_EQ((*other)->fault(), "the peer does not take the token");
}

// ---- the choice

constexpr sasl_means with_password{.credentials = true};

TEST(SaslChoice, IsTheStrongestFirst)
{
    EXPECT_THAT(sasl_prefer(with_password).wanted,
                ElementsAre("SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "PLAIN"));
    EXPECT_THAT(sasl_prefer({}).wanted, ElementsAre("ANONYMOUS"));
    EXPECT_THAT(sasl_prefer({.certificate = true}).wanted, ElementsAre("EXTERNAL", "ANONYMOUS"));
    EXPECT_THAT(sasl_prefer({.token = true, .token_user = true}).wanted,
                ElementsAre("OAUTHBEARER", "XOAUTH2"));
    EXPECT_THAT(sasl_prefer({.token = true}).wanted, ElementsAre("OAUTHBEARER"));
    auto const p = sasl_prefer(with_password);
    EXPECT_EQ(sasl_choose(p, names{"PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256"}), "SCRAM-SHA-256");
}

TEST(SaslChoice, IsTheUsersIfThereIsOne)
{
    auto const p = sasl_prefer(with_password, names{"PLAIN", "EXTERNAL", "SCRAM-SHA-1"});
    EXPECT_EQ(sasl_choose(p, names{"SCRAM-SHA-1", "PLAIN"}), "PLAIN");
    EXPECT_EQ(sasl_choose(p, names{"SCRAM-SHA-1", "EXTERNAL"}), "EXTERNAL");
    std::string fault;
    EXPECT_EQ(sasl_choose(p, names{"SCRAM-SHA-256"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("offers SCRAM-SHA-256; this side may use PLAIN, EXTERNAL"));
}

TEST(SaslChoice, WithoutACommonMechanismBothListsAreNamed)
{
    std::string fault;
    EXPECT_EQ(sasl_choose(sasl_prefer(with_password), names{"ANONYMOUS", "EXTERNAL"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("offers ANONYMOUS, EXTERNAL"));
    EXPECT_THAT(fault, HasSubstr("may use SCRAM-SHA-512"));
    EXPECT_EQ(sasl_choose(sasl_prefer({}), names{"PLAIN"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("give a user and a password"));
    EXPECT_EQ(sasl_choose(sasl_prefer({}), {}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("offers none"));
}

TEST(SaslChoice, WhatWouldHelpIsNamed)
{
    std::string fault;
    EXPECT_EQ(sasl_choose(sasl_prefer(with_password), names{"EXTERNAL"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("wants a certificate of this side's"));
    EXPECT_EQ(sasl_choose(sasl_prefer({}, names{"EXTERNAL"}), names{"PLAIN"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("to who shows a certificate"));
    EXPECT_EQ(sasl_choose(sasl_prefer({.certificate = true}), names{"PLAIN"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("give a user and a password"));
}

TEST(SaslChoice, NobodyIsToldToLeaveOutWhatWasNotGiven)
{
    auto const told = [](sasl_means const& means, std::string const& asked) {
        std::string fault;
        EXPECT_EQ(sasl_choose(sasl_prefer(means, names{asked}), names{"ANONYMOUS"}, &fault), "");
        EXPECT_THAT(fault, ::testing::Not(HasSubstr("leave the credentials out"))) << asked;
        return fault;
    };
    for (auto const* const name : {"PLAIN", "SCRAM-SHA-256"})
        EXPECT_THAT(told({}, name), HasSubstr("; give a user and a password, or let the peer"));
    EXPECT_THAT(told({}, "OAUTHBEARER"), HasSubstr("; give a source of tokens, or let the peer"));
    EXPECT_THAT(told({.token = true}, "XOAUTH2"), HasSubstr("; give a user beside the token, or"));
}

TEST(SaslChoice, NamesAreComparedExactly)
{
    EXPECT_EQ(sasl_choose(sasl_prefer(with_password), names{"plain", "PLAIN2"}), "");
}

TEST(SaslChoice, NothingThatSendsASecretReadableIsChosenWhereOthersCanReadAlong)
{
    auto means = with_password;
    means.token = means.token_user = true;
    means.may_send_secrets = false;
    auto const p = sasl_prefer(means);
    EXPECT_THAT(p.wanted, ElementsAre("SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1"));
    EXPECT_THAT(p.insecure, ElementsAre("OAUTHBEARER", "XOAUTH2", "PLAIN"));
    std::string fault;
    EXPECT_EQ(sasl_choose(p, names{"PLAIN", "ANONYMOUS"}, &fault), "");
    EXPECT_TRUE(sasl_is_insecure_only(p, names{"PLAIN", "ANONYMOUS"}));
    EXPECT_THAT(fault, HasSubstr("allow_plain_unencrypted"));
    EXPECT_THAT(fault, HasSubstr("amqps://"));
    EXPECT_FALSE(sasl_is_insecure_only(p, names{"PLAIN", "SCRAM-SHA-1"}));
    EXPECT_FALSE(sasl_is_insecure_only(p, names{"ANONYMOUS"}));
    EXPECT_THAT(sasl_prefer(means, names{"PLAIN"}).wanted, ElementsAre());
}

TEST(SaslChoice, WhatScramCannotBeHadWithIsTold)
{
    auto means = with_password;
    means.scram_possible = false;
    auto const p = sasl_prefer(means);
    EXPECT_THAT(p.wanted, ElementsAre("PLAIN"));
    std::string fault;
    EXPECT_EQ(sasl_choose(p, names{"SCRAM-SHA-256"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("SASLprep"));
    EXPECT_EQ(sasl_choose(sasl_prefer({}, names{"SCRAM-SHA-256"}), names{"PLAIN"}, &fault), "");
    EXPECT_THAT(fault, HasSubstr("SCRAM-SHA-256 needs a user and a password"));
}

TEST(SaslChoice, EveryMechanismThatIsKnownCanBeWanted)
{
    sasl_means const all{.credentials = true,
                         .scram_possible = true,
                         .token = true,
                         .token_user = true,
                         .certificate = true};
    for (auto const name : sasl_known())
        EXPECT_THAT(sasl_prefer(all, names{std::string{name}}).wanted, ElementsAre(name));
}

}  // namespace
}  // namespace sluice::net
