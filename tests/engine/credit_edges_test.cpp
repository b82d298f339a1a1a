// What mechanical mutants of senders and receivers found untested: credit that is given back
// without a drain, and states of exactly the size that fits.
#include "support/engine_peer.hpp"

#include <sluice/codec/writer.hpp>
#include <sluice/engine/receiver.hpp>
#include <sluice/engine/sender.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

struct CreditGivenBack : testing::Test {
    CreditGivenBack() : r{(peer.open_session(), peer.open_receiver())}
    {
        r.set_credit(10);
        peer.forget_so_far();
    }
    void gives_back(std::uint32_t count, std::optional<std::uint32_t> left)
    {
        peer.send(flow{.next_incoming_id = transfer_id{0},
                       .incoming_window = 100,
                       .handle = handle{0},
                       .delivery_count = sequence_number{count},
                       .link_credit = left});
    }
    /// How many deliveries the peer can send until its link is detached.
    std::uint32_t usable()
    {
        for (std::uint32_t i = 0;; ++i) {
            peer.send(engine_peer::first_frame(i), "x");
            if (peer.events().find("link_detached") != std::string::npos)
                return i;
        }
    }
    engine_peer peer;
    e::receiver& r;
};

TEST_F(CreditGivenBack, IsGoneWithoutADrainToo)
{
    gives_back(4, 6);
    EXPECT_EQ(r.credit(), 6u);
    EXPECT_EQ(usable(), 6u);
}

TEST_F(CreditGivenBack, IsGoneEvenIfTheFlowDoesNotSayWhatIsLeft)
{
    gives_back(4, std::nullopt);
    EXPECT_EQ(r.credit(), 6u);
    EXPECT_EQ(usable(), 6u);
}

TEST(CreditOnTheWire, IsNotRepeatedWhenTheSendersAttachComes)
{
    engine_peer peer;
    auto& session = peer.open_session();
    auto* const r = *session.attach_receiver(link_named("R", 10));
    EXPECT_EQ(peer.wire(), "attach(R h0 receiver) flow(nii=0 iw=2048 noi=0 h0 lc=10)");
    auto const source = some_source();
    peer.send(attach{.name = "R",
                     .role = role::sender,
                     .source = {source},
                     .initial_delivery_count = sequence_number{0}});
    EXPECT_EQ(peer.events(), "link_attached(R)");
    EXPECT_EQ(peer.wire(), "");
    EXPECT_EQ(r->credit(), 10u);
}

TEST(DeliveryStateOfOurs, MayBeAsLargeAsItsFrameAllows)
{
    engine_peer peer{{.outgoing_frame_max = 512}};
    peer.open_session();
    auto& r = peer.open_receiver();
    r.set_credit(2);
    peer.forget_so_far();
    peer.send(engine_peer::first_frame(0), "x");
    peer.forget_so_far();
    // A state that this standard does not know, of a chosen size: described list, one binary.
    auto const state_of = [](std::size_t size) {
        bytes out;
        append_descriptor(out, 0x1234u);
        auto const text = octets_of(std::string(size - out.size() - 5, 's'));
        out.push_back(std::byte{0xb0});
        for (auto const shift : {24u, 16u, 8u, 0u})
            out.push_back(static_cast<std::byte>(text.size() >> shift));
        out.insert(out.end(), text.begin(), text.end());
        return out;
    };
    auto const too_large = state_of(449);
    auto const fits = state_of(448);
    ASSERT_EQ(fits.size(), 448u);
    auto& d = *peer.deliveries.at(0);
    EXPECT_EQ(r.update(d, {too_large}), error::too_large);
    EXPECT_EQ(r.settle(d, {too_large}), error::too_large);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_FALSE(r.settle(d, {fits}));
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_LE(frames[0].octets.size(), 512u);
}

TEST(StateOfATransfer, MayHaveTwoHundredAndFiftySixOctets)
{
    engine_peer peer;
    peer.open_session();
    auto& s = peer.open_sender();
    peer.grant(1, s);
    auto const body = octets_of("x");
    bytes state;
    append_descriptor(state, 0x1234u);
    append(state, std::string(256 - state.size() - 2, 's'));
    ASSERT_EQ(state.size(), 256u);
    EXPECT_TRUE(s.send({body}, {.state = {state}}));
}

}  // namespace
}  // namespace sluice::test
