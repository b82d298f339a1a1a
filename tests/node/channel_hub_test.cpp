// The judge of channels: slots, order, turns, select, close, destroy, what goes back, limits.
#include "support/channel_rig.hpp"

#include <gtest/gtest.h>

#include <set>

namespace sluice::test {
namespace {

using protocol::ending;
using protocol::verdict;

/// Two clients with handles 1 (a) and 2 (b) on the channel "x", and what was not told to anybody.
struct ChannelHub : testing::Test {
    channel_client a;
    channel_client b;
    channel_rig r;

    explicit ChannelHub(node::detail::channel_limits const& limits = {})
        : r{.outside = {}, .limits = limits}
    {
    }
    void SetUp() override
    {
        r.join(a);
        r.join(b);
    }
    void both(protocol::channel_options const& o)
    {
        ASSERT_EQ(r.open(a, 1, "x", o), "1:opened");
        ASSERT_EQ(r.open(b, 2, "x", o), "1:opened");
    }
    std::string left() { return r.left({&a, &b}); }
};

TEST_F(ChannelHub, ASendIsAcceptedWhenItGetsASlot)
{
    both({.capacity = 2});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.send(a, 4, 1, "x");
    EXPECT_EQ(a.take(), "2:accepted 3:accepted");
    r.recv(b, 2, 2);
    EXPECT_EQ(b.take(), "2=v#1");
    EXPECT_EQ(a.take(), "") << "the slot is that of the value until its acknowledgement";
    r.ack(b, 1, 1);
    EXPECT_EQ(a.take(), "4:accepted");
    EXPECT_EQ(r.state(b, 2), "size=2,buffered=2,unacknowledged=0,senders=0,receivers=0,handles=2");
    r.recv(b, 3, 2, 10);
    EXPECT_EQ(b.take(), "3=w#2+ 3=x#3");
    r.ack(b, 2, 3);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, WaitingSendsGetSlotsInTurnOverTheirHandles)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "0");
    for (unsigned i = 0; i < 3; ++i)
        r.send(a, 3 + i, 1, std::string(1, static_cast<char>('1' + i)));
    for (unsigned i = 0; i < 2; ++i)
        r.send(b, 3 + i, 2, std::string(1, static_cast<char>('a' + i)));
    std::string order;
    for (protocol::token t = 1; t <= 6; ++t) {
        b.take();
        r.recv(b, 10 + t, 2);
        auto const got = b.take();
        order += got.at(got.find('=') + 1);
        r.ack(b, t, t);
    }
    EXPECT_EQ(order, "01a2b3");
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, WaitingReceivesAreServedInTheirOrder)
{
    both({.capacity = 4});
    r.recv(a, 2, 1);
    r.recv(b, 2, 2);
    r.recv(a, 3, 1);
    for (auto const* v : {"v", "w", "x"}) r.send(b, 3, 2, v);
    EXPECT_EQ(a.take(), "2=v#1 3=x#2");
    EXPECT_EQ(b.take(), "3:accepted 2=w#1 3:accepted 3:accepted");
}

TEST_F(ChannelHub, ARendezvousIsAcceptedAtThePickup)
{
    both({.capacity = 0});
    r.send(a, 2, 1, "v");
    EXPECT_EQ(a.take(), "");
    r.recv(b, 2, 2);
    EXPECT_EQ(b.take(), "2=v#1?");
    EXPECT_EQ(a.take(), "");
    r.pickup(b, 1);
    EXPECT_EQ(a.take(), "2:accepted");
    EXPECT_EQ(r.state(a, 1), "size=1,buffered=0,unacknowledged=1,senders=0,receivers=0,handles=2");
    r.ack(b, 1, 1);
    r.recv(b, 3, 2);
    r.send(a, 3, 1, "w");
    EXPECT_EQ(b.take(), "3=w#2?");
    r.ack(b, 2, 2);
    EXPECT_EQ(a.take(), "3:accepted") << "an acknowledgement says pickup too";
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, ASendWhoseReceiverDiesBeforeThePickupWaitsAgainAtTheHead)
{
    both({.capacity = 0});
    channel_client c;
    r.join(c);
    ASSERT_EQ(r.open(c, 3, "x", {}), "1:opened");
    r.recv(b, 2, 2);
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.send(c, 2, 3, "z");
    EXPECT_EQ(b.take(), "2=v#1?");
    r.lose(b);
    EXPECT_EQ(a.take(), "");
    r.recv(c, 3, 3, 3);
    EXPECT_EQ(c.take(), "3=v#1?+ 3=z#2?+ 3=w#3?") << "not a try: nobody worked on it";
    r.ack(c, 1, 3);
    EXPECT_EQ(a.take(), "2-3:accepted") << "once";
    EXPECT_EQ(r.left({&a, &c}), nothing_of_channels);
}

TEST_F(ChannelHub, AValueThatWasPickedUpAndNotAcknowledgedComesBackForTheNextReceiver)
{
    both({.capacity = 0});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.pickup(b, 1);
    EXPECT_EQ(a.take(), "2:accepted");
    r.lose(b);
    r.recv(a, 3, 1);
    EXPECT_EQ(a.take(), "3=v#1*1");
    r.ack(a, 1, 1);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, ACancelledRequestIsWithdrawnOnceAndForAll)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.ask(a, protocol::cancel{3});
    r.ask(a, protocol::cancel{2});
    r.ask(a, protocol::cancel{77});
    EXPECT_EQ(a.take(), "2:accepted 3:withdrawn");
    r.recv(b, 2, 2);
    r.recv(b, 3, 2);
    r.ask(b, protocol::cancel{3});
    r.ack(b, 1, 1);
    EXPECT_EQ(b.take(), "2=v#1 3:withdrawn");
    EXPECT_EQ(r.state(b, 2), "size=0,buffered=0,unacknowledged=0,senders=0,receivers=0,handles=2");
}

TEST_F(ChannelHub, ACancelOfASendIsAnsweredWhenItsPickupIsKnown)
{
    both({.capacity = 0});
    for (auto const picked : {true, false}) {
        r.send(a, 2, 1, "v");
        r.recv(b, 2, 2);
        r.ask(a, protocol::cancel{2});
        EXPECT_EQ(a.take(), "");
        if (picked)
            r.ack(b, 1, 1);
        else
            r.ask(b, protocol::settle{0, 2, verdict::released, {}});
        EXPECT_EQ(a.take(), picked ? "2:accepted" : "2:withdrawn");
    }
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, ASelectPicksOneReadyCaseWithEqualChances)
{
    both({.capacity = 1'000});
    ASSERT_EQ(r.open(a, 3, "y", {.capacity = 1'000}), "1:opened");
    ASSERT_EQ(r.open(a, 4, "z", {.capacity = 1'000}), "1:opened");
    std::map<char, int> picked;
    for (int i = 0; i < 999; ++i) {
        r.send(a, 2, 3, "y");
        r.send(a, 2, 4, "z");
        a.take();
        r.select(a, 3, {r.from(3), r.from(4), r.to(1, "x")});
        auto const told = a.take();
        picked[told == "3@2:ok" ? 'x' : told.at(told.find('=') + 1)]++;
    }
    EXPECT_EQ(picked['x'] + picked['y'] + picked['z'], 999);
    for (auto const c : {'x', 'y', 'z'}) EXPECT_NEAR(picked[c], 333, 90) << c;
}

TEST_F(ChannelHub, ASelectWithoutAReadyCaseWaitsInAllAndIsWithdrawnFromTheOthers)
{
    both({.capacity = 0});
    ASSERT_EQ(r.open(a, 3, "y", {.capacity = 1}), "1:opened");
    r.select(a, 2, {r.from(1), r.from(3), r.to(1, "mine")});
    EXPECT_EQ(a.take(), "") << "one never meets itself";
    r.send(a, 3, 3, "v");
    EXPECT_EQ(a.take(), "2@1=v#1 3:accepted");
    r.send(b, 2, 2, "w");
    EXPECT_EQ(r.state(b, 2), "size=0,buffered=0,unacknowledged=0,senders=1,receivers=0,handles=2");
    r.ack(a, 1, 1);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, TwoSelectsMeetAtCapacity0)
{
    both({.capacity = 0});
    ASSERT_EQ(r.open(a, 3, "y", {}), "1:opened");
    ASSERT_EQ(r.open(b, 4, "y", {}), "1:opened");
    r.select(a, 2, {r.to(1, "v"), r.from(3)});
    r.select(b, 2, {r.to(4, "w"), r.from(2)});
    auto const of_a = a.take();
    auto const of_b = b.take();
    if (of_a.empty()) {
        EXPECT_EQ(of_b, "2@1=v#1?");
        r.ack(b, 1, 1);
        EXPECT_EQ(a.take(), "2:ok");
        EXPECT_EQ(b.take(), "");
    } else {
        EXPECT_EQ(of_a, "2@1=w#1?");
        EXPECT_EQ(of_b, "");
        r.ack(a, 1, 1);
        EXPECT_EQ(b.take(), "2:ok");
    }
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, OtherCasesAreSuspendedUntilThePickupAndResumedIfItFails)
{
    both({.capacity = 0});
    ASSERT_EQ(r.open(a, 3, "y", {.capacity = 5}), "1:opened");
    r.recv(b, 2, 2);
    r.select(a, 2, {r.to(1, "v"), r.from(3)});
    EXPECT_EQ(b.take(), "2=v#1?");
    r.send(a, 3, 3, "w");
    EXPECT_EQ(a.take(), "3:accepted") << "the receive is suspended";
    r.lose(b);
    EXPECT_EQ(a.take(), "2@1=w#1") << "and resumed";
    r.ack(a, 1, 1);
    EXPECT_EQ(r.state(a, 1), "size=0,buffered=0,unacknowledged=0,senders=0,receivers=0,handles=1");
    EXPECT_EQ(r.left({&a}), nothing_of_channels);
}

TEST_F(ChannelHub, ATrySeesTheStateAtTheTimeOfAsking)
{
    both({.capacity = 1});
    r.select(b, 2, {r.from(2)}, true);
    EXPECT_EQ(b.take(), "2:otherwise");
    r.select(a, 2, {r.to(1, "v")}, true);
    r.select(a, 3, {r.to(1, "w")}, true);
    EXPECT_EQ(a.take(), "2:accepted 3:otherwise");
    r.select(b, 3, {r.from(2)}, true);
    EXPECT_EQ(b.take(), "3=v#1");
    r.select(b, 4, {}, true);
    EXPECT_EQ(b.take(), "4:otherwise");
}

TEST_F(ChannelHub, ATrySendWhoseReceiverIsLostDoesNotWait)
{
    both({.capacity = 0});
    r.recv(b, 2, 2);
    r.select(a, 2, {r.to(1, "v")}, true);
    EXPECT_EQ(b.take(), "2=v#1?");
    r.lose(b);
    EXPECT_EQ(a.take(), "2:otherwise");
    EXPECT_EQ(r.left({&a}), nothing_of_channels);
}

TEST_F(ChannelHub, AtMostOnceFreesTheSlotWithTheDelivery)
{
    both({.capacity = 1, .delivery = protocol::guarantee::at_most_once});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.recv(b, 2, 2);
    EXPECT_EQ(b.take(), "2=v");
    EXPECT_EQ(a.take(), "2:accepted 3:accepted");
    r.lose(b);
    EXPECT_EQ(r.state(a, 1), "size=1,buffered=1,unacknowledged=0,senders=0,receivers=0,handles=1");
}

TEST_F(ChannelHub, AtMostOnceNeedsABuffer)
{
    EXPECT_EQ(r.open(a, 1, "x", {.delivery = protocol::guarantee::at_most_once})
                  .find("1:malformed(at most once needs a capacity of 1 or more"),
              0u);
    EXPECT_EQ(r.left({&a, &b}), nothing_of_channels);
}

TEST_F(ChannelHub, WhatGoesBackComesBeforeWhatWasNeverDeliveredInItsOrder)
{
    both({.capacity = 10});
    for (auto const* v : {"1", "2", "3", "4"}) r.send(a, 2, 1, v);
    a.take();
    r.recv(b, 2, 2, 3);
    EXPECT_EQ(b.take(), "2=1#1+ 2=2#2+ 2=3#3");
    r.ack(b, 2, 2);
    r.recv(a, 3, 1, 9);
    EXPECT_EQ(a.take(), "3=4#1");
    r.send(a, 4, 1, "5");
    r.lose(b);
    r.recv(a, 5, 1, 9);
    EXPECT_EQ(a.take(), "4:accepted 5=1#2*1+ 5=3#3*1+ 5=5#4");
}

TEST_F(ChannelHub, AVerdictSaysWhatBecomesOfOneValue)
{
    both({.capacity = 4, .tries_max = 3, .dead_letter = "dead"});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.ask(b, protocol::settle{3, 1, verdict::released, {}});
    r.recv(b, 4, 2);
    r.ask(b, protocol::settle{5, 2, verdict::failed, {}});
    r.recv(b, 6, 2);
    r.ask(b, protocol::settle{7, 1, verdict::accepted, {}});
    r.ask(b, protocol::settle{8, 3, verdict::accepted, {}});
    EXPECT_EQ(b.take(), "2=v#1 3:ok 4=v#2 5:ok 6=v#3*1 7:expired 8:ok");
    r.send(a, 3, 1, "w");
    r.recv(b, 9, 2);
    r.ask(b, protocol::settle{10, 4, verdict::rejected, "no JSON"});
    EXPECT_EQ(b.take(), "9=w#4 10:ok");
    EXPECT_EQ(r.outside.letters, "dead:x:1:no JSON:w ");
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, AfterItsLastTryAValueIsADeadLetter)
{
    both({.capacity = 1, .tries_max = 2, .dead_letter = "dead"});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.recv(b, 2, 2);
    r.ask(b, protocol::settle{0, 1, verdict::failed, {}});
    r.recv(b, 3, 2);
    r.ask(b, protocol::settle{0, 2, verdict::failed, {}});
    EXPECT_EQ(b.take(), "2=v#1 3=v#2*1");
    EXPECT_EQ(r.outside.letters, "dead:x:2:its receiver failed with it:v ");
    EXPECT_EQ(a.take(), "2:accepted 3:accepted") << "its slot is free";
}

TEST_F(ChannelHub, TheDeadlinesOfADestroyedChannelGoWithIt)
{
    both({.capacity = 4, .visibility_timeout_ms = 100});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    EXPECT_EQ(r.hub.next_deadline(), clock_time{100});
    r.end(a, 3, 1, ending::destroy);
    EXPECT_EQ(r.hub.next_deadline(), clock_time::max());
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, AfterItsVisibilityTimeoutAValueGoesBackAndTheOldHolderIsTold)
{
    both({.capacity = 4, .visibility_timeout_ms = 100});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.pass(60);
    r.send(a, 3, 1, "w");
    r.recv(b, 3, 2);
    EXPECT_EQ(r.hub.next_deadline(), clock_time{100});
    r.pass(39);
    r.recv(a, 4, 1);
    EXPECT_EQ(a.take(), "2:accepted 3:accepted");
    r.pass(1);
    EXPECT_EQ(a.take(), "4=v#1*1");
    EXPECT_EQ(r.hub.next_deadline(), clock_time{160});
    r.ask(b, protocol::settle{5, 1, verdict::accepted, {}});
    r.ack(b, 1, 1);
    EXPECT_EQ(b.take(), "2=v#1 3=w#2 5:expired");
    r.ack(a, 1, 1);
    r.ack(b, 2, 2);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, ASendWhosePickupDoesNotComeInTimeWaitsAgain)
{
    both({.capacity = 0, .visibility_timeout_ms = 100});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.pass(100);
    r.recv(b, 3, 2);
    EXPECT_EQ(b.take(), "2=v#1? 3=v#2?");
    r.pickup(b, 1);
    EXPECT_EQ(a.take(), "");
    r.ack(b, 2, 2);
    EXPECT_EQ(a.take(), "2:accepted");
}

TEST_F(ChannelHub, CloseEndsWaitingSendsAndLaterOnesAndWhatIsThereIsDrained)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.end(b, 2, 2, ending::close);
    EXPECT_EQ(a.take(), "2:accepted 3:closed");
    r.send(a, 4, 1, "x");
    r.recv(a, 5, 1);
    r.recv(a, 6, 1);
    EXPECT_EQ(a.take(), "4:closed 5=v#1");
    EXPECT_EQ(b.take(), "2:ok");
    r.end(b, 3, 2, ending::close);
    EXPECT_EQ(b.take(), "3:ok") << "closing again";
    r.ack(a, 1, 1);
    EXPECT_EQ(a.take(), "6:closed");
    r.recv(a, 7, 1);
    EXPECT_EQ(a.take(), "7:closed");
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, AClosedRendezvousWaitsForThePickupThatIsOnItsWay)
{
    both({.capacity = 0});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.recv(b, 3, 2);
    r.end(a, 3, 1, ending::close);
    EXPECT_EQ(a.take(), "3:ok");
    EXPECT_EQ(b.take(), "2=v#1?");
    r.ack(b, 1, 1);
    EXPECT_EQ(a.take(), "2:accepted");
    EXPECT_EQ(b.take(), "3:closed");
    ASSERT_EQ(r.open(a, 3, "y", {}), "1:opened");
    ASSERT_EQ(r.open(b, 4, "y", {}), "1:opened");
    r.send(a, 5, 3, "v");
    r.recv(b, 5, 4);
    r.end(a, 6, 3, ending::close);
    r.ask(b, protocol::settle{7, 2, verdict::released, {}});
    EXPECT_EQ(a.take(), "6:ok 5:closed");
}

TEST_F(ChannelHub, ASelectTakesAClosedCaseAsReady)
{
    both({.capacity = 1});
    ASSERT_EQ(r.open(a, 3, "y", {.capacity = 1}), "1:opened");
    r.select(a, 2, {r.from(3), r.from(1)});
    r.end(b, 2, 2, ending::close);
    EXPECT_EQ(a.take(), "2@1:closed");
    r.select(a, 3, {r.from(3), r.to(1, "v")});
    EXPECT_EQ(a.take(), "3@1:closed");
}

TEST_F(ChannelHub, DestroyEndsEverythingAndNothingBringsItBack)
{
    both({.capacity = 1});
    auto const before = r.channels.at(1);
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    r.send(a, 3, 1, "w");
    r.recv(b, 3, 2);
    r.end(b, 4, 2, ending::destroy);
    EXPECT_EQ(a.take(), "2:accepted 3:destroyed");
    EXPECT_EQ(b.take(), "2=v#1 3:destroyed 4:ok");
    EXPECT_EQ(r.hub.count().channels + r.hub.count().handles + r.hub.count().values, 0u);
    r.send(a, 5, 1, "x");
    r.recv(a, 6, 1);
    r.end(a, 7, 1, ending::close);
    r.ask(a, protocol::stat{8, before});
    r.ack(b, 1, 1);
    EXPECT_EQ(a.take(), "5:destroyed 6:destroyed 7:destroyed 8:destroyed");
    EXPECT_EQ(r.open(a, 1, "x", {.capacity = 1}, false, before),
              "1:destroyed(channel 'x' was destroyed)");
    EXPECT_EQ(r.open(a, 1, "x", {.capacity = 2}), "1:opened");
    EXPECT_NE(r.channels.at(1), before);
    r.channels[1] = before;
    r.send(a, 9, 1, "late");
    EXPECT_EQ(a.take(), "9:destroyed");
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, DestroyEndsWhatWaitsForItsPickupToo)
{
    both({.capacity = 0});
    ASSERT_EQ(r.open(a, 3, "y", {}), "1:opened");
    r.recv(b, 2, 2);
    r.select(a, 2, {r.to(1, "v"), r.from(3)});
    r.end(a, 3, 3, ending::destroy);
    EXPECT_EQ(a.take(), "3:ok") << "only a suspended case of it was there";
    r.ack(b, 1, 1);
    EXPECT_EQ(a.take(), "2:ok");
    r.recv(b, 4, 2);
    r.send(a, 4, 1, "w");
    r.end(b, 5, 2, ending::destroy);
    EXPECT_EQ(a.take(), "4:destroyed");
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, StopEndsThisHandleOnly)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.recv(a, 4, 1);
    r.recv(b, 2, 2);
    r.recv(a, 5, 1);
    r.end(a, 6, 1, ending::stop);
    EXPECT_EQ(a.take(), "2:accepted 4=v#1 3:stopped 5:stopped 6:ok");
    EXPECT_EQ(b.take(), "2=v#1*1") << "what it held goes back";
    r.ack(a, 1, 1);
    r.send(a, 7, 1, "x");
    EXPECT_EQ(a.take(), "7:stopped");
    EXPECT_EQ(r.state(b, 2), "size=1,buffered=0,unacknowledged=1,senders=0,receivers=0,handles=1");
    r.ack(b, 1, 1);
    r.end(b, 3, 2, ending::stop);
    EXPECT_EQ(r.hub.count().channels, 0u) << "nobody has it, and it holds nothing";
}

TEST_F(ChannelHub, AStoppedSendIsAnsweredWhenItsPickupIsKnown)
{
    both({.capacity = 0});
    ASSERT_EQ(r.open(a, 3, "x", {}), "1:opened");
    for (auto const handle : {1u, 3u}) {
        r.send(a, 2, handle, "v");
        r.recv(b, 2, 2);
        r.end(a, 3, handle, ending::stop);
        EXPECT_EQ(a.take(), "3:ok");
        if (handle == 1)
            r.ack(b, 1, 1);
        else
            r.ask(b, protocol::settle{0, 2, verdict::released, {}});
        EXPECT_EQ(a.take(), handle == 1 ? "2:accepted" : "2:stopped");
    }
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, ASendThatIsRepeatedAfterALostPortIsDoneOnce)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.lose(a);
    a.take();
    r.join(a);
    EXPECT_EQ(r.open(a, 1, "x", {}, false, r.channels.at(1)), "1:opened");
    r.select(a, 2, {r.to(1, "v", 1)});
    r.select(a, 3, {r.to(1, "w", 2)});
    EXPECT_EQ(a.take(), "2:accepted") << "from memory; the other one waits";
    r.recv(b, 2, 2);
    r.ack(b, 1, 1);
    r.recv(b, 3, 2);
    r.ack(b, 2, 2);
    EXPECT_EQ(b.take(), "2=v#1 3=w#2");
    EXPECT_EQ(a.take(), "3:accepted");
    EXPECT_EQ(r.state(b, 2), "size=0,buffered=0,unacknowledged=0,senders=0,receivers=0,handles=2");
}

TEST_F(ChannelHub, TheMemoryOfAHandleEndsAMinuteAfterItsPort)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.lose(a);
    EXPECT_EQ(r.hub.next_deadline(), clock_time{60'000});
    r.pass(59'999);
    EXPECT_EQ(r.hub.count().handles, 2u);
    r.pass(1);
    EXPECT_EQ(r.hub.count().handles, 1u);
}

TEST_F(ChannelHub, ASendWhoseClientIsLostBeforeThePickupIsDoneOnceAllTheSame)
{
    both({.capacity = 0});
    for (auto const picked_before : {true, false}) {
        auto const sequence = picked_before ? 1u : 2u;
        protocol::token const token = sequence;
        r.select(a, 2, {r.to(1, "v", sequence)});
        r.recv(b, 2, 2);
        r.lose(a);
        a.take();
        b.take();
        if (picked_before)
            r.pickup(b, token);
        r.join(a);
        ASSERT_EQ(r.open(a, 1, "x", {}, false, r.channels.at(1)), "1:opened");
        r.select(a, 3, {r.to(1, "v", sequence)});
        EXPECT_EQ(a.take(), picked_before ? "3:accepted" : "");
        r.ack(b, token, token);
        EXPECT_EQ(a.take(), picked_before ? "" : "3:accepted");
        r.select(b, 4, {r.from(2)}, true);
        EXPECT_EQ(b.take(), "4:otherwise") << "there is no second one";
    }
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, AHandleThatComesBackBeforeItsLossWasNoticedMovesToItsNewPort)
{
    both({.capacity = 1});
    r.send(b, 2, 2, "v");
    r.recv(a, 2, 1);
    r.recv(a, 3, 1);
    EXPECT_EQ(a.take(), "2=v#1");
    channel_client again;
    r.join(again);
    EXPECT_EQ(r.open(again, 1, "x", {}, false, r.channels.at(1)), "1:opened");
    r.recv(again, 2, 1);
    EXPECT_EQ(again.take(), "2=v#1*1");
    r.recv(a, 4, 1);
    EXPECT_EQ(a.take(), "4:stopped");
    r.ack(again, 1, 1);
    EXPECT_EQ(r.left({&a, &b, &again}), nothing_of_channels);
}

TEST_F(ChannelHub, OptionsHaveToBeThoseOfTheExistingChannel)
{
    both({.capacity = 16, .codec = "json"});
    EXPECT_EQ(r.open(b, 3, "x", {.capacity = 8, .codec = "text"}),
              "1:mismatch(channel 'x' has capacity 16 and not 8, codec 'json' and not 'text')");
    EXPECT_EQ(r.open(b, 3, "y", {}, false), "1:not_found(there is no channel 'y')");
    EXPECT_EQ(r.open(b, 3, "x", {}, false), "1:opened");
    EXPECT_EQ(r.open(b, 5, "", {}).find("1:malformed"), 0u);
    EXPECT_EQ(r.open(b, 1, "y", {}), "1:malformed(this handle is one of channel 'x')");
    EXPECT_EQ(r.hub.count().channels, 1u);
}

TEST_F(ChannelHub, PermissionsAreAskedForWhatIsDone)
{
    b.access = node::detail::port_sink::may_receive;
    both({.capacity = 1});
    r.send(b, 2, 2, "v");
    r.end(b, 3, 2, ending::destroy);
    EXPECT_EQ(b.take(), "2:not_allowed(the user may not write to 'x') "
                        "3:not_allowed(the user may not write to 'x')");
    a.access = 0;
    EXPECT_EQ(r.open(a, 3, "z", {}), "1:not_allowed(the user may neither read nor write 'z')");
    r.ask(a, protocol::stat{4, r.channels.at(1)});
    EXPECT_EQ(a.take(), "4:not_allowed");
}

TEST_F(ChannelHub, PermissionsThatAreTakenAwayEndWhatWaits)
{
    both({.capacity = 1});
    r.send(a, 2, 1, "v");
    r.send(a, 3, 1, "w");
    r.recv(b, 2, 2);
    r.recv(b, 3, 2);
    r.select(b, 4, {protocol::recv_case{.channel = r.channels.at(2), .max = 1, .handle = {}}});
    EXPECT_EQ(a.take(), "2:accepted");
    EXPECT_EQ(b.take(), "2=v#1");
    a.access = b.access = 0;
    r.hub.recheck();
    EXPECT_EQ(a.take(), "3:not_allowed");
    EXPECT_EQ(b.take(), "3:not_allowed 4:not_allowed");
    r.send(a, 5, 1, "x");
    r.recv(b, 5, 2);
    EXPECT_EQ(a.take(), "5:not_allowed(the user may not write to 'x')");
    EXPECT_EQ(b.take(), "5:not_allowed(the user may not read from 'x')");
    r.ack(b, 1, 1);  // what it has it may answer
    EXPECT_EQ(r.hub.count().values, 0u);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, APermissionThatIsTakenAwayLeavesTheOtherAndWhatIsWithAReceiver)
{
    both({.capacity = 0});
    r.send(a, 2, 1, "v");
    r.recv(b, 2, 2);
    EXPECT_EQ(b.take(), "2=v#1?");
    r.recv(a, 3, 1);
    a.access = node::detail::port_sink::may_receive;
    r.hub.recheck();
    EXPECT_EQ(a.take(), "");
    r.pickup(b, 1);
    EXPECT_EQ(a.take(), "2:accepted") << "it had left before";
    r.ack(b, 1, 1);
    r.send(b, 3, 2, "w");
    EXPECT_EQ(a.take(), "3=w#1?");
    EXPECT_EQ(left(), nothing_of_channels);
}

struct ChannelHubLimits : ChannelHub {
    ChannelHubLimits()
        : ChannelHub{{.channels = 2, .waiting = 3, .waiting_octets = 10, .sends_of_handle = 2}}
    {
    }
};

struct ChannelHubOfFewCases : ChannelHub {
    ChannelHubOfFewCases() : ChannelHub{{.cases = 3}} {}
};

// A request waits in each of its cases.
TEST_F(ChannelHubOfFewCases, TakesNoMoreThatWait)
{
    both({.capacity = 1});
    r.recv(a, 8, 1);
    r.recv(a, 9, 1);
    r.recv(b, 8, 2);
    EXPECT_EQ(a.take() + b.take(), "");
    r.recv(b, 9, 2);
    EXPECT_EQ(b.take(), "9:limit(requests with 3 cases wait at the node, and 3 may)");
    r.send(a, 10, 1, "v");
    std::ignore = a.take();
    r.recv(b, 10, 2);
    EXPECT_EQ(b.take(), "");
}

TEST_F(ChannelHubLimits, WhatIsBeyondALimitIsToldAndChangesNothing)
{
    r.outside.stored_max = 100;
    both({.capacity = 1});
    ASSERT_EQ(r.open(a, 3, "y", {.capacity = 1}), "1:opened");
    EXPECT_EQ(r.open(a, 4, "z", {}), "1:limit(the node has 2 channels, as many as it may have)");
    EXPECT_EQ(r.open(a, 4, "z", {.capacity = 1, .codec = std::string(1'025, 'c')}),
              "1:malformed(the names of a codec and of a dead-letter queue have at most 1024 "
              "octets)");
    r.send(a, 2, 1, std::string(101, 'v'));
    EXPECT_EQ(a.take(), "2:limit(the node stores as much as it may)");
    r.send(a, 3, 1, "v");
    r.send(a, 4, 1, std::string(11, 'v'));
    EXPECT_EQ(a.take(), "3:accepted 4:limit(values of 0 octets wait already, and 10 may)");
    r.send(a, 5, 1, "w");
    r.send(a, 6, 1, "x");
    r.send(a, 7, 1, "y");
    EXPECT_EQ(a.take(), "7:limit(a handle may have 2 sends at the node)");
    r.recv(a, 8, 3);
    r.recv(a, 9, 3);
    EXPECT_EQ(a.take(), "9:limit(3 requests wait already, as many as may)");
    r.recv(b, 2, 2, 9);
    r.ack(b, 1, 9);
    EXPECT_EQ(a.take(), "5:accepted");
    EXPECT_EQ(r.hub.count().values, 2u);
}

TEST_F(ChannelHub, EmptyValuesAreBoundedInNumber)
{
    channel_rig few{.outside = {}, .limits = {.values = 2}};
    channel_client c;
    few.join(c);
    ASSERT_EQ(few.open(c, 1, "x", {.capacity = 100}), "1:opened");
    for (unsigned i = 2; i < 5; ++i) few.send(c, i, 1, "");
    EXPECT_EQ(c.take(), "2:accepted 3:accepted 4:limit(the node stores as much as it may)");
    few.lose(c);
}

TEST_F(ChannelHub, RangesOfTokensAreWalkedOverWhatIsHeld)
{
    both({.capacity = 100});
    for (int i = 0; i < 40; ++i) r.send(a, 2, 1, "v");
    r.recv(b, 2, 2, 40);
    b.take();
    r.ask(b, protocol::ack{{{1u << 20, ~0ull}, {0, 0}, {3, 10}, {39, ~0ull}}});
    EXPECT_EQ(r.state(b, 2).find("size=30,"), 0u);
    r.ask(b, protocol::ack{{{1, 2}, {11, 12}}});
    r.ask(b, protocol::ack{{{0, ~0ull}}});
    EXPECT_EQ(r.state(b, 2).find("size=0,"), 0u);
    EXPECT_EQ(left(), nothing_of_channels);
}

TEST_F(ChannelHub, AcceptedSendsAreToldTogether)
{
    both({.capacity = 100});
    for (protocol::request_id id = 2; id < 50; ++id)
        r.hub.on_request(*a.port, protocol::select{id, false, {r.to(1, "v")}});
    EXPECT_EQ(a.take(), "");
    r.hub.flush();
    EXPECT_EQ(a.take(), "2-49:accepted");
}

TEST_F(ChannelHub, AChannelThatHoldsSomethingOutlivesItsHandles)
{
    both({.capacity = 2});
    r.send(a, 2, 1, "v");
    r.end(a, 3, 1, ending::stop);
    r.end(b, 3, 2, ending::stop);
    EXPECT_EQ(r.hub.count().channels, 1u);
    b.take();
    ASSERT_EQ(r.open(b, 3, "x", {}, false), "1:opened");
    r.recv(b, 4, 3);
    r.ack(b, 1, 1);
    r.end(b, 5, 3, ending::stop);
    EXPECT_EQ(r.hub.count().channels, 0u);
    EXPECT_EQ(left(), nothing_of_channels);
}

}  // namespace
}  // namespace sluice::test
