// The table type for state machines: transitions as data that code runs on and documents are
// written from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

/// One row: in state `from`, `on` happens, and the machine is in `to`.
template <class State, class Event>
struct transition {
    State from;
    Event on;
    State to;
    std::string_view action = {};  ///< what is sent or done, for the specification
    std::string_view user = {};    ///< what the user of the endpoint sees, for the specification
};

/// A machine. Both enumerations end in `count_`. An (state, event) pair without a row is not
/// allowed.
template <class State, class Event, std::size_t N>
class state_table {
public:
    using row = transition<State, Event>;

    constexpr explicit state_table(std::array<row, N> rows) noexcept : rows_{rows}
    {
        for (auto& line : next_)
            for (auto& cell : line) cell = none;
        for (auto const& r : rows_)
            next_[index(r.from)][index(r.on)] = static_cast<std::uint8_t>(r.to);
    }

    constexpr bool allows(State from, Event on) const noexcept
    {
        return next_[index(from)][index(on)] != none;
    }

    /// The state after `on`, or nothing if the table has no such row.
    constexpr std::optional<State> next(State from, Event on) const noexcept
    {
        auto const to = next_[index(from)][index(on)];
        if (to == none)
            return std::nullopt;
        return static_cast<State>(to);
    }

    constexpr std::array<row, N> const& rows() const noexcept { return rows_; }

    /// False if two rows contradict each other: checked at compile time where a table is defined.
    constexpr bool deterministic() const noexcept
    {
        for (std::size_t i = 0; i < N; ++i)
            for (std::size_t j = i + 1; j < N; ++j)
                if (rows_[i].from == rows_[j].from && rows_[i].on == rows_[j].on)
                    return false;
        return true;
    }

private:
    template <class E>
    static constexpr std::size_t index(E e) noexcept
    {
        return static_cast<std::size_t>(e);
    }
    static constexpr std::uint8_t none = 255;
    std::array<row, N> rows_;
    std::array<std::array<std::uint8_t, static_cast<std::size_t>(Event::count_)>,
               static_cast<std::size_t>(State::count_)>
        next_{};
};

template <class State, class Event, std::size_t N>
constexpr state_table<State, Event, N> make_state_table(
    transition<State, Event> const (&rows)[N]) noexcept
{
    std::array<transition<State, Event>, N> copy{};
    for (std::size_t i = 0; i < N; ++i) copy[i] = rows[i];
    return state_table<State, Event, N>{copy};
}

}  // namespace sluice
