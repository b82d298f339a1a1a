// The SASL exchange, both roles. [5.3]
#include "support/engine_peer.hpp"

#include <sluice/engine/connection.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

e::connection_options client() { return {.sasl = e::sasl_mode::required}; }
e::connection_options server(e::sasl_mode mode = e::sasl_mode::required)
{
    return {.listener = true, .sasl = mode};
}

void offer(engine_peer& peer, std::vector<symbol> const& names)
{
    peer.send_sasl(sasl_mechanisms{.sasl_server_mechanisms = {std::span<symbol const>{names}}});
}

/// A client that has been offered PLAIN and ANONYMOUS.
void begin_exchange(engine_peer& peer)
{
    std::ignore = peer.engine.open();
    EXPECT_EQ(peer.wire(), "SASL") << "open waits for the outcome";
    peer.send_header(protocol_id::sasl);
    offer(peer, {"PLAIN", "ANONYMOUS"});
    EXPECT_EQ(peer.events(), "sasl_mechanisms()");
}

TEST(SaslInitiator, ChoosesAMechanismAndOpensAfterTheOutcome)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    EXPECT_EQ(peer.engine.sasl_mechanisms(), (std::vector<std::string>{"PLAIN", "ANONYMOUS"}));
    auto const response = octets_of("secret");
    EXPECT_FALSE(peer.engine.sasl_init("PLAIN", bytes_view{response}, "host"));
    EXPECT_EQ(peer.wire(), "init(PLAIN 'secret')");
    peer.send_sasl(sluice::sasl_outcome{.code = sasl_code::ok});
    EXPECT_EQ(peer.events(), "sasl_outcome()");
    EXPECT_EQ(peer.wire(), "AMQP open(sluice)");
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.events(), "connection_opened()");
}

TEST(SaslInitiator, AnswersChallenges)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    std::ignore = peer.engine.sasl_init("PLAIN", std::nullopt);
    EXPECT_EQ(peer.wire(), "init(PLAIN)");
    peer.send_sasl(sasl_challenge{.challenge = octets_of("one?")});
    EXPECT_EQ(peer.events(), "sasl_challenge()");
    EXPECT_TRUE(same_bytes(peer.engine.sasl_bytes(), octets_of("one?")));
    EXPECT_FALSE(peer.engine.sasl_response(octets_of("one!")));
    EXPECT_EQ(peer.wire(), "response('one!')");
    peer.send_sasl(sasl_challenge{.challenge = octets_of("two?")});
    EXPECT_FALSE(peer.engine.sasl_response(octets_of("two!")));
    EXPECT_EQ(peer.wire(), "response('two!')");
    peer.send_sasl(sluice::sasl_outcome{});
    EXPECT_EQ(peer.wire(), "AMQP open(sluice)");
}

TEST(SaslInitiator, UnderstandsASingleMechanismThatIsSentAsABareSymbol)
{
    engine_peer peer{client()};
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header(protocol_id::sasl);
    peer.send_hex("00000015 02010000 005340 c00801 a305504c41494e");
    EXPECT_EQ(peer.events(), "sasl_mechanisms()");
    EXPECT_EQ(peer.engine.sasl_mechanisms(), std::vector<std::string>{"PLAIN"});
}

TEST(SaslInitiator, ReportsThatItsCredentialsWereRefusedAndSaysNothingMore)
{
    struct row {
        sasl_code code;
        char const* events;
    };
    for (auto const& [code, events] : std::initializer_list<row>{
             {sasl_code::auth,
              "sasl_outcome(auth_failed) connection_closed(auth_failed amqp:unauthorized-access)"},
             {sasl_code::sys, "sasl_outcome(sasl_system) connection_closed(sasl_system "
                              "amqp:unauthorized-access)"},
             {sasl_code::sys_perm, "sasl_outcome(sasl_system) connection_closed(sasl_system "
                                   "amqp:unauthorized-access)"},
             {sasl_code::sys_temp, "sasl_outcome(sasl_temporary) connection_closed(sasl_temporary "
                                   "amqp:unauthorized-access)"}}) {
        engine_peer peer{client()};
        begin_exchange(peer);
        std::ignore = peer.engine.sasl_init("PLAIN", std::nullopt);
        std::ignore = peer.wire();
        peer.send_sasl(sluice::sasl_outcome{.code = code});
        EXPECT_EQ(peer.events(), events);
        EXPECT_EQ(peer.wire(), "");
        EXPECT_TRUE(peer.engine.output_done());
        EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
    }
}

TEST(SaslInitiator, TakesAnOutcomeWithoutAChoiceAsTheEnd)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    peer.send_sasl(sluice::sasl_outcome{.code = sasl_code::sys});
    EXPECT_EQ(peer.events(),
              "sasl_outcome(sasl_system) connection_closed(sasl_system amqp:unauthorized-access)");
}

TEST(SaslInitiator, RefusesFramesOutOfTurn)
{
    using script = std::function<void(engine_peer&)>;
    auto const init = [](engine_peer& p) {
        std::ignore = p.engine.sasl_init("PLAIN", std::nullopt);
        std::ignore = p.wire();
    };
    for (auto const& play : std::initializer_list<script>{
             [](engine_peer& p) { p.send_sasl(sasl_challenge{}); },
             [](engine_peer& p) { p.send_sasl(sluice::sasl_outcome{.code = sasl_code::ok}); },
             [](engine_peer& p) { p.send_sasl(sasl_init{.mechanism = "PLAIN"}); },
             [](engine_peer& p) { offer(p, {"PLAIN"}); },
             [&](engine_peer& p) { init(p), offer(p, {"PLAIN"}); },
             [&](engine_peer& p) { init(p), p.send_sasl(sasl_response{}); }}) {
        engine_peer peer{client()};
        begin_exchange(peer);
        play(peer);
        EXPECT_EQ(peer.events(), "connection_closed(out_of_state amqp:illegal-state)");
        EXPECT_TRUE(peer.engine.output_done());
    }
}

TEST(SaslInitiator, RefusesAnAmqpFrameInTheExchange)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    peer.send(open{.container_id = "peer"});
    EXPECT_NE(peer.events().find("connection_closed("), std::string::npos);
}

TEST(SaslInitiator, EndsOnASaslFrameThatItCannotDecode)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    std::ignore = peer.engine.sasl_init("PLAIN", std::nullopt);
    peer.send_hex("0000000c 02010000 00534445");  // an outcome without its code
    EXPECT_EQ(peer.engine.state(), e::connection_state::ended);
    EXPECT_EQ(peer.engine.error().condition, condition::decode_error);
    EXPECT_EQ(peer.engine.error().description.find("sasl-outcome.code"), 0u)
        << peer.engine.error().description;
}

TEST(SaslInitiator, SaysThatThePeerHasNoSaslLayer)
{
    engine_peer peer{client()};
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header(protocol_id::amqp);
    EXPECT_EQ(peer.events(), "connection_closed(header amqp:connection:framing-error)");
    EXPECT_NE(peer.engine.error().description.find("no SASL layer"), std::string::npos);
}

TEST(SaslInitiator, SaysThatThePeerDemandsASaslLayer)
{
    engine_peer peer;
    std::error_code code;
    peer.on_event = [&](e::event const& v) { code = v.code; };
    std::ignore = peer.engine.open();
    peer.forget_so_far();
    peer.send_header(protocol_id::sasl);
    peer.forget_so_far();
    EXPECT_EQ(code, error::sasl_required);
}

TEST(SaslInitiator, WantsAnAmqpHeaderAfterTheOutcomeAndNoSecondExchange)
{
    engine_peer peer{client()};
    begin_exchange(peer);
    std::ignore = peer.engine.sasl_init("ANONYMOUS", std::nullopt);
    peer.send_sasl(sluice::sasl_outcome{});
    peer.forget_so_far();
    peer.send_header(protocol_id::sasl);
    EXPECT_EQ(peer.events(), "connection_closed(header amqp:connection:framing-error)");
}

TEST(SaslInitiator, RefusesCommandsOutOfTurn)
{
    engine_peer peer{client()};
    EXPECT_EQ(peer.engine.sasl_init("PLAIN", std::nullopt), error::invalid_state);
    begin_exchange(peer);
    EXPECT_EQ(peer.engine.sasl_response({}), error::invalid_state);
    EXPECT_EQ(peer.engine.sasl_challenge({}), error::invalid_state);
    EXPECT_EQ(peer.engine.sasl_outcome(sasl_code::ok), error::invalid_state);
    EXPECT_EQ(peer.wire(), "");
}

TEST(SaslListener, OffersItsMechanismsAndAcceptsAClient)
{
    engine_peer peer{server()};
    peer.engine.sasl_offer({"SCRAM-SHA-256", "PLAIN"});
    EXPECT_EQ(peer.wire(), "");
    peer.send_header(protocol_id::sasl);
    EXPECT_EQ(peer.wire(), "SASL mechanisms(SCRAM-SHA-256 PLAIN)");
    auto const response = octets_of("secret");
    peer.send_sasl(sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{response}});
    EXPECT_EQ(peer.events(), "sasl_init()");
    EXPECT_EQ(peer.engine.sasl_mechanism(), "PLAIN");
    EXPECT_TRUE(same_bytes(peer.engine.sasl_bytes(), response));
    EXPECT_FALSE(peer.engine.sasl_challenge(octets_of("more?")));
    EXPECT_EQ(peer.wire(), "challenge('more?')");
    peer.send_sasl(sasl_response{.response = octets_of("more!")});
    EXPECT_EQ(peer.events(), "sasl_response()");
    EXPECT_TRUE(same_bytes(peer.engine.sasl_bytes(), octets_of("more!")));
    EXPECT_FALSE(peer.engine.sasl_outcome(sasl_code::ok));
    EXPECT_EQ(peer.wire(), "outcome(0)");
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.events(), "connection_requested()");
    EXPECT_EQ(peer.wire(), "AMQP");
}

TEST(SaslListener, TakesAClientThatPipelinesUpToItsOpen)
{
    engine_peer peer{server()};
    peer.send_header(protocol_id::sasl);
    peer.send_sasl(sasl_init{.mechanism = "ANONYMOUS"});
    peer.forget_so_far();
    std::ignore = peer.engine.sasl_outcome(sasl_code::ok);
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.wire(), "outcome(0) AMQP");
    EXPECT_EQ(peer.events(), "connection_requested()");
}

TEST(SaslListener, SendsTheOutcomeThatRefusesAndThenEnds)
{
    engine_peer peer{server()};
    peer.send_header(protocol_id::sasl);
    peer.send_sasl(sasl_init{.mechanism = "PLAIN"});
    peer.forget_so_far();
    EXPECT_FALSE(peer.engine.sasl_outcome(sasl_code::auth));
    EXPECT_FALSE(peer.engine.output_done());
    EXPECT_EQ(peer.wire(), "outcome(1)");
    EXPECT_TRUE(peer.engine.output_done());
    EXPECT_EQ(peer.events(), "connection_closed(auth_failed amqp:unauthorized-access)");
    peer.send_header();
    peer.send(open{.container_id = "peer"});
    EXPECT_EQ(peer.wire() + peer.events(), "");
}

TEST(SaslListener, RefusesFramesOutOfTurn)
{
    engine_peer peer{server()};
    peer.send_header(protocol_id::sasl);
    peer.send_sasl(sasl_response{});
    EXPECT_EQ(peer.events(), "connection_closed(out_of_state amqp:illegal-state)");
}

TEST(SaslListener, RefusesAClientWithoutASaslLayerIfItNeedsOne)
{
    engine_peer peer{server()};
    peer.send_header();
    EXPECT_EQ(peer.wire(), "SASL") << "the header that it wants instead [2.2]";
    EXPECT_EQ(peer.events(), "connection_closed(header amqp:connection:framing-error)");
}

TEST(SaslListener, TakesAClientWithAndWithoutASaslLayerIfItMayHaveOne)
{
    engine_peer with{server(e::sasl_mode::accepted)};
    with.send_header(protocol_id::sasl);
    EXPECT_EQ(with.wire(), "SASL mechanisms(ANONYMOUS)");
    engine_peer without{server(e::sasl_mode::accepted)};
    without.send_header();
    EXPECT_EQ(without.wire(), "AMQP");
    EXPECT_EQ(without.events(), "");
}

TEST(SaslListener, RefusesASaslHeaderIfItHasNoSaslLayer)
{
    engine_peer peer{server(e::sasl_mode::none)};
    peer.send_header(protocol_id::sasl);
    EXPECT_EQ(peer.wire(), "AMQP");
    EXPECT_TRUE(peer.engine.output_done());
}

}  // namespace
}  // namespace sluice::test
