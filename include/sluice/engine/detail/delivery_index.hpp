// Unsettled deliveries by delivery-id, walked over what is there and never over a range of ids.
// [2.7.6]
#pragma once

#include <sluice/codec/serial.hpp>
#include <sluice/engine/detail/ring.hpp>

#include <utility>

namespace sluice::engine::detail {

/// Ids are pushed in serial order, or nearly so: first frames of a link that has to wait are
/// overtaken by those of others. The span of ids inside is below 2^31, as RFC 1982 needs.
///
/// push and removal of the oldest: constant. A range: logarithmic plus what is unsettled in it.
template <class T>
class delivery_index {
public:
    void push(delivery_number id, T& item)
    {
        auto const in_order = entries_.empty() || precedes(entries_.back().id, id);
        entries_.push_back({id, &item});
        ++live_;
        if (!in_order) [[unlikely]]
            sort_in();
    }

    T* find(delivery_number id) noexcept
    {
        auto const at = lower_bound(id);
        return at < entries_.size() && entries_[at].id == id ? entries_[at].item : nullptr;
    }

    void remove(delivery_number id) noexcept
    {
        if (!entries_.empty() && entries_.front().id == id) {  // the oldest: the usual case
            entries_.pop_front();
            --live_;
            while (!entries_.empty() && !entries_.front().item) entries_.pop_front();
            return;
        }
        remove_within(id);
    }

    /// Calls `f` for what lies serially in [first, last], oldest first; `f` may remove what it is
    /// given.
    template <class F>
    void for_each_in(delivery_number first, delivery_number last, F f)
    {
        auto id = first;
        while (!entries_.empty()) {
            // Searched anew, for `f` may have removed and compacted; most often it removed the
            // oldest.
            auto at = entries_.front().id == id ? 0 : lower_bound(id);
            while (at < entries_.size() && !entries_[at].item) ++at;
            if (at >= entries_.size() || precedes(last, entries_[at].id))
                return;
            id = entries_[at].id;
            f(*entries_[at].item);
            ++id;
        }
    }

    template <class F>
    void for_each(F f)
    {
        if (entries_.empty())
            return;
        for_each_in(entries_.front().id, entries_.back().id, f);
    }

    std::size_t size() const noexcept { return live_; }

private:
    struct entry {
        delivery_number id;
        T* item = nullptr;
    };

    /// The first entry whose id does not precede `id`.
    std::size_t lower_bound(delivery_number id) noexcept
    {
        if (entries_.empty())
            return 0;
        auto const offset = distance(entries_.front().id, id);
        if (offset <= 0)
            return 0;
        auto const ahead = static_cast<std::size_t>(offset);
        if (ahead < entries_.size() && entries_[ahead].id == id)
            return ahead;  // no gaps: the usual case
        std::size_t low = 0;
        auto high = entries_.size();
        while (low < high) {
            auto const middle = (low + high) / 2;
            if (precedes(entries_[middle].id, id))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /// Moves the last entry to its place.
    void sort_in() noexcept
    {
        for (auto at = entries_.size() - 1;
             at > 0 && precedes(entries_[at].id, entries_[at - 1].id); --at)
            std::swap(entries_[at], entries_[at - 1]);
    }

    void remove_within(delivery_number id) noexcept
    {
        auto const at = lower_bound(id);
        if (at >= entries_.size() || entries_[at].id != id || !entries_[at].item)
            return;
        entries_[at].item = nullptr;
        --live_;
        while (!entries_.empty() && !entries_.back().item) entries_.pop_back();
        if (entries_.size() > 64 && live_ * 4 < entries_.size())
            compact();
    }

    void compact() noexcept
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (entries_[i].item)
                entries_[kept++] = entries_[i];
        while (entries_.size() > kept) entries_.pop_back();
    }

    ring<entry> entries_;
    std::size_t live_ = 0;
};

}  // namespace sluice::engine::detail
