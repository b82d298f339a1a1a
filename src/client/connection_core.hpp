// A connection on its strand: the engine, the stream, the clock, and the queue of what users want.
#pragma once

#include "client/audit_watch.hpp"
#include "client/command_queue.hpp"
#include "client/completion_queue.hpp"
#include "client/container_core.hpp"
#include "client/deadline_queue.hpp"
#include "client/endpoint.hpp"
#include "client/observing.hpp"
#include "client/recovery.hpp"
#include "client/request.hpp"
#include "client/tally.hpp"

#include <sluice/client/connection.hpp>
#include <sluice/client/notifications.hpp>
#include <sluice/engine/connection.hpp>
#include <sluice/engine/frame_trace.hpp>
#include <sluice/net/byte_stream.hpp>
#include <sluice/net/sasl_server.hpp>
#include <sluice/net/tcp.hpp>
#include <sluice/net/url.hpp>

#include <boost/asio/steady_timer.hpp>

namespace sluice::client::detail {

class listener_core;
struct server_side;
struct session_asked;
struct link_asked;

/// One turn on the strand: commands, events, answers, octets out; again while there is something to
/// do. Nothing that users wrote runs in it, and no lock is held in it while it writes or calls.
class connection_core final : public endpoint,
                              public net::stream_waiter,
                              public std::enable_shared_from_this<connection_core> {
public:
    connection_core(std::shared_ptr<container_core> container, std::vector<net::url> where,
                    connection_options options);
    /// One that a listener takes in, on the listener's thread.
    connection_core(std::shared_ptr<container_core> container, std::shared_ptr<io_thread> io,
                    std::shared_ptr<listener_core> listener);
    ~connection_core() override;

    // ---- any thread

    /// Queues `c` and wakes the strand. @returns false if the connection has ended; then `c` is
    /// untouched.
    bool push(command& c) noexcept;
    /// As push(), for what is said of a delivery. A handler that has one message of many answers in
    /// a fraction of what waking costs: within a handling_scope the strand is woken when that ends,
    /// or looks by itself after a millisecond.
    bool push_answer(command& c) noexcept;
    void push_flow(flow_request& r) noexcept;
    /// This thread runs handlers of its messages, one after the other.
    class handling_scope {
    public:
        explicit handling_scope(connection_core& whose) noexcept;
        handling_scope(handling_scope const&) = delete;
        handling_scope& operator=(handling_scope const&) = delete;
        ~handling_scope();

    private:
        connection_core& whose_;
        connection_core const* const before_;
    };
    void abandon(std::shared_ptr<connection_core> self);
    /// Lets go of `held` once the strand cannot have a flow request of it in hand any more.
    void release_later(std::shared_ptr<void> held) noexcept;
    std::shared_ptr<completion_queue> const& completions() const noexcept { return completions_; }
    container_core& container() const noexcept { return *container_; }
    connection_options const& options() const noexcept { return options_; }
    std::string where() const { return server_ ? peer() : url().to_string(); }
    std::string remote_container_id() const { return text(remote_container_id_); }
    std::string peer() const { return text(peer_); }
    connection_counters counters() const noexcept;
    audit_counters audited() const noexcept { return audit_tally_->read(); }
    std::uint64_t reconnects() const noexcept
    {
        return reconnects_.load(std::memory_order_relaxed);
    }
    /// Whom to tell what happens; null where nobody observes.
    observer_feed* observed() const noexcept { return feed_.get(); }
    /// Used from the next SASL exchange on.
    void set_credentials(std::string user, std::string password);
    std::shared_ptr<notice_channel<state_change>> state_changes();
    std::shared_ptr<notice_channel<failure_ptr>> closed_notice();
    std::shared_ptr<notice_channel<blocked_change>> blocked_notice();
    /// The session that links without a session of their own use.
    std::shared_ptr<session_core> default_session(std::shared_ptr<connection_core> const& user);

    // ---- how it begins and ends

    void start(reply_ptr<connection> r);
    /// Fails what was never started.
    void fail_start(std::error_code code, std::string text, reply_ptr<connection> r);
    void start_close(amqp_error why, reply_ptr<> r);
    /// From the container's end; any thread.
    void start_abort() noexcept;

    // ---- of a server, on the strand: connection_server.cpp

    /// @param spent of the time to the peer's open
    void start_accepted(std::unique_ptr<net::byte_stream> stream, clock_time spent);
    void accept_connection(std::shared_ptr<connection_core> const& user);
    void refuse_connection(amqp_error why);
    void accept_session(session_asked& asked, std::shared_ptr<session_core> made);
    void refuse_session(session_asked& asked, amqp_error why);
    void accept_link(link_asked& asked, std::shared_ptr<link_core> made);
    void refuse_link(link_asked& asked, amqp_error why);
    /// Those whose request objects are gone without an answer.
    void refuse_forgotten();
    /// The handle that the server's user has; null if it has none.
    std::shared_ptr<connection_core> server_user() const;
    /// No send of ours is under way.
    bool at_rest();
    void close_for(amqp_error why);

    // ---- strand

    engine::connection& engine() noexcept { return *engine_; }
    bool has_engine() const noexcept { return engine_.has_value(); }
    deadline_queue& deadlines() noexcept { return deadlines_; }
    clock_time now() const noexcept { return now_; }
    /// Answers a call: with the others of its session at the turn's end, or at once to its own
    /// executor or thread. Any thread.
    void answer(completion_queue& queue, reply_base& r);
    template <class... R>
    void answer(completion_queue& queue, reply_ptr<R...> r, std::error_code code, failure_ptr why,
                R... results)
    {
        if (!r)
            return;
        r->set(code, std::move(why), std::move(results)...);
        answer(queue, *r.release());
    }
    /// In this turn handlers begin to run: push_answer() need not wake for a while.
    void look_soon();
    /// In the middle of writing: those that no command before them waits for.
    void apply_flows()
    {
        flows_.apply_if([this] { return queue_.empty(); });
    }
    /// Why the connection ends, as far as it is known by now; the same from the first call on.
    failure_ptr why_closed(std::error_code code);
    /// `l` is told once the events at hand are handled.
    void stir(std::shared_ptr<link_core> l) { stirred_.push_back(std::move(l)); }
    /// What is lost comes back by itself. Any thread.
    bool recovers() const noexcept { return options_.reconnect.has_value(); }
    /// There is no engine now, or none that is open, but there will be.
    bool away() const noexcept { return phase() == detail::phase::recovering; }
    /// What to do about error::too_large of a begin or an attach, else nothing.
    std::string why_too_large(std::error_code code) const;
    /// The cause, if it is being closed for one of its own and not because a user wants it.
    failure_ptr why_closing() const;
    /// The connection ends for a cause that trying again may cure, so nothing on it ends.
    bool is_curable(std::error_code code);
    /// Gives this connection up at once, for a cause of ours or the stream's.
    void lose(std::error_code code, std::string text);
    void add(std::shared_ptr<session_core> s) { sessions_.push_back(std::move(s)); }
    void remove(session_core& s) noexcept;
    void on_ready(net::readiness which, error_code ec) override;
    tally& counted() noexcept { return tally_; }
    /// One value of a session's counters, by its place, has grown.
    void count_session(std::size_t at, std::uint64_t more) noexcept
    {
        auto& value = of_sessions_[at];
        value.store(value.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

private:
    class connect_request;
    class close_request;
    class abort_command;

    /// Looks at the queue though nobody has woken us: a handler may take its time.
    class look final : public timed {
    public:
        explicit look(connection_core& of) : of_{of} {}
        void on_time() override { of_.looks_soon_.store(false, std::memory_order_seq_cst); }

    private:
        connection_core& of_;
    };

    class turn_guard;
    bool in_turn() const noexcept;
    void wake() noexcept;
    void run_turn();
    void turn();
    void end_turn();
    bool run_commands();
    void flush_answers();
    void arm_timer();
    void on_timer();
    void publish() noexcept;
    std::shared_ptr<observer_feed> make_feed() const;
    void trace(engine::frame_trace& direction, bytes_view octets);

    void read();
    void take(bytes_view octets);
    void watch(bool incoming, bytes_view octets);
    void act_on_audit();
    void on_stream_end(error_code ec);
    void wait_to_read();
    bool write_some();
    bool send();
    void finish_output();
    void end_stream() noexcept;

    bool poll_events();
    void handle(engine::event const& e);
    void handle_unexpected(engine::event const& e);
    void on_sasl_challenge();
    void on_sasl_outcome(std::error_code code);
    void on_opened();
    void on_closed(std::error_code code);

    void on_server_event(engine::event const& e);
    void on_server_closed();
    void on_sasl_of_peer(bool first);
    void on_sasl_answer(net::sasl_server::answer const& said);
    net::sasl_server_options sasl_of_server() const;
    void ask_for_connection();
    void ask_for_session(engine::session& s);
    void ask_for_link(engine::link& l);
    void ask_for_sessions();
    void ask_for_links(engine::session& s);
    void over(engine::session& s);
    void over(engine::link& l) noexcept;
    void watch_buffers();
    template <class F>
    void run_handler(F f, completion_queue const* queue = nullptr) const;
    bool asks_too_much();

    // connection_recovery.cpp
    void start_recovery();
    void schedule_attempt();
    void attempt();
    void stop_recovery() noexcept;
    void come_back();
    void tell_state(connection_state state, failure_ptr why);
    void watch_blocked();
    net::url const& url() const noexcept { return urls_[url_at_.load(std::memory_order_relaxed)]; }

    void connect_now();
    void connect_by_user();
    void connected(net::connect_result r);
    void begin_engine();
    engine::connection_options engine_options() const;
    // connection_sasl.cpp
    net::sasl_preference sasl_preference();
    void choose_sasl();
    void ask_for_token(std::string mechanism);
    void begin_sasl(std::string_view mechanism, std::string token);
    void answer_challenge(result<bytes> answer);
    void begin_close(amqp_error why, bool overtake);
    void finish(failure_ptr why);

    /// The socket goes some time after our last octet, whatever the peer does.
    class lingering final : public timed {
    public:
        explicit lingering(connection_core& of) : of_{of} {}
        void on_time() override { of_.end_stream(); }

    private:
        connection_core& of_;
    };

    class next_attempt final : public timed {
    public:
        explicit next_attempt(connection_core& of) : of_{of} {}
        void on_time() override { of_.attempt(); }

    private:
        connection_core& of_;
    };

    std::shared_ptr<container_core> container_;
    std::shared_ptr<io_thread> io_;
    std::shared_ptr<completion_queue> completions_;
    connection_options options_;
    std::vector<net::url> urls_{net::url{}};  // at least one; of a server, an empty one
    std::atomic<std::size_t> url_at_{0};

    // any thread
    command_queue queue_;
    flow_stack flows_;
    std::atomic<bool> scheduled_{false};
    std::atomic<bool> looks_soon_{false};  // changed on the strand
    std::string remote_container_id_;      // guarded by endpoint
    std::string peer_;
    std::mutex default_session_mutex_;
    std::shared_ptr<session_core> default_session_;
    std::atomic<std::uint64_t> published_[4]{};
    std::atomic<std::uint64_t> of_sessions_[session_counter_count]{};
    tally tally_;
    std::shared_ptr<observer_feed> const feed_;
    std::atomic<std::uint64_t> reconnects_{0};
    std::optional<std::string> user_;  // guarded by default_session_mutex_, as is the password
    std::optional<std::string> password_;
    notice_board<state_change> states_;
    notice_board<failure_ptr> closed_;
    notice_board<blocked_change> blocked_;
    std::shared_ptr<audit_tally> const audit_tally_ = std::make_shared<audit_tally>();

    // strand
    std::optional<engine::connection> engine_;
    std::unique_ptr<net::byte_stream> stream_;
    std::shared_ptr<net::tcp_connect> connecting_;
    std::shared_ptr<net::sasl_client> sasl_;
    std::uint64_t sasl_round_ = 0;  // exchanges begun
    std::optional<engine::frame_trace> trace_in_;
    std::optional<engine::frame_trace> trace_out_;
    std::string trace_text_;
    std::unique_ptr<audit_watch> watch_;  // null where it is off, and before the first octet
    boost::asio::steady_timer timer_;
    clock_time timer_at_ = clock_time::max();
    clock_time now_{0};
    deadline_queue deadlines_;
    std::vector<std::shared_ptr<session_core>> sessions_;
    std::vector<std::shared_ptr<completion_queue>> dirty_;
    std::vector<std::shared_ptr<link_core>> stirred_;
    connect_request* connect_ = nullptr;
    request_list closing_;
    clock_time started_{0};
    std::string failure_text_;  // what is known beyond the engine's error
    std::error_code failure_code_;
    failure_ptr why_closed_;
    std::unique_ptr<std::byte[]> output_;
    bytes_view output_left_;
    bool waits_to_read_ = false;
    bool waits_to_write_ = false;
    bool write_shut_ = false;
    std::uint32_t asked_while_blocked_ = 0;  // sessions and links
    lingering lingering_{*this};
    std::unique_ptr<server_side> server_;  // null where we connected
    bool lost_ = false;  // the engine has ended, and what was on it waits for another
    std::error_code lost_code_;
    clock_time opened_at_{0};
    bool is_blocked_ = false;  // as told
    backoff backoff_;
    next_attempt again_{*this};
    look look_{*this};
    connection_counters counted_before_;  // by engines that are gone
};

}  // namespace sluice::client::detail
