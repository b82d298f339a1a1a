// The checker as a whole: good traces, any cutting, garbage, limits, recordings from the middle.
#include "support/audit_frames.hpp"

#include <sluice/audit/checker.hpp>
#include <sluice/codec/value.hpp>

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

/// Everything that a decent connection does, on both sides of the wrap at 2^32.
void play_good_connection(scene& s)
{
    s.client_first = 0xffff'fffd;
    s.server_first = 0xffff'fffe;
    s.first_count = 0xffff'fffc;
    s.ready(10);
    auto id = 0xffff'fffeu;
    for (int i = 0; i != 5; ++i, ++id) {
        s.deliver(scene::more(scene::first(id)));
        s.deliver(scene::more(scene::rest()));
        s.deliver(scene::rest());
    }
    auto flow = s.client_flow(s.client_first + 15);
    s.send(client, scene::of_client, flow);
    flow.handle = handle{scene::sender};
    flow.delivery_count = sequence_number{s.first_count + 5};
    flow.link_credit = 5;
    s.send(client, scene::of_client, flow);
    s.dispose(scene::accept(0xffff'fffe, 2));
    auto answer = s.server_flow(s.client_first + 15);
    answer.echo = true;
    s.send(server, scene::of_server, answer);
    s.send(client, scene::of_client, s.client_flow(s.client_first + 15));
    s.send(client, scene::of_client, detach{.handle = {scene::sender}, .closed = true});
    s.send(server, scene::of_server, detach{.handle = {scene::receiver}, .closed = true});
    s.send(client, scene::of_client, end{});
    s.send(server, scene::of_server, end{});
    s.send(client, empty_frame());
    s.send(client, 0, close{});
    s.send(server, 0, close{});
}

TEST(Checker, FindsNothingInAGoodConnectionThatWraps)
{
    scene s;
    play_good_connection(s);
    s.finish();
    EXPECT_EQ(s.findings(), "");
    EXPECT_EQ(s.totals().directions[0].transfers, 15u);
    EXPECT_EQ(s.totals().directions[0].flows, 3u);
    EXPECT_EQ(s.totals().directions[0].unchecked, 0u);
}

TEST(Checker, FindsNothingInAGoodConnectionThatIsCutAnywhere)
{
    scene s;
    play_good_connection(s);
    for (std::size_t size = 1; size != 64; ++size) EXPECT_EQ(s.replayed(size), "") << size;
}

TEST(Checker, FindsTheSameHoweverTheBytesAreCut)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    s.deliver(scene::first(2));
    s.deliver(scene::first(3), 3000);
    s.send(client, scene::of_client, s.client_flow(12));
    s.dispose(scene::accept(7, 9));
    s.send(client, raw_frame(scene::of_client, "0053 13 c0 02 01 40"));
    s.send(client, scene::of_client, end{});
    s.send(client, scene::of_client, end{});
    s.finish();
    auto const whole = s.findings();
    EXPECT_NE(whole, "");
    for (std::size_t size = 1; size != 200; ++size) EXPECT_EQ(s.replayed(size), whole) << size;
}

TEST(Checker, TellsAFindingInOneLineWithPlaceAndNumbers)
{
    scene s;
    s.ready();
    s.now = std::chrono::milliseconds{1250};
    s.deliver(scene::first(0));
    s.send(client, scene::of_client, s.client_flow(10));
    s.findings();
    ASSERT_EQ(s.found().size(), 1u);
    EXPECT_EQ(s.found()[0].text(),
              "1.250000 client->server frame 5 channel 1 flow: next-outgoing-id [2.5.6] violation: "
              "expected 11 (initial 10 + 1 transfer frames), actual 10");
    EXPECT_EQ(s.found()[0].json(),
              R"({"time":1.250000,"direction":"client->server","frame":5,"offset":)"
                  + std::to_string(s.found()[0].offset)
                  + R"(,"channel":1,"performative":"flow","rule":"next-outgoing-id",)"
                    R"("section":"2.5.6","severity":"violation","expected":"11","actual":"10",)"
                    R"("detail":"initial 10 + 1 transfer frames","text":")"
                  + s.found()[0].text() + R"("})");
}

TEST(Checker, EscapesWhatCameFromTheWire)
{
    finding f;
    f.rule = rule::link_name_in_use;
    f.actual = "a\"b\\\n\x7f";
    EXPECT_NE(f.json().find(R"("actual":"a\"b\\\u000a\u007f")"), std::string::npos);
}

TEST(Checker, KeepsFindingsUpToItsLimitAndCountsTheRest)
{
    scene s{options{.findings_max = 3}};
    s.ready();
    for (int i = 0; i != 10; ++i) s.send(client, scene::of_client, s.client_flow(11));
    s.findings();
    EXPECT_EQ(s.found().size(), 3u);
    EXPECT_EQ(s.totals().violations, 10u);
    EXPECT_EQ(s.totals().findings_dropped, 7u);
    EXPECT_EQ(s.totals().by_rule[static_cast<std::size_t>(rule::next_outgoing_id)], 10u);
    EXPECT_TRUE(s.audit().violated());
}

TEST(Checker, SaysNothingOfTls)
{
    tape t;
    t.send(client, header_bytes(protocol_id::tls));
    t.send(server, header_bytes(protocol_id::tls));
    t.send(client, bytes(100, std::byte{0x16}));
    t.finish();
    EXPECT_EQ(t.findings(), "");
}

TEST(Checker, ReportsAStreamThatEndsInTheMiddleOfAFrame)
{
    scene s;
    s.begin_session();
    auto frame = frame_of(scene::of_client, end{});
    frame.resize(frame.size() - 3);
    auto const size = std::to_string(frame.size());
    s.send(client, frame);
    s.finish();
    EXPECT_EQ(s.findings(),
              "client truncated-stream: expected whole frames, actual " + size + " octets of one");
}

TEST(Checker, KnowsWhoTheEndsAreInPrintableAscii)
{
    value_map said;
    said[symbol{"product"}] = "a\nb \xc3\xa9";
    said[symbol{"version"}] = std::string(70, '1');
    bytes properties;
    append(properties, said);
    tape t;
    EXPECT_EQ(t.audit().who(client).container_id, "");
    t.open_both({.container_id = "c", .properties = {bytes_view{properties}}},
                {.container_id = "s"});
    auto const& who = t.audit().who(client);
    EXPECT_EQ(who.container_id, "c");
    EXPECT_EQ(who.product, "a?b ??");
    EXPECT_EQ(who.version, std::string(64, '1') + "...");
    EXPECT_EQ(t.audit().who(server).container_id, "s");
    EXPECT_EQ(t.audit().who(server).product, "");
}

}  // namespace
}  // namespace sluice::audit::testing
