// Any sequence of a dispatcher's operations, by any number of consumers and callers: every message
// is delivered, given back or still held, exactly once, in order, and the credit is right.
#include "dispatch/model.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sluice::test {
namespace {

using steps = std::vector<std::pair<std::uint8_t, std::uint8_t>>;

/// One step, chosen by two numbers. What happens all the time is chosen more often.
void do_step(dispatch_model& m, std::uint8_t what, std::uint8_t which)
{
    switch (what % 44) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: m.peer_sends(which); return;
    case 5:
    case 6:
    case 7:
    case 8: m.peer_reads(); return;
    case 9:
    case 10:
    case 11:
    case 12:
    case 13: m.we_read(); return;
    case 14:
    case 15:
    case 16:
    case 17: m.turn(); return;
    case 18:
    case 19:
    case 20: m.returns(which % 16 == 0); return;
    case 21:
    case 22: m.take(which); return;
    case 23: m.ask(request_kind::rollback); return;
    case 24: m.ask_inline(which % 3 == 0 ? request_kind::commit : request_kind::rollback); return;
    case 25: m.ask(request_kind::commit); return;
    case 26: m.ask(request_kind::barrier); return;
    case 27:
    case 28:
    case 29: m.leave(); return;
    case 30:
        if (which % 4 == 0)
            m.late(which);
        return;
    case 31: m.change(lifecycle_event::stop); return;
    case 32:
    case 33: m.change(lifecycle_event::start); return;
    case 34:
        if (m.consumers() < 4)
            m.add({.prefetch = 1u + which % 5,
                   .listens = (which & 8) != 0,
                   .browser = which % 7 == 0,
                   .modified_offered = (which & 16) != 0,
                   .settled = which % 11 == 0,
                   .waits = which % 5 == 0});
        return;
    case 35:
        if (which % 3 == 0)
            m.remove(which);
        return;
    case 36:
        if (which % 8 == 0)
            m.clear();
        else
            m.ready(which);
        return;
    case 37:
        if (which % 2)
            m.acknowledge();
        else
            m.user_answers();
        return;
    case 38: m.refuse_next_commit(); return;
    case 40:
    case 41:
    case 42:
    case 43: m.handles(which); return;
    default:
        if (which % 32 == 0)
            m.ask(request_kind::close);
        else if (which % 32 == 1)
            m.ask_inline(request_kind::close);
        else if (which % 64 == 2)
            m.lose_session();
        return;
    }
}

void run(dispatch_setting setting, std::vector<dispatch_model::consumer> const& first,
         steps const& what)
{
    dispatch_model m{setting};
    for (auto const& c : first) m.add(c);
    m.change(lifecycle_event::start);
    for (auto const& [op, which] : what) {
        do_step(m, op, which);
        if (!m.fault().empty())
            break;
    }
    m.run_dry();
    RC_ASSERT(m.fault() == std::string{});
}

steps any_steps() { return *rc::gen::resize(150, rc::gen::arbitrary<steps>()); }

RC_GTEST_PROP(DispatcherModel, EveryMessageIsDeliveredOrGivenBackOnceAndInOrder, ())
{
    auto const mode = *rc::gen::inRange(0, 3);
    run({.automatic = mode == 0, .transacted = mode == 2, .messages = 15},
        {{.prefetch = 3}, {.prefetch = 4, .listens = false}}, any_steps());
}

RC_GTEST_PROP(DispatcherModel, OneConsumerGetsItsQueueInOrderAfterEachRollback, ())
{
    auto const listens = *rc::gen::arbitrary<bool>();
    auto what = any_steps();
    for (auto& [op, which] : what)
        if (op % 44 == 34 || op % 44 == 35)  // no other consumer
            op = 23;
    run({.transacted = true, .messages = 20, .delivered_max = 8},
        {{.prefetch = 6, .listens = listens}}, what);
}

}  // namespace
}  // namespace sluice::test
