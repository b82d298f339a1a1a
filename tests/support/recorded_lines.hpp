// The output of a command, kept.
#pragma once

#include "tools/terminal.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::test {

/// Thread-safe, so that a test can look while the command runs.
class recorded_lines final : public tools::line_output {
public:
    void result(std::string line) override
    {
        std::lock_guard const lock{mutex_};
        results_ += line + "\n";
    }
    void note(std::string line) override
    {
        std::lock_guard const lock{mutex_};
        notes_ += line + "\n";
    }
    void live(std::string) override {}

    std::string results() const
    {
        std::lock_guard const lock{mutex_};
        return results_;
    }
    std::string notes() const
    {
        std::lock_guard const lock{mutex_};
        return notes_;
    }

private:
    mutable std::mutex mutex_;
    std::string results_;
    std::string notes_;
};

}  // namespace sluice::test
