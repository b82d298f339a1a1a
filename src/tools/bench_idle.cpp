// Connections that do nothing but be there: how fast they come, what the node keeps for each.
#include "tools/bench_pairs.hpp"
#include "tools/json_text.hpp"
#include "tools/plain_text.hpp"
#include "tools/progress.hpp"

#include <sluice/node/node.hpp>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace sluice::tools {
namespace {

using clock = std::chrono::steady_clock;

void raise_descriptor_limit(std::uint64_t wanted)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    constexpr std::uint64_t others = 64;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted + others)
        throw std::runtime_error{fmt::format(
            "{} connections need as many file descriptors, but {} are allowed; raise the "
            "limit (ulimit -n), or open fewer",
            wanted, limit.rlim_cur)};
}

/// Octets of the heap in use, of all arenas.
std::uint64_t heap_in_use()
{
    auto const m = ::mallinfo2();
    return m.uordblks + m.hblkhd;
}

/// So many at a time: connect, begin, attach both links.
class opener {
public:
    opener(bench_settings const& s, std::string url)
        : s_{s}, url_{std::move(url)}, container_{s.peer.container()}
    {
    }

    /// @returns seconds @throws std::runtime_error with the first failure
    double open_all()
    {
        constexpr std::uint64_t at_once = 32;
        auto const began = clock::now();
        {
            std::unique_lock lock{mutex_};
            for (std::uint64_t i = 0; i != std::min(at_once, s_.idle_connections); ++i) next();
            changed_.wait(lock, [&] { return done_ == s_.idle_connections || !problem_.empty(); });
            if (!problem_.empty())
                throw std::runtime_error{problem_};
        }
        return std::chrono::duration<double>{clock::now() - began}.count();
    }

private:
    struct one {
        client::connection connection;
        client::session session;
        client::sender sender;
        client::receiver receiver;
    };

    /// @pre locked
    void next()
    {
        if (started_ == s_.idle_connections || !problem_.empty())
            return;
        auto const number = started_++;
        container_->async_connect(url_, s_.peer.connection(),
                                  [this, number](client::error_code ec, client::connection c) {
                                      if (failed(ec, c))
                                          return;
                                      auto const o = std::make_shared<one>();
                                      o->connection = std::move(c);
                                      begin(o, number);
                                  });
    }

    void begin(std::shared_ptr<one> const& o, std::uint64_t number)
    {
        auto const address = fmt::format("idle.{}", number % 100);
        o->connection.async_begin([this, o, address](client::error_code ec, client::session s) {
            if (failed(ec, s))
                return;
            o->session = std::move(s);
            o->session.async_open_sender(
                address, [this, o, address](client::error_code e, client::sender l) {
                    if (failed(e, l))
                        return;
                    o->sender = std::move(l);
                    o->session.async_open_receiver(
                        address, [this, o](client::error_code e2, client::receiver r) {
                            if (failed(e2, r))
                                return;
                            o->receiver = std::move(r);
                            std::lock_guard const lock{mutex_};
                            open_.push_back(*o);
                            ++done_;
                            next();
                            if (done_ == s_.idle_connections)
                                changed_.notify_all();
                        });
                });
        });
    }

    bool failed(client::error_code const& ec, auto const& handle)
    {
        if (!ec)
            return false;
        auto const why = handle ? handle.error() : nullptr;
        std::lock_guard const lock{mutex_};
        if (problem_.empty())
            problem_ = fmt::format("after {} connections: {}", done_,
                                   why && !why->text.empty() ? why->text : ec.message());
        changed_.notify_all();
        return true;
    }

    bench_settings const& s_;
    std::string url_;
    std::mutex mutex_;  // of what follows
    std::condition_variable changed_;
    std::uint64_t started_ = 0;
    std::uint64_t done_ = 0;
    std::string problem_;
    std::vector<one> open_;
    std::unique_ptr<client::container> container_;  // its threads call this: goes first
};

class channel_pipe {
public:
    channel_pipe()
    {
        if (::pipe(ends_) != 0)
            throw std::system_error{errno, std::generic_category(), "cannot make a pipe"};
    }
    ~channel_pipe()
    {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    channel_pipe(channel_pipe const&) = delete;
    channel_pipe& operator=(channel_pipe const&) = delete;
    template <class T>
    void put(T const& v)
    {
        std::ignore = ::write(ends_[1], &v, sizeof v);
    }
    /// @returns false if the other side is gone
    template <class T>
    bool get(T& v)
    {
        return ::read(ends_[0], &v, sizeof v) == sizeof v;
    }
    void close_writing() { ::close(std::exchange(ends_[1], ::dup(ends_[0]))); }

private:
    int ends_[2];
};

void report(bench_settings const& s, double seconds, std::optional<double> heap)
{
    auto const rate = static_cast<double>(s.idle_connections) / seconds;
    if (s.json) {
        json_object o;
        o.add("connections", s.idle_connections).add("seconds", seconds);
        o.add("connections_per_second", rate);
        if (heap)
            o.add("node_heap_per_connection", *heap);
        fmt::print("{}\n", json_object{}.add_json("summary", o.text()).text());
        return;
    }
    fmt::print("{} connections, each with a session and two links, in {}: {}/s\n",
               grouped(s.idle_connections), duration_text(std::chrono::duration<double>{seconds}),
               grouped(static_cast<std::uint64_t>(rate)));
    if (heap)
        fmt::print("heap of the node for each, idle: {} octets\n",
                   grouped(static_cast<std::uint64_t>(*heap)));
}

/// The client's side in a process of its own, so that the heap of this one is the node's alone.
/// What it was that failed, the child has said itself.
int run_embedded(bench_settings const& s)
{
    channel_pipe port_pipe;
    channel_pipe took_pipe;
    channel_pipe end_pipe;
    auto const child = ::fork();  // before there is any thread
    if (child < 0)
        throw std::system_error{errno, std::generic_category(), "cannot start a process"};
    if (child == 0) {
        auto status = 0;
        try {
            port_pipe.close_writing();
            end_pipe.close_writing();
            std::uint16_t port = 0;
            if (!port_pipe.get(port))
                ::_exit(2);
            opener all{s, fmt::format("amqp://127.0.0.1:{}", port)};
            took_pipe.put(all.open_all());
            char end = 0;
            std::ignore = end_pipe.get(end);  // until the other end is closed
        } catch (std::exception const& e) {
            fmt::print(stderr, "sluice bench: {}\n", plain_text(e));
            status = 1;
        }
        ::_exit(status);
    }
    took_pipe.close_writing();
    node::node_options options;
    options.connections_max = s.idle_connections + 16;
    node::node node{options};
    std::string fault;
    auto const port = node.listen("127.0.0.1", 0, &fault);
    if (!port)
        throw std::runtime_error{fault};
    auto const before = heap_in_use();
    port_pipe.put(*port);
    double seconds = 0;
    if (took_pipe.get(seconds)) {
        auto const heap =
            static_cast<double>(heap_in_use() - before) / static_cast<double>(s.idle_connections);
        report(s, seconds, heap);
    }
    end_pipe.close_writing();
    int status = 0;
    ::waitpid(child, &status, 0);
    node.stop();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int run_idle_bench(bench_settings const& s)
{
    raise_descriptor_limit(s.idle_connections);
    if (s.embedded)
        return run_embedded(s);
    opener all{s, s.peer.url};
    report(s, all.open_all(), std::nullopt);
    return 0;
}

}  // namespace sluice::tools
