// Objects that are used again instead of freed, in slabs: their buffers keep their capacity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace sluice::engine::detail {

/// T is default-constructible and has a member `T* next_free_`; what `release` hands back must be
/// reset by the caller.
template <class T>
class pool {
public:
    T& acquire()
    {
        if (!free_) [[unlikely]]
            grow();
        auto* const item = free_;
        free_ = item->next_free_;
        return *item;
    }
    void release(T& item) noexcept
    {
        item.next_free_ = free_;
        free_ = &item;
    }

private:
    static constexpr std::size_t slab_size_max = 256;
    [[gnu::cold]] void grow()
    {
        // Small at first: an idle connection should stay small.
        auto const size = slabs_.empty() ? std::size_t{4} : std::min(total_, slab_size_max);
        slabs_.push_back(std::make_unique<T[]>(size));
        total_ += size;
        for (std::size_t i = size; i-- > 0;) release(slabs_.back()[i]);
    }

    T* free_ = nullptr;
    std::vector<std::unique_ptr<T[]>> slabs_;
    std::size_t total_ = 0;
};

}  // namespace sluice::engine::detail
