// Segments that come late, twice, in pieces, or never.
#include "tools/tcp_reassembly.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sluice::tools {
namespace {

using audit::direction;
constexpr auto client = direction::from_client;
constexpr auto server = direction::from_server;

/// What comes out, as text: "c:abc s:xy c lost 3".
class Reassembly : public ::testing::Test, public tcp_sink {
protected:
    static constexpr std::uint32_t client_first = 0xffff'fffd;  // it wraps after three octets
    static constexpr std::uint32_t server_first = 1000;

    void on_data(direction d, bytes_view octets, stamp) override
    {
        auto const tag = std::string{d == client ? "c:" : "s:"};
        if (!text_.ends_with(' ') && !text_.empty() && last_ != d)
            text_ += ' ';
        if (last_ != d || text_.empty())
            text_ += tag;
        last_ = d;
        for (auto const b : octets) text_ += static_cast<char>(b);
    }
    void on_lost(direction d, std::uint64_t octets, stamp) override
    {
        text_ += std::string{text_.empty() ? "" : " "} + (d == client ? "c" : "s") + " lost "
                 + std::to_string(octets) + " ";
        last_.reset();
    }

    static bytes_view octets(std::string_view s)
    {
        return {reinterpret_cast<std::byte const*>(s.data()), s.size()};
    }
    void packet(direction d, tcp_segment s)
    {
        now_ += std::chrono::microseconds{10};
        tcp_->take(d, s, {.time = now_, .packet = ++packets_});
    }
    void handshake()
    {
        packet(client, {.sequence = client_first - 1, .syn = true});
        packet(
            server,
            {.sequence = server_first - 1, .acknowledged = client_first, .syn = true, .ack = true});
    }
    /// Octets from this position of the direction's stream on, having received `got` of the other.
    void say(direction d, std::uint32_t at, std::string_view data, std::uint32_t got = 0,
             std::uint32_t length = 0)
    {
        bool const up = d == client;
        packet(d, {.sequence = (up ? client_first : server_first) + at,
                   .acknowledged = (up ? server_first : client_first) + got,
                   .ack = true,
                   .payload = octets(data),
                   .length = length != 0 ? length : static_cast<std::uint32_t>(data.size())});
    }
    /// Nothing but that it has received `got`.
    void acknowledge(direction d, std::uint32_t got) { say(d, 0, "", got); }
    void fin(direction d, std::uint32_t at, std::uint32_t got)
    {
        bool const up = d == client;
        packet(d, {.sequence = (up ? client_first : server_first) + at,
                   .acknowledged = (up ? server_first : client_first) + got,
                   .ack = true,
                   .fin = true});
    }
    void pass(std::chrono::milliseconds t) { now_ += t; }
    std::string text() { return std::exchange(text_, {}); }

    std::optional<tcp_reassembly> tcp_{std::in_place, *this};
    std::string text_;
    std::optional<direction> last_;
    audit::time_point now_{};
    std::uint64_t packets_ = 0;
};

TEST_F(Reassembly, GivesBothStreamsInOrder)
{
    handshake();
    say(client, 0, "abcdef");
    say(server, 0, "xyz", 6);
    say(client, 6, "gh", 3);
    EXPECT_EQ(text(), "c:abcdef s:xyz c:gh");
    EXPECT_FALSE(tcp_->closed());
    fin(client, 8, 3);
    say(server, 3, "!", 9);  // the end counts as an octet
    fin(server, 4, 9);
    EXPECT_EQ(text(), "s:!");
    EXPECT_TRUE(tcp_->closed());
    EXPECT_FALSE(tcp_->was_reset());
}

TEST_F(Reassembly, PutsWhatIsLateIntoItsPlace)
{
    handshake();
    say(client, 2, "cd");
    say(client, 4, "ef");
    EXPECT_EQ(text(), "");
    say(client, 0, "ab");
    EXPECT_EQ(text(), "c:abcdef");
    auto const& c = tcp_->counters(client);
    EXPECT_EQ(c.out_of_order, 1u);
    EXPECT_EQ(c.retransmitted, 0u);
    EXPECT_EQ(c.lost, 0u);
}

TEST_F(Reassembly, GivesNothingTwice)
{
    handshake();
    say(client, 0, "abcd");
    say(client, 0, "abcd");  // all of it again
    say(client, 2, "cdef");  // a part of it again
    say(client, 5, "f");     // a keep-alive
    say(client, 8, "ij");
    say(client, 8, "ij");      // again while it waits
    say(client, 6, "ghijkl");  // and in one piece with what was late
    EXPECT_EQ(text(), "c:abcdefghijkl");
    EXPECT_EQ(tcp_->counters(client).retransmitted, 4u);
    EXPECT_EQ(tcp_->counters(client).lost, 0u);
}

TEST_F(Reassembly, TakesAGapForLostOnlyAfterAWhile)
{
    handshake();
    say(client, 0, "ab");
    say(client, 5, "fg");
    acknowledge(server, 7);
    pass(tcp_reassembly::patience - std::chrono::milliseconds{1});
    say(client, 7, "h");
    EXPECT_EQ(text(), "c:ab");
    pass(std::chrono::milliseconds{2});
    say(client, 8, "i");
    EXPECT_EQ(text(), "c lost 3 c:fghi");
    EXPECT_EQ(tcp_->counters(client).lost, 3u);
    say(client, 2, "cde");  // too late
    EXPECT_EQ(text(), "");
}

TEST_F(Reassembly, TakesAGapForLostAfterManyPackets)
{
    handshake();
    say(client, 1, "b");
    acknowledge(server, 2);
    for (unsigned i = 0; i != tcp_reassembly::patience_packets; ++i)
        say(server, i, "s");  // goes on, for it needs nothing of the client
    EXPECT_EQ(text().substr(0, 3), "s:s");
    say(server, tcp_reassembly::patience_packets, "s");
    EXPECT_EQ(tcp_->counters(client).lost, 1u);
}

TEST_F(Reassembly, WaitsForWhatItsReceiverHasNotAcknowledgedEither)
{
    handshake();
    say(client, 2, "cd");  // what is before it was lost on its way here
    for (unsigned i = 0; i != 2 * tcp_reassembly::patience_packets; ++i) acknowledge(server, 0);
    pass(4 * tcp_reassembly::patience);
    say(client, 4, "ef");
    EXPECT_EQ(text(), "");
    say(client, 0, "ab");
    say(server, 0, "xyz", 6);
    EXPECT_EQ(text(), "c:abcdef s:xyz");
    EXPECT_EQ(tcp_->counters(client).lost, 0u);
    EXPECT_EQ(tcp_->counters(client).out_of_order, 1u);
}

TEST_F(Reassembly, DoesNotWaitForAcknowledgementsWhereTheCaptureHasOneWayOnly)
{
    packet(client, {.sequence = client_first - 1, .syn = true});
    say(client, 0, "ab");
    say(client, 5, "fg");
    pass(tcp_reassembly::patience + std::chrono::milliseconds{1});
    say(client, 7, "h");
    EXPECT_EQ(text(), "c:ab c lost 3 c:fgh");
}

TEST_F(Reassembly, BoundsWhatWaits)
{
    handshake();
    std::string const large(1 << 20, 'x');
    auto const blocks = tcp_reassembly::waiting_max / large.size();
    for (std::uint32_t i = 0; i != blocks; ++i)
        say(client, 1 + i * static_cast<std::uint32_t>(large.size()), large);
    EXPECT_EQ(text(), "");
    say(client, 1 + static_cast<std::uint32_t>(blocks * large.size()), "y");
    EXPECT_EQ(text().substr(0, 12), "c lost 1 c:x");
}

TEST_F(Reassembly, KeepsTheOrderOfCauseAndEffect)
{
    handshake();
    // The answer is in the capture before what it answers, as on a busy machine.
    say(server, 0, "yes", 8);
    EXPECT_EQ(text(), "");
    say(client, 0, "question");
    EXPECT_EQ(text(), "c:question s:yes");
}

TEST_F(Reassembly, SaysThatSomethingIsLostBeforeItGivesTheAnswerToIt)
{
    handshake();
    say(client, 0, "ab");
    say(server, 0, "got 8", 8);  // six octets of the client are nowhere
    EXPECT_EQ(text(), "c:ab");
    tcp_->flush();
    EXPECT_EQ(text(), "c lost 6 s:got 8");
}

TEST_F(Reassembly, IsNotStuckWhenCopiesOfLostSegmentsWaitForEachOther)
{
    handshake();
    // Both first copies are missing, and the second ones know more than the first ones did.
    say(client, 0, "abc", 3);
    say(server, 0, "xyz", 3);
    EXPECT_EQ(text(), "");
    tcp_->flush();
    EXPECT_EQ(text(), "c:abc s:xyz");
    EXPECT_EQ(tcp_->counters(client).lost + tcp_->counters(server).lost, 0u);
}

TEST_F(Reassembly, SaysWhatAShortSnapLengthLeftOut)
{
    handshake();
    say(client, 0, "abc", 0, 10);
    say(client, 10, "klm");
    EXPECT_EQ(text(), "c:abc c lost 7 c:klm");
}

TEST_F(Reassembly, StartsInTheMiddle)
{
    say(client, 500, "mid", 70);
    say(server, 70, "dle", 503);
    EXPECT_EQ(text(), "c:mid s:dle");
}

TEST_F(Reassembly, GivesWhatWaitsWhenTheConnectionIsReset)
{
    handshake();
    say(client, 3, "late");
    packet(server, {.sequence = server_first, .rst = true});
    EXPECT_TRUE(tcp_->was_reset());
    EXPECT_EQ(text(), "c lost 3 c:late");
}

TEST_F(Reassembly, GivesTheSameForAnyOrderAndRepetitionWithinItsPatience)
{
    std::string const up = "the quick brown fox jumps over the lazy dog";
    for (unsigned seed = 0; seed != 200; ++seed) {
        std::mt19937 random{seed};
        tcp_.emplace(*this);
        handshake();
        struct part {
            std::uint32_t from;
            std::uint32_t to;
        };
        std::vector<part> parts;
        for (std::uint32_t at = 0; at < up.size();) {
            auto const to =
                std::min<std::uint32_t>(at + 1 + static_cast<std::uint32_t>(random() % 7),
                                        static_cast<std::uint32_t>(up.size()));
            parts.push_back({at, to});
            if (random() % 3 == 0)
                parts.push_back({at - std::min(at, 2u), to});
            at = to;
        }
        std::shuffle(parts.begin(), parts.end(), random);
        for (auto const& p : parts)
            say(client, p.from, std::string_view{up}.substr(p.from, p.to - p.from));
        ASSERT_EQ(text(), "c:" + up) << seed;
        last_.reset();
    }
}

}  // namespace
}  // namespace sluice::tools
