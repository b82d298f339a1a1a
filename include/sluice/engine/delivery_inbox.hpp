// What comes into a session: counts transfer frames, keeps the window, puts deliveries together.
// [2.5.6, 2.6.14]
#pragma once

#include <sluice/engine/detail/ring.hpp>
#include <sluice/engine/receiver.hpp>
#include <sluice/engine/sender.hpp>
#include <sluice/export.hpp>

namespace sluice::engine {

/// The incoming window is the free room of this inbox. A frame leaves it at once for its link's
/// delivery, unless what the user has not read exceeds `buffered_bytes_max`: then first frames of a
/// link that has unread octets wait here. When they fill the inbox while a delivery is half here,
/// the oldest goes in all the same, so that what has begun can finish.
///
/// Pure state machine, part of a session. Shared object: unsafe.
class SLUICE_EXPORT delivery_inbox {
public:
    delivery_inbox(session& owner, session_options const& options) noexcept;

    void on_begin(transfer_id first) noexcept;

    /// Counts and checks a transfer and puts it where it belongs. Ends the link or session that
    /// broke a rule.
    void on_transfer(receiver& link, transfer const& t, bytes_view payload);
    /// Counts a transfer that belongs to no receiver of ours. [2.6.6]
    void on_stray_transfer(transfer const& t);

    /// Octets or a delivery went: frames that waited may move.
    void on_room(receiver& link)
    {
        if (!waiting_.empty())
            on_room_while_waiting(link);
    }
    /// Frames of `link` that wait here are dropped; their deliveries never begin.
    void drop(receiver& link) noexcept;

    /// A disposition of the sender, for what is not in yet.
    void settle_waiting(disposition const& what);

    /// The value to write, raising the promise. Absent before the peer's begin.
    std::optional<transfer_id> next_incoming_id() const noexcept;
    std::uint32_t window_to_write() noexcept;

    /// The transfer frames seen, as an id: what an exact flow of the peer states.
    transfer_id counted() const noexcept { return counted_; }
    /// Takes the peer's value (tolerant sessions).
    void take_next_incoming_id(transfer_id value) noexcept { next_incoming_id_ = value; }
    std::size_t held_bytes() const noexcept;

private:
    struct waiting_frame {
        receiver* link = nullptr;
        bool first = false;
        bool more = false;
        bool aborted = false;
        bool settled = false;
        bool settled_since = false;  // by a disposition, while it waited
        bool resume = false;
        receiver_settle_mode mode = receiver_settle_mode::first;
        std::uint32_t message_format = 0;
        delivery_number id{};
        delivery_tag tag{};
        bytes state{};
        bytes payload{};
    };
    friend class session;
    friend class receiver;
    bool count_frame(transfer const& t);
    [[gnu::cold]] void refuse_beyond_window(transfer const& t);
    bool check_first(receiver& link, transfer const& t);
    static bool asks_for_second(receiver const& link, transfer const& t) noexcept;
    [[gnu::cold]] void refuse_first(receiver& link, transfer const& t);
    bool check_continuation(receiver& link, transfer const& t);
    [[gnu::cold]] bool check_repeated(receiver& link, transfer const& t);
    [[gnu::cold]] bool check_settled(receiver& link, incoming_delivery const& d, transfer const& t);
    [[gnu::cold]] void refuse_too_large(receiver& link, incoming_delivery const& d);
    bool must_wait(receiver const& link, bool first, std::size_t size) const noexcept;
    void wait(receiver& link, transfer const& t, bytes_view payload, bool first);
    void admit(receiver& link, transfer const& t, bytes_view payload, bool first);
    void admit_waiting(std::size_t at);
    void admit_oldest();
    bool over(waiting_frame const& f) const noexcept;
    incoming_delivery& begin_delivery(receiver& link, transfer const& t);
    bool admit_whole(receiver& link, transfer const& t, bytes_view payload);
    void append(receiver& link, incoming_delivery& d, bytes_view payload);
    void finish(receiver& link, incoming_delivery& d);
    void abort(receiver& link, incoming_delivery& d);
    void on_room_while_waiting(receiver& link);
    void move_waiting();
    void request_window_if_due();

    session& session_;
    transfer_id next_incoming_id_;  // as [2.5.6] has it: follows the peer's flows
    transfer_id counted_;           // only counts
    transfer_id promised_edge_;     // next-incoming-id + window, as last written; never retreats
    std::uint32_t capacity_;        // frames
    bool begun_ = false;
    bool promised_ = false;
    delivery_number next_delivery_id_;
    bool knows_delivery_id_ = false;
    std::size_t buffered_ = 0;  // octets of deliveries that the user has not taken
    std::size_t buffered_max_;
    std::size_t partial_ = 0;  // deliveries half here
    detail::ring<waiting_frame> waiting_;
    std::size_t links_waiting_ = 0;  // links that have frames in there
    std::uint64_t pass_ = 0;
    bool moving_ = false;
};

}  // namespace sluice::engine
