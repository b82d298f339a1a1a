// Where octets are cut changes nothing: neither what an engine reports, nor what it writes, nor
// what an auditor finds.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

struct outcome_of_a_run {
    std::array<bytes, 2> octets;
    std::string log;
    std::string objection;
    hard_cases met;
};

outcome_of_a_run run(world_options options, std::vector<step> const& steps)
{
    options.keep_octets = true;
    world it{options};
    it.open();
    it.run(steps);
    it.conclude();
    return {it.octets, it.log, it.objection, it.books.met};
}

TEST(Cutting, ChangesNeitherEventsNorOutput)
{
    shares met;
    auto const w = usual_weights() + weights{{1, act::attach}, {1, act::detach}, {1, act::end}};
    for_all(met, [&] {
        auto const steps = *steps_of(w, 3.0);
        world_options const options{.first_id = some_first_id(),
                                    .seed = *rc::gen::arbitrary<unsigned>(),
                                    .sessions = *rc::gen::inRange(1u, 3u)};
        auto const whole = run(options, steps);
        for (auto const cut : {cutting::one_by_one, cutting::at_random}) {
            auto other = options;
            other.cut = cut;
            other.write_room = cut == cutting::one_by_one ? 512u : 1700u;
            auto const pieces = run(other, steps);
            RC_ASSERT(pieces.objection == whole.objection);
            RC_ASSERT(pieces.log == whole.log);
            RC_ASSERT(pieces.octets[0] == whole.octets[0]);
            RC_ASSERT(pieces.octets[1] == whole.octets[1]);
        }
        met.met("wraps", whole.met.transfer_id_wrapped);
        met.met("meets a shut window", whole.met.window_shut);
        met.met("gets a flow in the middle of a frame", whole.met.flow_in_mid_frame);
        met.met("aborts a delivery on the wire", whole.met.aborted);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
