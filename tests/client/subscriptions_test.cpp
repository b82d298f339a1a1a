// Subscriptions that outlive their links: who ends them, and who does not.
#include "support/client_rig.hpp"

#include <sluice/client/source_filters.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

TEST(Subscriptions, GoOnWhenTheLastHandleGoes)
{
    client_rig rig;
    auto receiver = rig.receiver(client::subscribe({.name = "audit", .durable = true}));
    EXPECT_EQ(receiver.name(), "audit");
    receiver = {};
    EXPECT_FALSE(rig.peer.skip_to<detach>()->closed);
}

TEST(Subscriptions, EndWhenTheirReceiverIsClosed)
{
    client_rig rig;
    auto const receiver = rig.receiver(client::subscribe({.name = "audit", .durable = true}));
    auto closing = in_background([&] { receiver.close(); });
    auto const said = rig.peer.skip_to<detach>();
    EXPECT_TRUE(said->closed);
    rig.peer.send(detach{.handle = said->handle, .closed = true});
    EXPECT_FALSE(get(closing).code);
}

TEST(Subscriptions, OtherReceiversCloseTheirLinkWithTheLastHandle)
{
    client_rig rig;
    auto receiver = rig.receiver();
    receiver = {};
    EXPECT_TRUE(rig.peer.skip_to<detach>()->closed);
}

}  // namespace
}  // namespace sluice::test
