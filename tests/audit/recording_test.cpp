// Recordings that start in the middle, and what is too much to be followed.
#include "support/audit_frames.hpp"

#include <gtest/gtest.h>

namespace sluice::audit::testing {
namespace {

constexpr auto c = scene::of_client;
constexpr auto v = scene::of_server;

options from_the_middle() { return {.mid_stream = true}; }

bytes without_first(bytes b, std::size_t n)
{
    b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(n));
    return b;
}

TEST(Recording, LearnsInsteadOfReporting)
{
    scene s{from_the_middle()};
    s.deliver(scene::more(scene::rest()), 100);
    s.deliver(scene::rest(), 100);
    s.deliver(scene::first(80));
    s.send(server, v, s.server_flow(5000));
    s.credit(10, 777);
    s.dispose(scene::accept(70, 80));
    s.send(client, c, s.client_flow(6000));
    s.send(client, empty_frame());
    s.finish();
    EXPECT_EQ(s.findings(), "");
    EXPECT_NE(s.totals().directions[1].unchecked, 0u);
}

TEST(Recording, ChecksTheOutgoingIdFromTheFirstFlowOn)
{
    scene s{from_the_middle()};
    s.deliver(scene::first(80));
    s.send(client, c, s.client_flow(6000));
    s.deliver(scene::first(81));
    s.send(client, c, s.client_flow(6001));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(82));
    s.send(client, c, s.client_flow(6001));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 6002, actual 6001");
}

TEST(Recording, ChecksDeliveriesOfALinkOnceOneHasEnded)
{
    scene s{from_the_middle()};
    s.deliver(scene::rest());
    s.deliver(scene::first(80));
    s.deliver(scene::first(81));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(83));
    EXPECT_EQ(s.findings(), "client delivery-id-gap: expected 82, actual 83");
}

TEST(Recording, ChecksInFullWhatBeginsLater)
{
    scene s{from_the_middle()};
    s.send(client, empty_frame());
    s.send(server, empty_frame());
    s.send(client, c, s.begin_of(client));
    s.send(server, v, s.begin_of(server));
    s.attach_both();
    s.credit(1);
    s.deliver(scene::first(0));
    EXPECT_EQ(s.findings(), "");
    s.deliver(scene::first(1));
    s.send(server, v, s.server_flow(13));
    EXPECT_EQ(s.findings(), "client link-credit: expected at most delivery-count 1, actual "
                            "delivery-count 2\n"
                            "server next-incoming-id-ahead: expected at most 12, actual 13");
}

TEST(Recording, AllowsTheAnswerToABeginThatWasNotSeen)
{
    scene s{from_the_middle()};
    s.send(server, v, s.begin_of(server));
    s.send(server, v, s.of_receiver);
    s.credit(10, 5);
    s.deliver(scene::first(4));
    s.send(client, c, s.client_flow(11));
    s.send(server, v, s.server_flow(11));
    s.send(client, c, end{});
    s.send(server, v, end{});
    s.send(client, 0, close{});
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(Recording, FindsTheFirstFrameBehindTheRestOfAnother)
{
    scene s{from_the_middle()};
    s.send(client, without_first(frame_of(c, scene::first(79), 300), 30));
    s.deliver(scene::first(80));
    s.send(client, c, s.client_flow(10));
    s.deliver(scene::first(81));
    s.send(client, c, s.client_flow(10));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 11, actual 10");
    EXPECT_EQ(s.replayed(1), "client next-outgoing-id: expected 11, actual 10");
    EXPECT_EQ(s.replayed(7), "client next-outgoing-id: expected 11, actual 10");
}

TEST(Recording, StartsAfreshWhereBytesWereLost)
{
    scene s;
    s.ready();
    s.deliver(scene::first(0));
    auto const frame = frame_of(c, scene::first(1), 50);
    s.send(client, bytes{frame.begin(), frame.begin() + 20});
    s.audit().lost(client, s.now);
    s.send(client, bytes(30, std::byte{'x'}));
    s.deliver(scene::first(17));
    s.send(client, c, s.client_flow(60));
    s.credit(10, 40);
    s.send(server, v, s.server_flow(60));
    s.dispose(scene::accept(9, 17));
    s.finish();
    EXPECT_EQ(s.findings(), "");
}

TEST(Recording, LooksAgainWhereItsGuessOfAFramesStartWasWrong)
{
    scene s{from_the_middle()};
    auto junk = frame_of(c, s.client_flow(3));
    junk.resize(junk.size() + 8);  // the frame was none: a size of 0 follows
    s.send(client, junk);
    s.send(client, c, s.client_flow(3));
    s.send(client, c, s.client_flow(4));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 3, actual 4");
}

TEST(Recording, GivesUpOnManyBeginsThatNobodyAnswers)
{
    scene s;
    s.open_both();
    for (int i = 0; i != 10000; ++i) {
        s.send(client, c, s.begin_of(client));
        s.send(client, c, end{});
    }
    s.send(client, c, s.begin_of(client));
    s.send(server, v, s.begin_of(server));
    s.send(server, v, s.server_flow(10));
    EXPECT_EQ(s.findings(), "");
    EXPECT_EQ(s.totals().directions[0].unchecked, 0u);
}

TEST(Recording, GivesUpOnManyAttachesThatNobodyAnswers)
{
    scene s;
    s.begin_session();
    s.of_sender.initial_delivery_count = sequence_number{0};
    for (int i = 0; i != 10000; ++i) {
        s.send(client, c, s.of_sender);
        s.send(client, c, detach{.handle = {scene::sender}});
    }
    EXPECT_EQ(s.findings(), "");
    EXPECT_NE(s.totals().directions[0].unchecked, 0u);
}

TEST(Recording, TakesAStreamThatStartsWithItsHeaderForWhole)
{
    scene s{from_the_middle()};
    s.ready();
    s.send(client, c, s.client_flow(9));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 10, actual 9");
    s.send(client, 44, s.client_flow(9));
    EXPECT_EQ(s.findings(), "client channel-unmapped: expected begin on channel 44, actual flow");
}

TEST(Recording, FollowsOnlySoManySessionsAndBlamesNobodyForTheRest)
{
    scene s{options{.sessions_max = 2}};
    s.open_both();
    for (std::uint16_t ch = 0; ch != 5; ++ch) {
        s.send(client, ch, s.begin_of(client));
        auto answer = s.begin_of(server);
        answer.remote_channel = ch;
        s.send(server, ch, answer);
        s.send(client, ch, s.client_flow(10));
        s.send(server, ch, s.server_flow(10));
    }
    EXPECT_EQ(s.findings(), "");
    EXPECT_NE(s.totals().directions[0].unchecked, 0u);
    s.send(client, 1, s.client_flow(9));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 10, actual 9");
}

TEST(Recording, FollowsOnlySoManyLinksAndBlamesNobodyForTheRest)
{
    scene s{options{.links_max = 1}};
    s.ready();
    auto other = s.of_sender;
    other.name = "m";
    other.handle = {3};
    s.send(client, c, other);
    auto t = scene::first(0);
    t.handle = {3};
    s.deliver(t);
    s.send(client, c, detach{.handle = {3}});
    EXPECT_EQ(s.findings(), "");
    s.send(client, c, s.client_flow(10));
    EXPECT_EQ(s.findings(), "client next-outgoing-id: expected 11, actual 10");
}

TEST(Recording, ForgetsTheOldestUnsettledDeliveriesBeyondItsLimit)
{
    scene s{options{.unsettled_max = 64}};
    s.window = 1000;
    s.ready(1000);
    for (std::uint32_t i = 0; i != 200; ++i) s.deliver(scene::first(i));
    for (std::uint32_t i = 0; i != 200; ++i) s.dispose(scene::accept(i, i));
    EXPECT_EQ(s.findings(), "");
    s.dispose(scene::accept(199, 199));
    EXPECT_NE(s.findings(), "");
}

TEST(Recording, ReadsNoMoreOfAFrameThanItIsAllowedTo)
{
    scene s{options{.frame_bytes_max = 512}};
    s.ready();
    s.deliver(scene::first(0), 100'000);
    s.send(client, c, s.client_flow(11));
    std::string const long_name(3000, 'n');
    s.send(client, c, attach{.name = long_name, .handle = {9}, .role = role::receiver});
    auto f = s.client_flow(11);
    f.handle = handle{9};
    s.send(client, c, f);
    EXPECT_EQ(s.findings(), "");
    EXPECT_NE(s.totals().directions[0].unchecked, 0u);
    EXPECT_EQ(s.replayed(1000), "");
    EXPECT_EQ(s.replayed(33), "");
}

}  // namespace
}  // namespace sluice::audit::testing
