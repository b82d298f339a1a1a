// The threads of a container and what they share.
#pragma once

#include "client/completion_queue.hpp"
#include "client/handler_pool.hpp"

#include <sluice/client/options.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace sluice::client::detail {

class connection_core;
class listener_core;

/// One I/O thread. Everything on it runs one after the other, so it is the strand of each of its
/// connections.
class io_thread {
public:
    io_thread();
    ~io_thread();
    void stop();  ///< lets what is posted finish, then joins, unless called on the thread itself

    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

    boost::asio::io_context& context() noexcept { return context_; }

    /// Buffers of one size, lent to connections while they read or write: idle ones hold none. On
    /// the thread only.
    std::unique_ptr<std::byte[]> borrow(std::size_t size);
    void give_back(std::unique_ptr<std::byte[]> buffer, std::size_t size) noexcept;

private:
    struct spare {
        std::size_t size;
        std::unique_ptr<std::byte[]> buffer;
    };
    boost::asio::io_context context_{1};
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
    std::vector<spare> spares_;
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

class container_core : public std::enable_shared_from_this<container_core> {
public:
    explicit container_core(container_options options);
    void stop();

    std::string const& id() const noexcept { return id_; }
    bool tracing() const noexcept { return tracing_; }
    completion_queue& completions() noexcept { return *completions_; }
    std::shared_ptr<client::observer> const& observer() const noexcept { return options_.observer; }
    /// A queue whose handlers run one after the other.
    std::shared_ptr<completion_queue> make_completions() const;

    std::shared_ptr<io_thread> next_io_thread() noexcept;
    /// @returns false if the container is going.
    bool add(std::shared_ptr<connection_core> const& connection);
    bool add(std::shared_ptr<listener_core> const& listener);
    /// What a handler has thrown.
    void report(std::exception_ptr what) const { (*sink_)(what); }
    /// A link name, or a container-id, that was not given before.
    std::string unique_name(std::string_view prefix);

private:
    std::string id_;
    container_options options_;
    bool tracing_ = false;
    exception_sink sink_;
    std::shared_ptr<handler_pool> pool_;
    std::shared_ptr<completion_queue> completions_;
    std::vector<std::shared_ptr<io_thread>> io_;
    std::atomic<std::size_t> next_io_{0};
    std::atomic<std::uint64_t> next_name_{0};
    std::string unique_prefix_;

    std::mutex mutex_;
    bool stopping_ = false;
    std::vector<std::weak_ptr<connection_core>> connections_;
    std::vector<std::weak_ptr<listener_core>> listeners_;
};

}  // namespace sluice::client::detail
