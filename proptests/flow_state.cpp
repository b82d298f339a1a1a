// Flow state between two engines under any interleaving: sends, multi-frame and streamed bodies,
// credit, windows, drains, echoes, aborts, failed sources, detaches, ends, and octets that move in
// pieces. The judges are an auditor at either end and the books of what was sent.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

TEST(FlowState, IsExactBetweenTwoEnginesUnderAnyInterleaving)
{
    shares met;
    auto const w =
        usual_weights()
        + weights{
            {3, act::attach}, {4, act::detach}, {1, act::begin}, {1, act::end}, {6, act::send}};
    for_all(met, [&] {
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .cut = static_cast<cutting>(*rc::gen::inRange(0, 3)),
                  .max_frame_size = *rc::gen::inRange(512u, 1200u),
                  .sessions = *rc::gen::inRange(1u, 3u),
                  .links_each_way = *rc::gen::inRange(1u, 3u)}};
        it.open();
        it.run(*steps_of(w));
        it.conclude();
        met.met("wraps", it.books.met.transfer_id_wrapped);
        met.met("meets a shut window", it.books.met.window_shut);
        met.met("gets a flow in the middle of a frame", it.books.met.flow_in_mid_frame);
        met.met("aborts a delivery on the wire", it.books.met.aborted);
        met.met("has ends that cross", it.books.met.crossing());
        if (!it.objection.empty())
            RC_FAIL(it.objection);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
