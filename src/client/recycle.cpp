// Per-thread caches of small blocks over a depot that all threads share.
#include <sluice/client/detail/recycle.hpp>

#include <array>
#include <mutex>
#include <new>
#include <vector>

namespace sluice::client::detail {
namespace {

constexpr std::size_t class_count = 5;   // 64, 128, 256, 512, 1024 octets
constexpr std::size_t batch = 32;        // blocks that move between a thread and the depot at once
constexpr std::size_t depot_max = 4096;  // blocks of one class that the depot keeps

constexpr std::size_t class_of(std::size_t size) noexcept
{
    std::size_t index = 0;
    for (std::size_t limit = 64; limit < size; limit *= 2) ++index;
    return index;
}
constexpr std::size_t size_of(std::size_t index) noexcept { return std::size_t{64} << index; }

struct block {
    block* next;
};

/// A list of blocks with its length.
struct stack {
    block* top = nullptr;
    std::size_t size = 0;

    void push(block* b) noexcept
    {
        b->next = top;
        top = b;
        ++size;
    }
    block* pop() noexcept
    {
        auto* const b = top;
        if (b) {
            top = b->next;
            --size;
        }
        return b;
    }
    void move_to(stack& other, std::size_t n) noexcept
    {
        while (n-- > 0 && top) other.push(pop());
    }
};

struct depot {
    std::mutex mutex;
    std::array<stack, class_count> stacks;
};

depot& shared() noexcept
{
    static auto* const the =
        new depot;  // never destroyed: threads may give blocks back until the very end
    return *the;
}

struct cache {
    std::array<stack, class_count> stacks;
    ~cache()
    {
        auto& d = shared();
        std::lock_guard const lock{d.mutex};
        for (std::size_t i = 0; i < class_count; ++i)
            stacks[i].move_to(d.stacks[i], stacks[i].size);
    }
};

thread_local bool cache_gone = false;
struct cache_owner {
    cache held;
    ~cache_owner() { cache_gone = true; }
};
thread_local cache_owner own;

}  // namespace

void* recycle_allocate(std::size_t size)
{
    auto const index = class_of(size);
    if (index >= class_count || cache_gone)
        return ::operator new(index < class_count ? size_of(index) : size);
    auto& mine = own.held.stacks[index];
    if (!mine.top) {
        auto& d = shared();
        std::lock_guard const lock{d.mutex};
        d.stacks[index].move_to(mine, batch);
    }
    if (auto* const b = mine.pop())
        return b;
    return ::operator new(size_of(index));
}

void recycle_free(void* memory, std::size_t size) noexcept
{
    auto const index = class_of(size);
    if (index >= class_count || cache_gone) {
        ::operator delete(memory);
        return;
    }
    auto& mine = own.held.stacks[index];
    mine.push(::new (memory) block{nullptr});
    if (mine.size < 2 * batch)
        return;
    stack surplus;
    {
        auto& d = shared();
        std::lock_guard const lock{d.mutex};
        mine.move_to(d.stacks[index].size < depot_max ? d.stacks[index] : surplus, batch);
    }
    while (auto* const b = surplus.pop()) ::operator delete(b);
}

}  // namespace sluice::client::detail
