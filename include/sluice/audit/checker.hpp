// A passive checker of both directions of one AMQP 1.0 connection. It shares no code with the
// engine.
#pragma once

#include <sluice/audit/finding.hpp>
#include <sluice/codec/types.hpp>
#include <sluice/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace sluice::audit {

namespace detail {
class connection_audit;
}

/// What to check and how much to remember.
struct options {
    /// The bytes start in the middle of a connection (a capture): the checker looks for a frame
    /// boundary and learns channels, handles and counts from what it sees instead of reporting them
    /// as unknown. What begins later is checked in full.
    bool mid_stream = false;

    std::size_t findings_max = 256;       ///< kept until polled; later ones are only counted
    std::size_t sessions_max = 4096;      ///< followed at once; frames of others are not checked
    std::size_t links_max = 16384;        ///< followed at once, in all sessions
    std::size_t unsettled_max = 262'144;  ///< deliveries followed at once; the oldest are forgotten
    std::size_t frame_bytes_max = 65'536;  ///< of one frame that are looked at; payload is skipped

    /// An echo or a drain without an answer for longer is suspicious.
    std::chrono::microseconds answer_due = std::chrono::seconds{30};
    /// How much later than the idle time-out asks for something may come, as seen from here.
    std::chrono::microseconds idle_slack = std::chrono::milliseconds{250};
};

/// How the connection ended.
enum class ending : std::uint8_t {
    complete,  ///< everything that was sent has been fed
    cut,  ///< the transport or the recording broke off: open requests are not held against anybody
};

/// Who one side says that it is, in its open: for reports. Printable ASCII, cut to 64 octets each.
struct identity {
    std::string container_id;
    std::string product;  ///< of the open's properties; empty if it has none
    std::string version;  ///< likewise
};

struct direction_counters {
    std::uint64_t bytes = 0;
    std::uint64_t frames = 0;     ///< AMQP and SASL frames, empty ones included
    std::uint64_t transfers = 0;  ///< transfer frames
    std::uint64_t flows = 0;
    std::uint64_t unchecked = 0;  ///< frames that could not be checked in full (limits, mid_stream)
};

struct counters {
    std::array<direction_counters, 2> directions;  ///< by `direction`
    std::uint64_t violations = 0;
    std::uint64_t suspicious = 0;
    std::uint64_t findings_dropped = 0;  ///< of these, the ones that found no room
    std::array<std::uint64_t, rule_count> by_rule{};
};

/// Checks one connection. Feed it all bytes of both directions in the order in which they are seen;
/// it never changes or delays them.
///
/// What is a violation here is one under every order in which the two ends can have seen each
/// other's frames: a grant counts from when it is seen, a reduction only when it has provably
/// arrived, and frames that cross with a detach, end or close are in order.
///
/// Memory is bounded by `options`, whatever comes. Cutting the bytes elsewhere changes no finding.
/// Distinct objects: safe to use concurrently. Shared object: unsafe. Throws only std::bad_alloc.
class SLUICE_EXPORT checker {
public:
    explicit checker(options const& o = {});
    ~checker();
    checker(checker&&) noexcept;
    checker& operator=(checker&&) noexcept;

    /// Takes bytes as they come, cut anywhere. `now` never goes back.
    void feed(direction d, bytes_view in, time_point now);

    /// Says that bytes of `d` are missing here, as in a recording that lost a segment. What was
    /// known of sessions and links is forgotten, and the next frame is looked for as with
    /// `mid_stream`.
    void lost(direction d, time_point now);

    /// Says that time has passed, for idle time-outs and answers that are due.
    void advance(time_point now);

    /// Says that nothing more will come. Later calls of feed(), lost() and advance() do nothing.
    void finish(ending how = ending::complete);

    /// Takes the oldest finding. @returns false if there is none.
    bool poll_finding(finding& out);

    /// @returns true once there was a violation, polled or not.
    bool violated() const noexcept { return totals().violations != 0; }

    counters const& totals() const noexcept;

    /// What the side that sends `d` says of itself; empty before its open.
    identity const& who(direction d) const noexcept;

private:
    std::unique_ptr<detail::connection_audit> audit_;
};

}  // namespace sluice::audit
