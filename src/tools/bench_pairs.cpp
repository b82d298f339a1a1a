// A pair: a sender that keeps a window of sends under way and a receiver of the same queue.
#include "tools/bench_pairs.hpp"

#include "tools/interrupt.hpp"
#include "tools/progress.hpp"

#include <sluice/codec/message_writer.hpp>

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

double processor_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval const& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::int64_t nanoseconds() { return clock::now().time_since_epoch().count(); }

/// Bounded twice: sends without an outcome, and messages that wait in the queue.
class pair {
public:
    pair(bench_settings const& s, client::sender to, client::receiver from)
        : s_{s}, to_{std::move(to)}, from_{std::move(from)}, body_(s.size)
    {
    }

    void start(double rate)
    {
        rate_ = rate;
        began_ = clock::now();
        from_.on_message([this](client::delivery d) { on_message(std::move(d)); });
        pump();
    }

    /// Sends what may be sent now. Any thread.
    void pump()
    {
        std::unique_lock lock{mutex_};
        if (std::exchange(pumping_, true)) {
            again_ = true;
            return;
        }
        do {
            again_ = false;
            while (may_send()) {
                ++sent_;
                lock.unlock();
                send();
                lock.lock();
            }
        } while (again_);
        pumping_ = false;
    }

    void stop_sending()
    {
        std::lock_guard const lock{mutex_};
        running_ = false;
    }
    /// Latencies are counted from now on, until then.
    void measure(bool on) { measuring_ = on; }

    bool all_done() const
    {
        std::lock_guard const lock{mutex_};
        return !problem_.empty() || (received_ == sent_ && outcomes_ == sent_);
    }
    std::uint64_t received() const
    {
        std::lock_guard const lock{mutex_};
        return received_;
    }
    void add_to(bench_result& r) const
    {
        std::lock_guard const lock{mutex_};
        r.sent += sent_;
        r.received += received_;
        r.accepted += accepted_;
        r.latency.add(latency_);
        if (r.problem.empty())
            r.problem = problem_;
    }

private:
    /// @pre locked
    bool may_send() const
    {
        auto const due =
            rate_ <= 0
            || static_cast<double>(sent_)
                   < std::chrono::duration<double>{clock::now() - began_}.count() * rate_;
        auto const backlog_max = std::uint64_t{4} * std::max(s_.window, s_.credit);
        return running_ && problem_.empty() && due && sent_ - outcomes_ < s_.window
               && sent_ - std::min(received_, sent_) < backlog_max;
    }

    /// One thread at a time.
    void send()
    {
        auto const now = nanoseconds();
        if (body_.size() >= sizeof now)
            std::memcpy(body_.data(), &now, sizeof now);
        client::encoded_message m;
        m.octets.reserve(body_.size() + 16);
        message_writer{m.octets}.data(bytes_view{body_});
        to_.async_send(std::move(m), {.settled = s_.settled},
                       [this](client::error_code ec, client::outcome const& o) {
                           {
                               std::lock_guard const lock{mutex_};
                               ++outcomes_;
                               accepted_ += !ec && o.accepted() ? 1 : 0;
                               if (problem_.empty() && (ec || (!o.accepted() && !s_.settled)))
                                   problem_ = ec ? ec.message() : o.to_string();
                           }
                           pump();
                       });
    }

    void on_message(client::delivery d)
    {
        auto const content = d.view().data();
        std::int64_t then = 0;
        if (content.size() >= sizeof then)
            std::memcpy(&then, content.data(), sizeof then);
        auto const now = nanoseconds();
        if (!d.settled())
            d.accept();
        {
            std::lock_guard const lock{mutex_};
            ++received_;
            if (measuring_ && then != 0 && now >= then)
                latency_.add(static_cast<std::uint64_t>(now - then));
        }
        pump();
    }

    bench_settings const& s_;
    client::sender to_;
    client::receiver from_;
    bytes body_;
    double rate_ = 0;
    clock::time_point began_;
    std::atomic<bool> measuring_{false};

    mutable std::mutex mutex_;  // of what follows
    bool running_ = true;
    bool pumping_ = false;
    bool again_ = false;
    std::uint64_t sent_ = 0;
    std::uint64_t outcomes_ = 0;
    std::uint64_t accepted_ = 0;
    std::uint64_t received_ = 0;
    histogram latency_;
    std::string problem_;
};

class pairs_run {
public:
    pairs_run(bench_settings const& s, line_output& out) : s_{s}, out_{out} {}

    bench_result execute(std::string const& url)
    {
        open(url);
        interrupt stop;
        bench_result r;
        for (auto& p : pairs_) p->start(s_.rate / s_.pairs);
        watch(stop, std::min(1.0, s_.seconds / 4), nullptr);  // everything is warm after that
        auto const before = received();
        auto const processor_before = processor_seconds();
        auto const began = clock::now();
        for (auto& p : pairs_) p->measure(true);
        progress live{out_, "received", "", std::nullopt};
        watch(stop, s_.seconds, &live);
        for (auto& p : pairs_) p->measure(false);
        r.seconds = std::chrono::duration<double>{clock::now() - began}.count();
        r.processor_seconds = processor_seconds() - processor_before;
        r.measured = received() - before;
        for (auto& p : pairs_) p->stop_sending();
        settle(r);
        for (auto& p : pairs_) p->add_to(r);
        container_.reset();
        return r;
    }

private:
    void open(std::string const& url)
    {
        container_ = s_.peer.container();
        for (unsigned i = 0; i != s_.connections; ++i)
            connections_.push_back(container_->connect(url, s_.peer.connection()));
        std::random_device random;
        auto const prefix =
            s_.peer.address.empty() ? fmt::format("bench.{:08x}", random()) : s_.peer.address;
        for (unsigned i = 0; i != s_.pairs; ++i) {
            auto const& on = connections_[i % s_.connections];
            auto const address = s_.pairs == 1 ? prefix : fmt::format("{}.{}", prefix, i);
            client::receiver_options options;
            options.credit_window = s_.credit;
            // A session each, so that handlers of different links run at the same time.
            auto from = on.begin().open_receiver(address, options);
            pairs_.push_back(std::make_unique<pair>(s_, on.begin().open_sender(address), from));
        }
    }

    std::uint64_t received() const
    {
        std::uint64_t sum = 0;
        for (auto const& p : pairs_) sum += p->received();
        return sum;
    }

    /// With a rate, senders are reminded of the time every millisecond.
    void watch(interrupt const& stop, double seconds, progress* live)
    {
        auto const end =
            clock::now()
            + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{seconds});
        while (!stop.requested() && clock::now() < end) {
            std::this_thread::sleep_for(s_.rate > 0 ? 1ms : 50ms);
            if (s_.rate > 0)
                for (auto& p : pairs_) p->pump();
            if (live)
                live->show(received());
        }
    }

    /// What is under way arrives, or something is wrong.
    void settle(bench_result& r)
    {
        auto const end = clock::now() + 10s;
        for (auto const& p : pairs_)
            while (!p->all_done() && clock::now() < end) std::this_thread::sleep_for(1ms);
        for (auto const& p : pairs_)
            if (!p->all_done())
                r.problem =
                    "ten seconds after the last message was sent, some had not arrived or had "
                    "no outcome; were other receivers on the queue, or messages of others?";
    }

    bench_settings const& s_;
    line_output& out_;
    std::vector<std::unique_ptr<pair>> pairs_;  // outlive the container's threads
    std::unique_ptr<client::container> container_;
    std::vector<client::connection> connections_;
};

}  // namespace

bench_result bench_pairs(bench_settings const& s, std::string const& url, line_output& out)
{
    return pairs_run{s, out}.execute(url);
}

}  // namespace sluice::tools
