// A session on its connection's strand, and what its users hold.
#pragma once

#include "client/connection_core.hpp"

namespace sluice::client::detail {

class link_core;
class transaction_controller;

class session_core final : public endpoint,
                           private flow_request,
                           public std::enable_shared_from_this<session_core> {
public:
    /// @param user a handle on the connection; `holds` it open as long as the session is, unless it
    /// is the connection's own session
    session_core(std::shared_ptr<connection_core> connection,
                 std::shared_ptr<connection_core> const& user, bool holds, session_options options);
    ~session_core();

    // ---- any thread

    std::shared_ptr<connection_core> const& connection() const noexcept { return connection_; }
    std::shared_ptr<completion_queue> const& completions() const noexcept { return completions_; }
    milliseconds timeout() const noexcept { return timeout_; }
    /// What links hold, so that the connection stays open.
    std::shared_ptr<connection_core> user_connection() const { return weak_user_.lock(); }
    session_counters counters() const noexcept;
    void request_flow(bool echo);
    void abandon(std::shared_ptr<session_core> self);
    void start_begin(std::shared_ptr<session_core> user, reply_ptr<client::session> r);
    void start_end(amqp_error why, reply_ptr<> r);
    /// Before it is begun: why what it was to be begun with cannot go out. Null: it can.
    void set_unfit(failure_ptr why) noexcept { unfit_ = std::move(why); }

    std::shared_ptr<transaction_controller> const& transactions() const noexcept
    {
        return transactions_;
    }

    // ---- strand

    engine::session* engine() const noexcept { return engine_; }
    void add(std::shared_ptr<link_core> l) { links_.push_back(std::move(l)); }
    void remove(link_core& l) noexcept;
    void handle(engine::event const& e);
    /// The connection is lost and will come back: the engine's session goes, this one stays.
    void lose();
    /// The connection is back.
    void begin_again();
    /// The engine's session is gone, or never was.
    void on_ended(failure_ptr why);
    void begin_end(amqp_error why, bool overtake);
    /// The peer asks for more than its inbox holds: it alone is ended.
    void overflow(amqp_error why);
    std::uint32_t events_max() const noexcept { return options_.events_max; }
    /// A session that the peer began is this one's from here on.
    void adopt(engine::session& s);
    /// The handle that a server's user has of one that was adopted; set before it is pushed.
    std::weak_ptr<session_core> user_pointer;
    void publish() noexcept;
    tally& counted() noexcept { return tally_; }

private:
    class begin_request;
    class end_request;
    class abandon_command;
    void apply(std::uint64_t what) override;
    /// The begin that follows a recovery is not answered.
    class again_timer final : public timed {
    public:
        explicit again_timer(session_core& of) : of_{of} {}
        void on_time() override { of_.on_unanswered(); }

    private:
        session_core& of_;
    };
    engine::session_options to_engine() const;
    bool is_by_connection(std::error_code code) const;
    failure_ptr why_ended(std::error_code code) const;
    void give_up(std::error_code why, char const* what);
    void on_unanswered();
    /// Over, and the observer is told.
    void end_as(failure_ptr why);
    void settle_calls(failure_ptr const& why);

    std::shared_ptr<connection_core> connection_;
    std::weak_ptr<connection_core> const weak_user_;
    std::shared_ptr<connection_core> user_;  // strand
    std::shared_ptr<completion_queue> completions_;
    session_options options_;
    milliseconds timeout_;
    engine::session* engine_ = nullptr;
    failure_ptr unfit_;
    std::shared_ptr<transaction_controller> const transactions_;
    begin_request* begin_ = nullptr;
    request_list ending_;
    std::vector<std::shared_ptr<link_core>> links_;
    tally tally_;
    static constexpr auto counter_count = session_counter_count;
    std::atomic<std::uint64_t> published_[counter_count]{};
    std::uint64_t counted_before_[counter_count]{};  // by engines that are gone
    again_timer again_{*this};
    unsigned unanswered_ = 0;  // begins in a row, each on a connection of its own
};

}  // namespace sluice::client::detail
