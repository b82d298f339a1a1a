// One-shot replies: how the answer to a call finds its way back, whatever the completion token.
#pragma once

#include <sluice/client/detail/recycle.hpp>
#include <sluice/client/error.hpp>
#include <sluice/export.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace sluice::client {

/// Where handlers run that have no executor of their own: one after the other.
using executor = boost::asio::strand<boost::asio::any_io_executor>;

namespace detail {

class connection_core;
class session_core;
class sender_core;
class receiver_core;
class link_core;
class delivery_core;
class stream_core;
class container_core;

/// Asks the strand to give a call up. Made by whoever runs the call; outlives it.
class SLUICE_EXPORT canceller {
public:
    virtual ~canceller() = default;
    virtual void cancel() noexcept = 0;  ///< any thread, any number of times
};

/// What waits for an answer. set() by the layer, then exactly one of run(), deliver() and
/// discard().
class SLUICE_EXPORT reply_base {
public:
    reply_base* next_reply = nullptr;  // in a completion queue

    /// True: run() belongs on the call's default executor, so that answers may be gathered into one
    /// wake-up.
    bool batched() const noexcept { return batched_; }
    /// Calls the handler here. Frees this.
    virtual void run() = 0;
    /// Hands the answer to its own executor or waiting thread. Frees this. @pre !batched()
    virtual void deliver() noexcept = 0;
    /// Frees this without an answer: the executor is gone.
    virtual void discard() noexcept = 0;
    /// Whether the caller may cancel.
    virtual bool cancellable() const noexcept { return false; }
    /// Lets the caller's signal reach `what`. @pre cancellable(); before the call can complete
    virtual void connect(std::shared_ptr<canceller>) {}

protected:
    explicit reply_base(bool batched) noexcept : batched_{batched} {}
    ~reply_base() = default;
    bool const batched_;
};

template <class... Results>
class reply : public reply_base {
public:
    void set(std::error_code code, failure_ptr why, Results... results)
    {
        code_ = code;
        why_ = std::move(why);
        results_ = std::tuple<Results...>{std::move(results)...};
    }

protected:
    using reply_base::reply_base;
    ~reply() = default;
    std::error_code code_;
    failure_ptr why_;
    std::tuple<Results...> results_;
};

struct reply_deleter {
    void operator()(reply_base* r) const noexcept { r->discard(); }
};
template <class... Results>
using reply_ptr = std::unique_ptr<reply<Results...>, reply_deleter>;

/// A handler that only fulfils a std::promise: library code, safe to call anywhere.
template <class Handler>
inline constexpr bool is_promise = false;
template <class Signature, class Allocator>
inline constexpr bool is_promise<boost::asio::detail::promise_handler<Signature, Allocator>> = true;

template <class Handler, class... Results>
class handler_reply final : public reply<Results...> {
    using own_executor = boost::asio::associated_executor_t<Handler, executor>;
    static constexpr bool has_own = !std::is_same_v<own_executor, executor>;
    using tracked_executor = std::decay_t<decltype(boost::asio::prefer(
        std::declval<own_executor>(), boost::asio::execution::outstanding_work.tracked))>;
    using base_allocator = boost::asio::associated_allocator_t<Handler, recycling_allocator<void>>;
    using allocator =
        typename std::allocator_traits<base_allocator>::template rebind_alloc<handler_reply>;

public:
    static reply_ptr<Results...> make(Handler&& handler, executor const& fallback)
    {
        allocator a{boost::asio::get_associated_allocator(handler, recycling_allocator<void>{})};
        auto* const place = std::allocator_traits<allocator>::allocate(a, 1);
        return reply_ptr<Results...>{new (place) handler_reply{std::move(handler), fallback}};
    }

    void run() override
    {
        auto handler = release();
        handler();
    }

    void deliver() noexcept override
    {
        if constexpr (is_promise<Handler>) {
            run();
        } else {
            auto ex = std::move(*executor_);
            boost::asio::post(ex, release());
        }
    }

    void discard() noexcept override { (void)release(); }

    bool cancellable() const noexcept override
    {
        return boost::asio::get_associated_cancellation_slot(handler_).is_connected();
    }
    void connect(std::shared_ptr<canceller> what) override
    {
        boost::asio::get_associated_cancellation_slot(handler_).assign(
            [what = std::move(what)](boost::asio::cancellation_type kind) {
                if (kind != boost::asio::cancellation_type::none)
                    what->cancel();
            });
    }

private:
    /// The handler and its arguments, moved out before this is freed, so that it may start the next
    /// call in its place.
    struct bound {
        Handler handler;
        error_code code;
        std::tuple<Results...> results;

        using allocator_type = base_allocator;
        allocator_type get_allocator() const noexcept
        {
            return boost::asio::get_associated_allocator(handler, recycling_allocator<void>{});
        }
        void operator()()
        {
            if (auto slot = boost::asio::get_associated_cancellation_slot(handler);
                slot.is_connected())
                slot.clear();
            std::apply([&](Results&... r) { std::move(handler)(code, std::move(r)...); }, results);
        }
    };

    handler_reply(Handler&& handler, executor const& fallback)
        : reply<Results...>{runs_on(handler, fallback)}, handler_{std::move(handler)}
    {
        if (!this->batched())
            executor_.emplace(
                boost::asio::prefer(boost::asio::get_associated_executor(handler_, fallback),
                                    boost::asio::execution::outstanding_work.tracked));
    }
    ~handler_reply() = default;

    static bool runs_on(Handler const& handler, executor const& fallback) noexcept
    {
        auto const& own = boost::asio::get_associated_executor(handler, fallback);
        if constexpr (!has_own) {
            return own == fallback;
        } else if constexpr (std::is_same_v<own_executor, boost::asio::any_io_executor>) {
            auto const* const target =
                own.template target<executor>();  // a coroutine on the session's executor
            return target && *target == fallback;
        } else {
            return false;
        }
    }

    bound release() noexcept
    {
        // Converting looks at the category, however good the news.
        bound out{std::move(handler_), this->code_ ? error_code{this->code_} : error_code{},
                  std::move(this->results_)};
        allocator a{
            boost::asio::get_associated_allocator(out.handler, recycling_allocator<void>{})};
        this->~handler_reply();
        std::allocator_traits<allocator>::deallocate(a, this, 1);
        return out;
    }

    Handler handler_;
    std::optional<tracked_executor> executor_;
};

/// For the blocking forms: lives on the waiting thread's stack.
template <class... Results>
class sync_reply final : public reply<Results...> {
public:
    sync_reply() noexcept : reply<Results...>{false} {}
    ~sync_reply() = default;

    void run() override { deliver(); }
    void deliver() noexcept override
    {
        std::lock_guard const lock{
            mutex_};  // held while notifying: the waiter frees this as soon as it can
        done_ = true;
        ready_.notify_one();
    }
    void discard() noexcept override
    {
        this->code_ = make_error_code(sluice::error::operation_aborted);
        deliver();
    }

    /// Waits. @throws boost::system::system_error
    auto get()
    {
        {
            std::unique_lock lock{mutex_};
            ready_.wait(lock, [this] { return done_; });
        }
        if (this->code_)
            net::throw_error(this->code_, this->why_ ? this->why_->text : std::string{});
        if constexpr (sizeof...(Results) == 1)
            return std::move(std::get<0>(this->results_));
    }

private:
    std::mutex mutex_;
    std::condition_variable ready_;
    bool done_ = false;
};

/// The body of every `async_x`: `start` gets the reply.
template <class... Results, class Token, class Start>
auto initiate(executor const& fallback, Token&& token, Start start)
{
    return boost::asio::async_initiate<Token, void(error_code, Results...)>(
        []<class Handler>(Handler&& handler, executor const& ex, Start run) {
            using stored = std::decay_t<Handler>;
            // An lvalue is copied.
            run(handler_reply<stored, Results...>::make(stored(std::forward<Handler>(handler)),
                                                        ex));
        },
        token, fallback, std::move(start));
}

/// The body of every blocking form.
template <class... Results, class Start>
auto wait_for(Start start)
{
    sync_reply<Results...> answer;
    start(reply_ptr<Results...>{&answer});
    return answer.get();
}

}  // namespace detail
}  // namespace sluice::client
