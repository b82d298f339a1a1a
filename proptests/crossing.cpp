// Detaches, ends and closes that cross, with deliveries on their way: everything ends once, at both
// ends, and what has ended can begin again.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

TEST(Crossing, OfDetachesEndsAndClosesLeavesNothingBehind)
{
    shares met;
    weights const w{
        {6, act::send},      {3, act::stream},       {2, act::body_ready},  {1, act::cancel},
        {3, act::credit},    {2, act::settle},       {2, act::flow_link},   {6, act::attach},
        {9, act::detach},    {3, act::begin},        {4, act::end},         {4, act::write_some},
        {6, act::write_all}, {4, act::deliver_some}, {6, act::deliver_all}, {2, act::exchange}};
    for_all(met, [&] {
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .cut = static_cast<cutting>(*rc::gen::inRange(0, 3)),
                  .sessions = *rc::gen::inRange(1u, 3u),
                  .refusals = *rc::gen::arbitrary<bool>()}};
        it.open();
        it.run(*steps_of(w));
        // Half of the runs end in closes of both sides at once.
        if (*rc::gen::arbitrary<bool>()) {
            it.apply({act::close, 0u + 2u * *rc::gen::inRange(0u, 30u)});
            it.apply({act::close, 1u + 2u * *rc::gen::inRange(0u, 30u)});
        }
        it.conclude();
        met.met("has detaches that cross", it.books.met.crossing_detach);
        met.met("has ends that cross", it.books.met.crossing_end);
        met.met("has closes that cross", it.books.met.crossing_close);
        if (!it.objection.empty())
            RC_FAIL(it.objection);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
