// What is known of a session and of its links, from both ends.
#pragma once

#include "grants.hpp"
#include "unsettled.hpp"

#include <sluice/codec/performatives.hpp>

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::audit::detail {

struct session;

/// Something that was asked for and that the other side owes.
struct request {
    bool open = false;
    time_point since{};
    std::uint64_t frame = 0;  ///< the one that asked
};

/// One end of a link: what its own side's frames say.
struct link_end {
    enum state : std::uint8_t { none, attached, detached };
    state is = none;
    std::uint32_t handle = 0;
};

/// What a number stated by one end may be, judged by what the other end counted and stated.
struct statements {
    std::int64_t last = 0;    ///< the receiver's, counted from the first
    bool stated = false;      ///< the receiver has stated one
    std::int64_t lead = 0;    ///< how far the sender's own wrong statements led the count
    std::int64_t offset = 0;  ///< by how much the sender's last statement was wrong
    bool wavered = false;     ///< the sender's statements went back, so the receiver's may

    /// The sender states a number that differs by `wrong` from what it sent.
    void sender_states(std::int64_t wrong) noexcept
    {
        if (wrong < offset)
            wavered = true;
        if (wrong > lead)
            lead = wrong;
        offset = wrong;
    }
};

/// The delivery that a link's sender has begun and not ended.
struct delivery {
    bool open = false;
    bool settled = false;
    bool id_known = false;
    bool format_known = false;
    bool oversized = false;  ///< reported
    std::uint8_t tag_size = 0;
    std::uint32_t id = 0;
    std::uint32_t format = 0;
    std::uint64_t size = 0;  ///< octets of payload
    std::array<std::byte, 32> tag{};
};

/// One link from `direction`'s sender to the other side's receiver.
struct link {
    session* of = nullptr;
    audit::direction direction = audit::direction::from_client;  ///< of its transfers
    bool learned = false;      ///< seen in use first: what its attach said is not known
    bool settling_in = false;  ///< learned, and the first delivery seen may be the rest of one
    bool second = false;       ///< the receiver settles second, as its attach says
    bool resumable = false;    ///< the sender's attach had an unsettled map
    bool overrun = false;      ///< reported, for the limit as it is
    bool drain = false;        ///< the receiver's wish
    bool drain_ended =
        false;  ///< the wish was withdrawn, when its side had sent `drain_mark` frames
    std::int64_t drain_mark = 0;
    sender_settle_mode settle_mode = sender_settle_mode::mixed;
    link_end sender;
    link_end receiver;
    std::uint32_t initial = 0;  ///< delivery-count; known once the sender has attached
    std::int64_t count = 0;     ///< deliveries begun, and credit drained
    std::int64_t drain_limit = 0;
    std::uint64_t message_size_max = 0;  ///< 0: none
    grants credit;
    statements receiver_count;
    delivery current;
    std::array<request, 2> echo;  ///< by who asked
    request draining;
    std::uint64_t name_hash = 0;
    std::string name;  ///< the start of it
    link* next_of_name = nullptr;
    std::size_t place = 0;  ///< in its session's list

    link_end& end_of(audit::direction side) noexcept
    {
        return side == direction ? sender : receiver;
    }
    bool is_sender(audit::direction side) const noexcept { return side == direction; }
};

/// Links by the handles that one side gave them. Low ones, nearly all, need no hashing.
class handle_map {
public:
    link* find(std::uint32_t handle) const noexcept
    {
        if (handle < low_.size())
            return low_[handle];
        if (handle < low_max || high_.empty())
            return nullptr;
        auto const at = high_.find(handle);
        return at == high_.end() ? nullptr : at->second;
    }
    void set(std::uint32_t handle, link* l)
    {
        if (handle >= low_max) {
            high_[handle] = l;
            return;
        }
        if (handle >= low_.size())
            low_.resize(handle + 1, nullptr);
        low_[handle] = l;
    }
    void erase(std::uint32_t handle)
    {
        if (handle < low_.size())
            low_[handle] = nullptr;
        else
            high_.erase(handle);
    }

private:
    static constexpr std::uint32_t low_max = 64;
    std::vector<link*> low_;
    std::unordered_map<std::uint32_t, link*> high_;
};

/// The transfers of one direction of a session. Numbers count from the session's start, so that
/// nothing wraps: `initial` is the id of number 0.
struct transfers {
    explicit transfers(unsettled_budget& budget) noexcept : unsettled{budget} {}

    std::uint32_t initial = 0;
    bool initial_known = false;
    bool overrun = false;  ///< reported, for the window as it is
    bool id_known = false;
    std::uint32_t next_delivery_id = 0;
    std::int64_t sent = 0;   ///< transfer frames
    grants window;           ///< the receiver's
    statements receiver_id;  ///< the receiver's next-incoming-id
    unsettled_list unsettled;
    std::array<settled_ranges, 2> settled;  ///< by who said so

    std::uint32_t id(std::int64_t number) const noexcept
    {
        return initial + static_cast<std::uint32_t>(number);
    }
};

/// One session, from its first begin to both ends. Arrays are indexed by `direction`: what that
/// direction's sender said or sent.
struct session {
    explicit session(unsettled_budget& budget) noexcept : sent{transfers{budget}, transfers{budget}}
    {
    }

    std::array<transfers, 2> sent;
    std::array<bool, 2> begun{};
    std::array<bool, 2> ended{};
    std::array<bool, 2> knows_begin{};  ///< has provably received the other side's begin
    std::array<std::uint16_t, 2> channel{};
    std::array<std::uint32_t, 2> handle_max{};   ///< as announced
    std::array<std::uint32_t, 2> handle_used{};  ///< the highest one before that was announced
    std::array<handle_map, 2> handles;
    std::array<request, 2> echo;  ///< by who asked
    bool learned = false;         ///< seen in use first; the two directions cannot be held together
    bool waits = false;           ///< in the list of those whose begin is not answered
    bool loose =
        false;  ///< something could not be followed: no more than the frame count is checked
    session* next_waiting = nullptr;  ///< begun later on the same channel, not answered either
    std::vector<std::unique_ptr<link>> links;
    std::size_t place = 0;  ///< in the connection's list
};

}  // namespace sluice::audit::detail
