// What an audit of several connections tells: each finding as it comes, tables at the end.
#pragma once

#include "tools/terminal.hpp"

#include <sluice/audit/checker.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::tools {

struct audit_report_options {
    bool json = false;  ///< findings as one JSON object a line; tables become remarks
    /// Findings printed of one rule and direction of one connection; the others are counted. 0:
    /// all.
    std::uint64_t shown_max = 20;
    /// Connections that get a line in the table: those with findings first.
    std::size_t rows_max = 40;
};

/// One connection that is being audited: made and ended by the report.
class audited_connection {
public:
    std::uint64_t number() const noexcept { return number_; }

private:
    friend class audit_report;
    std::uint64_t number_ = 0;
    std::string client_;
    std::string server_;
    std::array<std::array<std::uint64_t, audit::rule_count>, 2> shown_{};
};

/// Exit statuses of `sluice audit`.
enum class audit_status : std::uint8_t { clean = 0, findings = 1, could_not_run = 2 };

/// Not thread-safe. Its memory does not grow with the number of connections that have ended.
class audit_report {
public:
    audit_report(line_output& out, audit_report_options o) : out_{out}, options_{o} {}

    /// A connection appears; `client` and `server` are how its ends are called in every line.
    std::unique_ptr<audited_connection> begin(std::string client, std::string server);
    /// Prints what the checker has found. `packet` is the number of the packet in a recording, or
    /// 0.
    void collect(audited_connection& c, audit::checker& from, std::uint64_t packet = 0);
    /// The connection is over; `how` is said in the table.
    void end(std::unique_ptr<audited_connection> c, audit::checker& from, std::string how);
    /// A connection that was seen and could not be checked, with the reason.
    void unchecked(std::unique_ptr<audited_connection> c, std::string why);
    /// Something else that should be known, at the end.
    void remark(std::string text);
    /// Something that makes a clean result worthless: the exit status is no longer 0.
    void failure(std::string text);

    std::uint64_t findings() const noexcept { return violations_ + suspicious_; }
    std::uint64_t violations() const noexcept { return violations_; }
    std::uint64_t ended_frames() const noexcept { return frames_; }

    /// Prints the tables and the verdict.
    void summary(std::string const& title);
    /// `could_not_run` also if there was no frame to check, for that proves nothing.
    audit_status status() const noexcept;

private:
    struct row {
        std::uint64_t number = 0;
        std::string client;
        std::string server;
        audit::counters totals;
        std::array<audit::identity, 2> who;
        std::string how;
    };
    struct tally {
        std::uint64_t count = 0;
        std::uint64_t connection = 0;
        std::uint64_t frame = 0;
    };

    void print(audited_connection& c, audit::finding const& f, std::uint64_t packet);
    void keep(row r);
    void table(std::string line);
    void print_connections();
    void print_rules();
    std::string verdict() const;

    line_output& out_;
    audit_report_options options_;
    std::uint64_t connections_ = 0;
    std::uint64_t checked_ = 0;
    std::uint64_t violations_ = 0;
    std::uint64_t suspicious_ = 0;
    std::uint64_t dropped_ = 0;  // by checkers that found more at once than they keep
    std::uint64_t hidden_ = 0;   // counted, and not printed
    std::uint64_t frames_ = 0;
    std::uint64_t unchecked_frames_ = 0;
    std::vector<row> rows_;
    std::vector<std::string> remarks_;
    std::uint64_t remarks_dropped_ = 0;
    bool failed_ = false;
    std::array<std::array<tally, audit::rule_count>, 2> by_rule_{};  // direction, rule
};

}  // namespace sluice::tools
