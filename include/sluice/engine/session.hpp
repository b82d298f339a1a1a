// One end of a session: its links, its deliveries, its way in and its way out. [2.5]
#pragma once

#include <sluice/engine/delivery_inbox.hpp>
#include <sluice/engine/detail/delivery_index.hpp>
#include <sluice/engine/write_queue.hpp>
#include <sluice/export.hpp>

#include <memory>
#include <vector>

namespace sluice::engine {

class connection;

/// Made by connection::begin() or by the peer's begin. Owned by its connection; stays valid after
/// its end until connection::forget(). Distinct connections: safe to use concurrently. Within one
/// connection: unsafe.
class SLUICE_EXPORT session {
public:
    session(session const&) = delete;
    session& operator=(session const&) = delete;
    ~session();

    void* context = nullptr;  ///< the owner's

    engine::connection& connection() const noexcept { return connection_; }
    session_state state() const noexcept { return state_; }
    session_options const& options() const noexcept { return options_; }
    std::uint16_t local_channel() const noexcept { return local_channel_; }

    /// Answers the peer's begin (listener).
    /// @returns error::invalid_state unless one waits for its answer; error::channel_max_exceeded;
    /// error::too_large, if ours fits no frame of the peer's (it can still be ended).
    std::error_code begin(session_options options);

    /// Ends the session and its links. Without an error, deliveries that have begun are finished
    /// first.
    /// @returns error::invalid_state if it is ended or ending already (harmless).
    std::error_code end(amqp_error why = {}, bool overtake = false);

    /// Attaches a link; its name must not be that of another link of this session with the same
    /// role.
    /// @returns error::session_not_open after the session's end, error::link_name_in_use,
    /// error::handle_max_exceeded, error::too_large if the attach fits no frame of the peer's.
    result<sender*> attach_sender(link_options options);
    result<receiver*> attach_receiver(link_options options);

    /// Asks for a session flow, with `echo` for one of the peer's. [2.7.4]
    void request_flow(bool echo = false) { queue_.request_flow(nullptr, echo); }

    /// Gives a link back after its event_kind::link_detached (or session_ended): its deliveries are
    /// gone, the rest goes as soon as the peer has answered.
    void forget(link& l);

    /// Why the session ended: the peer's error if it named one, else ours, else the connection's.
    amqp_error const& error() const noexcept { return error_; }
    bool ended_by_peer() const noexcept { return ended_by_peer_; }

    /// The peer's begin; refers to memory of this session. @pre the peer has begun
    sluice::begin const& remote_begin() const noexcept { return remote_; }

    transfer_id next_outgoing_id() const noexcept { return queue_.next_outgoing_id(); }
    std::uint32_t remote_incoming_window() const noexcept
    {
        return queue_.remote_incoming_window();
    }
    session_counters const& counters() const noexcept { return counters_; }
    /// Octets of messages held here: unfinished, not taken by the owner, or waiting for room.
    std::size_t buffered_bytes() const noexcept { return inbox_.held_bytes(); }

    /// Calls `f(link&)` for each link that is not forgotten.
    template <class F>
    void for_each_link(F f)
    {
        for (std::size_t i = 0; i < links_.size(); ++i)
            if (!links_[i]->gone_)
                f(*links_[i]);
    }

private:
    friend class engine::connection;
    friend class link;
    friend class sender;
    friend class receiver;
    friend class write_queue;
    friend class delivery_inbox;
    session(engine::connection& owner, session_options options);

    // inputs, from the connection
    void on_begin(sluice::begin const& b, bytes_view encoded);
    void on_frame(std::uint64_t descriptor, bytes_view body);
    void on_attach(bytes_view body);
    void answer_attach(link& l, sluice::attach const& a, bytes_view encoded);
    link& make_remote_link(sluice::attach const& a);
    void on_flow(bytes_view body);
    void on_transfer(bytes_view body);
    [[gnu::cold]] void refuse_transfer(link* l, transfer const& t);
    /// After an end with error, and after the peer's end, everything else is dropped. [2.5.4]
    bool takes_frames() const noexcept
    {
        return !reported_ && state_ != session_state::discarding
               && state_ != session_state::end_received;
    }
    void on_disposition(bytes_view body);
    void on_detach(bytes_view body);
    void on_end(bytes_view body);
    void on_connection_lost(std::error_code code, amqp_error const& why);
    void drop_too_large();
    void drop_unsent(link& l, sluice::error why);

    void settle_outgoing(disposition const& d);
    void apply_outcome(outgoing_delivery& d, disposition const& what);
    bool settles_answered(outgoing_delivery const& d) const noexcept;
    [[gnu::cold]] void settle_answered(outgoing_delivery& d);
    void settle_incoming(disposition const& what);
    bool check_flow(flow const& f);
    link* find_remote(handle h) const noexcept
    {
        return h.value < remote_handles_.size() ? remote_handles_[h.value] : nullptr;
    }
    bool handles_are_used_up() const noexcept;
    link* find_half_attached(std::string_view name, role of) const noexcept;
    void bind_remote(link& l, handle h);
    bool bind_local(link& l);
    void release_local(link& l) noexcept;
    void unbind(link& l) noexcept;
    template <class Link>
    result<Link*> attach_link(link_options options);
    link& keep(std::unique_ptr<link> made);
    void no_more_half_attached(link& l) noexcept;
    void free(link& l);
    void erase(link& l);

    /// Ends this session because the peer broke a rule; `text` holds both numbers.
    void fail(sluice::error code, std::string_view condition, std::string text);
    void fail_link(link& l, sluice::error code, std::string_view condition, std::string text);
    /// False: a decode error has closed the connection.
    template <class T>
    bool decode_or_fail(bytes_view body, T& out);

    bool step(session_event on) noexcept;
    void report_link_end(link& l, std::error_code code);
    void finish(std::error_code code);
    void emit(event const& e);
    void release(outgoing_delivery& d) noexcept;
    void release(incoming_delivery& d) noexcept;
    void lose_deliveries(link& l);
    void release_deliveries(link& l);
    void wake() noexcept;

    engine::connection& connection_;
    session_options options_;
    session_state state_ = session_state::unmapped;
    std::uint16_t local_channel_ = 0;
    std::uint16_t remote_channel_ = 0;
    bool has_remote_channel_ = false;
    bool begin_queued_ = false;
    bool ended_by_peer_ = false;
    bool reported_ = false;
    bool forgotten_ = false;  // by its owner
    bool gone_ = false;       // and by both peers: see connection::free_gone()
    bool active_ = false;  // in the connection's list of sessions that may have something to write
    std::error_code end_code_;
    amqp_error end_error_;  // ours, to be sent
    amqp_error error_;
    sluice::begin remote_;
    bytes remote_bytes_;
    session_counters counters_;
    transfer scratch_;  // the transfer being taken in
    write_queue queue_;
    delivery_inbox inbox_;
    std::vector<std::unique_ptr<link>> links_;
    std::vector<link*> local_handles_;
    std::vector<link*> remote_handles_;
    std::size_t lowest_free_handle_ = 0;
    std::size_t half_attached_ = 0;  // links: most peers that attach find none
    std::size_t place_ = 0;          // among its connection's sessions
    session* next_gone_ = nullptr;
    detail::delivery_index<outgoing_delivery> outgoing_;
    detail::delivery_index<incoming_delivery> incoming_;
    detail::list_hook<session> active_hook_;

public:
    using active_list = detail::intrusive_list<session, &session::active_hook_>;
};

}  // namespace sluice::engine
