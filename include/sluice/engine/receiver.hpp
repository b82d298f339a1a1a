// The receiving end of a link: credit, deliveries held, settlement. [2.6.7, 2.6.12]
#pragma once

#include <sluice/engine/link.hpp>
#include <sluice/export.hpp>

namespace sluice::engine {

class SLUICE_EXPORT receiver final : public link {
public:
    ~receiver() override;

    /// Manual credit: from now on the peer may begin `credit` more deliveries. Turns automatic
    /// credit off.
    void set_credit(std::uint32_t credit);
    void add_credit(std::uint32_t more);
    /// Automatic credit: deliveries held by the owner and credit outstanding are kept at `window`
    /// together.
    void set_credit_window(std::uint32_t window);
    /// Asks the peer to use its credit up or give it back; ends with event_kind::drained, at once
    /// if there is no credit. Turns automatic credit off: credit is 0 afterwards, until it is set
    /// again.
    void drain();
    /// Gives a drain up that is not answered yet: it will not be reported, and what credit there is
    /// can be used.
    void stop_drain();
    /// Asks for a flow on this link; with `echo` the peer is asked for one of its own. [2.7.4]
    void request_flow(bool echo = false);

    /// States an outcome (`state`: encoded; accepted if left out) and, in mode first, settles. In
    /// mode second the delivery stays until event_kind::delivery_settled. A delivery that is gone
    /// with this call must not be used again. Its octets are dropped; of a partial one, also those
    /// that are still to come.
    /// @returns error::too_large, with no change, if the state does not fit the peer's frames,
    /// error::already_settled (the peer, or its link's end, was quicker; the delivery is gone all
    /// the same).
    std::error_code settle(incoming_delivery& delivery, raw_value state = {encoded_accepted});
    /// States without settling: `received`, or an outcome ahead of time.
    std::error_code update(incoming_delivery& delivery, raw_value state);

    /// Moves the message out; the room it took is free again.
    bytes take_body(incoming_delivery& delivery);
    /// Streamed: drops the first `count` octets of body(); the room they took is free again.
    void consume(incoming_delivery& delivery, std::size_t count);

    std::uint32_t credit() const noexcept { return credit_; }
    sequence_number delivery_count() const noexcept { return delivery_count_; }
    /// Deliveries begun and not settled by the owner.
    std::uint32_t held() const noexcept { return held_; }
    /// What the peer last said to have ready.
    std::uint32_t available() const noexcept { return available_; }
    std::size_t unread_bytes() const noexcept { return unread_; }

    /// Calls `f(incoming_delivery&)` for each delivery that is here, in order of arrival.
    template <class F>
    void for_each_delivery(F f)
    {
        for (auto* d = here_.front(); d;) {
            auto* const n = incoming_delivery::list::after(d);
            f(*d);
            d = n;
        }
    }

private:
    friend class link;
    friend class engine::session;
    friend class write_queue;
    friend class delivery_inbox;
    receiver(engine::session& s, link_options options);

    void on_attached();
    void on_flow(flow const& peer);
    void on_limit_known(flow const& peer) noexcept;
    void set_window(std::uint32_t window) noexcept;
    void top_up();
    std::uint32_t credit_to_write() noexcept;
    bool fits(raw_value state) const noexcept;
    void check_drained();
    void let_go(incoming_delivery& delivery);
    void part_with(incoming_delivery& delivery);
    void discard_body(incoming_delivery& delivery);

    incoming_delivery::list here_;
    incoming_delivery* partial_ = nullptr;
    std::uint32_t credit_ = 0;  // what the peer may still begin, by our latest wish
    std::uint32_t granted_ =
        0;  // what it may begin by the highest limit written and not superseded
    sequence_number written_limit_;  // delivery-count + link-credit of our last flow
    sequence_number hidden_limit_;   // the highest one written that a higher one followed
    bool hides_limit_ = false;       // ... and that the peer may still go by
    bool gave_back_ = false;         // draining: it may have said so by a limit written twice
    std::uint32_t held_ = 0;
    std::uint32_t window_ = 0;     // automatic credit; 0: manual
    std::uint32_t top_up_at_ = 0;  // automatic: held + credit at which new credit is granted
    std::uint32_t available_ = 0;
    sequence_number delivery_count_;
    bool knows_count_ = false;  // the sender's attach has come
    bool drain_ = false;
    bool minds_settled_ = false;      // a strict session's, whose sender has said how it settles
    std::size_t unread_ = 0;          // octets of body()
    std::size_t waiting_frames_ = 0;  // in the session's inbox
    bool half_waits_ = false;         // the last of them is not its delivery's last
    delivery_number half_id_;
    std::uint64_t blocked_in_pass_ = 0;
    incoming_delivery* streamed_begun_ = nullptr;  // announced at its first frame
};

}  // namespace sluice::engine
