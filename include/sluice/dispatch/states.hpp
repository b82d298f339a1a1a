// The states of a dispatcher and of what it does at a request, with all transitions, as tables.
#pragma once

#include <sluice/codec/state_table.hpp>

namespace sluice::dispatch {

/// Whether messages are delivered.
enum class lifecycle : std::uint8_t { created, stopped, running, closed, count_ };
enum class lifecycle_event : std::uint8_t { start, start_stopped, stop, close, lost, count_ };

/// What goes on at the request of a rollback, commit or close. Nothing is delivered but in `idle`.
enum class service : std::uint8_t {
    idle,
    draining,
    discharging,
    releasing,
    committing,
    declaring,
    ended,
    count_
};
enum class service_event : std::uint8_t {
    rollback,
    commit,
    quiet,
    discharged,
    released,
    released_for_good,
    committed,
    refused,
    declared,
    late,
    lost,
    count_
};

inline constexpr auto lifecycle_table = make_state_table<lifecycle, lifecycle_event>({
    {lifecycle::created, lifecycle_event::start, lifecycle::running, "the thread of control begins",
     "messages are delivered"},
    {lifecycle::created, lifecycle_event::start_stopped, lifecycle::stopped,
     "the thread of control begins", ""},
    {lifecycle::created, lifecycle_event::stop, lifecycle::created, "", ""},
    {lifecycle::created, lifecycle_event::close, lifecycle::closed, "", "later calls say so"},
    {lifecycle::created, lifecycle_event::lost, lifecycle::closed, "",
     "later calls say why the session ended"},
    {lifecycle::stopped, lifecycle_event::start, lifecycle::running, "", "messages are delivered"},
    {lifecycle::stopped, lifecycle_event::start_stopped, lifecycle::stopped, "", ""},
    {lifecycle::stopped, lifecycle_event::stop, lifecycle::stopped, "", ""},
    {lifecycle::stopped, lifecycle_event::close, lifecycle::closed, "", "later calls say so"},
    {lifecycle::stopped, lifecycle_event::lost, lifecycle::closed, "",
     "later calls say why the session ended"},
    {lifecycle::running, lifecycle_event::start, lifecycle::running, "", ""},
    {lifecycle::running, lifecycle_event::start_stopped, lifecycle::running, "", ""},
    {lifecycle::running, lifecycle_event::stop, lifecycle::stopped, "",
     "no message is delivered; requests are served"},
    {lifecycle::running, lifecycle_event::close, lifecycle::closed, "", "later calls say so"},
    {lifecycle::running, lifecycle_event::lost, lifecycle::closed, "",
     "later calls say why the session ended"},
});

inline constexpr auto service_table = make_state_table<service, service_event>({
    {service::idle, service_event::rollback, service::draining,
     "flow with drain on each link; where the peer cannot drain, credit 0 and an echo", ""},
    {service::idle, service_event::commit, service::committing,
     "disposition in the transaction for each message delivered, in their order; discharge", ""},
    {service::draining, service_event::quiet, service::discharging,
     "in a transaction: discharge with fail=true", ""},
    {service::discharging, service_event::discharged, service::releasing,
     "disposition for each message held, in order of arrival over all consumers", ""},
    {service::releasing, service_event::released, service::declaring,
     "in a transactional session: declare", ""},
    {service::releasing, service_event::released_for_good, service::ended, "no credit any more",
     "close completes"},
    {service::committing, service_event::committed, service::declaring, "declare", ""},
    {service::committing, service_event::refused, service::draining, "as for a rollback", ""},
    {service::declaring, service_event::declared, service::idle,
     "credit for each link, as much as there is room",
     "the call completes; then delivery goes on as before"},
    {service::draining, service_event::late, service::ended, "end of the session", "timed out"},
    {service::discharging, service_event::late, service::ended, "end of the session", "timed out"},
    {service::committing, service_event::late, service::ended, "end of the session", "timed out"},
    {service::declaring, service_event::late, service::ended, "end of the session", "timed out"},
    {service::idle, service_event::lost, service::ended, "", ""},
    {service::draining, service_event::lost, service::ended, "", "the call fails"},
    {service::discharging, service_event::lost, service::ended, "", "the call fails"},
    {service::committing, service_event::lost, service::ended, "",
     "the call fails: rolled back, or in doubt"},
    {service::declaring, service_event::lost, service::ended, "", "the call fails"},
    {service::ended, service_event::lost, service::ended, "", ""},
});

static_assert(lifecycle_table.deterministic());
static_assert(service_table.deterministic());

}  // namespace sluice::dispatch
