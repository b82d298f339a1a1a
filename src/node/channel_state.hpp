// What the hub of channels keeps: channels, handles, values, and requests that wait.
#pragma once

#include "node/message.hpp"

#include <sluice/codec/channel_protocol.hpp>

#include <boost/intrusive/list.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::node::detail {

namespace protocol = channel_protocol;

struct channel_state;
struct channel_handle;
struct channel_wait;
class channel_port;

using channel_hook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::safe_link>>;
template <class T, channel_hook T::*Hook>
using channel_list =
    boost::intrusive::list<T, boost::intrusive::member_hook<T, channel_hook, Hook>>;

/// Finds things by a number of theirs that is counted up; they bring the link of its chains along.
template <class T>
class number_table {
public:
    T* find(std::uint64_t number) const noexcept
    {
        if (buckets_.empty())
            return nullptr;
        auto* at = buckets_[number & (buckets_.size() - 1)];
        while (at && at->number != number) at = at->next_in_table;
        return at;
    }
    void insert(T& t)
    {
        if (++size_ > buckets_.size())
            grow();
        put(t);
    }
    void erase(T& t) noexcept
    {
        auto** at = &buckets_[t.number & (buckets_.size() - 1)];
        while (*at != &t) at = &(*at)->next_in_table;
        *at = t.next_in_table;
        --size_;
    }
    std::size_t size() const noexcept { return size_; }

private:
    void put(T& t) noexcept
    {
        auto& head = buckets_[t.number & (buckets_.size() - 1)];
        t.next_in_table = head;
        head = &t;
    }
    void grow()
    {
        std::vector<T*> old(buckets_.empty() ? 8 : 2 * buckets_.size());
        old.swap(buckets_);
        for (auto* at : old)
            while (at) put(*std::exchange(at, at->next_in_table));
    }

    std::vector<T*> buckets_;  // a power of two
    std::size_t size_ = 0;
};

/// One case of a select that waits, or is about to.
struct wait_case {
    channel_hook in_line;     // of its handle (a send) or of its channel (a receive)
    channel_hook of_channel;  // all of a channel, the suspended ones too
    channel_wait* of = nullptr;
    channel_state* channel = nullptr;
    channel_handle* handle = nullptr;
    struct channel_value* value = nullptr;  // of a send: its own until it is accepted
    bytes_view octets{};                    // of a send without a value yet
    std::uint64_t sequence = 0;
    std::uint32_t index = 0;
    std::uint32_t max = 1;
    bool sends = false;
};

/// A request that waits: for one case, or for the first of several.
struct channel_wait {
    std::uint64_t number = 0;  // its id
    channel_wait* next_in_table = nullptr;
    channel_hook at_port;
    channel_port* port = nullptr;  // null: lost while `pending`
    std::uint64_t arrival = 0;
    wait_case* pending = nullptr;              // a send that waits for its pickup
    std::optional<protocol::status> given_up;  // meanwhile
    std::uint32_t given_up_index = 0;
    std::size_t octets = 0;
    bool otherwise = false;  // it waits for nothing but a pickup
    bool enlisted = false;
    bool marked = false;
    wait_case first;  // nearly always the only one
    std::vector<wait_case> rest;

    std::size_t size() const noexcept { return 1 + rest.size(); }
    template <class F>
    void each(F f)
    {
        if (first.of)
            f(first);
        for (auto& c : rest) f(c);
    }
    wait_case& at(std::size_t i) noexcept { return i == 0 ? first : rest[i - 1]; }
};

/// A value, from its arrival to its acknowledgement.
struct channel_value {
    std::uint64_t number = 0;  // its token, while somebody has it
    channel_value* next_in_table = nullptr;
    channel_hook in_channel;  // ready or held
    channel_hook at_port;     // while somebody has it
    channel_state* of = nullptr;
    channel_port* port = nullptr;      // who has it
    channel_handle* holder = nullptr;  // may be null
    wait_case* sender = nullptr;       // who waits for its pickup
    bool unpicked = false;             // it is its sender's still, whether that is there or not
    std::uint32_t tries = 0;
    std::uint64_t order = 0;
    clock_time until{0};
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> octets;

    bytes_view view() const noexcept { return {octets.get(), size}; }
};

/// What a client calls a handle: remembers what was accepted from it.
struct channel_handle {
    protocol::handle_id id{};
    channel_state* channel = nullptr;
    channel_port* port = nullptr;  // null: lost, and forgotten at `until`
    channel_hook of_channel;
    channel_hook at_port;                               // or among those that are lost
    channel_hook in_turn;                               // of the channel, while `line` has any
    channel_list<wait_case, &wait_case::in_line> line;  // sends
    std::uint32_t at_node = 0;                          // sends, suspended ones too
    unsigned access = 0;
    clock_time until{0};

    static constexpr std::size_t remembered_max = 128;
    void remember(std::uint64_t sequence);
    bool remembers(std::uint64_t sequence) const noexcept;
    std::uint64_t highest = 0;  // sequence number that was seen

private:
    std::vector<std::uint64_t> accepted_;
    std::size_t next_ = 0;
};

/// A channel in one of its incarnations.
struct channel_state {
    protocol::channel_id id = 0;
    std::string name;
    protocol::channel_options options;
    bool closed = false;
    bool dirty = false;  // to be looked at before the hub returns
    bool armed = false;  // among the hub's deadlines
    clock_time armed_for{0};
    std::uint64_t last_order = 0;
    std::uint64_t used = 0;  // slots: ready, and held after the pickup
    channel_list<channel_value, &channel_value::in_channel> ready;  // by order
    channel_list<channel_value, &channel_value::in_channel> held;   // by `until`
    channel_list<channel_handle, &channel_handle::of_channel> handles;
    channel_list<channel_handle, &channel_handle::in_turn> turn;
    channel_list<wait_case, &wait_case::in_line> receivers;
    channel_list<wait_case, &wait_case::of_channel> cases;

    bool rendezvous() const noexcept { return options.capacity == 0; }
    bool drained() const noexcept { return ready.empty() && held.empty(); }
};

}  // namespace sluice::node::detail
