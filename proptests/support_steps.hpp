// Sequences of steps with weights of a family's own, and the loop that runs it.
#pragma once

#include "support_shares.hpp"
#include "support_world.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sluice::prop {

using weights = std::vector<std::pair<std::size_t, act>>;

/// What comes in every family: messages, credit, settlement, octets that move.
inline weights usual_weights()
{
    return {{8, act::send},       {3, act::send_settled},  {6, act::stream},
            {4, act::body_ready}, {2, act::cancel},        {2, act::sender_settle},
            {5, act::credit},     {3, act::credit_window}, {2, act::drain},
            {4, act::flow_link},  {4, act::flow_session},  {6, act::settle},
            {3, act::update},     {4, act::read_body},     {12, act::write_some},
            {4, act::write_all},  {12, act::deliver_some}, {6, act::deliver_all},
            {3, act::exchange}};
}
inline weights operator+(weights a, weights const& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

inline rc::Gen<std::vector<step>> steps_of(weights const& w, double scale = 4.0)
{
    std::vector<act> urn;
    for (auto const& [weight, what] : w) urn.insert(urn.end(), weight, what);
    auto one = rc::gen::apply(
        [](act what, unsigned n) {
            return step{what, n};
        },
        rc::gen::elementOf(urn), rc::gen::inRange(0u, 1u << 20));
    return rc::gen::scale(scale, rc::gen::container<std::vector<step>>(rc::gen::resize(100, one)));
}

/// The ids that everything starts at: two times in three just before the wrap.
inline std::uint32_t some_first_id()
{
    return *rc::gen::weightedOneOf<std::uint32_t>(
        {{2, rc::gen::inRange(0xffff'fff0u, 0xffff'ffffu)},
         {1, rc::gen::arbitrary<std::uint32_t>()}});
}

/// Runs a case as often as RC_PARAMS says; `met` counts the hard cases.
template <class Case>
void for_all(shares& met, Case one)
{
    auto const ok = rc::check([&] {
        one();
        met.one_case();
    });
    EXPECT_TRUE(ok);
}

}  // namespace sluice::prop
