// What both ends of a link have in common on the strand: attach, detach, and the reason that comes
// late.
#pragma once

#include "client/session_core.hpp"

namespace sluice::client::detail {

class link_core : public endpoint, public std::enable_shared_from_this<link_core> {
public:
    virtual ~link_core();

    // ---- any thread

    std::shared_ptr<session_core> const& session() const noexcept { return session_; }
    std::shared_ptr<connection_core> const& connection() const noexcept
    {
        return session_->connection();
    }
    std::shared_ptr<completion_queue> const& completions() const noexcept
    {
        return session_->completions();
    }
    milliseconds timeout() const noexcept { return timeout_; }
    std::string const& name() const noexcept { return name_; }
    std::string address() const { return text(address_); }
    void start_close(amqp_error why, reply_ptr<> r);
    void abandon(std::shared_ptr<link_core> self);
    std::shared_ptr<notice_channel<detach_notice>> detaches();
    /// What the observer is told of it.
    link_facts facts() const;

    /// Before it is opened: why what it was to be opened with cannot go out. Null: it can.
    void set_unfit(failure_ptr why) noexcept { unfit_ = std::move(why); }

    // ---- strand

    void handle(engine::event const& e);
    /// The link is over, with everything that waits on it.
    void on_ended(failure_ptr why);
    /// Over for its users; the engine's link may still wait for the peer.
    void fail(failure_ptr why);
    /// The engine's link goes, with its connection or alone; this one stays and waits for another.
    void lose(bool connection_gone);
    /// Its session is back, or it is time to try once more.
    void attach_again();
    /// A link that the peer attached is this one's from here on.
    void adopt(engine::link& l);
    virtual void publish() noexcept = 0;
    tally& counted() noexcept { return tally_; }
    /// After the events at hand: see connection_core::stir().
    virtual void on_stirred() {}

protected:
    link_core(std::shared_ptr<session_core> session, std::shared_ptr<session_core> user,
              std::shared_ptr<connection_core> connection_user, link_options const& options,
              char const* kind);

    class attach_request;
    class close_request;
    class abandon_command;

    connection_core& core() const noexcept { return *session_->connection(); }
    /// Queues `a` and answers it if the connection is gone.
    void start_attach(attach_request* a);
    void begin_close(amqp_error why, bool overtake);
    /// Nobody holds the link and nothing waits on it.
    void close_abandoned();
    void give_up(std::error_code why, std::string what);
    failure_ptr closed_locally() const;
    /// Why there can be nothing new on this link: this side is closing it, or what it is in.
    bool closes() const noexcept
    {
        constexpr auto closing = detail::phase::closing;
        return phase() == closing || session_->phase() == closing || core().phase() == closing;
    }
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }
    /// Still to be told why it ended.
    bool reason_is_late() const noexcept { return late_.armed(); }
    /// There is no engine's link now, or none that is attached, but there will be.
    bool away() const noexcept { return away_; }
    /// Attached for the second time or later: what was unsettled is told.
    bool comes_back() const noexcept { return was_attached_; }
    /// With what this side has not settled; a peer that cannot resume is asked without.
    bool tells_unsettled() const noexcept { return was_attached_ && !without_map_; }
    /// Asks the peer to remember the link while it is away.
    terminus kept(terminus t) const;
    /// Octets that an attach's unsettled map may have.
    std::size_t unsettled_room() const;
    virtual std::string refers_to() const = 0;  // "sender to 'q'"
    virtual sluice::role side() const noexcept = 0;

    // What the two ends do differently.
    virtual result<engine::link*> attach(engine::session& on) = 0;
    virtual engine::link_options to_engine() const = 0;
    virtual std::string remote_address(engine::link const& l) const = 0;
    virtual void on_event(engine::event const& e) = 0;
    virtual void on_attached() {}
    /// What the peer's attach lacks and the link is no good without, as a sentence; empty: nothing.
    virtual std::string left_out(engine::link const&) const { return {}; }
    virtual bool may_come_back() const { return true; }
    /// What it is attached to stays without it: only close() ends that, not the last handle's end.
    virtual bool outlives_link() const { return false; }
    /// Takes what it needs from the engine's link, which goes, or has gone before its connection.
    virtual void on_lost() {}
    virtual void on_detached(failure_ptr const& why) = 0;  // fails what waits
    virtual void on_abandoned() = 0;                       // closes as soon as it may
    /// Any thread: the last handle went when its connection had ended, or ended before it was told.
    virtual void on_orphaned() {}
    virtual void on_released() {}  // the engine's link goes now

    engine::link* engine_link_ = nullptr;
    tally tally_;

private:
    /// A detach without an error may be the first half of an end or close with one: Broker-J 10.1
    /// sends both.
    class late_reason final : public timed {
    public:
        explicit late_reason(link_core& of) : of_{of} {}
        void on_time() override { of_.on_ended(of_.held_back_); }

    private:
        link_core& of_;
    };

    class again_timer final : public timed {
    public:
        explicit again_timer(link_core& of) : of_{of} {}
        void on_time() override { of_.on_again(); }

    private:
        link_core& of_;
    };

    void on_detach(std::error_code code);
    bool is_curable(amqp_error const& why);
    void on_again();
    void try_later();
    void settle_calls(failure_ptr const& why);
    void tell_attached();
    void tell_detached(detach_notice what);

    std::shared_ptr<session_core> session_;
    std::shared_ptr<session_core> session_user_;
    std::shared_ptr<connection_core> connection_user_;
    std::string name_;
    std::string address_;  // guarded by endpoint
    link_facts facts_;     // guarded by endpoint; null where nobody observes
    milliseconds timeout_;
    attach_request* attach_ = nullptr;
    request_list closing_;
    failure_ptr held_back_;
    failure_ptr unfit_;
    late_reason late_{*this};
    std::atomic<bool> abandoned_{false};
    bool away_ = false;
    bool was_attached_ = false;
    bool without_map_ = false;      // the peer has refused the attach with one
    bool with_connection_ = false;  // away because the connection was lost
    unsigned unanswered_ = 0;       // attaches in a row, each on a connection of its own
    clock_time attached_at_{0};
    backoff backoff_;
    again_timer again_{*this};
    notice_board<detach_notice> detaches_;
};

/// A call that opens a link. The result is made by whoever knows its type.
class link_core::attach_request : public request {
public:
    attach_request(std::shared_ptr<link_core> l, milliseconds timeout)
        : link_{std::move(l)}, timeout_{timeout}
    {
    }
    void execute(connection_core& on) final;
    void refuse() noexcept final;
    void give_up(std::error_code why) final;

    /// Answers the caller and frees this.
    virtual void finish(std::error_code code, failure_ptr why) = 0;

protected:
    std::shared_ptr<link_core> link_;
    milliseconds timeout_;
};

/// "'q'", or what else the terminus is.
std::string quoted_address(terminus const& t);
bytes encode_source(terminus const& t);
bytes encode_target(terminus const& t);

}  // namespace sluice::client::detail
