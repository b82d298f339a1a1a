// Whether calls that overlapped could have been whole steps, one after the other: the search of
// Wing and Gong, with Lowe's memo of what was tried.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::test {

/// Of calls by their number, 64 at most.
using call_set = std::uint64_t;
constexpr call_set only(std::size_t call) { return call_set{1} << call; }
constexpr bool has(call_set s, std::size_t call) { return (s & only(call)) != 0; }

/// When a call was made and answered, on a clock that never says the same twice.
struct call_times {
    static constexpr auto never = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t called = 0;
    std::uint64_t answered = never;  // it may have had its effect, or may not
    std::uint64_t hint = 0;          // which to try first; no verdict depends on it
};

enum class linear : std::uint8_t { yes, no, undecided };

struct linear_result {
    linear verdict = linear::no;
    std::size_t states = 0;  // that were looked at
    call_set furthest = 0;   // what could be explained, at best
};

/// A `Model` is what the calls work on, in one of its states:
///
///     std::string key() const;       // states with equal ones have the same future
///     template <class F>             // each way in which `call` may have its effect now:
///     void steps(std::size_t call, call_set done, call_set open, F f) const;  // f(next, calls)
///     bool rests(call_set done) const;  // those that are not done may stay without an answer
///
/// `open` are the calls that were made by now and have not had their effect. A step may be that of
/// several calls at once.
template <class Model>
linear_result linearizable(Model const& start, std::vector<call_times> const& calls,
                           std::size_t states_max = 200'000)
{
    call_set answered = 0;
    for (std::size_t i = 0; i != calls.size(); ++i)
        if (calls[i].answered != call_times::never)
            answered |= only(i);
    std::vector<std::size_t> order(calls.size());
    for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, std::greater{}, [&](auto i) { return calls[i].hint; });

    linear_result out;
    std::unordered_set<std::string> known;
    std::vector<std::pair<call_set, Model>> todo{{0, start}};
    while (!todo.empty()) {
        auto const [done, model] = std::move(todo.back());
        todo.pop_back();
        if (!known.insert(std::to_string(done) + ":" + model.key()).second)
            continue;
        if (std::popcount(done) > std::popcount(out.furthest))
            out.furthest = done;
        if ((answered & ~done) == 0 && model.rests(done)) {
            out.verdict = linear::yes;
            return out;
        }
        if (++out.states > states_max) {
            out.verdict = linear::undecided;
            return out;
        }
        // What was made only after another one was answered comes after that.
        auto bound = call_times::never;
        for (auto const i : order)
            if (!has(done, i))
                bound = std::min(bound, calls[i].answered);
        call_set open = 0;
        for (auto const i : order)
            if (!has(done, i) && calls[i].called < bound)
                open |= only(i);
        for (auto const i : order)  // the last one is looked at first
            if (has(open, i))
                model.steps(i, done, open, [&, before = done](Model next, call_set now) {
                    todo.emplace_back(before | now, std::move(next));
                });
    }
    return out;
}

}  // namespace sluice::test
