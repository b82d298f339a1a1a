// Any interleaving of sends, receives, batches, selects, tries, cancels, closes and lost ports of
// three clients with six handles, against a model of Go's channels: the same results in the same
// order, the same who waits, and nothing left.
#include "support/channel_world.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace sluice::test {
namespace {

using steps = std::vector<std::pair<std::uint8_t, std::uint8_t>>;

void do_step(channel_world& w, std::uint8_t what, std::uint8_t which)
{
    auto const handle = which % channel_world::handles_max;
    auto const client = which % channel_world::clients_max;
    switch (what % 32) {
    case 0:
    case 1:
    case 2:
    case 3: return w.send(handle, false);
    case 4: return w.send(handle, true);
    case 5:
    case 6:
    case 7: return w.receive(handle, false, 1);
    case 8: return w.receive(handle, true, 1);
    case 9: return w.receive(handle, false, 1 + which / 64);
    case 10:
    case 11:
    case 12: return w.select(handle, false, which);
    case 13: return w.select(handle, true, which);
    case 14: return w.cancel(client, which / 3u);
    case 15:
    case 16:
    case 17:
    case 18: return w.answer(client, which / 3u, which / 8u);
    case 19:
        if (which % 8 == 0)
            w.close(which / 8 % channel_world::handles_max);
        return;
    case 20:
        if (which % 4 == 0)
            w.lose(which / 4 % channel_world::clients_max);
        return;
    default: return w.arrive(client);
    }
}

RC_GTEST_PROP(Channels, AnyInterleavingIsOneOfGos,
              (steps const& first, steps const& second, steps const& third))
{
    std::uint32_t const capacities[] = {0, 1, 3};
    channel_world w{capacities[*rc::gen::inRange(0, 3)], capacities[*rc::gen::inRange(0, 2)],
                    *rc::gen::arbitrary<std::uint64_t>()};
    for (auto const* const part : {&first, &second, &third})
        for (auto const& [what, which] : *part) {
            do_step(w, what, which);
            RC_ASSERT(w.fault == "");
        }
    for (int i = 0; i < 200; ++i) w.arrive(static_cast<unsigned>(i) % channel_world::clients_max);
    RC_ASSERT(w.fault == "");
    RC_ASSERT(w.left() == "");
    RC_ASSERT(w.fault == "");
    RC_CLASSIFY(w.delivered() > 0, "delivered");
    RC_CLASSIFY(w.rendezvous > 0, "rendezvous");
    RC_CLASSIFY(w.selects_met > 0, "two selects met");
    RC_CLASSIFY(w.crossed_cancels > 0, "a cancel crossed the answer");
    RC_CLASSIFY(w.lost_pickups > 0, "a receiver lost before its pickup");
    RC_CLASSIFY(w.parked_closes > 0, "closed with waiting sends");
    RC_CLASSIFY(w.returned > 0, "went back");
}

}  // namespace
}  // namespace sluice::test
