// Messages that are numbers, for tests of their order.
#pragma once

#include <sluice/dispatch/dispatcher.hpp>

#include <string>
#include <vector>

namespace sluice::test {

using numbers = std::vector<int>;

inline constexpr client::milliseconds patience{20'000};

inline int number_of(client::delivery const& d)
{
    return std::stoi(d.message().body_text().value());
}

inline numbers from_to(int first, int last)
{
    numbers out;
    for (int n = first; n <= last; ++n) out.push_back(n);
    return out;
}

/// The next `count` that a consumer takes.
inline numbers take(dispatch::consumer const& c, int count)
{
    numbers out;
    for (int i = 0; i < count; ++i) out.push_back(number_of(c.receive(patience)));
    return out;
}

/// What `f` throws, or nothing.
template <class F>
std::error_code code_of(F f)
{
    try {
        f();
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
    return {};
}

}  // namespace sluice::test
