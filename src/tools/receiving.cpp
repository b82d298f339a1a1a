// `sluice recv`: one loop that takes, writes and then answers, so that nothing is answered that was
// not written.
#include "tools/receiving.hpp"

#include "tools/closing.hpp"
#include "tools/interrupt.hpp"
#include "tools/json_text.hpp"
#include "tools/plain_text.hpp"
#include "tools/progress.hpp"
#include "tools/received_file.hpp"
#include "tools/terminal.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace sluice::tools {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// The filter that brokers know, as AMQP's registry of filters has it.
bytes selector_filter(std::string const& text)
{
    constexpr std::uint64_t descriptor = 0x0000'468c'0000'0004;
    value_map filters;
    filters[symbol{"apache.org:selector-filter:string"}] =
        value{described_value{value{descriptor}, value{text}}};
    bytes out;
    append(out, filters);
    return out;
}

constexpr auto glance = 100ms;  // how often somebody who waits looks around

struct recv_totals {
    std::uint64_t received = 0;
    std::uint64_t answered = 0;    // as asked for, those that came settled included
    std::uint64_t malformed = 0;   // rejected for that
    std::uint64_t unanswered = 0;  // written, but the link was gone: they may come again
};

class recv_run {
public:
    explicit recv_run(recv_settings const& s) : s_{s}, output_{s.format, STDOUT_FILENO} {}

    int execute()
    {
        auto const address = s_.peer.target();

        container_ = s_.peer.container();
        connection_ = container_->connect(s_.peer.url, s_.peer.connection());
        receiver_ = connection_.open_receiver(address, link());
        stop_.emplace();
        if (streamed())  // the one wait that nothing else ends
            stop_->on_request([r = receiver_] { r.async_close([](client::error_code) {}); });
        began_ = last_ = clock::now();
        receive_all();
        finish();
        summary();
        return problem_.empty() && totals_.malformed == 0
                       && (!s_.count || totals_.received == *s_.count)
                   ? 0
                   : 1;
    }

private:
    bool streamed() const
    {
        return s_.format == message_output::format::raw
               || s_.format == message_output::format::file;
    }

    client::receiver_options link() const
    {
        client::receiver_options o;
        o.name = s_.peer.link_name;
        o.credit_window = 0;  // by hand, so that no more comes than is wanted
        o.inbox_max = std::max(s_.credit, o.inbox_max);
        o.streamed = streamed();
        if (s_.browse)
            o.source.distribution_mode = "copy";
        if (!s_.selector.empty())
            o.source.filter = selector_filter(s_.selector);
        return o;
    }

    bool wants_more() const { return !s_.count || totals_.received < *s_.count; }
    bool over() const { return stop_->requested() || !problem_.empty() || !wants_more(); }

    void receive_all()
    {
        progress live{out_, "received", "", s_.count};
        auto const watched =
            ::isatty(STDOUT_FILENO) == 0 || s_.format == message_output::format::none || streamed();
        try {
            while (!over()) {
                grant();
                auto d = next();
                if (!d) {
                    if (watched)
                        live.show(totals_.received);
                    if (is_empty() || is_late())
                        break;
                    continue;
                }
                last_ = clock::now();
                take(std::move(d));
                if (watched && totals_.received % 256 == 0)
                    live.show(totals_.received);
            }
            flush();
        } catch (std::exception const& e) {
            fail(plain_text(e));
        }
    }

    // ---- credit

    /// With --drain in rounds, each ended by a drain; else topped up when half of it is used.
    void grant()
    {
        auto const under_way = granted_ - totals_.received;
        auto want = s_.credit - std::min<std::uint64_t>(under_way, s_.credit);
        if (s_.count)
            want = std::min(want, *s_.count - granted_);
        if (want == 0 || (s_.drain ? draining_ : under_way > s_.credit / 2))
            return;
        receiver_.add_credit(static_cast<std::uint32_t>(want));
        granted_ += want;
        if (!s_.drain)
            return;
        draining_ = true;
        round_ends_ = granted_;
        aborted_before_ = receiver_.counters().aborted;
        drained_ = false;
        receiver_.async_drain(
            boost::asio::bind_executor(here_.get_executor(), [this](client::error_code) {
                drained_ = true;
                enough_.emit(boost::asio::cancellation_type::terminal);
            }));
    }

    /// The queue had fewer than the round asked for. A round that was used up begins the next one.
    bool is_empty()
    {
        if (!s_.drain || !was_drained_)
            return false;
        // What its sender took back has used the round's credit, too.
        auto const aborted = receiver_.counters().aborted - aborted_before_;
        if (totals_.received + aborted < round_ends_)
            return true;
        granted_ -= std::min(aborted, granted_ - totals_.received);
        draining_ = false;
        return false;
    }

    bool is_late() const
    {
        return s_.timeout && clock::now() - last_ > std::chrono::duration<double>{*s_.timeout};
    }

    // ---- one message

    client::delivery next()
    {
        if (auto d = receiver_.try_receive())
            return d;
        flush();
        // Nothing can come after a drain that had ended before we began to look.
        run_here();
        was_drained_ = draining_ && drained_;
        if (was_drained_ && totals_.received == round_ends_)
            return {};
        try {
            return draining_ && !was_drained_ ? next_or_drained()
                                              : receiver_.receive(was_drained_ ? 1ms : glance);
        } catch (boost::system::system_error const& e) {
            if (e.code() != make_error_code(error::timed_out))
                fail(plain_text(e));
            return {};
        }
    }

    /// Waits for a message, and no longer than the drain takes: its end withdraws the receive,
    /// which loses nothing. Both complete on this thread.
    client::delivery next_or_drained()
    {
        std::optional<client::error_code> ended;
        client::delivery came;
        receiver_.async_receive(
            glance, boost::asio::bind_cancellation_slot(
                        enough_.slot(),
                        boost::asio::bind_executor(
                            here_.get_executor(), [&](client::error_code code, client::delivery d) {
                                ended = code;
                                came = std::move(d);
                            })));
        auto const working = boost::asio::make_work_guard(here_);
        here_.restart();
        while (!ended) here_.run_one();
        if (*ended && *ended != make_error_code(error::operation_aborted))
            throw boost::system::system_error{*ended};
        return came;
    }

    void run_here()
    {
        here_.restart();
        here_.poll();
    }

    void take(client::delivery d)
    {
        ++totals_.received;
        if (streamed())
            return stream(std::move(d));
        try {
            output_.add(d);
        } catch (boost::system::system_error const& e) {
            ++totals_.malformed;
            out_.note(fmt::format("message {} is malformed, and rejected: {}", totals_.received,
                                  e.code().message()));
            if (!d.settled())
                d.reject({.condition = "amqp:decode-error",
                          .description = e.code().message(),
                          .info = {}});
            return;
        }
        waiting_.push_back(std::move(d));
        if (output_.full() || waiting_.size() >= std::max<std::size_t>(s_.credit / 4, 1))
            flush();
    }

    void stream(client::delivery d)
    {
        received_file to{s_.format == message_output::format::raw
                             ? std::string{}
                             : received_file::name_of(s_.file, totals_.received)};
        progress live{out_, "received", "octets", std::nullopt};
        try {
            octets_ += copy_body(d, to, [&](std::uint64_t n) { live.show(n); });
            to.keep();
        } catch (boost::system::system_error const& e) {
            --totals_.received;
            if (!s_.drain)
                --granted_;  // its credit is spent, and another message is wanted
            if (!stop_->requested() && e.code() == make_error_code(error::delivery_aborted))
                return out_.note("the sender gave a message up; what came of it is dropped");
            throw;
        } catch (unwanted_body const& e) {
            ++totals_.malformed;
            out_.note(fmt::format("message {}: {}; it is released", totals_.received, e.what()));
            d.release();
            return;
        }
        answer_one(d);
    }

    void flush()
    {
        output_.flush();
        for (auto& d : waiting_) answer_one(d);
        waiting_.clear();
    }

    void answer_one(client::delivery& d)
    {
        try {
            if (!d.settled())
                switch (s_.ack) {
                case answer::accept: d.accept(); break;
                case answer::release: d.release(); break;
                case answer::reject: d.reject(); break;
                case answer::modify: d.modify(); break;
                case answer::none: held_.push_back(d); break;
                }
            ++totals_.answered;
        } catch (boost::system::system_error const&) {
            ++totals_.unanswered;
        }
    }

    // ---- the end

    void fail(std::string const& what)
    {
        if (stop_->requested() || !problem_.empty())
            return;
        auto const why = receiver_.error() ? receiver_.error() : connection_.error();
        problem_ = why && !why->text.empty() ? why->text : what;
    }

    /// What was not taken, and what nobody answered, is released: it is for others.
    void finish()
    {
        took_ = last_ - began_;
        stop_->on_request({});
        waiting_.clear();
        held_.clear();
        receiver_ = {};
        try {
            std::ignore = close_within_patience(connection_, *stop_);
        } catch (boost::system::system_error const& e) {
            if (problem_.empty())
                problem_ = plain_text(e);
        }
    }

    void summary()
    {
        auto const& t = totals_;
        auto const rate = took_.count() > 0 ? static_cast<double>(t.received) / took_.count() : 0;
        static constexpr char const* done[] = {"accepted", "released", "rejected", "modified",
                                               "left unanswered"};
        auto const what = done[static_cast<std::size_t>(s_.ack)];
        if (s_.drain && s_.ack == answer::none && t.received != 0)
            out_.note("sluice recv: a peer holds back what comes behind so many messages without "
                      "an answer as it allows: the queue may have more than these");
        if (s_.json) {
            json_object o;
            o.add("received", t.received).add("answer", s_.ack == answer::none ? "none" : what);
            o.add("answered", s_.ack == answer::none ? 0 : t.answered);
            o.add("malformed", t.malformed).add("unanswered", t.unanswered);
            if (streamed())
                o.add("octets", octets_);
            o.add("seconds", took_.count()).add("messages_per_second", rate);
            o.add("interrupted", stop_->requested());
            if (!problem_.empty())
                o.add("problem", problem_);
            return out_.result(json_object{}.add_json("summary", o.text()).text());
        }
        auto text =
            fmt::format("received {}: {} {}", grouped(t.received), grouped(t.answered), what);
        if (t.malformed != 0)
            text += fmt::format(", {} not readable", grouped(t.malformed));
        if (t.unanswered != 0)
            text +=
                fmt::format(", {} could not be answered and may come again", grouped(t.unanswered));
        text += fmt::format("; {}", duration_text(took_));
        if (t.received > 1)
            text += fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate)));
        if (stop_->requested())
            text += "; interrupted";
        out_.note(text);
        if (!problem_.empty())
            out_.note("sluice recv: " + problem_);
    }

    recv_settings const& s_;
    terminal out_{stdout, stderr, terminal::when_full::wait};
    message_output output_;
    boost::asio::io_context here_;             // for this thread, when it waits for two things
    boost::asio::cancellation_signal enough_;  // of what waits there
    std::unique_ptr<client::container> container_;
    client::connection connection_;
    client::receiver receiver_;
    std::optional<interrupt> stop_;
    std::vector<client::delivery> waiting_;  // to be written, then answered
    std::vector<client::delivery> held_;     // never to be answered
    std::uint64_t granted_ = 0;
    std::uint64_t aborted_before_ = 0;  // the round
    bool draining_ = false;
    bool was_drained_ = false;
    std::uint64_t round_ends_ = 0;
    bool drained_ = false;
    recv_totals totals_;
    std::uint64_t octets_ = 0;
    clock::time_point began_;
    clock::time_point last_;
    std::chrono::duration<double> took_{0};
    std::string problem_;
};

}  // namespace

int run_recv(recv_settings const& s) { return recv_run{s}.execute(); }

}  // namespace sluice::tools
