// Memory of calls and handlers, used again across threads: a call costs no trip to the heap in
// steady state.
#pragma once

#include <sluice/export.hpp>

#include <cstddef>
#include <memory>

namespace sluice::client::detail {

/// Blocks of up to 1 KiB come from a cache of this thread, refilled by the batch from what other
/// threads gave back.
SLUICE_EXPORT void* recycle_allocate(std::size_t size);
SLUICE_EXPORT void recycle_free(void* memory, std::size_t size) noexcept;

template <class T>
struct recycling_allocator {
    using value_type = T;
    recycling_allocator() noexcept = default;
    template <class U>
    // NOLINTNEXTLINE(google-explicit-constructor): implicit, as allocators are
    recycling_allocator(recycling_allocator<U> const&) noexcept
    {
    }
    T* allocate(std::size_t n) { return static_cast<T*>(recycle_allocate(n * sizeof(T))); }
    void deallocate(T* p, std::size_t n) noexcept { recycle_free(p, n * sizeof(T)); }
    template <class U>
    bool operator==(recycling_allocator<U> const&) const noexcept
    {
        return true;
    }
};
template <>
struct recycling_allocator<void> {
    using value_type = void;
    recycling_allocator() noexcept = default;
    template <class U>
    // NOLINTNEXTLINE(google-explicit-constructor): implicit, as allocators are
    recycling_allocator(recycling_allocator<U> const&) noexcept
    {
    }
    template <class U>
    bool operator==(recycling_allocator<U> const&) const noexcept
    {
        return true;
    }
};

}  // namespace sluice::client::detail
