// Bounded channels of facts, written by the library and read by users.
#pragma once

#include <sluice/client/detail/reply.hpp>
#include <sluice/client/options.hpp>
#include <sluice/export.hpp>
#include <sluice/net/never.hpp>

#include <deque>

namespace sluice::client::detail {

class completion_queue;

/// Hands an answer over where its handler runs.
SLUICE_EXPORT void complete_reply(completion_queue& queue, reply_base& r);
SLUICE_EXPORT executor executor_of(completion_queue const& queue);

/// See client::notifications. The lock is never held while a handler or another lock is taken.
template <class T>
class notice_channel : public std::enable_shared_from_this<notice_channel<T>> {
public:
    notice_channel(std::shared_ptr<completion_queue> queue, std::size_t capacity)
        : queue_{std::move(queue)}, capacity_{capacity}
    {
    }

    // ---- the library's end

    void publish(T fact)
    {
        reply_ptr<T> first;
        {
            std::lock_guard const lock{mutex_};
            if (closed_)
                return;
            if (waiters_.empty()) {
                if (facts_.size() == capacity_) {
                    facts_.pop_front();
                    ++dropped_;
                }
                facts_.push_back(std::move(fact));
                ready_.notify_one();
                return;
            }
            first = std::move(waiters_.front().reply);
            waiters_.pop_front();
        }
        answer(std::move(first), {}, nullptr, std::move(fact));
    }
    void close(failure_ptr why)
    {
        std::deque<waiter> left;
        {
            std::lock_guard const lock{mutex_};
            if (std::exchange(closed_, true))
                return;
            why_ = why;
            left.swap(waiters_);
            ready_.notify_all();
        }
        for (auto& w : left) answer(std::move(w.reply), code_of(why), why, {});
    }

    // ---- the users'

    std::optional<T> try_next()
    {
        std::lock_guard const lock{mutex_};
        return take();
    }
    std::optional<T> next(milliseconds timeout)
    {
        std::unique_lock lock{mutex_};
        auto const ready = [this] { return closed_ || !facts_.empty(); };
        if (timeout >= net::never)
            ready_.wait(lock, ready);
        else
            ready_.wait_for(lock, timeout, ready);
        return take();
    }
    void start_next(reply_ptr<T> r)
    {
        std::optional<T> found;
        failure_ptr why;
        {
            std::lock_guard const lock{mutex_};
            found = take();
            why = why_;
            if (!found && !closed_) {
                auto const id = ++last_id_;
                if (r->cancellable())
                    r->connect(std::make_shared<cancel_wait>(this->weak_from_this(), id));
                waiters_.push_back({id, std::move(r)});
                return;
            }
        }
        auto const code = found ? std::error_code{} : code_of(why);
        answer(std::move(r), code, std::move(why), found ? std::move(*found) : T{});
    }
    bool closed() const
    {
        std::lock_guard const lock{mutex_};
        return closed_;
    }
    failure_ptr reason() const
    {
        std::lock_guard const lock{mutex_};
        return why_;
    }
    std::uint64_t dropped() const
    {
        std::lock_guard const lock{mutex_};
        return dropped_;
    }
    std::size_t capacity() const noexcept { return capacity_; }
    executor get_executor() const { return executor_of(*queue_); }

private:
    struct waiter {  // one for each call of a user's that waits
        std::uint64_t id;
        reply_ptr<T> reply;
    };
    class cancel_wait final : public canceller {
    public:
        cancel_wait(std::weak_ptr<notice_channel> of, std::uint64_t id)
            : of_{std::move(of)}, id_{id}
        {
        }
        void cancel() noexcept override
        {
            if (auto const c = of_.lock())
                c->give_up(id_);
        }

    private:
        std::weak_ptr<notice_channel> of_;
        std::uint64_t id_;
    };

    static std::error_code code_of(failure_ptr const& why)
    {
        return why && why->code ? why->code : make_error_code(sluice::error::operation_aborted);
    }
    std::optional<T> take()  // locked
    {
        if (facts_.empty())
            return std::nullopt;
        std::optional<T> out{std::move(facts_.front())};
        facts_.pop_front();
        return out;
    }
    void give_up(std::uint64_t id)
    {
        reply_ptr<T> found;
        {
            std::lock_guard const lock{mutex_};
            for (auto it = waiters_.begin(); it != waiters_.end(); ++it) {
                if (it->id != id)
                    continue;
                found = std::move(it->reply);
                waiters_.erase(it);
                break;
            }
        }
        if (found)
            answer(std::move(found), make_error_code(sluice::error::operation_aborted), nullptr,
                   {});
    }
    void answer(reply_ptr<T> r, std::error_code code, failure_ptr why, T fact)
    {
        r->set(code, std::move(why), std::move(fact));
        complete_reply(*queue_, *r.release());
    }

    std::shared_ptr<completion_queue> const queue_;
    std::size_t const capacity_;
    mutable std::mutex mutex_;  // of what follows
    std::condition_variable ready_;
    std::deque<T> facts_;  // at most capacity_
    std::deque<waiter> waiters_;
    std::uint64_t last_id_ = 0;
    std::uint64_t dropped_ = 0;
    bool closed_ = false;
    failure_ptr why_;
};

/// All channels that users have asked for of one kind of fact. Thread-safe.
template <class T>
class notice_board {
public:
    std::shared_ptr<notice_channel<T>> subscribe(std::shared_ptr<completion_queue> queue,
                                                 std::size_t capacity)
    {
        auto made = std::make_shared<notice_channel<T>>(std::move(queue), capacity);
        {
            std::lock_guard const lock{mutex_};
            if (!closed_) {
                std::erase_if(channels_, [](auto const& c) { return c.expired(); });
                channels_.push_back(made);
                wanted_.store(true, std::memory_order_release);
                return made;
            }
        }
        made->close(why_);
        return made;
    }
    /// Whether anybody may listen.
    bool wanted() const noexcept { return wanted_.load(std::memory_order_acquire); }
    void publish(T const& fact)
    {
        if (!wanted())
            return;
        for (auto const& c : live()) c->publish(fact);
    }
    void close(failure_ptr why)
    {
        {
            std::lock_guard const lock{mutex_};
            if (std::exchange(closed_, true))
                return;
            why_ = why;
        }
        for (auto const& c : live()) c->close(why);
    }

private:
    std::vector<std::shared_ptr<notice_channel<T>>> live()
    {
        std::vector<std::shared_ptr<notice_channel<T>>> out;
        std::lock_guard const lock{mutex_};
        std::erase_if(channels_, [](auto const& c) { return c.expired(); });
        if (channels_.empty())
            wanted_.store(false, std::memory_order_release);
        for (auto const& c : channels_)
            if (auto live = c.lock())
                out.push_back(std::move(live));
        return out;
    }

    std::mutex mutex_;                                        // of what follows
    std::vector<std::weak_ptr<notice_channel<T>>> channels_;  // one for each that a user holds
    std::atomic<bool> wanted_{false};
    bool closed_ = false;
    failure_ptr why_;
};

}  // namespace sluice::client::detail
