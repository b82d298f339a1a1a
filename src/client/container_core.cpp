// I/O threads, the handler pool, and the end of both.
#include "client/container_core.hpp"

#include "client/connection_core.hpp"
#include "client/listener_core.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace sluice::client::detail {
namespace {

constexpr std::size_t spares_max = 4;

std::string random_name()
{
    std::random_device source;
    std::string out;
    for (int i = 0; i < 12; ++i) out += "0123456789abcdef"[source() % 16];
    return out;
}

bool trace_wanted() noexcept
{
    // NOLINTNEXTLINE(concurrency-mt-unsafe): safe as long as nobody calls setenv()
    auto const* const value = std::getenv("SLUICE_TRACE");
    return value && std::strcmp(value, "frames") == 0;
}

void print(std::exception_ptr what)
{
    try {
        std::rethrow_exception(what);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "sluice: a handler threw: %s\n", e.what());
    } catch (...) {
        std::fputs("sluice: a handler threw something that is no std::exception\n", stderr);
    }
}

}  // namespace

io_thread::io_thread() : work_{context_.get_executor()}, thread_{[this] { context_.run(); }} {}

io_thread::~io_thread() { stop(); }

void io_thread::stop()
{
    work_.reset();
    if (!thread_.joinable())
        return;
    if (thread_.get_id() == std::this_thread::get_id())
        thread_.detach();
    else
        thread_.join();
    stopped_.store(true, std::memory_order_release);
}

std::unique_ptr<std::byte[]> io_thread::borrow(std::size_t size)
{
    for (auto& s : spares_) {
        if (s.size != size)
            continue;
        auto buffer = std::move(s.buffer);
        s = std::move(spares_.back());
        spares_.pop_back();
        return buffer;
    }
    return std::make_unique_for_overwrite<std::byte[]>(size);
}

void io_thread::give_back(std::unique_ptr<std::byte[]> buffer, std::size_t size) noexcept
{
    if (buffer && spares_.size() < spares_max)
        spares_.push_back({size, std::move(buffer)});
}

container_core::container_core(container_options options)
    : id_{options.id.empty() ? "sluice-" + random_name() : options.id},
      options_{std::move(options)},
      tracing_{trace_wanted()},
      sink_{std::make_shared<std::function<void(std::exception_ptr)>>(
          options_.on_exception ? options_.on_exception : print)},
      unique_prefix_{random_name()}
{
    if (!options_.handler_executor)
        pool_ = handler_pool::make(options_.handler_threads_max, sink_);
    completions_ = make_completions();
    for (unsigned i = 0; i < std::max(options_.io_threads, 1u); ++i)
        io_.push_back(std::make_shared<io_thread>());
}

std::shared_ptr<completion_queue> container_core::make_completions() const
{
    auto const under = options_.handler_executor
                           ? *options_.handler_executor
                           : boost::asio::any_io_executor{pool_->get_executor()};
    return std::make_shared<completion_queue>(boost::asio::make_strand(under), sink_);
}

std::shared_ptr<io_thread> container_core::next_io_thread() noexcept
{
    return io_[next_io_.fetch_add(1, std::memory_order_relaxed) % io_.size()];
}

bool container_core::add(std::shared_ptr<connection_core> const& connection)
{
    std::lock_guard const lock{mutex_};
    if (stopping_)
        return false;
    std::erase_if(connections_, [](auto const& c) { return c.expired(); });
    connections_.push_back(connection);
    return true;
}

bool container_core::add(std::shared_ptr<listener_core> const& listener)
{
    std::lock_guard const lock{mutex_};
    if (stopping_)
        return false;
    std::erase_if(listeners_, [](auto const& l) { return l.expired(); });
    listeners_.push_back(listener);
    return true;
}

std::string container_core::unique_name(std::string_view prefix)
{
    return std::string{prefix} + "-" + unique_prefix_ + "-"
           + std::to_string(next_name_.fetch_add(1, std::memory_order_relaxed));
}

void container_core::stop()
{
    std::vector<std::weak_ptr<connection_core>> connections;
    std::vector<std::weak_ptr<listener_core>> listeners;
    {
        std::lock_guard const lock{mutex_};
        if (std::exchange(stopping_, true))
            return;
        connections = std::move(connections_);
        listeners = std::move(listeners_);
    }
    for (auto const& l : listeners)
        if (auto const live = l.lock())
            live->start_abort();
    for (auto const& c : connections)
        if (auto const live = c.lock())
            live->start_abort();
    for (auto const& io : io_) io->stop();
    if (pool_)
        pool_->stop();
}

}  // namespace sluice::client::detail
