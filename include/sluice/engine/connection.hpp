// One end of one AMQP connection: bytes and the time go in, bytes and events come out. [2.4]
#pragma once

#include <sluice/codec/frame.hpp>
#include <sluice/engine/detail/pool.hpp>
#include <sluice/engine/session.hpp>
#include <sluice/export.hpp>

namespace sluice::engine {

struct connection_counters {
    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_written = 0;
    std::uint64_t frames_received = 0;
    std::uint64_t frames_written = 0;
};

/// Sans-I/O: opens no socket, starts no thread, reads no clock, calls nothing but body sources.
///
/// The owner's loop: read bytes -> receive(); poll_event() until it answers false; commands;
/// write() -> send bytes; tick() when its answer says so. The same calls in the same order give the
/// same bytes.
///
/// Distinct objects: safe to use concurrently. Shared object: unsafe. Throws only std::bad_alloc.
class SLUICE_EXPORT connection {
public:
    explicit connection(connection_options options);
    ~connection();
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    void* context = nullptr;  ///< the owner's

    // ---- inputs

    /// Takes octets from the peer, cut anywhere. @returns how many were taken: fewer than given
    /// only while events_max events wait; poll them and hand the rest in again.
    std::size_t receive(bytes_view in, time_point now);
    /// The transport is gone, both ways. Everything ends; connection_closed follows if it has not
    /// come yet.
    void transport_closed(std::error_code why = make_error_code(error::connection_lost));
    /// Sees to heartbeats and time-outs. @returns when to call again at the latest;
    /// time_point::max() if never.
    time_point tick(time_point now);

    // ---- outputs

    /// Fills `out` with whole frames, as many as fit. @pre out.size() >= outgoing_frame_max
    /// @returns octets written; 0 if there is nothing to send.
    std::size_t write(std::span<std::byte> out, time_point now);
    /// False only if write() would answer 0.
    bool wants_write() const noexcept;
    /// The next event, oldest first; false if there is none.
    bool poll_event(event& out);
    /// After the last octet of write() is sent, the transport may be shut down for sending.
    bool output_done() const noexcept;

    // ---- commands

    /// Opens (initiator) or accepts the peer's open (listener). With a SASL layer, open waits for
    /// its outcome.
    /// @returns error::invalid_state if it was called before, or the peer's open was refused;
    /// error::too_large if our open does not fit the 512 octets that every peer takes (listener:
    /// what this peer takes; then the connection has ended).
    std::error_code open();
    /// Closes. Without an error, sessions are ended first, each after the deliveries that it has
    /// begun and its dispositions; with one, or `overtake`, at once. Refuses a peer's open that
    /// waits for its answer.
    /// @returns error::invalid_state if it is closed or closing already (harmless).
    std::error_code close(amqp_error why = {}, bool overtake = false);
    /// Begins a session. @returns error::connection_not_open after the end,
    /// error::channel_max_exceeded, error::too_large (its begin fits no frame of the peer's).
    result<session*> begin(session_options options = {});
    /// Gives a session and its links back after event_kind::session_ended; what is left of it goes
    /// as soon as the peer has answered.
    void forget(session& s);

    // SASL [5.3]: each answers the event of its name in event.hpp; error::invalid_state out of
    // turn.
    std::error_code sasl_init(std::string_view mechanism,
                              std::optional<bytes_view> initial_response,
                              std::string_view hostname = {});
    std::error_code sasl_response(bytes_view response);
    /// Listener, before the first octet is received: what to offer. Default: ANONYMOUS.
    void sasl_offer(std::vector<std::string> mechanisms);
    std::error_code sasl_challenge(bytes_view challenge);
    std::error_code sasl_outcome(sasl_code code, bytes_view additional = {});

    // ---- getters

    connection_state state() const noexcept { return state_; }
    connection_options const& options() const noexcept { return options_; }
    /// Both opens are through and no close is.
    bool opened() const noexcept { return state_ == connection_state::opened; }
    /// The peer's open; refers to memory of this connection. @pre the peer has opened
    sluice::open const& remote_open() const noexcept { return remote_; }
    bool has_remote_open() const noexcept { return !remote_bytes_.empty(); }
    /// Why the connection ended: the peer's error if it named one, else ours.
    amqp_error const& error() const noexcept { return error_; }
    bool closed_by_peer() const noexcept { return closed_by_peer_; }
    std::vector<std::string> const& sasl_mechanisms() const noexcept { return sasl_mechanisms_; }
    std::string const& sasl_mechanism() const noexcept { return sasl_mechanism_; }
    bytes const& sasl_bytes() const noexcept { return sasl_bytes_; }
    connection_counters const& counters() const noexcept { return counters_; }
    /// Attaches and dispositions of all sessions that wait to be written.
    std::size_t answers_waiting() const noexcept
    {
        std::size_t count = 0;
        for (auto* s = active_.front(); s; s = session::active_list::after(s))
            count += s->queue_.answers_waiting();
        return count;
    }
    /// Octets of a frame that we may send.
    std::uint32_t outgoing_frame_max() const noexcept { return outgoing_frame_max_; }

    template <class F>
    void for_each_session(F f)
    {
        for (std::size_t i = 0; i < sessions_.size(); ++i)
            if (!sessions_[i]->gone_)
                f(*sessions_[i]);
    }

private:
    friend class session;
    friend class link;
    friend class sender;
    friend class receiver;
    friend class write_queue;
    friend class delivery_inbox;

    enum class layer : std::uint8_t { header, sasl_header, sasl, amqp };
    enum class sasl_step : std::uint8_t {
        none,
        wait_mechanisms,
        choose,
        wait_init,
        decide,
        wait_challenge,
        respond,
        wait_response,
        done
    };

    // input, step by step
    std::size_t take(bytes_view in);
    std::size_t take_any(bytes_view in);
    std::size_t take_partial(bytes_view in);
    void on_octets(bytes_view whole);
    std::size_t wanted(bytes_view start) const noexcept;
    std::uint32_t frame_size_limit() const noexcept;
    /// What comes next cannot be taken yet: see connection_options::writes_between.
    bool must_wait() const noexcept
    {
        return must_write_first_
               || (layer_in_ == layer::sasl && options_.writes_between
                   && (sasl_ == sasl_step::decide || sasl_ == sasl_step::choose));
    }
    bool channels_are_used_up() const noexcept;
    bool numbers_are_used_up() const noexcept;
    void pause_if_numbers_are_used_up(session const* s) noexcept;
    void on_protocol_header(bytes_view header);
    void on_sasl_header();
    void on_amqp_header();
    void refuse_header(std::string text,
                       sluice::error code = sluice::error::invalid_protocol_header);
    void on_frame(bytes_view frame);
    void on_sasl_frame(bytes_view body);
    template <class Frame>
    bool decode_sasl(bytes_view body, Frame& out);
    void on_sasl_outcome(struct sasl_outcome const& o);
    void on_amqp_frame(std::uint16_t channel, bytes_view body);
    void on_open(bytes_view body);
    void on_begin(std::uint16_t channel, bytes_view body);
    void on_close(bytes_view body);
    session* find_remote(std::uint16_t channel) const noexcept
    {
        return channel < remote_channels_.size() ? remote_channels_[channel] : nullptr;
    }

    /// Closes because the peer broke a rule.
    void fail(sluice::error code, std::string_view condition, std::string text);
    void finish(std::error_code code);
    void emit(event const& e) { events_.next_slot() = e; }
    void emit_delivery(event_kind kind, engine::session& s, engine::link& l, outgoing_delivery* out,
                       incoming_delivery* in, bool final)
    {
        auto& e = events_.next_slot();  // field by field: what a delivery's event does not use
                                        // stays as it is
        e.kind = kind;
        e.final = final;
        e.code = {};
        e.session = &s;
        e.link = &l;
        e.outgoing = out;
        e.incoming = in;
    }
    bool step(connection_event on) noexcept;

    // output, step by step
    void start_output();
    bytes open_frame() const;
    /// Octets of a frame that we may ask to be sent, as far as that is known.
    std::uint32_t frame_size_max() const noexcept
    {
        return has_remote_open() ? outgoing_frame_max_ : options_.outgoing_frame_max;
    }
    void end_output(sluice::error code, std::string text,
                    std::string_view condition = condition::resource_limit_exceeded);
    std::size_t write_preamble(std::span<std::byte> out);
    std::size_t write_open(std::span<std::byte> out);
    bool open_is_due() const noexcept;
    bool close_is_due() const noexcept;
    std::size_t write_close(std::span<std::byte> out);
    std::size_t write_sessions(std::span<std::byte> out);
    template <class Performative>
    std::size_t put(frame_type type, std::uint16_t channel, Performative const& p,
                    std::span<std::byte> out);
    void queue_header(protocol_id id);
    template <class Frame>
    void queue_sasl(Frame const& frame);
    bool may_write_sessions() const noexcept;

    void activate(session& s) noexcept;
    bool bind_channel(session& s);
    bool has_channel(session const& s) const noexcept;
    void release_local_channel(session& s) noexcept;
    void release_remote_channel(session& s) noexcept;
    void unmap(session& s) noexcept;
    void recycle_final() noexcept;
    [[gnu::cold]] bool is_of_use(event const& e) noexcept;
    [[gnu::cold]] void purge(incoming_delivery const& d) noexcept;
    session& keep(std::unique_ptr<session> made);
    void free(session& s);
    void free(engine::link& l);
    void free_gone();

    connection_options options_;
    connection_state state_ = connection_state::start;
    layer layer_in_ = layer::header;
    sasl_step sasl_ = sasl_step::none;
    bool output_started_ = false;
    bool header_sent_ = false;
    bool open_sent_ = false;
    bool open_wanted_ = false;
    bool close_wanted_ = false;
    bool close_overtakes_ = false;
    bool close_sent_ = false;
    bool reported_ = false;
    bool closed_by_peer_ = false;
    bool output_ended_ = false;
    bool heartbeat_due_ = false;
    bool must_write_first_ = false;
    std::error_code close_code_;
    amqp_error close_error_;  // ours, to be sent
    amqp_error error_;
    sluice::open remote_;
    bytes remote_bytes_;
    std::uint32_t outgoing_frame_max_ = 512;
    std::uint16_t channel_max_ = 0;

    std::vector<std::string> sasl_mechanisms_;
    std::vector<std::string> sasl_offer_{"ANONYMOUS"};
    std::string sasl_mechanism_;
    bytes sasl_bytes_;
    bytes preamble_;  // protocol headers and SASL frames to send

    bytes partial_;  // the start of a frame that has not come whole
    detail::ring<event> events_;
    struct {  // of the last event given out: to be recycled with the next
        engine::session* session = nullptr;
        outgoing_delivery* outgoing = nullptr;
        incoming_delivery* incoming = nullptr;
    } final_;
    bool unsure_ = false;  // an event that waits may refer to what is forgotten
    engine::link* gone_links_ = nullptr;
    engine::session* gone_sessions_ = nullptr;
    connection_counters counters_;

    bool clock_started_ = false;
    time_point started_{};
    time_point last_received_{};
    time_point last_written_{};
    std::uint32_t heartbeat_ms_ = 0;  // largest gap we leave; 0: none

    std::vector<std::unique_ptr<session>> sessions_;
    std::vector<session*> local_channels_;
    std::size_t lowest_free_channel_ = 0;  // none below it is
    std::vector<session*> remote_channels_;
    session::active_list active_;
    session* writing_ = nullptr;  // the one that is writing a frame
    detail::pool<outgoing_delivery> outgoing_pool_;
    detail::pool<incoming_delivery> incoming_pool_;
};

// Inline, for they are run once a message: a call each would cost more than they do.

inline void session::emit(event const& e) { connection_.emit(e); }
inline void session::wake() noexcept { connection_.activate(*this); }

inline bool write_queue::needs_attention() const noexcept
{
    return session_.begin_queued_ || end_queued_ || !control_.empty() || !detaching_.empty()
           || !flows_.empty() || session_.state_ != session_state::mapped;
}

inline void connection::activate(session& s) noexcept
{
    if (s.active_)
        return;
    s.active_ = true;
    active_.push_back(s);
}

inline void session::release(outgoing_delivery& d) noexcept
{
    d.source_ = nullptr;
    d.sent_ = 0;
    d.failure_ = error::operation_aborted;
    d.state_ = outgoing_state::queued;
    d.outcome_ = outcome_kind::none;
    d.indexed_ = false;
    d.source_ready_ = true;
    d.remotely_settled_ = false;
    d.local_state_.clear();
    d.remote_state_.clear();
    connection_.outgoing_pool_.release(d);
}

inline void session::release(incoming_delivery& d) noexcept
{
    // A rare big message should not hold its memory for ever.
    constexpr auto kept_max = std::size_t{64} * 1024;
    d.context = nullptr;
    if (d.body_.capacity() > kept_max) [[unlikely]]
        d.body_ = {};
    d.body_.clear();
    d.consumed_ = 0;
    d.received_ = 0;
    d.state_ = incoming_state::none;
    d.complete_ = false;
    d.announced_ = false;
    d.dropped_ = false;
    d.noted_ = false;
    d.indexed_ = false;
    d.remote_state_.clear();
    connection_.incoming_pool_.release(d);
}

inline void receiver::discard_body(incoming_delivery& d)
{
    auto const size = d.body_.size() - d.consumed_;
    d.body_.clear();  // keeps its capacity for the next delivery
    d.consumed_ = 0;
    if (size == 0)
        return;
    unread_ -= size;
    session_->inbox_.buffered_ -= size;
    session_->inbox_.on_room(*this);
}

}  // namespace sluice::engine
