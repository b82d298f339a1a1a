// One message on its way, at its sender and at its receiver. [2.6.12]
#pragma once

#include <sluice/codec/messaging.hpp>
#include <sluice/engine/body_source.hpp>
#include <sluice/engine/detail/intrusive.hpp>
#include <sluice/engine/detail/pool.hpp>
#include <sluice/engine/event.hpp>
#include <sluice/engine/states.hpp>
#include <sluice/export.hpp>

#include <array>
#include <cstring>

namespace sluice::engine {

class write_queue;
class delivery_inbox;

/// What an encoded delivery state says, without its fields.
enum class outcome_kind : std::uint8_t {
    none,
    received,
    accepted,
    rejected,
    released,
    modified,
    declared,
    transactional,
    unknown
};

SLUICE_EXPORT outcome_kind kind_of(raw_value state) noexcept;

/// What nearly every state is; without a call, for it is asked for every delivery.
inline bool is_accepted(raw_value state) noexcept
{
    return state.encoded.size() == encoded_accepted.size()
           && std::memcmp(state.encoded.data(), encoded_accepted.data(), encoded_accepted.size())
                  == 0;
}

/// At most 32 octets. [2.8.7]
struct SLUICE_EXPORT delivery_tag {
    std::array<std::byte, 32> octets{};
    std::uint8_t size = 0;
    bytes_view view() const noexcept { return {octets.data(), size}; }
    /// @pre `tag` has at most 32 octets
    void assign(bytes_view tag) noexcept
    {
        size = static_cast<std::uint8_t>(tag.size());
        if (tag.size() == 4)
            std::memcpy(octets.data(), tag.data(), 4);  // the usual size, without a call
        else if (!tag.empty())
            std::memcpy(octets.data(), tag.data(), tag.size());
    }
};

/// The encoded message to send; both parts stay valid until the delivery is sent and, for a later
/// resume, settled. Two parts, so that sections and a body of yours need not be joined.
struct payload {
    bytes_view head;
    bytes_view tail = {};
    std::size_t size() const noexcept { return head.size() + tail.size(); }
};

struct send_options {
    bool settled = false;      ///< sent settled; forced by the link's snd-settle-mode
    bool notify_sent = false;  ///< raise event_kind::sent
    bool resume = false;       ///< resumes a delivery of an earlier link [2.6.13]; needs a tag
    std::uint32_t message_format = 0;
    bytes_view tag = {};   ///< at most 32 octets; empty: a number that this link has not used yet
    raw_value state = {};  ///< a transactional-state, say; copied
    void* context = nullptr;  ///< the owner's, given back in outgoing_delivery::context
};

/// A delivery that we send. Made by sender::send(); gone after its final event.
class SLUICE_EXPORT outgoing_delivery {
public:
    void* context = nullptr;  ///< the owner's

    sender& link() const noexcept { return *link_; }
    bytes_view tag() const noexcept { return tag_.view(); }
    outgoing_state state() const noexcept { return state_; }
    /// @pre state() is neither queued nor withdrawn
    delivery_number id() const noexcept { return id_; }
    /// Octets written so far.
    std::uint64_t sent_bytes() const noexcept { return sent_; }

    outcome_kind outcome() const noexcept { return outcome_; }
    /// The peer's last state, encoded; empty if it named none.
    raw_value remote_state() const noexcept;
    bool remotely_settled() const noexcept { return remotely_settled_; }

private:
    friend class sender;
    friend class write_queue;
    friend class session;
    friend class detail::pool<outgoing_delivery>;

    detail::list_hook<outgoing_delivery> hook_;
    outgoing_delivery* next_free_ = nullptr;
    sender* link_ = nullptr;
    payload payload_;
    body_source* source_ = nullptr;
    std::uint64_t sent_ = 0;
    delivery_number id_;
    std::uint32_t message_format_ = 0;
    outgoing_state state_ = outgoing_state::queued;
    outcome_kind outcome_ = outcome_kind::none;
    error failure_ = error::operation_aborted;  // why it is aborted, if it is
    bool settled_ = false;
    bool notify_sent_ = false;
    bool resume_ = false;
    bool usual_ = false;  // without state and resume: what put_usual_transfer() can write
    bool indexed_ = false;
    bool source_ready_ = true;
    bool remotely_settled_ = false;
    delivery_tag tag_;
    bytes local_state_;
    bytes remote_state_;  // of outcomes with fields only
public:
    using list = detail::intrusive_list<outgoing_delivery, &outgoing_delivery::hook_>;
};

/// A delivery that we receive. Stays until the owner settles it (with its link gone: until
/// receiver::settle or the link is forgotten).
class incoming_delivery {
public:
    void* context = nullptr;  ///< the owner's

    receiver& link() const noexcept { return *link_; }
    delivery_number id() const noexcept { return id_; }
    bytes_view tag() const noexcept { return tag_.view(); }
    std::uint32_t message_format() const noexcept { return message_format_; }
    incoming_state state() const noexcept { return state_; }
    /// Settled by the sender: accepting it says nothing to the peer.
    bool settled() const noexcept { return remotely_settled_; }
    bool complete() const noexcept { return complete_; }
    bool resumed() const noexcept { return resumed_; }
    /// The state that the sender gave with the transfer or later, encoded.
    raw_value remote_state() const noexcept { return {remote_state_}; }

    /// The encoded message, or what of a streamed one has come and is not consumed.
    bytes_view body() const noexcept { return bytes_view{body_}.subspan(consumed_); }

private:
    friend class receiver;
    friend class session;
    friend class delivery_inbox;
    friend class write_queue;
    friend class detail::pool<incoming_delivery>;

    detail::list_hook<incoming_delivery> hook_;
    incoming_delivery* next_free_ = nullptr;
    receiver* link_ = nullptr;
    bytes body_;
    std::size_t consumed_ = 0;
    std::uint64_t received_ = 0;  // octets so far, consumed ones included
    delivery_number id_;
    std::uint32_t message_format_ = 0;
    incoming_state state_ = incoming_state::none;
    bool remotely_settled_ = false;
    bool complete_ = false;
    bool resumed_ = false;
    bool announced_ = false;  // streamed: an event for unread octets waits already
    bool dropped_ = false;    // the owner settled a partial one
    bool noted_ = false;      // events beside its first may wait to be polled
    bool indexed_ = false;
    receiver_settle_mode mode_ = receiver_settle_mode::first;
    delivery_tag tag_;
    bytes remote_state_;

public:
    using list = detail::intrusive_list<incoming_delivery, &incoming_delivery::hook_>;
};

}  // namespace sluice::engine
