// A message as the node keeps it: its octets as they came, and what of the header the node goes by.
#pragma once

#include <sluice/codec/message_view.hpp>
#include <sluice/result.hpp>

#include <chrono>
#include <utility>

namespace sluice::node::detail {

using clock_time = std::chrono::milliseconds;  // of the steady clock

/// Shared by the entries of queues and by deliveries under way; used on the node's thread only.
class message {
public:
    /// @param wall now, in milliseconds since 1970, for absolute-expiry-time
    /// @returns a codec error if `octets` are no message (format 0); other formats are not looked
    /// into
    static result<class message_ptr> make(bytes octets, std::uint32_t format, clock_time now,
                                          std::int64_t wall);

    std::uint32_t format() const noexcept { return format_; }
    std::size_t size() const noexcept { return octets_.size() + annotations_.size(); }
    bytes_view octets() const noexcept { return octets_; }
    bool expired(clock_time now) const noexcept { return expires_at_ <= now; }
    clock_time expires_at() const noexcept { return expires_at_; }
    std::uint32_t delivery_count() const noexcept { return delivery_count_; }

    /// An attempt to deliver failed. [3.2.1]
    void count_failure() noexcept
    {
        ++delivery_count_;
        changed_ = true;
    }
    /// Another link has acquired it. [3.2.1]
    void set_acquired() noexcept { acquired_ = true; }
    /// Was given back after it had been acquired: the header says so from now on.
    void set_returned() noexcept { changed_ = changed_ || acquired_; }
    /// Combines `annotations` (an encoded map) with the message's own. [3.4.5] Changes size().
    void annotate(raw_value annotations);

    /// What goes before tail() now: empty, or header and annotations as they have become.
    bytes head(clock_time now) const;
    bytes_view tail(bytes const& head) const noexcept
    {
        return head.empty() ? octets() : octets().subspan(annotations_end_);
    }

private:
    friend class message_ptr;
    message() = default;
    std::error_code look_into(clock_time now, std::int64_t wall);

    bytes octets_;
    bytes annotations_;  // instead of the octets' own, or empty
    clock_time arrived_{0};
    clock_time expires_at_ = clock_time::max();
    header header_{};
    std::uint32_t references_ = 0;
    std::uint32_t format_ = 0;
    std::uint32_t delivery_count_ = 0;
    std::uint32_t header_end_ = 0;       // of the octets
    std::uint32_t deliveries_end_ = 0;   // of the delivery annotations
    std::uint32_t annotations_end_ = 0;  // of the message annotations
    bool acquired_ = false;
    bool changed_ = false;
};

/// Counts inside the message: one allocation less for each.
class message_ptr {
public:
    message_ptr() noexcept = default;
    explicit message_ptr(message* m) noexcept : at_{m} { ++at_->references_; }
    message_ptr(message_ptr const& other) noexcept : at_{other.at_}
    {
        if (at_)
            ++at_->references_;
    }
    message_ptr(message_ptr&& other) noexcept : at_{std::exchange(other.at_, nullptr)} {}
    message_ptr& operator=(message_ptr other) noexcept
    {
        std::swap(at_, other.at_);
        return *this;
    }
    ~message_ptr()
    {
        if (at_ && --at_->references_ == 0)
            delete at_;
    }
    message* operator->() const noexcept { return at_; }
    message& operator*() const noexcept { return *at_; }
    explicit operator bool() const noexcept { return at_ != nullptr; }

private:
    message* at_ = nullptr;
};

}  // namespace sluice::node::detail
