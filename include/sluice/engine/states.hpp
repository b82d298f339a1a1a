// The states of connection, session, link and delivery and all their transitions, as tables.
// [2.4.6, 2.5.5, 2.6]
#pragma once

#include <sluice/codec/state_table.hpp>

namespace sluice::engine {

enum class connection_state : std::uint8_t {
    start,
    header_received,
    header_sent,
    header_exchanged,
    open_pipe,
    open_close_pipe,
    open_received,
    open_sent,
    close_pipe,
    opened,
    close_received,
    close_sent,
    discarding,
    ended,
    count_
};
enum class connection_event : std::uint8_t {
    send_header,
    receive_header,
    send_open,
    receive_open,
    send_close,
    send_close_with_error,
    receive_close,
    transport_lost,
    count_
};

enum class session_state : std::uint8_t {
    unmapped,
    begin_sent,
    begin_received,
    mapped,
    end_sent,
    end_received,
    discarding,
    ended,
    count_
};
enum class session_event : std::uint8_t {
    send_begin,
    receive_begin,
    send_end,
    send_end_with_error,
    receive_end,
    connection_lost,
    count_
};

enum class link_state : std::uint8_t {
    detached,
    attach_sent,
    attach_received,
    attached,
    detach_sent,
    detach_received,
    ended,
    count_
};
enum class link_event : std::uint8_t {
    send_attach,
    receive_attach,
    send_detach,
    receive_detach,
    session_lost,
    count_
};

/// A delivery at its sender.
enum class outgoing_state : std::uint8_t {
    queued,
    begun,
    unsettled,
    answered,
    aborting,
    settled,
    aborted,
    withdrawn,
    count_
};
enum class outgoing_event : std::uint8_t {
    first_frame,
    last_frame,
    last_frame_settled,
    outcome,
    settle,
    cancel,
    abort_frame,
    link_lost,
    count_
};

/// A delivery at its receiver.
enum class incoming_state : std::uint8_t {
    none,
    partial,
    complete,
    answered,
    settled,
    aborted,
    count_
};
enum class incoming_event : std::uint8_t {
    frame_more,
    frame_last,
    frame_aborted,
    answer,
    settle,
    peer_settles,
    link_lost,
    count_
};

namespace detail {
using c = connection_state;
using ce = connection_event;
inline constexpr transition<c, ce> connection_rows[] = {
    {c::start, ce::send_header, c::header_sent, "protocol header", ""},
    {c::start, ce::receive_header, c::header_received, "", ""},
    {c::header_received, ce::send_header, c::header_exchanged, "protocol header", ""},
    {c::header_sent, ce::receive_header, c::header_exchanged, "", ""},
    {c::header_sent, ce::send_open, c::open_pipe, "open, before the peer's header is known", ""},
    {c::open_pipe, ce::receive_header, c::open_sent, "", ""},
    {c::open_pipe, ce::send_close, c::open_close_pipe, "close", ""},
    {c::open_pipe, ce::send_close_with_error, c::open_close_pipe, "close with the error", ""},
    {c::open_close_pipe, ce::receive_header, c::close_pipe, "", ""},
    {c::header_exchanged, ce::send_open, c::open_sent, "open", ""},
    {c::header_exchanged, ce::receive_open, c::open_received, "",
     "a connection asks to be accepted (listener)"},
    {c::open_received, ce::send_open, c::opened, "open", "open completes (listener)"},
    {c::open_sent, ce::receive_open, c::opened, "", "open completes"},
    {c::open_sent, ce::send_close, c::close_pipe, "close", ""},
    {c::open_sent, ce::send_close_with_error, c::close_pipe, "close with the error", ""},
    {c::close_pipe, ce::receive_open, c::close_sent, "", ""},
    {c::opened, ce::send_close, c::close_sent, "close", ""},
    {c::opened, ce::send_close_with_error, c::discarding,
     "close with the error; what arrives is dropped", ""},
    {c::opened, ce::receive_close, c::close_received, "", "closed, with the peer's error"},
    {c::open_received, ce::receive_close, c::close_received, "",
     "closed before it was accepted (listener)"},
    {c::close_received, ce::send_open, c::close_received, "open, so that a close may follow", ""},
    {c::close_received, ce::send_close, c::ended, "close; the transport may end", ""},
    {c::close_received, ce::send_close_with_error, c::ended, "close; the transport may end", ""},
    {c::close_sent, ce::receive_close, c::ended, "the transport may end", "close completes"},
    {c::discarding, ce::receive_close, c::ended, "the transport may end", "closed, with our error"},
    // A close may come from a peer that has not opened: take it as the end of everything.
    {c::header_exchanged, ce::receive_close, c::close_received, "",
     "open fails with the peer's error"},
    {c::open_sent, ce::receive_close, c::close_received, "", "open fails with the peer's error"},
    {c::close_pipe, ce::receive_close, c::ended, "", "close completes"},
    {c::start, ce::transport_lost, c::ended, "", "closed: connection lost; open fails"},
    {c::header_received, ce::transport_lost, c::ended, "", "closed: connection lost"},
    {c::header_sent, ce::transport_lost, c::ended, "", "closed: connection lost; open fails"},
    {c::header_exchanged, ce::transport_lost, c::ended, "", "closed: connection lost; open fails"},
    {c::open_pipe, ce::transport_lost, c::ended, "", "closed: connection lost; open fails"},
    {c::open_close_pipe, ce::transport_lost, c::ended, "", "closed: connection lost"},
    {c::open_received, ce::transport_lost, c::ended, "", "closed: connection lost"},
    {c::open_sent, ce::transport_lost, c::ended, "", "closed: connection lost; open fails"},
    {c::close_pipe, ce::transport_lost, c::ended, "", "closed: connection lost"},
    {c::opened, ce::transport_lost, c::ended, "", "closed: connection lost; every call fails"},
    {c::close_received, ce::transport_lost, c::ended, "", ""},
    {c::close_sent, ce::transport_lost, c::ended, "", "close completes"},
    {c::discarding, ce::transport_lost, c::ended, "", ""},
};

using s = session_state;
using se = session_event;
inline constexpr transition<s, se> session_rows[] = {
    {s::unmapped, se::send_begin, s::begin_sent, "begin", ""},
    {s::unmapped, se::receive_begin, s::begin_received, "", "a session asks to be accepted"},
    {s::begin_sent, se::receive_begin, s::mapped, "", "begin completes"},
    {s::begin_received, se::send_begin, s::mapped, "begin with remote-channel", ""},
    {s::begin_sent, se::send_end, s::end_sent, "end", ""},
    {s::begin_sent, se::send_end_with_error, s::discarding, "end with the error", ""},
    {s::mapped, se::send_end, s::end_sent, "end", ""},
    {s::mapped, se::send_end_with_error, s::discarding,
     "end with the error; what arrives is dropped", ""},
    {s::mapped, se::receive_end, s::end_received, "", "the session ended, with the peer's error"},
    {s::begin_received, se::receive_end, s::end_received, "",
     "the session ended before it was accepted"},
    {s::end_received, se::send_begin, s::end_received, "begin, so that an end may follow", ""},
    {s::end_received, se::send_end, s::ended, "end", ""},
    {s::end_received, se::send_end_with_error, s::ended, "end", ""},
    // Between our end and the peer's, its begin may still come (we gave up waiting for it).
    {s::end_sent, se::receive_begin, s::end_sent, "", ""},
    {s::discarding, se::receive_begin, s::discarding, "", ""},
    {s::end_sent, se::receive_end, s::ended, "", "end completes"},
    {s::discarding, se::receive_end, s::ended, "", "the channel is free again"},
    {s::unmapped, se::connection_lost, s::ended, "", "begin fails"},
    {s::begin_sent, se::connection_lost, s::ended, "", "begin fails"},
    {s::begin_received, se::connection_lost, s::ended, "", ""},
    {s::mapped, se::connection_lost, s::ended, "", "every call fails with the connection's reason"},
    {s::end_sent, se::connection_lost, s::ended, "", "end completes"},
    {s::end_received, se::connection_lost, s::ended, "", ""},
    {s::discarding, se::connection_lost, s::ended, "", ""},
};

using l = link_state;
using le = link_event;
inline constexpr transition<l, le> link_rows[] = {
    {l::detached, le::send_attach, l::attach_sent, "attach", ""},
    {l::detached, le::receive_attach, l::attach_received, "", "a link asks to be accepted"},
    {l::attach_sent, le::receive_attach, l::attached, "",
     "attach completes; with a null terminus it waits for the detach that refuses it [2.6.3]"},
    {l::attach_received, le::send_attach, l::attached, "attach", ""},
    {l::attach_sent, le::send_detach, l::detach_sent, "detach", ""},
    {l::attached, le::send_detach, l::detach_sent, "detach", ""},
    {l::attached, le::receive_detach, l::detach_received, "", "detached, with the peer's error"},
    {l::attach_received, le::receive_detach, l::detach_received, "",
     "detached before it was accepted"},
    {l::attach_sent, le::receive_detach, l::detach_received, "",
     "attach fails with the peer's error"},
    {l::detach_received, le::send_attach, l::detach_received, "attach, so that a detach may follow",
     ""},
    {l::detach_received, le::send_detach, l::ended, "detach", ""},
    {l::detach_sent, le::receive_attach, l::detach_sent, "", ""},
    {l::detach_sent, le::receive_detach, l::ended, "",
     "detach completes; the handle is free again"},
    {l::detached, le::session_lost, l::ended, "", "attach fails with the session's reason"},
    {l::attach_sent, le::session_lost, l::ended, "", "attach fails with the session's reason"},
    {l::attach_received, le::session_lost, l::ended, "", ""},
    {l::attached, le::session_lost, l::ended, "", "every call fails with the session's reason"},
    {l::detach_sent, le::session_lost, l::ended, "", "detach completes"},
    {l::detach_received, le::session_lost, l::ended, "", ""},
};

using o = outgoing_state;
using oe = outgoing_event;
inline constexpr transition<o, oe> outgoing_rows[] = {
    {o::queued, oe::first_frame, o::begun, "transfer with more=true: id, tag and credit are used",
     ""},
    {o::queued, oe::last_frame, o::unsettled, "transfer: id, tag and credit are used", ""},
    {o::queued, oe::last_frame_settled, o::settled, "transfer with settled=true", "sent"},
    {o::begun, oe::first_frame, o::begun, "continuation transfer", ""},
    {o::begun, oe::last_frame, o::unsettled, "transfer with more=false", ""},
    {o::begun, oe::last_frame_settled, o::settled, "transfer with more=false", "sent"},
    {o::begun, oe::outcome, o::begun, "", "the outcome, once the last frame is written"},
    {o::queued, oe::cancel, o::withdrawn, "nothing: no id, no credit", "withdrawn"},
    {o::begun, oe::cancel, o::aborting, "", ""},
    {o::aborting, oe::cancel, o::aborting, "", ""},
    {o::aborting, oe::outcome, o::aborting, "", ""},
    {o::aborting, oe::abort_frame, o::aborted, "transfer with aborted=true", "aborted"},
    {o::unsettled, oe::outcome, o::answered, "", "the outcome; not settled yet"},
    {o::answered, oe::outcome, o::answered, "", "a newer outcome"},
    {o::unsettled, oe::settle, o::settled, "disposition settled=true if we settle first",
     "the outcome, settled"},
    {o::answered, oe::settle, o::settled, "disposition settled=true if we settle first",
     "the outcome, settled"},
    {o::queued, oe::link_lost, o::withdrawn, "", "not sent"},
    {o::begun, oe::link_lost, o::aborted, "", "aborted with the link"},
    {o::aborting, oe::link_lost, o::aborted, "", "aborted with the link"},
    {o::unsettled, oe::link_lost, o::settled, "", "outcome unknown"},
    {o::answered, oe::link_lost, o::settled, "", "the last outcome heard, not settled"},
};

using i = incoming_state;
using ie = incoming_event;
inline constexpr transition<i, ie> incoming_rows[] = {
    {i::none, ie::frame_more, i::partial, "", "a streamed delivery begins"},
    {i::none, ie::frame_last, i::complete, "", "a delivery"},
    {i::none, ie::frame_aborted, i::aborted, "", "nothing"},
    {i::partial, ie::frame_more, i::partial, "", "more of a streamed delivery"},
    {i::partial, ie::frame_last, i::complete, "", "a delivery"},
    {i::partial, ie::frame_aborted, i::aborted, "no disposition: it is settled by this",
     "a streamed delivery failed"},
    {i::partial, ie::answer, i::partial, "disposition", ""},
    {i::partial, ie::settle, i::partial,
     "disposition settled=true (mode second: false); the rest is dropped as it comes", ""},
    {i::complete, ie::answer, i::answered, "disposition settled=false (mode second)", ""},
    {i::answered, ie::answer, i::answered, "disposition settled=false", ""},
    {i::complete, ie::settle, i::settled, "disposition settled=true", ""},
    {i::answered, ie::settle, i::settled, "disposition settled=true", ""},
    {i::complete, ie::peer_settles, i::settled, "", "settled by the peer"},
    {i::answered, ie::peer_settles, i::settled, "", "settle completes (mode second)"},
    {i::partial, ie::peer_settles, i::partial, "", ""},
    {i::partial, ie::link_lost, i::aborted, "", "stale"},
    {i::complete, ie::link_lost, i::settled, "", "stale: settling it is an error"},
    {i::answered, ie::link_lost, i::settled, "", "stale: the settlement is not learnt"},
};
}  // namespace detail

inline constexpr auto connection_table = make_state_table(detail::connection_rows);
inline constexpr auto session_table = make_state_table(detail::session_rows);
inline constexpr auto link_table = make_state_table(detail::link_rows);
inline constexpr auto outgoing_table = make_state_table(detail::outgoing_rows);
inline constexpr auto incoming_table = make_state_table(detail::incoming_rows);

static_assert(connection_table.deterministic() && session_table.deterministic()
              && link_table.deterministic() && outgoing_table.deterministic()
              && incoming_table.deterministic());

}  // namespace sluice::engine
