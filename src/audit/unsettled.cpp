// The ring of unsettled deliveries.
#include "unsettled.hpp"

namespace sluice::audit::detail {
namespace {

constexpr std::size_t ring_min = 64;
constexpr std::size_t ring_kept = 4096;  // an empty ring of more gives its room back

}  // namespace

std::size_t unsettled_list::lower_bound(std::uint32_t id) noexcept
{
    if (size_ == 0)
        return 0;
    auto const ahead = serial_distance(at(0).id, id);
    if (ahead <= 0)
        return 0;
    // Without a gap it stands right there; else it stands before that.
    auto high = std::min(size_, static_cast<std::size_t>(ahead));
    if (high < size_ && at(high).id == id)
        return high;
    std::size_t low = 0;
    while (low != high) {
        auto const middle = low + (high - low) / 2;
        if (serial_distance(at(middle).id, id) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void unsettled_list::pop_front() noexcept
{
    if (at(0).live) {
        forgot_ = true;
        forgotten_to_ = at(0).id;
        --live_;
    }
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
}

void unsettled_list::trim() noexcept
{
    while (size_ != 0 && !at(0).live) {
        head_ = (head_ + 1) & (ring_.size() - 1);
        --size_;
    }
    if (size_ == 0 && ring_.size() > ring_kept)
        forget_all();
}

void unsettled_list::forget_all()
{
    if (live_ != 0) {
        forgot_ = true;
        forgotten_to_ = at(size_ - 1).id;
    }
    budget_->left += ring_.size();
    ring_ = {};
    head_ = size_ = live_ = 0;
}

void unsettled_list::compact() noexcept
{
    std::size_t to = 0;
    for (std::size_t i = 0; i != size_; ++i)
        if (at(i).live)
            at(to++) = at(i);
    size_ = to;
}

bool unsettled_list::grow()
{
    auto const capacity = ring_.empty() ? ring_min : ring_.size() * 2;
    if (capacity - ring_.size() > budget_->left)
        return false;
    std::vector<entry> wider(capacity);
    for (std::size_t i = 0; i != size_; ++i) wider[i] = at(i);
    budget_->left -= capacity - ring_.size();
    ring_ = std::move(wider);
    head_ = 0;
    return true;
}

void unsettled_list::push(std::uint32_t id, bool second)
{
    if (size_ != 0 && serial_distance(at(size_ - 1).id, id) <= 0)
        return;
    // Serial order holds within half the circle only. [RFC 1982]
    while (size_ != 0 && serial_distance(at(0).id, id) < 0) pop_front();
    if (size_ == ring_.size()) {
        if (size_ != 0 && live_ <= size_ / 2)
            compact();
        else if (!grow() && size_ != 0)
            pop_front();
    }
    if (ring_.empty()) {  // no room at all
        forgot_ = true;
        forgotten_to_ = id;
        return;
    }
    at(size_++) = {id, true, second};
    ++live_;
}

void settled_ranges::add(std::uint32_t first, std::uint32_t last) noexcept
{
    auto& newest = ranges_[(next_ + room - 1) % room];
    if (size_ != 0 && newest.last + 1 == first) {
        newest.last = last;
        return;
    }
    if (size_ == room) {
        auto const& oldest = ranges_[next_];  // ids settled later may be lower
        if (!evicted_ || serial_distance(evicted_to_, oldest.last) > 0)
            evicted_to_ = oldest.last;
        evicted_ = true;
    } else {
        ++size_;
    }
    ranges_[next_] = {first, last};
    next_ = (next_ + 1) % room;
}

bool settled_ranges::may_touch(std::uint32_t first, std::uint32_t last) const noexcept
{
    if (evicted_ && serial_distance(evicted_to_, first) <= 0)
        return true;
    for (std::size_t i = 0; i != size_; ++i)
        if (serial_distance(first, ranges_[i].last) >= 0
            && serial_distance(ranges_[i].first, last) >= 0)
            return true;
    return false;
}

}  // namespace sluice::audit::detail
