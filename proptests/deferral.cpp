// A flow that was asked for goes out after one transfer frame at most, whatever else waits: the
// rest of a delivery, other links, other sessions.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

TEST(Deferral, AFlowBetweenTwoEnginesWaitsForOneTransferFrameAtMost)
{
    shares met;
    auto const w = usual_weights() + weights{{6, act::flow_link},     {6, act::flow_session},
                                             {10, act::stream},       {6, act::body_ready},
                                             {4, act::credit_window}, {4, act::exchange}};
    for_all(met, [&] {
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .sessions = *rc::gen::inRange(1u, 3u),
                  .streams_fail = false}};
        it.open();
        it.run(*steps_of(w));
        it.conclude();
        met.met("wraps", it.books.met.transfer_id_wrapped);
        met.met("meets a shut window", it.books.met.window_shut);
        met.met("gets a flow in the middle of a frame", it.books.met.flow_in_mid_frame);
        if (!it.objection.empty())
            RC_FAIL(it.objection);
        if (!it.books.late.empty())
            RC_FAIL(it.books.late);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
