// The users' file: what it says, what is wrong with it, and where.
#include <sluice/net/sasl_users.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace sluice::net {
namespace {

using testing::HasSubstr;

bytes salt() { return bytes(16, std::byte{7}); }

sasl_users parsed(std::string const& text)
{
    std::string fault;
    auto users = sasl_users::parse(text, "users.txt", &fault);
    EXPECT_TRUE(users) << fault;
    return std::move(*users);
}

std::string fault_of(std::string const& text)
{
    std::string fault;
    auto const users = sasl_users::parse(text, "users.txt", &fault);
    EXPECT_EQ(users.error(), make_error_code(error::invalid_argument));
    return fault;
}

TEST(SaslUsers, ALineComesBackAsItWasWritten)
{
    sasl_user u{
        .name = "#j\xc3\xb6rg @home, 50%=x ",
        .keys = {*derive_scram_keys(scram_hash::sha256, "a", salt()),
                 *derive_scram_keys(scram_hash::sha512, "b", salt(), 4'096)},
        .grants = {{access::read, "or ders.*"}, {access::write, "*"}, {access::manage, "#1"}}};
    auto const line = sasl_user_line(u);
    auto const users = parsed("# comment\n\n" + line + "\r\n");
    EXPECT_EQ(users.size(), 1u);
    auto const* const back = users.find(u.name);
    ASSERT_TRUE(back);
    EXPECT_EQ(sasl_user_line(*back), line);
    EXPECT_EQ(back->keys[1].iterations, 4'096u);
    EXPECT_TRUE(back->may(access::read, "or ders.1"));
    EXPECT_TRUE(back->may(access::manage, "#1"));
}

TEST(SaslUsers, AGrantIsAnAddressOrAPrefix)
{
    auto const users = parsed("u read=orders read=logs.* write=*");
    auto const& u = *users.find("u");
    EXPECT_TRUE(u.may(access::read, "orders"));
    EXPECT_FALSE(u.may(access::read, "orders.eu"));
    EXPECT_FALSE(u.may(access::read, "order"));
    EXPECT_TRUE(u.may(access::read, "logs."));
    EXPECT_TRUE(u.may(access::read, "logs.a.b"));
    EXPECT_FALSE(u.may(access::read, "log"));
    EXPECT_TRUE(u.may(access::write, ""));
    EXPECT_TRUE(u.may(access::write, "anything"));
    EXPECT_FALSE(u.may(access::manage, "orders"));
    EXPECT_FALSE(u.may_any(access::manage));
    EXPECT_TRUE(u.may_any(access::read));
    EXPECT_FALSE(users.find("v"));
}

TEST(SaslUsers, AFaultNamesFileAndLineAndNoSecret)
{
    EXPECT_THAT(fault_of("# none\n"), HasSubstr("users.txt: no user; add one with `sluice passwd"));
    EXPECT_THAT(fault_of("a read=*\n\nb hunter2\n"),
                HasSubstr("users.txt, line 3: a word that is"));
    EXPECT_EQ(fault_of("b hunter2").find("hunter2"), std::string::npos);
    EXPECT_EQ(fault_of("b password=hunter2").find("hunter2"), std::string::npos);
    EXPECT_THAT(fault_of("a read="), HasSubstr("line 1: 'read=' without an address"));
    EXPECT_THAT(fault_of("a read=*\na write=*"),
                HasSubstr("line 2: a user who is in a line above"));
    EXPECT_THAT(fault_of("a%4 read=*"), HasSubstr("line 1: a '%' without two"));
    EXPECT_THAT(fault_of("andr\xe9 read=*"), HasSubstr("line 1: a user's name with octets"));
    EXPECT_THAT(fault_of("a%01 read=*"), HasSubstr("control character"));
    EXPECT_THAT(fault_of("a\tread=*"), HasSubstr("line 1: a tabulator"));
    EXPECT_THAT(fault_of(" a read=*"), HasSubstr("line 1: a tabulator, or a blank"));
    EXPECT_THAT(fault_of("@home read=*"), HasSubstr("%40"));
    EXPECT_THAT(fault_of("@seed abc"), HasSubstr("'@seed' without"));
    EXPECT_THAT(fault_of("a scram-sha-256=1:AAAA:AAAA:AAAA"), HasSubstr("iteration count"));
    EXPECT_THAT(fault_of("a scram-sha-256=4096:AAAAAAAAAAA=:AAAA:AAAA"),
                HasSubstr("sluice passwd"));
    EXPECT_THAT(fault_of("a scram-sha-512=x"), HasSubstr("SCRAM-SHA-512"));
    auto const line = sasl_user_line(
        {.name = "a", .keys = {*derive_scram_keys(scram_hash::sha256, "a", salt())}, .grants = {}});
    EXPECT_THAT(fault_of(line + line.substr(1)), HasSubstr("two keys for SCRAM-SHA-256"));
}

TEST(SaslUsers, AFileThatCannotBeReadIsNamed)
{
    std::string fault;
    auto const users = sasl_users::read("does-not-exist/users", &fault);
    EXPECT_EQ(users.error(), std::errc::no_such_file_or_directory);
    EXPECT_THAT(fault, HasSubstr("cannot read does-not-exist/users: "));
    EXPECT_EQ(sasl_users::read(".", &fault).error(), std::errc::is_a_directory);
    EXPECT_THAT(fault, HasSubstr("cannot read .: "));
}

TEST(SaslUsers, KeysOfWhoIsNotThereFollowTheOthersCounts)
{
    auto const line =
        sasl_user_line({.name = "a",
                        .keys = {*derive_scram_keys(scram_hash::sha256, "a", salt(), 5'000)},
                        .grants = {}});
    auto const users = parsed(line);
    auto known = true;
    auto const keys = users.keys_of("nobody", scram_hash::sha256, known);
    EXPECT_FALSE(known);
    EXPECT_EQ(keys.iterations, 5'000u);
    EXPECT_EQ(keys.salt.size(), 16u);
    EXPECT_EQ(keys.stored_key.size(), 32u);
    EXPECT_TRUE(users.check("a", "a"));
    EXPECT_FALSE(users.check("a", "b"));
    EXPECT_FALSE(users.check("nobody", "none"));
}

}  // namespace
}  // namespace sluice::net
