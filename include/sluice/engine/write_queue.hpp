// The one way out of a session: numbers its transfers and decides which frame is next. [2.5.6]
#pragma once

#include <sluice/engine/body_source.hpp>
#include <sluice/engine/detail/ring.hpp>
#include <sluice/engine/receiver.hpp>
#include <sluice/engine/sender.hpp>
#include <sluice/export.hpp>

namespace sluice::engine {

/// What one call of write_next() did.
enum class write_status : std::uint8_t { wrote, idle, no_room };

struct write_result {
    write_status status = write_status::idle;
    std::size_t size = 0;
};

struct session_counters {
    std::uint64_t transfers_written = 0;   ///< frames
    std::uint64_t transfers_received = 0;  ///< frames
    std::uint64_t deliveries_sent = 0;
    std::uint64_t deliveries_received = 0;
    std::uint64_t flows_written = 0;
    std::uint64_t flows_received = 0;
    std::uint64_t flows_deferred = 0;  ///< requested while a transfer frame was being written
    std::uint64_t flow_mismatches =
        0;  ///< flows whose next-outgoing-id is not the count of transfer frames
    std::uint64_t dispositions_written = 0;
    std::uint64_t dispositions_received = 0;
    std::uint64_t wraps = 0;  ///< next_outgoing_id passed 2^32
};

/// Pure state machine. Distinct sessions: safe to use concurrently. One session: unsafe.
///
/// Invariants, tested in proptests/:
///  1. next_outgoing_id() is the initial id plus the transfer frames written, mod 2^32.
///  2. Only write_next() writes. Every other function queues.
///  3. A flow's fields are read when it is written, never when it is requested.
///  4. A requested flow waits for one transfer frame at most, not for the rest of a delivery.
///  5. Flows and transfers take turns: flows asked for during a round of flows wait for the next
///  one.
class SLUICE_EXPORT write_queue {
public:
    write_queue(session& owner, session_options const& options) noexcept;

    /// The owner's options are known only now (listener); nothing was written yet.
    void restart(session_options const& options) noexcept;

    void push_attach(link& l);
    /// Merges with the disposition before it where both say the same of neighbouring deliveries.
    void push_disposition(role of, delivery_number id, bool settled, raw_value state);
    void push_detach(link& l) noexcept;
    void push_end(bool overtake) noexcept;

    /// Asks for a flow on `l`, or on the session alone (nullptr), merged with one still pending.
    /// May be called from within a body source.
    void request_flow(link* l, bool echo);

    /// Gives the link its turn if it has something that may go.
    void schedule(sender& s) noexcept;
    void unschedule(sender& s) noexcept;
    /// Drops every reference to `l`, which is about to be freed.
    void forget(link& l) noexcept;

    /// The peer's begin or flow says how far it will take frames.
    /// @param next_incoming_id absent if the peer had not seen our begin
    /// @returns error::unsent_transfer_acknowledged, with no change, if its id leads ours.
    std::error_code on_peer_window(std::optional<transfer_id> next_incoming_id,
                                   std::uint32_t window) noexcept;

    /// Writes at most one frame to the front of `out`.
    write_result write_next(std::span<std::byte> out);

    /// As write_next() again and again, until there is nothing to write or no room. For a session
    /// that is alone.
    write_result write_many(std::span<std::byte> out);

    /// False only if write_next() would answer idle.
    bool wants_write() const noexcept;
    /// Attaches and dispositions that wait to be written.
    std::size_t answers_waiting() const noexcept { return control_.size(); }

    transfer_id next_outgoing_id() const noexcept { return next_outgoing_id_; }
    std::uint32_t remote_incoming_window() const noexcept { return remote_window_; }

private:
    struct control {
        link* attach = nullptr;  // an attach; else a disposition
        sluice::role of = role::receiver;
        bool settled = false;
        bool is_accepted = false;
        bool has_state = false;
        delivery_number first{};
        delivery_number last{};
        bytes state{};  // of outcomes other than accepted
    };

    friend class session;
    friend class sender;
    friend class link;
    friend class connection;
    bool may_transfer() const noexcept;
    bool flows_due() const noexcept;
    bool attach_must_wait(link const& l) const noexcept;
    /// Anything but transfers to write, or to look at.
    bool needs_attention() const noexcept;
    write_result write_other(std::span<std::byte> out);
    link* finished_detach() const noexcept;
    bool end_is_due() const noexcept;

    bytes begin_frame();
    bytes attach_frame(link const& l) const;
    link* leaving_namesake(link const& l) const noexcept;
    write_result put_whole(bytes const& frame, std::span<std::byte> out);
    write_result write_begin(std::span<std::byte> out);
    write_result write_control(std::span<std::byte> out);
    write_result write_attach(link& l, std::span<std::byte> out);
    write_result write_disposition(control& c, std::span<std::byte> out);
    write_result write_flow(std::span<std::byte> out);
    flow flow_fields(link* l, bool echo);
    write_result write_detach(link& l, std::span<std::byte> out);
    write_result write_end(std::span<std::byte> out);
    write_result write_transfer(sender& s, std::span<std::byte> out);
    write_result write_transfer_inline(sender& s, std::span<std::byte> out);
    write_result write_abort(sender& s, outgoing_delivery& d, std::span<std::byte> out);
    write_result write_payload(sender& s, outgoing_delivery& d, std::span<std::byte> out);
    write_result write_streamed(sender& s, outgoing_delivery& d, std::span<std::byte> out);
    pull_result pull_body(sender& s, outgoing_delivery& d, std::span<std::byte> room);
    void withdraw_failed(sender& s, outgoing_delivery& d);
    std::byte* put_transfer(sender const& s, outgoing_delivery const& d, bool more,
                            std::byte* out) const noexcept;
    transfer transfer_of(sender const& s, outgoing_delivery const& d) const noexcept;
    void after_first_frame(sender& s, outgoing_delivery& d);
    void after_last_frame(sender& s, outgoing_delivery& d);
    void count_transfer() noexcept;
    void after_transfer(sender& s);
    void answer_drain(sender& s);
    void ask_for_window() noexcept;
    template <class Performative>
    write_result put(Performative const& p, std::span<std::byte> out);

    session& session_;
    transfer_id initial_outgoing_id_;
    transfer_id next_outgoing_id_;
    delivery_number next_delivery_id_;
    std::uint32_t outgoing_window_;
    std::uint32_t remote_window_ = 0;  // transfer frames, not bytes
    std::uint32_t window_at_last_news_ = 0;
    std::uint32_t last_peer_window_ = 0;
    bool asked_for_window_ = false;

    detail::ring<control> control_;
    detail::ring<link*> flows_;  // nullptr: the session's; at most one entry a link and round
    std::size_t round_ = 0;  // entries at the front of flows_ that are written before any transfer
    bool owes_transfer_ = false;  // flows were asked for during a round: a transfer goes first
    bool session_flow_pending_ = false;
    bool session_echo_ = false;
    sender::ready_list ready_;
    detail::intrusive_list<link, &link::detach_hook_> detaching_;
    bool end_queued_ = false;
    bool end_overtakes_ = false;
    bool writing_transfer_ = false;
};

}  // namespace sluice::engine
