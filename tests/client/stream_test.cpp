// Streamed messages, both ways.
#include "support/client_rig.hpp"

#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using client::outcome;

TEST(Stream, PartsGoOutAsTheyCome)
{
    client_rig rig;
    auto const sender = rig.sender(1);
    auto stream = sender.stream();
    get(in_background([&] { stream.write_data(octets("ab")); }));
    auto const first = rig.peer.skip_to<transfer>();
    EXPECT_TRUE(first->more);
    get(in_background([&] { stream.write_data(octets("cd")); }));
    auto call = in_background([&] { return stream.finish(); });
    bytes all{first.payload.begin(), first.payload.end()};
    while (true) {
        auto const t = rig.peer.skip_to<transfer>();
        all.insert(all.end(), t.payload.begin(), t.payload.end());
        if (!t->more)
            break;
    }
    message_view m;
    ASSERT_FALSE(decode(all, m));
    EXPECT_EQ(m.body_sections, 2u);
    EXPECT_EQ(text_of(m.data(1)), "cd");
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).value->accepted());
    EXPECT_EQ(get(in_background([&] { stream.write(octets("x")); })).code, error::invalid_state);
}

TEST(Stream, AFullBufferHoldsTheWriterBack)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto stream = sender.stream({}, 1024);
    get(in_background([&] { return stream.write(bytes(1024)); }));
    auto waiting = in_background([&] { return stream.write(bytes(3000)); });
    EXPECT_NE(waiting.wait_for(std::chrono::milliseconds{0}), std::future_status::ready);
    rig.peer.grant(1, 0);
    EXPECT_EQ(get(waiting).value, 3000u);
    auto call = in_background([&] { return stream.finish(); });
    std::size_t size = 0;
    while (true) {
        auto const t = rig.peer.skip_to<transfer>();
        size += t.payload.size();
        if (!t->more)
            break;
    }
    EXPECT_EQ(size, 4024u);
    rig.peer.settle(0, 0);
    EXPECT_TRUE(get(call).value);
}

TEST(Stream, ASectionWhoseSizeHasMoreThan32BitsIsRefused)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto stream = sender.stream({}, 1024);
    auto const size = std::size_t{1} << 32;
    std::byte const first{};
    auto writing = in_background([&] { return stream.write_data({&first, size}); });  // not read
    EXPECT_EQ(get(writing).code, error::invalid_argument);
    EXPECT_EQ(get(in_background([&] { return stream.write_data(octets("ab")); })).value, 2u);
}

TEST(Stream, AnAbortIsToldToThePeer)
{
    client_rig rig;
    auto const sender = rig.sender(2);
    auto stream = sender.stream();
    get(in_background([&] { stream.write(octets("ab")); }));
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->more);
    stream.abort();
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->aborted);
    EXPECT_EQ(get(in_background([&] { stream.finish(); })).code, error::operation_aborted);
}

TEST(Stream, DroppingTheLastHandleAborts)
{
    client_rig rig;
    auto const sender = rig.sender(2);
    {
        auto stream = sender.stream();
        get(in_background([&] { stream.write(octets("ab")); }));
        EXPECT_TRUE(rig.peer.skip_to<transfer>()->more);
    }
    EXPECT_TRUE(rig.peer.skip_to<transfer>()->aborted);
}

TEST(Stream, TheLinksEndWakesItsWriter)
{
    client_rig rig;
    auto const sender = rig.sender();
    auto stream = sender.stream({}, 1024);
    auto waiting = in_background([&] { return stream.write(bytes(3000)); });
    rig.peer.send(detach{.handle = handle{0},
                         .closed = true,
                         .error = error_view{.condition = "amqp:resource-deleted"}});
    auto const r = get(waiting);
    EXPECT_EQ(r.code, error::link_detached_by_peer);
    EXPECT_NE(r.what.find("amqp:resource-deleted"), std::string::npos) << r.what;
}

TEST(Stream, ADeliveryIsReadWhileItComes)
{
    client_rig rig;
    client::receiver_options o;
    o.streamed = true;
    auto const receiver = rig.receiver(o);
    rig.peer.deliver(0, octets("ab"), false, {}, true);
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    std::byte some[16];
    EXPECT_EQ(get(in_background([&] { return d.read_some(some); })).value, 2u);
    auto waiting = in_background([&] { return d.read_some(some); });
    rig.peer.send(transfer{.handle = handle{0}, .more = false}, 0, octets("cde"));
    EXPECT_EQ(get(waiting).value, 3u);
    EXPECT_EQ(text_of(bytes_view{some, 3}), "cde");
    EXPECT_EQ(get(in_background([&] { return d.read_some(some); })).code, boost::asio::error::eof);
    d.accept();
    EXPECT_TRUE(rig.peer.skip_to<disposition>()->settled);
}

TEST(Stream, AnAbortedDeliveryEndsItsReader)
{
    client_rig rig;
    client::receiver_options o;
    o.streamed = true;
    auto const receiver = rig.receiver(o);
    rig.peer.deliver(0, octets("ab"), false, {}, true);
    auto const d = get(in_background([&] { return receiver.receive(); })).value.value();
    std::byte some[16];
    get(in_background([&] { return d.read_some(some); }));
    auto waiting = in_background([&] { return d.read_some(some); });
    rig.peer.send(transfer{.handle = handle{0}, .aborted = true});
    EXPECT_EQ(get(waiting).code, error::delivery_aborted);
}

}  // namespace
}  // namespace sluice::test
