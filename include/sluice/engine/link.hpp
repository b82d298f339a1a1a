// The ends of a link: what sender and receiver share. [2.6]
#pragma once

#include <sluice/engine/condition.hpp>
#include <sluice/engine/delivery.hpp>
#include <sluice/engine/options.hpp>
#include <sluice/export.hpp>

namespace sluice::engine {

/// One end of a link. Made by session::attach_sender, attach_receiver, or by the peer's attach.
///
/// Owned by its session; stays valid after its end until session::forget(). Distinct connections:
/// safe to use concurrently. Within one connection: unsafe.
class SLUICE_EXPORT link {
public:
    link(link const&) = delete;
    link& operator=(link const&) = delete;
    virtual ~link() = default;

    void* context = nullptr;  ///< the owner's

    engine::session& session() const noexcept { return *session_; }
    sluice::role role() const noexcept { return role_; }
    std::string const& name() const noexcept { return options_.name; }
    link_state state() const noexcept { return state_; }
    bool attached() const noexcept { return state_ == link_state::attached && !refused_; }
    link_options const& options() const noexcept { return options_; }

    /// The settle modes in force: the peer's answer may be another than what was asked for.
    /// [2.6.12]
    sender_settle_mode snd_settle_mode() const noexcept { return snd_settle_mode_; }
    receiver_settle_mode rcv_settle_mode() const noexcept { return rcv_settle_mode_; }

    /// The peer's attach; refers to memory of this link. @pre the peer has attached
    sluice::attach const& remote_attach() const noexcept { return remote_; }
    bool has_remote_attach() const noexcept { return !remote_bytes_.empty(); }

    /// Its end was reported, by link_detached or session_ended, or is by an event that waits.
    bool over() const noexcept { return reported_; }

    /// Answers the peer's attach (listener). `options.name` is ignored: it is the peer's.
    /// @returns error::invalid_state unless the peer's attach waits for its answer;
    /// error::handle_max_exceeded; error::too_large, if the answer fits no frame of the peer's.
    std::error_code attach(link_options options);

    /// Refuses the peer's attach as [2.6.3] asks: attach with a null terminus, then detach with
    /// `why`.
    /// @returns error::invalid_state unless the peer's attach waits for its answer;
    /// error::handle_max_exceeded; error::too_large, if not even that fits a frame of the peer's.
    std::error_code refuse(amqp_error why);

    /// Detaches; `closed` says for good. Deliveries that have begun are finished first, others are
    /// withdrawn. With an error, or `overtake`, begun ones are aborted where the window admits it,
    /// and nothing waits.
    /// @returns error::invalid_state if it is already detached or detaching (harmless).
    std::error_code detach(bool closed = true, amqp_error why = {}, bool overtake = false);

    /// Why the link ended: the peer's error if it named one, else ours, else its session's.
    amqp_error const& error() const noexcept { return error_; }
    bool closed_by_peer() const noexcept { return closed_by_peer_; }

    /// The session-wide number by which we name the link. @pre it has one: attach was asked for
    handle local_handle() const noexcept { return local_handle_; }

protected:
    friend class engine::session;
    friend class connection;
    friend class write_queue;
    friend class delivery_inbox;
    link(engine::session& s, sluice::role r, link_options options);

    bool step(link_event on) noexcept;
    void adopt_remote(bytes_view encoded_attach);
    void on_early_transfer();
    void settle_modes() noexcept;

    engine::session* session_;
    sluice::role role_;
    link_state state_ = link_state::detached;
    link_options options_;
    sender_settle_mode snd_settle_mode_;
    receiver_settle_mode rcv_settle_mode_;
    handle local_handle_;
    handle remote_handle_;
    bool has_local_handle_ = false;
    bool has_remote_handle_ = false;
    bool attach_queued_ = false;
    bool detach_queued_ = false;
    bool detach_closed_ = false;
    bool overtake_ = false;
    bool refused_ = false;  // a terminus that the other side decides on is null
    bool closed_by_peer_ = false;
    bool reported_ = false;   // link_detached was raised
    bool forgotten_ = false;  // by its owner
    bool gone_ = false;       // and by both peers: see connection::free_gone()
    bool flow_pending_ = false;
    bool echo_pending_ = false;
    sluice::error early_code_{};  // of `error_`, if it failed before its answer
    amqp_error detach_error_;     // ours, to be sent
    amqp_error error_;
    sluice::attach remote_;
    bytes remote_bytes_;
    detail::list_hook<link> detach_hook_;
    std::size_t place_ = 0;  // among its session's links
    link* next_gone_ = nullptr;
    bool half_attached_ = false;  // ours, and the peer's attach has not come
};

}  // namespace sluice::engine
