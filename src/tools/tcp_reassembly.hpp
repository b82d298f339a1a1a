// The two octet streams of one TCP connection, out of segments as a capture has them.
#pragma once

#include "tools/tcp_segment.hpp"

#include <sluice/audit/checker.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace sluice::tools {

/// When and where in the capture something was.
struct stamp {
    audit::time_point time{};
    std::uint64_t packet = 0;  ///< from 1
};

/// What the reassembly finds out, in order.
class tcp_sink {
public:
    virtual void on_data(audit::direction d, bytes_view octets, stamp at) = 0;
    /// Octets that the receiver got and the capture has not.
    virtual void on_lost(audit::direction d, std::uint64_t octets, stamp at) = 0;

protected:
    ~tcp_sink() = default;
};

struct tcp_counters {
    std::uint64_t retransmitted = 0;  ///< segments with octets that had been there before
    std::uint64_t out_of_order = 0;   ///< segments that came after later ones
    std::uint64_t lost = 0;           ///< octets that the capture has not
};

/// Puts segments in order, each way, and both ways against each other: what one end sent after it
/// had received something (its acknowledgement says so) comes after that.
///
/// A gap is late for as long as its receiver does not acknowledge what it should have been. It is
/// lost, for the capture, when it is acknowledged (or nobody's acknowledgements are in the capture)
/// and still there after `patience_packets` packets of this connection or `patience` of time, or
/// when more than `waiting_max` octets wait behind it. Memory is bounded by that.
class tcp_reassembly {
public:
    static constexpr unsigned patience_packets = 64;
    static constexpr std::chrono::milliseconds patience{500};
    static constexpr std::size_t waiting_max = 4u << 20;

    explicit tcp_reassembly(tcp_sink& sink) noexcept : sink_{sink} {}

    void take(audit::direction d, tcp_segment const& s, stamp at);
    /// Nothing more will come: what waits is given out.
    void flush();

    bool closed() const noexcept;  ///< both ends have said that they send no more
    bool was_reset() const noexcept { return reset_; }
    tcp_counters const& counters(audit::direction d) const noexcept
    {
        return ways_[static_cast<std::size_t>(d)].counters;
    }

private:
    struct segment {
        bytes octets;
        std::uint64_t length = 0;  ///< on the wire
        std::uint64_t needs = 0;   ///< how much of the other way comes before it
        stamp at;
    };
    /// Positions are sequence numbers that do not wrap.
    struct way {
        bool started = false;
        std::uint64_t next = 0;     ///< of what comes next
        std::uint64_t highest = 0;  ///< behind the last octet seen
        std::map<std::uint64_t, segment> waiting;
        std::size_t waiting_octets = 0;
        std::optional<std::uint64_t> acknowledged;  ///< by the other end, as far as was seen
        unsigned stalled_packets = 0;
        std::optional<audit::time_point> stalled_since;
        std::optional<std::uint64_t> end;
        tcp_counters counters;

        void start(std::uint32_t sequence) noexcept;
        std::uint64_t position(std::uint32_t sequence) const noexcept;
        bool is_late() const noexcept;
    };

    way& of(audit::direction d) noexcept { return ways_[static_cast<std::size_t>(d)]; }
    void keep(way& w, std::uint64_t from, segment s);
    bool give(audit::direction d);
    void give_all();
    bool is_ready(audit::direction d) noexcept;
    void give_way(audit::direction d);
    void lose(audit::direction d, std::uint64_t to, stamp at);
    bool lose_patience(audit::direction d, stamp now);

    tcp_sink& sink_;
    std::array<way, 2> ways_;
    bool reset_ = false;
};

}  // namespace sluice::tools
