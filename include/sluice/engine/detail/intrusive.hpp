// A doubly linked list through members `next_` and `prev_` of its elements: no allocation, removal
// anywhere.
#pragma once

#include <cstddef>

namespace sluice::engine::detail {

/// Base of what can be in a list<T>. Being in two lists at once takes two hooks.
template <class T>
struct list_hook {
    T* next_ = nullptr;
    T* prev_ = nullptr;
};

template <class T, list_hook<T> T::*Hook>
class intrusive_list {
public:
    bool empty() const noexcept { return head_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    T* front() const noexcept { return head_; }
    static T* after(T* item) noexcept { return (item->*Hook).next_; }

    void push_back(T& item) noexcept
    {
        (item.*Hook).prev_ = tail_;
        (item.*Hook).next_ = nullptr;
        (tail_ ? (tail_->*Hook).next_ : head_) = &item;
        tail_ = &item;
        ++size_;
    }
    void remove(T& item) noexcept
    {
        auto& hook = item.*Hook;
        (hook.prev_ ? (hook.prev_->*Hook).next_ : head_) = hook.next_;
        (hook.next_ ? (hook.next_->*Hook).prev_ : tail_) = hook.prev_;
        hook.next_ = hook.prev_ = nullptr;
        --size_;
    }
    T* pop_front() noexcept
    {
        auto* const item = head_;
        if (item)
            remove(*item);
        return item;
    }

private:
    T* head_ = nullptr;
    T* tail_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace sluice::engine::detail
