// Replies to channels' requests that their client does not take.
#include "support/node_rig.hpp"

#include <sluice/codec/channel_protocol.hpp>

#include <gmock/gmock.h>

namespace sluice::test {
namespace {

using testing::HasSubstr;
namespace protocol = channel_protocol;

/// Ports of one connection; only "known" reads its replies.
struct ChannelReplies : testing::Test {
    static constexpr unsigned batch = 200;  // requests: fewer than the node's credit and window
    static protocol::channel_options options()
    {
        return {.capacity = 4'000, .visibility_timeout_ms = 0};
    }

    node_rig n;
    std::unique_ptr<raw_client> c = n.client();
    bytes value = bytes(60'000);
    std::string said;
    protocol::request_id last_id = 0;

    /// A link for requests and one for replies.
    void join(std::string const& port, std::uint32_t credit = 0)
    {
        auto const address = std::string{protocol::address};
        c->receiver(port, address);
        if (credit != 0)
            c->credit(port, credit);
        c->sender(port, address);
        said += c->wire();
    }
    void ask(std::string const& port, protocol::request const& r)
    {
        bytes out;
        encode(out, r);
        c->deliver(port, bytes_view{out});
    }
    static protocol::handle_id handle_of(std::string const& port, std::string const& channel)
    {
        protocol::handle_id h{};
        h[0] = static_cast<std::byte>(port.front());
        h[1] = static_cast<std::byte>(channel.front());
        return h;
    }
    void open(std::string const& port, std::string const& channel)
    {
        ask(port, protocol::open{.id = ++last_id,
                                 .name = channel,
                                 .handle = handle_of(port, channel),
                                 .options = options()});
    }
    protocol::channel_id id_of(std::string const& channel)
    {
        open("known", channel);
        while (true) {
            auto const f = c->next_frame().value();
            if (f.descriptor() != 0x14)
                continue;
            transfer t;
            auto in = f.body();
            protocol::reply r;
            std::string fault;
            EXPECT_FALSE(decode(in, t));
            EXPECT_FALSE(decode(in, r, fault)) << fault;
            return std::get<protocol::opened>(r).channel;
        }
    }
    bool closed() const { return said.find("close(") != said.npos; }
    /// Sends `count` values and asks for them, which makes as many replies.
    void fill(std::string const& port, protocol::channel_id channel, unsigned count)
    {
        open(port, "x");
        auto const handle = handle_of(port, "x");
        std::uint64_t sequence = 0;
        for (unsigned done = 0; done < count && !closed(); done += batch) {
            for (unsigned i = 0; i < batch; ++i)
                ask(port, protocol::select{
                              .id = ++last_id,
                              .cases = {protocol::send_case{channel, handle, ++sequence, value}}});
            ask(port, protocol::select{.id = ++last_id,
                                       .cases = {protocol::recv_case{channel, batch, handle}}});
            said += c->wire_without_flows();
        }
    }
};

TEST_F(ChannelReplies, OfAllPortsOfAConnectionAreBoundedTogether)
{
    join("known", 10);
    auto const x = id_of("x");
    for (auto const* const port : {"a", "b"}) {
        join(port);
        EXPECT_FALSE(closed()) << said;
        fill(port, x, 800);  // 48 MB each
    }
    EXPECT_THAT(said, HasSubstr("close(amqp:resource-limit-exceeded)"));
    EXPECT_THAT(c->description<sluice::close>(), HasSubstr("the links of this connection"));
    n.expect_serves_others();
}

// No value goes to a port that is over, though its client says nothing of the detach.
TEST_F(ChannelReplies, WhoDoesNotTakeThemLeavesTheHubAtOnce)
{
    join("known", 10);
    auto const x = id_of("x");
    auto const y = id_of("y");
    join("a");
    open("a", "y");
    ask("a", protocol::select{.id = ++last_id,
                              .cases = {protocol::recv_case{y, 1, handle_of("a", "y")}}});
    said += c->wire();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().channel_requests == 1; }));
    fill("a", x, 1'200);  // 72 MB
    EXPECT_THAT(said, HasSubstr("closed amqp:resource-limit-exceeded)"));
    EXPECT_FALSE(closed()) << said;
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().channel_requests == 0; }));
}

}  // namespace
}  // namespace sluice::test
