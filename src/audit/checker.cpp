// The public face of the checker.
#include "connection_audit.hpp"

#include <sluice/audit/checker.hpp>

namespace sluice::audit {

checker::checker(options const& o) : audit_{std::make_unique<detail::connection_audit>(o)} {}
checker::~checker() = default;
checker::checker(checker&&) noexcept = default;
checker& checker::operator=(checker&&) noexcept = default;

void checker::feed(direction d, bytes_view in, time_point now) { audit_->feed(d, in, now); }

void checker::lost(direction d, time_point now) { audit_->lost(d, now); }

void checker::advance(time_point now) { audit_->advance(now); }

void checker::finish(ending how) { audit_->finish(how); }

bool checker::poll_finding(finding& out) { return audit_->poll(out); }

identity const& checker::who(direction d) const noexcept { return audit_->who(d); }

counters const& checker::totals() const noexcept { return audit_->totals(); }

}  // namespace sluice::audit
