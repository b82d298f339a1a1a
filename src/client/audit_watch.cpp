// Findings on their way to the user.
#include "client/audit_watch.hpp"

#include <boost/asio/post.hpp>

#include <cstdio>
#include <exception>

namespace sluice::client::detail {
namespace {

/// Standard error until a user's function is set: one line, and after some of them a last one.
void print(std::string const& where, audit::finding const& f, std::uint64_t line)
{
    std::fprintf(stderr, "sluice: audit of %s: %s\n", where.c_str(), f.text().c_str());
    if (line == audit_watch::lines_max)
        std::fprintf(stderr, "sluice: audit of %s: further findings are only counted\n",
                     where.c_str());
}

}  // namespace

audit_mode audit_watch::mode_of(connection_options const& o) noexcept
{
#ifdef NDEBUG
    constexpr auto otherwise = audit_mode::off;
#else
    constexpr auto otherwise = audit_mode::on;
#endif
    return o.audit.value_or(otherwise);
}

// Our own clock tells when octets were read, not when they came: being busy is no violation.
audit_watch::audit_watch(connection_options const& o, bool is_server, std::string where,
                         boost::asio::any_io_executor tell_on, std::shared_ptr<audit_tally> tally)
    : checker_{{.idle_slack = std::chrono::seconds{10}}},
      incoming_{is_server ? audit::direction::from_client : audit::direction::from_server},
      ends_{mode_of(o) == audit_mode::fatal},
      where_{std::move(where)},
      tell_on_{std::move(tell_on)},
      tally_{std::move(tally)}
{
    if (o.on_finding)
        told_ = std::make_shared<std::function<void(audit::finding const&)> const>(o.on_finding);
}

void audit_watch::feed(bool incoming, bytes_view octets, audit::time_point now)
{
    checker_.feed(incoming ? incoming_ : audit::opposite(incoming_), octets, now);
    audit::finding f;
    while (checker_.poll_finding(f)) {
        auto const violation = f.severity == audit::severity::violation;
        (violation ? tally_->violations : tally_->suspicious)
            .fetch_add(1, std::memory_order_relaxed);
        if (violation && ends_ && !std::exchange(ended_, true))
            fatal_ = f.text();
        tell(std::move(f));
    }
}

/// No user code runs here, nor is anything written: both can block.
void audit_watch::tell(audit::finding f)
{
    auto const line = ++lines_;
    if (tally_->on_their_way.load(std::memory_order_relaxed) >= waiting_max
        || (!told_ && line > lines_max)) {
        tally_->untold.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    tally_->on_their_way.fetch_add(1, std::memory_order_relaxed);
    boost::asio::post(tell_on_, [f = std::move(f), told = told_, tally = tally_, where = where_,
                                 line] {
        tally->on_their_way.fetch_sub(1, std::memory_order_relaxed);
        if (!told)
            return print(where, f, line);
        try {
            (*told)(f);
        } catch (std::exception const& e) {
            std::fprintf(stderr, "sluice: on_finding threw: %s\n", e.what());
        } catch (...) {
            std::fputs("sluice: on_finding threw something that is no std::exception\n", stderr);
        }
    });
}

}  // namespace sluice::client::detail
