// What any thread hands to a connection's strand: a queue of many producers and one consumer,
// without a lock.
#pragma once

#include <sluice/client/detail/recycle.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sluice::client::detail {

class connection_core;

/// Something to be done on the strand. Made and owned by the caller until pushed.
class command {
public:
    command* next_command = nullptr;

    /// On the strand, in the order of the pushes of one thread.
    virtual void execute(connection_core& on) = 0;
    /// Instead of execute(), anywhere: the connection has ended.
    virtual void refuse() noexcept = 0;

    static void* operator new(std::size_t size) { return recycle_allocate(size); }
    static void operator delete(void* p, std::size_t size) noexcept { recycle_free(p, size); }

protected:
    virtual ~command() = default;
};

class command_queue {
public:
    /// Any thread. @returns false if the queue is closed; then nothing has changed.
    bool push(command& c) noexcept
    {
        auto* head = head_.load(std::memory_order_relaxed);
        do {
            if (head == closed())
                return false;
            c.next_command = head;
        } while (!head_.compare_exchange_weak(head, &c, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
        return true;
    }

    /// Strand. What is there, oldest first.
    command* take_all() noexcept
    {
        if (empty() || head_.load(std::memory_order_relaxed) == closed())
            return nullptr;
        return reversed(head_.exchange(nullptr, std::memory_order_seq_cst));
    }

    /// Strand. Nothing can be pushed any more. @returns what was left, oldest first.
    command* close() noexcept
    {
        auto* const left = head_.exchange(closed(), std::memory_order_seq_cst);
        return left == closed() ? nullptr : reversed(left);
    }

    bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }
    bool is_closed() const noexcept { return head_.load(std::memory_order_acquire) == closed(); }

private:
    static command* closed() noexcept
    {
        static char mark;
        return reinterpret_cast<command*>(&mark);  // compared, never used
    }
    static command* reversed(command* newest) noexcept
    {
        command* oldest = nullptr;
        while (newest) {
            auto* const older = newest->next_command;
            newest->next_command = oldest;
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    std::atomic<command*> head_{nullptr};
};

/// A request for credit or a flow, kept inside the object that it is for: merged while it waits, so
/// that no memory is needed. Taken on the strand, also in the middle of writing a transfer.
class flow_request {
public:
    flow_request* next_flow = nullptr;

    /// The low 32 bits of a request are a value, what it means stands above.
    enum what : std::uint64_t {
        none = 0,
        add = 1ull << 32,     // that much credit more
        set = 2ull << 32,     // exactly that credit
        window = 3ull << 32,  // the automatic window
        mode_mask = 3ull << 32,
        flow = 1ull << 34,  // a flow is wanted
        echo = 1ull << 35,  // with echo
    };
    static std::uint32_t value_of(std::uint64_t word) noexcept
    {
        return static_cast<std::uint32_t>(word);
    }

    /// Any thread. @returns true if this has to be pushed.
    bool merge(std::uint64_t what, std::uint32_t value) noexcept
    {
        auto word = word_.load(std::memory_order_relaxed);
        while (!word_.compare_exchange_weak(word, merged(word, what, value),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        return !queued_.exchange(true, std::memory_order_acq_rel);
    }
    /// Strand: what take() gave goes back below what has come since. @returns as merge()
    bool put_back(std::uint64_t what) noexcept
    {
        auto word = word_.load(std::memory_order_relaxed);
        while (!word_.compare_exchange_weak(word, merged(what, word, value_of(word)),
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        return !queued_.exchange(true, std::memory_order_acq_rel);
    }
    /// Strand, after it was taken off the stack.
    std::uint64_t take() noexcept
    {
        queued_.store(false, std::memory_order_seq_cst);
        return word_.exchange(0, std::memory_order_seq_cst);
    }

    virtual void apply(std::uint64_t what) = 0;

protected:
    ~flow_request() = default;
    static std::uint64_t merged(std::uint64_t word, std::uint64_t what,
                                std::uint32_t value) noexcept
    {
        auto mode = word & mode_mask;
        auto sum = std::uint64_t{value_of(word)};
        auto const wanted = what & mode_mask;
        if (wanted == add) {
            sum = sum + value > 0xffff'ffffull ? 0xffff'ffffull : sum + value;
            mode = mode == none ? std::uint64_t{add} : mode == window ? std::uint64_t{set} : mode;
        } else if (wanted != none) {
            mode = wanted;
            sum = value;
        }
        return ((word | what) & (flow | echo)) | mode | sum;
    }

private:
    std::atomic<std::uint64_t> word_{0};
    std::atomic<bool> queued_{false};
};

class flow_stack {
public:
    void push(flow_request& r) noexcept
    {
        auto* head = head_.load(std::memory_order_relaxed);
        do r.next_flow = head;
        while (!head_.compare_exchange_weak(head, &r, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
    }
    bool empty() const noexcept { return head_.load(std::memory_order_seq_cst) == nullptr; }
    /// Strand.
    void apply_all()
    {
        apply_if([] { return true; });
    }
    /// Strand. Those for which `may` is true once they are taken; the others stay.
    template <class F>
    void apply_if(F may)
    {
        if (empty())
            return;
        auto* r = head_.exchange(nullptr, std::memory_order_seq_cst);
        while (r) {
            auto* const next = r->next_flow;  // read first: once taken, it may be pushed again
            auto const what = r->take();
            if (may())
                r->apply(what);
            else if (r->put_back(what))
                push(*r);
            r = next;
        }
    }

private:
    std::atomic<flow_request*> head_{nullptr};
};

}  // namespace sluice::client::detail
