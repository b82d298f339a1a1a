// A body source that follows a script.
#pragma once

#include <sluice/engine/body_source.hpp>

#include <algorithm>
#include <deque>
#include <functional>

namespace sluice::test {

/// Answers each pull with the next step of its script; `not_ready` once the script is at its end.
class scripted_source final : public engine::body_source {
public:
    struct step {
        engine::pull_status status = engine::pull_status::bytes;
        std::size_t size = 0;  ///< cut to the room given
        std::function<void()> meanwhile = [] {};
    };

    scripted_source() = default;
    explicit scripted_source(std::deque<step> steps) : script{std::move(steps)} {}

    engine::pull_result pull(std::span<std::byte> into) noexcept override
    {
        ++pulls;
        if (script.empty())
            return {.status = engine::pull_status::not_ready};
        auto const now = script.front();
        script.pop_front();
        now.meanwhile();
        auto const size = std::min(now.size, into.size());
        std::fill_n(into.begin(), size, std::byte{'b'});
        return {.status = now.status, .size = size};
    }

    std::deque<step> script;
    int pulls = 0;
};

}  // namespace sluice::test
