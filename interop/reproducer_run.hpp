// One run of the reproducer: senders and receivers that share a session (or do not), each on a
// thread of its own.
#pragma once

#include "audited_relay.hpp"
#include "numbered_message.hpp"
#include "reproducer_plan.hpp"

#include <sluice/client/client.hpp>
#include <sluice/net/url.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace interop {

inline bool is(boost::system::error_code const& ec, sluice::error e)
{
    return ec == sluice::make_error_code(e);
}

class run : public std::enable_shared_from_this<run> {
public:
    using clock = std::chrono::steady_clock;
    using live_line = std::function<void(report const& now, double seconds)>;

    /// Whether a run has reached its minimums.
    using goal = std::function<bool(report const& now)>;

    run(plan p, goal enough, std::atomic<bool> const& stop)
        : plan_{std::move(p)}, enough_{std::move(enough)}, stop_{stop}
    {
        bool const small = plan_.body == body_form::small;
        if (plan_.size == 0)
            plan_.size = small ? 64 : plan_.body == body_form::multiframe ? 5'000 : 20'000;
        if (plan_.frame_size == 0)
            plan_.frame_size = small ? 65'536 : 1'024;
        if (plan_.backlog_max == 0)
            plan_.backlog_max = std::clamp<std::uint64_t>((8u << 20) / plan_.size, 200, 10'000);
    }

    /// @throws boost::system::system_error if it cannot even begin; what fails later is in the
    /// report.
    report execute(live_line const& live)
    {
        auto const where = target();
        audited_relay relay{where.host, where.port};
        connect(where, relay);
        std::vector<std::thread> threads;
        for (auto& s : senders_) threads.emplace_back([this, s] { send_all(s); });
        std::vector<std::thread> takers;
        for (auto& r : receivers_) takers.emplace_back([this, r] { receive_all(r); });
        if (plan_.extra_flows > 0)
            threads.emplace_back([this] { ask_for_flows(); });

        watch(relay, live);
        sending_ = false;
        for (auto& t : threads) t.join();
        await_the_rest(relay, live);
        receiving_ = false;
        for (auto& t : takers) t.join();

        auto out = snapshot(relay);
        close_all(out);
        out.wire = relay.stop();
        out.errors = std::move(errors_);
        return out;
    }

private:
    using connection = sluice::client::connection;
    using session = sluice::client::session;
    using sender = sluice::client::sender;
    using receiver = sluice::client::receiver;

    sluice::net::url target() const
    {
        std::string fault;
        auto parsed = sluice::net::parse_url(plan_.url, &fault);
        if (!parsed)
            sluice::net::throw_error(parsed.error(), fault);
        if (parsed->tls)
            sluice::net::throw_error(
                make_error_code(sluice::error::invalid_url),
                "this program reads what is on the wire, so it cannot use TLS: take amqp://");
        return *parsed;
    }

    void connect(sluice::net::url const& where, audited_relay const& relay)
    {
        sluice::client::connection_options o;
        o.user = where.user;
        o.password = where.password;
        o.hostname = where.host;
        o.max_frame_size = plan_.frame_size;
        o.outgoing_frame_max = plan_.frame_size;
        auto url = fmt::format("amqp://127.0.0.1:{}", relay.port());
        for (auto const& [name, value] : where.options)
            url +=
                fmt::format("{}{}={}", url.find('?') == std::string::npos ? "?" : "&", name, value);
        connection_ = container_.connect(url, o);

        sluice::client::session_options so;
        so.next_outgoing_id = sluice::transfer_id{plan_.first_id};
        so.next_delivery_id = sluice::delivery_number{plan_.first_id};
        sessions_.push_back(connection_.begin(so));
        if (plan_.separate_sessions)
            sessions_.push_back(connection_.begin(so));
        sluice::client::receiver_options ro;
        ro.credit_window = plan_.grant_by_hand ? 0 : plan_.credit;
        for (unsigned i = 0; i < plan_.receivers; ++i) {
            receivers_.push_back(sessions_.back().open_receiver(plan_.address, ro));
            if (plan_.grant_by_hand)
                receivers_.back().add_credit(plan_.credit);
        }
        for (unsigned i = 0; i < plan_.senders; ++i)
            senders_.push_back(sessions_.front().open_sender(plan_.address));
        began_ = clock::now();
    }

    // ---- sending

    struct slots {
        explicit slots(unsigned n) : free{static_cast<std::ptrdiff_t>(n)} {}
        std::counting_semaphore<> free;
    };

    void send_all(sender s)
    {
        auto const mine = std::make_shared<slots>(plan_.in_flight);
        try {
            while (sending_ && !failed_ && !stop_) {
                if (!mine->free.try_acquire_for(std::chrono::milliseconds{100}))
                    continue;
                if (sent_ - received_ >= plan_.backlog_max) {
                    std::this_thread::sleep_for(std::chrono::milliseconds{1});
                    mine->free.release();
                    continue;
                }
                send_one(s, stamp{run_id_, sent_++, plan_.size}, mine);
            }
        } catch (boost::system::system_error const& e) {
            fail(fmt::format("sending: {}", e.what()));
        }
        // Every outcome, or the deadline; later ones are not waited for and make the run fail.
        auto const end = deadline();
        for (unsigned i = 0; i < plan_.in_flight; ++i)
            if (!mine->free.try_acquire_until(end))
                return fail(fmt::format("{} sends have no outcome in time", plan_.in_flight - i));
    }

    void send_one(sender& s, stamp const& what, std::shared_ptr<slots> const& mine)
    {
        auto done = [self = shared_from_this(), mine](boost::system::error_code ec,
                                                      sluice::client::outcome o) {
            self->on_outcome(ec, o);
            mine->free.release();
        };
        auto form = plan_.body;
        if (form == body_form::mixed) {
            constexpr body_form forms[]{body_form::small, body_form::multiframe,
                                        body_form::streamed};
            form = forms[what.number % 3];
        }
        if (form != body_form::streamed) {
            auto actual = what;
            if (form == body_form::small)
                actual.size = std::min<std::uint64_t>(what.size, 64);
            return s.async_send(make_message(actual), done);
        }
        auto body = s.stream();
        sluice::bytes part;
        constexpr std::size_t part_size = 700;
        for (std::size_t at = 0; at < what.size; at += part_size) {
            fill(what, at, std::min(part_size, static_cast<std::size_t>(what.size) - at), part);
            body.write_data(part);
        }
        body.async_finish(done);
    }

    void on_outcome(boost::system::error_code ec, sluice::client::outcome const& o)
    {
        if (ec)
            return fail(fmt::format("a send failed: {}", ec.message()));
        if (!o.accepted())
            return fail(fmt::format("a send was not accepted but {}", o.to_string()));
        ++accepted_;
    }

    // ---- receiving

    void receive_all(receiver r)
    {
        sluice::bytes scratch;
        try {
            while (receiving_) {
                auto d = take(r);
                if (!d)
                    continue;
                stamp s;
                auto const verdict = check_message(d.view(), run_id_, s, scratch);
                d.accept();
                if (plan_.grant_by_hand)
                    r.add_credit(1);
                if (verdict == verdict::foreign)
                    ++foreign_;
                else if (verdict == verdict::damaged)
                    ++damaged_;
                else if (!seen_.mark(s.number))
                    ++twice_;
                else
                    ++received_;
            }
        } catch (boost::system::system_error const& e) {
            fail(fmt::format("receiving: {}", e.what()));
        }
    }

    static sluice::client::delivery take(receiver& r)
    {
        try {
            return r.receive(std::chrono::milliseconds{200});
        } catch (boost::system::system_error const& e) {
            if (is(e.code(), sluice::error::timed_out))
                return {};
            throw;
        }
    }

    void ask_for_flows()
    {
        auto const pause = std::chrono::microseconds{1'000'000 / plan_.extra_flows};
        for (std::size_t i = 0; sending_ && !failed_ && !stop_; ++i) {
            if (i % 2 == 0)
                sessions_.back().request_flow();
            else
                receivers_[i / 2 % receivers_.size()].request_flow();
            std::this_thread::sleep_for(pause);
        }
    }

    // ---- watching

    void watch(audited_relay const& relay, live_line const& live)
    {
        double next = 1;
        while (!stop_ && !failed_ && goes_on(relay)) {
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            if (elapsed() < next)
                continue;
            live(snapshot(relay), elapsed());
            ++next;
        }
    }

    bool goes_on(audited_relay const& relay) const
    {
        auto const now = elapsed();
        return now < plan_.seconds
               || (now < plan_.seconds + plan_.patience && !enough_(snapshot(relay)));
    }

    void await_the_rest(audited_relay const& relay, live_line const& live)
    {
        auto const end = deadline();
        auto next = clock::now() + std::chrono::seconds{1};
        while (!failed_ && received_ < sent_ && clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
            if (clock::now() < next)
                continue;
            live(snapshot(relay), elapsed());
            next += std::chrono::seconds{1};
        }
    }

    /// Until when the end may take: short after Ctrl-C or a failure.
    clock::time_point deadline() const
    {
        return clock::now() + std::chrono::seconds{stop_ || failed_ ? 3 : 30};
    }

    double elapsed() const { return std::chrono::duration<double>(clock::now() - began_).count(); }

    report snapshot(audited_relay const& relay) const
    {
        report r;
        r.seconds = elapsed();
        r.sent = sent_;
        r.received = received_;
        r.accepted = accepted_;
        r.twice = twice_;
        r.damaged = damaged_;
        r.foreign = foreign_;
        add_counters(r);
        r.wire.stale_flows = relay.stale_flows();
        return r;
    }

    void add_counters(report& r) const
    {
        r.transfers = r.flows = r.deferred = r.wraps = 0;
        for (auto const& s : sessions_) {
            auto const c = s.counters();
            r.transfers += c.transfers_written;
            r.flows += c.flows_written;
            r.deferred += c.flows_deferred;
            r.wraps += c.wraps;
        }
    }

    void close_all(report& r)
    {
        for (auto const& s : sessions_) {
            auto const why = s.error();
            if (!why)
                continue;
            ++r.session_errors;
            fail(why->text);
        }
        try {
            for (auto& s : senders_) s.close();
            for (auto& c : receivers_) c.close();
            for (auto& s : sessions_) s.end();
            add_counters(r);
            connection_.close();
        } catch (boost::system::system_error const& e) {
            fail(fmt::format("closing: {}", e.what()));
        }
    }

    void fail(std::string text)
    {
        failed_ = true;
        std::lock_guard const lock{errors_mutex_};
        for (auto const& e : errors_)
            if (e == text)
                return;
        if (errors_.size() < 20)
            errors_.push_back(std::move(text));
    }

    plan plan_;
    goal enough_;
    std::atomic<bool> const& stop_;
    std::uint64_t const run_id_ =
        std::uint64_t{std::random_device{}()} << 32 | std::random_device{}();
    std::atomic<bool> sending_{true};
    std::atomic<bool> receiving_{true};
    std::atomic<bool> failed_{false};
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<std::uint64_t> received_{0};
    std::atomic<std::uint64_t> accepted_{0};
    std::atomic<std::uint64_t> twice_{0};
    std::atomic<std::uint64_t> damaged_{0};
    std::atomic<std::uint64_t> foreign_{0};
    bitmap seen_;
    std::mutex errors_mutex_;
    std::vector<std::string> errors_;
    clock::time_point began_ = clock::now();

    sluice::client::container container_{"sluice-reproducer"};
    connection connection_;
    std::vector<session> sessions_;
    std::vector<sender> senders_;
    std::vector<receiver> receivers_;
};

}  // namespace interop
