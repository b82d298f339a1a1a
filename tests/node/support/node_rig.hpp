// A node on a port of its own, and clients of it that a test plays.
#pragma once

#include "raw_client.hpp"

#include <sluice/node/node.hpp>

#include <memory>

namespace sluice::test {

struct node_rig {
    node::node node;
    std::uint16_t port = 0;

    explicit node_rig(node::node_options options = {}) : node{std::move(options)}
    {
        port = node.listen("127.0.0.1", 0).value();
    }

    /// A connection with a session on channel 0, and one for the witness.
    std::unique_ptr<raw_client> client(std::string_view container = "peer")
    {
        auto c = std::make_unique<raw_client>(port);
        c->hello(raw_client::usual_open(container));
        return c;
    }

    /// Asks until `f` is true: what the node does by its own clock cannot be waited for otherwise.
    template <class F>
    testing::AssertionResult comes_to(F f)
    {
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        while (std::chrono::steady_clock::now() < until)
            if (f())
                return testing::AssertionSuccess();
        return testing::AssertionFailure() << "not within twenty seconds";
    }

    /// Somebody else sends and receives as if nothing had happened.
    void expect_serves_others()
    {
        std::ignore = node.declare("others");
        auto c = client("somebody else");
        c->sender("s", "others");
        c->receiver("r", "others");
        std::ignore = c->wire();
        c->deliver("s", "alive");
        c->credit("r", 1);
        EXPECT_EQ(c->wire_without_flows(),
                  "disposition(receiver 0 settled accepted) transfer(h1 id=0 'alive')");
        c->settle(0, 0, accepted{});
        c->bye();
    }
};

}  // namespace sluice::test
