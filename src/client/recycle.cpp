// Per-thread caches of small blocks over a depot that all threads share.
#include <sluice/client/detail/recycle.hpp>

#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace sluice::client::detail {
namespace {

constexpr std::size_t class_count = 5;  // 64, 128, 256, 512, 1024 octets
constexpr std::size_t batch = 32;       // blocks that move between a thread and the depot at once
constexpr std::size_t depot_max = 128;  // batches of one class that the depot keeps

constexpr std::size_t class_of(std::size_t size) noexcept
{
    return size <= 64 ? 0 : static_cast<std::size_t>(std::bit_width(size - 1)) - 6;
}
constexpr std::size_t size_of(std::size_t index) noexcept { return std::size_t{64} << index; }
static_assert(class_of(64) == 0 && class_of(65) == 1 && class_of(128) == 1 && class_of(129) == 2);

struct block {
    block* next;
    block* next_batch;  // of the first block of a batch, in the depot
};

struct stack {
    block* top = nullptr;
    std::size_t size = 0;
};

/// Whole batches only: they come and go without a look at their blocks, which lie in another
/// processor's cache.
class depot {
public:
    block* take(std::size_t index) noexcept
    {
        std::lock_guard const lock{mutex_};
        auto& from = stacks_[index];
        auto* const b = from.top;
        if (b) {
            from.top = b->next_batch;
            --from.size;
        }
        return b;
    }
    /// @returns false if it has enough
    bool give(std::size_t index, block* first) noexcept
    {
        std::lock_guard const lock{mutex_};
        auto& to = stacks_[index];
        if (to.size == depot_max)
            return false;
        first->next_batch = to.top;
        to.top = first;
        ++to.size;
        return true;
    }

private:
    std::mutex mutex_;
    std::array<stack, class_count> stacks_;
};

depot& shared() noexcept
{
    static auto* const the =
        new depot;  // never destroyed: threads may give blocks back until the very end
    return *the;
}

void free_all(block* b) noexcept
{
    while (b) ::operator delete(std::exchange(b, b->next));
}

/// Of one thread and one class. Two stacks, so that a thread that takes and gives by turns at the
/// edge of a batch does not ask the depot each time.
struct shelf {
    stack hot;
    stack spare;  // none, or a whole batch
};

// Without constructors and destructors: reached without a check at each use.
constinit thread_local std::array<shelf, class_count> shelves{};
constinit thread_local std::size_t hot_max = 0;  // batch, while this thread has a cache
constinit thread_local bool cache_gone = false;

struct cache_end {
    void begin() noexcept { hot_max = batch; }
    ~cache_end()
    {
        cache_gone = true;
        hot_max = 0;
        for (std::size_t i = 0; i < class_count; ++i) {
            auto& mine = shelves[i];
            free_all(std::exchange(mine.hot, {}).top);
            if (mine.spare.top && !shared().give(i, mine.spare.top))
                free_all(mine.spare.top);
            mine.spare = {};
        }
    }
};
thread_local cache_end at_thread_end;

/// The hot stack is empty.
void* allocate_slowly(std::size_t index)
{
    auto& mine = shelves[index];
    if (mine.spare.top)
        std::swap(mine.hot, mine.spare);
    else if (hot_max > 0)
        mine.hot.top = shared().take(index), mine.hot.size = mine.hot.top ? batch : 0;
    if (!mine.hot.top)
        return ::operator new(size_of(index));
    --mine.hot.size;
    return std::exchange(mine.hot.top, mine.hot.top->next);
}

/// The hot stack is full, or there is none. @returns false if there is to be none
bool make_room(std::size_t index) noexcept
{
    if (hot_max == 0) {
        if (cache_gone)
            return false;
        at_thread_end.begin();
        return true;
    }
    auto& mine = shelves[index];
    if (mine.spare.top && !shared().give(index, mine.spare.top))
        free_all(mine.spare.top);
    mine.spare = std::exchange(mine.hot, {});
    return true;
}

}  // namespace

void* recycle_allocate(std::size_t size)
{
    auto const index = class_of(size);
    if (index >= class_count)
        return ::operator new(size);
    auto& hot = shelves[index].hot;
    if (!hot.top)
        return allocate_slowly(index);
    --hot.size;
    return std::exchange(hot.top, hot.top->next);
}

void recycle_free(void* memory, std::size_t size) noexcept
{
    auto const index = class_of(size);
    auto* const here = index < class_count ? &shelves[index].hot : nullptr;
    if (!here || (here->size >= hot_max && !make_room(index))) {
        ::operator delete(memory);
        return;
    }
    here->top = ::new (memory) block{here->top, nullptr};
    ++here->size;
}

}  // namespace sluice::client::detail
