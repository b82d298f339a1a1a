// The sending end of a link: a queue of deliveries and the peer's credit. [2.6.7]
#pragma once

#include <sluice/engine/link.hpp>
#include <sluice/export.hpp>
#include <sluice/result.hpp>

namespace sluice::engine {

class SLUICE_EXPORT sender final : public link {
public:
    ~sender() override;

    /// Queues a delivery; it goes out when credit and window admit it. The payload is not copied:
    /// it stays valid until the delivery is sent.
    /// @returns error::link_not_attached after the link's end, error::message_size_exceeded if the
    /// peer's max-message-size is known and smaller (0 and absent mean no limit [2.7.3]),
    /// error::invalid_argument for a tag over 32 octets or `resume` without a tag, error::too_large
    /// for a state over 256 octets. Nothing has changed then.
    result<outgoing_delivery*> send(payload const& body, send_options const& options = {});

    /// Queues a delivery whose payload is pulled from `source` while its frames are written.
    result<outgoing_delivery*> send(body_source& source, send_options const& options = {});

    /// A source that answered `not_ready` has something again.
    void body_ready(outgoing_delivery& delivery);

    /// Gives a delivery up. Not begun: withdrawn, no id and no credit used. Begun: a transfer with
    /// aborted=true follows. Both end with event_kind::aborted.
    /// @returns error::invalid_state once its last frame is written, and to its own body source.
    std::error_code cancel(outgoing_delivery& delivery);

    /// Settles what the peer has not settled (mode second, or to forget it).
    /// @returns error::invalid_state unless its last frame is written, error::already_settled if it
    /// is settled.
    std::error_code settle(outgoing_delivery& delivery);

    /// With link_options::manual_drain: all that there is to send is queued, so what is left of the
    /// credit then is given back. Harmless without a drain. [2.6.7]
    void drained();
    /// Messages that could be sent but are not queued yet; part of `available` in our flows.
    /// [2.6.7]
    void set_available(std::uint32_t waiting) noexcept { available_ = waiting; }

    /// Deliveries that the peer lets us begin, 0 to 2^32-1.
    std::uint32_t credit() const noexcept { return credit_; }
    sequence_number delivery_count() const noexcept { return delivery_count_; }
    /// Credit that the queued deliveries leave over.
    std::uint32_t free_credit() const noexcept
    {
        return credit_ > unbegun_ ? credit_ - static_cast<std::uint32_t>(unbegun_) : 0;
    }
    std::size_t queued() const noexcept { return queue_.size(); }
    /// Those of queued() that have not used credit yet.
    std::size_t unbegun() const noexcept { return unbegun_; }
    std::size_t unsettled() const noexcept { return sent_.size(); }
    bool draining() const noexcept { return drain_; }

    /// Calls `f(outgoing_delivery&)` for each delivery that is not settled, in the order they were
    /// queued.
    template <class F>
    void for_each_delivery(F f)
    {
        for (auto* d = sent_.front(); d;) {
            auto* const n = outgoing_delivery::list::after(d);
            f(*d);
            d = n;
        }
        for (auto* d = queue_.front(); d;) {
            auto* const n = outgoing_delivery::list::after(d);
            f(*d);
            d = n;
        }
    }

private:
    friend class link;
    friend class engine::session;
    friend class write_queue;
    sender(engine::session& s, link_options options);

    result<outgoing_delivery*> enqueue(payload const& body, body_source* source,
                                       send_options const& options);
    std::error_code check(std::size_t size, send_options const& options) const noexcept;
    void on_flow(flow const& peer);
    void withdraw_unbegun(std::error_code why);
    /// A frame of this link could go out if the session's window allows.
    bool sendable() const noexcept
    {
        auto const* const d = queue_.front();
        if (!d || state_ != link_state::attached)
            return false;
        if (d->state_ == outgoing_state::aborting)
            return true;
        return d->source_ready_ && (d->state_ == outgoing_state::begun || credit_ > 0);
    }
    bool begun() const noexcept
    {
        return !queue_.empty() && queue_.front()->state_ != outgoing_state::queued;
    }
    void wake() noexcept;

    outgoing_delivery::list queue_;  // front: being sent
    outgoing_delivery::list sent_;   // last frame written, not settled
    std::size_t unbegun_ = 0;
    std::uint32_t credit_ = 0;
    sequence_number delivery_count_;
    std::uint64_t next_tag_ = 0;
    bool drain_ = false;
    bool drain_answered_ = false;
    bool drain_waits_ = false;  // for drained()
    std::uint32_t available_ = 0;
    bool scheduled_ = false;
    detail::list_hook<sender> ready_hook_;

public:
    using ready_list = detail::intrusive_list<sender, &sender::ready_hook_>;
};

}  // namespace sluice::engine
