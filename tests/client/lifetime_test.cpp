// Closing and destroying things inside their own callbacks, and in any order.
#include "support/client_rig.hpp"

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::delivery;
using client::outcome;

TEST(Lifetime, EverythingMayBeClosedAndDroppedInsideAMessageHandler)
{
    client_rig rig;
    auto receiver = std::make_shared<client::receiver>(rig.receiver());
    auto sender = std::make_shared<client::sender>(rig.sender(1));
    std::promise<void> done;
    receiver->on_message([&, receiver, sender](delivery d) mutable {
        d.accept();
        receiver->on_message({});
        receiver->async_close([](error_code) {});
        receiver.reset();
        sender->async_close([](error_code) {});
        sender.reset();
        rig.session.async_end([](error_code) {});
        rig.connection.async_close([](error_code) {});
        done.set_value();
    });
    receiver.reset();
    sender.reset();
    rig.peer.deliver(0, data_message("x"));
    get(done.get_future());
    rig.peer.skip_to<end>();
}

TEST(Lifetime, BlockingCallsWorkInsideAHandler)
{
    client_rig rig;
    auto const receiver = rig.receiver();
    auto const sender = rig.sender(1);
    std::promise<bool> accepted;
    receiver.on_message([&](delivery d) {
        auto const outcome = sender.send("reply");
        d.accept();
        accepted.set_value(outcome.accepted());
    });
    rig.peer.deliver(0, data_message("x"));
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(accepted.get_future()));
}

TEST(Lifetime, AnOutcomesHandlerMayDropTheLastHandles)
{
    client_rig rig;
    auto sender = std::make_shared<client::sender>(rig.sender(1));
    std::promise<void> done;
    auto const& s = *sender;
    s.async_send("x", [&, sender](error_code, outcome) mutable {
        sender.reset();
        rig.session = {};
        rig.connection = {};
        done.set_value();
    });
    sender.reset();
    rig.peer.skip_to<transfer>();
    rig.peer.settle(0, 0);
    get(done.get_future());
    rig.peer.skip_to<close>();  // nobody holds the connection any more
    rig.peer.send(end{});
    rig.peer.send(close{});
    EXPECT_TRUE(rig.peer.at_end());
}

TEST(Lifetime, TheContainerMayGoInsideAHandler)
{
    scripted_peer peer;
    auto container = std::make_unique<client::container>();
    auto connecting = in_background([&] { return container->connect(peer.url()); });
    peer.open_connection();
    auto connection = get(connecting).value.value();
    auto opening = in_background([&] { return connection.open_receiver("q"); });
    peer.begin_session();
    peer.attach_link();
    auto const receiver = get(opening).value.value();
    std::promise<void> done;
    receiver.on_message([&](delivery) {
        container.reset();
        done.set_value();
    });
    peer.deliver(0, data_message("x"));
    get(done.get_future());
    EXPECT_EQ(connection.error()->code, make_error_code(error::operation_aborted));
}

TEST(Lifetime, HandlesOutliveTheirContainer)
{
    client::sender sender;
    client::receiver receiver;
    client::connection connection;
    delivery held;
    {
        client_rig rig;
        sender = rig.sender();
        receiver = rig.receiver();
        connection = rig.connection;
        rig.peer.deliver(0, data_message("x"), false, handle{1});
        held = get(in_background([&] { return receiver.receive(); })).value.value();
    }
    EXPECT_TRUE(get(in_background([&] { sender.send("x"); })).code);
    EXPECT_TRUE(get(in_background([&] { receiver.receive(); })).code);
    EXPECT_TRUE(get(in_background([&] { connection.begin(); })).code);
    EXPECT_EQ(held.message().body_text(), "x");
    EXPECT_EQ(get(in_background([&] { held.accept(); })).code, error::stale_delivery);
    receiver.add_credit(1);
    receiver.on_message([](delivery) {});
}

// The last handle goes after the connection: nobody is left to give the delivery back to.
TEST(Lifetime, WhatNobodyHasReceivedGoesWithTheLastHandle)
{
    auto const told = std::make_shared<int>(0);
    {
        client::connection_options options;
        options.on_finding = [told](auto const&) {};  // goes with the connection
        client_rig rig{{.next_outgoing_id = transfer_id{0}, .next_delivery_id = delivery_number{0}},
                       options};
        auto receiver = rig.receiver();
        rig.peer.deliver(0, data_message("received"), false, handle{0});
        rig.peer.deliver(1, data_message("not received"), false, handle{0});
        EXPECT_EQ(
            get(in_background([&] { return receiver.receive(); })).value->message().body_text(),
            "received");
        auto closing = in_background([&] { rig.connection.close(); });
        rig.peer.skip_to<close>();
        rig.peer.send(close{});
        get(closing);
        receiver = {};
    }
    EXPECT_EQ(told.use_count(), 1) << "something of the connection is still there";
}

TEST(Lifetime, ALateDispositionForAClosedSenderIsIgnored)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    std::promise<error_code> sent;
    sender.async_send("x", [&](error_code ec, outcome) { sent.set_value(ec); });
    rig.peer.skip_to<transfer>();
    std::promise<void> closed;
    sender.async_close([&](error_code) { closed.set_value(); });
    rig.peer.skip_to<detach>();
    rig.peer.send(detach{.handle = handle{0}, .closed = true});
    rig.peer.settle(0, 0);
    get(closed.get_future());
    EXPECT_EQ(get(sent.get_future()), error::outcome_unknown);
    rig.sender(1);  // the session is none the worse
}

TEST(Lifetime, DroppingTheLastHandleClosesTheConnection)
{
    scripted_peer peer;
    client::container c;
    auto connecting = in_background([&] { return c.connect(peer.url()); });
    peer.open_connection();
    get(connecting);
    peer.expect<close>();
    peer.send(close{});
    EXPECT_TRUE(peer.at_end());
}

TEST(Lifetime, ALinkKeepsItsConnectionOpen)
{
    scripted_peer peer;
    client::container c;
    auto opening = in_background([&] { return c.connect(peer.url()).open_sender("q"); });
    peer.open_connection();
    auto const begun = peer.begin_session();
    peer.attach_link();
    peer.grant(1, begun->next_outgoing_id.value());
    {
        auto const sender = get(opening).value.value();
        auto call = in_background([&] { return sender.send("x"); });
        auto const t = peer.skip_to<transfer>();
        peer.settle(t->delivery_id->value(), t->delivery_id->value());
        EXPECT_TRUE(get(call).value->accepted());
    }
    peer.skip_to<detach>();
}

}  // namespace
}  // namespace sluice::test
