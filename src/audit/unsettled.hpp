// The unsettled deliveries of one direction of a session, by delivery-id, in little room.
#pragma once

#include "reporter.hpp"

#include <memory>
#include <vector>

namespace sluice::audit::detail {

/// Shared by all lists of a connection: what they may hold together.
struct unsettled_budget {
    std::size_t left = 0;
};

/// Ids in serial order in a ring. A range is walked over what is in the list, never over the range.
class unsettled_list {
public:
    struct entry {
        std::uint32_t id = 0;
        bool live = false;
        bool second = false;  ///< the receiver settles after the sender [2.8.3]
    };

    explicit unsettled_list(unsettled_budget& budget) noexcept : budget_{&budget} {}
    unsettled_list(unsettled_list const&) = delete;
    unsettled_list& operator=(unsettled_list const&) = delete;
    ~unsettled_list() { budget_->left += ring_.size(); }

    std::size_t live() const noexcept { return live_; }

    /// An id that is not after all others in the list is left out.
    void push(std::uint32_t id, bool second);

    /// Calls `visit(entry&)` for the live ones from `first` to `last`; one that it makes dead is
    /// gone.
    /// @returns how many there were.
    template <class Visit>
    std::size_t for_range(std::uint32_t first, std::uint32_t last, Visit visit)
    {
        std::size_t found = 0;
        for (auto i = lower_bound(first); i != size_; ++i) {
            auto& e = at(i);
            if (serial_distance(e.id, last) < 0)
                break;
            if (!e.live)
                continue;
            ++found;
            visit(e);
            if (!e.live)
                --live_;
        }
        trim();
        return found;
    }

    /// Whether deliveries up to `id` may have been dropped for want of room.
    bool forgotten(std::uint32_t id) const noexcept
    {
        return forgot_ && serial_distance(forgotten_to_, id) <= 0;
    }

    void forget_all();

private:
    entry& at(std::size_t i) noexcept { return ring_[(head_ + i) & (ring_.size() - 1)]; }
    std::size_t lower_bound(std::uint32_t id) noexcept;
    void trim() noexcept;
    void compact() noexcept;
    bool grow();
    void pop_front() noexcept;

    unsettled_budget* budget_;
    std::vector<entry> ring_;  ///< its size is 0 or a power of two
    std::size_t head_ = 0;
    std::size_t size_ = 0;
    std::size_t live_ = 0;
    std::uint32_t forgotten_to_ = 0;
    bool forgot_ = false;
};

/// The last ranges of ids that one end has settled by saying so: whether what the other end says of
/// them can have crossed with it.
class settled_ranges {
public:
    void add(std::uint32_t first, std::uint32_t last) noexcept;
    /// Whether some id from `first` to `last` was, or may have been, settled.
    bool may_touch(std::uint32_t first, std::uint32_t last) const noexcept;

private:
    static constexpr std::size_t room = 8;
    struct range {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
    };
    std::array<range, room> ranges_;
    std::size_t size_ = 0;
    std::size_t next_ = 0;
    std::uint32_t evicted_to_ = 0;
    bool evicted_ = false;
};

}  // namespace sluice::audit::detail
