// SCRAM, each half against the examples of its standards and against the other.
#include <sluice/net/sasl_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using step = sasl_server::step;

std::string text(bytes_view b) { return {reinterpret_cast<char const*>(b.data()), b.size()}; }
bytes octets(std::string_view t)
{
    auto const* const data = reinterpret_cast<std::byte const*>(t.data());
    return {data, data + t.size()};
}

std::unique_ptr<sasl_client> client(scram_hash hash, std::string nonce = {})
{
    auto made = sasl_scram(hash, {.user = "user", .password = "pencil", .authorize_as = {}},
                           std::move(nonce));
    return made ? std::move(*made) : nullptr;
}

// ---- [RFC 5802, 5]

constexpr std::string_view nonce_1 = "fyko+d2lbbFgONRv9qkxdawL";
constexpr std::string_view first_1 =
    "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
constexpr std::string_view final_1 = "v=rmF9pqV8S7suAoZWja4dJRkFsKQ=";

std::unique_ptr<sasl_client> proven_1()
{
    auto c = client(scram_hash::sha1, std::string{nonce_1});
    EXPECT_TRUE(c->respond(octets(first_1)));
    return c;
}

TEST(Scram, SaysWhatTheStandardsExampleForSha1Says)
{
    auto const c = client(scram_hash::sha1, std::string{nonce_1});
    EXPECT_EQ(c->mechanism(), "SCRAM-SHA-1");
    EXPECT_EQ(text(*c->initial_response()), "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL");
    auto const proof = c->respond(octets(first_1));
    ASSERT_TRUE(proof);
    EXPECT_EQ(text(*proof), "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,"
                            "p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=");
    EXPECT_FALSE(c->finish(octets(final_1)));
}

// [RFC 7677, 3]
TEST(Scram, SaysWhatTheStandardsExampleForSha256Says)
{
    auto const c = client(scram_hash::sha256, "rOprNGfwEbeRWgbNEkqO");
    EXPECT_EQ(text(*c->initial_response()), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    auto const proof = c->respond(octets("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                         "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
    ASSERT_TRUE(proof);
    EXPECT_EQ(text(*proof), "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                            "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    auto const last = c->respond(octets("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
    ASSERT_TRUE(last) << c->fault();
    EXPECT_EQ(text(*last), "");
    EXPECT_FALSE(c->finish({}));
}

// ---- a server that is not what it should be

TEST(ScramClient, AServerThatProvesNothingIsRefused)
{
    for (auto const* const said : {"", "v=", "v=rmF9pqV8S7suAoZWja4dJRkFsKR=", "v=AAAA", "x=1",
                                   "v=rmF9pqV8S7suAoZWja4dJRkFsKQ", "ok"}) {
        auto const c = proven_1();
        EXPECT_EQ(c->finish(octets(said)), make_error_code(error::sasl_server_not_proven)) << said;
        EXPECT_THAT(c->fault(), HasSubstr("has not shown that it knows the password"));
    }
    auto const c = proven_1();  // by a challenge, and then an outcome of ok for all that
    EXPECT_EQ(c->respond(octets("v=AAAA")).error(), make_error_code(error::sasl_server_not_proven));
    EXPECT_EQ(c->finish({}), make_error_code(error::sasl_server_not_proven));
    auto const early = client(scram_hash::sha256);
    EXPECT_EQ(early->finish({}), make_error_code(error::sasl_server_not_proven));
    EXPECT_EQ(early->finish(octets("v=")), make_error_code(error::sasl_server_not_proven));
}

TEST(ScramClient, TellsWhatTheServerSaysWasWrong)
{
    auto c = proven_1();
    EXPECT_EQ(c->respond(octets("e=unknown-user")).error(),
              make_error_code(error::sasl_auth_failed));
    EXPECT_EQ(c->fault(), "SCRAM: the peer says unknown-user");
    c = proven_1();
    EXPECT_FALSE(c->respond(octets("e=\x1b[31mhi")));
    EXPECT_EQ(c->fault(), "SCRAM: the peer says no");
}

TEST(ScramClient, TakesNoChallengeThatIsMalformedOrWeak)
{
    struct row {
        std::string said;
        char const* why;
    };
    std::string const nonce = "r=" + std::string{nonce_1};
    for (auto const& [said, why] : std::initializer_list<row>{
             {"", "malformed"},
             {"r=,s=,i=", "does not go on from ours"},
             {nonce + ",s=QSXCR+Q6sek8bf92,i=4096", "does not go on from ours"},
             {"r=other3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096", "does not go on from ours"},
             {nonce + "x,s=QSXCR+Q6sek8bf9,i=4096", "no base64"},
             {nonce + "x,s=,i=4096", "no base64"},
             {nonce + "x,s=QSXCR+Q6sek8bf92", "malformed"},
             {nonce + "x,i=4096,s=QSXCR+Q6sek8bf92", "malformed"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=4095", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=1", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=0", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=-4096", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=1000001", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=99999999999999", "out of the range"},
             {nonce + "x,s=QSXCR+Q6sek8bf92,i=4096x", "out of the range"},
             {"m=ext," + nonce + "x,s=QSXCR+Q6sek8bf92,i=4096", "extension"}}) {
        auto const c = client(scram_hash::sha256, std::string{nonce_1});
        EXPECT_EQ(c->respond(octets(said)).error(), make_error_code(error::sasl_auth_failed))
            << said;
        EXPECT_THAT(c->fault(), HasSubstr(why)) << said;
        EXPECT_FALSE(c->respond(octets(first_1))) << "one attempt";
    }
}

TEST(ScramClient, PassesOverExtensionsBehindWhatItKnows)
{
    auto const c = client(scram_hash::sha1, std::string{nonce_1});
    EXPECT_TRUE(c->respond(octets(std::string{first_1} + ",x=more")));
}

TEST(ScramClient, EscapesCommaAndEqualsInNames)
{
    auto const c = sasl_scram(scram_hash::sha256,
                              {.user = "a,b=c", .password = "p", .authorize_as = "x,y"}, "nnn");
    EXPECT_EQ(text(*(*c)->initial_response()), "n,a=x=2Cy,n=a=2Cb=3Dc,r=nnn");
}

TEST(ScramClient, IsHonestAboutNamesAndPasswordsThatItCannotPrepare)
{
    EXPECT_FALSE(sasl_scram(scram_hash::sha256, {.user = "jos\xc3\xa9", .password = "p"}));
    EXPECT_FALSE(sasl_scram(scram_hash::sha256, {.user = "u", .password = "p\xc3\xa4ss"}));
    EXPECT_FALSE(sasl_scram(scram_hash::sha256, {.user = "u", .password = "tab\t"}));
    EXPECT_FALSE(sasl_scram(scram_hash::sha256, {.user = "", .password = "p"}));
    EXPECT_TRUE(sasl_scram(scram_hash::sha256, {.user = "u", .password = ""}));
    EXPECT_FALSE(derive_scram_keys(scram_hash::sha256, "p\xc3\xa4ss", octets("12345678")));
}

TEST(ScramClient, UsesANonceOfItsOwnEachTime)
{
    EXPECT_NE(text(*client(scram_hash::sha256)->initial_response()),
              text(*client(scram_hash::sha256)->initial_response()));
}

TEST(ScramClient, SaysBeforehandWhatTakesLong)
{
    auto const c = client(scram_hash::sha256, "n");
    EXPECT_FALSE(c->is_slow(octets("r=nx,s=QSXCR+Q6sek8bf92,i=4096")));
    EXPECT_TRUE(c->is_slow(octets("r=nx,s=QSXCR+Q6sek8bf92,i=600000")));
    EXPECT_TRUE(c->is_slow(octets("r=nx,s=QSXCR+Q6sek8bf92,i=600000,z=what-it-may-ignore")));
    EXPECT_FALSE(c->is_slow(octets("r=nx,s=QSXCR+Q6sek8bf92,i=9000000"))) << "refused at once";
}

// ---- the server's half

sasl_user made_user(std::string name, std::string_view password)
{
    sasl_user u{.name = std::move(name), .keys = {}, .grants = {}};
    for (auto const h : {scram_hash::sha256, scram_hash::sha512})
        u.keys.push_back(*derive_scram_keys(h, password, octets("salt of 16 bytes"), 4'096));
    return u;
}

sasl_server_options server_of(std::string const& file)
{
    std::string fault;
    auto users = sasl_users::parse(file, "users", &fault);
    EXPECT_TRUE(users) << fault;
    return {.users = std::make_shared<sasl_users const>(std::move(*users))};
}
sasl_server_options server_with_users()
{
    return server_of("@seed MTIzNDU2Nzg5MDEyMzQ1Ng==\n"
                     + sasl_user_line(made_user("user", "pencil")) + "\n"
                     + sasl_user_line(made_user("a,b=c d", "x")) + "\nonly-certificate\n");
}

/// Both halves together. @returns what the server came to
step exchange(sasl_client& c, sasl_server& s, bytes* last = nullptr)
{
    auto said = s.respond(*c.initial_response());
    if (said.what != step::challenge)
        return said.what;
    auto const proof = c.respond(said.octets);
    if (!proof)
        return step::refused;
    said = s.respond(*proof);
    if (last)
        *last = said.octets;
    return said.what;
}

TEST(ScramServer, LetsInWhoKnowsThePasswordAndProvesThatItKnowsItToo)
{
    auto const o = server_with_users();
    for (auto const hash : {scram_hash::sha256, scram_hash::sha512}) {
        auto const s = make_sasl_server(scram_mechanism(hash), o);
        ASSERT_TRUE(s);
        auto const c = client(hash);
        bytes last;
        EXPECT_EQ(exchange(*c, *s, &last), step::accepted);
        EXPECT_EQ(s->user(), "user");
        EXPECT_FALSE(c->finish(last)) << c->fault();
        EXPECT_EQ(s->respond({}).what, step::refused) << "one attempt";
    }
    auto const s = make_sasl_server("SCRAM-SHA-256", o);
    auto const c = sasl_scram(scram_hash::sha256, {.user = "a,b=c d", .password = "x"});
    EXPECT_EQ(exchange(**c, *s), step::accepted);
    EXPECT_EQ(s->user(), "a,b=c d");
    EXPECT_FALSE(make_sasl_server("SCRAM-SHA-1", o));
}

TEST(ScramServer, TakesTheSameWayForAWrongPasswordAndAnUnknownUser)
{
    auto const o = server_with_users();
    for (auto const& who :
         {credentials{"user", "pencils", ""}, credentials{"user", "", ""},
          credentials{"nobody", "pencil", ""}, credentials{"only-certificate", "x", ""}}) {
        auto const s = make_sasl_server("SCRAM-SHA-256", o);
        auto const c = sasl_scram(scram_hash::sha256, who);
        auto const first = s->respond(*(*c)->initial_response());
        EXPECT_EQ(first.what, step::challenge) << who.user;
        EXPECT_THAT(text(first.octets), HasSubstr(",i=4096"));
        auto const proof = (*c)->respond(first.octets);
        ASSERT_TRUE(proof);
        auto const last = s->respond(*proof);
        EXPECT_EQ(last.what, step::refused);
        EXPECT_TRUE(last.octets.empty());
        EXPECT_EQ(s->user(), "");
    }
}

// Who asks twice, or after a restart, learns nothing from the salt.
TEST(ScramServer, AnUnknownUserHasTheSameSaltEachTime)
{
    auto const salt = [](std::string_view user) {
        auto const s = make_sasl_server("SCRAM-SHA-256", server_with_users());
        auto const said = text(s->respond(octets("n,,n=" + std::string{user} + ",r=abc")).octets);
        return said.substr(said.find(",s="));
    };
    EXPECT_EQ(salt("nobody"), salt("nobody"));
    EXPECT_NE(salt("nobody"), salt("somebody"));
    EXPECT_EQ(salt("nobody").size(), salt("user").size());
}

TEST(ScramServer, RefusesWhatIsMalformedOrNotThisExchange)
{
    auto const o = server_with_users();
    for (auto const* const first :
         {"n", "n,", "n,,", "p=tls-unique,,n=user,r=abc", "n,,n=user", "n,,r=abc,n=user",
          "n,,n=user,r=", "n,,n=us=er,r=abc", "n,x,n=user,r=abc", "n,,m=1,n=user,r=abc",
          "n,,n=user,r=a\x7f"
          "b",
          "x,,n=user,r=abc"}) {
        auto const s = make_sasl_server("SCRAM-SHA-256", o);
        EXPECT_EQ(s->respond(octets(first)).what, step::refused) << first;
        EXPECT_EQ(s->respond(octets("c=biws,r=abc,p=AAAA")).what, step::refused);
    }
    auto const s = make_sasl_server("SCRAM-SHA-256", o);
    EXPECT_EQ(s->respond(octets("n,,n=user,r=" + std::string(129, 'x'))).what, step::refused);
    for (auto const* const last : {"", "c=biws", "c=biws,r=abc,p=AAAA", "p=", "c=biws,r=abc"}) {
        auto const one = make_sasl_server("SCRAM-SHA-256", o);
        EXPECT_EQ(one->respond(octets("n,,n=user,r=abc")).what, step::challenge);
        EXPECT_EQ(one->respond(octets(last)).what, step::refused) << last;
    }
}

TEST(ScramServer, RefusesAProofUnderAnotherHeaderOrNonce)
{
    auto const o = server_with_users();
    struct row {
        std::string_view from;
        std::string_view to;
    };
    for (auto const& [from, to] :
         std::initializer_list<row>{{"c=biws", "c=eSws"}, {",r=abc", ",r=abd"}}) {
        auto const s = make_sasl_server("SCRAM-SHA-256", o);
        auto const c = client(scram_hash::sha256, "abc");
        auto proof = text(*c->respond(s->respond(*c->initial_response()).octets));
        proof.replace(proof.find(from), from.size(), to);
        EXPECT_EQ(s->respond(octets(proof)).what, step::refused) << from;
    }
}

TEST(ScramServer, NobodyActsAsSomebodyElse)
{
    auto const o = server_with_users();
    for (auto const* const as : {"user", "nobody"}) {
        auto const s = make_sasl_server("SCRAM-SHA-256", o);
        auto const c = sasl_scram(scram_hash::sha256,
                                  {.user = "user", .password = "pencil", .authorize_as = as});
        EXPECT_EQ(exchange(**c, *s),
                  std::string_view{as} == "user" ? step::accepted : step::refused);
        auto const p = make_sasl_server("PLAIN", o);
        auto const plain = sasl_plain({.user = "user", .password = "pencil", .authorize_as = as});
        EXPECT_EQ(p->respond(*(*plain)->initial_response()).what,
                  std::string_view{as} == "user" ? step::accepted : step::refused);
    }
}

TEST(ScramServer, AsksForTheFirstMessageIfThereWasNone)
{
    auto const s = make_sasl_server("SCRAM-SHA-256", server_with_users());
    auto const asked = s->respond({});
    EXPECT_EQ(asked.what, step::challenge);
    EXPECT_TRUE(asked.octets.empty());
    auto const c = client(scram_hash::sha256);
    EXPECT_EQ(exchange(*c, *s), step::accepted);
    auto const other = make_sasl_server("SCRAM-SHA-256", server_with_users());
    std::ignore = other->respond({});
    EXPECT_EQ(other->respond({}).what, step::refused);
}

// ---- PLAIN and EXTERNAL, and what is offered

TEST(SaslServer, PlainIsCheckedAgainstTheSameKeys)
{
    auto const o = server_with_users();
    auto const says = [&](std::string const& user, std::string const& password) {
        auto const s = make_sasl_server("PLAIN", o);
        EXPECT_TRUE(s->is_slow());
        auto const what = s->respond(octets(std::string(1, '\0') + user + '\0' + password)).what;
        EXPECT_EQ(s->user(), what == step::accepted ? user : "");
        return what;
    };
    EXPECT_EQ(says("user", "pencil"), step::accepted);
    EXPECT_EQ(says("user", "pencils"), step::refused);
    EXPECT_EQ(says("user", ""), step::refused);
    EXPECT_EQ(says("user", "p\xc3\xa4"), step::refused);
    EXPECT_EQ(says("nobody", "none"), step::refused);
    EXPECT_EQ(says("only-certificate", ""), step::refused);
}

TEST(SaslServer, OffersOnlyWhatItCanDo)
{
    auto o = server_with_users();
    EXPECT_EQ(sasl_offer(o), (std::vector<std::string>{"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"}));
    o.plain = false;
    EXPECT_EQ(sasl_offer(o), (std::vector<std::string>{"SCRAM-SHA-512", "SCRAM-SHA-256"}));
    o.certificate_user = "only-certificate";
    EXPECT_EQ(sasl_offer(o).front(), "EXTERNAL");
    o.certificate_user = "stranger";
    EXPECT_EQ(sasl_offer(o).front(), "SCRAM-SHA-512");
    EXPECT_EQ(sasl_offer(server_of("ann read=*")), std::vector<std::string>{"EXTERNAL"});
    auto some = made_user("user", "pencil");
    some.keys.pop_back();
    EXPECT_EQ(sasl_offer(server_of(sasl_user_line(some))),
              (std::vector<std::string>{"SCRAM-SHA-256", "PLAIN"}));
    EXPECT_EQ(sasl_offer({}), (std::vector<std::string>{"PLAIN", "ANONYMOUS"}));
    EXPECT_EQ(sasl_offer({.check_password = [](auto, auto) { return true; }}),
              std::vector<std::string>{"PLAIN"});
    EXPECT_FALSE(make_sasl_server("ANONYMOUS", server_with_users()));
}

TEST(SaslServer, ExternalIsWhomTheCertificateNamesAndIsListed)
{
    auto o = server_with_users();
    EXPECT_FALSE(make_sasl_server("EXTERNAL", o));
    o.certificate_user = "only-certificate";
    auto s = make_sasl_server("EXTERNAL", o);
    ASSERT_TRUE(s);
    EXPECT_EQ(s->respond({}).what, step::accepted);
    EXPECT_EQ(s->user(), "only-certificate");
    s = make_sasl_server("EXTERNAL", o);
    EXPECT_EQ(s->respond(octets("user")).what, step::refused);
    auto const nobody = server_of("ann read=*");
    EXPECT_EQ(make_sasl_server("EXTERNAL", nobody)->respond({}).what, step::refused);
    s = make_sasl_server("EXTERNAL", {.certificate_user = "ann"});
    EXPECT_EQ(s->respond({}).what, step::accepted);
    EXPECT_EQ(s->user(), "ann");
}

}  // namespace
}  // namespace sluice::net
