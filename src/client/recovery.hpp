// When to try again, and what trying again can cure.
#pragma once

#include "client/deadline_queue.hpp"

#include <sluice/client/options.hpp>

#include <optional>
#include <system_error>

namespace sluice::client::detail {

/// The delays of one recovery. Strand only.
class backoff {
public:
    /// @param places URLs that share a round: the delay grows with each round
    /// @returns how long to wait; nothing if this attempt is one too many
    std::optional<milliseconds> next(reconnect_options const& o, clock_time now,
                                     std::size_t places = 1);
    void reset() noexcept { attempts_ = 0; }
    unsigned attempts() const noexcept { return attempts_; }

private:
    unsigned attempts_ = 0;
    clock_time since_{0};
};

/// A begin or an attach that a new connection's peer leaves unanswered costs that connection: it
/// may still be busy with the one that was lost. One that this many connections left unanswered is
/// given up alone.
constexpr unsigned unanswered_most = 3;

/// The connection is lost for a cause that is not final.
bool may_cure_connection(std::error_code code, amqp_error const& why) noexcept;
/// Of a link that the peer detached, or did not take when it came back.
bool may_cure_link(amqp_error const& why, bool closed) noexcept;

/// What an attach's unsettled map says of its deliveries. [2.7.3]
class unsettled_reader {
public:
    explicit unsettled_reader(raw_value map, bool incomplete);
    /// The peer has said what it knows of.
    bool given() const noexcept { return given_; }
    bool complete() const noexcept { return given_ && !incomplete_; }
    /// The peer's state of that delivery, null included; nothing if it does not know it.
    std::optional<raw_value> find(bytes_view tag) const;
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        bytes_view tag;
        raw_value state;
    };
    std::vector<entry> entries_;  // sorted; refers to the peer's attach
    bool given_ = false;
    bool incomplete_ = false;
};

}  // namespace sluice::client::detail
