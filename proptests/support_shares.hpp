// How many cases of a property met the hard case: a property that never wraps proves nothing.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

namespace sluice::prop {

class shares {
public:
    void one_case() { ++cases_; }
    void met(std::string const& what, bool it_did) { counts_[what] += it_did ? 1u : 0u; }

    /// Prints each share and expects at least `percent` of the cases: a share that only chance can
    /// have brought below it, three standard deviations at most, is taken for enough.
    void expect_each(unsigned percent) const
    {
        for (auto const& [what, count] : counts_) {
            auto const share =
                cases_ == 0 ? 0.0
                            : 100.0 * static_cast<double>(count) / static_cast<double>(cases_);
            std::printf("    %5.1f %%  %s (%zu of %zu)\n", share, what.c_str(), count, cases_);
            auto const p = static_cast<double>(percent);
            auto const chance =
                cases_ == 0 ? 0.0 : 3 * std::sqrt(p * (100 - p) / static_cast<double>(cases_));
            EXPECT_GE(share, p - chance) << what;
        }
    }

private:
    std::size_t cases_ = 0;
    std::map<std::string, std::size_t> counts_;
};

}  // namespace sluice::prop
