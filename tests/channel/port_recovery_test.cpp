// A port whose links go and come again: what is repeated, and what ends.
#include "scripted_hub.hpp"

#include <gtest/gtest.h>

namespace sluice::channels::detail {
namespace {

using namespace std::chrono_literals;
using protocol::status;

struct PortRecovery : testing::Test, hub_rig {
    void again()
    {
        core.on_lost();
        said();
        core.on_open();
    }
    /// Answers every open of `text` ("open#12 ...; open#13 ...").
    void reopen(std::string const& text, protocol::channel_id channel)
    {
        for (auto at = text.find("open#"); at != std::string::npos; at = text.find("open#", at + 1))
            opened(std::stoull(text.substr(at + 5)), channel++);
    }
};

TEST_F(PortRecovery, WhatHasNoAnswerIsRepeatedInItsOrderWithItsNumbers)
{
    auto const k = handle("c", 7);
    auto const a = send(k, "a");
    auto const b = send(k, "b");
    auto const r = recv(k);
    reply(protocol::accepted{.ranges = {{a, a}}});
    said();
    core.on_lost();
    auto const c = send(k, "c");
    EXPECT_EQ(said(), "");
    core.on_open();
    auto const opening = said();
    EXPECT_NE(opening.find(" c expects 7 no create"), std::string::npos) << opening;
    reopen(opening, 7);
    auto const text = said();
    for (auto const& part : {"select#" + std::to_string(b) + " send(7,2,b)",
                             "select#" + std::to_string(c) + " send(7,3,c)",
                             "select#" + std::to_string(r) + " recv(7)"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_LT(text.find("send(7,2,b)"), text.find("send(7,3,c)"));
    EXPECT_EQ(answered(), std::to_string(a));
    reply(protocol::accepted{.ranges = {{b, c}}});
    answered();
    EXPECT_EQ(code(b), "ok");
    EXPECT_EQ(code(c), "ok");
}

TEST_F(PortRecovery, AChannelThatTheNodeHasNoMoreIsMadeAnew)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    again();
    auto const opening = said();
    auto const id = std::stoull(opening.substr(5));
    done(id, status::not_found);
    EXPECT_EQ(said(), "open#" + std::to_string(id) + " c");
    opened(id, 9);
    EXPECT_EQ(said(), "select#" + std::to_string(s) + " send(9,1,a)");
}

TEST_F(PortRecovery, AChannelThatWasDestroyedMeanwhileStaysSo)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    again();
    done(std::stoull(said().substr(5)), status::destroyed);
    answered();
    EXPECT_EQ(got.at(s).code, errc::channel_destroyed);
    auto const later = recv(k);
    answered();
    EXPECT_EQ(got.at(later).code, errc::channel_destroyed);
    EXPECT_EQ(said(), "");
}

TEST_F(PortRecovery, ASendThatMeetsTheEndOfItsChannelWhenItIsRepeatedMayHaveBeenTaken)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    again();
    reopen(said(), 7);
    auto const t = send(k, "b");
    done(s, status::destroyed);
    done(t, status::destroyed);
    answered();
    EXPECT_EQ(got.at(s).code, errc::channel_destroyed);
    EXPECT_NE(got.at(s).text.find("may have taken the value"), std::string::npos) << got.at(s).text;
    EXPECT_EQ(got.at(t).code, errc::channel_destroyed);
    EXPECT_EQ(got.at(t).text.find("may have taken"), std::string::npos) << "it was asked once";
}

TEST_F(PortRecovery, ASendAtMostOnceIsNotRepeated)
{
    handle_record h;
    h.wanted.capacity = 70;
    h.wanted.delivery = protocol::guarantee::at_most_once;
    auto const k = handle("c", 7, std::move(h));
    std::vector<operation_id> ids;
    for (int i = 0; i < 61; ++i) ids.push_back(send(k, "x"));
    auto const r = recv(k);
    said();
    again();
    answered();
    EXPECT_EQ(got.at(ids[0]).code, sluice::error::outcome_unknown);
    EXPECT_EQ(got.count(ids[60]), 0U) << "it had not gone yet";
    EXPECT_EQ(got.count(r), 0U);
    reopen(said(), 7);
    EXPECT_EQ(said(), "select#" + std::to_string(ids[60]) + " send(7,61,x); select#"
                          + std::to_string(r) + " recv(7)");
}

TEST_F(PortRecovery, HalfABatchGoesBackAndIsAskedForAgain)
{
    auto const k = handle("c", 7);
    auto const r = recv(k, 5);
    value(r, 1, "a", true);
    again();
    reopen(said(), 7);
    EXPECT_EQ(said(), "select#" + std::to_string(r) + " recv(7,max=5)");
    value(r, 1, "a");
    answered();
    EXPECT_EQ(got.at(r).values.size(), 1U);
}

TEST_F(PortRecovery, AcknowledgementsOfAnEarlierPortAreExpired)
{
    auto const k = handle("c", 7);
    auto const r = recv(k, 1, true);
    value(r, 1, "a");
    answered();
    auto const& held = got.at(r);
    auto const pending = core.next_id();
    core.settle(pending, k, held.generation, {.token = 1, .reason = {}}, to(pending), never);
    again();
    answered();
    EXPECT_EQ(got.at(pending).code, sluice::error::outcome_unknown);
    reopen(said(), 7);
    core.ack(k, held.generation, held.values, now);
    core.give_back(held.generation, held.values);
    auto const late = core.next_id();
    core.settle(late, k, held.generation, {.token = 1, .reason = {}}, to(late), never);
    answered();
    EXPECT_EQ(got.at(late).code, errc::expired);
    EXPECT_EQ(said(), "") << "token 1 of the new port is another value";
}

TEST_F(PortRecovery, ACancelWhileTheNodeIsAwayAsksItLater)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    auto const r = recv(k);
    core.on_lost();
    core.cancel(s, make_error_code(sluice::error::operation_aborted), now);
    core.cancel(r, make_error_code(sluice::error::operation_aborted), now);
    EXPECT_EQ(answered(), std::to_string(r));
    said();
    core.on_open();
    reopen(said(), 7);
    EXPECT_EQ(said(), "select#" + std::to_string(s) + " send(7,1,a); cancel#" + std::to_string(s));
    reply(protocol::accepted{.ranges = {{s, s}}});
    answered();
    EXPECT_EQ(code(s), "ok") << "it was taken before the loss";
}

TEST_F(PortRecovery, ACancelledSendWhoseNodeStaysAwayIsUnknown)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    core.on_lost();
    auto const fresh = send(k, "b");
    core.cancel(s, make_error_code(sluice::error::operation_aborted), now);
    core.cancel(fresh, make_error_code(sluice::error::operation_aborted), now);
    pass(port_core::answer_grace);
    answered();
    EXPECT_EQ(got.at(s).code, sluice::error::outcome_unknown);
    EXPECT_EQ(got.at(fresh).code, sluice::error::operation_aborted);
    EXPECT_EQ(core.waiting(), 0U);
}

TEST_F(PortRecovery, WithoutRecoveryEverythingEndsWithTheReason)
{
    auto const k = handle("jobs", 7);
    auto const s = send(k, "a");
    auto const r = recv(k);
    core.on_ended(make_error_code(sluice::error::connection_lost), "the connection was lost");
    answered();
    EXPECT_EQ(got.at(s).code, sluice::error::connection_lost);
    EXPECT_EQ(got.at(s).text,
              "channel 'jobs': the connection was lost; the node may have taken the value");
    EXPECT_EQ(got.at(r).text, "channel 'jobs': the connection was lost");
    core.forget_handle(k);
    EXPECT_EQ(said(), "");
}

TEST_F(PortRecovery, AHandleForgottenWhileAwayIsNotOpenedAgain)
{
    auto const a = handle("a", 1);
    handle("b", 2);
    core.on_lost();
    core.forget_handle(a);
    core.on_open();
    auto const text = said();
    EXPECT_EQ(text.find(" a "), std::string::npos) << text;
    EXPECT_NE(text.find(" b "), std::string::npos) << text;
}

TEST_F(PortRecovery, LosingItTwiceInARowRepeatsOnce)
{
    auto const k = handle("c", 7);
    auto const s = send(k, "a");
    again();
    again();
    auto const opening = said();
    EXPECT_EQ(opening.find("open#"), opening.rfind("open#")) << opening;
    reopen(opening, 7);
    EXPECT_EQ(said(), "select#" + std::to_string(s) + " send(7,1,a)");
}

}  // namespace
}  // namespace sluice::channels::detail
