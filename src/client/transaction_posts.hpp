// What a transaction's commit waits for: the sends in it.
#pragma once

#include <sluice/client/error.hpp>
#include <sluice/client/outcome.hpp>

#include <functional>
#include <mutex>

namespace sluice::client::detail {

/// Counts the sends of one transaction that have no outcome yet. Thread-safe.
class transaction_posts {
public:
    void begin() noexcept;
    void end(std::error_code code, failure_ptr const& why, outcome const& o);

    /// Calls `then` once none is left, on the thread of the last answer.
    /// @returns false, and keeps nothing, if there is none now.
    bool when_none(std::function<void()> then);
    /// Whether what when_none() was given is still to be called.
    bool waits() const noexcept;
    std::size_t count() const noexcept;
    /// Of the first send that came to nothing while somebody waited; null if all is well.
    failure_ptr failed() const;

private:
    mutable std::mutex mutex_;
    std::size_t count_ = 0;
    std::function<void()> then_;
    failure_ptr failed_;
};

}  // namespace sluice::client::detail
