// Bodies that can be told apart: each carries its number and a pattern made of it, so that a
// receiver sees which delivery it is and whether an octet is missing.
#pragma once

#include <sluice/engine/connection.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace sluice::prop {

namespace e = sluice::engine;

/// A parcel's first four octets are its number.
inline constexpr std::size_t parcel_size_min = 4;

constexpr std::byte parcel_octet(std::uint32_t number, std::size_t at) noexcept
{
    if (at < parcel_size_min)
        return static_cast<std::byte>(number >> 8 * (3 - at));
    return static_cast<std::byte>(number * 131u + static_cast<std::uint32_t>(at) * 31u);
}

/// What became of one message, told by both users.
struct parcel {
    std::uint32_t number = 0;
    std::string link{};
    bytes body{};                       // empty: streamed
    std::optional<std::size_t> size{};  // absent while a stream is not at its end
    bool settled = false;               // sent settled
    // at the sender
    unsigned ends = 0;  // final words about it: exactly one in the end
    std::string how{};  // the last of them
    e::outcome_kind heard = e::outcome_kind::none;
    // at the receiver
    unsigned arrived = 0;  // whole
    e::outcome_kind said = e::outcome_kind::none;
    bool refused_half = false;  // the receiver settled it before its end
};

/// Follows a script of numbers: chunks, "not ready", a failure; the end when there is no more of
/// it. `meanwhile` runs while the frame is being written.
class parcel_source final : public e::body_source {
public:
    explicit parcel_source(std::uint32_t number) : number_{number} {}

    std::deque<unsigned> script;
    std::function<void()> meanwhile = [] {};
    bool finished = false;
    bool failed = false;

    std::size_t size() const noexcept { return at_; }

    e::pull_result pull(std::span<std::byte> into) noexcept override
    {
        meanwhile();
        if (script.empty()) {
            auto const rest = at_ < parcel_size_min ? parcel_size_min - at_ : 0;
            auto const n = put(into, rest);
            finished = n == rest;
            return {finished ? e::pull_status::end : e::pull_status::bytes, n};
        }
        auto const next = script.front();
        script.pop_front();
        if (next % 17 == 16) {
            failed = true;
            return {e::pull_status::failed, 0};
        }
        if (next % 5 == 4)
            return {e::pull_status::not_ready, 0};
        return {e::pull_status::bytes, put(into, 1 + next * 7 % 900)};
    }

private:
    std::size_t put(std::span<std::byte> into, std::size_t wanted) noexcept
    {
        auto const n = std::min(into.size(), wanted);
        for (std::size_t i = 0; i < n; ++i) into[i] = parcel_octet(number_, at_ + i);
        at_ += n;
        return n;
    }

    std::uint32_t number_;
    std::size_t at_ = 0;
};

}  // namespace sluice::prop
