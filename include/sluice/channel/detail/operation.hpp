// What waits at a port: calls that have no answer yet, and the handles that they are made on.
#pragma once

#include <sluice/channel/detail/raw.hpp>
#include <sluice/codec/channel_protocol.hpp>

#include <chrono>
#include <deque>
#include <memory>

namespace sluice::channels::detail {

namespace protocol = channel_protocol;

/// The time goes in as an argument; nothing here reads a clock.
using time_point = std::chrono::steady_clock::time_point;
inline constexpr time_point never = time_point::max();

using handle_key = std::uint64_t;
using operation_id = protocol::request_id;

/// What has come of a call.
struct answer {
    std::error_code code{};
    std::string text{};  // of a failure: names the channel
    came what = came::nothing;
    std::uint32_t index = 0;
    std::uint64_t generation = 0;  // of the port that the values' tokens belong to
    std::vector<arrival> values{};
    channel_state state{};
};

/// Where an answer goes. Called once, or destroyed.
class sink {
public:
    virtual ~sink() = default;
    virtual void finish(answer&& a) = 0;
};

struct finished {
    std::unique_ptr<sink> to;
    answer what;
};

/// One case of a select; others have one without a case.
struct part {
    handle_key handle = 0;
    bool send = false;
    std::uint32_t max = 1;
    std::uint64_t sequence = 0;  // of a send, from its first way to the node on
    bytes octets{};
};

enum class operation_kind : std::uint8_t { open, select, end, stat, settle };

struct operation {
    operation_id id = 0;
    operation_kind kind = operation_kind::select;
    bool otherwise = false;
    bool by_hand = false;        // the application acknowledges: a pickup is told by itself
    bool sent = false;           // the node has it
    bool was_sent = false;       // a node had it, on a port that was lost
    std::error_code given_up{};  // why its caller does not want it any more
    std::unique_ptr<sink> to;    // null: nobody waits
    std::vector<part> parts;
    time_point due = never;
    std::vector<arrival> values;  // so far
    protocol::ending how = protocol::ending::close;
    protocol::settle verdict{};

    bool sends() const noexcept
    {
        for (auto const& p : parts)
            if (p.send)
                return true;
        return false;
    }
};

/// One handle on a channel. It outlives the port's links.
struct handle_record {
    handle_key key = 0;
    protocol::handle_id id{};
    std::string name{};
    protocol::channel_options wanted{};
    bool create = true;
    bool async_ack = false;
    std::chrono::milliseconds ack_delay{0};

    protocol::channel_id channel = 0;      // 0: not open at the node now
    protocol::channel_id incarnation = 0;  // the last one
    protocol::channel_options in_force{};
    operation_id opening = 0;
    bool forgotten = false;  // goes once its open is answered
    std::error_code gone{};  // nothing can be done on it any more
    std::string why_gone{};

    std::uint64_t last_sequence = 0;
    unsigned at_node = 0;              // sends without an answer
    std::deque<operation_id> queue{};  // sends that wait here, in their order
    std::vector<operation_id> held{};  // other calls that wait for it to be open
};

}  // namespace sluice::channels::detail
