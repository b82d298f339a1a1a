// What docs/state-machines says of the dispatcher's machines, in the order of the enumerations of
// sluice/dispatch/states.hpp.
#pragma once

#include "state_machines_text.hpp"

namespace sluice::house {

inline constexpr heading about_lifecycle{
    "dispatcher-lifecycle",
    "",
    "Dispatcher: whether it delivers",
    "A dispatcher gives the messages of one session to its consumers, one at a time. Requests "
    "(rollback, commit, close) are served in every state but `closed`; messages are delivered in "
    "`running` only, and only while the machine below is `idle` and no request waits. Its tables "
    "are in `include/sluice/dispatch/states.hpp`; `tests/dispatch/interleavings_test.cpp` and "
    "`proptests/dispatcher.cpp` explore them.",
    "the call is refused: the dispatcher is closed.",
    "nothing: the states are this end's alone."};
inline constexpr named lifecycle_states[] = {
    {"created", "it has no thread yet; messages are taken in and wait"},
    {"stopped", "messages are taken in and wait; requests are served"},
    {"running", "messages are delivered; requests are served before any message"},
    {"closed", "everything was given back, or the session is gone"}};
inline constexpr named lifecycle_events[] = {
    {"start", "start()"},
    {"start_stopped", "start(true), which only begins"},
    {"stop", "stop(); a listener that is running is not waited for"},
    {"close", "a close has come to its end"},
    {"lost", "the session has ended, or a deadline has ended it", false}};

inline constexpr heading about_service{
    "dispatcher-service",
    "4.4",
    "Dispatcher: rollback, commit, close [2.6.7, 3.4, 4.3, 4.4]",
    "What makes a rollback keep the order: no message is delivered, then no message can arrive, "
    "and "
    "only then is anything given back: what was delivered and not acknowledged, what is in a "
    "listener's hand, what waits, all in one pass in the order of arrival over all consumers, "
    "those "
    "removed since included. Presettled messages that wait stay, for they cannot be given back; a "
    "browser's are settled without an outcome. A close is a rollback without the way back. Without "
    "a "
    "transaction `discharging` and `declaring` pass at once.",
    "it is an answer to a question that nobody asks any more: it changes nothing.",
    "a commit whose answer was lost may have been done: the caller is told `in doubt`. A rollback "
    "past "
    "its deadline may have been done in part: the session ends, so that the peer gives everything "
    "out "
    "again."};
inline constexpr named service_states[] = {
    {"idle", "messages are delivered if the dispatcher is running and no request waits"},
    {"draining", "the peer has been asked to use its credit up or give it back, on every link"},
    {"discharging", "nothing can arrive any more; the transaction is being rolled back"},
    {"releasing", "everything that is held goes back, in one step"},
    {"committing", "what was delivered is retired; the transaction is being committed"},
    {"declaring", "the next transaction is being declared"},
    {"ended", "closed, or the session is gone"}};
inline constexpr named service_events[] = {
    {"rollback", "a rollback, recover or close is begun"},
    {"commit", "a commit is begun"},
    {"quiet", "each link has answered its drain, or has gone"},
    {"discharged", "the peer has answered the discharge that fails"},
    {"released", "each message has its answer"},
    {"released_for_good", "the same, for a close"},
    {"committed", "the peer has accepted the discharge"},
    {"refused", "the peer has not committed, or it is not known"},
    {"declared", "there is a transaction, or an error that says why not"},
    {"late", "the deadline of the call that waits has passed"},
    {"lost", "the session has ended", false}};

}  // namespace sluice::house
