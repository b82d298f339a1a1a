// TLS as a byte stream: octets, records, room, and the two ways in which it ends.
#include "support/tls_rig.hpp"

namespace sluice::net {
namespace {

using namespace test;

struct ready_rig : shaken<tls_rig> {
    error_code write(byte_stream& to, std::string const& text)
    {
        return write_all(*this, to, text, [] {});
    }
};

TEST(Tls, PassesOctetsBothWaysAndSaysHowItIsProtected)
{
    ready_rig r;
    EXPECT_FALSE(r.write(r.c(), "to the server"));
    EXPECT_FALSE(r.write(r.s(), "to the client"));
    EXPECT_EQ(r.server_reader.all(), "to the server");
    EXPECT_EQ(r.client_reader.all(), "to the client");
    auto const security = r.c().security();
    EXPECT_TRUE(security.encrypted);
    EXPECT_EQ(security.protocol, "TLSv1.3");
    EXPECT_NE(security.cipher, "");
    EXPECT_EQ(security.peer_common_name, "localhost");
    EXPECT_EQ(security.peer_subject, "CN=localhost,O=Sluice");
    EXPECT_EQ(r.s().security().peer_subject, "") << "the client showed no certificate";
    EXPECT_EQ(r.to_server->all.find("to the server"), std::string::npos) << "in clear";
}

TEST(Tls, ManyFramesInTwoRecordsAreReadThoughNothingMoreComesFromTheNetwork)
{
    ready_rig r;
    auto const burst = pattern(20'000);
    ASSERT_FALSE(r.write(r.s(), burst));
    EXPECT_EQ(r.client_reader.all(512), burst) << "what is decrypted waits for the next packet";
    EXPECT_FALSE(r.client_reader.end) << "and then it is waited for";
}

TEST(Tls, ASmallReadLeavesTheRestOfARecordReadyAtOnce)
{
    ready_rig r;
    ASSERT_FALSE(r.write(r.s(), "abcdef"));
    r.run();
    std::string out;
    for (int i = 0; i < 3; ++i) {
        auto const note = std::make_shared<readiness_note>();
        r.c().async_wait(readiness::read, note);
        r.run();
        ASSERT_EQ(note->calls, 1);
        char two[2];
        error_code ec;
        out.append(two, r.c().read_some(boost::asio::buffer(two), ec));
    }
    EXPECT_EQ(out, "abcdef");
}

TEST(Tls, OneFrameOverManyRecordsThatComeOctetByOctetArrivesWhole)
{
    ready_rig r;
    std::string sent;
    r.to_client->piece = 1;
    for (std::size_t i = 0; i < 5; ++i) {  // a record each
        auto const part = pattern(1'000 + i);
        sent += part;
        ASSERT_FALSE(r.write(r.s(), part));
    }
    EXPECT_EQ(r.client_reader.all(64 * 1024), sent);
}

TEST(Tls, AHandshakeMayComeInPieces)
{
    for (std::size_t const piece : {1u, 7u, 100u}) {
        tls_rig r;
        r.to_client->piece = r.to_server->piece = piece;
        r.shake();
        EXPECT_TRUE(r.at_client.stream && r.at_server.stream) << piece << r.at_client.text;
    }
}

TEST(Tls, AWriterThatFindsNoRoomGoesOnWhenThereIsSomeBothWaysAtOnce)
{
    ready_rig r;
    r.to_server->room = 700;
    r.to_client->room = 900;
    auto const up = pattern(100'000);
    auto const down = pattern(70'001);
    std::string at_server;
    std::string at_client;
    EXPECT_FALSE(write_all(r, r.c(), up, [&] { at_server += r.server_reader.all(333); }));
    EXPECT_FALSE(write_all(r, r.s(), down, [&] { at_client += r.client_reader.all(5'000); }));
    at_server += r.server_reader.all();
    at_client += r.client_reader.all();
    EXPECT_TRUE(at_server == up);
    EXPECT_TRUE(at_client == down);
}

TEST(Tls, AnOrderlyEndIsAnEndAndReadingGoesOnAfterOurs)
{
    ready_rig r;
    ASSERT_FALSE(r.write(r.c(), "last"));
    r.c().shutdown_write();
    EXPECT_EQ(r.server_reader.all(), "last");
    EXPECT_EQ(r.server_reader.end, boost::asio::error::eof);
    ASSERT_FALSE(r.write(r.s(), "answer"));
    r.s().shutdown_write();
    EXPECT_EQ(r.client_reader.all(), "answer");
    EXPECT_EQ(r.client_reader.end, boost::asio::error::eof);
}

TEST(Tls, AnEndWaitsForRoomToSaySo)
{
    ready_rig r;
    r.to_server->room = 1;
    r.to_server->octets = "";
    ASSERT_FALSE(write_all(r, r.c(), "x", [&] { std::ignore = r.server_reader.all(); }));
    r.to_server->inject(r.io, "");
    r.c().shutdown_write();
    std::ignore = r.server_reader.all();
    EXPECT_EQ(r.server_reader.end, boost::asio::error::eof) << r.server_reader.end.message();
}

TEST(Tls, AnEndWithoutCloseNotifyIsToldAsTruncation)
{
    ready_rig r;
    ASSERT_FALSE(r.write(r.s(), "half of i"));
    r.to_client->end(r.io);
    EXPECT_EQ(r.client_reader.all(), "half of i");
    EXPECT_EQ(r.client_reader.end.category(), tls_category());
    EXPECT_NE(r.client_reader.end.message().find("close_notify"), std::string::npos)
        << r.client_reader.end.message();
    EXPECT_EQ(why_lost(r.client_reader.end), error::connection_lost);
}

// With TLS 1.3 it has not seen the client's certificate yet when the client is done.
TEST(Tls, AServerThatHangsUpBeforeItSaysAnythingMayWantACertificate)
{
    ready_rig r;
    r.to_client->end(r.io);
    EXPECT_EQ(r.client_reader.all(), "");
    EXPECT_NE(r.client_reader.end.message().find("may want a certificate"), std::string::npos)
        << r.client_reader.end.message();
    EXPECT_EQ(why_lost(r.client_reader.end), error::connection_lost);
}

TEST(Tls, AnEndInTheMiddleOfARecordIsTruncationToo)
{
    ready_rig r;
    r.to_client->octets.clear();
    ASSERT_FALSE(r.write(r.s(), pattern(100)));
    r.to_client->octets.resize(50);
    r.to_client->end(r.io);
    EXPECT_EQ(r.client_reader.all(), "");
    EXPECT_NE(r.client_reader.end.message().find("close_notify"), std::string::npos)
        << r.client_reader.end.message();
}

TEST(Tls, AChangedOctetEndsTheStream)
{
    ready_rig r;
    ASSERT_FALSE(r.write(r.s(), pattern(100)));
    r.to_client->octets.back() = static_cast<char>(r.to_client->octets.back() ^ 1);
    EXPECT_EQ(r.client_reader.all(), "");
    EXPECT_NE(r.client_reader.end.message().find("broke TLS"), std::string::npos)
        << r.client_reader.end.message();
    error_code ec;
    EXPECT_EQ(r.c().write_some(boost::asio::buffer("more", 4), ec), 0u);
    EXPECT_TRUE(ec);
}

TEST(Tls, ARecordOfMoreThanTheLargestSizeEndsTheStream)
{
    ready_rig r;
    std::string record("\x17\x03\x03\xff\xff", 5);
    r.to_client->inject(r.io, record + pattern(65'535));
    EXPECT_EQ(r.client_reader.all(), "");
    EXPECT_NE(r.client_reader.end.message().find("broke TLS"), std::string::npos)
        << r.client_reader.end.message();
}

TEST(Tls, CloseEndsWaitsAndSoDoesGoingAway)
{
    ready_rig r;
    auto const first = std::make_shared<readiness_note>();
    error_code ec;
    char some[8];
    r.c().read_some(boost::asio::buffer(some), ec);
    EXPECT_EQ(ec, boost::asio::error::would_block);
    r.c().async_wait(readiness::read, first);
    r.c().close();
    r.run();
    EXPECT_EQ(first->calls, 1);
    EXPECT_EQ(first->result, boost::asio::error::operation_aborted);

    auto const second = std::make_shared<readiness_note>();
    r.s().read_some(boost::asio::buffer(some), ec);
    r.s().async_wait(readiness::read, second);
    r.at_server.stream.reset();
    r.run();
    EXPECT_EQ(second->calls, 1);
}

// ---- beside OpenSSL as it is

TEST(Tls, SessionTicketsAfterTheHandshakeAreNoOctetsOfTheStream)
{
    tls_rig r;
    bare_tls server{TLS_server_method(), r, true};
    server.use(r.ca.issue());
    SSL_CTX_set_num_tickets(server.context(), 8);
    r.start_client();
    EXPECT_EQ(server.shake(), 1);
    ASSERT_TRUE(r.at_client.stream) << r.at_client.text;
    patient_reader reader{r, *r.at_client.stream};
    EXPECT_EQ(reader.all(), "") << "tickets only";
    EXPECT_FALSE(reader.end);
    EXPECT_GT(server.write("after them"), 0);
    EXPECT_EQ(reader.all(), "after them");
}

TEST(Tls, NewKeysInTheMiddleChangeNothing)
{
    tls_rig r;
    bare_tls server{TLS_server_method(), r, true};
    server.use(r.ca.issue());
    r.start_client();
    ASSERT_EQ(server.shake(), 1);
    patient_reader reader{r, *r.at_client.stream};
    EXPECT_GT(server.write("before, "), 0);
    SSL_key_update(server.ssl(), SSL_KEY_UPDATE_REQUESTED);
    EXPECT_GT(server.write("after"), 0);
    EXPECT_EQ(reader.all(), "before, after");
    error_code ec;
    EXPECT_EQ(r.at_client.stream->write_some(boost::asio::buffer("answer", 6), ec), 6u);
    EXPECT_EQ(server.read(), "answer");
}

TEST(Tls, RenegotiationIsRefused)
{
    tls_rig r;
    bare_tls client{TLS_client_method(), r, false};
    SSL_CTX_set_max_proto_version(client.context(), TLS1_2_VERSION);
    r.start_server();
    ASSERT_EQ(client.shake(), 1);
    r.run();
    ASSERT_TRUE(r.at_server.stream) << r.at_server.text;
    EXPECT_EQ(r.at_server.stream->security().protocol, "TLSv1.2");
    patient_reader reader{r, *r.at_server.stream};
    EXPECT_GT(client.write("one"), 0);
    EXPECT_EQ(reader.all(), "one");
    SSL_renegotiate(client.ssl());
    ERR_clear_error();
    SSL_do_handshake(client.ssl());
    client.move();
    EXPECT_EQ(reader.all(), "");
    client.move();
    EXPECT_LE(SSL_do_handshake(client.ssl()), 0);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_NO_RENEGOTIATION);
    ERR_clear_error();
}

TEST(Tls, OurServerSendsNothingAfterItsHandshakeByItself)
{
    tls_rig r;
    bare_tls client{TLS_client_method(), r, false};
    r.start_server();
    ASSERT_EQ(client.shake(), 1);
    r.run();
    ASSERT_TRUE(r.at_server.stream);
    EXPECT_EQ(r.to_client->octets, "");
}

}  // namespace
}  // namespace sluice::net
