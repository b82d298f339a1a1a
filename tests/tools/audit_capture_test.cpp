// Captures: which connections are AMQP, and the same findings as when they were live.
#include "support/audit_conversation.hpp"
#include "support/capture_file.hpp"
#include "support/recorded_lines.hpp"
#include "tools/audit_capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace sluice::tools {
namespace {

using audit::testing::conversation;
using test::capture_file;
using test::tcp_talk;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto client = audit::direction::from_client;
constexpr auto server = audit::direction::from_server;

struct outcome {
    std::string findings;  ///< lines before the summary
    std::string summary;
    audit_status status;
};

outcome audited(capture_file const& file, audit_capture_options const& o = {})
{
    test::recorded_lines out;
    audit_report report{out, {}};
    auto const about = audit_capture(file.name(), o, report);
    auto const findings = out.results();
    report.summary(about);
    return {findings, out.results().substr(findings.size()), report.status()};
}

void play(tcp_talk& t, std::vector<audit::testing::piece> const& pieces)
{
    for (auto const& p : pieces) t.say(p.way, p.octets);
}
void whole(capture_file& into, test::end_point from, test::end_point to, std::uint32_t says)
{
    tcp_talk t{into, from, to};
    t.handshake();
    play(t, conversation(says));
    t.finish();
}

TEST(AuditCapture, FindsNothingInAGoodConnection)
{
    capture_file file;
    whole(file, {1, 40000}, {2, 5672}, 1);
    auto const o = audited(file);
    EXPECT_EQ(o.findings, "");
    EXPECT_THAT(o.summary, HasSubstr("clean: 0 violations, 0 suspicious; 1 connection, 15 frames"));
    EXPECT_THAT(o.summary, HasSubstr("23 packets from 2027-01-15T08:00:00Z on"));
    EXPECT_THAT(o.summary, ::testing::ContainsRegex("#1 +10.0.0.1:40000 +10.0.0.2:5672 .*closed"));
    EXPECT_EQ(o.status, audit_status::clean);
}

TEST(AuditCapture, NamesTheStaleFlowAndItsPacketOnAnyPortAndLink)
{
    for (auto const l : {test::link::ethernet, test::link::sll, test::link::sll2, test::link::null,
                         test::link::loop, test::link::raw, test::link::ipv4}) {
        capture_file file{l};
        whole(file, {1, 40000}, {2, 31999}, 0);
        auto const o = audited(file);
        EXPECT_EQ(o.findings, "#1 0.000150 " + std::string{audit::testing::stale_flow_finding}
                                  + " (packet 16)\n");
        EXPECT_EQ(o.status, audit_status::findings);
    }
}

TEST(AuditCapture, KeepsConnectionsApart)
{
    capture_file file;
    tcp_talk a{file, {1, 40000}};
    tcp_talk b{file, {3, 40000}};  // another host, the same port
    a.handshake();
    b.handshake();
    auto const good = conversation(1);
    auto const bad = conversation(0);
    for (std::size_t i = 0; i != good.size(); ++i) {
        a.say(good[i].way, good[i].octets);
        b.say(bad[i].way, bad[i].octets);
    }
    a.finish();
    b.finish();
    auto const o = audited(file);
    EXPECT_THAT(o.findings, ::testing::StartsWith("#2 "));
    EXPECT_THAT(o.summary, HasSubstr("FINDINGS: 1 violation, 0 suspicious; 2 connections"));
}

TEST(AuditCapture, KnowsPortsThatAreUsedAgain)
{
    capture_file file;
    for (std::uint32_t i = 0; i != 3; ++i) {
        tcp_talk t{file, {1, 40000}, {2, 5672}, 1000 * i};
        t.handshake();
        play(t, conversation(i == 2 ? 0 : 1));
        if (i == 0)
            t.finish();  // the second one ends without a trace
    }
    auto const o = audited(file);
    EXPECT_THAT(o.findings, ::testing::StartsWith("#3 "));
    EXPECT_THAT(o.summary, HasSubstr("another connection took its ports"));
    EXPECT_THAT(o.summary, HasSubstr("; 3 connections, 45 frames"));
}

TEST(AuditCapture, TakesAnotherHandshakePacketOfTheSameConnectionForThat)
{
    capture_file file;
    tcp_talk t{file};
    t.handshake();
    file.add({.from = {1, 40000}, .to = {2, 5672}, .sequence = 0xffff'ff00, .flags = "S"});
    play(t, conversation(0));
    t.finish();
    EXPECT_THAT(audited(file).summary, HasSubstr("1 violation, 0 suspicious; 1 connection"));
}

TEST(AuditCapture, ChecksEachOctetOnceInItsPlaceWhateverComesLateOrTwice)
{
    capture_file file;
    tcp_talk t{file};
    t.handshake();
    auto const pieces = conversation(0);
    std::optional<test::tcp_packet> late;
    for (std::size_t i = 0; i != pieces.size(); ++i) {
        auto const p = t.sent(pieces[i].way, pieces[i].octets);
        if (i == 9) {  // the first transfer
            late = p;
            continue;
        }
        file.add(p);
        if (i == 10)
            file.add(p);
        if (i == 11)
            file.add(*late);
    }
    t.finish();
    auto const o = audited(file);
    EXPECT_THAT(o.findings, HasSubstr(audit::testing::stale_flow_finding));
    EXPECT_THAT(o.summary,
                HasSubstr("client->server: 1 TCP segments retransmitted, 1 out of order"));
    EXPECT_THAT(o.summary, Not(HasSubstr("missing")));
}

TEST(AuditCapture, KnowsAConnectionWhoseFirstOctetsComeLate)
{
    for (auto const port : {std::uint16_t{5672}, std::uint16_t{31999}}) {
        capture_file file;
        tcp_talk t{file, {1, 40000}, {2, port}};
        t.handshake();
        auto const pieces = conversation(0);
        auto const& header = pieces[0].octets;
        auto const first = t.sent(client, bytes(header.begin(), header.begin() + 2));
        t.say(client, bytes(header.begin() + 2, header.begin() + 5));
        file.now_us += 1'000'000;
        t.say(client, bytes(header.begin() + 5, header.end()));
        file.now_us += 1'000'000;
        file.add(first);  // it was lost on its way, and is sent again
        play(t, {pieces.begin() + 1, pieces.end()});
        t.finish();
        auto const o = audited(file);
        EXPECT_THAT(o.findings, HasSubstr(audit::testing::stale_flow_finding));
        EXPECT_THAT(o.summary, HasSubstr("client->server: 0 TCP segments retransmitted, 1 out of"));
        EXPECT_THAT(o.summary, Not(HasSubstr("missing")));
        EXPECT_EQ(o.status, audit_status::findings);
    }
}

TEST(AuditCapture, TakesTheWordOfThePortWhereBothBeginningsAreLost)
{
    for (auto const port : {std::uint16_t{5672}, std::uint16_t{31999}}) {
        capture_file file;
        tcp_talk t{file, {1, 40000}, {2, port}};
        t.handshake();
        auto pieces = conversation(1);
        for (auto const way : {client, server}) {
            auto const first = std::ranges::find(pieces, way, &audit::testing::piece::way);
            std::ignore = t.sent(way, first->octets);
            pieces.erase(first);
        }
        play(t, pieces);
        t.finish();
        auto const o = audited(file);
        EXPECT_EQ(o.findings, "");
        EXPECT_EQ(o.status, port == 5672 ? audit_status::clean : audit_status::could_not_run);
    }
}

TEST(AuditCapture, ReportsNothingThatALossInTheCaptureMayHaveCaused)
{
    // Whichever packet is missing: a flow that is right is never called wrong.
    auto const pieces = conversation(1);
    for (std::size_t missing = 0; missing != pieces.size() - 2; ++missing) {
        capture_file file;
        tcp_talk t{file};
        t.handshake();
        for (std::size_t i = 0; i != pieces.size(); ++i) {
            auto const p = t.sent(pieces[i].way, pieces[i].octets);
            if (i != missing)
                file.add(p);
        }
        t.finish();
        auto const o = audited(file);
        EXPECT_EQ(o.findings, "") << missing;
        EXPECT_THAT(o.summary, HasSubstr(std::to_string(pieces[missing].octets.size())
                                         + " octets are missing from the capture"))
            << missing;
    }
}

TEST(AuditCapture, SaysThatAConnectionBeginsBeforeTheCaptureAndChecksWhatItCan)
{
    capture_file file;
    tcp_talk t{file};
    auto pieces = conversation(1);
    pieces.erase(pieces.begin(), pieces.begin() + 9);  // transfers and a flow are left
    auto const flow = pieces[3];
    auto const stale = conversation(0)[12];
    pieces.insert(pieces.begin() + 4, {flow, stale});
    play(t, pieces);
    t.finish();
    auto const o = audited(file);
    EXPECT_THAT(o.findings, HasSubstr("next-outgoing-id"));
    EXPECT_THAT(o.findings, HasSubstr("expected 1"));
    EXPECT_THAT(o.findings, Not(HasSubstr("\n#1 ")));  // and nothing else
    EXPECT_THAT(o.summary, HasSubstr("#1 begins before the capture"));
    EXPECT_THAT(o.summary, ::testing::ContainsRegex("10.0.0.1:40000 +10.0.0.2:5672"));
}

TEST(AuditCapture, TakesAConnectionFromTheMiddleOnAnotherPortOnlyWhenAsked)
{
    capture_file file;
    tcp_talk t{file, {1, 40000}, {2, 31999}};
    auto pieces = conversation(1);
    pieces.erase(pieces.begin(), pieces.begin() + 9);
    play(t, pieces);
    t.finish();
    auto const unasked = audited(file);
    EXPECT_EQ(unasked.status, audit_status::could_not_run);
    EXPECT_THAT(unasked.summary, HasSubstr("1 other TCP connections were not looked at (--port"));
    auto const asked = audited(file, {.ports = {1, 31999}});
    EXPECT_EQ(asked.status, audit_status::clean);
    EXPECT_THAT(asked.summary, HasSubstr("begins before the capture"));
}

TEST(AuditCapture, LooksAtTheGivenPortsOnly)
{
    capture_file file;
    whole(file, {1, 40000}, {2, 5672}, 0);
    whole(file, {1, 40001}, {2, 5673}, 1);
    auto const o = audited(file, {.ports = {5673}});
    EXPECT_EQ(o.status, audit_status::clean);
    EXPECT_THAT(o.summary, HasSubstr("1 connection, 15 frames"));
}

TEST(AuditCapture, SeesTheStartOfAConnectionWhoseHandshakeIsNotThere)
{
    capture_file file;
    tcp_talk t{file, {1, 40000}, {2, 31999}};
    play(t, conversation(0));
    t.finish();
    auto const o = audited(file);
    EXPECT_THAT(o.findings, HasSubstr(audit::testing::stale_flow_finding));
    EXPECT_THAT(o.summary, Not(HasSubstr("begins before")));
}

TEST(AuditCapture, SaysWhatItCannotRead)
{
    capture_file file;
    auto const other = [&](std::uint16_t port, std::initializer_list<int> octets) {
        tcp_talk t{file, {1, port}};
        t.handshake();
        bytes b;
        for (auto const o : octets) b.push_back(static_cast<std::byte>(o));
        t.say(client, b);
        t.say(server, b);
        t.finish();
    };
    other(40000, {0x16, 3, 1, 0, 5});
    other(40001, {'A', 'M', 'Q', 'P', 0, 0, 9, 1});
    other(40002, {'G', 'E', 'T', ' ', '/'});
    other(40003, {'A'});
    auto const o = audited(file);
    EXPECT_EQ(o.findings, "");
    EXPECT_EQ(o.status, audit_status::could_not_run);
    EXPECT_THAT(o.summary, HasSubstr("#1 10.0.0.1:40000 -> 10.0.0.2:5672: TLS: cannot be read"));
    EXPECT_THAT(o.summary, HasSubstr("#2 10.0.0.1:40001 -> 10.0.0.2:5672: an AMQP version other"));
    EXPECT_THAT(o.summary, HasSubstr("4 other TCP connections were not looked at"));
}

TEST(AuditCapture, HoldsNothingAgainstAConnectionThatIsCutOff)
{
    for (bool const reset : {true, false}) {
        capture_file file;
        tcp_talk t{file};
        t.handshake();
        auto pieces = conversation(1);
        pieces.resize(10);
        pieces.back().octets.resize(20);  // in the middle of a transfer
        play(t, pieces);
        if (reset)
            t.reset();
        else
            file.cut(3);  // and the file as well
        auto const o = audited(file);
        EXPECT_EQ(o.findings, "");
        EXPECT_THAT(o.summary, HasSubstr(reset ? "  reset\n" : "  open when the capture ended\n"));
        EXPECT_EQ(o.summary.find("the file breaks off") == std::string::npos, reset);
    }
}

TEST(AuditCapture, ReadsPcapngAsTsharkWritesIt)
{
    // One section, one interface of raw IP, a block of an unknown kind, and one packet.
    test::tcp_packet const p{
        .from = {1, 40000}, .to = {2, 5672}, .flags = "A", .payload = conversation(1)[0].octets};
    auto const packet = test::ipv4_of(p);
    bytes out;
    auto const block = [&](std::uint32_t kind, bytes body) {
        body.resize((body.size() + 3) / 4 * 4);
        test::put(out, kind, 4);
        test::put(out, body.size() + 12, 4);
        out.insert(out.end(), body.begin(), body.end());
        test::put(out, body.size() + 12, 4);
    };
    bytes body;
    test::put(body, 0x1a2b3c4d'0001'0000, 8);
    test::put(body, UINT64_MAX, 8);
    block(0x0a0d0d0a, body);
    body.clear();
    test::put(body, 101, 2);
    test::put(body, 0, 6);
    block(1, body);
    block(0x0bad, bytes(5));
    body.clear();
    test::put(body, 0, 8);
    test::put(body, 1'000'000, 4);
    test::put(body, packet.size(), 4);
    test::put(body, packet.size(), 4);
    body.insert(body.end(), packet.begin(), packet.end());
    block(6, body);

    test::recorded_lines lines;
    audit_report report{lines, {}};
    capture_file const file{out};
    EXPECT_EQ(audit_capture(file.name(), {}, report),
              "1 packets from 1970-01-01T00:00:01Z on, 0.0 s");
    report.summary("");
    EXPECT_THAT(lines.results(), HasSubstr("10.0.0.1:40000"));
}

TEST(AuditCapture, SaysWhyAFileCannotBeRead)
{
    auto const fault = [](std::string const& name) {
        test::recorded_lines out;
        audit_report report{out, {}};
        try {
            audit_capture(name, {}, report);
        } catch (std::runtime_error const& e) {
            return std::string{e.what()};
        }
        return std::string{"none"};
    };
    EXPECT_THAT(fault("/nowhere/at.pcap"), HasSubstr("/nowhere/at.pcap"));
    EXPECT_THAT(fault("/nowhere/at.pcap"), HasSubstr("No such file"));
    capture_file const wireless{static_cast<test::link>(105)};
    EXPECT_THAT(fault(wireless.name()), HasSubstr("its link type is IEEE802_11; Ethernet"));
    capture_file const text{bytes(100, std::byte{'x'})};
    EXPECT_THAT(fault(text.name()), HasSubstr("unknown file format"));
}

}  // namespace
}  // namespace sluice::tools
