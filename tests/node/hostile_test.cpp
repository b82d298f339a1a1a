// Peers that mean harm, or do not know better: the node goes on serving others, and what it keeps
// for one of them is bounded.
#include "support/node_rig.hpp"

#include <sluice/codec/transactions.hpp>

#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <future>

namespace sluice::test {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLUICE_SANITIZED 1
#endif
#endif
#if defined(SLUICE_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

std::size_t heap_in_use() { return ::mallinfo2().uordblks; }

/// What a flood may cost at most; kernel buffers are not ours.
constexpr std::size_t flood_bound = 64u << 20;

// ---- who does not read

TEST(NodeHostile, AStuckReceiverHoldsUpNobodyAndKeepsWhatIsOnItsWayOnly)
{
    node_rig n;
    raw_client stuck{n.port, 4'096};
    stuck.hello(raw_client::usual_open("stuck"));
    stuck.receiver("r");
    std::ignore = stuck.wire();
    stuck.credit("r", 0xffff'ffff);
    stuck.flush();
    auto from = n.client("from");
    from->sender("s");
    std::ignore = from->wire();
    constexpr int count = 300;
    for (int i = 0; i < count; ++i) {
        from->deliver("s", text_message(std::to_string(i) + std::string(60'000, 'x')));
        if (i % 20 == 0)
            std::ignore = from->wire();
    }
    std::ignore = from->wire();
    EXPECT_GT(n.node.read("q")->ready, 100u);  // 18 MB would not lie in front of one socket
    n.expect_serves_others();
    stuck.reset();
    EXPECT_TRUE(n.comes_to([&] { return n.node.read("q")->ready == count; }));
    auto next = n.client("next");
    next->receiver("r");
    next->credit("r", 1);
    EXPECT_NE(next->until("transfer").find("octets"), std::string::npos);
}

// [2.4.5] Half-open: the peer is gone without a word, and our octets go nowhere.
TEST(NodeHostile, AConnectionThatIsHalfOpenGoesWithItsIdleTimeOut)
{
    node::node_options o;
    o.idle_timeout = node::milliseconds{3'000};  // the other client sends no heartbeats either
    o.close_timeout = node::milliseconds{100};
    node_rig n{o};
    raw_client gone{n.port, 4'096};
    gone.hello(raw_client::usual_open("gone"));
    gone.receiver("r");
    std::ignore = gone.wire();
    gone.credit("r", 0xffff'ffff);
    gone.flush();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().links == 1; }));
    {
        auto from = n.client("from");
        from->sender("s");
        std::ignore = from->wire();
        for (int i = 0; i < 100; ++i) from->deliver("s", text_message(std::string(60'000, 'x')));
        std::ignore = from->wire();
        from->bye();
    }
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 0; }));
    EXPECT_EQ(n.node.read("q")->ready, 100u);
}

TEST(NodeHostile, APeerThatDoesNotAnswerACloseIsGivenUp)
{
    node::node_options o;
    o.close_timeout = node::milliseconds{100};
    node_rig n{o};
    auto c = n.client();
    c->send_octets(raw_hex_frame("45"));
    EXPECT_EQ(c->wire(), "close(amqp:decode-error)");
    EXPECT_EQ(c->next(), "EOF");
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 0; }));
}

// ---- who does not speak

TEST(NodeHostile, AHandshakeThatTakesTooLongIsEnded)
{
    node::node_options o;
    o.handshake_timeout = node::milliseconds{500};
    node_rig n{o};
    auto const header = protocol_header(protocol_id::amqp);
    for (std::size_t const size : {0u, 1u, 7u, 8u}) {
        raw_client c{n.port};
        c.send_octets(bytes_view{header}.first(size));
        EXPECT_TRUE(c.read_to_end().size() <= 8) << size;
    }
    raw_client c{n.port};  // an octet now and then does not help
    auto const open = raw_frame(raw_client::usual_open());
    c.send_header();
    auto sent = 0u;
    auto const gone = [&] {  // on a busy machine even before the header comes back
        auto const now = n.node.stats();
        return now.connections_accepted == 5 && now.connections == 0;
    };
    while (c.available() < 8 && !gone()) c.flush();
    while (n.node.stats().connections > 0 && sent + 1 < open.size()) {
        c.send_octets(bytes_view{open}.subspan(sent++, 1));
        c.flush();
    }
    std::ignore = c.read_to_end();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 0; }));
    n.expect_serves_others();
}

TEST(NodeHostile, ConnectionsThatSayNothingMakeRoomForOthers)
{
    node::node_options o;
    o.handshake_timeout = node::milliseconds{500};
    o.connections_max = 50;
    node_rig n{o};
    std::vector<std::unique_ptr<raw_client>> silent;
    for (int i = 0; i < 200; ++i) {
        silent.push_back(std::make_unique<raw_client>(n.port));
        EXPECT_LE(n.node.stats().connections, 50u);
    }
    n.expect_serves_others();
    EXPECT_LE(n.node.stats().connections, 50u);
}

// ---- floods by a peer that does not read

/// Sends `one(i)` until the node takes no more or all are sent. @returns the heap's growth
template <class F>
std::size_t flood(raw_client& c, int count, F one)
{
    auto const before = heap_in_use();
    std::size_t most = 0;
    bytes batch;
    for (int i = 0; i < count; ++i) {
        auto const octets = one(i);
        batch.insert(batch.end(), octets.begin(), octets.end());
        if (batch.size() < 60'000 && i + 1 < count)
            continue;
        auto const taken = c.try_send(batch, 1'000);
        batch.clear();
        auto const now = heap_in_use();
        most = std::max(most, now > before ? now - before : 0);
        if (!taken)
            break;
    }
    return most;
}

void append_to(bytes& all, bytes_view more) { all.insert(all.end(), more.begin(), more.end()); }

TEST(NodeHostile, AFloodOfAttachesAndDetachesIsBounded)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    auto const growth = flood(c, 200'000, [&](int i) {
        auto const name = "link-" + std::to_string(i);
        auto const address = encoded(std::string_view{name});
        auto const from = encoded(source{.address = {address}});
        auto const to = encoded(target{});
        auto all = raw_frame(attach{.name = name,
                                    .handle = handle{0},
                                    .role = role::receiver,
                                    .source = {from},
                                    .target = {to}});
        append_to(all, raw_frame(detach{.handle = handle{0}, .closed = true, .error = {}}));
        return all;
    });
    EXPECT_LT(growth, flood_bound);
    n.expect_serves_others();
    c.reset();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 0; }));
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().queues == 1; }));  // that of the others
}

TEST(NodeHostile, AFloodOfBeginsAndEndsIsBounded)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    auto const growth = flood(c, 300'000, [&](int) {
        auto all = raw_frame(raw_client::usual_begin(), {}, 5);
        append_to(all, raw_frame(sluice::end{}, {}, 5));
        return all;
    });
    EXPECT_LT(growth, flood_bound);
    n.expect_serves_others();
}

// Who has been held up goes on where it was once it reads.
TEST(NodeHostile, AFloodThatIsReadInTheEndIsAnsweredToTheEnd)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("late reader"));
    bytes one = raw_frame(raw_client::usual_begin(), {}, 5);
    append_to(one, raw_frame(sluice::end{}, {}, 5));
    bytes all;
    constexpr int count = 20'000;
    for (int i = 0; i < count; ++i) append_to(all, one);
    auto const sent = std::async(std::launch::async, [&] { return c.try_send(all, 10'000); });
    auto ends = 0;
    while (ends < count) ends += c.next() == "end()" ? 1 : 0;
    EXPECT_EQ(ends, count);
    sent.wait();
    n.expect_serves_others();
}

TEST(NodeHostile, AFloodOfFlowsThatAskForAnEchoIsBounded)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    c.receiver("r");
    std::ignore = c.wire();
    auto f = c.exact_flow();
    f.echo = true;
    auto of_link = f;
    of_link.handle = c.handle_of("r");
    of_link.delivery_count = sequence_number{0};
    of_link.link_credit = 5;
    auto all = raw_frame(f);
    append_to(all, raw_frame(of_link));
    EXPECT_LT(flood(c, 300'000, [&](int) { return all; }), flood_bound);
    n.expect_serves_others();
}

TEST(NodeHostile, AFloodOfDispositionsIsBounded)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    auto const growth = flood(c, 300'000, [&](int i) {
        return raw_frame(disposition{.role = role::receiver,
                                     .first = delivery_number{static_cast<std::uint32_t>(i)},
                                     .last = delivery_number{static_cast<std::uint32_t>(i) + 9},
                                     .settled = false,
                                     .state = {encoded_accepted}});
    });
    EXPECT_LT(growth, flood_bound);
    n.expect_serves_others();
}

TEST(NodeHostile, AFloodOfRequestsIsBounded)
{
    node_rig n;
    for (int i = 0; i < 2'000; ++i) ASSERT_FALSE(n.node.declare("queue-" + std::to_string(i)));
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    auto const mine = encoded(std::string_view{"mine"});
    c.sender("requests", "$management");
    c.receiver("replies", "$management", [&](attach&, source&, target& t) { t.address = {mine}; });
    std::ignore = c.wire();
    message m;
    m.application_properties["operation"] = "list";
    m.properties.reply_to = "mine";
    auto const request = encoded(m);
    std::uint32_t id = 0;
    auto const growth = flood(c, 500, [&](int) {
        auto const tag = octets_of(std::to_string(id));
        return raw_frame(transfer{.handle = c.handle_of("requests"),
                                  .delivery_id = delivery_number{id++},
                                  .delivery_tag = bytes_view{tag}},
                         request);
    });
    EXPECT_LT(growth, flood_bound);  // 500 lists of 2,000 queues would be more
    n.expect_serves_others();
}

// [2.6.7] A sender that has no eye for credit.
TEST(NodeHostile, ASenderThatIgnoresCreditIsDetachedAndNotHeard)
{
    node_rig n;
    raw_client c{n.port, 4'096};
    c.hello(raw_client::usual_open("flood"));
    c.sender("s");
    std::ignore = c.wire();
    auto const body = text_message(std::string(1'000, 'x'));
    std::uint32_t id = 0;
    auto const growth = flood(c, 50'000, [&](int) {
        auto const tag = octets_of(std::to_string(id));
        return raw_frame(transfer{.handle = handle{0},
                                  .delivery_id = delivery_number{id++},
                                  .delivery_tag = bytes_view{tag}},
                         body);
    });
    EXPECT_LT(growth, flood_bound);
    n.expect_serves_others();
}

// Messages that never end, on many links: what is half here is bounded for a connection.
TEST(NodeHostile, UnfinishedMessagesOfAConnectionAreBounded)
{
    node::node_options o;
    o.connection_buffered_max = 4u << 20;
    o.incoming_window = 100'000;
    node_rig n{o};
    auto c = n.client();
    for (int i = 0; i < 20; ++i) c->sender("s" + std::to_string(i));
    std::ignore = c->wire();
    bytes const part(60'000, std::byte{'x'});
    for (int i = 0; i < 100; ++i)
        c->deliver("s" + std::to_string(i % 20), part, [&](transfer& t) {
            t.more = true;
            if (i >= 20) {
                t.delivery_id = std::nullopt;
                t.delivery_tag = std::nullopt;
            }
        });
    EXPECT_TRUE(c->wire_without_flows().ends_with("close(amqp:resource-limit-exceeded)"));
    n.expect_serves_others();
}

// ---- numbers

TEST(NodeHostile, LinksOfAConnectionAreLimited)
{
    node::node_options o;
    o.links_max = 3;
    node_rig n{o};
    auto c = n.client();
    for (auto const* const name : {"a", "b", "c"}) c->receiver(name);
    std::ignore = c->wire();
    c->receiver("d");
    EXPECT_EQ(c->wire(), "attach(d h3 sender source=null target=) "
                         "detach(h3 closed amqp:resource-limit-exceeded)");
    c->detach_link("d");
    auto const coordinator_target = encoded(coordinator{});
    c->sender("controller", "",
              [&](attach& a, source&, target&) { a.target = {coordinator_target}; });
    EXPECT_TRUE(c->wire().ends_with("detach(h3 closed amqp:resource-limit-exceeded)"));
    c->detach_link("controller");
    c->detach_link("a");
    std::ignore = c->wire();
    c->receiver("e");
    EXPECT_EQ(c->wire(), "attach(e h0 sender source=q target=)");
}

TEST(NodeHostile, SixtyFiveThousandSessionsAreAnswered)
{
    constexpr std::uint32_t count = 65'536;
    node::node_options o;
    o.channel_max = 65'535;
    node_rig n{o};
    raw_client c{n.port};
    c.send_header();
    c.send(raw_client::usual_open());
    c.flush();
    auto const sending = std::async(std::launch::async, [&] {
        bytes all;
        for (std::uint32_t i = 0; i < count; ++i)
            append_to(all, raw_frame(raw_client::usual_begin(), {}, static_cast<std::uint16_t>(i)));
        return c.try_send(all, 10'000);
    });
    EXPECT_EQ(c.until("open"), "AMQP open(sluice-node)");
    for (std::uint32_t i = 0; i < count; ++i) {
        auto const f = c.next_frame().value();
        ASSERT_EQ(f.descriptor(), 0x11u);
    }
    sending.wait();
    c.bye();
    n.expect_serves_others();
}

// [1.6] Sizes and counts that are not there.
TEST(NodeHostile, GiantSizesWithinAFrameCostNothing)
{
    for (auto const* const body : {"00 53 10 d0 ff ff ff ff ff ff ff ff",           // the list
                                   "00 53 10 c0 09 01 b1 ff ff ff ff 61 61",        // a string
                                   "00 53 10 c0 0a 01 f0 ff ff ff ff ff ff ff ff",  // an array
                                   "00 53 10 d0 00 00 00 05 7f ff ff ff 40"}) {     // elements
        node_rig n;
        auto const before = heap_in_use();
        raw_client c{n.port};
        c.send_header();
        c.send_octets(raw_hex_frame(body));
        EXPECT_EQ(c.until("close"), "AMQP open(sluice-node) close(amqp:decode-error)") << body;
        EXPECT_LT(heap_in_use(), before + (8u << 20));
    }
}

TEST(NodeHostile, GiantSizesWithinAMessageAreRejected)
{
    node_rig n;
    auto c = n.client();
    c->sender("s");
    std::ignore = c->wire();
    auto id = 0;
    for (auto const* const octets :
         {"00 53 75 b0 ff ff ff ff 61", "00 53 77 d0 ff ff ff ff ff ff ff ff 40",
          "00 53 72 d1 ff ff ff f0 ff ff ff f0 40", "00 53 77 f0 00 00 00 05 7f ff ff ff 43"}) {
        c->deliver("s", octets_of_hex(octets));
        EXPECT_EQ(c->wire_without_flows(), "disposition(receiver " + std::to_string(id++)
                                               + " settled rejected:amqp:decode-error)")
            << octets;
    }
    std::string nested = "00 53 77";
    for (int i = 0; i < 5'000; ++i) nested += "c0 ff 01";
    c->deliver("s", octets_of_hex(nested));
    EXPECT_TRUE(c->wire_without_flows().ends_with("rejected:amqp:decode-error)"));
    n.expect_serves_others();
}

// ---- at rest

TEST(NodeMemory, OfAnIdleConnectionWithASessionAndTwoLinksIsSmall)
{
    constexpr int count = 200;
    node_rig n;
    ASSERT_FALSE(n.node.declare("q"));
    std::vector<int> sockets;
    sockets.reserve(count + 20);
    auto const open_one = [&](int i) {
        raw_client c{n.port};
        c.send_header();
        auto const container = "container-" + std::to_string(i);
        c.send(raw_client::usual_open(container));
        c.send(raw_client::usual_begin());
        c.sender("sender");
        c.receiver("receiver");
        c.credit("receiver", 10);
        EXPECT_EQ(c.until("attach(receiver"), "AMQP open(sluice-node) begin(rc=0 noi=0 iw=1024) "
                                              "attach(sender h0 receiver source= target=q) "
                                              "attach(receiver h1 sender source=q target=)");
        sockets.push_back(c.release_socket());
    };
    for (int i = 0; i < 20; ++i) open_one(i);  // what is there once
    EXPECT_EQ(n.node.stats().links, 40u);
    auto const before = heap_in_use();
    for (int i = 20; i < 20 + count; ++i) open_one(i);
    EXPECT_EQ(n.node.stats().links, 440u);
    auto const each = (heap_in_use() - before) / count;
    std::printf("heap of an idle connection with a session and two links: %zu octets\n", each);
    RecordProperty("octets", static_cast<int>(each));
    EXPECT_LE(each, sanitized ? each : 12u * 1'024);
    for (auto const s : sockets) ::close(s);
}

}  // namespace
}  // namespace sluice::test
