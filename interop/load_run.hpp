// Senders and receivers that run while their connections are broken, and a ledger of what came of
// each message.
#pragma once

#include <sluice/client/client.hpp>

#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace interop {

struct load_settings {
    std::string sender_url;
    std::string receiver_url;
    std::string address = "test.load";  ///< and a number
    unsigned links = 3;
    unsigned in_flight = 100;  ///< of each link
    sluice::receiver_settle_mode mode = sluice::receiver_settle_mode::second;
    sluice::client::milliseconds max_delay{500};
    std::string run;  ///< in the body of each message
};

/// What a run came to. "Sent" has an outcome or has failed.
struct load_counts {
    std::uint64_t accepted = 0;
    std::uint64_t failed = 0;        ///< any error or outcome but accepted
    std::uint64_t told_twice = 0;    ///< accepted, with possible_duplicate
    std::uint64_t received = 0;      ///< different ones
    std::uint64_t repeated = 0;      ///< that had come before
    std::uint64_t out_of_order = 0;  ///< first seen after a later one of their link
    std::uint64_t lost = 0;          ///< accepted since the last new_epoch(), and never received
    std::uint64_t lost_before = 0;   ///< accepted before it, and never received
    std::uint64_t stale = 0;         ///< answers that came too late
    std::map<std::string, std::uint64_t> failures{};
};

/// Thread-safe.
class load_run {
public:
    explicit load_run(load_settings s) : settings_{std::move(s)}
    {
        namespace client = sluice::client;
        client::connection_options o;
        o.audit = client::audit_mode::off;  // a connection that is cut ends in the middle
        o.reconnect = client::reconnect_options{.initial_delay = client::milliseconds{20},
                                                .max_delay = settings_.max_delay};
        sending_ = container_.connect(settings_.sender_url, o);
        receiving_ = container_.connect(settings_.receiver_url, o);
        for (unsigned i = 0; i < settings_.links; ++i) open(i);
    }
    ~load_run() { stop_sending(); }
    load_run(load_run const&) = delete;
    load_run& operator=(load_run const&) = delete;

    void start()
    {
        for (auto const& l : links_)
            boost::asio::post(l->out.get_executor(), [this, l] { pump(l); });
    }
    void stop_sending() { sending_on_ = false; }
    /// @returns true once every send has come to something and all that was accepted was received
    bool wait_until_done(std::chrono::seconds patience)
    {
        auto const until = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < until) {
            if (outstanding() == 0 && counts().lost == 0)
                return true;
            std::this_thread::sleep_for(std::chrono::milliseconds{50});
        }
        return false;
    }
    std::size_t outstanding() const
    {
        std::size_t sum = 0;
        for (auto const& l : links_) sum += l->out.outstanding();
        return sum;
    }
    /// What was accepted before this may be gone with the process that accepted it.
    void new_epoch()
    {
        for (auto const& l : links_)  // outcomes of the old one are in the ledger then
            boost::asio::post(l->out.get_executor(), boost::asio::use_future).get();
        ++epoch_;
    }
    sluice::client::connection const& sending() const noexcept { return sending_; }
    sluice::client::connection const& receiving() const noexcept { return receiving_; }

    load_counts counts() const
    {
        load_counts out;
        for (auto const& l : links_) {
            std::lock_guard const lock{l->mutex};
            out.accepted += l->counts.accepted;
            out.failed += l->counts.failed;
            out.told_twice += l->counts.told_twice;
            out.received += l->counts.received;
            out.repeated += l->counts.repeated;
            out.out_of_order += l->counts.out_of_order;
            out.stale += l->counts.stale;
            for (auto const& [text, n] : l->counts.failures) out.failures[text] += n;
            for (auto const& e : l->entries)
                if (e.accepted_in != 0 && !e.received)
                    ++(e.accepted_in == epoch_ ? out.lost : out.lost_before);
        }
        return out;
    }
    /// Of the links themselves; empty if they are well.
    std::string fault() const
    {
        std::string out;
        for (auto const& l : links_) {
            if (auto const why = l->out.error())
                out += why->text + "; ";
            if (auto const why = l->in.error())
                out += why->text + "; ";
        }
        for (auto const& c : {sending_, receiving_})
            if (auto const why = c.error())
                out += why->text + "; ";
        return out;
    }
    /// What is not done yet, a line a link.
    std::string under_way() const
    {
        std::string out;
        for (auto const& l : links_) {
            std::lock_guard const lock{l->mutex};
            std::string missing;
            for (std::size_t n = 0; n < l->entries.size() && missing.size() < 60; ++n)
                if (l->entries[n].accepted_in == epoch_ && !l->entries[n].received)
                    missing += fmt::format(" {}", n);
            out += fmt::format("  link {}: {} sends, newest {}, missing{}, credit {} out, {} in\n",
                               l->index, l->out.outstanding(), l->newest, missing, l->out.credit(),
                               l->in.credit());
        }
        return out;
    }
    void close()
    {
        receiving_.close();
        sending_.close();
    }

private:
    struct entry {
        std::uint32_t accepted_in = 0;  // the epoch; 0: not
        bool received = false;
    };
    struct link {
        unsigned index = 0;
        sluice::client::sender out;
        sluice::client::receiver in;
        std::uint64_t next = 0;  // on the sender's executor
        unsigned under_way = 0;
        mutable std::mutex mutex;  // of what follows
        std::deque<entry> entries;
        std::int64_t newest = -1;
        load_counts counts;
    };

    void open(unsigned index)
    {
        namespace client = sluice::client;
        auto const address = settings_.address + "." + std::to_string(index);
        auto l = std::make_shared<link>();
        l->index = index;
        client::sender_options out;
        out.rcv_settle_mode = settings_.mode;
        l->out = sending_.begin().open_sender(address, out);
        client::receiver_options in;
        in.rcv_settle_mode = settings_.mode;
        l->in = receiving_.begin().open_receiver(address, in);
        links_.push_back(l);
        l->in.on_message([this, l = l.get()](client::delivery const& d) { take(*l, d); });
    }

    /// On the sender's executor: as many as may be under way.
    void pump(std::shared_ptr<link> const& l)
    {
        while (sending_on_ && l->under_way < settings_.in_flight) {
            auto const n = l->next++;
            ++l->under_way;
            {
                std::lock_guard const lock{l->mutex};
                l->entries.emplace_back();
            }
            auto body = fmt::format("{} {} ", settings_.run, n);
            body.append(n * 37 % 2'000, 'x');
            l->out.async_send(body, [this, l, n](sluice::client::error_code ec,
                                                 sluice::client::outcome const& o) {
                --l->under_way;
                note(*l, n, ec, o);
                pump(l);
            });
        }
    }
    void note(link& l, std::uint64_t n, sluice::client::error_code ec,
              sluice::client::outcome const& o)
    {
        std::lock_guard const lock{l.mutex};
        if (ec || !o.accepted()) {
            ++l.counts.failed;
            ++l.counts.failures[ec ? ec.message() : "an outcome that is not accepted"];
            return;
        }
        ++l.counts.accepted;
        l.counts.told_twice += o.possible_duplicate() ? 1 : 0;
        l.entries[n].accepted_in = epoch_;
    }
    void take(link& l, sluice::client::delivery const& d)
    {
        auto const text = d.message().body_text().value_or("");
        auto const space = text.find(' ');
        std::uint64_t n = 0;
        if (text.substr(0, space) == settings_.run
            && std::from_chars(text.data() + space + 1, text.data() + text.size(), n).ec
                   == std::errc{}) {
            std::lock_guard const lock{l.mutex};
            auto& e = l.entries.at(n);
            if (std::exchange(e.received, true)) {
                ++l.counts.repeated;
            } else {
                ++l.counts.received;
                if (static_cast<std::int64_t>(n) < l.newest)
                    ++l.counts.out_of_order;
                l.newest = std::max(l.newest, static_cast<std::int64_t>(n));
            }
        }
        try {
            d.accept();
        } catch (boost::system::system_error const& e) {
            if (e.code() != sluice::error::stale_delivery)
                throw;
            std::lock_guard const lock{l.mutex};
            ++l.counts.stale;
        }
    }

    load_settings const settings_;
    std::atomic<bool> sending_on_{true};
    std::atomic<std::uint32_t> epoch_{1};
    std::vector<std::shared_ptr<link>> links_;
    sluice::client::container container_;  // goes first, with all handlers
    sluice::client::connection sending_;
    sluice::client::connection receiving_;
};

inline std::string text_of(load_counts const& c)
{
    auto out = fmt::format("accepted {} (told as possibly twice {}), failed {}, received {}, "
                           "repeated {}, out of order {}, lost {}",
                           c.accepted, c.told_twice, c.failed, c.received, c.repeated,
                           c.out_of_order, c.lost);
    for (auto const& [text, n] : c.failures) out += fmt::format("\n  {} x {}", n, text);
    return out;
}

/// Octets that this process has in memory.
inline std::size_t resident()
{
    std::ifstream in{"/proc/self/statm"};
    std::size_t pages = 0;
    in >> pages >> pages;
    return pages * 4096;
}

}  // namespace interop
