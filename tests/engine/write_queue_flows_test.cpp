// When a flow is written and what it says. [2.5.6, 2.7.4]
#include "support/engine_peer.hpp"
#include "support/scripted_source.hpp"

#include <sluice/engine/write_queue.hpp>

#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using engine::pull_status;

/// A sender with credit and a receiver on one session, whose first transfer-id is 7.
struct Flows : testing::Test {
    explicit Flows(std::uint32_t first = 7)
    {
        peer.open_session({.next_outgoing_id = transfer_id{first}});
        s = &peer.open_sender();
        r = &peer.open_receiver();
        peer.grant(100, *s);
        peer.forget_so_far();
    }
    std::function<void()> ask()
    {
        return [this] { r->request_flow(); };
    }

    engine_peer peer{{.outgoing_frame_max = 512}};
    e::sender* s = nullptr;
    e::receiver* r = nullptr;
    bytes const body = octets_of("x");
};

struct FlowsAtTheWrap : Flows {
    FlowsAtTheWrap() : Flows{4294967295} {}
};

TEST_F(Flows, AskedForWhileAFrameIsWrittenFollowItWithTheIdAfterIt)
{
    scripted_source source{
        {{pull_status::bytes, 100, ask()}, {pull_status::bytes, 1000}, {pull_status::end, 5}}};
    std::ignore = s->send(source);
    EXPECT_EQ(peer.wire(),
              "transfer(h0 id=0 more 452 octets) flow(nii=0 iw=2048 noi=8 h1 dc=0 lc=0) "
              "transfer(h0 'bbbbb')");
    EXPECT_EQ(peer.session->counters().flows_deferred, 1u);
}

TEST_F(FlowsAtTheWrap, AskedForWhileAFrameIsWrittenFollowItWithTheIdAfterIt)
{
    scripted_source source{{{pull_status::end, 5, ask()}}};
    std::ignore = s->send(source);
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 'bbbbb') flow(nii=0 iw=2048 noi=0 h1 dc=0 lc=0)");
}

TEST_F(Flows, WaitForOneFrameOfADeliveryAndNotForTheWholeOfIt)
{
    auto const large = octets_of(std::string(5000, 'y'));
    std::ignore = s->send({large});
    r->request_flow();
    auto const frames = peer.frames();
    EXPECT_EQ(frames.at(0).text(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=0)");
    EXPECT_GT(frames.size(), 10u);
    for (std::size_t i = 1; i < frames.size(); ++i) EXPECT_EQ(frames[i].descriptor(), 0x14u) << i;
}

TEST_F(Flows, AskedForInEveryFrameTakeTurnsWithTheFrames)
{
    scripted_source source;
    for (auto i = 0; i < 4; ++i) source.script.push_back({pull_status::bytes, 1000, ask()});
    source.script.push_back({pull_status::end, 0});
    std::ignore = s->send(source);
    std::string order;
    for (auto const& frame : peer.frames()) order += frame.descriptor() == 0x13 ? 'f' : 't';
    EXPECT_EQ(order, "tftftftft");
    EXPECT_EQ(peer.session->counters().flows_deferred, 4u);
}

TEST_F(Flows, WrittenTogetherCarryTheSameId)
{
    auto& r2 = peer.open_receiver(link_named("R2"));
    peer.forget_so_far();
    std::ignore = s->send({body}, {.settled = true});
    std::ignore = s->send({body}, {.settled = true});
    scripted_source source{{{pull_status::end, 1, [&] {
                                 r->request_flow();
                                 r2.request_flow();
                                 peer.session->request_flow();
                             }}}};
    std::ignore = s->send(source, {.settled = true});
    std::ignore = s->send({body}, {.settled = true});
    EXPECT_EQ(peer.wire(), "transfer(h0 id=0 settled 'x') transfer(h0 id=1 settled 'x') "
                           "transfer(h0 id=2 settled 'b') flow(nii=0 iw=2048 noi=10 h1 dc=0 lc=0) "
                           "flow(nii=0 iw=2048 noi=10 h2 dc=0 lc=0) transfer(h0 id=3 settled 'x')");
}

TEST_F(Flows, ForOneLinkBecomeOneWithTheLatestNumbers)
{
    r->set_credit(1);
    r->set_credit(5);
    r->request_flow(true);
    r->add_credit(2);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=7 echo)");
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=7)") << "an echo is asked for once";
}

TEST_F(Flows, ReadTheirNumbersWhenTheyAreWrittenAndNotWhenTheyAreAskedFor)
{
    r->set_credit(10);
    peer.send(transfer{
        .handle = handle{1}, .delivery_id = delivery_number{0}, .delivery_tag = bytes_view{body}});
    EXPECT_EQ(peer.events(), "link_detached(R limit amqp:link:transfer-limit-exceeded)")
        << "the credit was not on the wire yet";

    auto& other = peer.open_receiver(link_named("O"));
    other.set_credit(10);
    peer.forget_so_far();
    other.request_flow();
    peer.send(transfer{.handle = other.local_handle(),
                       .delivery_id = delivery_number{1},
                       .delivery_tag = bytes_view{body}});
    EXPECT_EQ(peer.wire(), "flow(nii=2 iw=2048 noi=7 h2 dc=1 lc=9)");
}

TEST_F(Flows, OfALinkAnswerForTheSessionToo)
{
    peer.session->request_flow(true);
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=0 echo)");
    r->request_flow();
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=0)");
}

TEST_F(Flows, OfTheSessionNameNoLink)
{
    peer.session->request_flow(true);
    auto const frames = peer.frames();
    ASSERT_EQ(frames.size(), 1u);
    auto const f = frames[0].as<flow>();
    EXPECT_FALSE(f.handle || f.delivery_count || f.link_credit || f.available || f.drain);
    EXPECT_TRUE(f.echo);
}

TEST_F(Flows, AnswerASessionsEchoWithoutAnEcho)
{
    peer.send(flow{.next_incoming_id = transfer_id{7}, .incoming_window = 9, .echo = true});
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7)");
}

TEST_F(Flows, AnswerAReceiversEchoWithoutAnEcho)
{
    r->set_credit(3);
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=3)");
    peer.send(flow{.next_incoming_id = transfer_id{7},
                   .incoming_window = 9,
                   .handle = handle{1},
                   .delivery_count = sequence_number{0},
                   .link_credit = 3u,
                   .echo = true});
    EXPECT_EQ(peer.wire(), "flow(nii=0 iw=2048 noi=7 h1 dc=0 lc=3)");
}

TEST_F(Flows, AskedForByARoundOfFlowsWaitForATransfer)
{
    std::vector<e::receiver*> many{r};
    for (auto i = 0; i < 39; ++i)
        many.push_back(&peer.open_receiver(link_named("M" + std::to_string(i))));
    std::ignore = s->send({body}, {.settled = true});
    for (auto* const one : many) one->request_flow();
    auto const first = peer.wire_once(512);  // some of the round
    EXPECT_EQ(first.find("transfer"), std::string::npos);
    many[0]->request_flow();  // its flow of this round is out already
    std::string order;
    for (auto const& frame : peer.frames()) order += frame.descriptor() == 0x13 ? 'f' : 't';
    EXPECT_EQ(order.substr(order.size() - 3), "ftf")
        << "the round, a transfer, then the flow of the next round";
    EXPECT_EQ(std::count(order.begin(), order.end(), 't'), 1);
}

TEST_F(Flows, AskedForByARoundAreWrittenAtOnceIfNoTransferMayGo)
{
    std::vector<e::receiver*> many{r};
    for (auto i = 0; i < 39; ++i)
        many.push_back(&peer.open_receiver(link_named("M" + std::to_string(i))));
    for (auto* const one : many) one->request_flow();
    std::ignore = peer.wire_once(512);
    many[0]->request_flow();
    auto const rest = peer.wire();
    EXPECT_NE(rest.find("h1 "), std::string::npos) << rest;
}

TEST(FlowsBeforeTheirTime, LeaveOutWhatThePeersBeginAndAttachWillTell)
{
    engine_peer peer;
    peer.open();
    peer.session = *peer.engine.begin();
    auto* const r = *peer.session->attach_receiver(link_named("R"));
    r->set_credit(10);
    EXPECT_EQ(peer.wire(),
              "begin(noi=0 iw=2048) attach(R h0 receiver) flow(nii=- iw=2048 noi=0 h0 lc=10)");
    peer.now += e::time_point{200};
    peer.send(
        begin{.remote_channel = std::uint16_t{0}, .next_outgoing_id = transfer_id{4294967292}});
    peer.session->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4294967292 iw=2048 noi=0)");
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4294967292 iw=2048 noi=0 h0 lc=10)")
        << "the sender's attach is still to come";
    peer.answer(*r, {.initial_delivery_count = sequence_number{4294967290}});
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=4294967292 iw=2048 noi=0 h0 dc=4294967290 lc=10)");
    for (std::uint32_t id = 0; id < 10; ++id) peer.send(engine_peer::first_frame(id), "x");
    EXPECT_EQ(peer.deliveries.size(), 10u);
    r->request_flow();
    EXPECT_EQ(peer.wire(), "flow(nii=6 iw=2048 noi=0 h0 dc=4 lc=0)");
}

TEST(FlowsBeforeTheirTime, WaitForTheirBeginAndAttach)
{
    engine_peer peer;
    peer.open();
    peer.session = *peer.engine.begin();
    peer.session->request_flow();
    std::ignore = peer.session->attach_sender(link_named("S"));
    auto* const r = *peer.session->attach_receiver(link_named("R"));
    r->set_credit(1);
    EXPECT_EQ(peer.wire(), "begin(noi=0 iw=2048) attach(S h0 sender) flow(nii=- iw=2048 noi=0)");
    auto theirs = engine_peer::usual_begin();
    theirs.remote_channel = std::uint16_t{0};
    peer.send(theirs);
    EXPECT_EQ(peer.wire(), "attach(R h1 receiver) flow(nii=0 iw=2048 noi=0 h1 lc=1)");
}

TEST(FlowsBeforeTheirTime, OfALinkThatIsAskedForWaitForItsAcceptance)
{
    engine_peer peer{{.listener = true}};
    peer.open_session();
    peer.send(attach{.name = "L", .initial_delivery_count = sequence_number{5}});
    auto& r = static_cast<e::receiver&>(*peer.link);
    r.request_flow();
    EXPECT_EQ(peer.wire(), "");
    std::ignore = r.attach(link_named(""));
    EXPECT_EQ(peer.wire(), "attach(L h0 receiver) flow(nii=0 iw=2048 noi=0 h0 dc=5 lc=0)");
}

}  // namespace
}  // namespace sluice::test
