// The SASL exchange: who may send which frame, and when.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

class SaslAudit : public ::testing::Test {
protected:
    void sasl(direction d, auto const& body, std::size_t extra = 0)
    {
        t.send(d, frame_of(0, body, extra, frame_type::sasl));
    }
    void headers(protocol_id id)
    {
        t.send(client, header_bytes(id));
        t.send(server, header_bytes(id));
    }
    void offer()
    {
        static constexpr std::array<symbol, 2> names{"PLAIN", "SCRAM-SHA-256"};
        sasl(server, sasl_mechanisms{.sasl_server_mechanisms = {std::span{names}}});
    }
    void outcome(sasl_code code) { sasl(server, sasl_outcome{.code = code}); }

    tape t;
};

TEST_F(SaslAudit, FindsNothingInAGoodExchange)
{
    headers(protocol_id::sasl);
    offer();
    sasl(client, sasl_init{.mechanism = "SCRAM-SHA-256"});
    for (int i = 0; i != 2; ++i) {
        sasl(server, sasl_challenge{});
        sasl(client, sasl_response{});
    }
    outcome(sasl_code::ok);
    t.open_both();
    t.send(client, 0, close{});
    t.send(server, 0, close{});
    t.finish();
    EXPECT_EQ(t.findings(), "");
    for (std::size_t size = 1; size != 20; ++size) EXPECT_EQ(t.replayed(size), "") << size;
}

TEST_F(SaslAudit, ReportsAMechanismThatWasNotOffered)
{
    headers(protocol_id::sasl);
    offer();
    sasl(client, sasl_init{.mechanism = "ANONYMOUS"});
    EXPECT_EQ(t.findings(), "client sasl-mechanism: expected one of the mechanisms offered, "
                            "actual 'ANONYMOUS'");
}

TEST_F(SaslAudit, ReportsFramesFromTheWrongSide)
{
    headers(protocol_id::sasl);
    sasl(client, sasl_outcome{});
    sasl(server, sasl_init{.mechanism = "PLAIN"});
    EXPECT_EQ(
        t.findings(),
        "client sasl-order: expected sasl-outcome from the server only, actual from the client\n"
        "server sasl-order: expected sasl-init from the client only, actual from the server");
}

TEST_F(SaslAudit, ReportsFramesOutOfOrder)
{
    headers(protocol_id::sasl);
    offer();
    sasl(client, sasl_response{});
    EXPECT_EQ(t.findings(), "client sasl-order: expected a sasl-challenge for each sasl-response, "
                            "actual 0 challenges, 1 responses");
    outcome(sasl_code::ok);
    EXPECT_EQ(t.findings(), "server sasl-order: expected sasl-init first, actual sasl-outcome");
    sasl(server, sasl_challenge{});
    EXPECT_EQ(t.findings(),
              "server sasl-order: expected nothing after sasl-outcome, actual sasl-challenge");
}

TEST_F(SaslAudit, SuspectsAClientThatDoesNotWait)
{
    headers(protocol_id::sasl);
    sasl(client, sasl_init{.mechanism = "PLAIN"});
    t.send(client, header_bytes(protocol_id::amqp));
    EXPECT_EQ(t.findings(),
              "client sasl-order-early: expected sasl-mechanisms first, actual sasl-init\n"
              "client sasl-order-early: expected sasl-outcome first, actual the AMQP header");
    EXPECT_EQ(t.totals().violations, 0u);
}

TEST_F(SaslAudit, ReportsAServerThatGoesOnAfterItRefused)
{
    headers(protocol_id::sasl);
    offer();
    sasl(client, sasl_init{.mechanism = "PLAIN"});
    outcome(sasl_code::auth);
    t.send(server, header_bytes(protocol_id::amqp));
    EXPECT_EQ(t.findings(), "server sasl-outcome: expected the connection closed after an outcome "
                            "other than ok, actual the AMQP header");
}

TEST_F(SaslAudit, ReportsASecondSaslHeader)
{
    headers(protocol_id::sasl);
    t.send(client, header_bytes(protocol_id::sasl));
    EXPECT_EQ(t.findings(),
              "client sasl-order: expected the AMQP header after SASL, actual 414d515003010000");
}

TEST_F(SaslAudit, ReportsAFrameThatIsTooLong)
{
    headers(protocol_id::sasl);
    offer();
    bytes const secret(500);
    sasl(client, sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{secret}});
    EXPECT_EQ(t.findings().rfind("client sasl-frame-size: expected at most 512, actual 5", 0), 0u);
}

TEST_F(SaslAudit, ReportsAmqpFramesInTheExchange)
{
    headers(protocol_id::sasl);
    t.send(client, 0, open{.container_id = "c"});
    EXPECT_EQ(t.findings(), "client frame-type: expected 1 (SASL), actual 0");
}

// A finding is pasted into bug reports: whatever is wrong with a SASL frame, and wherever it is cut
// off or damaged, what stands in it stays out of the text.
TEST_F(SaslAudit, KeepsCredentialsOutOfItsFindings)
{
    static constexpr std::string_view secret = "TOPSECRET";
    bytes credentials(40);
    for (std::size_t i = 0; i != credentials.size(); ++i)
        credentials[i] = static_cast<std::byte>(secret[i % secret.size()]);
    std::string hex;
    for (char const c : secret) {
        hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
        hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
    }
    auto const response = frame_of(0, sasl_response{.response = credentials}, 0, frame_type::sasl);
    auto const init =
        frame_of(0, sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{credentials}}, 0,
                 frame_type::sasl);
    std::size_t findings = 0;
    for (auto const& frame : {response, init})
        for (std::size_t at = 4; at != frame.size(); ++at)
            for (unsigned const flip : {1u, 0x80u, 0xffu}) {
                tape t;
                auto damaged = frame;
                damaged[at] ^= static_cast<std::byte>(flip);
                t.send(client, header_bytes(protocol_id::sasl));
                t.send(server, header_bytes(protocol_id::sasl));
                t.send(client, damaged);
                t.send(client, header_bytes(protocol_id::amqp));
                t.finish();
                t.findings();
                findings += t.found().size();
                for (auto const& f : t.found())
                    for (auto const& text : {f.text(), f.json()}) {
                        // Any three octets of it in a row.
                        for (std::size_t i = 0; i + 3 <= secret.size(); ++i) {
                            ASSERT_EQ(text.find(secret.substr(i, 3)), std::string::npos) << text;
                            ASSERT_EQ(text.find(hex.substr(2 * i, 6)), std::string::npos) << text;
                        }
                    }
            }
    EXPECT_GT(findings, 100u);
}

}  // namespace
}  // namespace sluice::audit::testing
