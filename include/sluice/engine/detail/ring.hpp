// A queue over one block of memory that grows by doubling and never shrinks: no allocation in
// steady state.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>

namespace sluice::engine::detail {

template <class T>
class ring {
public:
    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    T& front() noexcept { return items_[head_]; }
    T& back() noexcept { return items_[(head_ + size_ - 1) & mask()]; }
    T& operator[](std::size_t i) noexcept { return items_[(head_ + i) & mask()]; }
    T const& operator[](std::size_t i) const noexcept { return items_[(head_ + i) & mask()]; }

    /// Room for one more at the end; what is in there is left over from earlier use.
    T& next_slot()
    {
        if (size_ == capacity_) [[unlikely]]
            grow();
        return items_[(head_ + size_++) & mask()];
    }
    void push_back(T item)
    {
        if (size_ == capacity_) [[unlikely]]
            grow();
        items_[(head_ + size_) & mask()] = std::move(item);
        ++size_;
    }
    void pop_front() noexcept
    {
        assert(size_ > 0);
        head_ = (head_ + 1) & mask();
        --size_;
    }
    void pop_back() noexcept
    {
        assert(size_ > 0);
        --size_;
    }
    void clear() noexcept
    {
        head_ = 0;
        size_ = 0;
    }

private:
    std::size_t mask() const noexcept { return capacity_ - 1; }
    void grow()
    {
        auto const wider = capacity_ == 0 ? std::size_t{4} : capacity_ * 2;
        auto items = std::make_unique<T[]>(wider);
        for (std::size_t i = 0; i < size_; ++i) items[i] = std::move((*this)[i]);
        items_ = std::move(items);
        capacity_ = wider;
        head_ = 0;
    }

    std::unique_ptr<T[]> items_;
    std::size_t capacity_ = 0;  // a power of two, or 0
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace sluice::engine::detail
