// Two ends that keep granting never stand still: whatever was sent arrives, within a number of
// round trips that its frames and the windows set, and without any help of time.
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

TEST(NoStall, EverythingSentArrivesInBoundedRounds)
{
    shares met;
    weights const w{{10, act::send},        {4, act::send_settled}, {8, act::stream},
                    {4, act::body_ready},   {4, act::credit},       {4, act::credit_window},
                    {3, act::drain},        {3, act::flow_link},    {3, act::flow_session},
                    {4, act::settle},       {3, act::read_body},    {6, act::write_some},
                    {6, act::deliver_some}, {3, act::deliver_all},  {2, act::exchange}};
    for_all(met, [&] {
        world it{{.first_id = some_first_id(),
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .sessions = *rc::gen::inRange(1u, 3u),
                  .links_each_way = *rc::gen::inRange(1u, 4u),
                  .streams_fail = false}};
        it.open();
        it.run(*steps_of(w));
        it.conclude();
        std::size_t frames = 0;
        for (auto const& [number, p] : it.parcels) {
            if (p.arrived != 1 && !p.refused_half && it.objection.empty())
                it.object("parcel " + std::to_string(number) + " on " + p.link
                          + " has not arrived");
            frames += 1 + p.size.value_or(0) / it.options.max_frame_size;
        }
        met.met("wraps", it.books.met.transfer_id_wrapped);
        met.met("meets a shut window", it.books.met.window_shut);
        met.met("sends more frames than a window has", frames > 9);
        if (!it.objection.empty())
            RC_FAIL(it.objection);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
