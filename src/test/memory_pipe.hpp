// Octets in order from one end to the other, in memory.
#pragma once

#include <sluice/codec/types.hpp>
#include <sluice/net/byte_stream.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace sluice::test::detail {

using net::error_code;
using net::readiness;

/// One direction. Thread-safe; whoever waits is called through its executor, never under the lock.
class memory_pipe {
public:
    explicit memory_pipe(std::size_t capacity) : capacity_{capacity} {}

    std::size_t read_some(std::byte* into, std::size_t size, error_code& ec);
    std::size_t write_some(std::byte const* from, std::size_t size, error_code& ec);
    /// Blocking. @returns octets read; 0 at the end, nothing when the time is over
    std::optional<std::size_t> read_within(std::byte* into, std::size_t size,
                                           std::chrono::milliseconds patience);

    using waiter = std::function<void(error_code)>;
    void wait(readiness which, waiter w);
    void cancel(readiness which);

    void end_writing();  ///< the reader finds the end behind what is there
    void end_reading();  ///< the writer finds nobody

private:
    bool ready(readiness which) const noexcept;
    void wake(std::unique_lock<std::mutex> lock, readiness which, error_code ec = {});

    std::size_t const capacity_;
    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    bytes octets_;
    std::size_t taken_ = 0;
    bool written_ = false;
    bool unread_ = false;
    waiter reader_;
    waiter writer_;
};

struct pipe_pair {
    std::shared_ptr<memory_pipe> in;
    std::shared_ptr<memory_pipe> out;
    pipe_pair turned() const { return {.in = out, .out = in}; }
};

std::unique_ptr<net::byte_stream> make_memory_stream(boost::asio::any_io_executor on,
                                                     pipe_pair pipes, std::string peer);

/// Who listens on which port.
class memory_hub : public std::enable_shared_from_this<memory_hub> {
public:
    explicit memory_hub(std::size_t buffer_max) : buffer_max_{buffer_max} {}

    using taker = std::function<void(pipe_pair)>;
    /// @param port 0: any that is free @returns 0 if it is in use, or if all are
    std::uint16_t listen(std::uint16_t port, taker take);
    void forget(std::uint16_t port);
    /// @returns the caller's end, or nothing if nobody listens there
    std::optional<pipe_pair> connect(std::uint16_t port);

private:
    std::size_t const buffer_max_;
    std::mutex mutex_;
    std::map<std::uint16_t, taker> listeners_;
    std::uint16_t last_ = 0;
};

}  // namespace sluice::test::detail
