// Every serial number passes 2^32: transfer-ids, delivery-ids and delivery-counts start at 2^32 - 3
// at both ends, and nothing changes. [2.8.10, RFC 1982]
#include "support_steps.hpp"

namespace sluice::prop {
namespace {

TEST(Wrap, OfEverySerialNumberChangesNothing)
{
    shares met;
    for_all(met, [&] {
        world it{{.first_id = 0xffff'fffdu,
                  .seed = *rc::gen::arbitrary<unsigned>(),
                  .cut = static_cast<cutting>(*rc::gen::inRange(0, 3)),
                  .sessions = *rc::gen::inRange(1u, 3u)}};
        it.open();
        it.run(*steps_of(usual_weights() + weights{{8, act::send}, {4, act::exchange}}));
        it.conclude();
        met.met("wraps transfer-ids", it.books.met.transfer_id_wrapped);
        met.met("wraps delivery-ids", it.books.met.delivery_id_wrapped);
        met.met("wraps delivery-counts", it.books.met.delivery_count_wrapped);
        met.met("has a disposition over the wrap", it.books.met.disposition_over_the_wrap);
        if (!it.objection.empty())
            RC_FAIL(it.objection);
    });
    met.expect_each(10);
}

/// The numbers that everything starts at change nothing but the numbers: events are the same, and
/// so is what every parcel comes to.
TEST(Wrap, AnyFirstNumberGivesTheSameEvents)
{
    shares met;
    for_all(met, [&] {
        // Numbers differ in length: nothing may depend on how many octets a frame has.
        auto w = usual_weights();
        std::erase_if(w, [](auto const& x) {
            return x.second == act::write_some || x.second == act::deliver_some;
        });
        auto const steps = *steps_of(w);
        auto const seed = *rc::gen::arbitrary<unsigned>();
        std::array<std::string, 2> told;
        auto wrapped = false;
        for (std::size_t i : {0u, 1u}) {
            world it{{.first_id = i == 0 ? 1000u : 0xffff'fffdu, .seed = seed}};
            it.open();
            it.run(steps);
            it.conclude();
            for (auto const& [number, p] : it.parcels)
                told[i] += std::to_string(number) + " " + p.how + " "
                           + std::to_string(static_cast<int>(p.heard)) + " "
                           + std::to_string(p.arrived) + "\n";
            if (!it.objection.empty())
                RC_FAIL(it.objection);
            wrapped = wrapped || it.books.met.transfer_id_wrapped;
        }
        met.met("wraps", wrapped);
        RC_ASSERT(told[0] == told[1]);
    });
    met.expect_each(10);
}

}  // namespace
}  // namespace sluice::prop
