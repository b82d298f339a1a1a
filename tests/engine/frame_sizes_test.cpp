// What does not fit a frame that the peer takes is refused before anything is said of it: open,
// begin, attach. [2.4.1, 2.7.1]
#include "support/engine_peer.hpp"

#include <sluice/codec/writer.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

e::connection_options opening(std::string id, bool listener = false)
{
    e::connection_options o;
    o.container_id = std::move(id);
    o.listener = listener;
    return o;
}

open small_frames() { return {.container_id = "peer", .max_frame_size = 512}; }

/// A map of that many octets and a few more.
bytes properties_of(std::size_t octets)
{
    bytes out;
    map_writer map{out};
    map.add(symbol{"p"}, std::string_view{std::string(octets, 'p')});
    map.finish();
    return out;
}

std::vector<std::string> capability_of(std::size_t octets) { return {std::string(octets, 'c')}; }

/// The longest name with which a container may open.
std::size_t longest_id()
{
    for (std::size_t n = 512; n > 0; --n)
        if (!e::connection{opening(std::string(n, 'i'))}.open())
            return n;
    return 0;
}

TEST(OpenFrame, HasFiveHundredAndTwelveOctetsAtMost)
{
    auto const longest = longest_id();
    EXPECT_GT(longest, 450u);
    engine_peer fits{opening(std::string(longest, 'i'))};
    EXPECT_FALSE(fits.engine.open());
    auto const seen = fits.frames();
    ASSERT_EQ(seen.size(), 2u);  // the header is the first

    engine_peer peer{opening(std::string(longest + 1, 'i'))};
    EXPECT_EQ(peer.engine.open(), error::too_large);
    EXPECT_EQ(peer.frames().size(), 1u);
}

TEST(OpenFrame, IsMeasuredWithItsProperties)
{
    auto o = opening("us");
    o.properties = properties_of(500);
    engine_peer peer{o};
    EXPECT_EQ(peer.engine.open(), error::too_large);
    o.properties.clear();
    o.desired_capabilities = capability_of(500);
    EXPECT_EQ(e::connection{o}.open(), error::too_large);
}

TEST(OpenFrame, OfAListenerMayHaveWhatItsPeerTakes)
{
    auto o = opening("us", true);
    o.properties = properties_of(500);
    engine_peer wide{o};
    wide.send_header();
    wide.send(open{.container_id = "peer"});
    EXPECT_FALSE(wide.engine.open());
    EXPECT_NE(wide.wire().find("open("), std::string::npos);

    engine_peer narrow{o};
    narrow.send_header();
    narrow.send(small_frames());
    EXPECT_EQ(narrow.engine.open(), error::too_large);
    EXPECT_EQ(narrow.wire().find("open("), std::string::npos);
    EXPECT_TRUE(narrow.engine.output_done());
    EXPECT_NE(narrow.events().find("closed"), std::string::npos);
}

TEST(OpenFrame, ThatRefusesSaysNoMoreThanItHasTo)
{
    auto o = opening("us", true);
    o.properties = properties_of(500);
    engine_peer peer{o};
    peer.send_header();
    peer.send(small_frames());
    EXPECT_FALSE(
        peer.engine.close({.condition = "amqp:not-allowed", .description = {}, .info = {}}));
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("open("), std::string::npos) << wire;
    EXPECT_NE(wire.find("close("), std::string::npos) << wire;
}

TEST(BeginFrame, BeyondWhatThePeerTakesIsRefusedHere)
{
    engine_peer peer;
    peer.open(small_frames());
    e::session_options o;
    o.properties = properties_of(500);
    EXPECT_EQ(peer.engine.begin(o).error(), error::too_large);
    o.properties.clear();
    o.offered_capabilities = capability_of(500);
    EXPECT_EQ(peer.engine.begin(o).error(), error::too_large);
    EXPECT_EQ(peer.wire(), "");
    EXPECT_TRUE(peer.engine.begin());
    EXPECT_EQ(peer.frames().at(0).channel(), 0) << "the channel was given back";
}

TEST(BeginFrame, OfAListenerBeyondWhatThePeerTakesCanStillBeRefused)
{
    engine_peer peer{opening("us", true)};
    peer.open(small_frames());
    peer.send(engine_peer::usual_begin());
    std::ignore = peer.events();
    e::session_options o;
    o.properties = properties_of(500);
    EXPECT_EQ(peer.session->begin(o), error::too_large);
    EXPECT_FALSE(peer.session->end());
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("begin("), std::string::npos) << wire;
    EXPECT_NE(wire.find("end("), std::string::npos) << wire;
}

TEST(AttachFrame, BeyondWhatThePeerTakesIsRefusedHere)
{
    engine_peer peer;
    peer.open(small_frames());
    peer.open_session();
    auto const refused = [&](auto change) {
        auto o = link_named("L");
        change(o);
        EXPECT_EQ(peer.session->attach_sender(o).error(), error::too_large);
    };
    refused([](auto& o) { o.name = std::string(500, 'n'); });
    refused([](auto& o) { o.properties = properties_of(500); });
    refused([](auto& o) { o.desired_capabilities = capability_of(500); });
    refused([](auto& o) { o.offered_capabilities = capability_of(500); });
    EXPECT_EQ(peer.wire(), "");
    auto o = link_named(std::string(400, 'n'));  // fits, if only just
    ASSERT_TRUE(peer.session->attach_sender(o));
    EXPECT_EQ((*peer.session->attach_receiver(o))->local_handle().value, 1u);
    EXPECT_EQ(peer.frames().size(), 2u);
}

TEST(AttachFrame, ThatAnswersBeyondWhatThePeerTakesIsRefusedHereAndTheLinkCanBe)
{
    engine_peer peer{opening("us", true)};
    peer.open(small_frames());
    peer.open_session();
    auto const address = encoded(std::string_view{std::string(600, 'a')});
    auto const source = encoded(sluice::source{.address = {address}});
    peer.send(attach{.name = "r", .role = role::receiver, .source = {source}});
    std::ignore = peer.events();
    e::link_options o;
    o.source = source;
    o.target = some_target();
    EXPECT_EQ(peer.link->attach(o), error::too_large);
    EXPECT_FALSE(peer.link->refuse({.condition = "amqp:not-found", .description = {}, .info = {}}));
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("attach("), std::string::npos) << wire;
    EXPECT_NE(wire.find("detach(h0 closed amqp:not-found)"), std::string::npos) << wire;
}

TEST(AttachFrame, WithANameThatNoAnswerFitsEndsItsSession)
{
    engine_peer peer{opening("us", true)};
    peer.open(small_frames());
    peer.open_session();
    peer.send(attach{.name = std::string(440, 'n'), .role = role::receiver});
    EXPECT_NE(peer.events().find("link_requested"), std::string::npos);
    ASSERT_FALSE(peer.link->refuse({.condition = "amqp:not-found", .description = {}, .info = {}}));
    for (auto const& f : peer.frames()) EXPECT_LE(f.octets.size(), 512u);

    peer.send(attach{.name = std::string(500, 'm'), .handle = handle{1}, .role = role::receiver});
    EXPECT_EQ(peer.wire(), "end(amqp:frame-size-too-small)");
    EXPECT_NE(peer.session->error().description.find("500 octets"), std::string::npos);
}

// It is the receiver's own state, and larger than what it takes itself: only that it is settled
// is said.
TEST(DispositionFrame, OfASenderRepeatsNoStateThatThePeerDoesNotTake)
{
    engine_peer peer;
    peer.open(small_frames());
    peer.open_session();
    auto options = link_named("S");
    options.rcv_settle_mode = receiver_settle_mode::second;
    options.auto_settle = true;
    auto& s = peer.open_sender(options, {.rcv_settle_mode = receiver_settle_mode::second});
    peer.grant(1, s);
    auto const body = octets_of("x");
    ASSERT_TRUE(s.send({body, {}}));
    peer.forget_so_far();
    std::string const text(2'000, 'x');
    auto const state = encoded(delivery_state{
        rejected{.error = error_view{.condition = symbol{"a:b"}, .description = text}}});
    peer.send(disposition{.role = role::receiver, .first = delivery_number{0}, .state = {state}});
    EXPECT_EQ(peer.wire(), "disposition(sender 0 settled)");
    EXPECT_NE(peer.events().find("outcome"), std::string::npos);
}

TEST(FramesAskedForBeforeThePeersOpen, EndUnsentIfThePeerDoesNotTakeThem)
{
    engine_peer peer;
    std::ignore = peer.engine.open();
    std::ignore = peer.frames();
    e::session_options large;
    large.properties = properties_of(500);
    auto* const gone = *peer.engine.begin(large);
    auto* const kept = *peer.engine.begin();
    auto* const link = *kept->attach_sender(link_named(std::string(500, 'n')));
    peer.send_header();
    peer.send(small_frames());
    EXPECT_EQ(gone->state(), e::session_state::ended);
    EXPECT_EQ(link->state(), e::link_state::ended);
    auto const wire = peer.wire();
    EXPECT_NE(wire.find("begin("), std::string::npos) << wire;
    EXPECT_EQ(wire.find("attach("), std::string::npos) << wire;
    EXPECT_EQ(wire.find("begin("), wire.rfind("begin(")) << wire;
}

}  // namespace
}  // namespace sluice::test
