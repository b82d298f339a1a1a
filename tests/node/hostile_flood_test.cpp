// Floods beside an honest client: it is served all the while, and what the node holds stays
// bounded.
#include "support/node_rig.hpp"

#include <sluice/client/client.hpp>

#include <gmock/gmock.h>
#include <malloc.h>

#include <atomic>
#include <functional>
#include <thread>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::size_t memory_bound = 64u << 20;

std::size_t heap_in_use() { return ::mallinfo2().uordblks; }

void append_to(bytes& all, bytes_view more) { all.insert(all.end(), more.begin(), more.end()); }

/// Many of the same, so that the flood costs its sender nothing but the writing.
bytes repeated(bytes_view one, std::size_t size = 60'000)
{
    bytes out;
    while (out.size() < size) append_to(out, one);
    return out;
}

/// An honest client on a connection of its own: round trips of one message each.
class honest {
public:
    explicit honest(std::uint16_t port)
        : connection_{container_.connect("amqp://127.0.0.1:" + std::to_string(port))},
          sender_{connection_.open_sender("honest")},
          receiver_{connection_.open_receiver("honest")}
    {
    }
    void round_trip()
    {
        sender_.send("hello");
        receiver_.receive(60s).accept();
    }
    /// Round trips a second, over a moment.
    double rate()
    {
        auto const begin = clock::now();
        auto count = 0;
        while (count < 20 || clock::now() - begin < 150ms) {
            round_trip();
            ++count;
        }
        return count / std::chrono::duration<double>(clock::now() - begin).count();
    }

private:
    client::container container_;
    client::connection connection_;
    client::sender sender_;
    client::receiver receiver_;
};

/// Does something over and over on a thread of its own.
class beside {
public:
    explicit beside(std::function<void()> f)
        : thread_{[this, f = std::move(f)] {
              while (!stop_) {
                  f();
                  ++rounds_;
              }
          }}
    {
    }
    ~beside()
    {
        stop_ = true;
        thread_.join();
    }
    void wait_until_under_way() const
    {
        while (rounds_ == 0) std::this_thread::yield();
    }

private:
    std::atomic<bool> stop_{false};
    std::atomic<int> rounds_{0};
    std::thread thread_;
};

/// Beside the flood every round trip of an honest client completes, and the node keeps nothing of
/// it. Rates are printed and not judged: on a busy machine they are the machine's.
void expect_served(node_rig& n, std::function<void()> const& flood,
                   std::size_t bound = memory_bound)
{
    honest h{n.port};
    h.round_trip();
    auto const before = heap_in_use();
    auto const alone = h.rate();
    auto under = 0.0;
    {
        beside const flooding{flood};
        flooding.wait_until_under_way();
        for (auto i = 0; i < 50; ++i) h.round_trip();
        under = h.rate();
        auto const now = heap_in_use();
        EXPECT_LT(now > before ? now - before : 0, bound);
    }
    std::printf("round trips a second: %.0f alone, %.0f beside the flood\n", alone, under);
}

/// A flood of the same octets over one connection; a new one when the node has ended it.
std::function<void()> flood_of(std::uint16_t port, std::function<void(raw_client&)> prepare,
                               bytes octets)
{
    return [port, prepare = std::move(prepare), octets = std::move(octets),
            c = std::shared_ptr<raw_client>{}]() mutable {
        if (!c) {
            c = std::make_shared<raw_client>(port, 4'096);
            prepare(*c);
        }
        if (!c->try_send(octets, 20))
            c.reset();
    };
}

void usual_hello(raw_client& c) { c.hello(raw_client::usual_open("flood")); }

TEST(NodeFlood, OfEmptyFramesKeepsNothingAndServesOthers)
{
    node_rig n;
    expect_served(n, flood_of(n.port, usual_hello, repeated(octets_of_hex("00000008 02000000"))));
}

TEST(NodeFlood, OfFlowsThatAskForAnEchoKeepsNothingAndServesOthers)
{
    node_rig n;
    flow f{.next_incoming_id = transfer_id{0},
           .incoming_window = 2'048,
           .next_outgoing_id = transfer_id{0},
           .outgoing_window = 2'048};
    f.echo = true;
    expect_served(n, flood_of(n.port, usual_hello, repeated(raw_frame(f))));
}

TEST(NodeFlood, OfDispositionsOverHalfOfAllIdsKeepsNothingAndServesOthers)
{
    node_rig n;
    auto const one = raw_frame(disposition{.role = role::receiver,
                                           .first = delivery_number{0},
                                           .last = delivery_number{0x7fff'ffff},
                                           .settled = true,
                                           .state = {encoded_accepted}});
    expect_served(n, flood_of(n.port, usual_hello, repeated(one)));
}

TEST(NodeFlood, OfAttachesAndDetachesKeepsNothingAndServesOthers)
{
    node_rig n;
    auto const address = encoded(std::string_view{"flooded"});
    auto const from = encoded(source{.address = {address}});
    auto const to = encoded(target{});
    auto one = raw_frame(attach{.name = "flood",
                                .handle = handle{0},
                                .role = role::receiver,
                                .source = {from},
                                .target = {to}});
    append_to(one, raw_frame(detach{.handle = handle{0}, .closed = true, .error = {}}));
    expect_served(n, flood_of(n.port, usual_hello, repeated(one)));
}

// A handshake costs more than a message, whoever makes it: sockets are made and thrown away by the
// system on both sides. The honest client gets on, and nothing piles up.
TEST(NodeFlood, OfHandshakesKeepsNothingAndServesOthers)
{
    node_rig n;
    honest h{n.port};
    auto const before = heap_in_use();
    {
        beside const flooding{[&] {
            raw_client c{n.port};
            c.send_header();
            c.send(raw_client::usual_open());
            c.flush();
            c.reset();
        }};
        flooding.wait_until_under_way();
        for (auto i = 0; i < 200; ++i) h.round_trip();
    }
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 1; }));
    auto const now = heap_in_use();
    EXPECT_LT(now > before ? now - before : 0, memory_bound);
}

// Passwords are checked on a thread of their own, and for so many at once only: the node's thread
// and those who are in have no part in it.
TEST(NodeFlood, OfLoginsWithWrongPasswordsKeepsNothingAndServesOthers)
{
    net::sasl_user u{
        .name = "ada", .keys = {}, .grants = {{net::access::read, "*"}, {net::access::write, "*"}}};
    u.keys.push_back(*net::derive_scram_keys(net::scram_hash::sha256, "lovelace",
                                             octets_of("salt of 16 bytes"), 4'096));
    node::node_options o;
    o.users = std::make_shared<net::sasl_users const>(
        std::move(*net::sasl_users::parse(net::sasl_user_line(u), "users")));
    node_rig n{std::move(o)};
    client::container container;
    auto const url = "amqp://ada:lovelace@127.0.0.1:" + std::to_string(n.port);
    auto const in = container.connect(url);
    auto const sender = in.open_sender("q");
    auto const before = heap_in_use();
    {
        auto const wrong = octets_of(std::string{"\0ada\0wrong", 10});
        beside const flooding{[&] {
            raw_client c{n.port};
            c.send_header(protocol_id::sasl);
            c.send_sasl(sasl_init{.mechanism = "PLAIN", .initial_response = bytes_view{wrong}});
            c.flush();
            c.reset();
        }};
        flooding.wait_until_under_way();
        for (auto i = 0; i < 100; ++i) EXPECT_TRUE(sender.send("hello").accepted());
        EXPECT_TRUE(container.connect(url).valid()) << "by SCRAM";
    }
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 1; }));
    auto const now = heap_in_use();
    EXPECT_LT(now > before ? now - before : 0, memory_bound);
}

// ---- numbers that are as large as they can be

TEST(NodeHostile, TheLargestHandleIsRefusedAndCostsNothing)
{
    node_rig n;
    auto c = n.client();
    auto const before = heap_in_use();
    auto const address = encoded(std::string_view{"q"});
    auto const from = encoded(source{.address = {address}});
    auto const to = encoded(target{});
    c->send(attach{.name = "r",
                   .handle = handle{0xffff'ffff},
                   .role = role::receiver,
                   .source = {from},
                   .target = {to}});
    EXPECT_THAT(c->until("close"), testing::HasSubstr("close(amqp:connection:framing-error)"));
    EXPECT_LT(heap_in_use(), before + (8u << 20));
    n.expect_serves_others();
}

// [2.3.1] The size is looked at before anything is kept for it.
TEST(NodeHostile, AFrameOfFourGibibytesIsRefusedByItsHeader)
{
    node_rig n;
    auto c = n.client();
    auto const before = heap_in_use();
    c->send_hex("ffffffff 02000000");
    EXPECT_EQ(c->wire(), "close(amqp:connection:framing-error)");
    EXPECT_LT(heap_in_use(), before + (8u << 20));
    n.expect_serves_others();
}

// [1.6] A performative whose properties are lists in lists in lists.
TEST(NodeHostile, DeepNestingInAPerformativeIsRefused)
{
    node_rig n;
    auto c = n.client();
    bytes nested{std::byte{0x40}};
    for (auto i = 0; i < 3'000; ++i) {
        bytes outer{std::byte{0xd0}};
        auto const put = [&](std::size_t v) {
            for (auto shift = 24; shift >= 0; shift -= 8)
                outer.push_back(static_cast<std::byte>(v >> shift));
        };
        put(nested.size() + 4);
        put(1);
        append_to(outer, nested);
        nested = std::move(outer);
    }
    bytes map{std::byte{0xd1}};
    auto const size = nested.size() + 4 + 3;
    for (auto shift = 24; shift >= 0; shift -= 8)
        map.push_back(static_cast<std::byte>(size >> shift));
    append_to(map, octets_of_hex("00000002 a3 01 78"));
    append_to(map, nested);
    auto b = raw_client::usual_begin();
    b.properties = {map};
    c->send(b, {}, 5);
    EXPECT_EQ(c->wire(), "close(amqp:decode-error)");
    n.expect_serves_others();
}

}  // namespace
}  // namespace sluice::test
