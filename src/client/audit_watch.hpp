// The auditor of one connection of ours: on its strand, but told elsewhere.
#pragma once

#include <sluice/audit/checker.hpp>
#include <sluice/client/counters.hpp>
#include <sluice/client/options.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace sluice::client::detail {

/// What was found, for every thread to read.
struct audit_tally {
    std::atomic<std::uint64_t> violations{0};
    std::atomic<std::uint64_t> suspicious{0};
    std::atomic<std::uint64_t> untold{0};
    std::atomic<unsigned> on_their_way{0};  ///< to whoever is told

    audit_counters read() const noexcept
    {
        return {.violations = violations.load(std::memory_order_relaxed),
                .suspicious = suspicious.load(std::memory_order_relaxed),
                .untold = untold.load(std::memory_order_relaxed)};
    }
};

/// Findings go to the user's function, or as lines to standard error, on the executor of the user's
/// handlers. At most `waiting_max` are on their way; one more is counted and not told.
class audit_watch {
public:
    static constexpr unsigned waiting_max = 64;
    static constexpr std::uint64_t lines_max = 20;

    /// Whether connections are audited if nobody says so: in a build of the library with
    /// assertions.
    static audit_mode mode_of(connection_options const& o) noexcept;

    audit_watch(connection_options const& o, bool is_server, std::string where,
                boost::asio::any_io_executor tell_on, std::shared_ptr<audit_tally> tally);

    void feed(bool incoming, bytes_view octets, audit::time_point now);

    /// The first violation's text, once, if the connection is to end for it; else empty.
    std::string take_fatal() noexcept { return std::exchange(fatal_, {}); }

private:
    void tell(audit::finding f);

    audit::checker checker_;
    audit::direction incoming_;
    bool ends_ = false;
    bool ended_ = false;
    std::string where_;
    std::string fatal_;
    std::uint64_t lines_ = 0;
    std::shared_ptr<std::function<void(audit::finding const&)> const> told_;
    boost::asio::any_io_executor tell_on_;
    std::shared_ptr<audit_tally> tally_;
};

}  // namespace sluice::client::detail
