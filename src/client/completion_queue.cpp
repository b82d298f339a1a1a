// Runs gathered answers in batches.
#include "client/completion_queue.hpp"

#include <sluice/client/detail/notice_channel.hpp>

#include <boost/asio/post.hpp>

#include <chrono>

namespace sluice::client::detail {
namespace {

// For what comes while others are answered: going to the end of the executor's queue costs a
// wake-up.
constexpr std::chrono::microseconds stay_max{200};

}  // namespace

completion_queue::~completion_queue()
{
    for (auto* r : {deferred_first_, first_})
        while (r) {
            auto* const next = r->next_reply;
            r->discard();
            r = next;
        }
}

void completion_queue::push(reply_base& r)
{
    r.next_reply = nullptr;
    append(r, r);
}

bool completion_queue::defer(reply_base& r) noexcept
{
    auto const is_first = deferred_first_ == nullptr;
    r.next_reply = nullptr;
    (is_first ? deferred_first_ : deferred_last_->next_reply) = &r;
    deferred_last_ = &r;
    return is_first;
}

void completion_queue::flush()
{
    auto* const first = std::exchange(deferred_first_, nullptr);
    if (first)
        append(*first, *deferred_last_);
}

void completion_queue::append(reply_base& first, reply_base& last)
{
    {
        std::lock_guard const lock{mutex_};
        (first_ ? last_->next_reply : first_) = &first;
        last_ = &last;
        if (std::exchange(scheduled_, true))
            return;
    }
    boost::asio::post(executor_, [self = shared_from_this()] { self->run(); });
}

void completion_queue::run()
{
    using clock = std::chrono::steady_clock;
    for (auto until = clock::time_point::max();;) {
        run_gathered();
        {
            std::lock_guard const lock{mutex_};
            if (!first_) {
                scheduled_ = false;
                return;
            }
        }
        auto const now = clock::now();
        if (until == clock::time_point::max())
            until = now + stay_max;
        else if (now >= until)
            break;
    }
    // Behind what others have posted to this executor meanwhile.
    boost::asio::post(executor_, [self = shared_from_this()] { self->run(); });
}

void completion_queue::run_gathered()
{
    reply_base* r = nullptr;
    {
        std::lock_guard const lock{mutex_};
        r = std::exchange(first_, nullptr);
    }
    while (r) {
        auto* const next =
            r->next_reply;  // read first: running frees it, or puts it into a queue again
        run_one(*r);
        r = next;
    }
}

/// What one handler throws is no other handler's business.
void completion_queue::run_one(reply_base& r)
{
    try {
        r.run();
    } catch (...) {
        (*sink_)(std::current_exception());
    }
}

// ---- for channels of facts, whose templates stand in headers of users

void complete_reply(completion_queue& queue, reply_base& r) { queue.complete(r); }

executor executor_of(completion_queue const& queue) { return queue.get_executor(); }

}  // namespace sluice::client::detail
