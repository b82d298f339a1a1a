// Calls at a port, against a node that answers as the test says.
#include "scripted_hub.hpp"

#include <gtest/gtest.h>

namespace sluice::channels::detail {
namespace {

using namespace std::chrono_literals;
using protocol::status;

struct PortCore : testing::Test, hub_rig {
    static std::string text(errc e) { return category().message(static_cast<int>(e)); }
    static std::string text(sluice::error e) { return make_error_code(e).message(); }
};

TEST_F(PortCore, OpensHandlesOnceTheLinksAreThere)
{
    auto const k = core.add_handle({.name = "jobs"});
    auto const id = core.next_id();
    core.open(id, k, to(id), never);
    auto const s = send(k, "a");
    EXPECT_EQ(said(), "");
    core.on_open();
    EXPECT_EQ(said(), "open#1 jobs");
    opened(id, 7);
    EXPECT_EQ(said(), "select#2 send(7,1,a)");
    EXPECT_EQ(answered(), "1");
    reply(protocol::accepted{.ranges = {{s, s}}});
    EXPECT_EQ(answered(), "2");
    EXPECT_EQ(code(s), "ok");
}

TEST_F(PortCore, AnOpenThatFailsNamesTheChannel)
{
    auto const k = core.add_handle({.name = "jobs"});
    core.on_open();
    auto const id = core.next_id();
    core.open(id, k, to(id), never);
    done(id, status::mismatch, 0, "capacity 4 there, 5 here");
    answered();
    EXPECT_EQ(got.at(id).code, errc::mismatch);
    EXPECT_EQ(got.at(id).text, "channel 'jobs': capacity 4 there, 5 here");
    core.forget_handle(k);
    EXPECT_EQ(core.handles(), 0U);
    EXPECT_EQ(said(), "open#1 jobs");
}

TEST_F(PortCore, SendsBeyondTheWindowWaitHereInTheirOrder)
{
    auto const k = handle("c", 1);
    std::vector<operation_id> ids;
    for (int i = 0; i < 62; ++i) ids.push_back(send(k, std::to_string(i)));
    auto const first = said();
    EXPECT_NE(first.find("send(1,60,59)"), std::string::npos) << first;
    EXPECT_EQ(first.find("send(1,61,60)"), std::string::npos) << first;
    reply(protocol::accepted{.ranges = {{ids[0], ids[0]}}});
    EXPECT_EQ(said(), "select#" + std::to_string(ids[60]) + " send(1,61,60)");
    done(ids[1], status::withdrawn);
    EXPECT_EQ(said(), "select#" + std::to_string(ids[61]) + " send(1,62,61)");
}

TEST_F(PortCore, ACallWhoseRequestNeverFitsTheNodeFailsAndMakesRoomForTheNext)
{
    auto const k = handle("c", 1);
    std::vector<operation_id> ids;
    for (int i = 0; i < 61; ++i) ids.push_back(send(k, std::to_string(i)));
    said();
    core.refuse(ids[0], make_error_code(sluice::error::message_size_exceeded));
    EXPECT_EQ(said(), "select#" + std::to_string(ids[60]) + " send(1,61,60)");
    answered();
    EXPECT_EQ(got.at(ids[0]).code, sluice::error::message_size_exceeded);
    EXPECT_EQ(got.at(ids[0]).text, "channel 'c'");
    core.refuse(ids[0],
                make_error_code(sluice::error::message_size_exceeded));  // nobody's any more
    EXPECT_EQ(answered(), "");
}

TEST_F(PortCore, ATryDoesNotWaitBehindParkedSends)
{
    auto const k = handle("c", 1);
    for (int i = 0; i < 70; ++i) send(k, "x");
    said();
    auto const t = send(k, "now", true);
    EXPECT_EQ(said(), "try#" + std::to_string(t) + " send(1,61,now)");
    done(t, status::otherwise);
    answered();
    EXPECT_EQ(got.at(t).what, came::otherwise);
}

TEST_F(PortCore, ACancelledSendThatIsStillHereNeverGoes)
{
    auto const k = handle("c", 1);
    for (int i = 0; i < 61; ++i) send(k, "x");
    auto const last = send(k, "last");
    said();
    core.cancel(last, make_error_code(sluice::error::operation_aborted), now);
    EXPECT_EQ(answered(), std::to_string(last));
    EXPECT_EQ(code(last), text(sluice::error::operation_aborted));
    EXPECT_EQ(said(), "");
}

TEST_F(PortCore, CancellingAParkedSendAsksTheNode)
{
    auto const k = handle("c", 1);
    auto const a = send(k, "a");
    auto const b = send(k, "b");
    said();
    for (auto const id : {a, b})
        core.cancel(id, make_error_code(sluice::error::operation_aborted), now);
    EXPECT_EQ(said(), "cancel#" + std::to_string(a) + "; cancel#" + std::to_string(b));
    EXPECT_EQ(answered(), "");
    reply(protocol::accepted{.ranges = {{a, a}}});
    done(b, status::withdrawn);
    answered();
    EXPECT_EQ(code(a), "ok") << "taken";
    EXPECT_EQ(code(b), text(sluice::error::operation_aborted)) << "retracted";
}

TEST_F(PortCore, ADeadlineThatPassesIsToldAsSuch)
{
    auto const k = handle("c", 1);
    auto const s = send(k, "a", false, now + 100ms);
    said();
    EXPECT_EQ(core.next_time(), now + 100ms);
    pass(99ms);
    EXPECT_EQ(said(), "");
    pass(1ms);
    EXPECT_EQ(said(), "cancel#" + std::to_string(s));
    done(s, status::withdrawn);
    answered();
    EXPECT_EQ(code(s), text(sluice::error::timed_out));
    EXPECT_EQ(core.next_time(), never);
}

TEST_F(PortCore, WithoutAnAnswerToACancelTheOutcomeIsUnknown)
{
    auto const k = handle("c", 1);
    auto const s = send(k, "a");
    auto const r = recv(k);
    core.cancel(s, make_error_code(sluice::error::operation_aborted), now);
    core.cancel(r, make_error_code(sluice::error::operation_aborted), now);
    pass(port_core::answer_grace);
    answered();
    EXPECT_EQ(code(s), text(sluice::error::outcome_unknown));
    EXPECT_EQ(code(r), text(sluice::error::operation_aborted));
    said();
    value(r, 9, "late");
    EXPECT_EQ(said(), "settle#0 9 released") << "a value whose caller is gone goes back";
    EXPECT_EQ(core.waiting(), 1U);
    done(s, status::withdrawn);
    EXPECT_EQ(core.waiting(), 0U);
}

TEST_F(PortCore, AValueForNobodyGoesBack)
{
    handle("c", 1);
    value(77, 3, "whose?");
    EXPECT_EQ(said(), "settle#0 3 released");
}

TEST_F(PortCore, AValueForASendGoesBack)
{
    auto const k = handle("c", 1);
    auto const s = send(k, "mine");
    said();
    value(s, 3, "whose?");
    EXPECT_EQ(said(), "settle#0 3 released");
    EXPECT_EQ(code(s), "open");
}

TEST_F(PortCore, MoreValuesThanWereAskedForAreNotGathered)
{
    auto const k = handle("c", 1);
    auto const r = recv(k, 2);
    value(r, 1, "a", true);
    value(r, 2, "b", true);
    value(r, 3, "c", true);
    answered();
    EXPECT_EQ(got.at(r).code, errc::protocol_broken);
    EXPECT_NE(got.at(r).text.find("more values than the 2 that call "), std::string::npos)
        << got.at(r).text;
    EXPECT_TRUE(core.ended());
}

TEST_F(PortCore, ARangeOfAcceptedSendsMayNameMoreThanThereAre)
{
    auto const k = handle("c", 1);
    auto const a = send(k, "a");
    for (int i = 0; i < 100; ++i) core.next_id();
    auto const r = recv(k);
    auto const b = send(k, "b");
    reply(protocol::accepted{.ranges = {{0, b}, {b, b + 1}}});
    EXPECT_EQ(answered(), std::to_string(a) + " " + std::to_string(r) + " " + std::to_string(b));
    EXPECT_EQ(core.waiting(), 0U);
}

TEST_F(PortCore, ABatchIsAnsweredWithItsLastValueAndAcknowledgedAsARange)
{
    auto const k = handle("c", 1);
    auto const r = recv(k, 64);
    EXPECT_EQ(said(), "select#" + std::to_string(r) + " recv(1,max=64)");
    value(r, 1, "a", true);
    value(r, 2, "b", true);
    EXPECT_EQ(answered(), "");
    value(r, 3, "c");
    answered();
    auto const& a = got.at(r);
    ASSERT_EQ(a.values.size(), 3U);
    EXPECT_EQ(text_of_octets(a.values[2].octets), "c");
    core.ack(k, a.generation, a.values, now);
    EXPECT_EQ(said(), "ack 1-3");
}

TEST_F(PortCore, BackgroundAcknowledgementsGoByCountAndByTime)
{
    auto const k = handle("c", 1, record(8, true));
    auto const ack = [&](protocol::token t) {
        arrival const v{.token = t};
        core.ack(k, core.generation(), {&v, 1}, now);
    };
    for (auto const t : {3U, 1U, 2U}) ack(t);
    EXPECT_EQ(said(), "");
    EXPECT_EQ(core.next_time(), now + 10ms);
    ack(9);
    EXPECT_EQ(said(), "ack 1-3,9") << "half of the channel's slots";
    EXPECT_EQ(core.next_time(), never);
    ack(10);
    pass(10ms);
    EXPECT_EQ(said(), "ack 10");
}

TEST_F(PortCore, AcknowledgementsThatWaitForLongerThanAClockCountsWaitAllTheSame)
{
    auto patient = record(8, true);
    patient.ack_delay = std::chrono::milliseconds::max();
    auto const k = handle("c", 1, patient);
    arrival const v{.token = 1};
    core.ack(k, core.generation(), {&v, 1}, now);
    EXPECT_GT(core.next_time(), now + 10ms);
    EXPECT_NE(core.next_time(), never);
    EXPECT_EQ(said(), "");
}

TEST_F(PortCore, APickupIsToldBeforeTheApplicationSeesTheValue)
{
    auto const k = handle("c", 1, record(0));
    auto const by_hand = recv(k, 1, true);
    auto const by_itself = recv(k);
    said();
    value(by_hand, 1, "a", false, true);
    value(by_itself, 2, "b", false, true);
    EXPECT_EQ(said(), "pickup 1") << "the other one is acknowledged at once";
}

TEST_F(PortCore, AReceiveOnAClosedChannelIsDrainedAndASendAnError)
{
    auto const k = handle("jobs", 1);
    auto const r = recv(k);
    auto const s = send(k, "a");
    done(r, status::closed);
    done(s, status::closed);
    answered();
    EXPECT_EQ(code(r), "ok");
    EXPECT_EQ(got.at(r).what, came::drained);
    EXPECT_EQ(got.at(s).code, errc::channel_closed);
    EXPECT_EQ(got.at(s).text, "channel 'jobs'");
}

TEST_F(PortCore, ASelectWaitsItsTurnOnEachHandleThatItSendsTo)
{
    auto const a = handle("a", 1);
    auto const b = handle("b", 2);
    for (int i = 0; i < 61; ++i) send(a, "x");
    said();
    std::vector<part> parts(3);
    parts[0] = {.handle = a, .send = true, .octets = octets_of_text("to a")};
    parts[1] = {.handle = b, .send = true, .octets = octets_of_text("to b")};
    parts[2] = {.handle = b};
    auto const s = select(std::move(parts));
    auto const after = send(b, "after");
    EXPECT_EQ(said(), "") << "what is sent to b later stays behind the select";
    done(3, status::withdrawn);
    done(4, status::withdrawn);
    EXPECT_EQ(said(), "select#63 send(1,61,x); select#" + std::to_string(s)
                          + " send(1,62,to a) send(2,1,to b) recv(2); select#"
                          + std::to_string(after) + " send(2,2,after)");
    done(s, status::closed, 1);
    answered();
    EXPECT_EQ(got.at(s).index, 1U);
    EXPECT_EQ(got.at(s).text, "channel 'b' (case 1)");
}

TEST_F(PortCore, StoppingEndsWhatWaitsHereAndTheNodeEndsTheRest)
{
    auto const k = handle("c", 1);
    for (int i = 0; i < 61; ++i) send(k, "x");
    said();
    auto const id = core.next_id();
    core.end(id, k, protocol::ending::stop, to(id), never);
    EXPECT_EQ(said(), "stop(1)");
    EXPECT_EQ(answered(), "62") << "the one beyond the window";
    EXPECT_EQ(got.at(62).code, errc::channel_stopped);
    done(id, status::ok);
    answered();
    EXPECT_EQ(code(id), "ok");
    auto const later = recv(k);
    answered();
    EXPECT_EQ(got.at(later).code, errc::channel_stopped);
    core.forget_handle(k);
    EXPECT_EQ(said(), "") << "it is stopped already";
}

TEST_F(PortCore, AHandleThatNobodyHoldsIsStoppedAtTheNode)
{
    auto const k = handle("c", 4);
    core.forget_handle(k);
    EXPECT_EQ(said(), "stop(4)");
    EXPECT_EQ(core.handles(), 0U);
}

TEST_F(PortCore, AHandleThatGoesWhileItIsOpenedIsStoppedOnceItIs)
{
    core.on_open();
    auto const k = core.add_handle({.name = "c"});
    auto const id = core.next_id();
    core.open(id, k, to(id), now + 10ms);
    pass(10ms);
    EXPECT_EQ(answered(), "1");
    core.forget_handle(k);
    said();
    opened(id, 5);
    EXPECT_EQ(said(), "stop(5)");
    EXPECT_EQ(core.handles(), 0U);
    EXPECT_EQ(core.waiting(), 0U);
}

TEST_F(PortCore, ALateVerdictIsExpired)
{
    auto const k = handle("c", 1);
    auto const id = core.next_id();
    core.settle(id, k, core.generation(), {.token = 5, .reason = {}}, to(id), never);
    EXPECT_EQ(said(), "settle#" + std::to_string(id) + " 5 accepted");
    done(id, status::expired);
    answered();
    EXPECT_EQ(got.at(id).code, errc::expired);
}

TEST_F(PortCore, AMalformedReplyEndsEverythingWithAReason)
{
    auto const k = handle("c", 1);
    auto const r = recv(k);
    core.on_message(octets_of_text("rubbish"));
    answered();
    EXPECT_EQ(got.at(r).code, errc::protocol_broken);
    EXPECT_TRUE(core.ended());
    auto const later = recv(k);
    answered();
    EXPECT_EQ(got.at(later).code, errc::protocol_broken);
}

}  // namespace
}  // namespace sluice::channels::detail
