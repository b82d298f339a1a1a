// Objects that are used again instead of freed, in slabs: their buffers keep their capacity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace sluice::engine::detail {

/// T is default-constructible; what `release` hands back must be reset by the caller.
template <class T>
class pool {
public:
    T& acquire()
    {
        if (free_.empty()) grow();
        auto* const item = free_.back();
        free_.pop_back();
        return *item;
    }
    void release(T& item) noexcept { free_.push_back(&item); }  // capacity was reserved by grow()

private:
    static constexpr std::size_t slab_size_max = 256;
    void grow()
    {
        // Small at first: an idle connection should stay small.
        auto const size = slabs_.empty() ? std::size_t{4} : std::min(total_, slab_size_max);
        slabs_.push_back(std::make_unique<T[]>(size));
        total_ += size;
        free_.reserve(total_);
        for (std::size_t i = size; i-- > 0;) free_.push_back(&slabs_.back()[i]);
    }

    std::vector<std::unique_ptr<T[]>> slabs_;
    std::vector<T*> free_;
    std::size_t total_ = 0;
};

}  // namespace sluice::engine::detail
