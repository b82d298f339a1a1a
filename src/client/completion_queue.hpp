// Answers on their way to the user's side: gathered, and run one after the other on one executor.
#pragma once

#include "client/handler_pool.hpp"

#include <sluice/client/detail/reply.hpp>

#include <memory>
#include <mutex>

namespace sluice::client::detail {

/// One wake-up of the executor runs all that has gathered. Thread-safe, except defer() and flush().
class completion_queue : public std::enable_shared_from_this<completion_queue> {
public:
    completion_queue(executor ex, exception_sink sink)
        : executor_{std::move(ex)}, sink_{std::move(sink)}
    {
    }
    ~completion_queue();

    executor const& get_executor() const noexcept { return executor_; }

    /// Any thread.
    void push(reply_base& r);

    /// Strand: keeps it until flush(). @returns true if it is the first since.
    bool defer(reply_base& r) noexcept;
    void flush();

    /// Hands an answer over from any thread but the strand.
    void complete(reply_base& r)
    {
        if (r.batched())
            push(r);
        else
            r.deliver();
    }

private:
    void append(reply_base& first, reply_base& last);
    void run();
    void run_gathered();
    void run_one(reply_base& r);

    executor executor_;
    exception_sink sink_;
    reply_base* deferred_first_ = nullptr;
    reply_base* deferred_last_ = nullptr;

    std::mutex mutex_;  // of what follows
    reply_base* first_ = nullptr;
    reply_base* last_ = nullptr;
    bool scheduled_ = false;
};

}  // namespace sluice::client::detail
