// The SASL layer of the node, and connections without one on the same port. [5.3]
#include "support/node_rig.hpp"

namespace sluice::test {
namespace {

struct sasl_init init_of(std::string_view mechanism, std::optional<bytes_view> response = {})
{
    return {.mechanism = mechanism, .initial_response = response, .hostname = "localhost"};
}

bytes plain(std::string const& user, std::string const& password)
{
    return octets_of(std::string(1, '\0') + user + std::string(1, '\0') + password);
}

node::node_options with_passwords()
{
    node::node_options o;
    o.check_password = [](std::string_view user, std::string_view password) {
        if (user == "broken")
            throw std::runtime_error{"the directory does not answer"};
        return user == "ada" && password == "lovelace";
    };
    return o;
}

/// What a client hears that sends the SASL header and these octets.
std::string answer_to(node_rig& n, bytes_view octets)
{
    raw_client c{n.port};
    c.send_header(protocol_id::sasl);
    auto text = c.next();
    text += " " + c.next();
    c.send_octets(octets);
    text += " " + c.next();
    if (!text.ends_with("EOF"))
        text += " " + c.next();
    return text;
}
std::string answer_to(node_rig& n, struct sasl_init const& i)
{
    return answer_to(n, raw_frame(i, {}, 0, frame_type::sasl));
}

/// Whole login, open and session.
void expect_lets_in(node_rig& n, struct sasl_init const& i)
{
    raw_client c{n.port};
    c.send_header(protocol_id::sasl);
    c.send_sasl(i);
    EXPECT_TRUE(c.until("outcome").ends_with("outcome(0)"));
    c.send_header();
    c.send(raw_client::usual_open());
    EXPECT_EQ(c.until("open"), "AMQP open(sluice-node)");
    c.start_sessions();
    c.bye();
}

// [5.3.3.1] What there is to choose from.
TEST(NodeSasl, OffersPlainAndAnonymousWhereNobodyChecksPasswords)
{
    node_rig n;
    EXPECT_EQ(answer_to(n, octets_of_hex("00000008 02 01 0000")),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    expect_lets_in(n, init_of("ANONYMOUS"));
    auto const anyone = plain("anyone", "anything");
    expect_lets_in(n, init_of("PLAIN", bytes_view{anyone}));
    n.expect_serves_others();  // without a SASL layer
}

// [5.3.3.2] Header and init may come before the node has said anything, and in pieces.
TEST(NodeSasl, MayBePipelinedWithAllThatFollows)
{
    node_rig n;
    raw_client c{n.port};
    bytes all;
    auto const add = [&](bytes_view more) { all.insert(all.end(), more.begin(), more.end()); };
    add(protocol_header(protocol_id::sasl));
    add(raw_frame(init_of("ANONYMOUS"), {}, 0, frame_type::sasl));
    add(protocol_header(protocol_id::amqp));
    add(raw_frame(raw_client::usual_open()));
    add(raw_frame(raw_client::usual_begin()));
    for (auto const octet : all) {
        c.send_octets({&octet, 1});
        c.flush();
    }
    EXPECT_EQ(c.until("begin"),
              "SASL mechanisms(PLAIN ANONYMOUS) outcome(0) AMQP open(sluice-node) "
              "begin(rc=0 noi=0 iw=1024)");
}

// [5.3.3.6] code 1: auth
TEST(NodeSasl, RefusesAMechanismThatWasNotOffered)
{
    node_rig n;
    EXPECT_EQ(answer_to(n, init_of("SCRAM-SHA-256")),
              "SASL mechanisms(PLAIN ANONYMOUS) outcome(1) EOF");
    n.expect_serves_others();
}

TEST(NodeSasl, LetsInWhoKnowsThePassword)
{
    node_rig n{with_passwords()};
    auto const good = plain("ada", "lovelace");
    expect_lets_in(n, init_of("PLAIN", bytes_view{good}));
}

// [5.3.3.6]
TEST(NodeSasl, RefusesAWrongPasswordAndGoesOn)
{
    node_rig n{with_passwords()};
    auto const bad = plain("ada", "byron");
    EXPECT_EQ(answer_to(n, init_of("PLAIN", bytes_view{bad})),
              "SASL mechanisms(PLAIN) outcome(1) EOF");
    auto const good = plain("ada", "lovelace");
    expect_lets_in(n, init_of("PLAIN", bytes_view{good}));
}

TEST(NodeSasl, RefusesEveryoneWhoseCheckThrows)
{
    node_rig n{with_passwords()};
    auto const bad = plain("broken", "lovelace");
    EXPECT_EQ(answer_to(n, init_of("PLAIN", bytes_view{bad})),
              "SASL mechanisms(PLAIN) outcome(1) EOF");
    auto const good = plain("ada", "lovelace");
    expect_lets_in(n, init_of("PLAIN", bytes_view{good}));
}

// [RFC 4616] authzid NUL authcid NUL passwd
TEST(NodeSasl, RefusesPlainThatIsMalformed)
{
    node_rig n{with_passwords()};
    for (auto const& response :
         {octets_of("ada"), octets_of("ada lovelace"), bytes{},
          octets_of(std::string{"\0ada\0lovelace\0", 14}),
          octets_of(std::string{"\0\0lovelace", 10}), octets_of(std::string{"\0ada\0", 5}),
          octets_of(std::string{"\0\xff\xfe\0lovelace", 12})})
        EXPECT_EQ(answer_to(n, init_of("PLAIN", bytes_view{response})),
                  "SASL mechanisms(PLAIN) outcome(1) EOF");
    EXPECT_EQ(answer_to(n, init_of("PLAIN")), "SASL mechanisms(PLAIN) outcome(1) EOF");
}

TEST(NodeSasl, RefusesAnonymousWherePasswordsAreChecked)
{
    node_rig n{with_passwords()};
    EXPECT_EQ(answer_to(n, init_of("ANONYMOUS")), "SASL mechanisms(PLAIN) outcome(1) EOF");
}

// [5.3.1] "...MUST send the SASL protocol header and close"
TEST(NodeSasl, IsRequiredWherePasswordsAreChecked)
{
    node_rig n{with_passwords()};
    raw_client c{n.port};
    c.send_header();
    EXPECT_EQ(c.next(), "SASL");
    EXPECT_EQ(c.next(), "EOF");
}

// [5.3.2] Out of turn, or no such frame: there is no error frame in this layer, the stream ends.
TEST(NodeSasl, EndsTheStreamForAFrameOutOfTurn)
{
    node_rig n;
    auto const response = sasl_response{.response = {}};
    EXPECT_EQ(answer_to(n, raw_frame(response, {}, 0, frame_type::sasl)),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    EXPECT_EQ(answer_to(n, raw_hex_frame("00 53 44 c0 03 01 50 00", 0, frame_type::sasl)),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    EXPECT_EQ(answer_to(n, raw_hex_frame("00 53 41 45", 0, frame_type::sasl)),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    n.expect_serves_others();
}

// [RFC 4616] "authcid = 1*SAFE", "passwd = 1*SAFE": nobody is asked about a name or password that
// is none, as a check that asks a directory could take it for an anonymous login.
TEST(NodeSasl, DoesNotAskAboutAnEmptyPassword)
{
    node::node_options o;
    o.check_password = [](std::string_view, std::string_view) { return true; };
    node_rig n{o};
    auto const nobody = plain("ada", "");
    EXPECT_EQ(answer_to(n, init_of("PLAIN", bytes_view{nobody})),
              "SASL mechanisms(PLAIN) outcome(1) EOF");
}

// [5.3.1] "exactly one AMQP type"
TEST(NodeSasl, EndsTheStreamForOctetsAfterAFrame)
{
    node_rig n;
    auto const more = octets_of("more");
    EXPECT_EQ(answer_to(n, raw_frame(init_of("ANONYMOUS"), more, 0, frame_type::sasl)),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    n.expect_serves_others();
}

// [5.3.1] AMQP frames have no place before the outcome.
TEST(NodeSasl, EndsTheStreamForAnAmqpFrame)
{
    node_rig n;
    EXPECT_EQ(answer_to(n, raw_frame(raw_client::usual_open())),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    n.expect_serves_others();
}

// [5.3.1] "The maximum size of a SASL frame is defined by MIN-MAX-FRAME-SIZE"
TEST(NodeSasl, EndsTheStreamForAFrameOverTheSmallestMaxFrameSize)
{
    node_rig n;
    auto const long_response = bytes(600, std::byte{'x'});
    EXPECT_EQ(answer_to(n, init_of("PLAIN", bytes_view{long_response})),
              "SASL mechanisms(PLAIN ANONYMOUS) EOF");
    n.expect_serves_others();
}

// [5.3.2] After the outcome comes the AMQP header and nothing else.
TEST(NodeSasl, IsFollowedByTheAmqpHeaderOnly)
{
    node_rig n;
    raw_client c{n.port};
    c.send_header(protocol_id::sasl);
    c.send_sasl(init_of("ANONYMOUS"));
    EXPECT_TRUE(c.until("outcome").ends_with("outcome(0)"));
    c.send_header(protocol_id::sasl);
    EXPECT_EQ(c.next(), "AMQP");
    EXPECT_EQ(c.next(), "EOF");
    n.expect_serves_others();
}

}  // namespace
}  // namespace sluice::test
