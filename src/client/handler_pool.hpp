// Threads for the users' handlers: few, and more while those are blocked.
#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace sluice::client::detail {

/// Something to run once.
class pool_task {
public:
    pool_task* next = nullptr;
    virtual void run() = 0;  ///< frees it
    virtual void drop() noexcept = 0;

protected:
    ~pool_task() = default;
};

/// Where what handlers throw goes.
using exception_sink = std::shared_ptr<std::function<void(std::exception_ptr)>>;

struct pool_state;

/// Begins with no thread. Grows to the number of processors at once, and beyond only when a task
/// has waited for 5 ms while no thread took one; never beyond `threads_max`: then tasks wait. A
/// thread without work for 10 s ends.
///
/// Executors keep the pool's memory, so that one which outlives stop() is harmless.
class handler_pool : public boost::asio::execution_context,
                     public std::enable_shared_from_this<handler_pool> {
public:
    /// @param sink gets what a task throws that is not the library's, such as a handler on its
    ///     user's strand over the pool; does not throw
    static std::shared_ptr<handler_pool> make(unsigned threads_max, exception_sink sink);
    ~handler_pool();

    class executor_type;
    executor_type get_executor() noexcept;

    /// Runs what waits already, takes nothing more, and waits for all threads but the calling one.
    void stop();

    unsigned threads() const;

private:
    handler_pool(unsigned threads_max, exception_sink sink);

    template <class F>
    class task_of final : public pool_task {
    public:
        explicit task_of(F&& f) : function_{std::move(f)} {}
        void run() override
        {
            auto f = std::move(function_);
            delete this;
            f();
        }
        void drop() noexcept override { delete this; }

    private:
        F function_;
    };
    void push(pool_task* t);

    std::shared_ptr<pool_state> state_;
};

class handler_pool::executor_type {
public:
    explicit executor_type(std::shared_ptr<handler_pool> pool) noexcept : pool_{std::move(pool)} {}

    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept
    {
        return *pool_;
    }
    static constexpr boost::asio::execution::blocking_t query(
        boost::asio::execution::blocking_t) noexcept
    {
        return boost::asio::execution::blocking.never;
    }
    executor_type require(boost::asio::execution::blocking_t::never_t) const noexcept
    {
        return *this;
    }

    template <class F>
    void execute(F&& f) const
    {
        pool_->push(new task_of<std::decay_t<F>>{std::decay_t<F>{std::forward<F>(f)}});
    }

    friend bool operator==(executor_type const&, executor_type const&) noexcept = default;

private:
    std::shared_ptr<handler_pool> pool_;
};

inline handler_pool::executor_type handler_pool::get_executor() noexcept
{
    return executor_type{shared_from_this()};
}

}  // namespace sluice::client::detail
