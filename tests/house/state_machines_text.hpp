// What docs/state-machines says beside the tables: what each state and event means, in the order of
// the enumerations of sluice/engine/states.hpp.
#pragma once

#include <span>
#include <string_view>

namespace sluice::house {

struct named {
    std::string_view name;
    std::string_view text;
    bool in_diagram = true;
};

struct heading {
    std::string_view name;
    std::string_view section;
    std::string_view title;
    std::string_view text;
    std::string_view otherwise;
    std::string_view indeterminate;
};

inline constexpr std::string_view introduction =
    R"(# State machines of an AMQP 1.0 endpoint

Written by `./dev docs` from the tables that the engine runs on (`include/sluice/engine/states.hpp`);
a test fails when the two differ. `state-machines.json` holds the same for programs. Both are meant to
be taken over by other client libraries: nothing here is particular to this one. Numbers in brackets
are sections of the AMQP 1.0 standard.

Each machine is one end's view. An event is either something that this end does (`send_...`) or
something that happens to it (`receive_...`, `..._lost`). A change of state and the frame that
announces it are one step: there is no moment at which one has happened and the other has not.

An exhaustive search over two ends with frames on their way in both directions, every interleaving
and every crossing of close, detach and end (`tests/engine/state_search_test.cpp`) shows: no frame
arrives in a state without an answer to it, from every state that can be reached both ends can come to
an end, and once one end has sent a close, end or detach, the other has only to take in and to answer.

What holds for all machines:

- **Taking in goes on.** An end that has asked for its end takes in what the peer had sent before it
  knew. Frames of a link whose detach, of a session whose end, of a connection whose close is on its
  way are no fault of the peer: they are dropped, but transfer frames still count [2.5.6].
- **Ends nest.** When a connection ends, its sessions end with its reason; when a session ends, its links
  do; when a link ends, its deliveries do. Whoever waits for anything of them is told that reason, once.
- **Numbers are free when both have said so.** A channel or handle may be used again when both ends, or both
  detaches, are through, and not before.
- **What was refused was never there for its user.** A refused connection, session or link is
  answered in full (open and close, begin and end, attach and detach), and its user hears one event.

)";

inline constexpr heading about_connection{
    "connection",
    "2.4.6",
    "Connection [2.4.6]",
    "Headers, then opens, then closes, each sent at any time after its predecessor: an initiator "
    "may "
    "send header and open together, and even close, before it has heard anything.",
    "the frame is out of turn: close with `amqp:illegal-state` (before the peer's open, end the "
    "transport). In `header_received` nothing is taken in before the own header is written. In "
    "`close_sent` and `discarding` every frame but close is dropped, in `ended` all are.",
    "who gives up waiting for open cannot know whether the peer has opened: close the connection. "
    "When the transport is lost, everything that was not answered is in doubt."};
inline constexpr named connection_states[] = {
    {"start", "nothing was said"},
    {"header_received", "the peer's header is here, ours goes out next"},
    {"header_sent", "our header is out"},
    {"header_exchanged", "both headers are through"},
    {"open_pipe", "header and open are out, nothing has come"},
    {"open_close_pipe", "header, open and close are out, nothing has come"},
    {"open_received", "the peer has opened and waits for our open"},
    {"open_sent", "we have opened and wait for the peer's open"},
    {"close_pipe", "open and close are out, the peer's open is still to come"},
    {"opened", "both opens are through: sessions may begin"},
    {"close_received", "the peer has closed: our close is due, nothing else is sent"},
    {"close_sent", "we have closed and wait for the peer's close"},
    {"discarding", "we have closed with an error: what arrives is dropped up to the peer's close"},
    {"ended", "both closes are through, or the transport is gone"}};
inline constexpr named connection_events[] = {
    {"send_header", "write the protocol header [2.2]"},
    {"receive_header", "the peer's protocol header arrives"},
    {"send_open", "write open, once"},
    {"receive_open", "the peer's open arrives"},
    {"send_close", "write close without an error"},
    {"send_close_with_error", "write close with an error"},
    {"receive_close", "the peer's close arrives"},
    {"transport_lost", "the transport ends or fails, in either direction", false}};

inline constexpr heading about_session{
    "session",
    "2.5.5",
    "Session [2.5.5]",
    "A session is begun by one end and accepted, or refused by begin and end, by the other.",
    "the frame is out of turn: close the connection with `amqp:illegal-state`. In `discarding` and "
    "`end_received` every frame but end (and the begin that was on its way) is dropped.",
    "who gives up waiting for begin or end cannot know whether it was answered: end the session "
    "(its "
    "channel stays taken until the peer's end has come)."};
inline constexpr named session_states[] = {
    {"unmapped", "no begin was sent or received"},
    {"begin_sent", "our begin is out: attaches, and transfers within what the peer's begin will "
                   "allow, wait for its answer"},
    {"begin_received", "the peer has begun and waits for our begin"},
    {"mapped", "both begins are through: links may attach"},
    {"end_sent", "our end is out: what arrives is still taken in up to the peer's end"},
    {"end_received", "the peer has ended: our end is due, nothing else is sent"},
    {"discarding", "our end, with an error, is out: what arrives is dropped up to the peer's end"},
    {"ended", "both ends are through, or the connection is gone: the channel is free"}};
inline constexpr named session_events[] = {
    {"send_begin", "write begin, once"},
    {"receive_begin", "the peer's begin arrives"},
    {"send_end", "write end without an error"},
    {"send_end_with_error", "write end with an error"},
    {"receive_end", "the peer's end arrives"},
    {"connection_lost", "the connection has ended, whoever closed it", false}};

inline constexpr heading about_link{
    "link",
    "2.6.3",
    "Link [2.6.3 - 2.6.6]",
    "Either end attaches; both may at once: attaches of one name with opposite roles are one link, "
    "however they cross. A link is refused by an attach whose terminus is null, and a detach.",
    "the frame names a handle that is not attached: end the session with "
    "`amqp:session:unattached-handle`. Flows, transfers and dispositions in `detach_sent` are "
    "dropped; transfers count.",
    "who gives up waiting for attach or detach cannot know whether it was answered: detach with "
    "closed=true (the handle stays taken until the peer's detach has come)."};
inline constexpr named link_states[] = {
    {"detached", "no attach was sent or received"},
    {"attach_sent", "our attach is out"},
    {"attach_received", "the peer has attached and waits for our attach"},
    {"attached", "both attaches are through: flows and transfers may go"},
    {"detach_sent", "our detach is out: we wait for the peer's"},
    {"detach_received", "the peer has detached: our detach is due, nothing else is sent"},
    {"ended", "both detaches are through, or the session is gone: the handle is free"}};
inline constexpr named link_events[] = {
    {"send_attach", "write attach, once"},
    {"receive_attach", "the peer's attach of this name arrives"},
    {"send_detach", "write detach, closed or not, with or without an error"},
    {"receive_detach", "the peer's detach arrives"},
    {"session_lost", "the session has ended, whoever ended it", false}};

inline constexpr heading about_outgoing{
    "outgoing-delivery",
    "2.6.12",
    "Delivery, at its sender [2.6.12 - 2.6.14]",
    "A delivery takes its delivery-id, one credit and its place in the delivery-count with its "
    "first "
    "frame, not before; every frame of it, an aborted one too, takes one transfer-id.",
    "it is not possible, or it is news of a delivery that is settled already, which changes "
    "nothing.",
    "a delivery that is `unsettled` when its link is lost may or may not have been accepted: its "
    "user "
    "is told `outcome unknown`. One that was `queued` was certainly not sent, one that was `begun` "
    "or "
    "`aborting` cannot have been delivered."};
inline constexpr named outgoing_states[] = {
    {"queued", "waits for credit, window and its turn"},
    {"begun", "its first frame is out, its last is not"},
    {"unsettled", "all frames are out, no outcome is known"},
    {"answered", "the receiver has stated an outcome and not settled"},
    {"aborting", "given up in its middle: the aborted frame is due"},
    {"settled", "its outcome is known, or will never be"},
    {"aborted", "the receiver has been told, or will learn with its link's end, that it is void"},
    {"withdrawn", "it was never on the wire"}};
inline constexpr named outgoing_events[] = {
    {"first_frame", "write a transfer with more=true"},
    {"last_frame", "write a transfer with more=false"},
    {"last_frame_settled", "write a transfer with more=false of a delivery sent settled"},
    {"outcome", "the receiver's disposition with settled=false arrives"},
    {"settle", "the receiver's disposition with settled=true arrives, or we settle"},
    {"cancel", "the user, or a body source that failed, gives it up"},
    {"abort_frame", "write a transfer with aborted=true"},
    {"link_lost", "its link has ended, whoever ended it", false}};

inline constexpr heading about_incoming{
    "incoming-delivery",
    "2.6.12",
    "Delivery, at its receiver [2.6.12 - 2.6.14]",
    "In mode first the receiver settles with its outcome; in mode second it states the outcome, "
    "and the "
    "delivery stays until the sender settles. What is said of a delivery in its middle holds for "
    "all of "
    "it: the rest is dropped as it comes, and in mode second it stays until the sender settles all "
    "the "
    "same. The state `received` is no outcome: it moves nothing.",
    "it is not possible, or it is news of a delivery that is settled already, which changes "
    "nothing.",
    "a delivery that is `answered` when its link is lost may or may not have been settled by its "
    "sender: "
    "it may come again."};
inline constexpr named incoming_states[] = {
    {"none", "no frame of it has come"},
    {"partial", "its first frame is here, its last is not"},
    {"complete", "it is here; its user has said nothing of it"},
    {"answered", "an outcome is stated, and the sender has to settle"},
    {"settled", "it is forgotten"},
    {"aborted", "it was never a message"}};
inline constexpr named incoming_events[] = {
    {"frame_more", "a transfer with more=true arrives"},
    {"frame_last", "a transfer with more=false arrives"},
    {"frame_aborted", "a transfer with aborted=true arrives"},
    {"answer", "the user states an outcome without settling"},
    {"settle", "the user states an outcome and settles"},
    {"peer_settles", "the sender's disposition with settled=true arrives"},
    {"link_lost", "its link has ended, whoever ended it", false}};

inline constexpr std::string_view rules_of_writing = R"(## What is written when

The machines say what may be written; these rules say when, so that the numbers on the wire are exact.

- A session has one way out. A transfer-id is given out in the step that appends the frame's octets, and
  nowhere else; `next-outgoing-id` of begin and flow is read in the step that appends theirs [2.5.6].
- A request for a flow stores no numbers. Requests for one link become one flow; echo is OR-ed. A flow asked
  for while a transfer frame is being written follows that frame, before the next one of any link.
- A flow has no `next-incoming-id` before the peer's begin, and a receiver's has no `delivery-count` before
  the sender's attach [2.7.4].
- `begin` is first and `end` is last; a link's `attach` comes before its other frames, and its `detach`
  after the deliveries that it has begun and after its dispositions. With an error, or when its user
  does not want to wait, the begun delivery is aborted and the rest withdrawn.
- A disposition never precedes the first frame of what it names. One whose `last` precedes its `first`
  serially is an error; ids that nobody knows any more are passed over [2.7.6].
)";

}  // namespace sluice::house
