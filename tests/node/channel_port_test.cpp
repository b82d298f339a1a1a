// The two links of a port of remote channels, frame by frame: how it begins, what ends it.
#include "support/node_rig.hpp"

#include <sluice/codec/channel_protocol.hpp>

namespace sluice::test {
namespace {

namespace protocol = channel_protocol;

bytes opening()
{
    bytes out;
    protocol::encode(
        out, protocol::request{protocol::open{
                 .id = 1, .name = "x", .handle = {std::byte{1}}, .options = {.capacity = 4}}});
    return out;
}

/// A client with a session, and with links named "p" to and from $channels once they are attached.
struct NodeChannelPort : testing::Test {
    node_rig n;
    std::unique_ptr<raw_client> c = n.client();

    void requests() { c->sender("p", "$channels"); }
    void replies(std::string const& name = "p")
    {
        c->receiver(name, "$channels");
        c->credit(name, 10);
    }
    /// @param on the handle of the link for requests
    void ask(bytes const& request, std::uint32_t on = 0)
    {
        c->deliver("p", request, [on](transfer& t) {
            t.handle = handle{on};
            t.settled = true;
        });
    }
    void bye()
    {
        c->bye();
        n.expect_serves_others();
    }
};

TEST_F(NodeChannelPort, IsTwoLinksOfOneName)
{
    requests();
    replies();
    std::ignore = c->wire();
    ask(opening());
    EXPECT_EQ(c->wire_without_flows().find("transfer(h1 id=0 settled "), 0u);
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().channels == 1; }));
    bye();
}

TEST_F(NodeChannelPort, MayBeginWithTheLinkForReplies)
{
    replies();
    requests();
    std::ignore = c->wire();
    ask(opening(), 1);
    EXPECT_EQ(c->wire_without_flows().find("transfer(h0 id=0 settled "), 0u);
    bye();
}

TEST_F(NodeChannelPort, OfOneLinkTakesNoRequest)
{
    requests();
    replies("another");
    std::ignore = c->wire();
    ask(opening());
    EXPECT_EQ(c->wire_without_flows(), "detach(h0 closed amqp:precondition-failed)");
    EXPECT_NE(c->description<detach>().find("no link 'p' from $channels"), std::string::npos);
    EXPECT_EQ(n.node.stats().channels, 0u);
    bye();
}

TEST_F(NodeChannelPort, OfOneConnectionAreLimited)
{
    for (int i = 0; i < 64; ++i) {
        c->sender("p" + std::to_string(i), std::string{protocol::address});
        std::ignore = c->wire();
    }
    c->sender("more", std::string{protocol::address});
    EXPECT_EQ(c->wire_without_flows(), "attach(more h64 receiver source= target=null) "
                                       "detach(h64 closed amqp:resource-limit-exceeded)");
    c->receiver("p0", std::string{protocol::address});
    EXPECT_EQ(c->wire_without_flows().find("null"), std::string::npos);
    bye();
}

TEST_F(NodeChannelPort, EndsWithARequestThatIsNone)
{
    requests();
    replies();
    std::ignore = c->wire();
    ask(text_message("no list"));
    EXPECT_EQ(c->wire_without_flows(), "detach(h0 closed amqp:decode-error)");
    c->send(detach{.handle = handle{0}, .closed = true});
    EXPECT_EQ(c->wire_without_flows(), "detach(h1 closed amqp:resource-deleted)");
    bye();
}

TEST_F(NodeChannelPort, EndsWithOneOfItsLinks)
{
    requests();
    replies();
    std::ignore = c->wire();
    ask(opening());
    std::ignore = c->wire();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().channels == 1; }));
    c->detach_link("p");
    auto const text = c->wire_without_flows();
    EXPECT_NE(text.find("detach(h0 closed amqp:resource-deleted)"), std::string::npos) << text;
    bye();
}

// The name is that of one link, whatever it leads to: no two share a port.
TEST_F(NodeChannelPort, IsNobodysWhoTakesItsNameOverByALinkToTheCoordinator)
{
    auto const to = encoded(coordinator{});
    requests();
    c->sender("p", "", [&](attach& a, source&, target&) { a.target = {to}; });
    requests();
    replies();
    std::ignore = c->wire();
    c->detach_link("p");
    std::ignore = c->wire();
    c->reset();
    EXPECT_TRUE(n.comes_to([&] { return n.node.stats().connections == 0; }));
    n.expect_serves_others();
}

}  // namespace
}  // namespace sluice::test
