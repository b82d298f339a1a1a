// Whom TLS trusts, and what is said when it does not: which check, for whom, what to do.
#include "support/tls_rig.hpp"

#include <gmock/gmock.h>

namespace sluice::net {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A handshake that the client has to refuse, with an alert and before any octet of the user's.
std::string refused_by_client(tls_rig& r)
{
    r.shake();
    EXPECT_EQ(r.client_calls, 1);
    EXPECT_FALSE(r.at_client.stream);
    EXPECT_EQ(r.at_client.code, error::tls_verify_failed) << r.at_client.text;
    r.run();  // the server waits a moment for the client to read
    EXPECT_EQ(r.server_calls, 1);
    EXPECT_EQ(r.at_server.code, error::tls_refused) << r.at_server.text;
    EXPECT_THAT(r.at_server.text, HasSubstr("alert"));
    return r.at_client.text;
}

TEST(TlsVerify, TheRightNameAndTheRightAddressPass)
{
    for (auto const* const host :
         {"localhost", "LocalHost", "localhost.", "127.0.0.1", "::1", "::1%1"}) {
        tls_rig r{{.names = "DNS:localhost,IP:127.0.0.1,IP:::1"}};
        r.host = host;
        r.shake();
        EXPECT_TRUE(r.at_client.stream) << host << ": " << r.at_client.text;
    }
}

TEST(TlsVerify, AWildcardStandsForOneLabel)
{
    tls_rig good{{.names = "DNS:*.example.org"}};
    good.host = "broker.example.org";
    good.shake();
    EXPECT_TRUE(good.at_client.stream) << good.at_client.text;
    tls_rig deep{{.names = "DNS:*.example.org"}};
    deep.host = "a.broker.example.org";
    EXPECT_THAT(refused_by_client(deep), HasSubstr("*.example.org"));
}

TEST(TlsVerify, AnotherNameIsRefusedAndBothAreNamed)
{
    tls_rig r{{.names = "DNS:broker.example.org,IP:192.0.2.1"}};
    EXPECT_THAT(refused_by_client(r), AllOf(HasSubstr("is not for 'localhost'"),
                                            HasSubstr("it is for broker.example.org, 192.0.2.1"),
                                            HasSubstr("tls.server_name")));
}

TEST(TlsVerify, ADotAloneIsNoNameThatAnyCertificateHas)
{
    tls_rig r{{.names = "DNS:localhost"}};
    r.host = ".";
    EXPECT_THAT(refused_by_client(r), HasSubstr("is not for '.'"));
}

TEST(TlsVerify, AnAddressIsHeldAgainstAddressesAndNeverAgainstNames)
{
    tls_rig r{{.common_name = "127.0.0.1", .names = "DNS:127.0.0.1,IP:127.0.0.2"}};
    r.host = "127.0.0.1";
    EXPECT_THAT(refused_by_client(r), HasSubstr("is not for '127.0.0.1'"));
}

TEST(TlsVerify, ACommonNameIsNoHostName)
{
    tls_rig r{{.common_name = "localhost", .names = ""}};
    EXPECT_THAT(refused_by_client(r), HasSubstr("no host name or address at all"));
}

TEST(TlsVerify, AnExpiredCertificateIsNamedWithItsDate)
{
    tls_rig r{{.from = -7200, .until = -3600}};
    EXPECT_THAT(refused_by_client(r), AllOf(HasSubstr("expired on"), HasSubstr("GMT"),
                                            HasSubstr("CN=localhost,O=Sluice")));
}

TEST(TlsVerify, ACertificateOfTheFutureIsRefused)
{
    tls_rig r{{.from = 3600, .until = 7200}};
    EXPECT_THAT(refused_by_client(r), HasSubstr("not valid before"));
}

TEST(TlsVerify, ASelfSignedCertificateIsRefusedUnlessItIsTrustedItself)
{
    tls_rig r;
    auto const own = r.ca.issue({.self_signed = true});
    r.use(own);
    EXPECT_THAT(refused_by_client(r), AllOf(HasSubstr("self-signed"), HasSubstr("tls.ca_file")));
    tls_rig trusted;
    trusted.use(own);
    trusted.client.ca_file = own.certificate;
    trusted.shake();
    EXPECT_TRUE(trusted.at_client.stream) << trusted.at_client.text;
}

TEST(TlsVerify, ACertificateOfAnUnknownCaIsRefusedAndTheCaNamed)
{
    tls_rig r;
    authority const other{"Other CA"};
    r.use(other.issue());
    EXPECT_THAT(refused_by_client(r), HasSubstr("CN=Other CA"));
    tls_rig system;
    system.client.ca_file.clear();  // the system's, which do not know the test's
    EXPECT_THAT(refused_by_client(system), HasSubstr("not trusted here"));
}

TEST(TlsVerify, ACaThatIsSentAlongIsNamedAsTheOneToTrust)
{
    tls_rig r;
    authority const other{"Other CA"};
    auto with_ca = other.issue();
    with_ca.certificate += other.pem();
    r.use(with_ca);
    EXPECT_THAT(refused_by_client(r), HasSubstr("leads to the CA \"CN=Other CA,O=Sluice\", which"));
}

TEST(TlsVerify, ACertificateForClientsIsNoServers)
{
    tls_rig r{{.usage = "clientAuth"}};
    EXPECT_THAT(refused_by_client(r), HasSubstr("extended key usage"));
}

TEST(TlsVerify, NothingIsCheckedOnlyWhereThatIsAskedFor)
{
    tls_rig r{{.names = "DNS:somebody.else", .from = -7200, .until = -3600}};
    r.client.verify = false;
    r.shake();
    EXPECT_TRUE(r.at_client.stream) << r.at_client.text;
    EXPECT_EQ(r.at_client.stream->security().peer_subject, "") << "it is not known who it is";
}

TEST(TlsVerify, AnotherServerNameMayBeAskedForAndGoesOutInTheClear)
{
    tls_rig r{{.names = "DNS:inner.example.org"}};
    r.client.server_name = "inner.example.org";
    r.host = "127.0.0.1";
    r.shake();
    EXPECT_TRUE(r.at_client.stream) << r.at_client.text;
    EXPECT_THAT(r.to_server->all, HasSubstr("inner.example.org"));
    tls_rig address{{.names = "IP:127.0.0.1"}};
    address.host = "127.0.0.1";
    address.shake();
    EXPECT_THAT(address.to_server->all, Not(HasSubstr("127.0.0.1"))) << "SNI has no addresses";
}

// ---- clients' certificates

TEST(TlsVerify, AClientIsKnownByItsCertificate)
{
    tls_rig r;
    r.server.client_ca_file = r.ca.pem();
    r.use_at_client(r.ca.issue({.common_name = "ann", .names = "", .usage = "clientAuth"}));
    r.shake();
    ASSERT_TRUE(r.at_server.stream) << r.at_server.text;
    EXPECT_EQ(r.at_server.stream->security().peer_common_name, "ann");
    EXPECT_EQ(r.at_server.stream->security().peer_subject, "CN=ann,O=Sluice");
}

TEST(TlsVerify, AClientWithoutACertificateIsRefusedWhereOneIsRequiredAndLearnsWhy)
{
    tls_rig r;
    r.server.client_ca_file = r.ca.pem();
    r.shake();
    ASSERT_TRUE(r.at_client.stream) << "TLS 1.3: a client is done before the server has looked";
    patient_reader reader{r, *r.at_client.stream};
    EXPECT_EQ(reader.all(), "");
    EXPECT_EQ(why_lost(reader.end), error::tls_refused);
    EXPECT_THAT(reader.end.message(), AllOf(HasSubstr("requires a certificate"),
                                            HasSubstr("tls.cert_file"), HasSubstr("--tls-cert")));
    r.at_client.stream->close();
    r.run();
    EXPECT_EQ(r.at_server.code, error::tls_verify_failed);
    EXPECT_THAT(r.at_server.text, HasSubstr("showed no certificate"));
}

TEST(TlsVerify, AClientMayComeWithoutACertificateWhereItIsOptionalButNotWithAWrongOne)
{
    tls_rig without;
    without.server.client_ca_file = without.ca.pem();
    without.server.client_required = false;
    without.shake();
    ASSERT_TRUE(without.at_server.stream) << without.at_server.text;
    EXPECT_EQ(without.at_server.stream->security().peer_subject, "");

    tls_rig wrong;
    wrong.server.client_ca_file = wrong.ca.pem();
    wrong.server.client_required = false;
    authority const other{"Other CA"};
    wrong.use_at_client(other.issue({.common_name = "mallory", .names = ""}));
    wrong.shake();
    wrong.at_client.stream.reset();
    wrong.run();
    EXPECT_EQ(wrong.at_server.code, error::tls_verify_failed);
    EXPECT_THAT(wrong.at_server.text, AllOf(HasSubstr("CN=mallory"), HasSubstr("CN=Other CA"),
                                            HasSubstr("--tls-client-ca")));
}

TEST(TlsVerify, ACommonNameWithANulInItIsNone)
{
    tls_rig r;
    r.server.client_ca_file = r.ca.pem();
    r.use_at_client(r.ca.issue({.common_name = std::string("ann\0admin", 9), .names = ""}));
    r.shake();
    ASSERT_TRUE(r.at_server.stream);
    EXPECT_EQ(r.at_server.stream->security().peer_common_name, "");
}

TEST(TlsVerify, ALineEndInACommonNameIsEscapedInTheSubject)
{
    tls_rig r;
    r.server.client_ca_file = r.ca.pem();
    r.use_at_client(r.ca.issue({.common_name = "ann\nadmin", .names = ""}));
    r.shake();
    ASSERT_TRUE(r.at_server.stream);
    EXPECT_THAT(r.at_server.stream->security().peer_subject, Not(HasSubstr("\n")));
}

// ---- peers that are none

TEST(TlsVerify, AServerWithoutTlsIsNamed)
{
    tls_rig r;
    r.start_client();
    r.to_client->inject(r.io, std::string("AMQP\0\1\0\0", 8));
    r.run();
    EXPECT_EQ(r.at_client.code, error::tls_handshake_failed);
    EXPECT_THAT(r.at_client.text,
                AllOf(HasSubstr("AMQP without TLS"), HasSubstr("amqp://"), HasSubstr("localhost")));
}

TEST(TlsVerify, AServerThatHangsUpAtTheHandshakeIsNamed)
{
    tls_rig r;
    r.start_client();
    r.to_client->end(r.io);
    r.run();
    EXPECT_EQ(r.at_client.code, error::connect_failed);
    EXPECT_THAT(r.at_client.text, HasSubstr("does it speak TLS on this port"));
}

TEST(TlsVerify, AClientWithoutTlsIsNamed)
{
    for (auto const& [octets, what] :
         {std::pair{std::string("AMQP\3\1\0\0", 8), "AMQP without TLS"},
          std::pair{std::string{"GET / HTTP/1.1\r\n\r\n"}, "HTTP without TLS"},
          std::pair{std::string(300, 'z'), "something that is not TLS"}}) {
        tls_rig r;
        r.start_server();
        r.to_server->inject(r.io, octets);
        r.run();
        r.to_server->end(r.io);
        r.run();
        EXPECT_EQ(r.server_calls, 1);
        EXPECT_EQ(r.at_server.code, error::tls_handshake_failed);
        EXPECT_THAT(r.at_server.text, AllOf(HasSubstr(what), HasSubstr("amqps://")));
    }
}

TEST(TlsVerify, AnOldVersionOfTlsIsRefused)
{
    tls_rig r;
    bare_tls client{TLS_client_method(), r, false};
    SSL_CTX_set_security_level(client.context(), 0);
    SSL_CTX_set_min_proto_version(client.context(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(client.context(), TLS1_1_VERSION);
    SSL_CTX_set_cipher_list(client.context(), "ALL:@SECLEVEL=0");
    r.start_server();
    EXPECT_LE(client.shake(), 0);
    r.to_server->end(r.io);
    r.run();
    EXPECT_EQ(r.at_server.code, error::tls_handshake_failed) << r.at_server.text;
    EXPECT_THAT(r.at_server.text, HasSubstr("1.2 or 1.3 is needed"));
}

TEST(TlsVerify, HalfAHandshakeAndThenTheEndIsNamed)
{
    tls_rig r;
    r.start_client();
    r.run();
    auto const hello = r.to_server->octets;
    r.to_client->end(r.io);  // what waits for the rest lets go
    r.run();
    ASSERT_GT(hello.size(), 100u);
    for (auto const part : {std::size_t{1}, std::size_t{5}, hello.size() / 2, hello.size() - 1}) {
        tls_rig one;
        one.start_server();
        one.to_server->inject(one.io, hello.substr(0, part));
        one.run();
        EXPECT_EQ(one.server_calls, 0) << "it may come yet";
        one.to_server->end(one.io);
        one.run();
        EXPECT_EQ(one.at_server.code, error::connect_failed) << one.at_server.text;
    }
}

TEST(TlsVerify, MutatedHandshakesEndInErrorsAndNothingElse)
{
    tls_rig r;
    r.start_client();
    r.run();
    auto const hello = r.to_server->octets;
    r.to_client->end(r.io);  // what waits for the rest lets go
    r.run();
    for (std::size_t i = 0; i < hello.size(); i += 7) {
        auto changed = hello;
        changed[i] = static_cast<char>(changed[i] ^ 0x55);
        tls_rig one;
        one.start_server();
        one.to_server->inject(one.io, changed);
        one.run();
        one.to_server->end(one.io);
        one.run();
        EXPECT_EQ(one.server_calls, 1) << i;
        EXPECT_FALSE(one.at_server.stream) << i;
    }
}

TEST(TlsVerify, ACancelledHandshakeTellsOnce)
{
    tls_rig r;
    r.start_client();
    r.client_handshake->cancel();
    r.client_handshake->cancel();
    r.run();
    EXPECT_EQ(r.client_calls, 1);
    EXPECT_EQ(r.at_client.code, error::operation_aborted);
}

// ---- what is set up wrongly

std::string server_fault(tls_server_options const& o)
{
    std::string fault;
    auto const made = make_tls_server(o, &fault);
    EXPECT_FALSE(made);
    EXPECT_EQ(made.error(), error::tls_setup_failed);
    return fault;
}

TEST(TlsVerify, WrongFilesAreNamedWithWhatIsWrong)
{
    authority const ca;
    auto const one = ca.issue();
    auto const two = ca.issue();
    EXPECT_THAT(server_fault({}), HasSubstr("none is given"));
    EXPECT_THAT(server_fault({.cert_file = "/no/such/file.pem"}),
                AllOf(HasSubstr("/no/such/file.pem"), HasSubstr("No such file")));
    EXPECT_THAT(server_fault({.cert_file = "read"}),
                HasSubstr("'read' cannot be read: No such file"));
    EXPECT_THAT(server_fault({.cert_file = one.certificate, .key_file = two.key}),
                HasSubstr("does not belong"));
    EXPECT_THAT(server_fault({.cert_file = one.certificate}), HasSubstr("no key"));
    EXPECT_THAT(server_fault({.cert_file = one.key, .key_file = one.key}),
                AllOf(HasSubstr("no certificate"), Not(HasSubstr("BEGIN PRIVATE"))));
    EXPECT_THAT(server_fault(
                    {.cert_file = one.certificate, .key_file = one.key, .client_ca_file = one.key}),
                HasSubstr("no certificate in the file of CAs"));
    EXPECT_THAT(server_fault({.cert_file = "-----BEGIN CERTIFICATE-----\nrubbish\n"}),
                HasSubstr("no certificate"));
}

TEST(TlsVerify, AnEncryptedKeyNeedsItsPasswordAndAsksNobody)
{
    authority const ca;
    auto const one = ca.issue();
    auto const key = authority::encrypted(one, "geheim");
    EXPECT_THAT(server_fault({.cert_file = one.certificate, .key_file = key}),
                HasSubstr("there is no password"));
    EXPECT_THAT(
        server_fault({.cert_file = one.certificate, .key_file = key, .key_password = "other"}),
        AllOf(HasSubstr("its password is another one"), Not(HasSubstr("other\""))));
    EXPECT_TRUE(
        make_tls_server({.cert_file = one.certificate, .key_file = key, .key_password = "geheim"}));
}

}  // namespace
}  // namespace sluice::net
